"""What a graph of the rows says: how smooth features are on it, and what spectrum it has."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from omvfs.model.arrays import Block, IntArray, column_sums, sums_by_label

FloatArray: TypeAlias = NDArray[np.float64]
# fᵀLf, fᵀDf and f̃ᵀDf̃ of every column.
Parts: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]

# Entries of differences of rows, or of centred columns, held at a time.
_ENTRIES = 1 << 21
# Up to so many rows all eigenvectors are found at once.
_DENSE_ROWS = 300


def in_double(X: Block) -> Block:
    """Return X in double precision, a sparse one as csr_array.

    Examples
    --------
    >>> in_double(np.ones(2, np.float32)).dtype
    dtype('float64')
    """
    return sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, np.float64)


def degrees(W: sp.csr_array) -> FloatArray:
    """Return the sum of every row of a graph; it is 0 if the row is joined with none.

    Examples
    --------
    >>> degrees(sp.csr_array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    array([2., 2., 0.])
    """
    return np.asarray(W.sum(axis=1), np.float64).ravel()


def differences(X: Block, i: IntArray, j: IntArray) -> Iterator[tuple[slice, Block]]:
    """Yield the rows X_i − X_j, some at a time, each time with the slice of i and j.

    Examples
    --------
    >>> list(differences(np.array([[1.0], [5.0]]), np.array([1]), np.array([0])))
    [(slice(0, 2097152, None), array([[4.]]))]
    """
    width = 2 * X.nnz // X.shape[0] if sp.issparse(X) else X.shape[1]
    step = max(1, _ENTRIES // max(1, width))
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        yield part, X[i[part]] - X[j[part]]


def smoothness(X: Block, W: sp.csr_array) -> Parts:
    """Return fᵀLf, fᵀDf and f̃ᵀDf̃ of every column f of X, where f̃ is f less its mean under D.

    L = D − W, and D holds the row sums of W. Where a column is constant on the rows that are joined
    with any, but for rounding error, the last is exactly 0.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    W : csr_array of shape (n, n)
        Symmetric and nonnegative.

    Examples
    --------
    >>> X = np.array([[1.0, 3.0], [2.0, 3.0]])
    >>> [part.round(12) for part in smoothness(X, sp.csr_array([[0.0, 2.0], [2.0, 0.0]]))]
    [array([2., 0.]), array([10., 36.]), array([1., 0.])]
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

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric and nonnegative.
    n_vectors : int
        How many; at most as many as there are joined rows, less 1.
    rng : numpy Generator
        Where the iteration starts.

    Returns
    -------
    values : array of shape (k,)
        Between 0 and 2, the smallest first.
    vectors : array of shape (n, k)
        Orthonormal; zero on rows that are joined with none.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> spectrum(W, 2, np.random.default_rng(0))[0].round(12)
    array([1., 2.])
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
