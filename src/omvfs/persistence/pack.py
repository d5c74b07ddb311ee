"""What an OMVFS has learned as plain arrays and values, and back, every piece checked."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from itertools import accumulate, groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import check_values
from omvfs.data.compressed import check_compressed
from omvfs.data.schema import Schema
from omvfs.model.arrays import Block, stack
from omvfs.model.indicator import Indicator
from omvfs.model.presence import Presence, below, take
from omvfs.model.settings import AUTO, Settings
from omvfs.model.state import B_sq_norms, State
from omvfs.model.statistics import Statistics, ViewStatistics
from omvfs.model.stream.reservoir import Reservoir
from omvfs.model.stream.window import Window
from omvfs.persistence.names import pack_names, unpack_names
from omvfs.selectors.fitted import FittedState
from omvfs.selectors.keys import KEY_SIZE
from omvfs.selectors.preparation import Counted, Preparation
from omvfs.selectors.settings import resolve

Arrays = dict[str, NDArray[Any]]

# Of every view; sums and squares only if they are asked for.
_SUMS = "masses", "weight_sums", "B", "sums", "squares"
_COUNTERS = "n_rows", "n_chunks", "reclustered_at"
# Sums over the rows of a view that are a number each.
_ROW_SUMS = "decayed_n_rows", "energy", "filled_rows"
# Up to here floats count one by one.
_MOST_ROWS = 1 << 53
_SPARSE = {"csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}


def pack(fitted: FittedState) -> tuple[Arrays, dict[str, Any]]:
    """Return all that was learned: arrays by name, and the rest as values that JSON can hold.

    Parameters
    ----------
    fitted : FittedState
    """
    state, schema = fitted.state, fitted.schema
    reservoir, window, statistics = state.reservoir, state.window, state.statistics
    arrays: Arrays = {
        "B_sq_norms": state.B_sq_norms,
        "reservoir/labels": reservoir.counted.labels,
        "reservoir/weights": reservoir.counted.weights,
        "reservoir/shares": reservoir.shares,
    }
    for v, view in enumerate(statistics.views):
        held = {name: getattr(view, name) for name in _SUMS}
        arrays |= {f"{name}/{v}": a for name, a in held.items() if a is not None}
    arrays |= {f"V/{v}": part for v, part in enumerate(state.V)}
    if fitted.raised is not None:
        arrays |= {f"raised/{v}": part for v, part in enumerate(fitted.raised)}
    for v, steps in enumerate(fitted.preparation.counted):
        for i, counted in enumerate(steps):
            arrays |= {f"prepared/{v}/{i}/{name}": a for name, a in counted.items()}
    if fitted.of_parts:
        held_keys = np.frombuffer(b"".join(fitted.of_parts), np.uint8)
        arrays["of_parts"] = held_keys.reshape(-1, KEY_SIZE)
    for v, names in enumerate(schema.feature_names):
        if names is not None:
            arrays |= pack_names(f"names/{v}", names)
    kinds = [_pack_block(arrays, f"reservoir/{v}", X) for v, X in enumerate(reservoir.blocks)]
    if reservoir.present is not None:
        arrays["reservoir/present"] = reservoir.present
    # Chunks may be many, and of one row each: those of a kind below each other.
    runs = []
    held_chunks = zip(window.chunks, window.U, window.presences, strict=True)
    for r, (_, run) in enumerate(groupby(held_chunks, _kinds)):
        chunks, U, presences = zip(*run, strict=True)
        blocks = [stack(parts) for parts in zip(*chunks, strict=True)]
        window_kinds = [_pack_block(arrays, f"window/{r}/{v}", X) for v, X in enumerate(blocks)]
        arrays[f"window/{r}/U"] = np.concatenate(U)
        present = below(list(zip(presences, map(len, U), strict=True)), len(schema.names))
        if present is not None:
            arrays[f"window/{r}/present"] = present
        runs.append({"kinds": window_kinds, "sizes": [len(each) for each in U]})
    return arrays, {
        "views": list(schema.names),
        "widths": list(schema.widths),
        "named": [names is not None for names in schema.feature_names],
        "settings": asdict(fitted.settings),
        "raised": fitted.raised is not None,
        "prepare": fitted.preparation.steps,
        "reservoir": kinds,
        "window": runs,
        "rng": state.rng.bit_generator.state,
        "counters": {"n_rows": statistics.n_rows}
        | {name: getattr(state, name) for name in _COUNTERS[1:]},
        "decayed_n_rows": statistics.decayed_n_rows,
        "row_sums": [
            {name: getattr(view, name) for name in _ROW_SUMS} for view in statistics.views
        ],
    }


def unpack(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> FittedState:
    """Return what was learned; ValueError if any piece does not fit the others.

    Parameters
    ----------
    arrays, meta
        As from `pack`, but from anywhere: nothing is taken on trust.
    """
    try:
        return _Reader(arrays, meta).fitted()
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"a piece is missing or of the wrong kind: {error!r}") from error


class _Reader:
    """Takes pieces out of a checkpoint, each checked against what it must be."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
        self.arrays, self.meta = arrays, meta
        self.schema = self._schema()
        self.settings = _settings(meta["settings"], self.schema.names)
        self._paper = self.settings.solver == "paper"
        self.dtype = np.dtype(self.arrays["B/0"].dtype)
        self.K = self._n_clusters()
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"B is of dtype {self.dtype}; expected float32 or float64")

    def fitted(self) -> FittedState:
        """Return all of it."""
        widths, K = self.schema.widths, self.K
        counters = {name: self.meta["counters"][name] for name in _COUNTERS}
        for name, value in counters.items():
            if type(value) is not int or not 0 <= value < _MOST_ROWS:
                raise ValueError(f"counter {name} is {value!r}")
        n_rows = counters.pop("n_rows")
        if not 1 <= counters["n_chunks"] <= n_rows >= counters["reclustered_at"]:
            raise ValueError(f"of {n_rows:,} rows the counters are {counters}")
        state = State(
            statistics=self._statistics(n_rows),
            reservoir=self._reservoir(n_rows),
            window=self._window(n_rows),
            rng=_generator(self.meta["rng"]),
            B_sq_norms=self._floats("B_sq_norms", (len(widths), K), np.float64),
            V=tuple(self._floats(f"V/{v}", (D, K)) for v, D in enumerate(widths))
            if self._paper
            else (),
            **counters,
        )
        with np.errstate(over="ignore"):
            if not np.isfinite(B_sq_norms(state.statistics, self.settings)).all():
                raise ValueError("the squares of its sums overflow")
        raised = None
        if self.meta["raised"]:
            raised = tuple(
                self._floats(f"raised/{v}", (D,), np.float64) for v, D in enumerate(widths)
            )
        return FittedState(
            self.schema, self.settings, state, raised, self._preparation(n_rows), self._of_parts()
        )

    def _n_clusters(self) -> int:
        """Return how many clusters are in force, as asked for or as rows have told."""
        if self.settings.n_clusters != AUTO:
            return self.settings.K
        shape = self.arrays["B/0"].shape
        if len(shape) != 2 or not shape[1]:
            raise ValueError(f"B/0 is of shape {shape}; expected features by clusters")
        return int(shape[1])

    def _preparation(self, n_rows: int) -> Preparation:
        views, steps = self.schema.names, self.meta["prepare"]
        begun = Preparation.of(dict(zip(views, steps, strict=True)), views)
        counted = tuple(
            tuple(self._counted(f"prepared/{v}/{i}", step, n_rows, D) for i, step in enumerate(own))
            for v, (own, D) in enumerate(zip(begun.steps, self.schema.widths, strict=True))
        )
        return replace(begun, counted=counted)

    def _counted(self, place: str, step: str, n_rows: int, width: int) -> Counted:
        """Return what a step has counted of a view."""
        if step == "tfidf":
            df, n = self.arrays[f"{place}/df"], self.arrays[f"{place}/n"]
            if df.dtype != np.int64 or df.shape != (width,) or n.dtype != np.int64:
                raise ValueError(f"{place} counts rows as {df.dtype} of shape {df.shape}")
            # Rows that lack the view are not counted.
            if n.shape != (1,) or not 0 <= n[0] <= n_rows or (df < 0).any() or (df > n[0]).any():
                raise ValueError(f"{place} counts rows, but not those of {n_rows:,}")
            return {"df": df, "n": n}
        return {"largest": self._floats(f"{place}/largest", (width,))} if step == "scale" else {}

    def _of_parts(self) -> tuple[bytes, ...]:
        if "of_parts" not in self.arrays:
            return ()
        keys = self.arrays["of_parts"]
        if keys.dtype != np.uint8 or keys.ndim != 2 or keys.shape[1] != KEY_SIZE:
            raise ValueError("the keys of its parts are no keys")
        found = tuple(key.tobytes() for key in keys)
        if list(found) != sorted(set(found)):
            raise ValueError("the keys of its parts are not in order")
        return found

    def _statistics(self, n_rows: int) -> Statistics:
        widths, K = self.schema.widths, self.K
        if len(self.meta["row_sums"]) != len(widths):
            raise ValueError(f"sums over rows are {self.meta['row_sums']!r}")
        decayed = self._rows_left(self.meta["decayed_n_rows"], n_rows)
        masses = (K, K) if self._paper else (K,)
        counted = self.meta["raised"] or self.settings.scale_columns
        return Statistics(
            tuple(
                ViewStatistics(
                    self._floats(f"masses/{v}", masses, np.float64),
                    self._floats(f"weight_sums/{v}", (K,), np.float64),
                    self._floats(f"B/{v}", (D, K)),
                    self._floats(f"sums/{v}", (D,), np.float64) if counted else None,
                    self._floats(f"squares/{v}", (D,), np.float64) if counted else None,
                    **self._row_sums(v, n_rows),
                    n_features=D,
                )
                for v, D in enumerate(widths)
            ),
            n_rows,
            decayed,
        )

    def _row_sums(self, v: int, n_rows: int) -> dict[str, float]:
        sums = {name: self.meta["row_sums"][v][name] for name in _ROW_SUMS}
        for name in ("decayed_n_rows", "filled_rows"):
            self._rows_left(sums[name], n_rows)
        energy = sums["energy"]
        if type(energy) not in (int, float) or not 0 <= energy < math.inf:
            raise ValueError(f"the energy of a view is {energy!r}")
        return sums

    def _rows_left(self, n: Any, n_rows: int) -> float:
        # Forgetting only makes them fewer, but for rounding.
        if type(n) not in (int, float) or not 0 <= n <= n_rows * (1 + 1e-9):
            raise ValueError(f"rows that are not forgotten are {n!r}")
        return float(n)

    def _schema(self) -> Schema:
        names, widths, named = self.meta["views"], self.meta["widths"], self.meta["named"]
        if not names or not len(names) == len(set(names)) == len(widths) == len(named):
            raise ValueError("the views do not fit each other")
        if not all(type(name) is str for name in names):
            raise ValueError("a view has a name that is no text")
        if not all(type(width) is int and 1 <= width < 2**31 for width in widths):
            raise ValueError(f"the views have widths {widths}")
        features = tuple(
            unpack_names(self.arrays[f"names/{v}"], self.arrays[f"names/{v}/ends"], widths[v])
            if named[v]
            else None
            for v in range(len(names))
        )
        return Schema(tuple(names), tuple(widths), features)

    def _window(self, n_rows: int) -> Window:
        chunks: list[tuple[Block, ...]] = []
        U: list[NDArray[Any]] = []
        presences: list[Presence] = []
        for r, run in enumerate(self.meta["window"]):
            sizes = run["sizes"]
            if type(sizes) is not list or not all(type(n) is int and n > 0 for n in sizes):
                raise ValueError(f"the window has chunks of {sizes!r} rows")
            blocks = self._blocks(f"window/{r}", run["kinds"], sum(sizes))
            rows = self._floats(f"window/{r}/U", (sum(sizes), self.K))
            present = self._present(f"window/{r}", blocks, sum(sizes))
            for end, size in zip(accumulate(sizes), sizes, strict=True):
                span = slice(end - size, end)
                chunks.append(tuple(X_v[span].copy() for X_v in blocks))
                U.append(rows[span].copy())
                presences.append(take(present, span))
        settings = self.settings
        window = Window(
            settings.window, tuple(chunks), tuple(U), settings.recent_rows, tuple(presences)
        )
        if not self._paper <= window.n_rows <= n_rows:
            raise ValueError(f"the window holds {window.n_rows:,} of {n_rows:,} rows")
        return window

    def _reservoir(self, n_rows: int) -> Reservoir:
        labels = self.arrays["reservoir/labels"]
        n = len(labels)
        if labels.dtype != np.intp or labels.ndim != 1 or ((labels < 0) | (labels >= self.K)).any():
            raise ValueError("the reservoir's labels are no clusters")
        if n > self.settings.sample_size:
            raise ValueError(f"the reservoir holds {n:,} rows; it has room for fewer")
        weights = self._floats("reservoir/weights", (n,))
        with np.errstate(over="ignore"):
            if not np.isfinite(weights @ weights):
                raise ValueError("the squares of the reservoir's weights overflow")
        counted = Indicator(labels, weights, self.K)
        kinds = self.meta["reservoir"]
        expected = 0 if self._paper else min(self.settings.sample_size, n_rows)
        if n != expected or bool(kinds) != bool(n):
            raise ValueError(f"the reservoir holds {n:,} rows of {len(kinds)} views")
        blocks = self._blocks("reservoir", kinds, n) if kinds else ()
        shares = self._floats("reservoir/shares", (n,))
        if (shares > 1).any():
            raise ValueError("more than all is left of a row of the reservoir")
        present = self._present("reservoir", blocks, n)
        return Reservoir.of(self.settings.sample_size, counted, shares, blocks, present)

    def _present(self, name: str, blocks: Sequence[Block], n: int) -> Presence:
        """Return which of some rows have which views."""
        present = self.arrays.get(f"{name}/present")
        if present is None:
            return None
        if present.dtype != np.bool_ or present.shape != (n, len(self.schema.names)):
            raise ValueError(f"{name} does not tell which rows have which views")
        if not present.any(axis=1).all():
            raise ValueError(f"{name} has rows without any view")
        for X_v, has in zip(blocks, present.T, strict=True):
            lacking = X_v[np.flatnonzero(~has)]
            if lacking.nnz if sp.issparse(lacking) else lacking.any():
                raise ValueError(f"{name} has values in rows that lack the view")
        return take(present, slice(None))

    def _blocks(self, name: str, kinds: Sequence[str], n: int) -> tuple[Block, ...]:
        if len(kinds) != len(self.schema.widths):
            raise ValueError(f"{name} has {len(kinds)} views")
        return tuple(
            self._block(f"{name}/{v}", kind, (n, self.schema.widths[v]))
            for v, kind in enumerate(kinds)
        )

    def _block(self, name: str, kind: str, shape: tuple[int, int]) -> Block:
        return check_values(self._read_block(name, kind, shape), name, None, "error")

    def _read_block(self, name: str, kind: str, shape: tuple[int, int]) -> Block:
        if kind == "dense":
            return self._floats(name, shape)
        data = self.arrays[f"{name}/data"]
        data = self._floats(f"{name}/data", data.shape)
        parts = data, self.arrays[f"{name}/indices"], self.arrays[f"{name}/indptr"]
        try:
            check_compressed(*parts, shape)
        except ValueError as error:
            raise ValueError(f"{name} is no sparse matrix: {error}") from error
        return _SPARSE[kind](parts, shape=shape)

    def _floats(self, name: str, shape: tuple[int, ...], dtype: Any = None) -> NDArray[Any]:
        array = self.arrays[name]
        expected = np.dtype(self.dtype if dtype is None else dtype)
        if array.shape != shape or array.dtype != expected:
            raise ValueError(
                f"{name} is {array.dtype} of shape {array.shape}; expected {expected} of {shape}"
            )
        if not np.isfinite(array).all() or (array < 0).any():
            raise ValueError(f"{name} has values that are not finite, or below 0")
        return array


