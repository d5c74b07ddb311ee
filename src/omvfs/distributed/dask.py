"""Fits on Dask: one part a partition or file, learned from where it is; only states travel."""

import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from distributed.comm import CommClosedError

from distributed import Client, KilledWorker, LocalCluster, default_client
from omvfs.data.schema import listed
from omvfs.data.views import has_rows
from omvfs.distributed import steps
from omvfs.distributed.shards import (
    Compute,
    FilePart,
    Kept,
    part_of,
    parts_of,
    run_parts,
    tried,
)
from omvfs.distributed.steps import ClusterError
from omvfs.omvfs import OMVFS
from omvfs.selection import Selection

# Dask has its workers give memory back to the system at once. Learning asks for as much again in
# the next chunk, and would take half as long again for that.
_AS_EVER = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}


@contextmanager
def local_workers(n_workers: int, **options: Any) -> Iterator[Any]:
    """Give the client of some processes of one thread each, which listen to this machine only."""
    with (
        dask.config.set(_AS_EVER),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            # No dashboard; what is served all the same is for this machine only.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, **options) as client,
    ):
        yield client


# Seconds: between looks at what is done; between questions to the scheduler; that nobody may work;
# that an answer may take.
_TICK, _LOOK, PATIENCE, _ANSWER = 0.02, 2.0, 25.0, 10.0


def result_of(future: Any, name: str) -> Any:
    """Return the result of a future that is done, or raise what went wrong by its name."""
    if future.status in ("cancelled", "lost"):
        raise _gone(future.client, name)
    try:
        return future.result(timeout=_ANSWER)
    except KilledWorker as error:
        raise ClusterError(
            f"{name}: {error.allowed_failures + 1} worker(s) died of it, the last one "
            f"{error.last_worker.address}; most often they lack memory. Give workers more of it, "
            "or less at a time: smaller parts, fewer threads a worker, a smaller batch."
        ) from error
    except CommClosedError as error:
        # It was done, and the scheduler died before the result was handed over.
        raise _gone(future.client, name) from error
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"A worker has no {error.name}: install omvfs there as here, of the same version."
        ) from error
    except TimeoutError as error:
        if future.status == "error":
            raise
        raise ClusterError(f"The cluster does not hand over {name}.") from error


def _gone(client: Any, name: str) -> ClusterError:
    return ClusterError(
        f"The scheduler{_at(client)} is gone, and with it {name}. Start it again, and begin or "
        "resume."
    )


def _some_worker_runs(client: Any) -> bool:
    if client.status != "running":
        return False
    try:
        about = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=_ANSWER)
    except (OSError, TimeoutError):
        return False
    return any(
        each.get("status", "running") == "running" or each.get("metrics", {}).get("executing")
        for each in about["workers"].values()
    )


def _at(client: Any) -> str:
    address = getattr(getattr(client, "scheduler", None), "address", "")
    return f" at {address}" if address else ""


_EXPECTED = (
    "expected a dask array or dask dataframe, a dict of them by view, or a list of delayed chunks "
    "or of paths"
)


def fit(
    selector: OMVFS,
    data: Any,
    client: Any = None,
    *,
    order: bool = False,
) -> OMVFS:
    """Return an estimator that has learned from all rows of data that Dask holds.

    Each partition, chunk or file is a part, learned from by itself on a worker. What was learned
    comes here, into a temporary folder, and is merged: the same, to the bit, as `omvfs.merge` of
    the parts, whatever the number of workers and whoever does what.

    Parameters
    ----------
    selector : OMVFS
        With the parameters to learn by; it is not changed.
    data : dask array, dask dataframe, mapping of str to either, or list
        A 2-D array in chunks of rows, dense or CSR; a frame, which the parameter `views` splits
        into views; arrays or frames by view, of the same rows in the same partitions; a list of
        delayed chunks, each anything that `as_views` accepts; or a path or list of paths (a tuple
        for files side by side), which workers open. Partitions may be of any sizes, or empty.
    client : distributed.Client, default=None
        Where to run; by default Dask's own default: the client that is active, or else threads of
        this process.
    order : bool, default=False
        Whether the parts follow each other in time.

    Returns
    -------
    OMVFS
        In memory, and of Dask no more.

    Examples
    --------
    >>> X = da.random.default_rng(0).random((90, 6), chunks=(30, 6))
    >>> model = fit(OMVFS(2, random_state=0), X)
    >>> model.n_samples_seen_
    90
    >>> transform(model, X).shape
    (90, 6)
    """
    copy = steps.worker_copy(selector)
    if client is None:
        with suppress(ValueError):
            client = default_client()
    if isinstance(data, str | os.PathLike) or (
        isinstance(data, list) and data and all(map(_is_file, data))
    ):
        parts = list(map(part_of, data)) if isinstance(data, list) else parts_of([data])
        with tempfile.TemporaryDirectory(prefix="omvfs-") as folder:
            found = run_parts(
                on_cluster(client), selector, parts, Kept(folder), order=order
            ).selector
        if found is None:
            raise ValueError("Got no rows; expected some in at least one part.")
        return found
    names, chunks = _chunks(data)
    tell = delayed(steps.settled_by, pure=False)
    first = (
        next(_computed(client, [tell(copy, [chunk])], [name]))[1]
        for name, chunk in zip(names, chunks, strict=True)
    )
    copy = steps.settled(copy, first)
    fits = delayed(steps.fit_part, pure=False)
    promises = [fits(copy, [chunk], name) for name, chunk in zip(names, chunks, strict=True)]
    return steps.merge_states(selector, _computed(client, promises, names), names, order)


