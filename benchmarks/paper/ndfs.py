"""NDFS: clusters by nonnegative spectral analysis, and the features that predict them."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian

from omvfs.model.arrays import Block, dense, scale_columns
from omvfs.model.objective import l21, orthogonality_gap, row_norms, smoothness, squared_norm
from paper.factors import Factors, FactorSelector, indicator, solve_ridge, unit_columns
from paper.graphs import FloatArray, neighbour_graph

# Up to so many features or, where they are fewer, rows, the regression is solved directly. The
# equations of the rows have to be set up anew each time.
_FEATURES, _ROWS = 2000, 500
# Where conjugate gradients stop: residual as a share of the right-hand side, and steps.
_RESIDUAL, _STEPS = 1e-8, 500
# Entries of F below this are zero: a quotient by smaller ones may overflow.
_NOTHING = 1e-60


@dataclass(eq=False, repr=False, kw_only=True)
class NDFS(FactorSelector):
    """Nonnegative discriminative feature selection, for each view by itself.

    Minimises ‖XW − F‖² + β‖W‖_{2,1} + λ tr(FᵀLF) + (γ/2)‖FᵀF − I‖² over F ≥ 0, and scores feature j
    by the norm of row j of W.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K; fewer if a view has fewer different rows.
    {shared}
    sparsity : float, default=0.1
        β: weight of ‖W‖_{2,1}.
    graph_weight : float, default=1.0
        λ: how much neighbouring rows pull each other into one cluster; 1/α of the paper.
    orthogonality : float, default=1e8
        γ: weight of the penalty on FᵀF − I; γ/α of the paper.
    n_neighbors : int, default=5
        Neighbours of a row in the graph.
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-5
        Relative change of the objective at which to stop.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    embeddings_ : dict of str to ndarray of shape (n_rows, K)
        F by view. Nonnegative; orthonormal as far as γ makes it.
    weights_ : dict of str to ndarray of shape (n_features_of_view, K)
        W by view.
    n_iter_ : int
        Iterations done for the view that took most.

    Notes
    -----
    The objective, divided by α, the reweighted regression for W, the size of γ and the start of F,
    k-means plus 0.2, are the paper's. With γ so large F hardly leaves the clusters of k-means.

    The printed update of F raises the objective at times, and gives negative entries. Ours puts
    every term on the side of the fraction where it is positive, and lessens the power of the
    fraction, from the printed 1 down to ¼, until the objective does not rise; at ¼ it cannot. Also
    ours are the columns of unit norm at the start, as F else ends at zero; the graph, which joins a
    row with its nearest by cosine and weights them so; the stopping rule; and the default weights.

    Rows are taken as they come, and best given unit norm. Sparse rows stay sparse.

    References
    ----------
    Z. Li, Y. Yang, J. Liu, X. Zhou, H. Lu: Unsupervised Feature Selection Using Nonnegative
    Spectral Analysis, AAAI 2012.

    Examples
    --------
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(400, n_features=(300,), n_informative=(30,), random_state=0)
    >>> selector = NDFS(5, n_features_per_view=30, random_state=0).fit(planted.views)
    >>> bool(planted.informative["view_0"][selector.get_support()].mean() > 0.3)
    True
    """

    sparsity: float = 0.1
    graph_weight: float = 1.0
    orthogonality: float = 1e8
    max_iter: int = 200
    tol: float = 1e-5

    def _factorise(self, X: Block, rng: np.random.Generator) -> Factors:
        F = unit_columns(indicator(X, self.n_clusters, rng) + 0.2)
        W = neighbour_graph(X, self.n_neighbors, "cosine", None)
        L = self.graph_weight * sp.csr_array(laplacian(W, normed=True))
        analysis = Analysis(X, L, F, self.sparsity, self.orthogonality)
        n_iter, change = 0, np.inf
        while n_iter < self.max_iter and change > self.tol:
            before = analysis.objective()
            analysis.update_f()
            analysis.update_w()
            now = analysis.objective()
            change = (before - now) / now if now > 0 else 0.0
            n_iter += 1
        return Factors(analysis.F, analysis.W, n_iter, change <= self.tol)


class Analysis:
    """The alternation; no update raises the objective.

    L is the Laplacian times λ, F the nonnegative start. W starts as the ridge regression of F on X.
    """

    def __init__(self, X: Block, L: Block, F: FloatArray, beta: float, gamma: float) -> None:
        self._X, self._L, self._beta, self._gamma = X, L, beta, gamma
        self._L_pos, self._L_neg = L.maximum(0), (-L).maximum(0)
        self._gram = None
        if X.shape[1] <= min(X.shape[0], _FEATURES):
            self._gram = dense(X.T @ X)
        self.F, self.W = F, np.zeros((X.shape[1], F.shape[1]))
        self._regress(np.ones(X.shape[1]))

    def objective(self) -> float:
        """Return ‖XW − F‖² + β‖W‖_{2,1} + λ tr(FᵀLF) + (γ/2)‖FᵀF − I‖²."""
        return self._objective_of(self.F) + self._beta * l21(self.W)

    def update_f(self) -> None:
        """F = F ∘ (positive terms of −gradient / negative ones)^p, p the largest of 1, ½, ¼ to do.

        That p = ¼ never raises the objective follows from the bound of tr(FᵀFFᵀF), of degree 4, by
        a sum over the entries.
        """
        F, gamma = np.where(self.F < _NOTHING, 0, self.F), self._gamma
        up = self._L_neg @ F + np.maximum(self._XW, 0) + gamma * F
        down = self._L_pos @ F + F + np.maximum(-self._XW, 0) + gamma * (F @ (F.T @ F))
        ratio = np.divide(up, down, out=np.zeros_like(F), where=down > 0)
        before = self._objective_of(F)
        for power in (1.0, 0.5, 0.25):
            self.F = F * ratio**power
            if self._objective_of(self.F) <= before:
                break

    def update_w(self) -> None:
        """W = (XᵀX + βD)⁻¹XᵀF, D = diag(1 / (2‖row of W‖)); a zero row stays zero."""
        self._regress(np.sqrt(2 * row_norms(self.W)))

    def _objective_of(self, F: FloatArray) -> float:
        gap = orthogonality_gap(F)
        return squared_norm(self._XW - F) + smoothness(F, self._L) + self._gamma / 2 * gap**2

    def _regress(self, S: FloatArray) -> None:
        """Make W = S B with the B of least ‖XSB − F‖² + β‖B‖²; S is D^-½, which may be zero."""
        XS, column = scale_columns(self._X, S), S[:, np.newaxis]
        R = np.asarray(XS.T @ self.F)
        if self._gram is not None:
            B = solve_ridge(column * self._gram * S, self._beta, R)
        elif len(self.F) <= _ROWS:
            B = np.asarray(XS.T @ solve_ridge(dense(XS @ XS.T), self._beta, self.F))
        else:
            # From the W at hand, whose value every step lowers, however early the steps end.
            start = np.divide(self.W, column, out=np.zeros_like(self.W), where=column > 0)
            B = conjugate_gradients(XS, self._beta, R, start, _RESIDUAL)
        self.W = column * B
        self._XW: FloatArray = np.asarray(self._X @ self.W)


def conjugate_gradients(
    A: Block, beta: float, R: FloatArray, B: FloatArray, residual: float
) -> FloatArray:
    """Solve (AᵀA + βI) B = R, each column by itself, without forming the matrix.

    B is where to start, and `residual` the share of the norm of R at which to stop.
    """
    At = A.T.tocsr() if sp.issparse(A) else A.T
    left = R - (At @ (A @ B) + beta * B)
    P, squares = left, np.sum(np.square(left), axis=0)
    goal = residual**2 * np.sum(np.square(R), axis=0)
    for _ in range(_STEPS):
        if (squares <= goal).all():
            break
        Q = At @ (A @ P) + beta * P
        step = _quotient(squares, np.sum(P * Q, axis=0))
        B = B + step * P
        left = left - step * Q
        before, squares = squares, np.sum(np.square(left), axis=0)
        P = left + _quotient(squares, before) * P
    return B


def _quotient(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a / b, and 0 where b is."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