def _settings(values: Mapping[str, Any], views: Sequence[str]) -> Settings:
    """Return settings that the parameters of an estimator could have come to."""
    if set(values) != {field.name for field in fields(Settings)}:
        raise ValueError(f"the settings are {sorted(values)}")
    per_view = {
        name: dict(zip(views, values[name], strict=True))
        for name in ("graph_weight", "sparsity", "view_weight")
    }
    return resolve({**values, **per_view}, views)


def _generator(state: Mapping[str, Any]) -> np.random.Generator:
    # With an even one the generator comes around too soon, or stands still: who draws would wait.
    if type(increment := state["state"]["inc"]) is not int or increment % 2 == 0:
        raise ValueError(f"the random numbers go on by {increment!r}")
    generator = np.random.default_rng(0)
    generator.bit_generator.state = state
    return generator


def _kind(X: Block) -> str:
    if not sp.issparse(X):
        return "dense"
    return "csr_array" if isinstance(X, sp.sparray) else "csr_matrix"


def _kinds(held: tuple[Sequence[Block], NDArray[Any], Presence]) -> list[str]:
    return [_kind(X_v) for X_v in held[0]]


def _pack_block(arrays: Arrays, name: str, X: Block) -> str:
    """Add a block to the arrays, and return its kind."""
    if sp.issparse(X):
        arrays |= {f"{name}/data": X.data, f"{name}/indices": X.indices, f"{name}/indptr": X.indptr}
    else:
        arrays[name] = X
    return _kind(X)


