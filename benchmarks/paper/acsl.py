"""ACSL: a graph that the views' graphs make up row by row, and the features that predict it."""

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian
from sklearn.metrics.pairwise import euclidean_distances

from omvfs.baselines.base import Found
from omvfs.baselines.simple import mean_and_variance
from omvfs.data.views import Views
from omvfs.model.arrays import Block, dense, rows_divided, scale_columns
from omvfs.model.objective import l21, row_norms, smoothness, squared_norm
from paper.factors import IterativeSelector, enough, ridge_factor
from paper.graphs import FloatArray, degrees, in_double, neighbour_graph

# Weight of ‖w_j‖², without which w_j is anything where two views say the same.
_RIDGE = 1e-5
# Distances that are held at a time.
_ENTRIES = 1 << 21


@dataclass(eq=False, repr=False, kw_only=True)
class ACSL(IterativeSelector):
    """Feature selection by adaptive collaborative similarity learning.

    Every row of a graph S is near a mixture of the views' own, with weights of its own; F are the
    first eigenvectors of S and what the features of all views together, X, predict of them:

    min Σ_j ‖s_j − Σ_v w_jv s_jv‖² + α tr(FᵀL_S F) + β(‖XP + 1bᵀ − F‖² + γ‖P‖_{2,1}),
    s_j ≥ 0, 1ᵀs_j = 1, 1ᵀw_j = 1, FᵀF = I,

    where L_S is the Laplacian of S + Sᵀ: tr(FᵀL_S F) = Σ_ij s_ij ‖f_i − f_j‖². A feature is as good
    as its row of P is long.

    It is offline, and meant for small sets, of up to some thousand rows and features: S and the
    matrix of which F are eigenvectors are full, so that memory grows with the square of the number
    of rows, and time with its cube in every iteration. More features are no harm to memory: beyond
    the number of rows, the regression is solved in as many unknowns as there are rows, and sparse
    views stay sparse. Nothing is random.

    Parameters
    ----------
    n_clusters : int, default=8
        Eigenvectors c; at most as many as there are rows.
    {shared}
    graph_weight : float, default=1.0
        α: how much S follows F, and F follows S.
    regression_weight : float, default=1.0
        β: how much F follows the features, above 0.
    sparsity : float, default=1.0
        γ: weight of ‖P‖_{2,1}, above 0.
    n_neighbors : int, default=5
        Neighbours of a row in the graph of a view.
    max_iter : int, default=20
        Most iterations.
    tol : float, default=1e-4
        Relative change of the objective at which to stop.

    Attributes
    ----------
    view_scores_ : dict of str to ndarray of shape (n_features_of_view,)
        ‖p_j‖ of every feature by view; larger is better.
    embedding_ : ndarray of shape (n_rows, c)
        F: orthonormal.
    weights_ : dict of str to ndarray of shape (n_features_of_view, c)
        The rows of P by view name.
    graph_ : ndarray of shape (n_rows, n_rows)
        S: a row adds up to 1.
    view_weights_ : dict of str to ndarray of shape (n_rows,)
        The w of every row by view name; they add up to 1 over the views, and may be below 0.
    objective_history_ : list of float
        The objective, with 1e-5 Σ_j‖w_j‖², at the start and after every iteration. It falls.
    n_iter_ : int
        Iterations done.

    Notes
    -----
    The objective and the updates of S, w and P are the paper's. The released code has a stale index
    in the update of S, so that only the last view is used; here all are. Its α is missing in the
    update of F, L_S + βI − βX(XᵀX + γG)⁻¹Xᵀ; with it, as here, F is the best for the rest.

    Ours are the intercept b, without which a constant feature predicts the constant eigenvector,
    and wins; the graphs of the views, shares of the nearest by cosine; the start, S the mean of
    them; F and P updated together; the default weights; and the stopping rule. The 1e-5 beside w is
    that of the released code.

    Each update of S and w is the best for the rest; that of F and P never raises the objective.
    Rows are taken as they come, and best given unit norm.

    References
    ----------
    X. Dong, L. Zhu, X. Song, J. Li, Z. Cheng: Adaptive Collaborative Similarity Learning for
    Unsupervised Multi-view Feature Selection, IJCAI 2018.

    Examples
    --------
    >>> from sklearn.preprocessing import normalize
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(300, n_features=(80, 60), n_informative=(20, 15), random_state=0)
    >>> views = {name: normalize(X.astype(float)) for name, X in planted.views.items()}
    >>> selector = ACSL(n_clusters=5, n_features_per_view=10).fit(views)
    >>> bool(planted.informative["view_0"][selector.view_ranking_["view_0"] <= 10].mean() > 0.4)
    True
    """

    n_clusters: int = field(default=8, kw_only=False)
    graph_weight: float = 1.0
    regression_weight: float = 1.0
    sparsity: float = 1.0
    n_neighbors: int = 5
    max_iter: int = 20
    tol: float = 1e-4

    _above_zero = ("regression_weight", "sparsity")

    def _score_views(self, batch: Views) -> Found:
        blocks = list(batch.blocks.values())
        A = [shares(neighbour_graph(X_v, self.n_neighbors, "cosine", None)) for X_v in blocks]
        weights = self.graph_weight, self.regression_weight, self.sparsity
        found = Collaboration(centred_features(blocks), A, self.n_clusters, *weights)
        history = [found.objective()]
        for _ in range(self.max_iter):
            found.update_s()
            found.update_w()
            found.update_f_and_p()
            history.append(found.objective())
            if history[-2] - history[-1] <= self.tol * abs(history[-2]):
                break
        ends = np.cumsum(list(batch.widths.values()))[:-1]
        P = dict(zip(batch.names, np.split(found.P, ends), strict=True))
        attributes = {
            "embedding_": found.F,
            "weights_": P,
            "graph_": found.S,
            "view_weights_": dict(zip(batch.names, found.w.T.copy(), strict=True)),
            "objective_history_": history,
            "n_iter_": len(history) - 1,
        }
        return {name: row_norms(P_v) for name, P_v in P.items()}, attributes


