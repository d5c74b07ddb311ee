"""Fits on Dask: one part a partition or file, learned from where it is; only states travel."""

import os
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed

from omvfs.data.collections import has_rows
from omvfs.data.schema import listed
from omvfs.distributed import steps
from omvfs.distributed.files import common_schema, fit_file, part_of, parts_of, schema_of
from omvfs.distributed.parked import Parked
from omvfs.formats import Source
from omvfs.omvfs import OMVFS
from omvfs.parts import Plan
from omvfs.selection import Selection

_EXPECTED = (
    "expected a dask array or dask dataframe, a dict of them by view, or a list of delayed chunks, "
    "of paths or of sources"
)


def fit(
    selector: OMVFS,
    data: Any,
    client: Any = None,
    *,
    order: bool = False,
) -> OMVFS:
    """Return an estimator that has learned from all rows of data that Dask holds.

    Each partition, chunk or file is a part, learned from by itself on a worker; the parts are then
    merged, also on the workers, in a tree. It is the same, to the bit, as `omvfs.merge` of the
    parts, whatever the number of workers and whoever does what.

    Parameters
    ----------
    selector : OMVFS
        With the parameters to learn by; it is not changed.
    data : dask array, dask dataframe, mapping of str to either, or list
        A 2-D array in chunks of rows, dense or CSR; a frame, which the parameter `views` splits
        into views; arrays or frames by view, of the same rows in the same partitions; a list of
        delayed chunks, each anything that `as_views` accepts; or a list of paths (a tuple for files
        side by side) or of sources, which workers open. Partitions may be of any sizes, or empty.
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
    copy, engine = steps.worker_copy(selector), _Engine(client)
    names, promises = _promised(copy, data, engine)
    states = engine.kept(promises, names)
    found = engine.worked_out([delayed(_brief)(state) for state in states], names)
    there = [i for i, brief in enumerate(found) if brief is not None]
    if not there:
        raise ValueError("Got no rows; expected some in at least one part.")
    states, names = [states[i] for i in there], [names[i] for i in there]
    plan = Plan.of((found[i] for i in there), names, order)
    if len(states) == 1:
        return steps.model_of(selector, engine.worked_out(states, names)[0].read())
    (merged,) = engine.worked_out([_merged(plan, states)], ["what all parts have learned"])
    return steps.model_of(selector, merged)


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
    width = len(chosen.get_feature_names_out())
    if isinstance(data, da.Array):
        _check_rows_only(data, "X")
        meta = _columns_of(data._meta[:, :0], chosen)
        return data.map_blocks(_columns_of, chosen, chunks=(data.chunks[0], (width,)), meta=meta)
    if _is_frame(data):
        made = _frame_of(data._meta, chosen)
        return data.map_partitions(_frame_of, chosen, meta=made)
    if isinstance(data, Mapping) and all(isinstance(X, da.Array) for X in data.values()):
        _blocks_by_view(data)
        given = [
            each for i, X in enumerate(data.values()) for each in (X, ("row", f"features {i}"))
        ]
        return da.blockwise(
            _columns_of_views,
            ("row", "selected"),
            *given,
            new_axes={"selected": width},
            views=tuple(data),
            chosen=chosen,
            concatenate=True,
            align_arrays=False,
            meta=_columns_of_views(
                *(X._meta for X in data.values()), views=tuple(data), chosen=chosen
            ),
        )
    if isinstance(data, list) and data and all(isinstance(each, Delayed) for each in data):
        return [delayed(_columns_of)(each, chosen) for each in data]
    raise TypeError(f"Got {_called(data)}; {_EXPECTED.replace(', of paths or of sources', '')}.")


class _Engine:
    """Runs promises on a client, or on what Dask runs them by default."""

    def __init__(self, client: Any) -> None:
        self._client = client if client is not None else _active_client()

    def kept(self, promises: Sequence[Any], names: Sequence[str]) -> list[Any]:
        """Work out promises, and leave what comes of them where it is."""
        if self._client is None:
            return list(dask.persist(*promises))
        from distributed import futures_of
        from omvfs.distributed.watching import check_alive

        check_alive(self._client)
        kept = list(self._client.persist(list(promises)))
        self._wait([futures_of(each)[0] for each in kept], names)
        return kept

    def worked_out(self, promises: Sequence[Any], names: Sequence[str]) -> list[Any]:
        """Return what promises come to."""
        if self._client is None:
            return list(dask.compute(*promises))
        from omvfs.distributed.watching import check_alive, result_of

        check_alive(self._client)
        futures = list(self._client.compute(list(promises)))
        self._wait(futures, names)
        return [result_of(*each) for each in zip(futures, names, strict=True)]

    def _wait(self, futures: Sequence[Any], names: Sequence[str]) -> None:
        """Wait until all is done, or for the first that fails."""
        from omvfs.distributed.watching import done, result_of

        called = dict(zip(futures, names, strict=True))
        for future in done(self._client, called):
            if future.status == "error":
                result_of(future, called[future])


def _active_client() -> Any:
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _promised(selector: OMVFS, data: Any, engine: _Engine) -> tuple[list[str], list[Any]]:
    """Return what parts are called, and the promises of what is learned from them."""
    if isinstance(data, str | os.PathLike):
        files = parts_of([data])
    elif isinstance(data, list) and data and all(map(_is_file, data)):
        files = [part_of(each) for each in data]
    else:
        names, chunks = _chunks(data)
        fits = delayed(_fit_part, pure=False)
        # Keys by which a part is known in what the cluster says.
        own = uuid4().hex[:8]
        pairs = enumerate(zip(names, chunks, strict=True))
        return names, [
            fits(selector, [chunk], name, dask_key_name=f"omvfs-part-{i}-{own}")
            for i, (name, chunk) in pairs
        ]
    names = [part.name for part in files]
    found = engine.worked_out([delayed(schema_of, pure=False)(part) for part in files], names)
    schema = delayed(common_schema(found), pure=False)
    fits = delayed(_fit_file, pure=False)
    return names, [fits(part, selector, schema) for part in files]


def _chunks(data: Any) -> tuple[list[str], list[Any]]:
    """Return the chunks of what Dask holds, and what they are called."""
    if isinstance(data, da.Array) or _is_frame(data):
        blocks = _blocks(data, "X")
    elif isinstance(data, Mapping) and data:
        by_view = _blocks_by_view(data)
        blocks = [
            dict(zip(by_view, row, strict=True)) for row in zip(*by_view.values(), strict=True)
        ]
    elif isinstance(data, Delayed):
        blocks = [data]
    elif isinstance(data, list | tuple) and data and all(isinstance(X, Delayed) for X in data):
        blocks = list(data)
    else:
        raise TypeError(f"Got {_called(data)}; {_EXPECTED}.")
    return [f"partition {i}" for i in range(len(blocks))], blocks


def _blocks_by_view(data: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the blocks of every view, which must be of the same rows."""
    if odd := [
        view for view, X in data.items() if not isinstance(X, da.Array) and not _is_frame(X)
    ]:
        raise TypeError(
            f"View {odd[0]!r} is {_called(data[odd[0]])}; expected a dask array or dask dataframe."
        )
    by_view = {view: _blocks(X, view) for view, X in data.items()}
    first = next(iter(data))
    for view, blocks in by_view.items():
        rows, expected = (getattr(data[each], "chunks", ((),))[0] for each in (view, first))
        known = not any(map(np.isnan, (*rows, *expected))) and rows and expected
        if len(blocks) != len(by_view[first]) or (known and rows != expected):
            raise ValueError(
                f"View {view!r} has its rows in {len(blocks):,} chunks of other sizes than view "
                f"{first!r}, which has {len(by_view[first]):,}. Give all views the same: "
                f"X[{view!r}].rechunk({{0: X[{first!r}].chunks[0]}})."
            )
    return by_view


