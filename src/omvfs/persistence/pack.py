"""What an OMVFS has learned as plain arrays and values, and back, every piece checked."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import accumulate, groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import check_compressed, check_values
from omvfs.data.schema import Schema, Vocabulary
from omvfs.fitted import KEY_SIZE, FittedState
from omvfs.growth import Growth
from omvfs.model.arrays import Block, stack
from omvfs.model.constrained.view_weights import UNHEARD
from omvfs.model.indicator import Indicator
from omvfs.model.presence import Presence, below, take
from omvfs.model.settings import AUTO
from omvfs.model.state import B_sq_norms, State
from omvfs.model.statistics import Statistics
from omvfs.model.stream.reservoir import Reservoir
from omvfs.model.stream.window import Window
from omvfs.model.view_statistics import ViewStatistics
from omvfs.persistence.names import pack_names, unpack_names
from omvfs.persistence.params import generator_of, settings_of
from omvfs.persistence.ranks import pack_snapshots, unpack_snapshots
from omvfs.persistence.watching import pack_events, pack_watch, unpack_events, unpack_watch
from omvfs.prepare import Counted, Preparation

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
    growth = fitted.growth
    if growth is not None:
        arrays |= {f"born/{v}": rows for v, rows in enumerate(growth.born)}
    kinds = [_pack_block(arrays, f"reservoir/{v}", X) for v, X in enumerate(reservoir.blocks)]
    if reservoir.present is not None:
        arrays["reservoir/present"] = reservoir.present
    if state.view_weights:
        arrays["view_weights"] = np.array(state.view_weights)
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
    watch = pack_watch(arrays, state.watch)
    pack_snapshots(arrays, state.snapshots)
    return arrays, {
        "views": list(schema.names),
        "widths": list(schema.widths),
        "named": [names is not None for names in schema.feature_names],
        "settings": asdict(fitted.settings),
        "growth": None
        if growth is None
        else {"most": list(growth.most), "forgotten": list(growth.forgotten)},
        "raised": fitted.raised is not None,
        "prepare": fitted.preparation.steps,
        "reservoir": kinds,
        "window": runs,
        "watch": watch,
        "drift": pack_events(fitted.drift),
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
        self._grows = meta.get("growth")
        self.schema = self._schema()
        self.settings = settings_of(meta["settings"], self.schema.names)
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
            rng=generator_of(self.meta["rng"]),
            B_sq_norms=self._floats("B_sq_norms", (len(widths), K), np.float64),
            V=tuple(self._floats(f"V/{v}", (D, K)) for v, D in enumerate(widths))
            if self._paper
            else (),
            watch=unpack_watch(
                self.arrays, self.meta["watch"], self.schema, self.settings, self.dtype, n_rows
            ),
            view_weights=self._view_weights(),
            snapshots=unpack_snapshots(self.arrays, self.schema, n_rows),
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
            self.schema,
            self.settings,
            state,
            raised,
            self._preparation(n_rows),
            self._of_parts(),
            self._growth(n_rows),
            unpack_events(self.meta["drift"], self.schema, n_rows, state.n_chunks),
        )

    def _growth(self, n_rows: int) -> Growth | None:
        """Return what is known of features that come later."""
        if self._grows is None:
            return None
        most, forgotten = self._grows["most"], self._grows["forgotten"]
        if not len(most) == len(forgotten) == len(self.schema.names):
            raise ValueError("what it tells of features that come later is not of its views")
        if not all(type(n) is int and 0 <= n < _MOST_ROWS for n in forgotten):
            raise ValueError(f"features that were forgotten are {forgotten!r}")
        found = []
        for v, (own, names) in enumerate(zip(most, self.schema.feature_names, strict=True)):
            if own is not None and (type(own) is not int or own < 1):
                raise ValueError(f"a view may have {own!r} features")
            width = len(names) if names is not None and own is not None else 0
            born = self.arrays[f"born/{v}"]
            if born.dtype != np.int64 or born.shape != (width,):
                raise ValueError(f"born/{v} is {born.dtype} of shape {born.shape}")
            if (born < 0).any() or (born > n_rows).any() or width > (own or width):
                raise ValueError(f"the features of view {v} did not come while it learned")
            found.append(born)
        return Growth(tuple(most), tuple(found), tuple(forgotten))

    def _view_weights(self) -> tuple[float, ...]:
        """Return what views weigh by the rows; nothing if it is not for them to decide."""
        if "view_weights" not in self.arrays:
            return ()
        weights = self._floats("view_weights", (len(self.schema.names),), np.float64)
        if not self.settings.decides_weights or not np.isin(weights, (UNHEARD, 1.0)).all():
            raise ValueError(f"the views weigh {weights.tolist()}")
        return tuple(weights.tolist())

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
                    filled_columns=0,
                    n_features=D,
                ).recounted()
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
        features: tuple[Sequence[str] | None, ...] = tuple(
            unpack_names(self.arrays[f"names/{v}"], self.arrays[f"names/{v}/ends"], widths[v])
            if named[v]
            else None
            for v in range(len(names))
        )
        if self._grows is not None:
            features = tuple(None if own is None else Vocabulary(own) for own in features)
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
