"""MVUFS: pseudo labels from one view and the neighbours in the others, features that tell them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, minimize
from scipy.sparse.linalg import lsmr
from sklearn.preprocessing import normalize
from sklearn.utils import Tags

from omvfs.baselines.base import Found
from omvfs.data.blocks import Negative
from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.model.arrays import Block, dense, squared_row_norms, unit_rows
from omvfs.model.clustering import embedded, k_means
from omvfs.model.objective import inner, row_norms
from omvfs.parameters import seed_of
from paper.factors import IterativeSelector, unit_columns
from paper.graphs import FloatArray, nearest_by_cosine

# Random starts of the clustering.
_STARTS = 8
# What is added to the starts of G and F, so that every entry can move.
_OFFSET = 0.2
# Below this share of its usual length a row counts as short, where norms are smoothed.
_SHORT = 1e-6
# Most steps of L-BFGS in a half-step.
_STEPS = 50
# From a matrix to a value and its gradient there.
Function: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]

# Pairs remembered, and the relative change of the value that ends it.
_MEMORY, _TOL = 10, 1e-9
# λ: the ridge of every local regression, as in the code of the authors' single-view method.
_RIDGE = 0.1


@dataclass(eq=False, repr=False, kw_only=True)
class MVUFS(IterativeSelector):
    """Multi-view unsupervised feature selection, by pseudo labels that all views predict.

    One view, the text say, is factorised into nonnegative parts, its rows into orthogonal clusters
    that the neighbours of a row in the other views, the image, help to tell. In each view, features
    are chosen that predict these clusters, all at once and robustly:

    min ‖X₁ − GF‖_{2,1} + ν tr(GᵀLG) + Σ_v (α‖X_v W_v − G‖_{2,1} + β‖W_v‖_{2,1}),
    F ≥ 0, G ≥ 0, GᵀG = I,

    where L is the local learning Laplacian of the other views. A feature is as good as its row of W
    is long. It needs all rows at once, many passes over them, and is meant to be slow.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters; fewer are found where there are fewer rows, or different rows.
    {shared}
    label_view : str, default=None
        Name of the view X₁ that gives the pseudo labels; by default the first.
    regression_weight : float, default=1.0
        α: weight of the prediction of the pseudo labels, above 0.
    sparsity : float, default=1.0
        β: weight of ‖W‖_{2,1}.
    graph_weight : float, default=1.0
        ν: weight of the neighbours in the other views.
    orthogonality : float, default=1e7
        ζ: weight of the penalty ¼‖GᵀG − I‖² at the end.
    n_neighbors : int, default=5
        Neighbours of a row.
    max_iter : int, default=10
        Iterations, each of one half-step for W, G and F.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    view_scores_ : dict of str to ndarray of shape (n_features_of_view,)
        Score of every feature by view; larger is better.
    embedding_ : ndarray of shape (n_rows, n_clusters)
        G, the pseudo labels: nonnegative, with orthonormal columns.
    weights_ : dict of str to ndarray of shape (n_features_of_view, n_clusters)
        W by view name.
    objective_history_ : list of tuple of 4 floats
        One entry an iteration: the objective, with the penalty of that iteration, before it and
        after the half-steps for W, G and F. It falls along an entry.
    n_iter_ : int
        Iterations done.

    Notes
    -----
    The paper was not at hand. The objective is our working form of it, by its abstract and by the
    code of the authors' single-view method; so are the local learning (cosine kernel, ridge 0.1)
    and the half-steps by projected L-BFGS. Our own choices:

    - With one view only, it is both X₁ and the neighbours; with more than two, the Laplacians of
      all but X₁ add up.
    - G starts from a clustering of X₁ in its leading singular space.
    - ζ rises to its value in equal ratios, from the number of rows. At its full value from the
      first iteration on, hardly any row ever leaves the cluster it starts in.
    - A penalty leaves ‖GᵀG − I‖ at about 1e-4. At the end every row keeps its largest entry only,
      columns are scaled to unit norm, and W is fitted once more.

    Terms are as in the objective, without regard to their size: the first grows with the number of
    rows and their length, the second with neither. Rows of unit norm are best.

    References
    ----------
    M. Qian, C. Zhai: Unsupervised Feature Selection for Multi-View Clustering on Text-Image Web
    News Data, CIKM 2014.

    M. Qian, C. Zhai: Robust Unsupervised Feature Selection, IJCAI 2013.

    Examples
    --------
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(300, n_features=(80, 60), n_informative=(20, 15), random_state=0)
    >>> selector = MVUFS(n_clusters=5, n_features_per_view=10, random_state=0)
    >>> selector.fit_transform(planted.views).shape
    (300, 20)
    >>> bool(planted.informative["view_1"][selector.view_ranking_["view_1"] <= 10].mean() > 0.8)
    True
    """

    n_clusters: int = field(default=8, kw_only=False)
    label_view: str | None = None
    regression_weight: float = 1.0
    sparsity: float = 1.0
    graph_weight: float = 1.0
    orthogonality: float = 1e7
    n_neighbors: int = 5
    max_iter: int = 10
    random_state: Any = None

    _above_zero = ("regression_weight",)

    def _split(self, X: Any, negative: Negative = "error") -> Views:
        # It factorises into nonnegative parts.
        return super()._split(X, negative)

    def _score_views(self, batch: Views) -> Found:
        names = batch.schema.names
        label = names[0] if self.label_view is None else self.label_view
        if label not in names:
            raise ValueError(f"Got label_view={label!r}; the views are {listed(names)}.")
        rng = np.random.default_rng(seed_of(self.random_state))
        X = [block.astype(np.float64, copy=False) for block in batch.blocks.values()]
        weights = self.regression_weight, self.sparsity, self.graph_weight
        problem = Problem(X, names.index(label), self.n_neighbors, weights)
        start = cluster(X[problem.label], self.n_clusters, rng)
        G, factors, history = solve(problem, start, self.orthogonality, self.max_iter)
        W = dict(zip(names, factors, strict=True))
        attributes = {
            "embedding_": G,
            "weights_": W,
            "objective_history_": history,
            "n_iter_": len(history),
        }
        return {name: row_norms(W_v) for name, W_v in W.items()}, attributes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class Problem:
    """The objective of some views, as a function of each of its matrices in turn.

    Norms of rows are smoothed, √(‖·‖² + ε²) with a tiny ε, as they have no gradient at zero. No
    matrix of rows by features, rows by rows or features by features is ever formed. Views are in
    double precision; `label` is the number of the one that gives the pseudo labels; weights are α,
    β and ν.
    """

    def __init__(
        self, X: list[Block], label: int, n_neighbors: int, weights: tuple[float, float, float]
    ) -> None:
        self.X, self.label = X, label
        self.alpha, self.beta, self.nu = weights
        # Products with a transpose are faster from rows of its own.
        self.Xt = [X_v.T.tocsr() if sp.issparse(X_v) else X_v.T for X_v in X]
        self.squares = [squared_row_norms(X_v) for X_v in X]
        # I − A of the other views below each other: L = MᵀM.
        others = [X_v for v, X_v in enumerate(X) if v != label] or X
        self.M = sp.vstack([local_residual(X_v, n_neighbors) for X_v in others], format="csr")

    def of_weights(self, v: int, G: FloatArray) -> Function:
        """Return α‖X_v W − G‖_{2,1} + β‖W‖_{2,1}, of W."""
        X, Xt = self.X[v], self.Xt[v]
        short = self._short(G)
        short_weights = short / self.size(v)

        def function(W: FloatArray) -> tuple[float, FloatArray]:
            H = X @ W - G
            h, w = _lengths(H, short), _lengths(W, short_weights)
            value = self.alpha * h.sum() + self.beta * w.sum()
            return float(value), self.alpha * (Xt @ (H / h)) + self.beta * (W / w)

        return function

    def of_embedding(self, F: FloatArray, W: Sequence[FloatArray], zeta: float) -> Function:
        """Return all terms but β‖W‖_{2,1}, and ¼ζ‖GᵀG − I‖², of G."""
        XFt, FFt = self.X[self.label] @ F.T, F @ F.T
        P = [X_v @ W_v for X_v, W_v in zip(self.X, W, strict=True)]
        M, Mt = self.M, self.M.T.tocsr()

        def function(G: FloatArray) -> tuple[float, FloatArray]:
            R = G @ FFt - XFt  # (GF − X₁)Fᵀ
            r = self._residuals(G, R, XFt)
            MG = M @ G
            gap = G.T @ G - np.eye(len(F))
            value = r.sum() + self.nu * inner(MG, MG) + zeta / 4 * inner(gap, gap)
            gradient = R / r + 2 * self.nu * (Mt @ MG) + zeta * (G @ gap)
            for P_v in P:
                H = G - P_v
                h = _lengths(H, self._short(G))
                value += self.alpha * h.sum()
                gradient += self.alpha * (H / h)
            return float(value), gradient

        return function

    def of_basis(self, G: FloatArray) -> Function:
        """Return ‖X₁ − GF‖_{2,1}, of F."""
        X, Xt = self.X[self.label], self.Xt[self.label]

        def function(F: FloatArray) -> tuple[float, FloatArray]:
            XFt = X @ F.T
            r = self._residuals(G, G @ (F @ F.T) - XFt, XFt)
            return float(r.sum()), (G.T @ (G / r)) @ F - (Xt @ (G / r)).T

        return function

    def value(self, G: FloatArray, F: FloatArray, W: Sequence[FloatArray], zeta: float) -> float:
        """Return the objective, with the penalty."""
        short = self._short(G)
        sparse = sum(_lengths(W_v, short / self.size(v)).sum() for v, W_v in enumerate(W))
        return self.of_embedding(F, W, zeta)(G)[0] + self.beta * float(sparse)

    def _residuals(self, G: FloatArray, R: FloatArray, XFt: FloatArray) -> FloatArray:
        """Return ‖x_i − g_i F‖ as ‖x‖² + g·(r − XFᵀ), which rounding may leave below zero."""
        squares = self.squares[self.label] + np.einsum("ik,ik->i", G, R - XFt)
        short = _SHORT * self.size(self.label)
        return np.asarray(np.sqrt(np.maximum(squares, 0) + short**2)[:, np.newaxis])

    def size(self, v: int) -> float:
        """Return the usual length of a row of view v."""
        return float(np.sqrt(self.squares[v].mean())) or 1.0

    @staticmethod
    def _short(G: FloatArray) -> float:
        """Return the length of a row of G that counts as short, where GᵀG = I."""
        n, n_clusters = G.shape
        return _SHORT * float(np.sqrt(n_clusters / n))


def cluster(X: Block, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Return which row is in which cluster of X, 0 or 1, without empty clusters."""
    seed, K = int(rng.integers(1 << 31)), min(n_clusters, X.shape[0])
    found = k_means(normalize(embedded(X).rows), K, seed, _STARTS)[0]
    labels = np.unique(found, return_inverse=True)[1]
    return np.eye(labels.max() + 1)[labels]


