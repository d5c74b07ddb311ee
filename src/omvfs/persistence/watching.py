"""The watch over a stream and the changes that it noticed, as arrays and values, and back."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from omvfs.data.schema import Schema
from omvfs.fitted import EVENTS
from omvfs.model.settings import Settings
from omvfs.model.stream.change import BUCKET, SPANS
from omvfs.model.stream.event import DriftEvent
from omvfs.model.stream.watch import LEVELS, Kind, Watch, Yardstick

Arrays = dict[str, NDArray[Any]]

_NUMBERS = "since", "until", "n_tests"
# Up to here floats count one by one.
_MOST = 1 << 53


def pack_events(events: tuple[DriftEvent, ...]) -> list[dict[str, Any]]:
    """Return events as values that JSON can hold; a threshold that is none is null.

    Parameters
    ----------
    events : tuple of DriftEvent
    """
    packed = []
    for event in events:
        values = asdict(event)
        if math.isnan(event.threshold):
            values["threshold"] = None
        for name in ("came", "went"):
            values[name] = {view: list(own) for view, own in values[name].items()}
        packed.append(values)
    return packed


def unpack_events(
    packed: Any, schema: Schema, n_rows: int, n_chunks: int
) -> tuple[DriftEvent, ...]:
    """Return events; ValueError if they cannot be of such a stream.

    Parameters
    ----------
    packed : object
        As from `pack_events`, but from anywhere.
    schema : Schema
    n_rows, n_chunks : int
        Of the stream.
    """
    if type(packed) is not list or len(packed) > EVENTS:
        raise ValueError(f"it tells of changes as {type(packed).__name__}, or of too many")
    events: list[DriftEvent] = []
    for values in packed:
        threshold = math.nan if values["threshold"] is None else values["threshold"]
        named = {name: _features(values[name], schema) for name in ("came", "went")}
        event = DriftEvent(**values | named | {"threshold": threshold})
        places = event.row, event.chunk, event.since
        if not all(type(n) is int for n in places) or event.kind not in get_args(Kind):
            raise ValueError(f"a change of the stream is {values!r}")
        if not (0 <= event.since <= event.row <= n_rows and 0 <= event.chunk < n_chunks):
            raise ValueError(f"a change was noticed at row {event.row:,} of {n_rows:,}")
        if type(threshold) is not float or not (threshold != threshold or threshold > 0):
            raise ValueError(f"the threshold of a change is {threshold!r}")
        for number, most in ((event.statistic, math.inf), (event.distance, 1.0)):
            if type(number) is not float or not (0 <= number <= most) or number == math.inf:
                raise ValueError(f"a change is of size {number!r}")
        if events and not events[-1].chunk < event.chunk:
            raise ValueError("the changes of the stream are not in order")
        events.append(event)
    return tuple(events)


def _features(found: Any, schema: Schema) -> dict[str, tuple[Any, ...]]:
    if type(found) is not dict or found.keys() != set(schema.names):
        raise ValueError("features that came or went are of other views")
    for view, width in zip(schema.names, schema.widths, strict=True):
        for feature in found[view]:
            if type(feature) is not str and (type(feature) is not int or not 0 <= feature < width):
                raise ValueError(f"a feature that came or went is {feature!r}")
    return {view: tuple(found[view]) for view in schema.names}


def pack_watch(arrays: Arrays, watch: Watch | None) -> dict[str, Any] | None:
    """Add a watch to the arrays, and return what else there is of it; None if there is none.

    Parameters
    ----------
    arrays : dict of str to array
    watch : Watch or None
    """
    if watch is None:
        return None
    meta: dict[str, Any] = {name: getattr(watch, name) for name in _NUMBERS}
    meta["measures"] = watch.yardstick is not None
    if watch.yardstick is None:
        return meta
    yardstick = watch.yardstick
    arrays["watch/sq_norms"] = yardstick.V_sq_norms
    for name in ("open", "recent", "before"):
        arrays[f"watch/{name}"] = getattr(watch, name)
    if watch.levels is None:
        arrays["watch/measured"] = watch.measured
    else:
        arrays["watch/levels"] = watch.levels
    for v, (V_v, factor) in enumerate(zip(yardstick.V, yardstick.factors, strict=True)):
        arrays[f"watch/V/{v}"] = V_v
        arrays[f"watch/factors/{v}"] = factor
        if yardstick.raised is not None:
            arrays[f"watch/raised/{v}"] = yardstick.raised[v]
    return meta


def unpack_watch(
    arrays: Mapping[str, NDArray[Any]],
    meta: Any,
    schema: Schema,
    settings: Settings,
    dtype: np.dtype[Any],
    n_rows: int,
) -> Watch | None:
    """Return a watch; ValueError if it does not fit the rest.

    Parameters
    ----------
    arrays, meta
        As from `pack_watch`, but from anywhere.
    schema : Schema
    settings : Settings
    dtype : dtype
        Of what was learned.
    n_rows : int
        Rows seen.
    """
    if (meta is None) == settings.detect_drift:
        raise ValueError("it is watched for changes, or not, otherwise than it was asked to be")
    if meta is None:
        return None
    numbers = {name: meta[name] for name in _NUMBERS}
    if not all(type(n) is int and 0 <= n < _MOST for n in numbers.values()):
        raise ValueError(f"it is watched for changes by {numbers!r}")
    if numbers["since"] > n_rows or numbers["n_tests"] > n_rows // BUCKET:
        raise ValueError(f"it was watched longer than it is: {numbers!r}")
    watch = Watch(settings.K, len(schema.names), **numbers)
    if not meta["measures"]:
        return watch
    reader = _Pieces(arrays, settings.K, schema.widths)
    watch = watch.by(reader.yardstick(dtype))
    cells = sum(watch.widths)
    read: dict[str, NDArray[Any]] = {
        "open": reader.counts("open", (cells,)),
        "recent": reader.counts("recent", (len(arrays["watch/recent"]), cells)),
        "before": reader.counts("before", (cells,)),
    }
    if "watch/levels" in arrays:
        read["levels"] = reader.floats("levels", (settings.K + 1, LEVELS - 1))
        if (read["levels"] > 1).any() or (np.diff(read["levels"]) < 0).any():
            raise ValueError("the levels of what is explained are none")
    else:
        read["measured"] = _measured(reader, len(arrays["watch/measured"]), settings.K)
    _check_counts(watch, read, n_rows)
    for name, value in read.items():
        object.__setattr__(watch, name, value)
    return watch


def _measured(reader: "_Pieces", n: int, n_clusters: int) -> NDArray[np.float64]:
    measured = reader.floats("measured", (n, 2))
    labels, explained = measured.T
    if (labels > n_clusters).any() or (labels != np.floor(labels)).any() or (explained > 1).any():
        raise ValueError("the rows that levels are laid out by are in no clusters")
    return measured


def _check_counts(watch: Watch, read: Mapping[str, NDArray[Any]], n_rows: int) -> None:
    """Refuse counts that rows cannot have come to."""
    starts = np.cumsum([0, *watch.widths[:-1]])
    buckets = np.vstack([read["open"], read["before"], read["recent"]])
    totals = np.add.reduceat(buckets, starts, axis=1)
    if (totals != totals[:, :1]).any() or totals[:, 0].sum() > n_rows:
        raise ValueError("rows are counted otherwise by one variable than by another")
    sizes = totals[:, 0]
    if sizes[0] >= BUCKET or sizes[1] % BUCKET or (sizes[2:] != BUCKET).any():
        raise ValueError(f"rows are counted in buckets of {sizes.tolist()}")
    if len(read["recent"]) > SPANS[-1] or (sizes[1] and len(read["recent"]) < SPANS[-1]):
        raise ValueError(f"the last rows are {len(read['recent'])} buckets")


class _Pieces:
    """Takes pieces of a watch out of the arrays, each checked."""

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], n_clusters: int, widths: tuple[int, ...]
    ) -> None:
        self._arrays, self._K, self._widths = arrays, n_clusters, widths

    def yardstick(self, dtype: np.dtype[Any]) -> Yardstick:
        V, factors, raised = [], [], []
        for v, D in enumerate(self._widths):
            V.append(self.floats(f"V/{v}", (D, self._K), dtype))
            n = D if len(self._arrays[f"watch/factors/{v}"]) != 1 else 1
            factors.append(self.floats(f"factors/{v}", (n,)))
            if "watch/raised/0" in self._arrays:
                raised.append(self.floats(f"raised/{v}", (D,)))
        norms = self.floats("sq_norms", (len(self._widths), self._K))
        return Yardstick(tuple(V), norms, tuple(factors), tuple(raised) if raised else None)

    def floats(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
        array = self._of(name, shape, dtype)
        if not np.isfinite(array).all() or (array < 0).any():
            raise ValueError(f"watch/{name} has values that are not finite, or below 0")
        return array

    def counts(self, name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
        array: NDArray[np.int64] = self._of(name, shape, np.int64)
        if (array < 0).any() or (array >= _MOST).any():
            raise ValueError(f"watch/{name} counts what cannot be counted")
        return array

    def _of(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        array = self._arrays[f"watch/{name}"]
        if array.shape != shape or array.dtype != np.dtype(dtype):
            raise ValueError(
                f"watch/{name} is {array.dtype} of shape {array.shape}; expected {np.dtype(dtype)} "
                f"of {shape}"
            )
        return array
