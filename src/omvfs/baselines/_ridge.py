"""The equations of a ridge regression."""

import numpy as np
import scipy.linalg

from omvfs.baselines._spectral import FloatArray
from omvfs.model.arrays import Array

_EPS = float(np.finfo(np.float64).eps)


def solve_ridge(A: Array, beta: float, R: FloatArray) -> FloatArray:
    """Solve (A + βI) B = R for a positive semidefinite A, which is lost.

    Examples
    --------
    >>> solve_ridge(np.diag([1.0, 3.0]), 1.0, np.array([[2.0], [2.0]]))
    array([[1. ],
           [0.5]])
    """
    solution: FloatArray = scipy.linalg.cho_solve(
        (ridge_factor(A, beta), True), R, check_finite=False
    )
    return solution


def ridge_factor(A: Array, beta: float) -> FloatArray:
    """Return the lower triangle C with CCᵀ = A + βI for a positive semidefinite A, which is lost.

    What is above the diagonal of C is not to be used.

    Examples
    --------
    >>> np.tril(ridge_factor(np.diag([1.0, 3.0]), 1.0)).round(3)
    array([[1.414, 0.   ],
           [0.   , 2.   ]])
    """
    A[np.diag_indices_from(A)] += enough(A, beta)
    factor: FloatArray = scipy.linalg.cho_factor(
        A, lower=True, overwrite_a=True, check_finite=False
    )[0]
    return factor


def enough(A: Array, beta: float) -> float:
    """Return β or, if more, the rounding error of a positive semidefinite A, which may be singular.

    Examples
    --------
    >>> enough(np.zeros((2, 2)), 0.0), enough(np.eye(2), 0.5)
    (1.0, 0.5)
    """
    return max(beta, len(A) * _EPS * float(np.trace(A))) or 1.0