def _blocks(data: Any, view: str) -> list[Any]:
    if _is_frame(data):
        return list(data.to_delayed())
    _check_rows_only(data, view)
    return list(data.to_delayed().ravel())


def _check_rows_only(data: Any, view: str) -> None:
    """Refuse an array whose rows are not whole."""
    if data.ndim != 2:
        raise ValueError(f"View {view!r} is of shape {data.shape}; expected rows and columns.")
    if (n := data.numblocks[1]) != 1:
        raise ValueError(
            f"View {view!r} is cut into {n:,} chunks along its features; expected whole rows in "
            "every chunk. Rechunk it: X.rechunk({0: 'auto', 1: -1})."
        )


def _merged(plan: Plan, states: Sequence[Any]) -> Any:
    """Return the promise of what parts have learned together."""
    # Sent once, not with every task.
    shared, order = delayed(plan, pure=False), plan.order
    add = delayed(steps.added)
    samples = [delayed(_sample)(shared, i, states[i]) for i in order]
    known = delayed(_known)(shared, states[plan.lead])
    common = delayed(steps.common_of)(shared, steps.in_levels(samples, add), known)
    sums = [delayed(_sums)(shared, i, states[i], common) for i in order]
    total = steps.in_levels(sums, add)
    return delayed(_whole)(shared, common, total, states[0])


