"""What an OMVFS has learned as plain arrays and values, and back, every piece checked."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from itertools import accumulate, groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.schema import Schema
from omvfs.model.arrays import Block, stack
from omvfs.model.indicator import Indicator
from omvfs.model.state import Settings, State
from omvfs.model.stream.reservoir import Memory
from omvfs.model.stream.window import Window
from omvfs.selectors.fitted import Learned
from omvfs.selectors.settings import resolve

Arrays = dict[str, NDArray[Any]]

_SPARSE = {"csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}
_PER_VIEW = ("B", "V", "sums", "squares")
_COUNTERS = ("n_rows", "n_chunks", "count", "settled_at")


def freeze(learned: Learned) -> tuple[Arrays, dict[str, Any]]:
    """Return all that was learned: arrays by name, and the rest as values that JSON can hold.

    Parameters
    ----------
    learned : Learned
    """
    state, schema = learned.state, learned.schema
    memory, window = state.memory, state.window
    arrays: Arrays = {
        "A": state.A,
        "weight_sums": state.weight_sums,
        "lengths": state.lengths,
        "memory/labels": memory.counted.labels,
        "memory/weights": memory.counted.weights,
        "memory/keep": memory.keep,
    }
    for name in _PER_VIEW:
        arrays |= {f"{name}/{v}": part for v, part in enumerate(getattr(state, name))}
    if learned.raised is not None:
        arrays |= {f"raised/{v}": part for v, part in enumerate(learned.raised)}
    for v, names in enumerate(schema.feature_names):
        if names is not None:
            arrays |= _pack_names(f"names/{v}", names)
    kinds = [_pack_block(arrays, f"memory/{v}", X) for v, X in enumerate(memory.blocks)]
    # Chunks may be many, and of one row each: those of a kind below each other.
    runs = []
    for r, (_, run) in enumerate(groupby(zip(window.chunks, window.U, strict=True), _kinds)):
        chunks, U = zip(*run, strict=True)
        blocks = [stack(parts) for parts in zip(*chunks, strict=True)]
        window_kinds = [_pack_block(arrays, f"window/{r}/{v}", X) for v, X in enumerate(blocks)]
        arrays[f"window/{r}/U"] = np.concatenate(U)
        runs.append({"kinds": window_kinds, "sizes": [len(each) for each in U]})
    return arrays, {
        "views": list(schema.names),
        "widths": list(schema.widths),
        "named": [names is not None for names in schema.feature_names],
        "settings": asdict(learned.settings),
        "raised": learned.raised is not None,
        "memory": kinds,
        "window": runs,
        "rng": state.rng.bit_generator.state,
        "counters": {name: getattr(state, name) for name in _COUNTERS},
    }


def thaw(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Learned:
    """Return what was learned; ValueError if any piece does not fit the others.

    Parameters
    ----------
    arrays, meta
        As from `freeze`, but from anywhere: nothing is taken on trust.
    """
    try:
        return _Reader(arrays, meta).learned()
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"a piece is missing or of the wrong kind: {error!r}") from error


class _Reader:
    """Takes pieces out of a checkpoint, each checked against what it must be."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
        self.arrays, self.meta = arrays, meta
        self.schema = self._schema()
        self.settings = _settings(meta["settings"], self.schema.names)
        self.K, self._paper = self.settings.n_clusters, self.settings.solver == "paper"
        self.dtype = np.dtype(self.arrays["B/0"].dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"B is of dtype {self.dtype}; expected float32 or float64")

    def learned(self) -> Learned:
        """Return all of it."""
        K, widths = self.K, self.schema.widths
        paper = self._paper
        views = range(len(widths))
        counted = views if self.meta["raised"] or self.settings.scale_columns else []
        counters = {name: self.meta["counters"][name] for name in _COUNTERS}
        for name, value in counters.items():
            kinds = (int, float) if name == "count" else (int,)
            if type(value) not in kinds or not 0 <= value < 2**63:
                raise ValueError(f"counter {name} is {value!r}")
        state = State(
            A=self._floats("A", (K, K) if paper else (K,), np.float64),
            B=[self._floats(f"B/{v}", (widths[v], K)) for v in views],
            V=[self._floats(f"V/{v}", (widths[v], K)) for v in views] if paper else [],
            sums=[self._floats(f"sums/{v}", (widths[v],), np.float64) for v in counted],
            squares=[self._floats(f"squares/{v}", (widths[v],), np.float64) for v in counted],
            weight_sums=self._floats("weight_sums", (K,), np.float64),
            lengths=self._floats("lengths", (K,), np.float64),
            window=self._window(),
            memory=self._memory(),
            rng=_generator(self.meta["rng"]),
            **counters,
        )
        raised = None
        if self.meta["raised"]:
            raised = tuple(self._floats(f"raised/{v}", (widths[v],), np.float64) for v in views)
        return Learned(self.schema, self.settings, state, raised)

    def _schema(self) -> Schema:
        names, widths, named = self.meta["views"], self.meta["widths"], self.meta["named"]
        if not names or not len(names) == len(set(names)) == len(widths) == len(named):
            raise ValueError("the views do not fit each other")
        if not all(type(name) is str for name in names):
            raise ValueError("a view has a name that is no text")
        if not all(type(width) is int and 1 <= width < 2**31 for width in widths):
            raise ValueError(f"the views have widths {widths}")
        features = tuple(
            _unpack_names(self.arrays[f"names/{v}"], self.arrays[f"names/{v}/ends"], widths[v])
            if named[v]
            else None
            for v in range(len(names))
        )
        return Schema(tuple(names), tuple(widths), features)

    def _window(self) -> Window:
        chunks: list[tuple[Block, ...]] = []
        U: list[NDArray[Any]] = []
        for r, run in enumerate(self.meta["window"]):
            sizes = run["sizes"]
            if type(sizes) is not list or not all(type(n) is int and n > 0 for n in sizes):
                raise ValueError(f"the window has chunks of {sizes!r} rows")
            blocks = self._blocks(f"window/{r}", run["kinds"], sum(sizes))
            rows = self._floats(f"window/{r}/U", (sum(sizes), self.K))
            for end, size in zip(accumulate(sizes), sizes, strict=True):
                span = slice(end - size, end)
                chunks.append(tuple(X_v[span].copy() for X_v in blocks))
                U.append(rows[span].copy())
        settings = self.settings
        return Window(settings.window, tuple(chunks), tuple(U), settings.recent_rows)

    def _memory(self) -> Memory:
        labels = self.arrays["memory/labels"]
        n = len(labels)
        if labels.dtype != np.intp or labels.ndim != 1 or ((labels < 0) | (labels >= self.K)).any():
            raise ValueError("the memory's labels are no clusters")
        if n > self.settings.memory:
            raise ValueError(f"the memory holds {n:,} rows; it has room for fewer")
        counted = Indicator(labels, self._floats("memory/weights", (n,)), self.K)
        kinds = self.meta["memory"]
        blocks = self._blocks("memory", kinds, n) if kinds else ()
        keep = self._floats("memory/keep", (n,))
        return Memory.of(self.settings.memory, counted, keep, blocks)

    def _blocks(self, name: str, kinds: Sequence[str], n: int) -> tuple[Block, ...]:
        if len(kinds) != len(self.schema.widths):
            raise ValueError(f"{name} has {len(kinds)} views")
        return tuple(
            self._block(f"{name}/{v}", kind, (n, self.schema.widths[v]))
            for v, kind in enumerate(kinds)
        )

    def _block(self, name: str, kind: str, shape: tuple[int, int]) -> Block:
        if kind == "dense":
            return self._floats(name, shape)
        data = self.arrays[f"{name}/data"]
        data = self._floats(f"{name}/data", data.shape)
        parts = data, self.arrays[f"{name}/indices"], self.arrays[f"{name}/indptr"]
        if any(part.ndim != 1 for part in parts) or any(
            part.dtype.kind != "i" for part in parts[1:]
        ):
            raise ValueError(f"{name} is no sparse matrix")
        block = _SPARSE[kind](parts, shape=shape)
        # Products with indices out of range would read beyond the memory of others.
        block.check_format(full_check=True)
        return block

    def _floats(self, name: str, shape: tuple[int, ...], dtype: Any = None) -> NDArray[Any]:
        array = self.arrays[name]
        expected = np.dtype(self.dtype if dtype is None else dtype)
        if array.shape != shape or array.dtype != expected:
            raise ValueError(
                f"{name} is {array.dtype} of shape {array.shape}; expected {expected} of {shape}"
            )
        if not np.isfinite(array).all():
            raise ValueError(f"{name} has values that are not finite")
        return array


