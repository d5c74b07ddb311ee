"""OMVFSPaper, the method as the paper prints it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from omvfs.constraints import check_unchanged
from omvfs.data.blocks import Block, Negative, check_unmasked
from omvfs.data.read import in_precision
from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.model.arrays import Array, significant
from omvfs.model.learning import Update
from omvfs.model.objective import row_norms
from omvfs.model.printed import ChunkInfo, Graph, Settings, State, raise_rows, step
from omvfs.parameters import Check, by_view, number, one_of, or_none, refusal, seed, seed_of, whole
from omvfs.prepare import Preparation, Preparing, check_views
from omvfs.selector import SelectSize, StreamSelector, sizes_by_view
from omvfs.threads import on_one_thread

# f(V, masses, sums) gives one score for every row of V.
Criterion = Literal["norm"] | Callable[[Any, Any, Any], Any]
NegativeMode = Literal["error", "clip", "shift"]
_MOST_ITERATIONS = 10_000


@dataclass(frozen=True)
class Fitted:
    """What an `OMVFSPaper` knows after some chunks."""

    # What every chunk must match.
    schema: Schema
    # Under which it was learned.
    settings: Settings
    # Of the method.
    state: State
    # By how much the columns of each view are raised; None where negative values are not. Of shape
    # (D_v,).
    raised: tuple[NDArray[np.float64], ...] | None
    # What rows go through first.
    preparation: Preparation

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return self.state.n_rows

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the first chunk, in which all is learned."""
        return self.state.history[0].B.dtype

    def after(self, chunk: Views, start_U: Any = None, start_V: Any = None) -> Update["Fitted"]:
        """Return what a chunk changes, with U and V to start from, if given."""
        prepared, preparation = self.preparation.learn(in_precision(chunk, self.dtype))
        blocks, present = list(prepared.blocks.values()), chunk.presence
        if present is not None and not (start_U is None and start_V is None):
            raise ValueError(
                "Got start_U or start_V with rows that lack views; expected rows that have every "
                "view. Leave the start out."
            )
        state, raised = self.state, self.raised
        if raised is not None:
            before, raised = raised, self._raised_for(blocks, raised)
            state = state.shift([now - was for now, was in zip(raised, before, strict=True)])
            blocks = raise_rows(blocks, raised, present)
        K = self.settings.n_clusters
        U = None if start_U is None else self._start("start_U", start_U, (len(chunk), K))
        V = None if start_V is None else self._start_v(start_V)
        with np.errstate(over="ignore", invalid="ignore"):
            state, info = step(state, blocks, self.settings, U, V, present)
        for name, view in zip(self.schema.names, state.history, strict=True):
            if not view.is_finite:
                raise ValueError(
                    f"View {name!r} has values so large that their sums over the stream overflow "
                    f"{self.dtype}. Scale the view down, or give it as float64."
                )
        after = replace(self, state=state, raised=raised, preparation=preparation)
        return Update(after, info)

    def _raised_for(
        self, blocks: Sequence[Block], before: Sequence[NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], ...]:
        """Return by how much the columns must be raised for no value to be negative."""
        raised = []
        for v, (block, was) in enumerate(zip(blocks, before, strict=True)):
            sparse = sp.issparse(block)
            lowest = np.full(len(was), block.min()) if sparse else block.min(axis=0)
            raised.append(np.maximum(was, -lowest.astype(np.float64)))
            held = any(sp.issparse(chunk.X[v]) for chunk in self.state.window)
            if raised[v].any() and (sparse or held):
                raise ValueError(
                    f"View {self.schema.names[v]!r} is sparse, or was, and has negative values; "
                    "raising its columns would fill it. Give it dense from the start, or pass "
                    "negative='clip' (--negative clip)."
                )
        return tuple(raised)

    def _start_v(self, V: Any) -> list[Array]:
        names, K = self.schema.names, self.settings.n_clusters
        if not isinstance(V, Mapping) or set(V) != set(names):
            got = f"views {listed(V)}" if isinstance(V, Mapping) else type(V).__name__
            raise ValueError(f"Got start_V for {got}; expected arrays by view, {listed(names)}.")
        return [
            self._start("start_V", V[name], (width, K), f" for view {name!r}")
            for name, width in zip(names, self.schema.widths, strict=True)
        ]

    def _start(self, name: str, values: Any, shape: tuple[int, int], where: str = "") -> Array:
        check_unmasked(values, name)
        try:
            found: Array = np.array(values, self.dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Got {name}={values!r}; expected an array of numbers.") from error
        if found.shape != shape or not np.isfinite(found).all() or (found < 0).any():
            raise ValueError(
                f"Got {name} of shape {found.shape}{where}; expected nonnegative values of shape "
                f"{shape}, a column for each cluster."
            )
        return found


def _weight(name: str, value: Any) -> float | None:
    if value is None or (isinstance(value, str) and value == "balanced"):
        return None if value is None else 1.0
    try:
        return number(name, value, least=0.0, above=True)
    except ValueError:
        expected = "'balanced', a weight above 0 for each view, or None to take them as they come"
        raise refusal(name, value, expected) from None


_nonnegative = partial(number, least=0.0)
_at_least_1 = partial(whole, least=1)
# How the parameters that decide what is learned are checked, in the order of `Settings`.
_CHECKS: Mapping[str, Check] = {
    "n_clusters": _at_least_1,
    "graph_weight": _nonnegative,
    "sparsity": _nonnegative,
    "orthogonality": _nonnegative,
    "window": or_none(_at_least_1),
    "half_life": or_none(partial(number, least=0.0, above=True)),
    "graph": partial(one_of, allowed=("gaussian", "none")),
    "view_weight": _weight,
    "max_iter": partial(whole, least=1, most=_MOST_ITERATIONS),
    "tol": _nonnegative,
}
_PER_VIEW = "graph_weight", "sparsity", "view_weight"


@dataclass(eq=False, repr=False, kw_only=True)
class OMVFSPaper(StreamSelector[Fitted]):
    """OMVFS as the paper prints it, slips put right: for comparison, not for use.

    Multiplicative updates with a penalty on UᵀU − I, from a random start in every chunk, and the
    dense Gaussian graph. It selects much like column sums, and takes hundreds of times as long as
    `OMVFS`; ``docs/method.md`` and ``docs/authors-code.md`` tell why. It holds no rows but those
    of the window, so that it knows neither repetition nor drift, nor how good a selection is.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of consensus clusters K.
    n_features_per_view : int, float, mapping of str to either, or None, default=100
        Features to select per view: at most so many, a share, either by view name, or all.
    views : sequence of int, or mapping of str to columns, default=None
        How one 2-D X splits into views: widths, or columns by view name.
    prepare : str, sequence of str, or mapping of str to any of them, default=None
        What rows go through before they are learned from; see `OMVFS`. Not "hash".
    criterion : "norm" or callable, default="norm"
        What makes features good: "norm" is ‖V_j‖, the paper's importance. A callable
        f(V, masses, sums) gives a view's features their scores, finite and at least 0: V of shape
        (n_features, n_clusters), masses and sums the Σ u² and Σ u of each cluster.
    graph_weight : float or mapping of str to float, default=1.0
        α: how much similar rows pull each other into one cluster, for all views or by view.
    sparsity : float or mapping of str to float, default=1.0
        β: weight of ‖V‖_{2,1}, for all views or by view.
    orthogonality : float, default=1e7
        γ: weight of the penalty on UᵀU − I.
    batch_size : int, default=200
        m: rows of a chunk in `fit`.
    window : int or None, default=2
        s: chunks to whose rows U is fitted, and `window_labels_` tells of; None never drops one.
    half_life : float or None, default=None
        Rows after which a row counts half; by default no row fades.
    graph : {"gaussian", "none"}, default="gaussian"
        Similarity of rows: the dense Gaussian kernel, or none.
    view_weight : "balanced", float, mapping of str to any of them or None, or None, default=None
        How views are weighted. With "balanced", each is divided by the root mean square norm of its
        rows so far that are not empty; with a weight, its squares count by that in addition; None
        takes views as they come, as the paper does.
    negative : {"error", "clip", "shift"}, default="error"
        Refuse negative values, set them to 0, or raise each column by its lowest value.
    max_iter : int, default=200
        Most iterations of a chunk, at most 10,000.
    tol : float, default=1e-6
        Relative change of the objective at which it stops.
    random_state : int, RandomState instance or None, default=None
        Seed of every random choice.

    Attributes
    ----------
    view_scores_ : dict of str to ndarray of shape (n_features_of_view,)
        Score of every feature by view; larger is better.
    scores_, ranking_ : ndarray of shape (`n_features_in_`,)
        Score of every feature, and its rank within its view, in the order of the columns of X; of
        several views, view after view. Rank 1 is the best.
    view_ranking_, view_support_ : dict of str to ndarray of shape (n_features_of_view,)
        Rank of every feature, and whether it is selected, by view.
    V_ : dict of str to ndarray of shape (n_features_of_view, n_clusters)
        Feature matrices.
    window_labels_ : ndarray
        Cluster of every row in the window, the largest entry of its row of U.
    history_ : list of ChunkInfo
        One entry a chunk: terms of the objective over the window, iterations, seconds, and
        ‖UᵀU − I‖_F. The last 10,000 chunks are kept.
    n_iter_ : int
        Iterations done for the last chunk.
    n_samples_seen_ : int
        Rows seen.
    n_features_in_ : int
        Features of all views together.

    See Also
    --------
    OMVFS : The method to use.

    References
    ----------
    W. Shao, L. He, C.-T. Lu, X. Wei, P. S. Yu: Online Unsupervised Multi-view Feature Selection,
    ICDM 2016.

    Examples
    --------
    >>> from omvfs import OMVFSPaper
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(200, n_features=(300, 200), random_state=0)
    >>> paper = OMVFSPaper(n_clusters=5, max_iter=20, random_state=0).fit(planted.views)
    >>> {view: V.shape for view, V in paper.V_.items()}
    {'view_0': (300, 5), 'view_1': (200, 5)}
    """

    _missing = "allow"

    n_clusters: int = field(default=8, kw_only=False)
    n_features_per_view: SelectSize | Any = 100
    views: Any = None
    prepare: Any = None
    criterion: Criterion = "norm"
    graph_weight: float | Mapping[str, float] = 1.0
    sparsity: float | Mapping[str, float] = 1.0
    orthogonality: float = 1e7
    batch_size: int = 200
    window: int | None = 2
    half_life: float | None = None
    graph: Graph = "gaussian"
    view_weight: Any = None
    negative: NegativeMode = "error"
    max_iter: int = 200
    tol: float = 1e-6
    random_state: Any = None

    @property
    @on_one_thread
    def view_scores_(self) -> dict[str, NDArray[Any]]:
        """Scores by view name; larger is better."""
        check_is_fitted(self)
        criterion, state = self._criterion, self._known.state
        if criterion == "norm":
            # Digits that depend on the processor are rounded away.
            norms = (row_norms(V_v) for V_v in state.V)
            scores = [significant(each).astype(each.dtype, copy=False) for each in norms]
        else:
            views = zip(state.V, state.history, strict=True)
            scores = [
                _checked(criterion(V_v.copy(), np.diagonal(view.A).copy(), view.U_sums.copy()), V_v)
                for V_v, view in views
            ]
        return dict(zip(self.schema_.names, scores, strict=True))

    @property
    def V_(self) -> dict[str, NDArray[Any]]:
        """Feature matrices by view name."""
        check_is_fitted(self)
        V = self._known.state.V
        return {name: V_v.copy() for name, V_v in zip(self.schema_.names, V, strict=True)}

    @property
    def window_labels_(self) -> NDArray[np.intp]:
        """Cluster of every row in the window."""
        check_is_fitted(self)
        return np.asarray(self._known.state.indicator().argmax(axis=1))

    @property
    def history_(self) -> list[ChunkInfo]:
        """What happened in every chunk, the last 10,000 of them."""
        check_is_fitted(self)
        return list(self._history)

    @property
    def n_iter_(self) -> int:
        """Iterations done for the last chunk."""
        return self.history_[-1].n_iter

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
            Clusters of the chunk to start from, instead of random ones.
        start_V : mapping of str to array of shape (n_features_of_view, n_clusters), optional
            Feature matrices to start from, by view name.

        Returns
        -------
        self
        """
        return self._partial_fit(X, start_U=start_U, start_V=start_V)

    # Parameters

    @property
    def _criterion(self) -> Any:
        given = self.criterion
        return given if callable(given) else one_of("criterion", given, ("norm",))

    def _settings(self, views: Sequence[str]) -> Settings:
        """Return what decides what is learned, checked, and for every view its own."""
        params = self.get_params(deep=False)
        found: dict[str, Any] = {}
        for name, check in _CHECKS.items():
            per_view = name in _PER_VIEW
            value = params[name]
            found[name] = by_view(name, value, check, views) if per_view else check(name, value)
        return Settings(**found)

    def _empty(self, first: Views) -> Fitted:
        schema, settings = first.schema, self._settings(first.names)
        _at_least_1("batch_size", self.batch_size)
        sizes_by_view(self.n_features_per_view, schema)
        self._criterion  # noqa: B018
        check_views(self.prepare, first.names)
        preparation = Preparation.of(self.prepare, first.names)
        if preparation.hashes or any("standardize" in own for own in preparation.steps):
            raise ValueError(
                f"Got prepare={self.prepare!r}; expected no hashing, as OMVFSPaper takes the "
                "features that the first chunk has, and nothing below 0, as 'standardize' gives. "
                "Do it before, or use OMVFS."
            )
        rng = np.random.default_rng(seed_of(seed("random_state", self.random_state)))
        state = State.empty(schema.widths, first.dtype, settings.n_clusters, rng)
        shifts = self.negative == "shift"
        raised = tuple(np.zeros(width) for width in schema.widths) if shifts else None
        return Fitted(schema, settings, state, raised, preparation)

    def _check_unchanged(self) -> None:
        """Refuse to learn on with parameters that are not those of the rows so far."""
        known = self._known
        check_unchanged(known.settings, self._settings(known.schema.names))
        known.preparation.check_unchanged(self.prepare, known.schema.names)
        if (self._checked_negative == "shift") != (known.raised is not None):
            raise ValueError(
                f"Got negative={self.negative!r}, and another for the rows so far; it cannot "
                "change to or from 'shift' after the first chunk. Set it back, or call fit() to "
                "start anew."
            )

    # Reading rows

    @property
    def _checked_negative(self) -> NegativeMode:
        found: NegativeMode = one_of("negative", self.negative, ("error", "clip", "shift"))
        return found

    @property
    def _negative_mode(self) -> Negative:
        negative = self._checked_negative
        return "allow" if negative == "shift" else negative

    def _read_chunk(self, X: Any) -> Views:
        self._check_unchanged()
        return self._read_next(X, self._negative_mode)

    def _read_as_learned(self, X: Any) -> Views:
        known = self._known
        if not known.preparation:
            return self._read_next(X)
        rows = self._read_next(X, self._negative_mode)
        return known.preparation.apply(in_precision(rows, known.dtype))

    def _preparing(self, v: int) -> Preparing | None:
        known, view = self._known, self.schema_.names[v]
        steps, counted = known.preparation.steps[v], known.preparation.counted[v]
        if not steps:
            return None
        return Preparing(view, steps, counted, known.dtype.name, self._negative_mode)

    # Learning

    def _advance(self, known: Fitted, chunk: Views, **starts: Any) -> Update[Fitted]:
        started = time.perf_counter()
        update = known.after(chunk, **starts)
        return replace(update, info=replace(update.info, seconds=time.perf_counter() - started))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.negative == "error"
        return tags


def _checked(scores: Any, V: Array) -> Array:
    """Return the scores that a callable gave, in the precision of V."""
    given = np.asarray(scores)
    if given.shape != V.shape[:1] or given.dtype.kind not in "biuf":
        got = f"{type(scores).__name__} of shape {given.shape} and dtype {given.dtype}"
    else:
        with np.errstate(over="ignore"):
            found: Array = given.astype(V.dtype)
        bad = ~(np.isfinite(found) & (found >= 0))
        if not bad.any():
            return found
        got = f"{found[bad][0]} for feature {int(bad.argmax())}"
    raise ValueError(
        f"Got criterion that gave {got}; expected {len(V)} finite scores of at least 0, one for "
        f"each row of a V of shape {V.shape}."
    )