# The steps, of states that wait in files.


def _fit_part(*given: Any) -> Parked | None:
    state = steps.fit_part(*given)
    return None if state is None else Parked(state)


def _fit_file(*given: Any) -> Parked | None:
    state = fit_file(*given)
    return None if state is None else Parked(state)


def _brief(state: Parked | None) -> Any:
    return None if state is None else steps.brief_of(state.read())


def _sample(plan: Plan, i: int, state: Parked) -> Any:
    return steps.sample_of(plan, i, state.read())


def _known(plan: Plan, state: Parked) -> Any:
    return steps.known_of(plan, state.read())


def _sums(plan: Plan, i: int, state: Parked, common: Any) -> Any:
    return steps.sums_of(plan, i, state.read(), common)


def _whole(plan: Plan, common: Any, total: Any, state: Parked) -> steps.PartState:
    return steps.merged_of(plan, common, total, state.read())


def _columns_of(X: Any, chosen: Selection) -> Any:
    """Return the selected features of some rows, or of none."""
    if has_rows(X):
        return chosen.transform(X)
    width = len(chosen.get_feature_names_out())
    dtype = X.dtype if getattr(X, "dtype", None) == np.float32 else np.float64
    return type(X)((0, width), dtype=dtype) if hasattr(X, "tocsr") else np.empty((0, width), dtype)


def _columns_of_views(*blocks: Any, views: tuple[str, ...], chosen: Selection) -> Any:
    if all(map(has_rows, blocks)):
        return chosen.transform(dict(zip(views, blocks, strict=True)))
    sparse = [X for X in blocks if hasattr(X, "tocsr")]
    return _columns_of((sparse or blocks)[0][:0], chosen)


def _frame_of(frame: Any, chosen: Selection) -> Any:
    columns = chosen.get_feature_names_out()
    made = _columns_of(frame, chosen)
    return type(frame)(made, index=frame.index, columns=columns)


def _is_frame(data: Any) -> bool:
    return (
        dask.is_dask_collection(data)
        and hasattr(data, "map_partitions")
        and hasattr(data, "columns")
    )


def _is_file(each: Any) -> bool:
    if isinstance(each, tuple):
        return bool(each) and all(isinstance(one, str | os.PathLike) for one in each)
    return isinstance(each, str | os.PathLike | Source)


def _called(data: Any) -> str:
    if isinstance(data, list | tuple | Mapping):
        held = data.values() if isinstance(data, Mapping) else data
        return f"{type(data).__name__} of {listed(sorted({type(each).__name__ for each in held}))}"
    return type(data).__name__
