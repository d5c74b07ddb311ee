"""OMVFS, the estimator."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from omvfs.constraints import (
    NegativeMode,
    check_all,
    check_countable,
    check_judgeable,
    check_unchanged,
    check_watched,
    checked,
    resolve,
)
from omvfs.data.read import warn_of
from omvfs.data.schema import NewFeatures, Remainder
from omvfs.data.views import Views
from omvfs.fitted import FittedState
from omvfs.growth import check_growing
from omvfs.model.ranking.criteria import Criterion
from omvfs.model.settings import Graph
from omvfs.model.state import ChunkInfo, Update
from omvfs.model.stream.event import DriftEvent
from omvfs.parameters import seed_of
from omvfs.parts import Mergeable
from omvfs.persistence import Persistent
from omvfs.prepare import Preparing
from omvfs.report import Report, report_on
from omvfs.selector import SelectSize
from omvfs.selectors.clustering import ClustersRows
from omvfs.selectors.explaining import ExplainingSelector
from omvfs.selectors.growing_reader import GrowsFeatures
from omvfs.selectors.judging import JudgesSelection
from omvfs.selectors.showing import ShowsLearned
from omvfs.selectors.telling import TellsDrift
from omvfs.threads import alone, on_one_thread


class OMVFS(
    ShowsLearned,
    TellsDrift,
    GrowsFeatures,
    JudgesSelection,
    Persistent,
    Mergeable,
    ClustersRows,
    ExplainingSelector,
):
    """Online unsupervised multi-view feature selection.

    Reads a stream of chunks of multi-view data once, keeps consensus clusters of the rows, and
    ranks the features of each view by what they tell of them.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of consensus clusters K. With "auto" the rows of the reservoir tell it: as many as
        views agree on, asked again as the stream grows and when something is asked.
        Needs a reservoir, and takes no `start_U` nor `start_V`.
    n_features_per_view : int, float, "auto", mapping of str to any of them, or None, default=100
        Features to select per view: at most so many, a share, as many as are enough (see
        `suggest_n_features`), any of them by view name, or all.
    n_features_to_select : int, float or None, default=None
        Features to select in all: so many, or a share of all features; at least one of each view.
        The same part of each view, unless rows of the reservoir prove that views should share by
        what they tell of the clusters. More in all are those and others. Then
        `n_features_per_view` is not looked at. None for numbers by view.
    views : "prefix", sequence of int, or mapping of str to columns, default=None
        How one 2-D X splits into views: by column names ``view__feature``, by widths, or by columns
        for each view, see `as_views`. Not for input that comes as views already.
    remainder : {"error", "drop"}, default="error"
        Refuse columns of one 2-D X that are in no view, or leave them out.
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
        stream grows and when something is asked, and repetition is measured; with 0 neither is
        done. Half as many of the most recent rows are held beside.
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
    max_features : int, mapping of str to (int or None), or None, default=None
        Features that a view may grow to; beyond, the least useful are forgotten, a quarter at a
        time: those that have left least in the clusters a row since they came. Those that came
        within the last 1,000 rows have half of the places before others. `n_features_forgotten_`
        tells how many. Needs ``new_features="grow"``.
    n_init : int, default=24
        Random starts whenever the reservoir is clustered, at most 1,000.
    max_iter : int, default=20
        Most iterations of the first chunk and whenever the reservoir is clustered, at most 10,000.
    detect_drift : bool, default=False
        Tell when the stream changes, see `drift_`. If it never does, it is said to with a chance of
        1 %, however long it is. Begins after half of `sample_size` rows, and as many after a
        change; not for a sample below 80. What is learned and ranked stays the same.
    drift_detector : object with ``update(x)`` and ``drift_detected``, default=None
        Who decides instead, such as ``river.drift.ADWIN()``, told a number between 0 and 1 for
        every chunk: the share of its rows that would have to be in other clusters, explained
        otherwise, or of other views, to be as the first half of the rows before. A copy of it is
        asked, and begins anew after an event. Not saved: after `load` there is none, and one that
        is set begins anew.
    on_drift : callable or None, default=None
        Called with each event when its chunk is learned, which it stays if this raises. Not saved.
    random_state : int, RandomState instance or None, default=None
        Seed of every random choice.

    Attributes
    ----------
    view_scores_ : dict of str to ndarray of shape (n_features_of_view,)
        Score of every feature by view; larger is better.
    scores_ : ndarray of shape (`n_features_in_`,)
        The same in the order of the columns of X, NaN for those in no view; of several views, view
        after view.
    ranking_ : ndarray of shape (`n_features_in_`,)
        Rank of every feature within its view, in the same order; 1 is the best, 0 in no view.
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
    history_ : deque of ChunkInfo
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
    n_features_forgotten_ : dict of str to int
        Features that were forgotten, or never taken in, by view name; those that came again are
        counted again.
    feature_names_in_ : ndarray
        Column names, where one X with such names was given.

    Notes
    -----
    Rows are taken as they come; texts and images are best given rows of unit norm
    (``prepare="l2"``), so that every row and every view has the same say.

    The same calls give the same bits on one machine, whatever number of threads BLAS is set to: it
    has one in here. Calls from several threads wait for each other; those of a copy do not.

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
    _missing = "allow"
    # Of what decides what is learned, what is not for the user to choose.
    _fixed: ClassVar[Mapping[str, Any]] = {
        "solver": "constrained",
        "orthogonality": 0.0,
        "tol": 0.0,
    }

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        n_features_per_view: SelectSize | Any = 100,
        n_features_to_select: int | float | None = None,
        views: Any = None,
        remainder: Remainder = "error",
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
        max_features: Any = None,
        n_init: int = 24,
        max_iter: int = 20,
        detect_drift: bool = False,
        drift_detector: Any = None,
        on_drift: Callable[[DriftEvent], Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_features_per_view = n_features_per_view
        self.n_features_to_select = n_features_to_select
        self.views = views
        self.remainder = remainder
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
        self.max_features = max_features
        self.n_init = n_init
        self.max_iter = max_iter
        self.detect_drift = detect_drift
        self.drift_detector = drift_detector
        self.on_drift = on_drift
        self.random_state = random_state

    def partial_fit(
        self, X: Any, y: Any = None, *, start_U: Any = None, start_V: Any = None
    ) -> Self:
        """Learn from one more chunk; a call that fails changes nothing.

        Parameters
        ----------
        X : anything `as_views` accepts
            The chunk, of any number of rows. Use `rechunk` to cut a stream to equal chunks.
        y : ignored
            For compatibility with scikit-learn.
        start_U : array of shape (n_rows, n_clusters), optional
            Clusters of the chunk to start from, instead of what the solver would take.
        start_V : mapping of str to array of shape (n_features_of_view, n_clusters), optional
            Feature matrices to start from, by view name.

        Returns
        -------
        self
        """
        return self._learn_chunk(X, start_U=start_U, start_V=start_V)

    @property
    @alone
    @on_one_thread
    def view_scores_(self) -> dict[str, NDArray[Any]]:
        """Scores by view name; larger is better."""
        check_is_fitted(self)
        return self._fitted.scores(self._ranking)

    @property
    @alone
    @on_one_thread
    def V_(self) -> dict[str, NDArray[Any]]:
        """Feature matrices by view name."""
        check_is_fitted(self)
        return self._fitted.feature_matrices()

    @property
    @alone
    def n_iter_(self) -> int:
        """Iterations done for the last chunk."""
        check_is_fitted(self)
        return self.history_[-1].n_iter

    @property
    @alone
    def history_(self) -> deque[ChunkInfo]:
        """What happened in every chunk, the last 10,000 of them."""
        check_is_fitted(self)
        return self._journal.history

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

    @property
    def _fitted(self) -> FittedState:
        return self._journal.known

    @property
    def _negative_mode(self) -> Any:
        """How `as_views` is to take negative values."""
        negative = checked("negative", self.negative)
        return "allow" if negative == "shift" else negative

    @property
    def _checked_negative_mode(self) -> Any:
        """The same, for rows after the first chunk."""
        if (self._fitted.raised is not None) != (self.negative == "shift"):
            raise ValueError(
                "negative cannot change to or from 'shift' after the first chunk; call fit() to "
                "start anew."
            )
        return self._negative_mode

    @property
    def _all_params(self) -> dict[str, Any]:
        """The parameters, with those that are not for the user to choose."""
        return {**self._fixed, **self.get_params(deep=False)}

    def _read_as_learned(self, X: Any) -> Views:
        if not self._fitted.preparation:
            return self._read_next(X)
        return self._fitted.prepared(self._read_next(X, self._checked_negative_mode))

    def _preparing(self, v: int) -> Preparing | None:
        fitted, view = self._fitted, self.schema_.names[v]
        dtype, negative = fitted.state.statistics.dtype, self._checked_negative_mode
        return fitted.preparation.of_view(v, view, dtype, negative)

    def _empty(self, first: Views) -> FittedState:
        params = self._all_params
        check_all(params, first.names)
        check_countable(params)
        check_judgeable(params, first.names)
        check_growing(params)
        check_watched(params)
        rng = np.random.default_rng(seed_of(self.random_state))
        settings = resolve(params, first.names)
        shift = self.negative == "shift"
        return FittedState.empty(
            first, settings, rng, shift, self.prepare, self._growth(first.names)
        )

    def _of_all_rows(self, known: FittedState, rows: Views) -> dict[str, Any]:
        return {"_labels": known.predict(known.matched(rows))}

    def _advance(self, known: FittedState, chunk: Views, **starts: Any) -> Update[FittedState]:
        started = time.perf_counter()
        views = known.schema.names
        check_unchanged(known.settings, resolve(self._all_params, views))
        known.preparation.check_unchanged(self.prepare, views)
        self._check_growth_unchanged(known)
        update = known.after(chunk, **starts, detector=getattr(self, "drift_detector", None))
        assert update.info is not None
        if not known.n_rows:
            warn_of(update.known.suspects(chunk))
        return replace(update, info=replace(update.info, seconds=time.perf_counter() - started))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.negative == "error"
        return tags
