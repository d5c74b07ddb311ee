"""Digests by which parts of a stream are known, whoever learned from them."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Block
from omvfs.model.presence import Presence
from omvfs.model.state import State

# Bytes of a digest.
KEY_SIZE = 16


def digest(arrays: Iterable[Any]) -> bytes:
    """Return a digest of numbers, in whatever precision and byte order a machine has them.

    Parameters
    ----------
    arrays : iterable of array or number, or None, which is passed over

    Examples
    --------
    >>> digest([np.array([1, 2])]) == digest([np.array([1, 2], np.int32), None])
    True
    """
    found = hashlib.blake2b(digest_size=KEY_SIZE)
    for array in arrays:
        if array is not None:
            values = np.asarray(array)
            kind = "<f8" if values.dtype.kind == "f" else "<i8"
            found.update(np.ascontiguousarray(values, kind).data)
    return found.digest()


def key_of_rows(state: State) -> bytes:
    """Return a digest of the rows that a state was learned from: of their number and a sample.

    Rows are kept as they came, or as they were prepared, and drawn by whole numbers: they are the
    same on every machine that prepares them alike, where sums round otherwise.
    """
    held: Sequence[Sequence[Block]] = [state.reservoir.blocks]
    present: Sequence[Presence] = [state.reservoir.present]
    if not len(state.reservoir):
        held, present = state.window.chunks, state.window.presences
    blocks = [X_v for X in held for X_v in X]
    arrays = ([X.data, X.indices, X.indptr] if sp.issparse(X) else [X] for X in blocks)
    rows = [a for each in arrays for a in each]
    return digest([state.statistics.n_rows, *rows, *present])
