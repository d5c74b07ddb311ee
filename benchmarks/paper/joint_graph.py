"""JMVFG: features and one graph of the rows, learned together over all views."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import MinMaxScaler

from omvfs.baselines.base import Found
from omvfs.data.blocks import hstack
from omvfs.data.views import Views
from omvfs.model.arrays import Block, dense, scale_columns
from omvfs.model.objective import l21, row_norms, smoothness, squared_norm
from omvfs.parameters import seed_of
from paper.acsl import learned_graph, shares
from paper.eufs import orthonormal
from paper.factors import IterativeSelector, indicator, solve_ridge, unit_columns
from paper.graphs import FloatArray, in_double, neighbour_graph

# ζ: weight of the penalty on what of H is below 0.
_PENALTY = 1e4
_EPS = float(np.finfo(np.float64).eps)


@dataclass(eq=False, repr=False, kw_only=True)
class JMVFG(IterativeSelector):
    """Joint multi-view feature selection and graph learning.

    Clusters of the rows that all views predict, and a graph of the rows near the graphs of all
    views, on which the predictions are smooth:

    min Σ_v (‖X_v W_v − H‖² + η‖W_v‖_{2,1} + γ tr(W_vᵀX_vᵀLX_v W_v) + β‖S − δ_v A_v‖²),
    S ≥ 0, S1 = 1, HᵀH = I, H ≥ 0, δ ≥ 0, Σδ_v = 1,

    where A_v is the graph of a view and L the Laplacian of (S + Sᵀ)/2. A feature is as good as its
    row of W is long.

    It is offline, and meant for small sets, of up to some thousand rows and some hundred features a
    view: S is a full matrix, so that memory grows with the square of the number of rows n, and time
    with its cube, or with n²d for fewer features d than rows in a view. More features are no harm
    to memory: beyond n, regressions are solved in n unknowns, and sparse views stay sparse. But
    scaled to [0, 1], thousands of rare words are as loud as any, and the clusters may drown.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters c; fewer are found where there are fewer rows, or different rows.
    {shared}
    sparsity : float, default=1.0
        η: weight of ‖W‖_{2,1}, above 0.
    smoothness : float, default=1.0
        γ: how much rows that S joins are to be predicted alike.
    graph_weight : float, default=0.001
        β: how near S stays to the graphs of the views, above 0.
    n_neighbors : int, default=5
        Neighbours of a row in the graph of a view.
    max_iter : int, default=20
        Most iterations.
    tol : float, default=1e-4
        Relative change of the objective at which to stop.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    view_scores_ : dict of str to ndarray of shape (n_features_of_view,)
        ‖w_j‖² of every feature by view; larger is better, and comparable over all views.
    embedding_ : ndarray of shape (n_rows, c)
        H: orthonormal; nonnegative but for about 1e-4.
    weights_ : dict of str to ndarray of shape (n_features_of_view, c)
        W by view name.
    graph_ : ndarray of shape (n_rows, n_rows)
        S: a row adds up to 1.
    view_weights_ : dict of str to float
        δ by view name.
    objective_history_ : list of float
        The objective at the start and after every iteration, with the penalty on H. It falls.

    Notes
    -----
    The objective, the updates, their number, features scaled to [0, 1], the heat kernel with the
    median squared distance for its width, and the default weights are the paper's, or its code's.
    The paper has ‖X_v W_v − HB_vᵀ‖² with an orthogonal B_v, c × c in its code. W_v B_v in place of
    W_v takes it out of all terms, and its update leaves it as it is: we do without.

    Ours are the start of S, the mean of the graphs, and of H, k-means on all views; that a constant
    feature is 0 once scaled; and the stopping rule where the objective is 0.

    Each update of δ, H and S is the best for the rest; that of W never raises the objective.
    H ≥ 0 is a penalty of 1e4, beside which H hardly leaves the clusters of k-means.

    References
    ----------
    S.-G. Fang, D. Huang, C.-D. Wang, Y. Tang: Joint Multi-View Unsupervised Feature Selection and
    Graph Learning, IEEE Transactions on Emerging Topics in Computational Intelligence, 2023.

    Examples
    --------
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(300, n_features=(80, 60), n_informative=(20, 15), random_state=0)
    >>> selector = JMVFG(n_clusters=5, n_features_per_view=10, random_state=0)
    >>> selector.fit_transform(planted.views).shape
    (300, 20)
    >>> bool(planted.informative["view_1"][selector.view_ranking_["view_1"] <= 10].mean() > 0.4)
    True
    """

    n_clusters: int = field(default=8, kw_only=False)
    sparsity: float = 1.0
    smoothness: float = 1.0
    graph_weight: float = 0.001
    n_neighbors: int = 5
    max_iter: int = 20
    tol: float = 1e-4
    random_state: Any = None

    _above_zero = ("sparsity", "graph_weight")

    def _score_views(self, batch: Views) -> Found:
        rng = np.random.default_rng(seed_of(self.random_state))
        X = [unit_interval(block) for block in batch.blocks.values()]
        A = [len(X) * view_graph(X_v, self.n_neighbors) for X_v in X]
        H = unit_columns(indicator(hstack(X), self.n_clusters, rng))
        joint = Joint(X, A, H, self.sparsity, self.smoothness, self.graph_weight)
        history = [joint.objective()]
        for _ in range(self.max_iter):
            joint.update_delta()
            joint.update_w()
            joint.update_h()
            joint.update_s()
            history.append(joint.objective())
            if history[-2] - history[-1] <= self.tol * history[-2]:
                break
        weights = dict(zip(batch.names, joint.W, strict=True))
        attributes = {
            "embedding_": joint.H,
            "weights_": weights,
            "graph_": joint.S,
            "view_weights_": dict(zip(batch.names, joint.delta.tolist(), strict=True)),
            "objective_history_": history,
            "n_iter_": len(history) - 1,
        }
        return {name: row_norms(W) ** 2 for name, W in weights.items()}, attributes


class Joint:
    """The alternation; no update raises the objective.

    Parameters
    ----------
    X : list of array or CSR matrix of shape (n, d_v)
        Views, in double precision.
    A : list of csr_array of shape (n, n)
        Their graphs, with rows that add up to the number of views.
    H : array of shape (n, c)
        Start, nonnegative with orthonormal columns.
    eta, gamma, beta : float
        Weights.

    Attributes
    ----------
    delta, W, H, S
        As in the objective.
    """

    def __init__(
        self,
        X: list[Block],
        A: list[sp.csr_array],
        H: FloatArray,
        eta: float,
        gamma: float,
        beta: float,
    ) -> None:
        self._X, self._A, self.H = X, A, H
        self._eta, self._gamma, self._beta = eta, gamma, beta
        self._squares = np.array([squared_norm(A_v) for A_v in A])
        self.delta: FloatArray = np.full(len(A), 1 / len(A))
        # Where it is all the views say, S is near them: there is nothing to be smooth for.
        self._join(np.zeros((len(H), 1)))
        self.W = [self._regress(X_v, np.ones(X_v.shape[1])) for X_v in X]

    def objective(self) -> float:
        """Return the objective, and ζ‖min(H, 0)‖²."""
        value = _PENALTY * squared_norm(np.minimum(self.H, 0))
        for X_v, W_v in zip(self._X, self.W, strict=True):
            Y = np.asarray(X_v @ W_v)
            value += squared_norm(Y - self.H) + self._eta * l21(W_v)
            value += self._gamma * smoothness(Y, self._L)
        apart = squared_norm(self.S) - 2 * self.delta * self._agreements()
        return float(value + self._beta * np.sum(apart + self.delta**2 * self._squares))

    def update_delta(self) -> None:
        """δ of least Σ_v (δ_v² ‖A_v‖² − 2δ_v⟨A_v, S⟩) in the simplex."""
        self.delta = simplex_least_squares(self._agreements(), self._squares)

    def update_w(self) -> None:
        """W = (XᵀX + γXᵀLX + ηD)⁻¹XᵀH, D = diag(1 / (2‖row of W‖)); a zero row stays zero."""
        self.W = [
            self._regress(X_v, np.sqrt(2 * row_norms(W_v)))
            for X_v, W_v in zip(self._X, self.W, strict=True)
        ]

    def update_h(self) -> None:
        """H = the polar factor of Σ X_v W_v + ζ max(H, 0)."""
        N = _PENALTY * np.maximum(self.H, 0)
        for X_v, W_v in zip(self._X, self.W, strict=True):
            N += X_v @ W_v
        self.H = orthonormal(N, self.H)

    def update_s(self) -> None:
        """Rows of S in the simplex, near Σ δ_v A_v / V, less γ/(4βV) Σ_v ‖W_vᵀ(x_i − x_j)‖²."""
        self._join(np.hstack([X_v @ W_v for X_v, W_v in zip(self._X, self.W, strict=True)]))

    def _join(self, Y: FloatArray) -> None:
        n_views = len(self._A)
        T = sum(d * A_v for d, A_v in zip(self.delta / n_views, self._A, strict=True))
        self.S = learned_graph(sp.csr_array(T), Y, self._gamma / (4 * self._beta * n_views))
        self._L: FloatArray = laplacian((self.S + self.S.T) / 2)

    def _agreements(self) -> FloatArray:
        """Return ⟨A_v, S⟩ of every view."""
        pairs = [A_v.tocoo() for A_v in self._A]
        return np.array([each.data @ self.S[each.row, each.col] for each in pairs])

    def _regress(self, X: Block, scale: FloatArray) -> FloatArray:
        """Return ΣB with the B of least ‖XΣB − H‖² + γ tr((XΣB)ᵀLXΣB) + η‖B‖²; Σ holds the scale.

        In as many unknowns as there are features or rows, whichever are fewer.
        """
        A, (n, d) = scale_columns(X, scale), X.shape
        M = self._gamma * self._L
        M[np.diag_indices(n)] += 1
        if d <= n:
            B = solve_ridge(A.T @ np.asarray(A.T @ M).T, self._eta, np.asarray(A.T @ self.H))
        else:
            # With M = CᵀC it is the regression of C⁻ᵀH on CA.
            C = scipy.linalg.cholesky(M, overwrite_a=True, check_finite=False)
            R = scipy.linalg.solve_triangular(C, self.H, trans="T", check_finite=False)
            B = A.T @ (C.T @ solve_ridge(C @ dense(A @ A.T) @ C.T, self._eta, R))
        weights: FloatArray = scale[:, np.newaxis] * B
        return weights


def unit_interval(X: Block) -> Block:
    """Return X in double precision, every column from 0 to 1; a constant one is 0.

    A sparse X stays sparse, but for columns with values below 0; on the way it is dense.

    Examples
    --------
    >>> unit_interval(np.array([[2.0, 7.0], [4.0, 7.0], [3.0, 7.0]]))
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0. ]])
    """
    scaled = MinMaxScaler(clip=True).fit_transform(dense(in_double(X)))
    return sp.csr_array(scaled) if sp.issparse(X) else scaled


def view_graph(X: Block, k: int) -> sp.csr_array:
    """Return shares of the k nearest neighbours by the heat kernel, as wide as usual distances.

    Examples
    --------
    >>> view_graph(np.array([[0.0], [1.0], [3.0]]), 1).toarray().round(2)
    array([[0.  , 1.  , 0.  ],
           [0.95, 0.  , 0.05],
           [0.  , 1.  , 0.  ]])
    """
    width = float(np.median(euclidean_distances(X, squared=True), overwrite_input=True))
    return shares(neighbour_graph(X, k, "heat", width))


def simplex_least_squares(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the δ of least Σ (q_v δ_v² − 2 p_v δ_v) in the simplex.

    Examples
    --------
    >>> simplex_least_squares(np.array([1.0, 1.0, 0.0]), np.array([1.0, 3.0, 1.0]))
    array([0.75, 0.25, 0.  ])
    """
    # Where nothing is at stake, next to nothing is.
    q = np.maximum(q, _EPS * q.max()) if q.any() else np.ones_like(q)
    order = np.argsort(-p, kind="stable")
    # δ_v = max(p_v − t, 0) / q_v, with the t that makes the sum 1 if so many are above 0.
    t = (np.cumsum((p / q)[order]) - 1) / np.cumsum((1 / q)[order])
    last = np.flatnonzero(p[order] > t)[-1]
    found: FloatArray = np.maximum(p - t[last], 0) / q
    found /= found.sum()
    return found