@dataclass(frozen=True)
class Centred:
    """X less a mean row, kept apart where X is sparse."""

    # In double precision; columns that are constant, but for rounding error, are 0. Of shape (n,
    # d).
    X: Block
    # What is to be taken off every row; 0 of a dense X, which is centred. Of shape (d,).
    mean: FloatArray
    # ‖X − 1 meanᵀ‖².
    squares: float

    @classmethod
    def of(cls, X: Block) -> "Centred":
        """Return some rows, at least one, less their mean."""
        rounding = 100 * float(np.finfo(X.dtype).eps)
        X = in_double(X)
        mean, variance = mean_and_variance(X)
        varies = variance > (rounding * mean) ** 2
        squares = X.shape[0] * float(variance[varies].sum())
        if sp.issparse(X):
            return cls(scale_columns(X, varies.astype(np.float64)), mean * varies, squares)
        return cls((X - mean) * varies, np.zeros_like(mean), squares)

    def times(self, B: FloatArray) -> FloatArray:
        """Return the product with B."""
        return np.asarray(self.X @ B - self.mean @ B)

    def transposed_times(self, U: FloatArray) -> FloatArray:
        """Return the transpose times U."""
        return np.asarray(self.X.T @ U - np.outer(self.mean, U.sum(axis=0)))