def transform(selector: OMVFS | Selection, data: Any) -> Any:
    """Return the selected features of data that Dask holds, to be worked out when asked for.

    Parameters
    ----------
    selector : OMVFS or Selection
        That has learned; only which features are selected travels.
    data : dask array, dask dataframe, mapping of str to dask arrays, or list of delayed chunks

    Returns
    -------
    dask array, dask dataframe or list of delayed
        An array of an array, and of arrays by view, view after view; a frame of a frame; chunks of
        chunks.
    """
    chosen = selector if isinstance(selector, Selection) else selector.selection()
    if _is_frame(data):
        return data.map_partitions(_frame_of, chosen, meta=_frame_of(data._meta, chosen))
    arrays = data if isinstance(data, Mapping) else {"X": data}
    if arrays and all(isinstance(X, da.Array) for X in arrays.values()):
        _check_views(arrays)
        views = tuple(arrays) if arrays is data else None
        given = [
            each for i, X in enumerate(arrays.values()) for each in (X, ("row", f"columns {i}"))
        ]
        return da.blockwise(
            _columns_of,
            ("row", "selected"),
            *given,
            new_axes={"selected": len(chosen.get_feature_names_out())},
            views=views,
            chosen=chosen,
            concatenate=True,
            align_arrays=False,
            meta=_columns_of(*(X._meta for X in arrays.values()), views=views, chosen=chosen),
        )
    if isinstance(data, list) and data and all(isinstance(each, Delayed) for each in data):
        return [delayed(_columns_of)(each, chosen=chosen) for each in data]
    raise TypeError(f"Got {_called(data)}; {_EXPECTED.replace(' or of paths', '')}.")


def _computed(
    client: Any,
    promises: Sequence[Any],
    names: Sequence[str],
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, Any]]:
    """Yield the numbers of promises as these are done, with results: on a client, or in threads.

    `distributed.as_completed` would wait for ever for workers that do not come; here that is a
    `ClusterError`.
    """
    if client is None:
        yield from enumerate(dask.compute(*promises))
        return
    if client.status != "running":
        raise ClusterError(f"The scheduler{_at(client)} is gone: the client is {client.status}.")
    left = {future: i for i, future in enumerate(client.compute(list(promises)))}
    worked = asked = time.monotonic()
    try:
        while left and not should_stop():
            done = [future for future in left if future.status != "pending"]
            for future in done:
                i = left.pop(future)
                found = result_of(future, names[i])
                # What is here need not be there any more.
                future.release()
                yield i, found
            now = time.monotonic()
            if done:
                worked = now
            elif now - asked > _LOOK:
                if _some_worker_runs(client):
                    worked = now
                elif now - worked > PATIENCE:
                    raise ClusterError(
                        f"The scheduler{_at(client)} has had no running workers for "
                        f"{PATIENCE:.0f} seconds: it is gone, no worker is there, or all are "
                        "paused for lack of memory. Start workers, and resume."
                    )
                asked = time.monotonic()
            if left and not done:
                time.sleep(_TICK)
    finally:
        if left and client.status == "running":
            client.cancel(list(left))


