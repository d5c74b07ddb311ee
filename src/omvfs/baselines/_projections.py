"""Nearest points: in the simplex, among orthonormal columns, and of shorter rows."""

import numpy as np

from omvfs.baselines._spectral import FloatArray
from omvfs.model.objective import row_norms

# Share of the largest singular value below which a direction is taken for free.
_FREE = 1e-8
_EPS = float(np.finfo(np.float64).eps)


def simplex_rows(Y: FloatArray) -> FloatArray:
    """Return for every row the nearest one that is nonnegative and adds up to 1.

    Examples
    --------
    >>> simplex_rows(np.array([[0.75, 0.75, 0.0], [9.0, 1.0, 1.0]]))
    array([[0.5, 0.5, 0. ],
           [1. , 0. , 0. ]])
    """
    below = Y - Y.max(axis=1, keepdims=True)
    ordered = np.sort(below, axis=1)[:, ::-1]
    over = np.cumsum(ordered, axis=1) - 1
    # What is taken off all entries, if so many of the largest stay above 0.
    kept = np.count_nonzero(ordered * np.arange(1, Y.shape[1] + 1) > over, axis=1)
    taken = over[np.arange(len(Y)), kept - 1] / kept
    below -= taken[:, np.newaxis]
    nearest: FloatArray = np.maximum(below, 0, out=below)
    return nearest


def shrink(M: FloatArray, t: float) -> FloatArray:
    """Return M with every row shortened by t, or zero where it is no longer than that.

    It is the Y of least ½‖Y − M‖² + t‖Y‖_{2,1}.

    Examples
    --------
    >>> shrink(np.array([[3.0, 4.0], [0.0, 1.0]]), 2.5)
    array([[1.5, 2. ],
           [0. , 0. ]])
    """
    norms = row_norms(M)
    kept = np.zeros(len(M))
    np.divide(norms - t, norms, out=kept, where=norms > t)
    shorter: FloatArray = kept[:, np.newaxis] * M
    return shorter


def orthonormal(N: FloatArray, U: FloatArray) -> FloatArray:
    """Return the matrix of orthonormal columns with the largest inner product with N.

    Where N leaves directions free, they are taken from U, not from rounding error.

    Examples
    --------
    >>> U = np.eye(3)[:, :2]
    >>> orthonormal(np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 0.0]]), U).round(6) + 0.0
    array([[0., 0.],
           [0., 1.],
           [1., 0.]])
    """
    P, sizes, Qt = np.linalg.svd(N, full_matrices=False)
    if sizes[-1] <= _FREE * sizes[0]:
        P, _, Qt = np.linalg.svd(N + max(_FREE * sizes[0], _EPS) * U, full_matrices=False)
    nearest: FloatArray = P @ Qt
    return nearest
