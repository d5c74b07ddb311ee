"""The multiplicative updates as the paper prints them, with its slips put right.

λ in the printed U rule is γ; T is computed as U (UᵀU); and the orthogonality penalty the rule
descends on is (γ/2)‖UᵀU − I‖², not γ‖UᵀU − I‖².
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, project
from omvfs.model.graph.neighbours import neighbours
from omvfs.model.graph.similarity import among, gaussian, laplacian, split_signs
from omvfs.model.objective import (
    l21,
    orthogonality_gap,
    reconstruction,
    smoothness,
    squared_norm,
    window_objective,
)
from omvfs.model.presence import Presence, of_those, take, who_has
from omvfs.model.settings import Settings
from omvfs.model.state import ChunkInfo, Scales, State, Update
from omvfs.model.statistics import Statistics


@dataclass(frozen=True)
class PaperResult:
    """What `solve` found.

    Attributes
    ----------
    U : array of shape (n, K)
        Cluster indicator of the rows in the window.
    V : list of array of shape (D_v, K)
        Feature matrix of each view.
    n_iter : int
        Iterations done.
    trace : array of shape (n_iter + 1,)
        Objective at the start and after every iteration; see `solve`.
    """

    U: Array
    V: list[Array]
    n_iter: int
    trace: NDArray[np.float64]


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

    Parameters
    ----------
    U : array of shape (n, K)
    XV : array of shape (n, K)
        Σ_v X_v V_v over the window.
    VtV : array of shape (K, K)
        Σ_v V_vᵀ V_v.
    M_pos, M_neg : array or sparse matrix of shape (n, n)
        Positive and negative part of M = Σ_v α_v L_v.
    gamma : float
        Weight γ of the orthogonality.
    UVtV : array of shape (n, K), optional
        U Σ_v V_vᵀ V_v, row by row over the views that it has, where rows lack some.

    Returns
    -------
    array of shape (n, K)

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

    Parameters
    ----------
    V : array of shape (D, K)
    A : array of shape (K, K)
        Σ_i U_iᵀ U_i, the current chunk included.
    B : array of shape (D, K)
        Σ_i X_iᵀ U_i of this view, the current chunk included.
    beta : float
        Weight β of the sparsity.

    Returns
    -------
    array of shape (D, K)

    Examples
    --------
    >>> V = np.array([[4.0], [0.0]])
    >>> update_v(V, A=np.array([[1.0]]), B=np.array([[1.0], [1.0]]), beta=0.0)
    array([[2.],
           [0.]])
    """
    return _scale(V, B, V @ A + (beta / 2) * _unit_rows(V))


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
) -> PaperResult:
    """Repeat Eq. (update_u_buff) and Eq. (update_v) for one chunk: the inner loop of the Algorithm.

    The paper repeats "until convergence" and does not say of what: no single objective falls over a
    whole iteration, as U is fitted to the window and V to all rows so far. We follow
    `window_objective` plus Σ_v β_v ‖V_v‖_{2,1}, and stop when an iteration changes it by less than
    `tol` of its value. With `tol` 0 all `max_iter` iterations are done.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
        Per view, the rows in the window, the current chunk last.
    U : array of shape (n, K)
        Start: what earlier chunks ended with, then the start of the current chunk.
    V : sequence of array of shape (D_v, K)
        Start of V, per view.
    A : sequence of array of shape (K, K)
        Σ_i U_iᵀ U_i over the chunks before the current one, per view over the rows that have it.
    B : sequence of array of shape (D_v, K)
        Σ_i X_iᵀ U_i over the chunks before the current one, per view.
    M : array or sparse matrix of shape (n, n)
        Σ_v α_v L_v over the window.
    n_new : int
        Rows of the current chunk.
    beta : sequence of float
        β_v of each view.
    gamma : float
        γ.
    max_iter : int
        Most iterations to do.
    tol : float
        Relative change of the objective below which to stop.
    present : array of shape (n, n_views), optional
        Which rows have which views; by default all.

    Returns
    -------
    PaperResult
        The arguments are not changed; A and B of the chunk are the caller's to add.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> U, V = np.array([[0.6, 0.4], [0.6, 0.4], [0.4, 0.6]]), np.array([[0.6, 0.4], [0.4, 0.6]])
    >>> A, B, M = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((3, 3))
    >>> result = solve([X], U, [V], [A], [B], M, 3, beta=[0.0], gamma=1.0)
    >>> result.U.argmax(axis=1)
    array([0, 0, 1])
    """
    V = list(V)
    new = slice(U.shape[0] - n_new, None)
    X_new = [block[new] for block in X]
    X_squared = sum(squared_norm(block) for block in X)
    M = M.astype(U.dtype)
    M_pos, M_neg = split_signs(M)
    # The positive part of a Laplacian is a diagonal, whatever the graph.
    M_pos = sp.csr_array(M_pos)

    has_new = take(present, new)
    whose = [who_has(has_new, v) for v in range(len(X))]

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
            update_v(V_v, A_v + _square(of_those(U_new, own)), B_v + X_v.T @ U_new, beta_v)
            for V_v, A_v, B_v, X_v, beta_v, own in zip(V, A, B, X_new, beta, whose, strict=True)
        ]
        XV, VtV = project(X, V), _gram(V)
        trace.append(followed())
        if abs(trace[-2] - trace[-1]) < tol * abs(trace[-1]):
            break
    return PaperResult(U, V, len(trace) - 1, np.array(trace))