def _chunks(data: Any) -> tuple[list[str], list[Any]]:
    """Return the chunks of what Dask holds, and what they are called."""
    if isinstance(data, Mapping) and data:
        _check_views(data)
        by_view = [_delayed_rows(X) for X in data.values()]
        blocks = [dict(zip(data, row, strict=True)) for row in zip(*by_view, strict=True)]
    elif isinstance(data, da.Array) or _is_frame(data):
        _check_views({"X": data})
        blocks = _delayed_rows(data)
    elif isinstance(data, Delayed):
        blocks = [data]
    elif isinstance(data, list | tuple) and data and all(isinstance(X, Delayed) for X in data):
        blocks = list(data)
    else:
        raise TypeError(f"Got {_called(data)}; {_EXPECTED}.")
    return [f"partition {i}" for i in range(len(blocks))], blocks


def _delayed_rows(X: Any) -> list[Any]:
    return list(X.to_delayed().ravel() if isinstance(X, da.Array) else X.to_delayed())


def _check_views(data: Mapping[str, Any]) -> None:
    """Refuse views that are not of Dask, not of whole rows, or not in the same chunks of rows."""
    first = next(iter(data))
    for view, X in data.items():
        if not isinstance(X, da.Array) and not _is_frame(X):
            raise TypeError(
                f"View {view!r} is {_called(X)}; expected a dask array or dask dataframe."
            )
        if X.ndim != 2:
            raise ValueError(f"View {view!r} is of shape {X.shape}; expected rows and columns.")
        if isinstance(X, da.Array) and X.numblocks[1] != 1:
            raise ValueError(
                f"View {view!r} is cut into {X.numblocks[1]:,} chunks along its features; expected "
                "whole rows in every chunk. Rechunk it: X.rechunk({0: 'auto', 1: -1})."
            )
        # A frame does not know how many rows its partitions have.
        rows, expected = (
            each.chunks[0] if isinstance(each, da.Array) else each.npartitions * (np.nan,)
            for each in (X, data[first])
        )
        unknown = np.isnan([*rows, *expected]).any()
        if len(rows) != len(expected) or (rows != expected and not unknown):
            raise ValueError(
                f"View {view!r} has its rows in {len(rows):,} chunks of other sizes than view "
                f"{first!r}, which has {len(expected):,}. Give all views the same: "
                f"X[{view!r}].rechunk({{0: X[{first!r}].chunks[0]}})."
            )


def _columns_of(*blocks: Any, chosen: Selection, views: tuple[str, ...] | None = None) -> Any:
    """Return the selected features of some rows, or of none: of one X, or of blocks by view."""
    if all(map(has_rows, blocks)):
        return chosen.transform(dict(zip(views, blocks, strict=True)) if views else blocks[0])
    X = next((block for block in blocks if hasattr(block, "tocsr")), blocks[0])
    shape = 0, len(chosen.get_feature_names_out())
    dtype = X.dtype if getattr(X, "dtype", None) == np.float32 else np.float64
    return type(X)(shape, dtype=dtype) if hasattr(X, "tocsr") else np.empty(shape, dtype)


def _frame_of(frame: Any, chosen: Selection) -> Any:
    made = _columns_of(frame, chosen=chosen)
    return type(frame)(made, index=frame.index, columns=chosen.get_feature_names_out())


def _is_frame(data: Any) -> bool:
    return (
        dask.is_dask_collection(data)
        and hasattr(data, "map_partitions")
        and hasattr(data, "columns")
    )


def _is_file(each: Any) -> bool:
    if isinstance(each, tuple):
        return bool(each) and all(isinstance(one, str | os.PathLike) for one in each)
    return isinstance(each, str | os.PathLike)


def _called(data: Any) -> str:
    if isinstance(data, list | tuple | Mapping):
        held = data.values() if isinstance(data, Mapping) else data
        return f"{type(data).__name__} of {listed(sorted({type(each).__name__ for each in held}))}"
    return type(data).__name__


def on_cluster(client: Any) -> Compute:
    """Return how work on parts is done by the workers of a client, or in threads without one."""

    def compute(
        work: Callable[..., Any],
        parts: Sequence[FilePart],
        given: Sequence[Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[tuple[int, Any]]:
        sent = [delayed(each, pure=False) for each in given]
        promises = [delayed(tried, pure=False)(work, part, *sent) for part in parts]
        yield from _computed(client, promises, [part.name for part in parts], should_stop)

    return compute