def _settings(values: Mapping[str, Any], views: Sequence[str]) -> Settings:
    """Return settings that the parameters of an estimator could have come to."""
    if set(values) != {field.name for field in fields(Settings)}:
        raise ValueError(f"the settings are {sorted(values)}")
    per_view = {
        name: dict(zip(views, values[name], strict=True)) for name in ("graph_weight", "sparsity")
    }
    scores = {"score": "norm", "diversity": 0.0, "recency": 0.0, "batch_size": 1}
    return resolve({**values, **per_view, **scores}, views)


def _generator(state: Mapping[str, Any]) -> np.random.Generator:
    generator = np.random.default_rng(0)
    generator.bit_generator.state = state
    return generator


def _kind(X: Block) -> str:
    if not sp.issparse(X):
        return "dense"
    return "csr_array" if isinstance(X, sp.sparray) else "csr_matrix"


def _kinds(held: tuple[Sequence[Block], NDArray[Any]]) -> list[str]:
    return [_kind(X_v) for X_v in held[0]]


def _pack_block(arrays: Arrays, name: str, X: Block) -> str:
    """Add a block to the arrays, and return its kind."""
    if sp.issparse(X):
        arrays |= {f"{name}/data": X.data, f"{name}/indices": X.indices, f"{name}/indptr": X.indptr}
    else:
        arrays[name] = X
    return _kind(X)


