"""OMVFS, the estimator."""

import copy
import numbers
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from itertools import islice
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from omvfs import codec, persistence
from omvfs.constraints import (
    LEARNING,
    NegativeMode,
    check_all,
    check_together,
    check_unchanged,
    checked,
    resolve,
    resolve_ranking,
    total_of,
)
from omvfs.data.blocks import Missing, Negative
from omvfs.data.read import as_views, warn_of
from omvfs.data.schema import NewFeatures, Schema
from omvfs.data.views import Views
from omvfs.fitted import FittedState
from omvfs.model.constrained.number import ClusterCurve
from omvfs.model.ranking.criteria import Criterion
from omvfs.model.ranking.explanation import displaced_by, place_of
from omvfs.model.ranking.request import Ranking
from omvfs.model.settings import AUTO, Graph
from omvfs.model.state import ChunkInfo, Update
from omvfs.model.stream.event import DriftEvent
from omvfs.parameters import number, seed_of, whole
from omvfs.parts import Part, merge_models
from omvfs.prepare import Preparing, bits_of, hash_bits, hashed_views, steps_of
from omvfs.report import Report, report_on
from omvfs.results import (
    ClusterFeature,
    Explanation,
    FeatureNotes,
    SelectionQuality,
    SelectionStability,
    TooFewRowsError,
    sizes_to_judge,
)
from omvfs.selection import is_views
from omvfs.selector import SelectSize, StreamSelector, sizes_by_view
from omvfs.threads import on_one_thread

# Of this correlation, squared, a better feature tells half of the variance of another.
_REPEATS = 0.5
# Features that are named as displaced.
_DISPLACED = 5
# Names among which one like a misspelt one is looked for.
_LIKE = 20_000


