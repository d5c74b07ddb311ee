"""What the methods on a graph of neighbours share: its parameters, and how it is made."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.baselines._spectral import FloatArray, differences, in_double
from omvfs.baselines.base import Found, PerViewSelector
from omvfs.data.blocks import read_block
from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.model.arrays import Block, IntArray, squared_row_norms
from omvfs.model.graph.neighbours import k_nearest, neighbours
from omvfs.parameters import number, one_of, whole


class GraphSelector(PerViewSelector):
    """Base of single-view methods that score features on a graph of the rows.

    A subclass takes the parameters `n_neighbors`, `weights`, `width` and `graph`, and provides
    `_score_on`; `_check` if it has parameters of its own.
    """

    n_neighbors: int
    weights: str
    width: float | None
    graph: Any

    def _score_views(self, batch: Views) -> Found:
        self._check()
        given = given_graphs(self.graph, batch)

        def score(name: str, X: Block, rng: np.random.Generator) -> NDArray[Any]:
            if given is not None:
                return self._score_on(given[name], X, rng)
            W = neighbour_graph(X, self.n_neighbors, self.weights, self.width)
            return self._score_on(W, X, rng)

        return Found(self._each_view(batch, score))

    def _check(self) -> None:
        """Refuse bad parameters."""
        whole("n_neighbors", self.n_neighbors, least=1)
        one_of("weights", self.weights, ("heat", "binary", "cosine"))
        if self.width is not None:
            number("width", self.width, least=np.finfo(np.float64).tiny)

    @abstractmethod
    def _score_on(self, W: sp.csr_array, X: Block, rng: np.random.Generator) -> NDArray[Any]:
        """Return the score of every feature of a view on a graph W of its rows."""


def neighbour_graph(X: Block, k: int, weights: str, width: float | None) -> sp.csr_array:
    """Join every row with its k nearest others; two are joined if either chose the other.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    k : int
        Neighbours of a row; at most all others.
    weights : {"heat", "binary", "cosine"}
        exp(−‖x − y‖² / t) or 1 for neighbours by Euclidean distance; or the cosine for neighbours
        by cosine, where only a positive one makes an edge.
    width : float or None
        The t of the heat kernel; by default the mean of ‖x − y‖² over the edges.

    Returns
    -------
    csr_array of shape (n, n)
        In double precision, whatever X is in.

    Examples
    --------
    >>> neighbour_graph(np.array([[0.0], [1.0], [3.0]]), 1, "heat", 1.0).toarray().round(2)
    array([[0.  , 0.37, 0.  ],
           [0.37, 0.  , 0.02],
           [0.  , 0.02, 0.  ]])
    """
    X = in_double(X)
    n = X.shape[0]
    if weights == "cosine":
        return neighbours(X, min(k, max(1, n - 1)))
    # Without their common part, rows give their distances more exactly. Sparse ones have little.
    chosen = k_nearest(X if sp.issparse(X) else X - X.mean(axis=0), k)
    i, j = np.repeat(np.arange(n), chosen.shape[1]), chosen.ravel()
    i, j = np.divmod(np.unique(np.minimum(i, j) * n + np.maximum(i, j)), n)
    values = np.ones(len(i)) if weights == "binary" else _heat(X, i, j, width)
    W = sp.csr_array((values, (i, j)), shape=(n, n))
    W.eliminate_zeros()
    return sp.csr_array(W + W.T)


def given_graphs(graph: Any, batch: Views) -> dict[str, sp.csr_array] | None:
    """Read the graphs that the user gives: one for all views, or one for each by name.

    Parameters
    ----------
    graph : array or sparse matrix of shape (n, n), mapping of str to such, or None
    batch : Views
        The rows it joins.

    Returns
    -------
    dict of str to csr_array, or None
        By view name, in double precision and exactly symmetric.

    Examples
    --------
    >>> given_graphs([[0, 1], [2, 0]], Views([np.ones((2, 3))]))
    Traceback (most recent call last):
    ValueError: Got graph that joins row 0 with row 1 by 1, but row 1 with row 0 by 2; expected
    a symmetric one. Pass (graph + graph.T) / 2.
    """
    if graph is None:
        return None
    if sp.issparse(graph) or not isinstance(graph, Mapping):
        return dict.fromkeys(batch.names, _read_graph("graph", graph, len(batch)))
    if set(graph) != set(batch.names):
        raise ValueError(
            f"Got graph for views {listed(graph)}; expected one for each of "
            f"{listed(batch.names)}, or one graph for all."
        )
    return {name: _read_graph(f"graph[{name!r}]", graph[name], len(batch)) for name in batch.names}


def _heat(X: Block, i: IntArray, j: IntArray, width: float | None) -> FloatArray:
    """Return exp(−‖x − y‖² / t) of pairs of rows."""
    squares = np.empty(len(i))
    for part, difference in differences(X, i, j):
        squares[part] = squared_row_norms(difference)
    t = np.mean(squares) if width is None and len(squares) else width
    if not t:  # all neighbours are equal to each other
        return np.ones(len(i))
    with np.errstate(over="ignore"):  # so far apart that the weight is 0
        return np.exp(-squares / t)


def _read_graph(name: str, graph: Any, n: int) -> sp.csr_array:
    try:
        block = read_block(graph)[0]
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"Got {name} that is no matrix of numbers: {error}") from error
    if block.shape != (n, n):
        raise ValueError(
            f"Got {name} of shape {block.shape}; expected {(n, n)}, a row and a column for each "
            "row of X."
        )
    W = sp.csr_array(block, dtype=np.float64)
    bad = W.data[~(np.isfinite(W.data) & (W.data >= 0))]
    if len(bad):
        raise ValueError(
            f"Got {name} that holds {bad[0]:g}; expected finite weights of at least 0."
        )
    scale = float(W.data.max(initial=0)) or 1.0
    W = W / scale  # no result depends on the scale, and sums cannot overflow
    T = sp.csr_array(W.T)
    off = abs(W - T).tocoo()
    if off.data.max(initial=0) > 1e-6:
        i, j = sorted(int(at[off.data.argmax()]) for at in (off.row, off.col))
        raise ValueError(
            f"Got {name} that joins row {i} with row {j} by {W[i, j] * scale:g}, but row {j} with "
            f"row {i} by {W[j, i] * scale:g}; expected a symmetric one. Pass (graph + graph.T) / 2."
        )
    return sp.csr_array((W + T) / 2)
