"""OMVFS, the estimator."""

import copy
import numbers
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from inspect import Signature, signature
from itertools import islice
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from omvfs import codec, persistence
from omvfs.constraints import AUTO, LEARNING, check_all, check_unchanged, checked, resolve, total_of
from omvfs.data.blocks import Missing, Negative
from omvfs.data.read import as_views, in_precision, warn_of
from omvfs.data.schema import NewFeatures, Schema
from omvfs.data.table import Table
from omvfs.data.views import Views
from omvfs.fitted import FittedState
from omvfs.model.concordance import testable
from omvfs.model.drift import Change
from omvfs.model.explanation import means_by_cluster, standing_for
from omvfs.model.learning import Answers, ChunkInfo, Criterion, Update
from omvfs.model.resampling import (
    CANDIDATES,
    N_DRAWS,
    N_JUDGED,
    Draw,
    agreement_of_clusters,
    alike,
    as_one,
    budget,
    draw,
    explained_variances,
    interval,
    other_numbers,
    overlaps,
    selection_agreement,
    selections,
)
from omvfs.parameters import check_not_gone, refusal, seed_of, whole
from omvfs.parts import Part, merge_models
from omvfs.prepare import FEWEST, Preparing, bits_of, check_views, hash_bits, hashed_views, steps_of
from omvfs.report import Report, report_on
from omvfs.results import (
    FEWEST as FEWEST_SAMPLED,
)
from omvfs.results import (
    ClusterFeature,
    Explanation,
    FeatureNotes,
    SelectionQuality,
    SelectionStability,
    Stays,
    TooFewRowsError,
    Verdict,
    ViewStability,
    ViewVerdict,
    cut,
    sizes_to_judge,
    two_digits,
)
from omvfs.selection import is_views
from omvfs.selector import SelectSize, StreamSelector, sizes_by_view
from omvfs.threads import on_one_thread

# Features that a cluster is named by, and those that fewer rows have than this name it rather.
_IN_NAME, _RARE = 3, 0.5
# Columns of `to_frame` beside those of every selector.
_COLUMNS = "explained", "separation", "share_of_rows", "cluster", "repeats", "why"
# Names among which one like a misspelt one is looked for.
_LIKE = 20_000


