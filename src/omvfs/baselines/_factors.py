"""What methods share that score a feature by its row of a factor matrix."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from omvfs.baselines._spectral import FloatArray
from omvfs.baselines.base import Found, PerViewSelector
from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.model.arrays import Block
from omvfs.model.objective import row_norms
from omvfs.parameters import number, whole

# Random starts of k-means; the best is kept.
_STARTS = 10


@dataclass(frozen=True)
class Factors:
    """What was learned of one view.

    Attributes
    ----------
    embedding : array of shape (n, K)
        Clusters of the rows.
    weights : array of shape (d, K)
        What each feature says of each cluster.
    n_iter : int
        Iterations done.
    converged : bool
        Whether these were enough.
    """

    embedding: FloatArray
    weights: FloatArray
    n_iter: int
    converged: bool


class FactorSelector(PerViewSelector):
    """Base of single-view methods that learn clusters of the rows and a row of weights a feature.

    A subclass takes the parameters named below and provides `_factorise`.
    """

    _factors: dict[str, Factors]
    n_clusters: int
    sparsity: float
    graph_weight: float
    n_neighbors: int
    max_iter: int
    tol: float

    def _score_views(self, batch: Views) -> Found:
        self._check_params()
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
        scores = {name: row_norms(found.weights) for name, found in factors.items()}
        return Found(scores, {"_factors": factors})

    def _check_params(self) -> None:
        whole("n_clusters", self.n_clusters, least=1)
        number("sparsity", self.sparsity, least=0.0)
        number("graph_weight", self.graph_weight, least=0.0)
        whole("n_neighbors", self.n_neighbors, least=1)
        whole("max_iter", self.max_iter, least=1)
        number("tol", self.tol, least=0.0)

    @abstractmethod
    def _factorise(self, X: Block, rng: np.random.Generator) -> Factors:
        """Return the factors of a view, X in double precision; its rows must not be changed."""

    @property
    def embeddings_(self) -> dict[str, FloatArray]:
        """Clusters of the rows by view name, rows by clusters."""
        check_is_fitted(self)
        return {name: factors.embedding.copy() for name, factors in self._factors.items()}

    @property
    def weights_(self) -> dict[str, FloatArray]:
        """Weights by view name, features by clusters; the norms of the rows are the scores."""
        check_is_fitted(self)
        return {name: factors.weights.copy() for name, factors in self._factors.items()}

    @property
    def n_iter_(self) -> int:
        """Iterations done for the view that took most."""
        check_is_fitted(self)
        return max(factors.n_iter for factors in self._factors.values())


def indicator(X: Block, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Return which row is in which cluster of k-means, 0 or 1, without empty clusters.

    There are fewer clusters than asked for if X has fewer rows, or fewer different ones.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    n_clusters : int
    rng : Generator

    Returns
    -------
    array of shape (n, K)

    Examples
    --------
    >>> X = np.array([[0.0], [0.0], [9.0]])
    >>> indicator(X, 8, np.random.default_rng(0)).shape
    (3, 2)
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
    """Return F with columns of unit norm; none may be zero.

    Examples
    --------
    >>> unit_columns(np.array([[3.0, 0.0], [4.0, 2.0]]))
    array([[0.6, 0. ],
           [0.8, 1. ]])
    """
    unit: FloatArray = F / np.linalg.norm(F, axis=0)
    return unit


def joined(X: Sequence[Block]) -> Block:
    """Return the views side by side, sparse if any is.

    Examples
    --------
    >>> joined([np.ones((2, 1)), np.zeros((2, 2))])
    array([[1., 0., 0.],
           [1., 0., 0.]])
    """
    if any(sp.issparse(X_v) for X_v in X):
        return sp.hstack(X, format="csr")
    return np.hstack(X)
