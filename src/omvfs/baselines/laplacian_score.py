"""The Laplacian score: features that neighbouring rows agree on."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.baselines._graphs import GraphSelector
from omvfs.baselines._spectral import smoothness
from omvfs.data.blocks import Block
from omvfs.data.schema import Remainder
from omvfs.selector import SelectSize


class LaplacianScore(GraphSelector):
    """The Laplacian score (He, Cai, Niyogi 2005): features that neighbouring rows agree on.

    With the weights S of a graph of the rows, D = diag(S1), L = D − S, and f̃ a feature f less its
    mean under D, the score is 1 − f̃ᵀLf̃ / f̃ᵀDf̃: between -1 and 1, larger is better. It is the
    correlation of the feature with itself at the neighbours.

    Of our choice: one minus the paper's score, where smaller is better; the width of the kernel;
    and -2 for a feature that is constant on the rows that are joined, for which the paper's score
    is 0/0. Where no rows are joined, all features get -2.

    Parameters
    ----------
    n_features_per_view : int, float, mapping of str to either, or None, default=100
        Features to select per view: at most so many, a share, either by view name, or all.
    views : "prefix", sequence of int, or mapping of str to columns, default=None
        How one 2-D X splits into views.
    remainder : {"error", "drop"}, default="error"
        Refuse columns of one 2-D X that are in no view, or leave them out.
    n_neighbors : int, default=5
        Neighbours of a row; at most all other rows. Two rows are joined if either chose the other.
    weights : {"heat", "binary", "cosine"}, default="heat"
        exp(−‖x − y‖² / t) or 1 for neighbours by Euclidean distance; or the cosine for neighbours
        by cosine, where only a positive one joins.
    width : float, default=None
        The t of the heat kernel. By default the mean of ‖x − y‖² over the joined rows of a view.
    graph : array or sparse matrix of shape (n, n), or mapping of str to such, default=None
        Weights to use instead of neighbours, for all views or by view name: symmetric, not
        negative.

    Examples
    --------
    >>> X = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 9.0], [8.0, 5.0, 1.0], [9.0, 5.0, 9.0]])
    >>> chain = np.array([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> LaplacianScore(graph=chain).fit(X).scores_.round(2)
    array([ 0.9, -2. , -1. ])
    """

    def __init__(
        self,
        *,
        n_features_per_view: SelectSize = 100,
        views: Any = None,
        remainder: Remainder = "error",
        n_neighbors: int = 5,
        weights: str = "heat",
        width: float | None = None,
        graph: Any = None,
    ) -> None:
        self.n_features_per_view = n_features_per_view
        self.views = views
        self.remainder = remainder
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.width = width
        self.graph = graph

    def _score_on(self, W: sp.csr_array, X: Block, rng: np.random.Generator) -> NDArray[np.float64]:
        rough, _, spread = smoothness(X, W)
        scores = np.full(X.shape[1], -2.0)
        varies = spread > 0
        scores[varies] = 1 - rough[varies] / spread[varies]
        return scores


def laplacian_score(
    X: Any,
    y: Any = None,
    *,
    n_neighbors: int = 5,
    weights: str = "heat",
    width: float | None = None,
    graph: Any = None,
) -> NDArray[np.float64]:
    """Return the Laplacian score of every feature, larger is better, as `SelectKBest` takes it.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
    y : ignored
        For compatibility with scikit-learn.
    n_neighbors, weights, width, graph
        As for `LaplacianScore`.

    Returns
    -------
    array of shape (d,)

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest
    >>> X = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 9.0], [8.0, 5.0, 1.0], [9.0, 5.0, 9.0]])
    >>> SelectKBest(laplacian_score, k=1).fit(X * [9, 1, 1]).get_support()
    array([ True, False, False])
    """
    selector = LaplacianScore(n_neighbors=n_neighbors, weights=weights, width=width, graph=graph)
    return np.asarray(selector.fit(X).scores_)
