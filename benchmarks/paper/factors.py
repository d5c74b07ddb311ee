"""What methods share that learn factor matrices: start, regression, projections."""

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from omvfs.baselines.base import Found, OfflineSelector, PerViewSelector
from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.model.arrays import Array, Block
from omvfs.model.objective import row_norms
from omvfs.parameters import number, whole
from paper.graphs import FloatArray

_EPS = float(np.finfo(np.float64).eps)
# Parameters that are numbers of at least 0 in all methods.
WEIGHTS = ("sparsity", "graph_weight", "regression_weight", "smoothness", "orthogonality", "tol")


def solve_ridge(A: Array, beta: float, R: FloatArray) -> FloatArray:
    """Solve (A + βI) B = R for a positive semidefinite A, which is lost."""
    solution: FloatArray = scipy.linalg.cho_solve(
        (ridge_factor(A, beta), True), R, check_finite=False
    )
    return solution


def ridge_factor(A: Array, beta: float) -> FloatArray:
    """Return the lower triangle C with CCᵀ = A + βI for a positive semidefinite A, which is lost.

    What is above the diagonal of C is not to be used.
    """
    A[np.diag_indices_from(A)] += enough(A, beta)
    factor: FloatArray = scipy.linalg.cho_factor(
        A, lower=True, overwrite_a=True, check_finite=False
    )[0]
    return factor


def enough(A: Array, beta: float) -> float:
    """Return β or, if more, the rounding error of a positive semidefinite A: it may be singular."""
    return max(beta, len(A) * _EPS * float(np.trace(A))) or 1.0


# Random starts of k-means; the best is kept.
_STARTS = 10


class IterativeSelector(OfflineSelector):
    """Base of methods that lessen an objective of weighted terms, in at most `max_iter` rounds."""

    # Which of the weights may not be 0.
    _above_zero: ClassVar[tuple[str, ...]] = ()

    def _check_params(self) -> None:
        super()._check_params()
        whole("max_iter", self.max_iter, least=1)
        for name, value in self.get_params(deep=False).items():
            if name in WEIGHTS:
                number(name, value, least=0.0, above=name in self._above_zero)


@dataclass(frozen=True)
class Factors:
    """What was learned of one view."""

    # Clusters of the rows, of shape (n, K).
    embedding: FloatArray
    # What each feature says of each cluster, of shape (d, K).
    weights: FloatArray
    # Iterations done.
    n_iter: int
    # Whether these were enough.
    converged: bool


@dataclass(eq=False, repr=False, kw_only=True)
class FactorSelector(IterativeSelector, PerViewSelector):
    """Base of single-view methods that learn clusters of the rows and a row of weights a feature.

    A subclass takes the parameters named below and provides `_factorise`.
    """

    n_clusters: int = field(default=8, kw_only=False)
    sparsity: float
    graph_weight: float
    n_neighbors: int = 5
    max_iter: int
    tol: float
    random_state: Any = None

    def _score_views(self, batch: Views) -> Found:
        factors = self._each_view(
            batch,
            # In double precision, as the solvers subtract what is nearly equal.
            lambda name, X, rng: self._factorise(X.astype(np.float64, copy=False), rng),
        )
        late = [name for name, found in factors.items() if not found.converged]
        if late:
            warnings.warn(
                f"{type(self).__name__} has not converged in max_iter={self.max_iter} iterations "
                f"for view {listed(late)}. Give its rows unit norm, or raise max_iter "
                "or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        weights = {name: found.weights for name, found in factors.items()}
        attributes = {
            "embeddings_": {name: found.embedding for name, found in factors.items()},
            "weights_": weights,
            "n_iter_": max(found.n_iter for found in factors.values()),
        }
        return {name: row_norms(W) for name, W in weights.items()}, attributes

    @abstractmethod
    def _factorise(self, X: Block, rng: np.random.Generator) -> Factors:
        """Return the factors of a view, X in double precision; its rows must not be changed."""


def indicator(X: Block, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Return which row is in which cluster of k-means, 0 or 1, without empty clusters.

    There are fewer clusters than asked for if X has fewer rows, or fewer different ones.
    """
    if sp.issparse(X):
        # k-means takes no long indices.
        short = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32, copy=False)
        X = sp.csr_array((X.data, *short), shape=X.shape)
    k_means = KMeans(
        min(n_clusters, X.shape[0]), n_init=_STARTS, random_state=int(rng.integers(2**31 - 1))
    )
    with warnings.catch_warnings():
        # Fewer different rows than clusters are fine.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = k_means.fit_predict(X)
    numbers = np.unique(labels, return_inverse=True)[1]
    return np.eye(numbers.max() + 1)[numbers]


def unit_columns(F: FloatArray) -> FloatArray:
    """Return F with columns of unit norm; none may be zero."""
    return np.asarray(F / np.linalg.norm(F, axis=0))