def _pack_names(name: str, names: Sequence[str]) -> Arrays:
    """Return texts as bytes and where each ends."""
    encoded = [each.encode() for each in names]
    ends = np.cumsum([len(each) for each in encoded], dtype=np.int64)
    return {name: np.frombuffer(b"".join(encoded), np.uint8), f"{name}/ends": ends}


def _unpack_names(content: NDArray[Any], ends: NDArray[Any], n: int) -> tuple[str, ...]:
    if content.dtype != np.uint8 or ends.dtype != np.int64 or ends.shape != (n,):
        raise ValueError("names of features are of the wrong kind")
    starts = np.concatenate([[0], ends[:-1]])
    if (starts > ends).any() or starts[0] < 0 or ends[-1] != content.size:
        raise ValueError("names of features are cut off")
    text = content.tobytes()
    pieces = zip(starts.tolist(), ends.tolist(), strict=True)
    return tuple(text[start:end].decode() for start, end in pieces)


def pack_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as values that JSON can hold.

    A `RandomState` is left out: it decides nothing more once learning has begun.

    Examples
    --------
    >>> pack_params({"views": {"text": slice(0, 3)}, "n_clusters": np.int64(2)})
    {'views': {'pairs': [['text', {'slice': [0, 3, None]}]]}, 'n_clusters': 2}
    """
    return {name: _pack(value) for name, value in params.items()}


def unpack_params(packed: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as they were.

    Examples
    --------
    >>> unpack_params({"views": {"pairs": [["text", {"slice": [0, 3, None]}]]}})
    {'views': {'text': slice(0, 3, None)}}
    """
    return {name: _unpack(value) for name, value in packed.items()}


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
