"""Lower a smooth function of a matrix by L-BFGS, projected onto the nonnegative if so asked."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.optimize import Bounds, minimize

from omvfs.baselines._spectral import FloatArray

# From a matrix to a value and its gradient there.
Function: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]

# Pairs remembered, and the relative change of the value that ends it.
_MEMORY, _TOL = 10, 1e-9


def descend(
    function: Function, start: FloatArray, *, steps: int, nonnegative: bool = False
) -> FloatArray:
    """Return a matrix at which the function is no higher than at the start.

    Parameters
    ----------
    function : callable
        From a matrix to a value and its gradient, of the same shape.
    start : array
        Nonnegative if the result must be.
    steps : int
        Most steps.
    nonnegative : bool
        Keep every entry at 0 or above.

    Examples
    --------
    >>> target = np.array([[1.0, -2.0]])
    >>> parabola = lambda P: (float(np.sum((P - target) ** 2)), 2 * (P - target))
    >>> descend(parabola, np.zeros((1, 2)), steps=20).round(6)
    array([[ 1., -2.]])
    >>> descend(parabola, np.zeros((1, 2)), steps=20, nonnegative=True).round(6)
    array([[1., 0.]])
    """

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
        options={"maxcor": _MEMORY, "maxiter": steps, "ftol": _TOL, "gtol": 0.0},
    )
    lowest: FloatArray = found.x.reshape(start.shape)
    return lowest
