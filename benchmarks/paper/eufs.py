"""EUFS: clusters and features learned together under a robust loss, by alternating directions."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian

from omvfs.model.arrays import Array, Block, dense, squared_row_norms
from omvfs.model.objective import row_norms
from omvfs.parameters import number
from paper.factors import Factors, FactorSelector, indicator, unit_columns
from paper.graphs import FloatArray, neighbour_graph

# What μ grows by, and how far.
_GROWTH, _MU_MAX = 1.1, 1e10
# Rows of the dense array that are worked on at a time.
_STRIP = 1000
# Share of the largest singular value below which a direction is taken for free.
_FREE = 1e-8
_EPS = float(np.finfo(np.float64).eps)


@dataclass(eq=False, repr=False, kw_only=True)
class EUFS(FactorSelector):
    """Embedded unsupervised feature selection, for each view by itself.

    Minimises ‖X − UVᵀ‖_{2,1} + α‖V‖_{2,1} + β tr(UᵀLU) over UᵀU = I, U ≥ 0, and scores feature j by
    the norm of row j of V. Rows that fit no cluster count by their distance, not its square.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K; fewer if a view has fewer different rows.
    {shared}
    sparsity : float, default=0.01
        α: weight of ‖V‖_{2,1}. Features it leaves nothing of all score 0.
    graph_weight : float, default=0.001
        β: how much neighbouring rows pull each other into one cluster.
    n_neighbors : int, default=5
        Neighbours of a row in the graph.
    penalty : float, default=0.001
        μ of the first iteration. The larger, the less the clusters leave those of k-means.
    max_iter : int, default=500
        Most iterations.
    tol : float, default=0.01
        Stop when ‖Z − U‖ and ‖X − UVᵀ − E‖ are at most this share of ‖U‖ and ‖X‖, where Z is the
        nonnegative and E the sparse copy of the alternating directions.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    embeddings_ : dict of str to ndarray of shape (n_rows, K)
        U by view. Orthonormal; nonnegative as far as `tol` tells.
    weights_ : dict of str to ndarray of shape (n_features_of_view, K)
        V by view.
    n_iter_ : int
        Iterations done for the view that took most.

    Notes
    -----
    The updates and the growth of μ are the paper's. Ours are the graph, which joins a row with its
    nearest by cosine and weights them so; the start, U from k-means and V = XᵀU; the stopping rule;
    and the default weights. One dense array of n_rows × n_features is held.

    Rows are taken as they come, and best given unit norm: μ begins at `penalty` whatever their
    size, and beside long rows it is too small to bring U near its constraints.

    References
    ----------
    S. Wang, J. Tang, H. Liu: Embedded Unsupervised Feature Selection, AAAI 2015.

    Examples
    --------
    >>> from sklearn.preprocessing import normalize
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(400, n_features=(300,), n_informative=(30,), random_state=0)
    >>> X = normalize(planted.views["view_0"].astype(float))
    >>> selector = EUFS(5, n_features_per_view=30, random_state=0).fit(X)
    >>> bool(planted.informative["view_0"][selector.get_support()].mean() > 0.2)
    True
    """

    sparsity: float = 0.01
    graph_weight: float = 0.001
    penalty: float = 0.001
    max_iter: int = 500
    tol: float = 0.01

    def _check_params(self) -> None:
        super()._check_params()
        number("penalty", self.penalty, least=1e-9)

    def _factorise(self, X: Block, rng: np.random.Generator) -> Factors:
        U = unit_columns(indicator(X, self.n_clusters, rng))
        W = neighbour_graph(X, self.n_neighbors, "cosine", None)
        L = sp.csr_array(laplacian(W))
        admm = Directions(X, L, U, self.sparsity, self.graph_weight, self.penalty)
        n_iter, gap = 0, np.inf
        while n_iter < self.max_iter and gap > self.tol:
            gap = admm.iterate()
            n_iter += 1
        return Factors(admm.U, admm.V, n_iter, gap <= self.tol)


class Directions:
    """The alternating directions; each update is exact for the others as they are.

    They lower ‖E‖_{2,1} + α‖V‖_{2,1} + β tr(ZᵀLU) + ⟨Y1, Z − U⟩ + ⟨Y2, X − UVᵀ − E⟩
    + (μ/2)(‖Z − U‖² + ‖X − UVᵀ − E‖²) over UᵀU = I and Z ≥ 0.

    Let M = X − UVᵀ + Y2/μ and G = M − E. As E is M with its rows shrunk, G is M with its rows cut
    to a norm of at most 1/μ; X − E + Y2/μ is G + UVᵀ; and after an iteration Y2/μ is G plus the
    change of −UVᵀ. So G stands for both E and Y2. `kept` is what G has of each row of M, so that
    E = (1 / kept − 1) G, and `fitted` are U and V of the last `update_e`.

    It begins with a U of orthonormal columns and the μ that is given; L is the Laplacian.
    """

    def __init__(
        self, X: Block, L: Block, U: FloatArray, alpha: float, beta: float, mu: float
    ) -> None:
        self.X, self.L, self.alpha, self.beta, self.mu = X, L, alpha, beta, mu
        self.U, self.Z, self.Y1 = U, U, np.zeros_like(U)
        self.V: FloatArray = np.asarray(X.T @ U)
        self.G, self.kept, self.fitted = np.zeros(X.shape), np.ones(len(U)), (U, self.V)
        self._xx, self._xg = squared_row_norms(X), np.zeros(len(U))
        # Y2 is zero at first, then μ_before (G + the change of −UVᵀ).
        self._mu_before = 0.0

    def iterate(self) -> float:
        """Do every update once and return the gap."""
        self.update_e()
        self.update_v()
        self.update_z()
        self.update_u()
        gap = self.gap()
        self.update_multipliers()
        return gap

    def update_e(self) -> None:
        """E = shrink(X − UVᵀ + Y2/μ, 1/μ), by way of G."""
        w = self._mu_before / self.mu
        (U, V), self.fitted = self.fitted, (self.U, self.V)
        left, right = np.hstack([w * U, -(1 + w) * self.U]), np.hstack([V, self.V])
        for start in range(0, len(U), _STRIP):
            rows = slice(start, start + _STRIP)
            X, G = dense(self.X[rows]), self.G[rows]
            G *= w
            G += left[rows] @ right.T
            G += X
            self.kept[rows] = 1 / np.maximum(1, self.mu * row_norms(G))
            G *= self.kept[rows, np.newaxis]
            self._xg[rows] = _dots(X, G)

    def update_v(self) -> None:
        """V = shrink((X − E + Y2/μ)ᵀU, α/μ)."""
        self.V = shrink(self.G.T @ self.U + self.V, self.alpha / self.mu)

    def update_z(self) -> None:
        """Z = max(U − Y1/μ − (β/μ)LU, 0)."""
        moved = self.U - (self.Y1 + self.beta * (self.L @ self.U)) / self.mu
        self.Z = np.maximum(moved, 0)

    def update_u(self) -> None:
        """U = PQᵀ of the singular vectors of Y1/μ + Z − (β/μ)LZ + (X − E + Y2/μ)V."""
        U, V = self.fitted
        N = self.Z + (self.Y1 - self.beta * (self.L @ self.Z)) / self.mu
        self._GV: FloatArray = self.G @ self.V
        N += self._GV + U @ (V.T @ self.V)
        self.U = orthonormal(N, self.U)

    def update_multipliers(self) -> None:
        """Y1 += μ(Z − U); Y2 += μ(X − UVᵀ − E), by way of G; μ grows."""
        self.Y1 = self.Y1 + self.mu * (self.Z - self.U)
        self._mu_before, self.mu = self.mu, max(self.mu, min(_GROWTH * self.mu, _MU_MAX))

    def gap(self) -> float:
        """Return the larger of ‖Z − U‖ / ‖U‖ and ‖X − UVᵀ − E‖ / ‖X‖, after `update_u`."""
        G, U, V = self.G, self.U, self.V
        # Row by row, ‖x − uVᵀ‖² − 2⟨x − uVᵀ, e⟩ + ‖e‖².
        times = 1 / self.kept - 1
        squares = self._xx + _dots(U, U @ (V.T @ V) - 2 * (self.X @ V))
        squares += times * (times * _dots(G, G) - 2 * (self._xg - _dots(U, self._GV)))
        total = float(self._xx.sum())
        of_x = float(squares.sum()) / total if total > 0 else 0.0
        of_u = float(np.sum(np.square(self.Z - U))) / U.shape[1]
        return float(np.sqrt(max(of_x, of_u)))


def shrink(M: FloatArray, t: float) -> FloatArray:
    """Return M with every row shortened by t, or zero where it is no longer than that.

    It is the Y of least ½‖Y − M‖² + t‖Y‖_{2,1}.
    """
    norms = row_norms(M)
    kept = np.zeros(len(M))
    np.divide(norms - t, norms, out=kept, where=norms > t)
    return np.asarray(kept[:, np.newaxis] * M)


def orthonormal(N: FloatArray, U: FloatArray) -> FloatArray:
    """Return the matrix of orthonormal columns with the largest inner product with N.

    Where N leaves directions free, they are taken from U, not from rounding error.

    Examples
    --------
    >>> U = np.eye(3)[:, :2]
    >>> orthonormal(np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 0.0]]), U).round(6) + 0.0
    array([[0., 0.],
           [0., 1.],
           [1., 0.]])
    """
    P, sizes, Qt = np.linalg.svd(N, full_matrices=False)
    if sizes[-1] <= _FREE * sizes[0]:
        P, _, Qt = np.linalg.svd(N + max(_FREE * sizes[0], _EPS) * U, full_matrices=False)
    return np.asarray(P @ Qt)


def _dots(A: Array, B: Array) -> FloatArray:
    """Return the inner product of every row of A with that of B."""
    return np.asarray(np.einsum("ik,ik->i", A, B))
