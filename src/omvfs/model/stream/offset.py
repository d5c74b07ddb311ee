"""Raise columns that turn out to hold negative values, and all that was learned of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Block
from omvfs.model.state import State
from omvfs.model.stream.rows import Rows


def raise_columns(state: State, raises: list[NDArray[np.float64]]) -> State:
    """Return the state as it would be, under the same U, had every row come with raised columns.

    Exact for B and the running sums, as all are sums over rows: Σ (x + δ) u = B + δ Σ u. V is left
    as it was: the next chunk works it out anew.

    Parameters
    ----------
    state : State
        What is known; not changed.
    raises : list of array of shape (D_v,)
        By how much to raise every column, per view. Views raised anywhere must be dense.

    Returns
    -------
    State
    """
    if not any(d.any() for d in raises):
        return state
    raised = replace(state)
    n = state.count
    pairs = list(zip(state.sums, raises, strict=True))
    raised.squares = [
        q + 2 * d * s + n * d**2 for q, (s, d) in zip(state.squares, pairs, strict=True)
    ]
    raised.sums = [s + n * d for s, d in pairs]
    raised.B = [
        B_v + np.outer(d, state.weight_sums).astype(B_v.dtype)
        for B_v, d in zip(state.B, raises, strict=True)
    ]
    raised.window = replace(
        state.window,
        chunks=tuple(tuple(raise_rows(chunk, raises)) for chunk in state.window.chunks),
    )
    if state.memory.rows:
        rows = tuple(Rows.of(X_v) for X_v in raise_rows(state.memory.blocks, raises))
        raised.memory = replace(state.memory, rows=rows)
    return raised


def raise_rows(X: Sequence[Block], raises: Sequence[NDArray[np.float64]]) -> list[Block]:
    """Return rows with their columns raised; a sparse view that is raised becomes dense.

    Examples
    --------
    >>> raise_rows([np.array([[-1.0, 2.0]])], [np.array([1.0, 0.0])])
    [array([[0., 2.]])]
    """
    return [
        (X_v.toarray() if sp.issparse(X_v) else X_v) + d.astype(X_v.dtype) if d.any() else X_v
        for X_v, d in zip(X, raises, strict=True)
    ]
