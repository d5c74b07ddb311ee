"""Names of features as arrays of plain numbers, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A name may be no text: half a surrogate pair is kept as it is.
_PAIRS = "surrogatepass"


def pack_names(name: str, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return texts as bytes and where each ends.

    Examples
    --------
    >>> packed = pack_names("words", ["ant", "bee"])
    >>> packed["words/ends"], unpack_names(*packed.values(), 2)
    (array([3, 6]), ('ant', 'bee'))
    """
    encoded = [each.encode("utf-8", _PAIRS) for each in names]
    ends = np.cumsum([len(each) for each in encoded], dtype=np.int64)
    return {name: np.frombuffer(b"".join(encoded), np.uint8), f"{name}/ends": ends}


def unpack_names(content: NDArray[Any], ends: NDArray[Any], n: int) -> tuple[str, ...]:
    """Return n texts from their bytes and where each ends."""
    if content.dtype != np.uint8 or ends.dtype != np.int64 or ends.shape != (n,):
        raise ValueError("names of features are of the wrong kind")
    starts = np.concatenate([[0], ends[:-1]])
    if (starts > ends).any() or starts[0] < 0 or ends[-1] != content.size:
        raise ValueError("names of features are cut off")
    text = content.tobytes()
    pieces = zip(starts.tolist(), ends.tolist(), strict=True)
    return tuple(text[start:end].decode("utf-8", _PAIRS) for start, end in pieces)
