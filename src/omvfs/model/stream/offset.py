"""By how much the columns are raised so that no value is negative."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Block
from omvfs.model.presence import Presence, who_has


def raise_rows(
    X: Sequence[Block], delta: Sequence[NDArray[np.float64]], present: Presence = None
) -> list[Block]:
    """Return rows with their columns raised; a sparse view that is raised becomes dense.

    Rows that lack a view stay zero there.

    Examples
    --------
    >>> raise_rows([np.array([[-1.0, 2.0]])], [np.array([1.0, 0.0])])
    [array([[0., 2.]])]
    """
    raised = []
    for v, (X_v, d) in enumerate(zip(X, delta, strict=True)):
        if d.any():
            X_v = (X_v.toarray() if sp.issparse(X_v) else X_v) + d.astype(X_v.dtype)
            if present is not None and who_has(present, v) is not None:
                X_v[~present[:, v]] = 0
        raised.append(X_v)
    return raised


def raise_to(X: Block, raised: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much the columns of a view must be raised, if they are raised so far already.

    Of a sparse view all columns by as much as its lowest value asks for: it cannot be raised.

    Examples
    --------
    >>> raise_to(np.array([[-1.0, 2.0]]), np.array([0.5, 0.5]))
    array([1. , 0.5])
    """
    if sp.issparse(X):
        lowest = np.minimum(np.zeros(len(raised)), X.min())
    else:
        lowest = X.min(axis=0).astype(np.float64)
    needed: NDArray[np.float64] = np.maximum(raised, -lowest)
    return needed
