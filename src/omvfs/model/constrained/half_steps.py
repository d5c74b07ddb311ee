"""The half-steps of the solver that satisfies UᵀU = I and U ≥ 0 exactly.

A nonnegative U with orthogonal columns has at most one nonzero a row: row i is a cluster k(i) and a
weight u_i, with Σ_{i in k} u_i² = 1. So both half-steps have simple exact forms.
"""

import numpy as np
from numpy.typing import DTypeLike, NDArray

from omvfs.model.arrays import Array, in_ties, near_largest, sums_by_label
from omvfs.model.graph.term import GraphMatrix
from omvfs.model.indicator import Indicator
from omvfs.model.objective import inner

# How often half of the proposed moves are given up before none is made.
_BACKTRACKS = 4


def update_v(A: NDArray[np.float64], B: Array, beta: float) -> Array:
    """Return the V that minimises Eq. (v_object) of one view, exactly.

    A holds the masses of the clusters over all rows so far, in any units, and B = Σ XᵀU in the same
    units. With U scaled to UᵀU = I, every row of V is min_v ‖v‖² − 2 b·v + β‖v‖ over v ≥ 0, so that
    v = b max(0, 1 − β / (2‖b‖)): rows with ‖b‖ ≤ β/2 are exactly zero. Columns of empty clusters
    are zero.

    Parameters
    ----------
    A : array of shape (K,)
    B : array of shape (D, K)
    beta : float

    Returns
    -------
    array of shape (D, K)

    Examples
    --------
    >>> update_v(np.array([4.0, 1.0]), np.array([[6.0, 4.0], [0.2, 0.0]]), beta=2.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    """
    V: Array = B * inverse_roots(A, B.dtype).astype(B.dtype)
    if beta > 0:
        norms = np.sqrt(np.einsum("jk,jk->j", V, V))
        V *= block_soft_threshold(norms, beta)[:, np.newaxis]
    return V


def inverse_roots(A: NDArray[np.float64], dtype: DTypeLike) -> NDArray[np.float64]:
    """Return 1 / √A of every cluster; 0 of those without mass.

    A cluster that is forgotten so far that this would be too large for `dtype` has none.

    Examples
    --------
    >>> inverse_roots(np.array([4.0, 0.0, 1e-100]), np.float32)
    array([0.5, 0. , 0. ])
    """
    scale = np.zeros_like(A)
    np.divide(1, np.sqrt(A), out=scale, where=A > 0)
    scale[scale > np.finfo(dtype).max] = 0
    return scale


def block_soft_threshold(norms: Array, beta: float) -> Array:
    """Return what sparsity leaves of rows of V that would have these norms without it.

    Examples
    --------
    >>> block_soft_threshold(np.array([4.0, 1.0]), beta=2.0)
    array([0.75, 0.  ])
    """
    kept = np.zeros_like(norms)
    np.divide(norms - beta / 2, norms, out=kept, where=norms > beta / 2)
    return kept


def gain(U: Indicator, P: Array, M: GraphMatrix | None) -> float:
    """Return 2⟨U, P⟩ − tr(UᵀMU): what the U half-step raises. The objective is a constant less it.

    With UᵀU = I and V fixed, ‖X − UVᵀ‖² = ‖X‖² + ‖V‖² − 2⟨U, XV⟩.

    Examples
    --------
    >>> U = Indicator(np.array([0, 0]), np.array([0.6, 0.8]), 1)
    >>> from omvfs.model.graph.term import DenseLaplacian
    >>> M = DenseLaplacian(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> gain(U, np.array([[1.0], [1.0]]), M).__round__(2)
    2.76
    """
    fit = 2 * inner(U.weights, P[np.arange(len(U.labels)), U.labels])
    return fit if M is None else fit - M.smoothness(U)


def update_u(U: Indicator, P: Array, M: GraphMatrix | None = None, bound: float = 0.0) -> Indicator:
    """Return U after one half-step: rows moved to better clusters, weights fitted.

    Maximises 2⟨U, P⟩ − tr(UᵀMU) over U ≥ 0 with UᵀU = I, where P = Σ X_v V_v. As UᵀU = I, taking
    `bound`·I off M changes the value by a constant; with `bound` at least the largest eigenvalue of
    M the rest is convex in U, so that its tangent at the current U is a lower bound: E = P +
    (bound·I − M) U. For given labels the best weights are E_{i,k(i)}, normalised per cluster; a row
    goes where it adds most to Σ_k ‖E_{I_k,k}‖. The gain never falls: where all the moves together
    would lower it, the least certain half is given up, and so on.

    Parameters
    ----------
    U : Indicator
        Columns of norm 1, or empty.
    P : array of shape (n, K)
    M : GraphMatrix, optional
        Σ_v α_v L_v.
    bound : float
        The largest eigenvalue of M, or less for longer steps: the gain is checked either way.

    Returns
    -------
    Indicator

    Examples
    --------
    >>> P = np.array([[1.0, 0.0], [2.0, 0.5], [0.0, 3.0]])
    >>> start = Indicator(np.array([0, 1, 1]), np.array([1.0, 0.6, 0.8]), 2)
    >>> update_u(start, P).labels
    array([0, 0, 1])
    """
    rows = np.arange(len(U.labels))
    E = P
    if M is not None:
        MU = M.times(U)
        E = P - MU.astype(P.dtype, copy=False)
        E[rows, U.labels] += (bound * U.weights).astype(P.dtype, copy=False)
    E = np.maximum(E, 0)
    # Only the proportions of E matter; at this scale its squares neither overflow nor vanish.
    E = E / (E.max(initial=0) or 1)
    # A row adds E² / (2 × norm) to the norm of its cluster, to first order.
    norms = np.sqrt(sums_by_label(U.labels, np.square(E[rows, U.labels]), U.n_clusters))
    norms = np.maximum(norms, E.max(axis=0)).astype(E.dtype)
    norms[norms == 0] = 1
    added = np.square(E) / norms
    near = near_largest(added)
    wanted = near.argmax(axis=1)
    movers = np.flatnonzero(~near[rows, U.labels])
    margin = in_ties(added[movers, wanted[movers]] - added[movers, U.labels[movers]])
    movers = movers[np.argsort(-margin, kind="stable")]

    before = 2 * inner(U.weights, P[rows, U.labels])
    if M is not None:
        before -= inner(U.weights, MU[rows, U.labels])
    for _ in range(_BACKTRACKS):
        labels = U.labels.copy()
        labels[movers] = wanted[movers]
        proposal = Indicator(labels, E[rows, labels], U.n_clusters).unit()
        if gain(proposal, P, M) >= before:
            return proposal
        if not len(movers):
            break
        movers = movers[: len(movers) // 2]
    stay = Indicator(U.labels, E[rows, U.labels], U.n_clusters).unit()
    return stay if gain(stay, P, M) >= before else U
