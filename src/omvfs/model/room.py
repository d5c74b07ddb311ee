"""Arrays that become longer, with room to spare: to append a few rows costs these few.

An array with room is a part of a longer one whose rows behind it are zero. What grew from it may
write there, and takes it back if it is not to be; so whoever finds anything there takes a copy.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of this many rows at least, and by this factor, arrays are made longer than they need be.
_LEAST, _FACTOR = 64, 1.5


class _Roomy(np.ndarray[Any, Any]):
    """An array that was made to have room: others that happen to be longer are none of ours."""


def lengthened(a: NDArray[Any], length: int) -> NDArray[Any]:
    """Return an array with rows of zeros behind those that are there.

    It shares what is there with the array, as far as that has room and may be written into; else it
    is a copy with room for more.

    Parameters
    ----------
    a : array
    length : int
        At least that of the array.

    Examples
    --------
    >>> longer = lengthened(np.ones((2, 1)), 3)
    >>> longer.tolist(), np.shares_memory(longer, lengthened(longer, 4))
    ([[1.0], [1.0], [0.0]], True)
    """
    n = len(a)
    if length < n:
        raise ValueError(f"Got {length:,} columns; expected at least the {n:,} so far.")
    if length == n:
        return a
    whole = _whole(a)
    if whole is not None and len(whole) >= length and not whole[n:length].any():
        return whole[:length].view(np.ndarray)
    longer = _Roomy((max(_LEAST, int(_FACTOR * length)), *a.shape[1:]), a.dtype)
    longer[:n], longer[n:] = a, 0
    return longer[:length].view(np.ndarray)


def _whole(a: NDArray[Any]) -> NDArray[Any] | None:
    """Return the longer array that an array is the beginning of, None if it has no room."""
    whole: Any = a.base
    if not a.flags.writeable or not isinstance(whole, _Roomy):
        return None
    while isinstance(whole.base, _Roomy):
        whole = whole.base
    same_start = whole.ctypes.data == a.ctypes.data
    alike = whole.dtype == a.dtype and whole.shape[1:] == a.shape[1:] and a.flags.c_contiguous
    return whole.view(np.ndarray) if same_start and alike else None
