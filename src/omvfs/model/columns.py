"""Rows on some of their columns."""

import copy

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Block, IntArray


def widen_columns(block: Block, width: int) -> Block:
    """Return a block with empty columns behind its own."""
    n, own = block.shape
    if own == width:
        return block
    if not sp.issparse(block):
        return np.pad(block, ((0, 0), (0, width - own)))
    # It shares what it holds; only its shape is its own.
    wider = copy.copy(block)
    wider.resize(n, width)
    return wider


def place_columns(block: Block, places: IntArray, width: int) -> Block:
    """Return a block with its columns in certain places among others, which are empty.

    A column whose place is negative is left out.

    Examples
    --------
    >>> place_columns(np.array([[1.0, 2.0, 3.0]]), np.array([3, -1, 0]), 4)
    array([[3., 0., 0., 1.]])
    >>> place_columns(sp.csr_array([[1.0, 2.0, 3.0]]), np.array([3, -1, 0]), 4).toarray()
    array([[3., 0., 0., 1.]])
    """
    n, own = block.shape
    if own <= width and np.array_equal(places, np.arange(own)):
        return widen_columns(block, width)
    if not sp.issparse(block):
        among = np.zeros((n, width), block.dtype)
        kept = np.flatnonzero(places >= 0)
        among[:, places[kept]] = block[:, kept]
        return among
    data, indices = block.data, places.astype(np.int32)[block.indices]
    indptr = block.indptr
    if len(indices) and indices.min() < 0:
        kept = np.flatnonzero(indices >= 0)
        indptr = np.searchsorted(kept, indptr).astype(indptr.dtype)
        data, indices = data[kept], indices[kept]
    made = type(block)((data, indices, indptr), shape=(n, width))
    if not made.has_sorted_indices:
        # Of a copy: the values may be those of the block.
        made.data = made.data.copy()
        made.sort_indices()
    return made