def solve(
    problem: Problem, clusters: FloatArray, zeta: float, max_iter: int
) -> tuple[FloatArray, list[FloatArray], list[tuple[float, ...]]]:
    """Alternate half-steps for W, G and F while the penalty rises to ζ, then meet the constraint.

    `clusters` has 0 or 1, rows by clusters, none of them empty. Returns G, W of every view, and the
    objective before every iteration and after each of its half-steps.
    """
    G = unit_columns(clusters + _OFFSET)
    F = np.maximum(np.linalg.solve(G.T @ G, (problem.Xt[problem.label] @ G).T), 0)
    F += _OFFSET * float(F[F > 0].mean() if F.any() else 0.0)
    W = []
    for v, X_v in enumerate(problem.X):
        # Ridge regression, near enough to start from.
        solved = [lsmr(X_v, g, damp=problem.size(v), atol=1e-8, btol=1e-8)[0] for g in G.T]
        W.append(np.stack(solved, axis=1))
    history, n = [], len(G)
    # Rising in equal ratios.
    rising = np.geomspace(n, zeta, max_iter + 1)[1:] if zeta > n else np.full(max_iter, zeta)
    for penalty in rising:
        points = [(G, F, W)]
        W = [descend(problem.of_weights(v, G), W_v) for v, W_v in enumerate(W)]
        points.append((G, F, W))
        G = descend(problem.of_embedding(F, W, penalty), G, nonnegative=True)
        points.append((G, F, W))
        F = descend(problem.of_basis(G), F, nonnegative=True)
        points.append((G, F, W))
        history.append(tuple(problem.value(*each, penalty) for each in points))
    # Without a penalty all of G may vanish; then the start stands.
    largest = np.eye(G.shape[1])[G.argmax(axis=1)] * G if G.any() else clusters
    # A low penalty may leave a cluster that is the largest of no row.
    filled = largest.any(axis=0)
    G = unit_columns(largest[:, filled])
    W = [descend(problem.of_weights(v, G), W_v[:, filled]) for v, W_v in enumerate(W)]
    return G, W, history


