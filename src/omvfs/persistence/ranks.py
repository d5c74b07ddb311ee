"""The best features and the clusters of rows along the stream as arrays, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.data.schema import Schema
from omvfs.model.stream.snapshots import CLUSTERS, MOST, Snapshot, Snapshots, n_top


def pack_snapshots(arrays: dict[str, NDArray[Any]], snapshots: Snapshots) -> None:
    """Add snapshots to the arrays, if there are any.

    Parameters
    ----------
    arrays : dict of str to array
    snapshots : Snapshots
    """
    if len(snapshots.placed):
        arrays["snapshots/placed"] = snapshots.placed
    if not snapshots.taken:
        return
    arrays["snapshots/top"] = np.stack([each.top for each in snapshots.taken])
    arrays["snapshots/n_rows"] = np.array([each.n_rows for each in snapshots.taken], np.int64)
    arrays["snapshots/gap"] = np.array([snapshots.gap], np.int64)
    shares = [each.shares for each in snapshots.taken]
    arrays["snapshots/shares"] = np.concatenate(shares)
    arrays["snapshots/clusters"] = np.array(list(map(len, shares)), np.int64)


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
    placed = arrays.get("snapshots/placed", np.zeros(0, np.int64))
    if placed.dtype != np.int64 or placed.ndim != 1 or len(placed) > CLUSTERS:
        raise ValueError(f"snapshots count {placed.dtype} of shape {placed.shape} by cluster")
    # One by one, as the sum of what is in a file may be any number.
    if not all(0 <= n <= n_rows for n in placed.tolist()) or sum(placed.tolist()) > n_rows:
        raise ValueError("snapshots count more rows in clusters than there are")
    if "snapshots/top" not in arrays:
        return Snapshots(placed=placed)
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
    shares = _unpack_shares(arrays, len(at))
    taken = (Snapshot(int(n), *own) for n, *own in zip(at, top, shares, strict=True))
    return Snapshots(tuple(taken), int(gap[0]), placed)


def _unpack_shares(arrays: Mapping[str, NDArray[Any]], n: int) -> list[NDArray[np.float32]]:
    """Return the shares of clusters of each of n snapshots; empty where they were not noted."""
    if "snapshots/shares" not in arrays:
        return [np.zeros(0, np.float32)] * n
    shares, sizes = arrays["snapshots/shares"], arrays["snapshots/clusters"]
    if shares.dtype != np.float32 or shares.ndim != 1:
        raise ValueError(f"shares of the snapshots are {shares.dtype} of shape {shares.shape}")
    if (
        sizes.dtype != np.int64
        or sizes.shape != (n,)
        or not ((sizes >= 0) & (sizes <= CLUSTERS)).all()
    ):
        raise ValueError("the snapshots are of other numbers of clusters than there may be")
    if sizes.sum() != len(shares):
        raise ValueError(f"the snapshots have {len(shares):,} shares of {sizes.sum():,} clusters")
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError("a snapshot has shares that are none")
    return np.split(shares, np.cumsum(sizes)[:-1])