def _gram(V: Sequence[Array]) -> Array:
    """Return Σ_v V_vᵀ V_v."""
    total: Array = np.sum([V_v.T @ V_v for V_v in V], axis=0)
    return total


def _square(U: Array) -> Array:
    """Return UᵀU."""
    product: Array = U.T @ U
    return product


def _by_row(U: Array, V: Sequence[Array], present: Presence) -> Array | None:
    """Return U Σ_v V_vᵀ V_v, row by row over the views that it has; None if all have all."""
    if present is None:
        return None
    total = np.zeros_like(U)
    for v, V_v in enumerate(V):
        total += present[:, [v]] * (U @ _square(V_v))
    return total


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
    unit: Array = scaled / norms
    return unit


def step(
    state: State,
    X: Sequence[Block],
    settings: Settings,
    start_U: Array | None = None,
    start_V: Sequence[Array] | None = None,
    present: Presence = None,
) -> Update[State]:
    """Learn from one chunk as the paper prints it.

    Parameters
    ----------
    state : State
        What is known; not changed.
    X : sequence of array or CSR matrix of shape (m, D_v)
        The chunk, per view.
    settings : Settings
    start_U : array of shape (m, K), optional
        U of the chunk to start from; random by default.
    start_V : sequence of array of shape (D_v, K), optional
        V to start from; by default random before the first chunk, then what the last one left.
    present : array of shape (m, n_views), optional
        Which rows have which views; by default all. The terms of a view are of those that have it.

    Returns
    -------
    Update
    """
    n, K, dtype = X[0].shape[0], settings.K, X[0].dtype
    rng = copy.deepcopy(state.rng)
    known = state.statistics.decay(settings.decay(n)).counted(X, present)
    if start_V is None and state.n_chunks == 0:
        start_V = [rng.random(V_v.shape).astype(dtype) for V_v in state.V]
    V = state.V if start_V is None else [np.asarray(V_v, dtype) for V_v in start_V]
    U = rng.random((n, K)) if start_U is None else start_U
    window = state.window.append(X, np.asarray(U, dtype), present)

    scales = Scales.of(known, settings)
    rows, has = scales.rows(window.rows()), window.present()
    M = _laplacian(rows, settings, has)
    found = solve(
        rows,
        window.indicator(),
        V,
        [view.masses.astype(dtype) for view in known.views],
        scales.features(known.B),
        M,
        n,
        beta=settings.sparsity,
        gamma=settings.orthogonality,
        max_iter=settings.max_iter,
        tol=settings.tol,
        present=has,
    )
    U_new = found.U[len(found.U) - n :]
    by_view = [of_those(U_new, who_has(present, v)) for v in range(len(X))]
    masses, sums = [U_v.T @ U_v for U_v in by_view], [U_v.sum(axis=0) for U_v in by_view]
    after = replace(
        state,
        statistics=known + Statistics.of_products(masses, sums, [X_v.T @ U_new for X_v in X]),
        window=window.with_indicator(found.U),
        rng=rng,
        V=tuple(found.V),
        n_chunks=state.n_chunks + 1,
    )
    info = ChunkInfo(
        n_rows=n,
        reconstruction=sum(
            reconstruction(of_those(X_v, own), of_those(found.U, own), V_v)
            for v, (X_v, V_v) in enumerate(zip(rows, found.V, strict=True))
            for own in [who_has(has, v)]
        ),
        graph=smoothness(found.U, M),
        sparsity=sum(b * l21(V_v) for b, V_v in zip(settings.sparsity, found.V, strict=True)),
        orthogonality_error=orthogonality_gap(found.U),
        n_iter=found.n_iter,
    )
    return Update(after, info)


def _laplacian(X: Sequence[Block], settings: Settings, present: Presence) -> Array:
    M = np.zeros((X[0].shape[0],) * 2, X[0].dtype)
    if settings.graph != "none":
        for v, (alpha, X_v) in enumerate(zip(settings.graph_weight, X, strict=True)):
            M += alpha * _graph(X_v, settings, who_has(present, v))
    return M


def _graph(X: Block, settings: Settings, rows: IntArray | None) -> Array:
    """Return the Laplacian of one view, without edges to rows that lack it."""
    if settings.graph == "gaussian":
        W: Array = among(gaussian(X), rows)
        return np.asarray(laplacian(W))
    k = min(settings.n_neighbors, max(1, X.shape[0] - 1))
    dense: Array = laplacian(neighbours(X, k), normalised=True).toarray()
    return dense


def feature_matrices(state: State, settings: Settings) -> list[Array]:
    """Return V as the last chunk left it."""
    return list(state.V)


def reclustered(state: State, settings: Settings, near: Sequence[Block | None] = ()) -> State:
    """Return the state as it is: the paper never looks back."""
    return state
