"""From what is given to the blocks of a batch, what they are called, and what their rows are."""

from typing import Any, NamedTuple

import numpy as np

from omvfs.data.blocks import Block, read_block, take_columns
from omvfs.data.collections import fitting, named_blocks
from omvfs.data.containers import Names, modalities_of
from omvfs.data.lacking import BoolArray, spread
from omvfs.data.rows import aligned
from omvfs.data.split import Columns, Remainder, columns_by_view, own_names


class Read(NamedTuple):
    """What was read of a batch.

    Attributes
    ----------
    blocks : dict of str to Block
    feature_names : dict of str to (ndarray of str objects, or None)
    index : object or None
        Labels of the rows.
    present : dict of str to bool array
        By view that rows lack, which rows have it.
    by_name : frozenset of str
        Views whose rows are mappings.
    """

    blocks: dict[str, Block]
    feature_names: dict[str, Names | None]
    index: Any
    present: dict[str, BoolArray]
    by_name: frozenset[str] = frozenset()


def read_blocks(given: Any, index: Any = None) -> Read:
    """Read a collection of blocks, each a view, and put their rows in one order.

    Parameters
    ----------
    given : mapping of str to 2-D block, sequence of 2-D blocks, or MuData
    index : object or None
        Labels of the rows, where these are in one order already.

    Examples
    --------
    >>> import pandas as pd
    >>> a, b = pd.DataFrame({"x": [1, 2]}, ["i", "j"]), pd.DataFrame({"y": [4, 3]}, ["j", "i"])
    >>> read_blocks([a, b]).blocks["view_1"].tolist()
    [[3.0], [4.0]]
    """
    read = {name: read_block(X, name) for name, X in named_blocks(given).items()}
    rows = {name: labels.index for name, (_, labels) in read.items()}
    blocks = {name: block for name, (block, _) in read.items()}
    present = {name: own.present for name, (_, own) in read.items() if own.present is not None}
    by_name = frozenset(name for name, (_, own) in read.items() if own.by_name)
    if modalities_of(given) is not None:
        # The order of the whole goes first; cells may lack a modality.
        whole = given.obs_names
        for name, own in rows.items():
            # Rows of other labels are for others to tell of.
            if len(own) < len(whole) and whole.is_unique and own.isin(whole).all():
                blocks[name], present[name] = _among(blocks[name], own, whole)
                rows[name] = whole
        rows = {"MuData": whole, **rows}
    if index is None:
        blocks, index = aligned(blocks, rows)
    blocks = fitting(blocks, by_name)
    n_rows = next(iter(blocks.values())).shape[0]
    if index is not None and len(index) != n_rows:
        raise ValueError(f"Got an index of {len(index):,} labels for {n_rows:,} rows.")
    names = {name: each.names for name, (_, each) in read.items()}
    return Read(blocks, names, index, present, by_name)


def _among(block: Block, own: Any, whole: Any) -> tuple[Block, BoolArray]:
    """Return rows in the places that they have among all, and which of these they are."""
    places = whole.get_indexer(own)
    has = np.zeros(len(whole), bool)
    has[places] = True
    return spread(block, places, len(whole)), has


def read_one(X: Any, views: Columns | None, remainder: Remainder = "error") -> Read:
    """Read one 2-D X, and split it into views.

    Examples
    --------
    >>> read_one([[1, 2, 3]], [2, 1]).blocks
    {'view_0': array([[1., 2.]]), 'view_1': array([[3.]])}
    """
    block, (names, _, rows, _, _) = read_block(X)
    _, index = aligned({}, {"X": rows})
    columns = columns_by_view(views, X, block.shape[1], remainder)
    if columns is None:
        return Read({"X": block}, {"X": names}, index, {})
    blocks = {view: take_columns(block, key) for view, key in columns.items()}
    if names is None:
        return Read(blocks, dict.fromkeys(columns), index, {})
    own: dict[str, Names | None] = {
        view: own_names(view, names[key]) for view, key in columns.items()
    }
    return Read(blocks, own, index, {})