class OMVFS(StreamSelector[FittedState]):
    """Online unsupervised multi-view feature selection.

    Reads a stream of chunks of multi-view data once, keeps consensus clusters of the rows, and
    ranks the features of each view by what they tell of them.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of consensus clusters K. With "auto" the rows of the reservoir tell it: as many as
        views agree on, asked again as the stream grows and when something is asked.
        Needs a reservoir.
    n_features_per_view : int, float, "auto", mapping of str to any of them, or None, default=100
        Features to select per view: at most so many, a share, as many as are enough (see
        `suggest_n_features`), any of them by view name, or all.
    n_features_to_select : int, float or None, default=None
        Features to select in all: so many, or a share of all features; at least one of each view.
        The same part of each view, unless rows of the reservoir prove that views should share by
        what they tell of the clusters. A larger selection contains every smaller one.
        `n_features_per_view` is then not looked at. None for numbers by view.
    views : "prefix", sequence of int, or mapping of str to columns, default=None
        How one 2-D X splits into views: by column names ``view__feature``, by widths, or by columns
        for each view, see `as_views`; every column is in one. Not for input that comes as views
        already.
    prepare : str, sequence of str, or mapping of str to any of them, default=None
        What rows go through before they are learned from: "l2" (rows of unit norm), "log1p",
        "tfidf", "scale" (columns by their largest size), several of them in order, for all views or
        by view name; ``"view:step"`` in a sequence is for one view. What "tfidf" and "scale" count
        over the rows so far is part of what is learned. "hash:20", before all others, puts features
        into 2**20 columns by a hash of their names, so that the view has as many from the start.
        `predict`, `explained_share`, `score` and `transform` take rows as they come and prepare
        them.
    criterion : {"auto", "separation", "signal", "balanced", "information", "contrast", "norm"} \
            or callable, default="auto"
        What makes features good. See ``docs/method.md``. "separation" asks it of each by itself,
        "signal" of all together, and "auto" takes the second where its features reproduce clearly
        more of the clusters, on rows it was not fitted to. These ask the rows of the reservoir;
        where there is none, "balanced" stands in, and for "signal" "separation" when recent rows
        have drifted. A callable
        f(V, masses, sums) gives a view's features their scores, finite and at least 0: V of shape
        (n_features, n_clusters), masses and sums the Σ u² and Σ u of each cluster. It is not saved.
    diversity : float, default=4.0
        How strongly a feature that repeats a better one is discounted; 0 for not at all. Needs the
        reservoir, so without effect for ``sample_size=0``.
    recency : float, default=0.5
        Share of the places, between 0 and 1, that the most recent rows have if they have changed:
        of any number of best features, so many at most are chosen by what they tell of recent rows
        alone, as two halves of these agree, and the others by all rows. Looked at once more rows
        have come than the reservoir holds; not for a sample below 80.
    graph_weight : float or mapping of str to float, default=3.0
        α: how much neighbouring rows pull each other into one cluster, for all views or by view.
    sparsity : float or mapping of str to float, default=0.1
        β: weight of ‖V‖_{2,1}, for all views or by view.
    batch_size : int, default=200
        m: rows of a chunk in `fit`. Each call of `partial_fit` is one chunk, of any size.
    window : int or None, default=2
        s: chunks whose rows `window_labels_` tells of; None never drops one.
    sample_size : int, default=2000
        Rows of the reservoir, a uniform sample of the stream, which is clustered anew as the
        stream grows and when something is asked, and by which repetition is measured; with 0
        neither is done. Half as many of the most recent rows are held beside.
    half_life : float or None, default=None
        Rows after which a row counts half, a quarter after twice as many, and so on: a chunk of m
        rows leaves ρ = ½^(m / half_life) of all before it. By default no row fades.
    graph : {"neighbors", "gaussian", "none"}, default="neighbors"
        Similarity of rows: nearest neighbours by cosine, the dense Gaussian kernel of the paper, or
        none.
    n_neighbors : int, default=20
        Neighbours of a row in the graph.
    scale_columns : bool, default=False
        Scale every column to unit norm over all rows so far.
    view_weight : "balanced", "auto", mapping of str to float or "auto", or None, default="balanced"
        Say of the views. Balanced, each is divided by the root mean square norm of its rows so far
        that are not empty, so that its units do not matter; with weights, a view's squares count by
        its own; None takes views as they come, and those of larger numbers decide. "auto" is
        balanced, but that a view loses its say if the rows of the reservoir make certain that it
        tells nothing: it has nothing to do with any other view, while others have, or, where no
        view has to do with another, no structure of its own. Its features are ranked all the same.
    negative : {"error", "clip", "shift"}, default="error"
        Refuse negative values, set them to 0, or raise each column by its lowest value.
    new_features : {"error", "grow"}, default="error"
        Refuse a chunk of other features than the first, or match features by name: those that are
        new are taken in behind the others, those that a chunk lacks are zero. Views without names
        do not grow. With "grow", attributes by feature stand view after view, also of one X; rows
        for `predict`, `transform` and `score` may have unknown features, which are passed over.
    n_init : int, default=24
        Random starts whenever the reservoir is clustered, at most 1,000.
    max_iter : int, default=20
        Most iterations of the first chunk and whenever the reservoir is clustered, at most 10,000.
    detect_drift : bool, default=False
        Tell when the stream changes, see `drift_`. A stream that never changes is reported as
        changed with a chance of at most 1 %, however long it is. Begins after half of
        `sample_size` rows, and as many after a change; not for a sample below 80. What is learned
        and ranked stays the same.
    random_state : int, RandomState instance or None, default=None
        Seed of every random choice.

    Attributes
    ----------
    view_scores_ : dict of str to ndarray of shape (n_features_of_view,)
        Score of every feature by view; larger is better.
    scores_ : ndarray of shape (`n_features_in_`,)
        The same in the order of the columns of X; of several views, view after view.
    ranking_ : ndarray of shape (`n_features_in_`,)
        Rank of every feature within its view, in the same order; 1 is the best.
    view_ranking_, view_support_ : dict of str to ndarray of shape (n_features_of_view,)
        Rank of every feature, and whether it is selected, by view.
    selection_quality_ : SelectionQuality
        How much of the clusters the best features alone reproduce, by their number, all views
        together and each alone; ``print`` shows a table.
    n_clusters_ : int
        Number of consensus clusters in force: `n_clusters`, or what the rows have told.
    n_clusters_curve_ : ClusterCurve
        With ``n_clusters="auto"``, the numbers tried and how far views agree on each;
        ``print`` shows a table.
    V_ : dict of str to ndarray of shape (n_features_of_view, n_clusters)
        Feature matrices.
    labels_ : ndarray of shape (n_rows,)
        Consensus cluster of every row that `fit` was given, as `predict` tells it. Not there after
        `partial_fit`, `load` or `merge`: rows are not kept.
    window_labels_ : ndarray
        Consensus cluster of every row in the window.
    cluster_shares_ : ndarray of shape (n_clusters,), or None
        Share of rows of each cluster, estimated on the reservoir; None without one.
    view_weights_ : dict of str to float
        What the squares of each view count by in the clusters, after balancing; None for a view
        that is taken as it comes.
    history_ : list of ChunkInfo
        One entry a chunk: terms of the objective, iterations, seconds, orthogonality error, and the
        change of the stream if one was noticed. The last 10,000 chunks are kept.
    drift_ : list of DriftEvent
        Changes of the stream, in order, if `detect_drift` is on; the last 1,000 are kept.
    n_iter_ : int
        Iterations done for the last chunk.
    n_samples_seen_ : int
        Rows seen.
    n_features_in_ : int
        Features of all views together.
    feature_names_in_ : ndarray
        Column names, where one X with such names was given.

    Notes
    -----
    Rows are taken as they come; texts and images are best given rows of unit norm
    (``prepare="l2"``), so that every row and every view has the same say.

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

    is_multi_view = True
    embeds_directly = True
    _missing: Missing = "allow"
    # Of what decides what is learned, what is not for the user to choose.
    _fixed: ClassVar[Mapping[str, Any]] = {
        "solver": "constrained",
        "orthogonality": 0.0,
        "tol": 0.0,
    }

    # Parts that it was merged from, as long as nothing was learned since.
    _parts: tuple[Part, ...]
    # Clusters of the rows that `fit` was given, as long as nothing was learned since.
    _labels: NDArray[np.intp] | None

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        n_features_per_view: SelectSize | Any = 100,
        n_features_to_select: int | float | None = None,
        views: Any = None,
        prepare: Any = None,
        criterion: Criterion = "auto",
        diversity: float = 4.0,
        recency: float = 0.5,
        graph_weight: float | Mapping[str, float] = 3.0,
        sparsity: float | Mapping[str, float] = 0.1,
        batch_size: int = 200,
        window: int | None = 2,
        sample_size: int = 2000,
        half_life: float | None = None,
        graph: Graph = "neighbors",
        n_neighbors: int = 20,
        scale_columns: bool = False,
        view_weight: Any = "balanced",
        negative: NegativeMode = "error",
        new_features: NewFeatures = "error",
        n_init: int = 24,
        max_iter: int = 20,
        detect_drift: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_features_per_view = n_features_per_view
        self.n_features_to_select = n_features_to_select
        self.views = views
        self.prepare = prepare
        self.criterion = criterion
        self.diversity = diversity
        self.recency = recency
        self.graph_weight = graph_weight
        self.sparsity = sparsity
        self.batch_size = batch_size
        self.window = window
        self.sample_size = sample_size
        self.half_life = half_life
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.scale_columns = scale_columns
        self.view_weight = view_weight
        self.negative = negative
        self.new_features = new_features
        self.n_init = n_init
        self.max_iter = max_iter
        self.detect_drift = detect_drift
        self.random_state = random_state

    @property
    @on_one_thread
    def view_scores_(self) -> dict[str, NDArray[Any]]:
        """Scores by view name; larger is better."""
        check_is_fitted(self)
        return self._by_view(self._known.queries.scores(self._ranking))

    @property
    @on_one_thread
    def V_(self) -> dict[str, NDArray[Any]]:
        """Feature matrices by view name."""
        check_is_fitted(self)
        return self._by_view(self._known.queries.V)

    def _by_view(self, arrays: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return copies of what the model keeps, by view name."""
        return {name: each.copy() for name, each in zip(self.schema_.names, arrays, strict=True)}

    @property
    def n_iter_(self) -> int:
        """Iterations done for the last chunk."""
        return self.history_[-1].n_iter

    @property
    def history_(self) -> list[ChunkInfo]:
        """What happened in every chunk, the last 10,000 of them."""
        check_is_fitted(self)
        return list(self._history)

    @property
    def drift_(self) -> list[DriftEvent]:
        """Changes of the stream, in order, the last 1,000 of them."""
        check_is_fitted(self)
        return list(self._known.drift)

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

    @on_one_thread
    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the consensus cluster of new rows, by their fit in all views and their neighbours.

        Neighbours are asked among the rows kept in the reservoir; without it or a graph the fit
        alone decides.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return self._known.predict(self._read_next(X, self._later_negative_mode))

    @on_one_thread
    def explained_share(self, X: Any, y: Any = None) -> float:
        """Return the share of ‖X‖² that the consensus clusters explain, between 0 and 1.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.
        y : ignored
            For compatibility with scikit-learn.
        """
        check_is_fitted(self)
        return self._known.explained(self._read_next(X, self._later_negative_mode))

    @property
    def labels_(self) -> NDArray[np.intp]:
        """Consensus cluster of every row that `fit` was given."""
        check_is_fitted(self)
        labels: NDArray[np.intp] | None = self._labels
        if labels is None:
            raise AttributeError(
                "labels_ is of the rows of fit(); after partial_fit(), load() or merge() they are "
                "not known any more. Use predict(X), or window_labels_ for the last chunks."
            )
        return labels.copy()

    @property
    @on_one_thread
    def window_labels_(self) -> NDArray[np.intp]:
        """Consensus cluster of every row in the window."""
        check_is_fitted(self)
        return self._known.queries.window_labels()

    @property
    @on_one_thread
    def view_weights_(self) -> dict[str, float | None]:
        """What the squares of each view count by in the clusters; 0.01 if it is not heard."""
        check_is_fitted(self)
        weights = (1.0 if w == AUTO else w for w in self._known.queries.told.view_weight)
        return dict(zip(self.schema_.names, weights, strict=True))

    @property
    @on_one_thread
    def n_clusters_(self) -> int:
        """Number of consensus clusters in force."""
        check_is_fitted(self)
        return self._known.queries.K

    @property
    @on_one_thread
    def n_clusters_curve_(self) -> ClusterCurve:
        """How far views agree on clusters, by their number."""
        check_is_fitted(self)
        curve = self._known.queries.cluster_curve
        if curve is None:
            raise AttributeError(
                "n_clusters_curve_ is of rows that are asked how many clusters there are, by "
                "n_clusters='auto'; here a number was given, or all rows are forgotten."
            )
        return curve

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

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> rows = [[3, 1, 0, 0, 1], [2, 1, 0, 0, 1], [0, 0, 3, 0, 1], [0, 0, 3, 1, 1]] * 10
        >>> selector = OMVFS(2, n_features_per_view=2, random_state=0).fit({"text": rows})
        >>> selector.explain("text", 2)
        Feature 2 of view 'text': rank 1 of 5, score 0.4867, selected
          stands for  cluster 0 (1.90 × even)
          found in    50.0% of the rows
          displaced   0, 1, 3
          by itself   separation 1, balanced 1, information 1, contrast 1, norm 1
        >>> why = selector.explain("text", 0)
        >>> why.repeats, round(why.correlation, 2), why.selected
        (2, -0.96, False)
        """
        check_is_fitted(self)
        v = self.schema_.number_of(view)
        j = _number_of_feature(self.schema_, v, feature)
        known, ranking = self._known, self._ranking
        queries, found = known.queries, known.queries.repetition(ranking)[v]
        rank = place_of(found.scores, j)
        shares = queries.shares_of_rows(v, known.zeros(v))
        repeated, own = int(found.repeated[j]), np.array([j])
        displaced = displaced_by(found, j, _DISPLACED).tolist()
        cluster = int(queries.leading_clusters(v, own)[0])
        return Explanation(
            view=view,
            feature=_name(self.schema_, v, j),
            number=j,
            rank=rank,
            n_features=self.schema_.widths[v],
            score=float(found.scores[j]),
            selected=rank <= self._sizes()[view],
            strengths=tuple(queries.strengths(v, own)[0].tolist()),
            cluster=None if cluster < 0 else cluster,
            share_of_rows=None if shares is None else float(shares[j]),
            repeats=None if repeated < 0 else _name(self.schema_, v, repeated),
            correlation=None if repeated < 0 else float(found.correlations[j]),
            displaced=tuple(_name(self.schema_, v, i) for i in displaced),
            ranks=queries.ranks(v, j, ranking),
            is_recent=queries.is_recent(v, j, float(found.own[j]), ranking),
        )

    @on_one_thread
    def cluster_features(
        self, k: int | None = None, n: int = 10, *, view: str | None = None
    ) -> list[ClusterFeature] | dict[int, list[ClusterFeature]]:
        """Return what clusters are about: the selected features that stand for them most.

        Of the selected features of all views, those that rows of the cluster have more of than
        others, by their correlation with being in it, over the rows of the reservoir. A feature
        that all rows have correlates with no cluster, one that hardly any row has with none by
        much, and units do not matter, so that views compare. Without a reservoir, by how far the
        mean in the cluster is above that of all rows, relative to it, times the root of p/(1 − p)
        for a cluster of a share p.

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

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> rows = [[3, 1, 0, 0, 1], [2, 1, 0, 0, 1], [0, 0, 3, 0, 1], [0, 0, 3, 1, 1]] * 10
        >>> selector = OMVFS(2, n_features_per_view=3, random_state=0).fit({"text": rows})
        >>> about = selector.cluster_features()
        >>> {k: [each.feature for each in own] for k, own in about.items()}
        {0: [2, 3], 1: [0]}
        >>> selector.cluster_shares_
        array([0.5, 0.5])
        """
        check_is_fitted(self)
        K, n = self._known.queries.K, whole("n", n, least=1)
        views = [view] if view is not None else list(self.schema_.names)
        if k is None:
            return self._about(range(K), n, views)
        if not _is_number(k, below=K):
            raise ValueError(f"Got k={k!r}; expected a cluster from 0 to {K - 1}, or None for all.")
        return self._about([int(k)], n, views)[int(k)]

    @property
    @on_one_thread
    def cluster_shares_(self) -> NDArray[np.float64] | None:
        """Share of rows of each cluster, estimated on the reservoir; None without one."""
        check_is_fitted(self)
        return self._known.queries.cluster_shares()

    @on_one_thread
    def feature_notes(self) -> dict[str, FeatureNotes]:
        """Return what a table tells of every feature beside its rank, by view name.

        Worked out for all features at once; `explain` tells more of one.

        Returns
        -------
        dict of str to FeatureNotes

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> rows = [[3, 1, 0, 0, 1], [2, 1, 0, 0, 1], [0, 0, 3, 0, 1], [0, 0, 3, 1, 1]] * 10
        >>> notes = OMVFS(2, random_state=0).fit({"text": rows}).feature_notes()["text"]
        >>> notes.cluster.tolist(), notes.share_of_rows.tolist(), notes.repeats.tolist()
        ([1, 1, 0, 0, -1], [0.5, 0.5, 0.5, 0.25, 1.0], [2, 2, -1, -1, -1])
        """
        check_is_fitted(self)
        known, ranking = self._known, self._ranking
        notes = {}
        for v, (name, found) in enumerate(
            zip(self.schema_.names, known.queries.repetition(ranking), strict=True)
        ):
            worth_telling = np.square(found.correlations) >= _REPEATS
            notes[name] = FeatureNotes(
                known.queries.leading_clusters(v),
                known.queries.shares_of_rows(v, known.zeros(v)),
                np.where(worth_telling, found.repeated, -1),
            )
        return notes

    def _more_columns(self, order: Mapping[str, NDArray[np.intp]]) -> dict[str, Any]:
        notes = self.feature_notes()
        clusters: list[int | None] = []
        shares: list[float | None] = []
        repeats: list[str | None] = []
        for view, places in order.items():
            own, names = notes[view], self.schema_.names_of(view)
            clusters += [None if k < 0 else k for k in own.cluster[places].tolist()]
            known = own.share_of_rows
            shares += [None] * len(places) if known is None else known[places].tolist()
            repeats += [None if j < 0 else names[j] for j in own.repeats[places].tolist()]
        return {"cluster": clusters, "share_of_rows": shares, "repeats": repeats}

    @property
    def selection_quality_(self) -> SelectionQuality:
        """How much of the consensus clusters the best features alone reproduce, by their number.

        The rows of the reservoir are halved, twice. Features are ranked by one half; the rows of
        the other are clustered on the best features alone, and the clusters compared with the
        consensus clusters by normalised mutual information. With `n_features_to_select` numbers are
        of all views, shared between them as the selection is.

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

    def suggest_n_features(self, view: str | None = None) -> int:
        """Return how many features are enough: where `selection_quality_` levels off.

        More than so many gain no more than judgements differ by.

        Parameters
        ----------
        view : str, default=None
            Judge this view alone; by default, all views together, so many features of each, or,
            with `n_features_to_select`, in all.
        """
        if view is None:
            return self._judged(alone=False).levels_off_at
        check_is_fitted(self)
        self.schema_.number_of(view)
        return self._judged().views[view].levels_off_at

    @on_one_thread
    def stability(
        self, n_resamples: int = 20, *, share: float = 0.5, quick: bool = False
    ) -> SelectionStability:
        """Return how much of the selection stays under other rows and other seeds.

        Each time some rows of the reservoir are drawn, clustered from another seed into as many
        clusters, and the features ranked by them alone. What was learned is not changed, and the
        answer is the same every time.

        Parameters
        ----------
        n_resamples : int, default=20
            How often rows are drawn, at least twice.
        share : float, default=0.5
            Of the rows of the reservoir, those that are drawn, above 0 and at most 1. With 1 only
            the seed differs.
        quick : bool, default=False
            Whether the rows that are drawn are clustered with little effort, from few starts and
            without a graph, as the first rows of a stream are. It takes a fifth of the time, and on
            the whole tells of less stability than there is.

        Returns
        -------
        SelectionStability
            By view the share of the resamples in which each feature is selected, and the stability
            of Nogueira, Sechidis and Brown (2018): 1 if they select the same, about 0 if they agree
            no more than by chance. Its interval takes resamples for independent, which those of one
            reservoir are only in part.

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> from omvfs.datasets import make_planted
        >>> planted = make_planted(600, n_features=(300, 200), random_state=0)
        >>> selector = OMVFS(5, n_features_per_view=20, random_state=0).fit(planted.views)
        >>> found = selector.stability(5)
        >>> found.index.value > 0.5, found.views["view_0"].frequencies.shape
        (True, (300,))
        """
        check_is_fitted(self)
        n_resamples = whole("n_resamples", n_resamples, least=2)
        share = number("share", share, least=0.0, most=1.0, above=True)
        sizes, known = self._sizes(), self._known
        order = [sizes[view] for view in self.schema_.names]
        found = known.queries.selections(self._ranking, order, n_resamples, share, quick)
        if found is None:
            n, K = len(known.queries.sample), known.queries.K
            raise TooFewRowsError(
                f"Got {n:,} rows to draw from, those of the reservoir that are not forgotten, and "
                f"share={share:g} of them; expected to draw at least {max(2, K):,}, one for each "
                "cluster. Learn from more rows, or with a larger sample."
            )
        return SelectionStability.of(dict(zip(self.schema_.names, found, strict=True)))

    @on_one_thread
    def _judged(self, alone: bool = True) -> SelectionQuality:
        """Return `selection_quality_`; without views alone in less than half of the time."""
        check_is_fitted(self)
        in_all = self.n_features_to_select is not None
        sizes = sizes_to_judge(self.schema_.widths, in_all)
        return self._known.quality(self._ranking, sizes, in_all, alone)

    def _sizes(self) -> dict[str, int]:
        """Return how many features are selected by view name, ``"auto"`` being what is enough."""
        names = self.schema_.names
        if self.n_features_to_select is not None:
            return dict(zip(names, self._shared(), strict=True))
        asked = checked("n_features_per_view", self.n_features_per_view, names)
        enough = self.suggest_n_features() if AUTO in asked else None
        sizes: list[Any] = [enough if size == AUTO else size for size in asked]
        return sizes_by_view(dict(zip(names, sizes, strict=True)), self.schema_)

    @on_one_thread
    def _shared(self) -> tuple[int, ...]:
        """Return how many features of each view are selected, of so many in all."""
        total = total_of(self.n_features_to_select, self.schema_)
        return self._known.budget(self._ranking, total)

    def report(
        self,
        n_resamples: int | None = None,
        *,
        examples: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
        run: Mapping[str, Any] | None = None,
    ) -> Report:
        """Return a page on what was learned: clusters, features, how far to trust them, and why.

        Needs jinja2: ``pip install omvfs[report]``.

        Parameters
        ----------
        n_resamples : int, default=None
            How often rows are drawn anew to tell how much of the selection is chance, as
            `stability` does if it is to be quick; the dearest part. By default 5 times, and 2 where
            views times clusters are more than 1,000, so that a report is made within 2 s of the
            ranking. 0 leaves it out.
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
        return report_on(self, n_resamples, examples=examples, run=run)

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
            are faded by what came after them, as `half_life` says, and the last rows are the most
            recent ones. By default parts are alike, and no rows are.

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
        known = self._known
        # Whoever goes on learning takes a copy first.
        known.state.statistics.freeze()
        columns = None if self._columns is None else self._columns.astype("<i8").tobytes()
        params = self.get_params(deep=False)
        own = {name: params[name] for name in LEARNING if not hasattr(known.settings, name)}
        # The steps that rows went through, in whatever form they were asked for.
        own["prepare"] = known.preparation.asked_for(known.schema.names)
        reading = "one X that is not split" if self._plain else "views"
        if columns is not None:
            reading = f"one X of {self.n_features_in_:,} columns, split into views"
        own |= asdict(known.settings)
        return (Part(known, self._history, own, reading, columns),)

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
    def _negative_mode(self) -> Any:
        """How `as_views` is to take negative values of the first chunk."""
        negative = checked("negative", self.negative)
        return "allow" if negative == "shift" else negative

    @property
    def _later_negative_mode(self) -> Any:
        """The same, for rows after the first chunk."""
        return "allow" if self._known.raised is not None else self.negative

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
        if not self._goes_by_names:
            super()._remember(X, batch)
            return
        super()._remember(batch, batch)
        self._plain = False

    def _read_first(self, X: Any) -> Views:
        negative = self._negative_mode
        return self._by_names(X, negative) if self._goes_by_names else self._split(X, negative)

    def _read_chunk(self, X: Any) -> Views:
        self._check_unchanged()
        return self._read_later(X, self._later_negative_mode)

    def _read_next(self, X: Any, negative: Negative = "allow") -> Views:
        """Validate later rows, with the features that are known."""
        batch = self._read_later(X, negative)
        return self._known.matched(batch) if self._known.grows else batch

    def _read_later(self, X: Any, negative: Negative) -> Views:
        known = self._known
        if not known.grows and not known.preparation.hashes:
            return super()._read_next(X, negative)
        return as_views(
            self._by_names(X, negative),
            like=self.schema_,
            negative=negative,
            missing=self._missing,
            new_features="grow" if known.grows else "error",
        )

    def _by_names(self, X: Any, negative: Negative) -> Views:
        """Read a batch as it is, but for what is hashed."""
        views = None if is_views(X) else self.views
        batch = as_views(
            X, views=views, negative=negative, missing=self._missing, new_features="grow"
        )
        bits = bits_of(self.prepare, batch.names)
        return hashed_views(batch, bits) if any(bits) else batch

    def _read_as_learned(self, X: Any) -> Views:
        if not self._known.preparation:
            return self._read_next(X)
        return self._known.prepared(self._read_next(X, self._later_negative_mode))

    def _preparing(self, v: int) -> Preparing | None:
        known, view = self._known, self.schema_.names[v]
        steps, counted = known.preparation.steps[v], known.preparation.counted[v]
        dtype, negative = known.state.statistics.dtype.name, self._later_negative_mode
        return Preparing(view, steps, counted, dtype, negative) if steps else None

    # Learning

    @property
    def _all_params(self) -> dict[str, Any]:
        """The parameters, with those that are not for the user to choose."""
        return {**self._fixed, **self.get_params(deep=False)}

    def _empty(self, first: Views) -> FittedState:
        params = self._all_params
        check_all(params, first.names)
        check_together(params, first.names)
        rng = np.random.default_rng(seed_of(self.random_state))
        settings = resolve(params, first.names)
        shift, grows = self.negative == "shift", self._new_features == "grow"
        return FittedState.empty(first, settings, rng, shift, self.prepare, grows)

    def _check_unchanged(self) -> None:
        """Refuse to learn on with parameters that are not those of the rows so far.

        They are looked at again only when they are others than at the chunk before.
        """
        known, own = self._known, vars(self)
        given = {name: own[name] for name in LEARNING if name in own}
        settings, before = own.get("_checked", (None, None))
        if settings is known.settings and before == given:
            return
        views, start_anew = known.schema.names, "Set it back, or call fit() to start anew."
        check_unchanged(known.settings, resolve(self._all_params, views))
        known.preparation.check_unchanged(self.prepare, views)
        if (checked("negative", self.negative) == "shift") != (known.raised is not None):
            raise ValueError(
                f"Got negative={self.negative!r}, and another for the rows so far; it cannot "
                f"change to or from 'shift' after the first chunk. {start_anew}"
            )
        if (self._new_features == "grow") != known.grows:
            raise ValueError(
                f"Got new_features={self.new_features!r}, and another for the rows so far; "
                f"expected the same for all rows. {start_anew}"
            )
        self._checked = known.settings, copy.deepcopy(given)

    def _advance(self, known: FittedState, chunk: Views, **starts: Any) -> Update[FittedState]:
        started = time.perf_counter()
        update = known.after(chunk, **starts)
        assert update.info is not None
        if not known.n_rows:
            warn_of(update.known.suspects(chunk))
        return replace(update, info=replace(update.info, seconds=time.perf_counter() - started))

    def _learned(
        self, known: FittedState, history: Sequence[ChunkInfo], rows: Views | None = None
    ) -> dict[str, Any]:
        learned: dict[str, Any] = super()._learned(known, history)
        learned["_parts"] = ()
        learned["_labels"] = None if rows is None else known.predict(known.matched(rows))
        if known.grows:
            learned |= {"schema_": known.schema, "n_features_in_": sum(known.schema.widths)}
        return learned

    # Ranking

    @property
    def _ranking(self) -> Ranking:
        """How features are ranked, by the parameters as they are now."""
        return resolve_ranking(self._all_params, self.schema_)

    def _about(
        self, clusters: Sequence[int], n: int, views: Sequence[str]
    ) -> dict[int, list[ClusterFeature]]:
        """Return the features of some views that stand for clusters most, n of each at most."""
        entries: list[tuple[str, str | int]] = []
        parts, sizes = [], self._sizes()
        scores = self._known.queries.scores(self._ranking)
        for view in views:
            v = self.schema_.number_of(view)
            # The better ranked first, so that it stays before others that stand as high.
            features = np.argsort(-scores[v], kind="stable")[: sizes[view]]
            entries += [(view, _name(self.schema_, v, j)) for j in features.tolist()]
            parts.append(self._known.queries.standing(v, features))
        strength, height = (np.concatenate(each) for each in zip(*parts, strict=True))
        has_rows = self._known.queries.has_rows
        about = {}
        for k in clusters:
            best = np.argsort(-height[:, k], kind="stable")[:n]
            about[k] = [
                ClusterFeature(
                    view=entries[i][0],
                    feature=entries[i][1],
                    strength=float(strength[i, k]),
                    correlation=float(height[i, k]) if has_rows else None,
                )
                for i in best[height[best, k] > 0].tolist()
            ]
        return about

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.negative == "error"
        return tags


def _name(schema: Schema, v: int, j: int) -> str | int:
    """Return the name of a feature, or its number if it has none."""
    names = schema.feature_names[v]
    return j if names is None else names[j]


def _is_number(value: Any, below: int | None = None) -> bool:
    """Tell whether a value is a whole number, if there is a limit one from 0 to below it."""
    if type(value) is bool or not isinstance(value, numbers.Integral):
        return False
    return below is None or 0 <= int(value) < below


def _number_of_feature(schema: Schema, v: int, feature: Any) -> int:
    """Return the column of a feature that is given by name or by number."""
    view, width, names = schema.names[v], schema.widths[v], schema.feature_names[v]
    span = f"a number from 0 to {width - 1:,}"
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