def _lengths(P: FloatArray, short: float) -> FloatArray:
    return np.asarray(np.sqrt(np.einsum("ik,ik->i", P, P) + short**2)[:, np.newaxis])


def descend(function: Function, start: FloatArray, nonnegative: bool = False) -> FloatArray:
    """Return a matrix at which the function is no higher than at the start."""

    def flat(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(x.reshape(start.shape))
        return value, gradient.ravel()

    # Without bounds, L-BFGS-B is L-BFGS.
    found = minimize(
        flat,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(0, np.inf) if nonnegative else None,
        options={"maxcor": _MEMORY, "maxiter": _STEPS, "ftol": _TOL, "gtol": 0.0},
    )
    return np.asarray(found.x.reshape(start.shape))


def local_residual(X: Block, k: int) -> sp.csr_array:
    """Return I − A, where (A y)_i is what the neighbours of row i predict of y_i.

    Kernel ridge regression with the cosine kernel: a_i = k_iᵀ (K_i + λI)⁻¹, over the k nearest
    other rows of positive cosine. ‖(I − A) G‖² is the local learning regulariser tr(Gᵀ L G). A row
    without neighbours has no prediction, and is zero: no term speaks of it.
    """
    unit = unit_rows(X)
    A = nearest_by_cosine(unit, k)
    for row in (slice(*ends) for ends in pairwise(A.indptr)):
        near = unit[A.indices[row]]
        K = dense(near @ near.T)
        K[np.diag_indices(len(K))] = 1 + _RIDGE
        A.data[row] = np.linalg.solve(K, A.data[row])
    return sp.csr_array(sp.diags_array((np.diff(A.indptr) > 0).astype(np.float64)) - A)