class Collaboration:
    """The alternation; no update raises the objective.

    Parameters
    ----------
    X : list of Centred
        What `centred_features` returns; b is the mean of F − XP.
    A : list of csr_array of shape (n, n)
        Graphs of the views.
    n_clusters : int
    alpha, beta, gamma : float

    Attributes
    ----------
    S, w, F, P
        As in the objective.
    """

    def __init__(
        self,
        X: list[Centred],
        A: list[sp.csr_array],
        n_clusters: int,
        alpha: float,
        beta: float,
        gamma: float,
    ) -> None:
        self._X, self._A = X, A
        self._alpha, self._beta, self._gamma = alpha, beta, gamma
        n, n_views = A[0].shape[0], len(A)
        self._ends = np.cumsum([len(X_v.mean) for X_v in X])
        self._n_clusters = min(n_clusters, n)
        self._gram = X[0].X.T @ X[0].X if self._ends[-1] <= n else None
        # ⟨s_ju, s_jv⟩ of every row and two views.
        self._products = np.empty((n, n_views, n_views))
        for u, A_u in enumerate(A):
            for v, A_v in enumerate(A):
                self._products[:, u, v] = _dots(A_u, A_v)
        self.w: FloatArray = np.full((n, n_views), 1 / n_views)
        # Nothing to be smooth for yet: S is the mixture, or the nearest to it in the simplex.
        self.S = learned_graph(self._mixture(), np.zeros((n, 1)), 0.0)
        self._regress(np.ones(self._ends[-1]))

    def objective(self) -> float:
        """Return the objective, and 1e-5 Σ_j‖w_j‖²."""
        T = self._mixture()
        near = squared_norm(self.S) - 2 * float(_dots(T, self.S).sum()) + squared_norm(T)
        residual = self.F.mean(axis=0) - self.F
        for X_v, P_v in zip(self._X, self._split(self.P), strict=True):
            residual += X_v.times(P_v)
        return (
            near
            + _RIDGE * squared_norm(self.w)
            + self._alpha * smoothness(self.F, laplacian(self.S + self.S.T))
            + self._beta * (squared_norm(residual) + self._gamma * l21(self.P))
        )

    def update_s(self) -> None:
        """s_j = the nearest in the simplex to Σ_v w_jv s_jv − (α/2) [‖f_j − f_i‖²]_i."""
        self.S = learned_graph(self._mixture(), self.F, self._alpha / 2)

    def update_w(self) -> None:
        """w_j = (BᵀB)⁻¹1 / (1ᵀ(BᵀB)⁻¹1) with B = [s_j − s_jv]_v."""
        with_s = np.stack([_dots(A_v, self.S) for A_v in self._A], axis=1)
        squares = np.einsum("ij,ij->i", self.S, self.S)[:, np.newaxis, np.newaxis]
        BtB = self._products - with_s[:, :, np.newaxis] - with_s[:, np.newaxis, :] + squares
        views = np.arange(BtB.shape[1])
        BtB[:, views, views] += _RIDGE
        w = np.linalg.solve(BtB, np.ones((*self.w.shape, 1)))[:, :, 0]
        self.w = w / w.sum(axis=1, keepdims=True)

    def update_f_and_p(self) -> None:
        """F = the first eigenvectors of αL_S + βJ − βX(XᵀX + γG)⁻¹Xᵀ, P = (XᵀX + γG)⁻¹XᵀF.

        G = diag(1 / (2‖row of P‖)), X is centred, and J centres. A zero row of P stays zero.
        """
        self._regress(np.sqrt(2 * row_norms(self.P)))

    def _mixture(self) -> sp.csr_array:
        """Return Σ_v w_jv s_jv, row by row."""
        parts = [sp.diags_array(w_v) @ A_v for w_v, A_v in zip(self.w.T, self._A, strict=True)]
        return sp.csr_array(sum(parts))

    def _split(self, of_features: FloatArray) -> list[FloatArray]:
        """Return the parts of something of all features that belong to each of X."""
        return np.split(of_features, self._ends[:-1])

    def _regress(self, scale: FloatArray) -> None:
        """Make F and P the best together, where ‖P‖_{2,1} is ‖Σ⁻¹P‖² and Σ holds the scale.

        In as many unknowns as there are features or rows, whichever are fewer.
        """
        n, pairs = len(self.S), list(zip(self._X, self._split(scale), strict=True))
        M = self._alpha * laplacian(self.S + self.S.T)
        if self._gram is not None:
            C = ridge_factor(scale[:, np.newaxis] * self._gram * scale, self._gamma)
            across = (self._X[0].X * scale).T
            T = scipy.linalg.solve_triangular(C, across, lower=True, check_finite=False)
            M -= self._beta * (T.T @ T)
            M[np.diag_indices(n)] += self._beta
        else:
            K = np.zeros((n, n))
            for X_v, scale_v in pairs:
                Y = scale_columns(X_v.X, scale_v)
                K += dense(Y @ Y.T)
            K -= K.mean(axis=0)
            K -= K.mean(axis=1, keepdims=True)
            ridge = enough(K, self._gamma)
            factor = ridge_factor(K, ridge), True
            inverse = scipy.linalg.cho_solve(factor, np.eye(n), check_finite=False)
            M += self._beta * ridge * inverse
        M -= self._beta / n
        self.F: FloatArray = scipy.linalg.eigh(
            M, overwrite_a=True, check_finite=False, subset_by_index=[0, self._n_clusters - 1]
        )[1]
        if self._gram is not None:
            B = scipy.linalg.solve_triangular(
                C, T @ self.F, lower=True, trans="T", check_finite=False
            )
        else:
            U = inverse @ self.F
            B = scale[:, np.newaxis] * np.vstack([X_v.transposed_times(U) for X_v, _ in pairs])
        self.P: FloatArray = scale[:, np.newaxis] * B


