"""The best features along the stream as arrays, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.data.schema import Schema
from omvfs.model.stream.snapshots import MOST, Snapshot, Snapshots, n_top


def pack_snapshots(arrays: dict[str, NDArray[Any]], snapshots: Snapshots) -> None:
    """Add snapshots to the arrays, if there are any.

    Parameters
    ----------
    arrays : dict of str to array
    snapshots : Snapshots
    """
    if not snapshots.taken:
        return
    arrays["snapshots/top"] = np.stack([each.top for each in snapshots.taken])
    arrays["snapshots/n_rows"] = np.array([each.n_rows for each in snapshots.taken], np.int64)
    arrays["snapshots/gap"] = np.array([snapshots.gap], np.int64)


def unpack_snapshots(arrays: Mapping[str, NDArray[Any]], schema: Schema, n_rows: int) -> Snapshots:
    """Return snapshots; ValueError if they cannot be of such a stream.

    Parameters
    ----------
    arrays : mapping of str to array
        As from `pack_snapshots`, but from anywhere.
    schema : Schema
    n_rows : int
        Rows seen.
    """
    if "snapshots/top" not in arrays:
        return Snapshots()
    top, at, gap = (arrays[f"snapshots/{name}"] for name in ("top", "n_rows", "gap"))
    n_views = len(schema.names)
    if top.dtype != np.int32 or top.shape != (len(at), n_views, n_top(n_views)):
        raise ValueError(f"snapshots of the ranks are {top.dtype} of shape {top.shape}")
    if at.dtype != np.int64 or at.ndim != 1 or not 1 <= len(at) < MOST:
        raise ValueError(f"there are {len(at):,} snapshots of the ranks")
    if at[0] < 1 or at[-1] > n_rows or (at[1:] <= at[:-1]).any():
        raise ValueError("the snapshots of the ranks are not in the order of their rows")
    if gap.dtype != np.int64 or gap.shape != (1,) or not 0 <= gap[0] <= n_rows:
        raise ValueError(f"the snapshots of the ranks are {gap.tolist()} rows apart")
    for own, width in zip(top.swapaxes(0, 1), schema.widths, strict=True):
        if own.min() < -1 or own.max() >= width:
            raise ValueError("a snapshot of the ranks has features that are none")
    taken = (Snapshot(int(n), own) for n, own in zip(at, top, strict=True))
    return Snapshots(tuple(taken), int(gap[0]))
