"""Graphs of the rows: neighbours, the first among equals, smoothness of features, spectrum."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils import check_array

from omvfs.baselines.base import Found, PerViewSelector
from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    column_sums,
    dense,
    squared_row_norms,
    unit_rows,
)
from omvfs.parameters import number, one_of

FloatArray: TypeAlias = NDArray[np.float64]
# fᵀLf, fᵀDf and f̃ᵀDf̃ of every column.
Parts: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]

# Entries of differences of rows, of centred columns, or of distances, held at a time.
_ENTRIES = 1 << 21
# Up to so many rows all eigenvectors are found at once.
_DENSE_ROWS = 300
# Products of rows with rows that are held at a time.
_STRIP_ENTRIES = 1 << 22
# Rows are made dense if that takes so many times the room of their entries at most: it is faster.
_ROOM = 8


def in_double(X: Block) -> Block:
    """Return X in double precision, a sparse one as csr_array."""
    return sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, np.float64)


def degrees(W: sp.csr_array) -> FloatArray:
    """Return the sum of every row of a graph; it is 0 if the row is joined with none."""
    return np.asarray(W.sum(axis=1), np.float64).ravel()


def differences(X: Block, i: IntArray, j: IntArray) -> Iterator[tuple[slice, Block]]:
    """Yield the rows X_i − X_j, some at a time, each time with the slice of i and j."""
    width = 2 * X.nnz // X.shape[0] if sp.issparse(X) else X.shape[1]
    step = max(1, _ENTRIES // max(1, width))
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        yield part, X[i[part]] - X[j[part]]


def sums_by_label(labels: IntArray, values: Array, n_labels: int) -> NDArray[np.float64]:
    """Return the sum of the values under each label, in double precision."""
    return np.bincount(labels, np.asarray(values, np.float64), n_labels).astype(np.float64)


def smoothness(X: Block, W: sp.csr_array) -> Parts:
    """Return fᵀLf, fᵀDf and f̃ᵀDf̃ of every column f of X, where f̃ is f less its mean under D.

    L = D − W, and D holds the row sums of W. Where a column is constant on the rows that are joined
    with any, but for rounding error, the last is exactly 0.
    """
    rounding = 100 * np.finfo(X.dtype).eps
    degree, X = degrees(W), in_double(X)
    joined = degree > 0
    if not joined.any():
        return np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if not joined.all():
        degree, X, W = degree[joined], X[joined], W[joined][:, joined]
    rough, total, spread = (_of_sparse if sp.issparse(X) else _of_dense)(X, W, degree)
    spread[spread <= rounding**2 * total] = 0
    return rough, total, spread


def spectrum(
    W: sp.csr_array, n_vectors: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the smallest eigenvalues of D^-½ L D^-½ and their eigenvectors, less the trivial one.

    The trivial eigenvector D^½ 1 belongs to eigenvalue 0. If the graph has c components, 0 has
    c − 1 more, and any basis of them would do. We take contrasts, unique but for their signs: the
    heaviest component against all others, the next against the lighter ones, and so on. Components
    that hang together by less than a millionth of what their rows have are taken for apart.

    Eigenvalues are between 0 and 2, the smallest first. Vectors are orthonormal, and zero on rows
    that are joined with none; there are at most as many as joined rows, less 1.
    """
    degree = degrees(W)
    rows = np.flatnonzero(degree > 0)
    n_vectors = min(n_vectors, max(0, len(rows) - 1))
    vectors = np.zeros((W.shape[0], n_vectors))
    if not n_vectors:
        return np.zeros(0), vectors
    degree = degree[rows]
    scale = sp.diags_array(1 / np.sqrt(degree))
    N = sp.csr_array(scale @ W[rows][:, rows] @ scale)
    n_components, label = _components(N)
    contrasts = _contrasts(label, degree, min(n_vectors, n_components - 1))
    n_contrasts = contrasts.shape[1]
    # Of equal eigenvalues 1 of D^-½ W D^-½ each component has one, known beforehand.
    own = np.sqrt(degree / sums_by_label(label, degree, n_components)[label])
    largest, rest = _largest_but(label, own, N, n_vectors - n_contrasts, rng)
    vectors[rows] = np.hstack([contrasts, rest])
    return np.concatenate([np.zeros(n_contrasts), np.clip(1 - largest, 0, 2)]), vectors


