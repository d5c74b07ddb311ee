"""The method as the paper prints it: multiplicative updates of U and V, chunk by chunk.

The printed slips are put right: λ in the U rule is γ; T is computed as U (UᵀU); and the
orthogonality penalty that the rule descends on is (γ/2)‖UᵀU − I‖², not γ‖UᵀU − I‖².

K is the number of clusters, X_v the rows of view v, U the cluster indicator of rows, V_v the
feature matrix of a view, A_v = Σ UᵀU and B_v = Σ X_vᵀU what all rows so far have left.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    column_sums,
    project,
    rounding,
    squared_row_norms,
    stack,
    times,
)
from omvfs.model.objective import (
    inner,
    l21,
    orthogonality_gap,
    reconstruction,
    smoothness,
    squared_norm,
)

FloatArray = NDArray[np.float64]
Graph = Literal["gaussian", "none"]
# Rows by views, True where a row has the view; None if every row has every view. A row that lacks
# a view is zero there.
Presence = NDArray[np.bool_] | None
# What a chunk leaves of all rows before it at least, so that nothing is divided by 0.
_LEAST_LEFT = 1e-300


@dataclass(frozen=True)
class Settings:
    """What decides what is learned, under the names of the parameters; by view in their order.

    The letters of the paper: K clusters, α graph weight, β sparsity, γ orthogonality, s window. A
    view of a weight is balanced, and its squares count by it; one of None is taken as it comes.
    """

    n_clusters: int
    graph_weight: tuple[float, ...]
    sparsity: tuple[float, ...]
    orthogonality: float
    window: int | None
    half_life: float | None
    graph: Graph
    view_weight: tuple[float | None, ...]
    max_iter: int
    tol: float

    def decay(self, n_rows: int) -> float:
        """Return ρ = ½^(rows / half-life), what so many rows leave of all before them."""
        if self.half_life is None:
            return 1.0
        return max(math.pow(0.5, n_rows / self.half_life), _LEAST_LEFT)


# The graph


def gaussian(X: Block, sigma: float = 1.0) -> Array:
    """Return the dense Gaussian similarities exp(−‖x − y‖² / (2σ²)) of rows.

    The paper names the Gaussian kernel and nothing more: σ, and the 2, are our choice.

    Examples
    --------
    >>> gaussian(np.array([[0.0], [2.0]]), sigma=2.0).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """
    products = X @ X.T
    W: Array = products.toarray() if sp.issparse(products) else products
    W *= -2
    norms = squared_row_norms(X)
    W += norms[:, np.newaxis]
    W += norms
    # Rounding can make the distance of two equal rows negative, or of a row from itself positive.
    np.maximum(W, 0, out=W)
    np.fill_diagonal(W, 0)
    W /= -2 * sigma**2
    np.exp(W, out=W)
    return W


def laplacian(W: Array) -> Array:
    """Return the Laplacian D − W of Eq. (offline), where D holds the row sums of W."""
    return np.asarray(np.diag(W.sum(axis=1)) - W)


def _graph_term(X: Sequence[Block], settings: Settings, present: Presence) -> Array:
    """Return M = Σ_v α_v L_v, without edges to rows that lack a view."""
    M = np.zeros((X[0].shape[0],) * 2, X[0].dtype)
    if settings.graph == "none":
        return M
    for v, (alpha, X_v) in enumerate(zip(settings.graph_weight, X, strict=True)):
        W = gaussian(X_v)
        if (rows := _rows_with(present, v)) is not None:
            own = np.zeros_like(W)
            own[np.ix_(rows, rows)] = W[np.ix_(rows, rows)]
            W = own
        M += alpha * laplacian(W)
    return M


# The updates


def window_objective(
    X_squared: float,
    XV: Array,
    VtV: Array,
    U: Array,
    M: Block,
    gamma: float,
    UVtV: Array | None = None,
) -> float:
    """Return what the U half-step of the paper lowers: Eq. (u_sofa) over the window, with γ/2.

    Σ_v ‖X_v − U V_vᵀ‖² + tr(Uᵀ M U) + (γ/2) ‖UᵀU − I‖²_F. The paper prints γ, but the gradient it
    prints, and hence its update, belong to γ/2.

    Arguments are those of `update_u`; M = M⁺ − M⁻, and X_squared is Σ_v ‖X_v‖² over the window.
    """
    squares = inner(U.T @ U, VtV) if UVtV is None else inner(U, UVtV)
    fit = X_squared - 2 * inner(XV, U) + squares
    return max(0.0, fit) + smoothness(U, M) + gamma / 2 * orthogonality_gap(U) ** 2


def update_u(
    U: Array,
    XV: Array,
    VtV: Array,
    M_pos: Block,
    M_neg: Block,
    gamma: float,
    UVtV: Array | None = None,
) -> Array:
    """Return U after one step of Eq. (update_u_buff), which is Eq. (update_u_all) over the window.

    U ∘ sqrt((Σ X_v V_v + γU + M⁻U) / (U Σ V_vᵀV_v + γ U UᵀU + M⁺U)). From U of
    the size of a random start it does not raise `window_objective`. From entries near zero under a
    strong pull it can: the root is right for terms of second order, the penalty is of fourth.
    Where the denominator is zero so is the numerator, no term depends on the entry, and it becomes
    zero.

    XV is Σ_v X_v V_v over the window, VtV is Σ_v V_vᵀ V_v, M = M⁺ − M⁻ is Σ_v α_v L_v, and UVtV, if
    rows lack views, is U Σ_v V_vᵀ V_v row by row over the views that it has.

    Examples
    --------
    >>> U, V = np.array([[0.5], [0.5]]), np.array([[1.0]])
    >>> X, none = np.array([[1.0], [0.0]]), np.zeros((2, 2))
    >>> update_u(U, X @ V, V.T @ V, none, none, gamma=0.0).round(3)
    array([[0.707],
           [0.   ]])
    """
    numerator = XV + gamma * U + M_neg @ U
    if UVtV is None:
        denominator = U @ (VtV + gamma * (U.T @ U)) + M_pos @ U
    else:
        denominator = UVtV + U @ (gamma * (U.T @ U)) + M_pos @ U
    return _scale(U, numerator, denominator)


def update_v(V: Array, A: Array, B: Array, beta: float) -> Array:
    """Return V of one view after one step of Eq. (update_v).

    V ∘ sqrt(B / (V A + ½ β D V)), D = diag(1 / ‖row of V‖). Never raises
    tr(VᵀVA) − 2 tr(VᵀB) + β‖V‖_{2,1}. A zero row of V, for which D is not defined, stays zero.
    Where the denominator is zero, V is zero or no row has ever been in the cluster, and the entry
    becomes zero.

    Examples
    --------
    >>> V = np.array([[4.0], [0.0]])
    >>> update_v(V, A=np.array([[1.0]]), B=np.array([[1.0], [1.0]]), beta=0.0)
    array([[2.],
           [0.]])
    """
    return _scale(V, B, V @ A + (beta / 2) * _unit_rows(V))


def _scale(P: Array, numerator: Array, denominator: Array) -> Array:
    """Return P ∘ sqrt(numerator / denominator), with 0 where the denominator is 0."""
    root = np.sqrt(denominator)
    factor = np.zeros_like(root)
    # Roots first: the quotient of a normal and a tiny number may overflow, that of roots does not.
    np.divide(np.sqrt(numerator), root, out=factor, where=root > 0)
    return (P * factor).astype(P.dtype, copy=False)


def _unit_rows(V: Array) -> Array:
    """Return D V, every row scaled to norm 1; zero rows stay zero.

    A row on its way to zero passes through numbers whose squares underflow. Were its norm taken for
    zero then, the sparsity would let go of it and it would come back; hence the division by the
    largest entry first.
    """
    largest = V.max(axis=1, keepdims=True)
    scaled = np.divide(V, largest, out=np.zeros_like(V), where=largest > 0)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    norms[norms == 0] = 1
    return np.asarray(scaled / norms)


@dataclass(frozen=True)
class Solution:
    """What `solve` found."""

    # Cluster indicator of the rows in the window, of shape (n, K).
    U: Array
    # Feature matrix of each view, of shape (D_v, K).
    V: list[Array]
    # Iterations done.
    n_iter: int
    # Objective at the start and after every iteration; see `solve`. Of shape (n_iter + 1,).
    trace: FloatArray


def solve(
    X: Sequence[Block],
    U: Array,
    V: Sequence[Array],
    A: Sequence[Array],
    B: Sequence[Array],
    M: Block,
    n_new: int,
    *,
    beta: Sequence[float],
    gamma: float,
    max_iter: int = 200,
    tol: float = 1e-6,
    present: Presence = None,
) -> Solution:
    """Repeat Eq. (update_u_buff) and Eq. (update_v) for one chunk: the inner loop of the Algorithm.

    The paper repeats "until convergence" and does not say of what: no single objective falls over a
    whole iteration, as U is fitted to the window and V to all rows so far. We follow
    `window_objective` plus Σ_v β_v ‖V_v‖_{2,1}, and stop when an iteration changes it by less than
    `tol` of its value. With `tol` 0 all `max_iter` iterations are done.

    X, M and U are of the window, the `n_new` rows of the current chunk last; A and B are of the
    chunks before the current one: those of the chunk are the caller's to add. No argument changes.
    """
    V = list(V)
    new = slice(U.shape[0] - n_new, None)
    X_new = [block[new] for block in X]
    X_squared = sum(squared_norm(block) for block in X)
    M = M.astype(U.dtype)
    # The positive part of a Laplacian is a diagonal.
    M_pos, M_neg = sp.csr_array(np.maximum(M, 0)), np.maximum(-M, 0)
    has_new = None if present is None else present[new]
    with_view = [_rows_with(has_new, v) for v in range(len(X))]

    def followed() -> float:
        sparsity = sum(beta_v * l21(V_v) for beta_v, V_v in zip(beta, V, strict=True))
        UVtV = _by_row(U, V, present)
        return window_objective(X_squared, XV, VtV, U, M, gamma, UVtV) + sparsity

    XV, VtV = project(X, V), _gram(V)
    trace = [followed()]
    for _ in range(max_iter):
        U = update_u(U, XV, VtV, M_pos, M_neg, gamma, _by_row(U, V, present))
        U_new = U[new]
        V = [
            update_v(V_v, A_v + _gram([_taken(U_new, own)]), B_v + X_v.T @ U_new, beta_v)
            for V_v, A_v, B_v, X_v, beta_v, own in zip(V, A, B, X_new, beta, with_view, strict=True)
        ]
        XV, VtV = project(X, V), _gram(V)
        trace.append(followed())
        if abs(trace[-2] - trace[-1]) < tol * abs(trace[-1]):
            break
    return Solution(U, V, len(trace) - 1, np.array(trace))


def _gram(V: Sequence[Array]) -> Array:
    """Return Σ_v V_vᵀ V_v."""
    return np.asarray(np.sum([V_v.T @ V_v for V_v in V], axis=0))


def _by_row(U: Array, V: Sequence[Array], present: Presence) -> Array | None:
    """Return U Σ_v V_vᵀ V_v, row by row over the views that it has; None if all have all."""
    if present is None:
        return None
    total = np.zeros_like(U)
    for v, V_v in enumerate(V):
        total += present[:, [v]] * (U @ _gram([V_v]))
    return total


def _rows_with(present: Presence, v: int) -> IntArray | None:
    """Return the rows that have a view, None if all do."""
    if present is None or present[:, v].all():
        return None
    return np.flatnonzero(present[:, v])


def _taken(a: Any, rows: IntArray | None) -> Any:
    """Return some rows of an array or a matrix, all if they are None."""
    return a if rows is None else a[rows]


# What is known


@dataclass(frozen=True)
class ViewHistory:
    """Sums over all rows so far that have a view, older rows faded."""

    # Σ UᵀU, of shape (K, K).
    A: FloatArray
    # Σ u of each cluster, of shape (K,).
    U_sums: FloatArray
    # Σ XᵀU, of columns that are not scaled, of shape (D, K).
    B: Array
    # Σ x of every column, of shape (D,).
    sums: FloatArray
    # Rows, and those of them that are not empty.
    n_rows: float = 0.0
    filled_rows: float = 0.0
    # Σ ‖x‖².
    energy: float = 0.0

    @classmethod
    def empty(cls, n_features: int, n_clusters: int, dtype: np.dtype[Any]) -> "ViewHistory":
        """Return what no rows leave; B is of the data type of the rows."""
        K, D = n_clusters, n_features
        return cls(np.zeros((K, K)), np.zeros(K), np.zeros((D, K), dtype), np.zeros(D))

    def decay(self, rho: float) -> "ViewHistory":
        """Return the sums with all rows so far faded by ρ."""
        if rho == 1:
            return self
        return ViewHistory(
            rho * self.A,
            rho * self.U_sums,
            (rho * self.B).astype(self.B.dtype, copy=False),
            rho * self.sums,
            rho * self.n_rows,
            rho * self.filled_rows,
            rho * self.energy,
        )

    def counted(self, X: Block, n_rows: int) -> "ViewHistory":
        """Return the sums with the columns of a chunk counted, of which so many have the view."""
        if sp.issparse(X):
            energy, filled = squared_norm(X), int(np.count_nonzero(np.diff(X.indptr)))
        else:
            norms = squared_row_norms(X)
            energy, filled = float(norms.sum(dtype=np.float64)), int(np.count_nonzero(norms))
        return replace(
            self,
            sums=self.sums + column_sums(X),
            n_rows=self.n_rows + n_rows,
            filled_rows=self.filled_rows + filled,
            energy=self.energy + energy,
        )

    def added(self, X: Block, U: Array, rows: IntArray | None = None) -> "ViewHistory":
        """Return the sums with UᵀU and XᵀU of a chunk, some of whose rows have the view."""
        own = _taken(U, rows)
        return replace(
            self,
            A=self.A + own.T @ own,
            U_sums=self.U_sums + own.sum(axis=0),
            B=self.B + X.T @ U,
        )

    def shift(self, delta: FloatArray) -> "ViewHistory":
        """Return what the rows would have left, under the same U, with their columns raised by δ.

        Exact, as all are sums over rows: Σ (x + δ) u = B + δ Σ u.
        """
        n, more = self.n_rows, 2 * delta * self.sums + self.n_rows * delta**2
        return replace(
            self,
            B=self.B + np.outer(delta, self.U_sums).astype(self.B.dtype),
            sums=self.sums + n * delta,
            filled_rows=n if delta.any() else self.filled_rows,
            energy=self.energy + float(more.sum()),
        )

    @property
    def is_finite(self) -> bool:
        """Whether no sum has overflowed."""
        return math.isfinite(self.energy) and all(np.isfinite(a).all() for a in (self.A, self.B))


def view_factor(view: ViewHistory, weight: float | None) -> float:
    """Return what a view is multiplied by, as all rows so far have it.

    It gives rows that are not empty a mean square norm of the view's weight. B is kept for rows as
    they came, so that scaled by what is known today it is what an offline run over the same U would
    have.
    """
    if weight is None or not view.energy or not view.filled_rows:
        return 1.0
    factor = math.sqrt(weight) * math.sqrt(view.filled_rows / view.energy)
    if abs(factor - 1) < rounding(view.B.dtype):
        return 1.0  # rows of unit norm stay as they are, to the bit
    limits = np.finfo(view.B.dtype)
    return min(max(factor, float(limits.tiny)), float(limits.max))


@dataclass(frozen=True)
class Chunk:
    """Rows of one chunk in the window."""

    # Of shape (m, D_v).
    X: tuple[Block, ...]
    # Their cluster indicator, of shape (m, K).
    U: Array
    # Which rows have which views, of shape (m, n_views).
    present: Presence = None


@dataclass(frozen=True)
class State:
    """What is known after some chunks; no operation changes an array."""

    # Sums over all rows, by view.
    history: tuple[ViewHistory, ...]
    # Feature matrices, of shape (D_v, K).
    V: tuple[Array, ...]
    # Source of every random choice; copied before it is drawn from.
    rng: np.random.Generator
    # The last s chunks, the newest last.
    window: tuple[Chunk, ...] = ()
    # Rows and chunks seen.
    n_rows: int = 0
    n_chunks: int = 0

    @classmethod
    def empty(
        cls, widths: Sequence[int], dtype: np.dtype[Any], n_clusters: int, rng: np.random.Generator
    ) -> "State":
        """Return what is known before the first chunk."""
        history = tuple(ViewHistory.empty(D, n_clusters, dtype) for D in widths)
        return cls(history, tuple(view.B for view in history), rng)

    def rows(self) -> list[Block]:
        """Return the rows of the window, per view."""
        return [stack(parts) for parts in zip(*(chunk.X for chunk in self.window), strict=True)]

    def indicator(self) -> Array:
        """Return U of the rows of the window."""
        return np.concatenate([chunk.U for chunk in self.window])

    def present(self) -> Presence:
        """Return which rows of the window have which views."""
        if all(chunk.present is None for chunk in self.window):
            return None
        n_views = len(self.history)
        return np.concatenate(
            [
                np.ones((len(chunk.U), n_views), bool) if chunk.present is None else chunk.present
                for chunk in self.window
            ]
        )

    def shift(self, delta: Sequence[FloatArray]) -> "State":
        """Return what would be known, under the same U, had every row come with columns raised.

        V is left as it was, as the next chunk works it out anew.
        """
        if not any(d.any() for d in delta):
            return self
        return replace(
            self,
            history=tuple(view.shift(d) for view, d in zip(self.history, delta, strict=True)),
            window=tuple(
                replace(chunk, X=tuple(raise_rows(chunk.X, delta, chunk.present)))
                for chunk in self.window
            ),
        )


def raise_rows(
    X: Sequence[Block], delta: Sequence[FloatArray], present: Presence = None
) -> list[Block]:
    """Return rows with their columns raised; those that lack a view stay zero there."""
    raised = []
    for v, (X_v, d) in enumerate(zip(X, delta, strict=True)):
        if d.any():
            X_v = X_v + d.astype(X_v.dtype)
            if present is not None:
                X_v[~present[:, v]] = 0
        raised.append(X_v)
    return raised


@dataclass(frozen=True, slots=True)
class ChunkInfo:
    """What happened in one chunk.

    Attributes
    ----------
    n_rows : int
        Rows of the chunk.
    reconstruction, graph, sparsity : float
        Terms of the objective over the window: Σ‖X − UVᵀ‖², tr(UᵀMU), Σ β‖V‖_{2,1}.
    orthogonality_error : float
        ‖UᵀU − I‖_F over the window.
    n_iter : int
        Iterations done.
    seconds : float
        Time taken.
    """

    n_rows: int
    reconstruction: float
    graph: float
    sparsity: float
    orthogonality_error: float
    n_iter: int
    seconds: float = 0.0

    @property
    def objective(self) -> float:
        """The sum of the terms."""
        return self.reconstruction + self.graph + self.sparsity


def step(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    start_U: Array | None = None,
    start_V: Sequence[Array] | None = None,
    present: Presence = None,
) -> tuple[State, ChunkInfo]:
    """Return what is known after one chunk, as the paper prints it, and what happened in it.

    U of the chunk starts at `start_U`, by default random; V at `start_V`, by default random before
    the first chunk, then what the last one left. The terms of a view are of rows that have it.
    """
    n, K, dtype = X[0].shape[0], settings.n_clusters, X[0].dtype
    rng = copy.deepcopy(state.rng)
    having = [n] * len(X) if present is None else present.sum(axis=0).tolist()
    history = [
        view.decay(settings.decay(n)).counted(X_v, own)
        for view, X_v, own in zip(state.history, X, having, strict=True)
    ]
    if start_V is None and state.n_chunks == 0:
        start_V = [rng.random(V_v.shape).astype(dtype) for V_v in state.V]
    V = state.V if start_V is None else [np.asarray(V_v, dtype) for V_v in start_V]
    U = rng.random((n, K)) if start_U is None else start_U
    # A copy, as a source may use its buffer again, or cut its chunks from one large array.
    chunk = Chunk(tuple(X_v.copy() for X_v in X), np.asarray(U, dtype), present)
    window = (*state.window, chunk)
    window = window if settings.window is None else window[-settings.window :]
    after = replace(
        state, rng=rng, window=window, n_rows=state.n_rows + n, n_chunks=state.n_chunks + 1
    )

    factors = [view_factor(*pair) for pair in zip(history, settings.view_weight, strict=True)]
    rows = [times(X_v, factor) for X_v, factor in zip(after.rows(), factors, strict=True)]
    has = after.present()
    M = _graph_term(rows, settings, has)
    found = solve(
        rows,
        after.indicator(),
        V,
        [view.A.astype(dtype) for view in history],
        [times(view.B, factor) for view, factor in zip(history, factors, strict=True)],
        M,
        n,
        beta=settings.sparsity,
        gamma=settings.orthogonality,
        max_iter=settings.max_iter,
        tol=settings.tol,
        present=has,
    )
    ends = np.cumsum([len(each.U) for each in window])[:-1]
    parts = zip(window, np.split(found.U, ends), strict=True)
    after = replace(
        after,
        history=tuple(
            view.added(X_v, found.U[-n:], _rows_with(present, v))
            for v, (view, X_v) in enumerate(zip(history, X, strict=True))
        ),
        V=tuple(found.V),
        window=tuple(replace(each, U=own) for each, own in parts),
    )
    return after, _info(n, rows, M, found, settings, has)


def _info(
    n_rows: int, X: Sequence[Block], M: Array, found: Solution, settings: Settings, has: Presence
) -> ChunkInfo:
    """Return the terms of the objective over the window."""
    own = [_rows_with(has, v) for v in range(len(X))]
    return ChunkInfo(
        n_rows=n_rows,
        reconstruction=sum(
            reconstruction(_taken(X_v, rows), _taken(found.U, rows), V_v)
            for X_v, V_v, rows in zip(X, found.V, own, strict=True)
        ),
        graph=smoothness(found.U, M),
        sparsity=sum(b * l21(V_v) for b, V_v in zip(settings.sparsity, found.V, strict=True)),
        orthogonality_error=orthogonality_gap(found.U),
        n_iter=found.n_iter,
    )