def centred_features(views: list[Block]) -> list[Centred]:
    """Return all features less their means: as one dense array, or a block a view.

    One array where it has no more columns than rows. Else views are left as they are: products of
    dense columns are slow where sparse ones beside them make them sparse.

    Examples
    --------
    >>> [len(each.mean) for each in centred_features([np.ones((5, 2)), np.ones((5, 3))])]
    [5]
    >>> [len(each.mean) for each in centred_features([np.ones((4, 2)), np.ones((4, 3))])]
    [2, 3]
    """
    if sum(X_v.shape[1] for X_v in views) <= views[0].shape[0]:
        return [Centred.of(np.hstack([dense(X_v) for X_v in views]))]
    return [Centred.of(X_v) for X_v in views]


def _dots(A: sp.csr_array, S: FloatArray | sp.csr_array) -> FloatArray:
    """Return the inner product of every row of A with that of S."""
    return np.asarray(A.multiply(S).sum(axis=1), np.float64).ravel()


def shares(W: sp.csr_array) -> sp.csr_array:
    """Return a graph with rows that add up to 1; a row that is joined with none stays empty.

    Examples
    --------
    >>> shares(sp.csr_array([[0.0, 2.0, 2.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).toarray()
    array([[0. , 0.5, 0.5],
           [1. , 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    return sp.csr_array(rows_divided(W, degrees(W)))


def learned_graph(T: sp.csr_array, Y: FloatArray, weight: float) -> FloatArray:
    """Return the S of least ‖S − T‖² + 2·weight·Σ_ij s_ij ‖y_i − y_j‖², its rows in the simplex.

    Parameters
    ----------
    T : csr_array of shape (n, n)
        What S is to be near.
    Y : array of shape (n, k)
        What S is to be smooth for.
    weight : float

    Returns
    -------
    array of shape (n, n)
        Beside it, memory is bounded by some strips of its rows.

    Examples
    --------
    >>> T = sp.csr_array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> learned_graph(T, np.array([[0.0], [0.0], [1.0]]), 1.0)[0]
    array([0.25, 0.75, 0.  ])
    """
    n = len(Y)
    S = np.empty((n, n))
    step = max(1, _ENTRIES // n)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        wanted = euclidean_distances(Y[rows], Y, squared=True)
        wanted *= -weight
        wanted += T[rows].toarray()
        S[rows] = simplex_rows(wanted)
    return S


def simplex_rows(Y: FloatArray) -> FloatArray:
    """Return for every row the nearest one that is nonnegative and adds up to 1."""
    below = Y - Y.max(axis=1, keepdims=True)
    ordered = np.sort(below, axis=1)[:, ::-1]
    over = np.cumsum(ordered, axis=1) - 1
    # What is taken off all entries, if so many of the largest stay above 0.
    kept = np.count_nonzero(ordered * np.arange(1, Y.shape[1] + 1) > over, axis=1)
    taken = over[np.arange(len(Y)), kept - 1] / kept
    below -= taken[:, np.newaxis]
    return np.asarray(np.maximum(below, 0, out=below))