def _of_dense(X: FloatArray, W: sp.csr_array, degree: FloatArray) -> Parts:
    rough, total, spread = np.empty((3, X.shape[1]))
    step = max(1, _ENTRIES // len(X))
    for start in range(0, X.shape[1], step):
        part = slice(start, start + step)
        total[part] = degree @ np.square(X[:, part])
        F = X[:, part] - degree @ X[:, part] / degree.sum()
        squares = degree @ np.square(F)
        # What rounding left of the mean is taken off.
        spread[part] = squares - np.square(degree @ F) / degree.sum()
        rough[part] = np.maximum(squares - np.einsum("ij,ij->j", F, W @ F), 0)
    return rough, total, spread


def _of_sparse(X: sp.csr_array, W: sp.csr_array, degree: FloatArray) -> Parts:
    d, mass = X.shape[1], degree.sum()
    weight = np.repeat(degree, np.diff(X.indptr))
    total = sums_by_label(X.indices, weight * np.square(X.data), d)
    mean = sums_by_label(X.indices, weight * X.data, d) / mass
    # What is not stored is −mean once centred. A full column stores all, whatever rounding says.
    full = np.bincount(X.indices, minlength=d) == len(degree)
    unstored = np.where(full, 0, mass - sums_by_label(X.indices, weight, d))
    centred = X.data - mean[X.indices]
    squares = sums_by_label(X.indices, weight * np.square(centred), d) + unstored * mean**2
    left = sums_by_label(X.indices, weight * centred, d) - unstored * mean
    # fᵀLf is the sum of W_ij (f_i − f_j)² over the edges.
    edges = sp.triu(W, k=1).tocoo()
    rough: FloatArray = np.zeros(d)
    for part, F in differences(X, edges.row, edges.col):
        rough += column_sums(sp.diags_array(edges.data[part]) @ F.multiply(F))
    return rough, total, squares - np.square(left) / mass


def _components(N: sp.csr_array) -> tuple[int, IntArray]:
    """Return the number of components, traces of edges aside, and which one every row is in."""
    edges = N.tocoo()
    strong = edges.data > 1e-6
    lone = np.ones(N.shape[0], bool)  # rows that have nothing but traces, and keep them
    lone[edges.row[strong]] = False
    kept = strong | lone[edges.row] | lone[edges.col]
    pairs = edges.row[kept], edges.col[kept]
    n_components, label = connected_components(
        sp.csr_array((edges.data[kept], pairs), shape=N.shape), directed=False
    )
    return int(n_components), label


def _contrasts(label: IntArray, degree: FloatArray, n_vectors: int) -> FloatArray:
    """Return unit vectors: components from the heaviest on, each against all lighter ones."""
    masses = sums_by_label(label, degree, label.max() + 1)
    place = np.argsort(np.argsort(-masses, kind="stable"))[label]
    vectors = np.zeros((len(label), n_vectors))
    for c in range(n_vectors):
        inside, below = place == c, place > c
        vectors[inside, c] = 1 / degree[inside].sum()
        vectors[below, c] = -1 / degree[below].sum()
    vectors *= np.sqrt(degree)[:, np.newaxis]
    return np.asarray(vectors / np.linalg.norm(vectors, axis=0))


def _largest_but(
    label: IntArray, own: FloatArray, N: sp.csr_array, n_vectors: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenpairs of N = D^-½ W D^-½ but each component's own of eigenvalue 1."""
    n = N.shape[0]
    v0 = rng.standard_normal(n)
    if not n_vectors:
        return np.zeros(0), np.zeros((n, 0))
    # A component's own eigenvalue is moved from 1 to -2, below all others.
    if n <= max(_DENSE_ROWS, 4 * n_vectors):
        same = label[:, np.newaxis] == label
        values, vectors = np.linalg.eigh(N.toarray() - 3 * np.where(same, np.outer(own, own), 0))
    else:
        n_components = label.max() + 1

        def times(v: FloatArray) -> FloatArray:
            shares = sums_by_label(label, own * v.ravel(), n_components)
            return np.asarray(N @ v.ravel() - 3 * own * shares[label])

        operator = LinearOperator((n, n), matvec=times, dtype=np.float64)
        values, vectors = _iterate(operator, n_vectors, v0)
    order = np.argsort(-values, kind="stable")[:n_vectors]
    return values[order], vectors[:, order]


def _iterate(operator: LinearOperator, n_vectors: int, v0: FloatArray) -> Any:
    settings = {"which": "LA", "v0": v0, "ncv": min(len(v0), 3 * n_vectors + 20)}
    # A graph that is all but cut into pieces has eigenvalues that nothing tells from 1, and any
    # vectors among theirs are as good.
    for tol in (0, 1e-6):
        with suppress(ArpackNoConvergence):
            return eigsh(operator, n_vectors, tol=tol, maxiter=300, **settings)
    return eigsh(operator, n_vectors, tol=1e-3, **settings)


@dataclass(eq=False, repr=False, kw_only=True)
class GraphSelector(PerViewSelector):
    """Base of single-view methods that score features on a graph of the rows.

    A subclass provides `_score_on`.

    Parameters
    ----------
    {shared}
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
    """

    n_neighbors: int = 5
    weights: str = "heat"
    width: float | None = None
    graph: Any = None

    def _score_views(self, batch: Views) -> Found:
        given = given_graphs(self.graph, batch)

        def score(name: str, X: Block, rng: np.random.Generator) -> NDArray[Any]:
            if given is not None:
                return self._score_on(given[name], X, rng)
            W = neighbour_graph(X, self.n_neighbors, self.weights, self.width)
            return self._score_on(W, X, rng)

        return self._each_view(batch, score), {}

    def _check_params(self) -> None:
        super()._check_params()
        one_of("weights", self.weights, ("heat", "binary", "cosine"))
        if self.width is not None:
            number("width", self.width, least=np.finfo(np.float64).tiny)

    @abstractmethod
    def _score_on(self, W: sp.csr_array, X: Block, rng: np.random.Generator) -> NDArray[Any]:
        """Return the score of every feature of a view on a graph W of its rows."""


def neighbour_graph(X: Block, k: int, weights: str, width: float | None) -> sp.csr_array:
    """Join every row with its k nearest others; two are joined if either chose the other.

    In double precision, whatever X is in. The rest is as in the docstring of `GraphSelector`.

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
        W = nearest_by_cosine(X, k)
        return sp.csr_array(W.maximum(W.T))
    # Without their common part, rows give their distances more exactly. Sparse ones have little.
    chosen = k_nearest(X if sp.issparse(X) else X - X.mean(axis=0), k)
    i, j = np.repeat(np.arange(n), chosen.shape[1]), chosen.ravel()
    i, j = np.divmod(np.unique(np.minimum(i, j) * n + np.maximum(i, j)), n)
    values = np.ones(len(i)) if weights == "binary" else _heat(X, i, j, width)
    W = sp.csr_array((values, (i, j)), shape=(n, n))
    W.eliminate_zeros()
    return sp.csr_array(W + W.T)


def nearest_by_cosine(X: Block, k: int) -> sp.csr_array:
    """Return the positive cosines of every row with its k nearest others, row by row."""
    unit = unit_rows(X)
    found = []
    for start, S in _strips(unit):
        S[np.arange(len(S)), np.arange(start, start + len(S))] = 0
        rows, columns = _k_largest(S, k, float(np.finfo(S.dtype).smallest_subnormal))
        found.append(sp.csr_array((S[rows, columns], (rows, columns)), shape=S.shape))
    return sp.vstack(found, format="csr")


def k_nearest(X: Block, k: int) -> IntArray:
    """Return the k nearest other rows of every row by Euclidean distance, the nearest first.

    Distances come from products, which round in proportion to the rows: a dense X is best centred.

    Examples
    --------
    >>> k_nearest(np.array([[0.0], [1.0], [3.0], [3.0]]), 2)
    array([[1, 2],
           [0, 2],
           [3, 1],
           [2, 1]])
    """
    k = min(k, X.shape[0] - 1)
    found = np.empty((X.shape[0], k), np.intp)
    norms = squared_row_norms(X)
    for start, S in _strips(X) if k else ():
        stop = start + len(S)
        # x·y − ‖y‖²/2 = (‖x‖² − ‖x − y‖²) / 2 orders the rows y as their nearness does.
        S -= norms / 2
        S[np.arange(len(S)), np.arange(start, stop)] = -np.inf
        columns = _k_largest(S, k, float(np.finfo(S.dtype).min), norms[start:stop, np.newaxis])[1]
        found[start:stop] = columns.reshape(-1, k)
    return found


def given_graphs(graph: Any, batch: Views) -> dict[str, sp.csr_array] | None:
    """Read the graphs that the user gives: one for all views, or one for each by name."""
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
        W = check_array(graph, accept_sparse="csr", dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Got {name} that is no matrix of finite numbers: {error}") from error
    if W.shape != (n, n):
        raise ValueError(
            f"Got {name} of shape {W.shape}; expected {(n, n)}, a row and a column for each "
            "row of X."
        )
    W = sp.csr_array(W)
    scale = float(W.data.max(initial=0)) or 1.0
    W = W / scale  # no result depends on the scale, and sums cannot overflow
    T = sp.csr_array(W.T)
    if W.data.min(initial=0) < 0 or abs(W - T).max() > 1e-6:
        raise ValueError(
            f"Got {name} with weights below 0, or other ones from a row to another than back; "
            "expected a symmetric one, of at least 0. Pass (graph + graph.T) / 2."
        )
    return sp.csr_array((W + T) / 2)


def _strips(X: Block) -> Iterator[tuple[int, Array]]:
    """Yield the products of all rows with all, some rows at a time, and the number of the first."""
    if sp.issparse(X) and X.nnz * _ROOM >= X.shape[0] * X.shape[1]:
        X = dense(X)
    # Transposed once: a product would bring a transpose into rows anew for every strip.
    across = X.T.tocsr() if sp.issparse(X) else X.T
    height = max(1, _STRIP_ENTRIES // max(1, X.shape[0]))
    for start in range(0, X.shape[0], height):
        yield start, dense(X[start : start + height] @ across)


def _k_largest(
    S: Array, k: int, least: float, size: Array | None = None
) -> tuple[IntArray, IntArray]:
    """Return where the k largest entries of every row are, row by row, the largest first.

    Entries below `least` do not count. Those equal but for rounding error are equal, as they are
    common among counts. With `size`, the squared norm of every row, entries are
    (‖x‖² − ‖x − y‖²) / 2; else they are about 1.
    """
    k, digits = min(k, S.shape[1]), 1e10 if S.dtype == np.float64 else 1e5
    low = np.partition(S, -k, axis=1)[:, [-k]]
    span = np.ones_like(low) if size is None else size - low
    grain = digits / np.maximum(span, digits * np.finfo(S.dtype).tiny)
    rows, columns = np.nonzero(np.maximum(low - 2 / grain, least) <= S)
    order = np.lexsort((columns, -np.rint(S[rows, columns] * grain[rows, 0]), rows))
    first = np.searchsorted(rows, np.arange(len(S)))
    kept = order[np.arange(len(rows)) - first[rows] < k]
    return rows[kept], columns[kept]
