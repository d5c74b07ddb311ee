"""Named features of a space without end, put into a fixed number of columns by a hash."""

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.views import Block, Views

# Columns are numbered by 32 bits at most, and of a few there is no telling anything.
_FEWEST_BITS, _MOST_BITS = 4, 28
_HASH = re.compile(r"hash:([1-9][0-9]*)")


def hash_bits(step: str) -> int | None:
    """Return into how many columns, as a power of two, a step hashes; None if it does not.

    Examples
    --------
    >>> hash_bits("hash:20"), hash_bits("l2"), hash_bits("hash:99")
    (20, None, None)
    """
    found = _HASH.fullmatch(step)
    if found is None or not _FEWEST_BITS <= int(found[1]) <= _MOST_BITS:
        return None
    return int(found[1])


def buckets(names: Sequence[str], bits: int) -> NDArray[np.intp]:
    """Return the column of each name: crc32 of its UTF-8, its last bits.

    The same on every machine, and in every version of Python.

    Examples
    --------
    >>> buckets(["cat", "dog", "cat"], 20)
    array([934824, 801149, 934824])
    """
    # Names of files may hold what is no UTF-8.
    codes = (crc32(name.encode("utf-8", "surrogatepass")) for name in names)
    return np.fromiter(codes, np.intp, len(names)) & ((1 << bits) - 1)


def hashed(X: Block, names: Sequence[str], bits: int) -> Block:
    """Return rows with every feature in the column of its name; those of one column are added.

    Parameters
    ----------
    X : Block
    names : sequence of str
        Of its columns.
    bits : int
        There are 2**bits columns then.

    Examples
    --------
    >>> hashed(np.array([[1.0, 0.0, 2.0]]), ["cat", "dog", "cow"], 4).nnz
    2
    """
    rows = sp.csr_array(X)
    places = buckets(names, bits).astype(np.int32)
    parts = rows.data.copy(), places[rows.indices], rows.indptr.copy()
    made = sp.csr_array(parts, shape=(X.shape[0], 1 << bits))
    made.sum_duplicates()
    return made


def hashed_views(views: Views, bits: Sequence[int | None]) -> Views:
    """Return views, some of them hashed.

    Parameters
    ----------
    views : Views
    bits : sequence of (int, or None)
        Of each view by how many; None for one that stays as it is.
    """
    made = {}
    for (view, X), own in zip(views.blocks.items(), bits, strict=True):
        names = views.feature_names[view]
        if own is None:
            made[view] = X
        elif names is not None:
            made[view] = hashed(X, names.tolist(), own)
        elif X.shape[1] == 1 << own:
            made[view] = X if sp.issparse(X) else sp.csr_array(X)
        else:
            raise ValueError(
                f"View {view!r} has {X.shape[1]:,} features without names; hash:{own} goes by "
                "names. Give it as a data frame, as rows by name, or as Views(..., "
                "feature_names=...)."
            )
    return views.with_blocks(made, [v for v, own in zip(views.names, bits, strict=True) if own])