def pack_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as values that JSON can hold.

    A `RandomState` is left out: it decides nothing more once learning has begun.

    Examples
    --------
    >>> pack_params({"views": {"text": slice(0, 3)}, "n_clusters": np.int64(2)})
    {'views': {'pairs': [['text', {'slice': [0, 3, None]}]]}, 'n_clusters': 2}
    """
    if callable(params.get("criterion")):
        raise TypeError(
            f"Got criterion={params['criterion']!r}, which cannot be saved. Set a name before, as "
            "by set_params(criterion='balanced'), and the callable again after loading."
        )
    views = params.get("views")
    if isinstance(views, Mapping) and any(map(callable, views.values())):
        raise TypeError(
            "Got views= with callables, which cannot be saved. Set what they found before, as by "
            "set_params(views={view: columns})."
        )
    return {name: _pack(value) for name, value in params.items()}


def unpack_params(packed: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as they were.

    Examples
    --------
    >>> unpack_params({"views": {"pairs": [["text", {"slice": [0, 3, None]}]]}})
    {'views': {'text': slice(0, 3, None)}}
    """
    params = {name: _unpack(value) for name, value in packed.items()}
    if not _are_columns(params.get("views")):
        raise ValueError(
            f"Got views={params['views']!r}; expected 'prefix', widths, or columns by view."
        )
    return params


def _are_columns(views: Any) -> bool:
    """Tell whether a value is of a form that one X can be split by."""
    if isinstance(views, Mapping):
        return all(isinstance(name, str) and _are_places(each) for name, each in views.items())
    if views is None or (isinstance(views, str) and views == "prefix"):
        return True
    return isinstance(views, list) and all(type(n) is int for n in views)


def _are_places(columns: Any) -> bool:
    if isinstance(columns, slice):
        edges = columns.start, columns.stop, columns.step
        return all(edge is None or type(edge) is int for edge in edges) and columns.step != 0
    return isinstance(columns, list) and all(type(each) in (int, bool, str) for each in columns)


def _pack(value: Any) -> Any:
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, Mapping):
        return {"pairs": [[key, _pack(each)] for key, each in value.items()]}
    if isinstance(value, list | tuple | range):
        return [_pack(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"Got a parameter of type {type(value).__name__}, which cannot be saved.")


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"slice"}:
            return slice(*value["slice"])
        return {key: _unpack(each) for key, each in value["pairs"]}
    return [_unpack(each) for each in value] if isinstance(value, list) else value
