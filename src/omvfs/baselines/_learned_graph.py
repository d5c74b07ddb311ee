"""A graph that is learned: near what the views say, and smooth for an embedding of the rows."""

import numpy as np
import scipy.sparse as sp

from omvfs.baselines._projections import simplex_rows
from omvfs.baselines._spectral import FloatArray, degrees
from omvfs.model.arrays import Block, rows_divided, squared_row_norms

# Entries of the strips of distances held at a time.
_ENTRIES = 1 << 21


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
        wanted = squared_distances(Y[rows], Y)
        wanted *= -weight
        wanted += T[rows].toarray()
        S[rows] = simplex_rows(wanted)
    return S


def squared_distances(X: Block, Y: Block) -> FloatArray:
    """Return ‖x − y‖² of all rows of two blocks.

    Examples
    --------
    >>> squared_distances(np.array([[0.0]]), np.array([[1.0], [3.0]]))
    array([[1., 9.]])
    """
    products = X @ Y.T
    squares: FloatArray = products.toarray() if sp.issparse(products) else np.asarray(products)
    squares *= -2
    squares += squared_row_norms(X)[:, np.newaxis]
    squares += squared_row_norms(Y)
    return np.maximum(squares, 0, out=squares)