class OMVFS(StreamSelector[FittedState]):
    """Online unsupervised multi-view feature selection.

    Reads a stream of chunks of multi-view data once, keeps consensus clusters of the rows, and
    ranks the features of each view by how well they tell the clusters apart.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of consensus clusters K. With "auto", the most that each view alone predicts on rows
        held out as well as the best number. Selections depend little on it.
    n_features_per_view : int, float, "auto", mapping of str to any of them, or None, default=100
        Features to select per view: at most so many, a share, as many as are enough (see
        `suggest_n_features`), any of them by view name, or all.
    n_features_to_select : int, float, "auto" or None, default=None
        Features to select in all: so many, a share of all features, or as many as are enough; at
        least one of each view, and the best of all views by the variance they explain. A larger
        selection contains every smaller one. `n_features_per_view` is then not looked at.
    views : "prefix", sequence of int, or mapping of str to columns, default=None
        How one 2-D X splits into views: by column names ``view__feature``, by widths, or by columns
        for each view, see `as_views`; every column is in one. Not for input that comes as views.
    columns : mapping of str to str, default=None
        Kinds of columns of a table, where they are not to be told by its first rows: "number",
        "category", "text", "parts" (of a date), or "drop". See `omvfs.data.table`.
    prepare : str, sequence of str or mapping of str to such, default="auto"
        What rows go through first, in order, such as ``["tfidf", "l2"]``, ``"text:tfidf"`` for one
        view, or by view name: "l2", "log1p", "tfidf", "scale", "standardize", "hash:20"; None for
        nothing. With "auto", the first rows tell: words and counts get unit rows, numbers of tables
        and columns of unlike units are scaled; `transform` then gives values as they came.
    criterion : {"separation", "coverage", "norm"} or callable, default="separation"
        How features are scored. "separation": the share of a feature's variance that lies between
        clusters (η²), times its spread, which is its standard deviation over that of a typical
        feature of the view, averaged over eight clusterings of the sample, and discounted if it
        repeats a better feature. "coverage": how well it tells its cluster from the others beside
        the best that does, so that each cluster, however small, has its best features among the
        selected. "norm": as in the paper, the norm of the feature's sums by cluster. A callable
        ``f(S, Q, n)`` gets the sums of a view by cluster (D × K), the sums of squares (D) and the
        rows by cluster (K), and returns D scores.
    view_weight : "auto", float or mapping of str to either, default="auto"
        How much each view weighs in the clusters. With "auto", as much as it predicts the clusters
        of held-out rows; a view of noise, see `verdict`, does not count.
    sample_size : int, default=2000
        Rows of the random sample that is kept: clusters are found in it. With a `half_life`, no
        more than about 1.44 times that.
    batch_size : int, default=200
        Rows of a chunk in `fit`.
    half_life : float or None, default=None
        Rows after which a row counts half, a quarter after twice as many, and so on. By default no
        row fades. A stream whose groups change needs it.
    new_features : {"error", "grow"}, default="error"
        What to do with features that earlier chunks did not have, where features have names.
    detect_drift : bool, default=False
        Whether to tell when the stream changes, see `drift_`; nothing is forgotten by it. A stream
        that never changes is reported as changed with a chance of at most 1 %, however long it is.
    random_state : int, RandomState instance or None, default=None
        Seed of every random choice.

    Attributes
    ----------
    view_scores_ : dict of str to ndarray of shape (n_features_of_view,)
        Score of every feature by view; larger is better.
    scores_, ranking_ : ndarray of shape (`n_features_in_`,)
        Scores, and ranks within views from 1 = best, in the order of the columns of X; of several
        views, view after view.
    view_ranking_, view_support_ : dict of str to ndarray of shape (n_features_of_view,)
        Rank of every feature, and whether it is selected, by view.
    n_clusters_ : int
        Number of consensus clusters.
    labels_ : ndarray of shape (n_rows,)
        Cluster of every row that `fit` was given. Not there after `partial_fit`, `load` or `merge`:
        rows are not kept.
    cluster_shares_ : ndarray of shape (n_clusters,)
        Share of the rows in each cluster.
    view_weights_ : dict of str to float
        How much each view weighs in the clusters.
    prepared_ : dict of str to tuple of str
        Steps that the rows of each view go through.
    table_ : Table or None
        Columns of the table that was learned from, with their kinds; None if it was no table.
    drift_ : list of Change
        Changes of the stream, in order, if `detect_drift` is on; the last 1,000 are kept.
    history_ : list of ChunkInfo
        What happened in every chunk; the last 10,000 are kept.
    n_samples_seen_, n_features_in_ : int
        Rows seen, and features of all views together.
    feature_names_in_ : ndarray
        Column names, where one X with such names was given.

    Notes
    -----
    The same calls give the same bits on one machine, whatever number of threads BLAS is set to: it
    has one in here. An estimator is not thread-safe while it learns: give each thread its own copy.

    References
    ----------
    W. Shao, L. He, C.-T. Lu, X. Wei, P. S. Yu: Online Unsupervised Multi-view Feature Selection,
    ICDM 2016.

    Examples
    --------
    >>> from omvfs import OMVFS
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(600, n_features=(300, 200), n_informative=(30, 20), random_state=0)
    >>> selector = OMVFS(n_clusters=5, n_features_per_view=20, random_state=0)
    >>> selector.fit_transform(planted.views).shape
    (600, 40)
    >>> bool(planted.informative["view_1"][selector.view_ranking_["view_1"] <= 10].mean() > 0.8)
    True
    """

    _missing: Missing = "allow"
    # Parts that it was merged from, as long as nothing was learned since.
    _parts: tuple[Part, ...]
    # Clusters of the rows that `fit` was given, as long as nothing was learned since.
    _labels: NDArray[np.intp] | None

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Refuse parameters of earlier versions, with what to do instead."""
        check_not_gone(params)
        new: Self = super().__new__(cls)
        return new

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        n_features_per_view: SelectSize | Any = 100,
        n_features_to_select: int | float | Literal["auto"] | None = None,
        views: Any = None,
        columns: Mapping[str, str] | None = None,
        prepare: Any = "auto",
        criterion: Criterion = "separation",
        view_weight: Any = "auto",
        sample_size: int = 2000,
        batch_size: int = 200,
        half_life: float | None = None,
        new_features: NewFeatures = "error",
        detect_drift: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_features_per_view = n_features_per_view
        self.n_features_to_select = n_features_to_select
        self.views = views
        self.columns = columns
        self.prepare = prepare
        self.criterion = criterion
        self.view_weight = view_weight
        self.sample_size = sample_size
        self.batch_size = batch_size
        self.half_life = half_life
        self.new_features = new_features
        self.detect_drift = detect_drift
        self.random_state = random_state

    # Of the two, the one that names parameters.
    __signature__ = Signature(list(signature(__init__).parameters.values())[1:])

    # Results

    @property
    def _answers(self) -> Answers:
        check_is_fitted(self)
        return self._known.answers

    @property
    @on_one_thread
    def view_scores_(self) -> dict[str, NDArray[np.float64]]:
        """Scores by view name; larger is better."""
        scores = self._answers.scores(checked("criterion", self.criterion))
        return {name: each.copy() for name, each in zip(self.schema_.names, scores, strict=True)}

    @property
    def prepared_(self) -> dict[str, tuple[str, ...]]:
        """Steps that the rows of every view go through."""
        check_is_fitted(self)
        return dict(zip(self.schema_.names, self._known.preparation.steps, strict=True))

    @property
    def table_(self) -> Table | None:
        """Columns of the table that was learned from, their kinds, and what becomes of each."""
        check_is_fitted(self)
        return self._known.table

    @property
    def history_(self) -> list[ChunkInfo]:
        """What happened in every chunk, the last 10,000 of them."""
        check_is_fitted(self)
        return list(self._history)

    @property
    def drift_(self) -> list[Change]:
        """Changes of the stream, in order, if `detect_drift` is on; the last 1,000 of them."""
        check_is_fitted(self)
        return list(self._known.drift)

    @property
    @on_one_thread
    def n_clusters_(self) -> int:
        """Number of consensus clusters."""
        return self._answers.clustering.n_clusters

    @property
    @on_one_thread
    def view_weights_(self) -> dict[str, float]:
        """How much each view weighs in the clusters."""
        return dict(zip(self.schema_.names, self._answers.weights.tolist(), strict=True))

    @property
    @on_one_thread
    def cluster_shares_(self) -> NDArray[np.float64]:
        """Share of the rows in each cluster, as the sample has them."""
        found = self._answers.clustering
        return np.bincount(found.labels, minlength=found.n_clusters) / len(found.labels)

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.intp]:
        """Learn from X anew, and return the consensus cluster of every row.

        Parameters
        ----------
        X : anything `as_views` accepts
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_rows,)
            As ``fit(X).predict(X)``.
        """
        labels: NDArray[np.intp] = self.fit(X, y).labels_
        return labels

    def check_rows(self) -> None:
        """Refuse fewer rows than clusters, as `fit` does, where no more rows are to come."""
        check_is_fitted(self)
        _check_rows(self._known)

    @on_one_thread
    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the consensus cluster of new rows: the one they lie along most.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return self._known.predict(self._read_next(X))

    @property
    def labels_(self) -> NDArray[np.intp]:
        """Consensus cluster of every row that `fit` was given."""
        check_is_fitted(self)
        labels: NDArray[np.intp] | None = self._labels
        if labels is None:
            raise AttributeError(
                "labels_ is of the rows of fit(); after partial_fit(), load() or merge() they are "
                "not known any more. Use predict(X)."
            )
        return labels.copy()

    @on_one_thread
    def explain(self, view: str, feature: str | int) -> Explanation:
        """Return why a feature has the rank it has.

        Parameters
        ----------
        view : str
            Name of the view.
        feature : str or int
            Name of the feature, or its number in the view.

        Returns
        -------
        Explanation
        """
        check_is_fitted(self)
        v = self.schema_.number_of(view)
        j, own = _number_of_feature(self.schema_, v, feature), self._known.notes[v]
        sums = self._answers.reclustered.views[v].on(np.array([j]))
        means = np.append(sums.mean, means_by_cluster(sums)[0])
        mean, *by_cluster = self._known.in_units(v, j, means).tolist()
        repeats, rank = int(own.repeats[j]), int(self.view_ranking_[view][j])
        return Explanation(
            view=view,
            feature=_name(self.schema_, v, j),
            n_features=self.schema_.widths[v],
            selected=bool(self.view_support_[view][j]),
            rank=rank,
            why=own.why(j, rank, self.schema_.names_of(view), self.cluster_names_),
            score=float(own.score[j]),
            explained=float(own.explained[j]),
            spread=float(own.spread[j]),
            novelty=float(own.novelty[j]),
            repeats=None if repeats < 0 else _name(self.schema_, v, repeats),
            r=float(own.r[j]),
            mean=mean,
            means=tuple(by_cluster),
            cluster=int(own.cluster[j]) if own.cluster[j] >= 0 else None,
            share_of_rows=float(own.share_of_rows[j]),
        )

    @on_one_thread
    def cluster_features(
        self, k: int | None = None, n: int = 10, *, view: str | None = None
    ) -> list[ClusterFeature] | dict[int, list[ClusterFeature]]:
        """Return what clusters are about: the features that stand for them most.

        A feature stands for a cluster by the part of its score that the cluster carries; only those
        whose mean in the cluster is above that of all rows do.

        Parameters
        ----------
        k : int or None, default=None
            The cluster, as `predict` numbers it; None for all.
        n : int, default=10
            Features of a cluster at most.
        view : str or None, default=None
            Of this view only; None for the best of all views.

        Returns
        -------
        list of ClusterFeature, or dict of int to such a list
            Best first; of all clusters by their numbers.
        """
        K, n = self.n_clusters_, whole("n", n, least=1)
        views = list(self.schema_.names) if view is None else [view]
        if k is None:
            return {own: self._about(own, n, views) for own in range(K)}
        if not _is_number(k, below=K):
            raise ValueError(f"Got k={k!r}; expected a cluster from 0 to {K - 1}, or None for all.")
        return self._about(int(k), n, views)

    def _about(self, k: int, n: int, views: Sequence[str]) -> list[ClusterFeature]:
        """Return the features of some views that stand for a cluster most."""
        found = []
        for view in views:
            v = self.schema_.number_of(view)
            sums = self._answers.reclustered.views[v]
            features, parts = standing_for(self._answers, v, k, n)
            means = self._known.in_units(v, features, means_by_cluster(sums.on(features))[:, k])
            overall = self._known.in_units(v, features, sums.on(features).mean)
            for j, part, own, every in zip(features, parts, means, overall, strict=True):
                name = _name(self.schema_, v, int(j))
                strength = float(own / every) if every else np.inf
                found.append(ClusterFeature(view, name, strength, float(part)))
        return sorted(found, key=lambda each: -each.part)[:n]

    @on_one_thread
    def feature_notes(self) -> dict[str, FeatureNotes]:
        """Return what is known of every feature beside its rank, by view name."""
        check_is_fitted(self)
        return dict(zip(self.schema_.names, self._known.notes, strict=True))

    @property
    @on_one_thread
    def cluster_names_(self) -> list[str]:
        """What clusters are called: by the features that stand for them most, as words do best."""
        words = []
        for v, name in enumerate(self.schema_.names):
            shares = self._known.notes[v].share_of_rows[self._answers.separations[v] > 0]
            if len(shares) and np.median(shares) < _RARE:
                words.append(name)
        views, K = words or self.schema_.names, self.n_clusters_
        about = (self._about(k, _IN_NAME, views) for k in range(K))
        return [" · ".join(dict.fromkeys(map(_called, own))) for own in about]

    def _more_columns(self, order: Mapping[str, NDArray[np.intp]]) -> dict[str, Any]:
        found: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        called = self.cluster_names_
        for v, (view, places) in enumerate(order.items()):
            own, names = self._known.notes[v], self.schema_.names_of(view)
            found["explained"] += own.explained[places].tolist()
            found["separation"] += (own.explained * own.spread)[places].tolist()
            found["share_of_rows"] += own.share_of_rows[places].tolist()
            for rank, j in enumerate(places.tolist(), start=1):
                found["cluster"].append(None if own.cluster[j] < 0 else int(own.cluster[j]))
                found["repeats"].append(names[own.repeats[j]] if own.is_repeat(j) else None)
                found["why"].append(own.why(j, rank, names, called))
        return found

    @property
    def selection_quality_(self) -> SelectionQuality:
        """How well the best features alone predict the clusters, by their number.

        Features are ranked by half of the sampled rows; the best of them alone predict the clusters
        of the other half. With `n_features_to_select` numbers are of all views.

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> from omvfs.datasets import make_planted
        >>> planted = make_planted(600, n_features=(300, 200), random_state=0)
        >>> selector = OMVFS(n_clusters=5, random_state=0).fit(planted.views)
        >>> quality = selector.selection_quality_
        >>> bool(quality.at(40) > quality.at(2))
        True
        >>> list(quality.views)
        ['view_0', 'view_1']
        """
        return self._judged()

    @on_one_thread
    def _judged(self) -> SelectionQuality:
        answers, in_all = self._answers, self.n_features_to_select is not None
        sizes = sizes_to_judge(self.schema_.widths, in_all)
        draws = self._draws(N_JUDGED, "to judge a selection by", sizes[-1])
        by_view = [tuple(self._budget(size)) for size in sizes] if in_all else None
        found = selection_agreement(answers, draws, by_view or sizes)
        widths = dict(zip(self.schema_.names, self.schema_.widths, strict=True))
        return SelectionQuality.of(sizes, found, widths, by_view)

    def _draws(self, n: int, what: str, most: int) -> list[Draw]:
        """Return what random halves of the sample give, at least so many of them."""
        n_rows, least = len(self._answers.state.sample), 2 * self._answers.clustering.n_clusters
        if n_rows < max(least, 4):
            raise TooFewRowsError(
                f"Got {n_rows:,} rows {what}; expected at least {max(least, 4):,}, two for each "
                "cluster. Learn from more rows, or give a number of features, as in "
                "n_features_per_view=100 (--features 100)."
            )
        criterion, known = checked("criterion", self.criterion), self._known.draws
        asked = criterion, max(most, CANDIDATES)
        if len(known.get(asked, ())) >= n:
            return known[asked][:n]
        found = draw(self._answers, max(n, N_DRAWS), criterion, most)
        # A callable may give other scores the next time.
        if isinstance(criterion, str):
            known[asked] = found
        return found[:n]

    def suggest_n_features(self, view: str | None = None) -> int:
        """Return how many features are enough: where `selection_quality_` levels off.

        Parameters
        ----------
        view : str, default=None
            Judge this view alone; by default, all views together, so many features of each, or,
            with `n_features_to_select`, in all.
        """
        judged = self._judged()
        if view is None:
            return judged.levels_off_at
        self.schema_.number_of(view)
        return judged.views[view].levels_off_at

    def _in_question(self, sizes: Mapping[str, int]) -> int:
        """Return how many features of a view come into question: twice as many as are selected."""
        pairs = zip(sizes.values(), self.schema_.widths, strict=True)
        return 2 * max((size for size, width in pairs if size < width), default=0)

    @on_one_thread
    def stability(self, n_resamples: int = N_DRAWS) -> SelectionStability:
        """Return how much of the selection stays if other rows are looked at.

        Each time a random half of the sampled rows is clustered anew, and features ranked by it
        alone. Halves differ from each other as independent samples as large as the whole would. The
        answer is the same every time.

        Parameters
        ----------
        n_resamples : int, default=8
            How often, at least four times.

        Returns
        -------
        SelectionStability
            The share of the selected features that two draws have in common, of all views that
            are not noise and by view, and the share of the draws in which each feature is selected.
        """
        check_is_fitted(self)
        n_resamples, by_view = whole("n_resamples", n_resamples, least=4), self._sizes()
        answers, names, sizes = self._answers, self.schema_.names, list(by_view.values())
        draws = self._draws(n_resamples, "to draw from", self._in_question(by_view))[:n_resamples]
        masks = selections(draws, self.schema_.widths, sizes)
        # What is chosen of noise is chance, and counts only where there is nothing else.
        counts = answers.noise.all() | ~answers.noise
        weight = sum(size for size, own in zip(sizes, counts, strict=True) if own)
        views, one = {}, 0.0
        for v, (view, own) in enumerate(zip(names, masks, strict=True)):
            ever = np.flatnonzero(own.any(axis=0))
            groups = alike(answers.rows[v], ever)
            one += counts[v] * sizes[v] / max(weight, 1) * float(as_one(own, ever, groups).mean())
            often = own.mean(axis=0)
            either = [ever[groups == group] for group in np.unique(groups)]
            in_turn = [each for each in either if len(each) > 1 and (often[each] < 1).all()]
            named = tuple(tuple(_name(self.schema_, v, int(j)) for j in each) for each in in_turn)
            views[view] = ViewStability(Stays(*interval(overlaps(own))), often, named)
        counted = [own for own, tells in zip(masks, counts, strict=True) if tells]
        stays = Stays(*interval(overlaps(np.hstack(counted))))
        clusters = agreement_of_clusters(draws)
        return SelectionStability(stays, one, clusters, weight, views, n_resamples)

    @on_one_thread
    def verdict(self) -> Verdict:
        """Return whether to trust what was found: which views carry it, what stays, what is noise.

        Returns
        -------
        Verdict
            Shown as sentences.

        Examples
        --------
        >>> X = np.random.default_rng(0).random((300, 20))
        >>> OMVFS(3, random_state=0).fit(X).verdict().holds
        False
        """
        answers, names = self._answers, self.schema_.names
        pairs = zip(answers.clustering.agreement.tolist(), ~answers.noise, strict=True)
        told = [ViewVerdict(own, bool(holds)) for own, holds in pairs]
        views, n = dict(zip(names, told, strict=True)), len(answers.state.sample)
        if not testable(answers.rows, answers.state.sample.present):
            return Verdict(False, views, tested=False)
        if answers.noise.all():
            return Verdict(False, views)
        sampled = np.bincount(answers.clustering.labels, minlength=self.n_clusters_)
        small = tuple(np.flatnonzero((sampled > 0) & (sampled < FEWEST_SAMPLED)).tolist())
        try:
            stability = self.stability()
        except TooFewRowsError:
            return Verdict(True, views, small=small, n_sampled=n, n_rows=self.n_samples_seen_)
        criterion = checked("criterion", self.criterion)
        sizes = [
            own * holds for own, holds in zip(self._sizes().values(), ~answers.noise, strict=True)
        ]
        most = self._in_question(self._sizes())
        first = self._draws(N_DRAWS, "to draw from", most)[0]
        numbers = other_numbers(answers, first, sizes, criterion, most)
        told_rows = n, self.n_samples_seen_
        return Verdict(True, views, stability, numbers, self._enough(), small, *told_rows)

    def _enough(self) -> str:
        """Say how good the selection is and how many features would do; nothing if nobody can.

        Nor if views differ in the number of their features that are selected, but for those that
        have no more.
        """
        sizes = list(self._sizes().values())
        in_all = self.n_features_to_select is not None
        asked = sum(sizes) if in_all else max(sizes)
        if not in_all and sizes != [min(asked, width) for width in self.schema_.widths]:
            return ""
        quality = self._judged()
        enough, most = quality.levels_off_at, int(quality.sizes[-1])
        best, there = (two_digits(quality.at(n)) for n in (asked, enough))
        named = f"{asked:,} feature{'s' if asked > 1 else ''}"
        if asked > most:
            named = f"The best {most:,} of {named}"
        verb = "predicts" if asked == 1 else "predict"
        of = "in all" if in_all else "per view"
        told = f"{named} {of} {verb} the clusters of held-out rows by {best}"
        if enough == asked or enough >= most < asked:
            return f"{told}."
        reach = "are enough for" if enough < asked else "reach"
        return f"{told}; {enough:,} {reach} {there}, and more gain little."

    @on_one_thread
    def _budget(self, total: int) -> list[int]:
        """Return how many features of each view are among so many of all views."""
        answers = self._answers
        return [int(n) for n in budget(answers.scores(), explained_variances(answers), total)]

    def _sizes(self) -> dict[str, int]:
        """Return how many features are selected by view name, ``"auto"`` being what is enough."""
        names = self.schema_.names
        if self.n_features_to_select is not None:
            auto = isinstance(self.n_features_to_select, str)
            asked = self.suggest_n_features() if auto else self.n_features_to_select
            total = total_of(asked, self.schema_)
            return dict(zip(names, self._budget(total), strict=True))
        asked = checked("n_features_per_view", self.n_features_per_view, names)
        enough = self.suggest_n_features() if AUTO in asked else None
        sizes: list[Any] = [enough if size == AUTO else size for size in asked]
        return sizes_by_view(dict(zip(names, sizes, strict=True)), self.schema_)

    def report(
        self,
        name: str | None = None,
        *,
        examples: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
        run: Mapping[str, Any] | None = None,
    ) -> Report:
        """Return a page on what was learned: clusters, features, how far to trust them, and why.

        Needs jinja2: ``pip install omvfs[report]``.

        Parameters
        ----------
        name : str, default=None
            What the data are called: the title.
        examples : mapping of int to sequence of mapping, default=None
            A few rows of each cluster by what they are called, such as
            ``{0: [{"title": "..."}]}``: rows have no names in here.
        run : mapping of str to object, default=None
            How it was made, if there is more to tell than parameters: shown as it is.

        Returns
        -------
        Report
            Shows itself in a notebook; else ``.open()``, ``.save("report.html")`` or ``.html()``.

        Examples
        --------
        >>> from omvfs.datasets import make_planted
        >>> planted = make_planted(300, n_features=(300, 200), random_state=0)
        >>> OMVFS(5, n_features_per_view=20, random_state=0).fit(planted.views).report()
        <Report on 300 rows in 5 clusters; save(path), open() or html() shows it>
        """
        if name is not None and not isinstance(name, str):
            raise refusal("name", name, "what the data are called, as in report('Tickets')")
        return report_on(self, name, examples=examples, run=run)

    # Merging, saving

    def merge(self, *others: Self, order: bool = False) -> Self:
        """Return an estimator of the rows of this one and of others, none of which is changed.

        Each has learned from a part of a stream by itself, with the same parameters, but for those
        that rank, which are taken from this one. Parts count by the rows that they saw. Those that
        have seen none are passed over.

        For a given set of parts the result is the same, to the bit, in whatever order and grouping
        they are merged: parts are known by their rows. They are held until learning goes on, or the
        estimator is saved and loaded; from then on it is one part.

        Parameters
        ----------
        *others : OMVFS
        order : bool, default=False
            Whether the parts follow each other in time, as they are given. Then all but the last
            are faded by what came after them, as `half_life` says. By default parts are side by
            side.

        Returns
        -------
        OMVFS

        See Also
        --------
        omvfs.merge : The same, for files too.

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> from omvfs.datasets import make_planted
        >>> planted = make_planted(900, n_features=(300, 200), random_state=0)
        >>> thirds = [
        ...     {view: X[rows] for view, X in planted.views.items()}
        ...     for rows in (slice(0, 300), slice(300, 600), slice(600, 900))
        ... ]
        >>> a, b, c = (OMVFS(5, random_state=0).fit(third) for third in thirds)
        >>> merged = a.merge(b, c)
        >>> merged.n_samples_seen_
        900
        >>> bool((merged.scores_ == c.merge(a).merge(b).scores_).all())
        True
        """
        merged: Self = merge_models([self, *others], order)
        return merged

    def save(self, path: str | os.PathLike[str], extra: Any = None) -> None:
        """Write all that was learned, and the parameters, to a file; the one before is kept too.

        Learning goes on after `load` as if it had never stopped, to the same bits, whatever number
        of threads BLAS is set to. The same model gives the same bytes.

        Parameters
        ----------
        path : path
            The file, replaced atomically. What was there moves to ``<path>.1``.
        extra : object, default=None
            What else to keep: anything that JSON can hold, such as where in a stream to go on.
            `omvfs.codec.read` returns it as ``tree["extra"]``.
        """
        codec.write(path, persistence.content_of(self, os.fspath(path), extra))

    def to_bytes(self) -> bytes:
        """Return what `save` would write, to be kept in memory or sent to another machine.

        Returns
        -------
        bytes

        Examples
        --------
        >>> X = np.random.default_rng(0).random((40, 6))
        >>> state = OMVFS(2, random_state=0).fit(X).to_bytes()
        >>> OMVFS.from_bytes(state).n_samples_seen_
        40
        """
        return persistence.content_of(self)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return the estimator that `to_bytes` gave; what cannot be true is refused.

        Parameters
        ----------
        content : bytes

        Raises
        ------
        omvfs.codec.CheckpointError
            If they are damaged, of another version, or something else.
        """
        if not isinstance(content, bytes | bytearray | memoryview):
            raise TypeError(f"Got {type(content).__name__}; expected the bytes of a state.")
        return persistence.selector_of(cls, *codec.decoded(bytes(content)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the estimator that `save` wrote.

        Parameters
        ----------
        path : path

        Raises
        ------
        omvfs.codec.CheckpointError
            If the file is damaged, of another version, or something else.

        Examples
        --------
        >>> import tempfile
        >>> X = np.random.default_rng(0).random((40, 6))
        >>> path = tempfile.mkdtemp() + "/model.omvfs"
        >>> OMVFS(2, random_state=0).fit(X).save(path)
        >>> OMVFS.load(path).n_samples_seen_
        40
        """
        return persistence.selector_of(cls, *codec.read(path), path)

    def as_parts(self) -> tuple[Part, ...]:
        """Return what was learned as parts that can be merged; learning on does not change them."""
        if "_known" not in vars(self):
            return ()
        if self._parts:
            return self._parts
        # A copy: learning on writes into the sums.
        known = copy.deepcopy(self._known)
        columns = None if self._columns is None else self._columns.astype("<i8").tobytes()
        own = asdict(known.settings)
        del own["seed"]
        own |= {name: getattr(self, name) for name in ("batch_size", "new_features")}
        reading = "one X that is not split" if self._plain else "views"
        if columns is not None:
            reading = f"one X of {self.n_features_in_:,} columns, split into views"
        return (Part(known, self._history, own, reading, columns),)

    def settled(self, X: Any) -> Self:
        """Return an unfitted estimator for all parts of a stream, with what the first rows tell.

        These are steps, and kinds of columns unless later parts may have others.
        """
        found: Self = clone(self)
        first = self._read_first(X)
        if len(first) < FEWEST:
            return found
        known = self._empty(first).told_by(first[: self.batch_size], self.prepare)
        steps = dict(zip(known.schema.names, map(list, known.preparation.steps), strict=True))
        found.prepare = {view: steps[view] for view in known.told}
        if known.table is not None and self._new_features == "error":
            found.columns = dict(known.table.kinds)
        return found

    def with_learned(self, known: FittedState, history: Sequence[ChunkInfo]) -> Self:
        """Return an estimator that reads rows as this one does, and has learned something else."""
        merged: Self = clone(self)
        for name in ("n_features_in_", "_columns", "_plain", "feature_names_in_"):
            if hasattr(self, name):
                setattr(merged, name, getattr(self, name))
        merged.schema_ = known.schema
        merged.__dict__.update(merged._learned(known, history))
        return merged

    # Reading rows

    @property
    def _new_features(self) -> NewFeatures:  # type: ignore[override]
        found: NewFeatures = checked("new_features", self.new_features)
        return found

    @property
    def _goes_by_names(self) -> bool:
        """Whether features go by their names, and not by their places: they grow, or are hashed.

        Then the columns of one X have no order that stays, so that all that is told by feature
        stands view after view, and one X is read as the views that it has.
        """
        if self._new_features == "grow":
            return True
        return any(hash_bits(step) for _, step in steps_of("prepare", self.prepare))

    def _remember(self, X: Any, batch: Views) -> None:
        if not self._goes_by_names and not batch.by_name and batch.table is None:
            super()._remember(X, batch)
            return
        super()._remember(batch, batch)
        self._plain = False

    def _read_first(self, X: Any) -> Views:
        checked("columns", self.columns)
        return self._by_names(X, self.columns)

    def _read_chunk(self, X: Any) -> Views:
        self._check_unchanged()
        return self._read_later(X)

    def _read_next(self, X: Any, negative: Negative = "allow") -> Views:
        """Validate later rows, with the features that are known."""
        batch = self._read_later(X)
        return self._known.matched(batch) if self._known.grows else batch

    def _read_later(self, X: Any) -> Views:
        known = self._known
        if not known.grows and not known.preparation.hashes and known.table is None:
            return super()._read_next(X, "allow")
        batch = self._by_names(X, known.table)
        if self._new_features == "error":
            self.schema_.check_names(batch.schema)
        return as_views(
            batch,
            like=self.schema_,
            negative="allow",
            missing=self._missing,
            new_features="grow" if known.grows else "error",
        )

    def _by_names(self, X: Any, columns: Any = None) -> Views:
        """Read a batch as it is, but for what is hashed."""
        is_split = not (is_views(X) and self._goes_by_names)
        batch = as_views(
            X,
            views=self.views if is_split else None,
            negative="allow",
            missing=self._missing,
            new_features="grow" if self._goes_by_names else "error",
            columns=columns,
        )
        bits = bits_of(self.prepare, batch.names)
        return hashed_views(batch, bits) if any(bits) else batch

    def _read_as_learned(self, X: Any) -> Views:
        return self._known.prepared(self._read_next(X))

    def _read_to_give_back(self, X: Any) -> Views:
        known, batch = self._known, in_precision(self._read_next(X), self._known.dtype)
        return known.preparation.given_back(self.prepare, known.schema.names).apply(batch)

    def _preparing(self, v: int) -> Preparing | None:
        known, view = self._known, self.schema_.names[v]
        preparation = known.preparation.given_back(self.prepare, known.schema.names)
        steps, counted = preparation.steps[v], preparation.counted[v]
        return Preparing(view, steps, counted, known.dtype, "allow") if steps else None

    # Learning

    def _empty(self, first: Views) -> FittedState:
        params = self.get_params(deep=False)
        check_all(params, first.names)
        settings = resolve(params, first.names, seed_of(self.random_state))
        if self._new_features == "error":
            check_views(self.prepare, first.names)
        grows = self._new_features == "grow" or bool(first.grows)
        return FittedState.empty(first, settings, self.prepare, grows)

    def _check_unchanged(self) -> None:
        """Refuse to learn on with parameters that are not those of the rows so far.

        They are looked at again only when they are others than at the chunk before.
        """
        known, own = self._known, vars(self)
        given = {name: own[name] for name in LEARNING if name in own}
        settings, before = own.get("_checked", (None, None))
        if settings is known.settings and before == given:
            return
        views = known.schema.names
        asked = resolve(self.get_params(deep=False), views, known.settings.seed)
        check_unchanged(known.settings, asked)
        known.preparation.check_unchanged(self.prepare, views)
        if (self._new_features == "grow") != known.grows and not known.words:
            raise ValueError(
                f"Got new_features={self.new_features!r}, and another for the rows so far; "
                "expected the same for all rows. Set it back, or call fit() to start anew."
            )
        self._checked = known.settings, copy.deepcopy(given)

    def _advance(self, known: FittedState, chunk: Views, **starts: Any) -> Update[FittedState]:
        started = time.perf_counter()
        if known.grows and (new := [v for v in chunk.names if v not in known.schema.names]):
            names = [*known.schema.names, *new]
            settings = resolve(self.get_params(deep=False), names, known.settings.seed)
            known = known.with_views_of(chunk, settings)
        if known.waiting:
            known = known.told_by(chunk, self.prepare)
        update = known.after(chunk)
        if not known.n_rows:
            warn_of(update.known.suspects(chunk))
        return replace(update, info=replace(update.info, seconds=time.perf_counter() - started))

    def _learned(
        self, known: FittedState, history: Sequence[ChunkInfo], rows: Views | None = None
    ) -> dict[str, Any]:
        learned: dict[str, Any] = super()._learned(known, history)
        learned["_parts"] = ()
        if rows is not None:
            _check_rows(known)
        learned["_labels"] = None if rows is None else known.predict(known.matched(rows))
        if known.grows:
            learned |= {"schema_": known.schema, "n_features_in_": sum(known.schema.widths)}
        return learned


def _check_rows(known: FittedState) -> None:
    K = known.settings.n_clusters
    if isinstance(K, int) and known.n_rows < K:
        raise ValueError(
            f"Got n_clusters={K} for {known.n_rows:,} rows; expected no more clusters than rows. "
            f"Pass n_clusters={known.n_rows} (-k {known.n_rows}) or fewer."
        )


def _name(schema: Schema, v: int, j: int) -> str | int:
    """Return the name of a feature, or its number if it has none."""
    names = schema.feature_names[v]
    return j if names is None else names[j]


def _called(feature: ClusterFeature) -> str:
    """Return what a feature is called in the name of a cluster."""
    name = feature.feature
    return cut(name, 24) if isinstance(name, str) else f"{cut(feature.view, 16)} #{name}"


def _is_number(value: Any, below: int | None = None) -> bool:
    """Tell whether a value is a whole number, if there is a limit one from 0 to below it."""
    if type(value) is bool or not isinstance(value, numbers.Integral):
        return False
    return below is None or 0 <= int(value) < below


def _number_of_feature(schema: Schema, v: int, feature: Any) -> int:
    """Return the column of a feature that is given by name or by number."""
    view, width, names = schema.names[v], schema.widths[v], schema.feature_names[v]
    span = f"a number from 0 to {width - 1:,}"
    if names is None and isinstance(feature, str) and feature.isdecimal():
        feature = int(feature)  # as `top_features` has it
    if _is_number(feature, below=width):
        return int(feature)
    if _is_number(feature):
        raise ValueError(f"View {view!r} has {width:,} features; got {feature}, expected {span}.")
    if not isinstance(feature, str):
        kind = type(feature).__name__
        raise TypeError(f"Got a feature of view {view!r} as {kind}; expected a name or {span}.")
    if names is None:
        raise ValueError(
            f"The features of view {view!r} have no names; got {feature!r}, expected {span}."
        )
    if feature in names:
        return names.index(feature)
    raise ValueError(
        f"View {view!r} has no feature {feature!r}; expected one of its {width:,} names, or "
        f"{span}.{_meant(feature, names)}"
    )


def _meant(got: Any, names: Sequence[str]) -> str:
    """Return a question after names like one that is not among them, if there are any."""
    if not isinstance(got, str):
        return ""
    # Of very many names only those that begin alike: to compare all would take minutes.
    alike = names if len(names) <= _LIKE else (n for n in names if n[:1] == got[:1])
    like = get_close_matches(got, list(islice(alike, _LIKE)))
    return f" Did you mean {' or '.join(map(repr, like))}?" if like else ""
