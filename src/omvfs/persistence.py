"""What was learned on disk, and back: arrays and JSON in one checksummed file; no pickle.

A checkpoint is a safetensors file. The tensor ``tree`` is JSON: the class and parameters of the
estimator, all that it has learned, and where the run stands. The other tensors are its arrays, in
the order of the tree: small ones one after another in a pool for each dtype, larger ones by
themselves. The tree names no classes: what is rebuilt is what the type hints of `Learned` and of
the dataclasses below it say, and nothing else. `check_state` then compares the pieces with each
other, as the checksum finds damage and not intent.
"""

import contextlib
import hashlib
import itertools
import json
import math
import os
import types
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save
from sklearn.utils.validation import check_is_fitted

from omvfs import disk
from omvfs.constraints import check_all, resolve
from omvfs.data.blocks import check_compressed, check_values
from omvfs.data.schema import Schema, Vocabulary, listed
from omvfs.fitted import EVENTS, KEY_SIZE, FittedState
from omvfs.model.constrained.view_weights import UNHEARD
from omvfs.model.settings import AUTO
from omvfs.model.state import B_sq_norms, ChunkInfo
from omvfs.model.stream.change import BUCKET, SPANS
from omvfs.model.stream.event import DriftEvent
from omvfs.model.stream.reservoir import Rows
from omvfs.model.stream.watch import LEVELS, Watch
from omvfs.prepare import Preparation
from omvfs.selector import HISTORY

FORMAT, VERSION = "omvfs checkpoint", 7
# A file that claims more is refused before anything is read into memory.
MAX_HEADER_BYTES, MAX_TREE_BYTES, MAX_BYTES = 1 << 24, 1 << 26, 1 << 36
# What errors call bytes that are of no file.
GIVEN = "The state"
# What is raised by contents that are not what they should be.
_UNSOUND = (
    *(SafetensorError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    RecursionError,
)
# Characters of an error that are told.
_TELLING = 500
# Written at a time, so that an interruption is never far.
_PIECE = 1 << 20
# Arrays of at least so many values have a tensor of their own; lists of so many names are arrays.
_LARGE, _MANY = 4096, 64
_SPARSE = {"csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}
# Half a surrogate pair may be a name, and is kept as it is.
_PAIRS = "surrogatepass"
# Whole numbers that floats count one by one.
_MOST = 1 << 53

Tensors = dict[str, NDArray[Any]]
PathLike = str | os.PathLike[str]


class CheckpointError(ValueError):
    """A file that is no checkpoint of ours, or not whole."""


@dataclass(frozen=True)
class Learned:
    """All that an estimator has learned.

    Attributes
    ----------
    fitted : FittedState
    history : tuple of ChunkInfo
        What happened in the last chunks.
    columns : array of shape (width of all views,), or None
        Columns of one X that the features are; None if it was not split.
    plain : bool
        Whether rows came as one X that is one view.
    n_features_in : int
    feature_names_in : tuple of str, or None
    """

    fitted: FittedState
    history: tuple[ChunkInfo, ...]
    columns: NDArray[np.int64] | None
    plain: bool
    n_features_in: int
    feature_names_in: tuple[str, ...] | None


# Files


def previous(path: PathLike) -> Path:
    """Return where the checkpoint before the last one is kept.

    Examples
    --------
    >>> previous("run/model.omvfs").name
    'model.omvfs.1'
    """
    path = Path(path)
    return path.with_name(path.name + ".1")


def kept(path: PathLike) -> Path | None:
    """Return the checkpoint to go on from: the last one, else the one before; None without any.

    Examples
    --------
    >>> kept("nowhere/model.omvfs") is None
    True
    """
    return next((each for each in (Path(path), previous(path)) if each.exists()), None)


def write(path: PathLike, content: bytes) -> None:
    """Replace the file at `path` by a new checkpoint, and keep the one before beside it.

    At any moment, whatever interrupts, `path` holds the old checkpoint or the new one, whole.

    Parameters
    ----------
    path : path
        The file. Its folder is made if missing.
    content : bytes
    """
    path, left = Path(path), memoryview(content)
    # Of mode 0600: the rows in it may be private.
    with disk.replacing(path, 0o600, before=lambda: _keep(path)) as descriptor:
        while left:
            left = left[os.write(descriptor, left[:_PIECE]) :]


def _keep(path: Path) -> None:
    """Keep what is at `path` under its second name, without a moment in which it is gone."""
    older = previous(path)
    # A rename between two names of one file does nothing, and leaves both.
    if not path.exists() or (older.exists() and path.samefile(older)):
        return
    second = path.with_name(f".{path.name}.1.part")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(second)
    try:
        os.link(path, second)
    except OSError:
        # A file system without links: the new checkpoint replaces the old one all the same.
        return
    try:
        os.replace(second, older)
    except FileNotFoundError:
        # Another writer of the same checkpoint has swept it.
        return
    except BaseException:
        os.unlink(second)
        raise


def read(path: PathLike) -> tuple[Tensors, Any]:
    """Return the arrays and the JSON of a checkpoint, whole but otherwise unchecked.

    Parameters
    ----------
    path : path

    Raises
    ------
    CheckpointError
        If the file is damaged, cut off, too large, of another version or something else.
    """
    name, path = os.fspath(path), Path(path)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise CheckpointError(f"{name} has {size:,} bytes; at most {MAX_BYTES:,} are read.")
        content = file.read(size)
    try:
        return decoded(content, name)
    except CheckpointError as error:
        raise CheckpointError(f"{error}{_older(path)}") from error


def _older(path: PathLike | None) -> str:
    """Return a sentence on the checkpoint before a damaged one, nothing if there is none."""
    if path is None or not previous(path).exists():
        return ""
    return (
        f" The one before it is there, {previous(path)}: take {Path(path).name} away and resume, "
        "to go on from that."
    )


def encoded(tensors: Mapping[str, NDArray[Any]], tree: Any, name: str = GIVEN) -> bytes:
    """Return the bytes of a checkpoint: the same for the same contents.

    Parameters
    ----------
    tensors : mapping of str to array
    tree : object
        Anything that JSON can hold.
    name : str
        What errors call it.
    """
    from omvfs import __version__

    text = json.dumps(tree, sort_keys=True, allow_nan=False).encode()
    if len(text) > MAX_TREE_BYTES:
        raise CheckpointError(
            f"{name} would have {len(text):,} bytes of JSON; at most {MAX_TREE_BYTES:,} are read."
        )
    solid = {key: np.ascontiguousarray(array) for key, array in tensors.items()}
    solid["tree"] = np.frombuffer(text, np.uint8)
    told = {"format": FORMAT, "version": str(VERSION), "omvfs": __version__}
    # In one entry, as safetensors keeps several in no order.
    return save(solid, {"omvfs": json.dumps({**told, "sha256": _digest(solid)})})


def decoded(content: bytes, name: str = GIVEN) -> tuple[Tensors, Any]:
    """Return what `encoded` was given, of bytes that come from anywhere.

    Parameters
    ----------
    content : bytes
    name : str
        What errors call it.

    Examples
    --------
    >>> tensors, tree = decoded(encoded({"a": np.arange(3)}, {"n": 1}))
    >>> tensors["a"], tree
    (array([0, 1, 2]), {'n': 1})
    """
    claimed = int.from_bytes(content[:8], "little")
    if len(content) < 8 or not 2 <= claimed <= len(content) - 8:
        raise CheckpointError(f"{name} is cut off, or no checkpoint.")
    if claimed > MAX_HEADER_BYTES:
        raise CheckpointError(
            f"{name} claims a header of {claimed:,} bytes; at most {MAX_HEADER_BYTES:,} are read."
        )
    try:
        told = json.loads(content[8 : 8 + claimed]).get("__metadata__") or {}
        # Versions before 0.3 have no entry of all.
        told = json.loads(told["omvfs"]) if "omvfs" in told else told
        if told.get("format") != FORMAT:
            raise CheckpointError(f"{name} is no checkpoint of this library.")
        if told.get("version") != str(VERSION):
            raise CheckpointError(
                f"{name} was written by omvfs {told.get('omvfs', 'before 0.3')} in format "
                f"{str(told.get('version'))[:20]}, and this one reads format {VERSION}; fit again "
                "or load it with that version."
            )
        tensors = dict(sorted(load(content).items()))
        if _digest(tensors) != told.get("sha256"):
            raise CheckpointError(f"{name} is damaged: its contents do not match their checksum.")
        text = tensors.pop("tree")
        if text.nbytes > MAX_TREE_BYTES:
            raise CheckpointError(f"{name} has {text.nbytes:,} bytes of JSON, which are too many.")
        return tensors, json.loads(text.tobytes())
    except CheckpointError:
        raise
    except _UNSOUND as error:
        raise CheckpointError(f"{name} is damaged, or no checkpoint: {error}") from error


def _digest(tensors: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of all that a checkpoint holds."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


# Codec


class Encoder:
    """Turns values into JSON and arrays: dataclasses, mappings, sequences, arrays, plain values."""

    def __init__(self) -> None:
        self._own: Tensors = {}
        self._pools: dict[str, list[NDArray[Any]]] = {}

    @property
    def tensors(self) -> Tensors:
        """All arrays so far."""
        return self._own | {f"pool/{k}": np.concatenate(v) for k, v in self._pools.items()}

    def node(self, value: Any) -> Any:
        """Return a value as JSON has it."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if isinstance(value, np.ndarray):
            return {"array": self._array(value)}
        if sp.issparse(value):
            parts = [self._array(each) for each in (value.data, value.indices, value.indptr)]
            return {"sparse": [type(value).__name__, list(value.shape), *parts]}
        if isinstance(value, np.random.Generator):
            return {"generator": value.bit_generator.state}
        if isinstance(value, Vocabulary):
            return {"vocabulary": self._names(list(value))}
        if isinstance(value, Rows):
            value = Rows(value.width, value.block())
        if is_dataclass(value):
            return [self.node(getattr(value, each.name)) for each in fields(value)]
        if isinstance(value, slice):
            return {"slice": [value.start, value.stop, value.step]}
        if isinstance(value, Mapping):
            return {"map": [[key, self.node(each)] for key, each in value.items()]}
        if isinstance(value, list | tuple | deque | range):
            items: list[Any] = list(value)
            if len(items) >= _MANY and all(type(each) is str for each in items):
                return {"names": self._names(items)}
            return [self.node(each) for each in items]
        raise TypeError(f"Got a value of type {type(value).__name__}, which cannot be saved.")

    def _names(self, names: Sequence[str]) -> list[Any]:
        """Keep texts as bytes and where each ends."""
        each = [name.encode("utf-8", _PAIRS) for name in names]
        ends = np.cumsum([len(part) for part in each], dtype=np.int64)
        return [self._array(np.frombuffer(b"".join(each), np.uint8)), self._array(ends)]

    def _array(self, array: NDArray[Any]) -> list[Any]:
        """Keep an array; larger ones are the more readable with a tensor each."""
        kind, shape = array.dtype.name, list(array.shape)
        if array.size >= _LARGE:
            name = f"array/{len(self._own)}"
            self._own[name] = array
            return [kind, shape, name]
        self._pools.setdefault(kind, []).append(array.ravel())
        return [kind, shape]


class Decoder:
    """Turns JSON and arrays into values of the types that are expected, and of no others.

    Every array is used once, in the order in which it was kept, so that what a file brings takes
    no more memory than the file. Floats in arrays are finite and not below 0.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self._left = dict(tensors)
        self._used: dict[str, int] = {}

    def end(self) -> None:
        """Refuse arrays that nothing asked for."""
        pools = {f"pool/{kind}": n for kind, n in self._used.items()}
        if {name: array.size for name, array in self._left.items()} != pools:
            raise ValueError("it has arrays that belong nowhere")

    def value(self, node: Any, hint: Any, place: str = "it") -> Any:
        """Return the value of a type; ValueError if it is of another.

        Parameters
        ----------
        node : object
            As from `Encoder.node`, but from anywhere.
        hint : type
        place : str
            For errors.
        """
        origin, args = get_origin(hint), get_args(hint)
        if hint is Any:
            return self._any(node)
        if is_dataclass(hint):
            hints: dict[str, Any] = _hints(hint)  # type: ignore[arg-type]
            if type(node) is not list or len(node) != len(hints):
                raise ValueError(f"{place} is no {getattr(hint, '__name__', hint)}")
            held = zip(hints.items(), node, strict=True)
            own = {name: self.value(each, h, f"{place}.{name}") for (name, h), each in held}
            return hint(**own)  # type: ignore[operator]
        if origin in (Union, types.UnionType):
            return self._one_of(node, args, place)
        if origin is Literal:
            if any(type(node) is type(each) and node == each for each in args):
                return node
        elif origin is np.ndarray:
            return self._typed(node, get_args(args[1])[0], place)
        elif origin in (tuple, list, Sequence):
            return self._sequence(node, origin, args, place)
        elif origin is Mapping:
            pairs = [(k, self.value(v, args[1], place)) for k, v in node["map"]]
            if all(type(key) is str for key, _ in pairs) and len(dict(pairs)) == len(pairs):
                return dict(pairs)
        elif hint is float and type(node) in (int, float, dict):
            return float(self._any(node))
        elif (hint in (bool, str) and type(node) is hint) or (
            hint is int and type(node) is int and abs(node) < 1 << 63
        ):
            return node
        elif hint is bytes:
            return bytes.fromhex(node["bytes"])
        elif hint is np.random.Generator:
            return _generator(node["generator"])
        raise ValueError(f"{place} is {str(node)[:80]}")

    def _one_of(self, node: Any, options: Sequence[Any], place: str) -> Any:
        if node is None and type(None) in options:
            return None
        given = [each for each in options if each is not type(None)]
        if Any in given or len(given) == 1:
            return self.value(node, Any if Any in given else given[0], place)
        for each in given:
            with contextlib.suppress(ValueError):
                return self.value(node, each, place)
        raise ValueError(f"{place} is {str(node)[:80]}")

    def _sequence(self, node: Any, origin: Any, args: tuple[Any, ...], place: str) -> Any:
        if type(node) is dict and args[0] is str:
            kind, parts = next(iter(node.items()))
            if kind not in ("names", "vocabulary") or len(node) != 1:
                raise ValueError(f"{place} is no list of names")
            names = self._names(*parts)
            return Vocabulary(names) if kind == "vocabulary" else names
        if type(node) is not list:
            raise ValueError(f"{place} is no list")
        found = [self.value(each, args[0], f"{place}[{i}]") for i, each in enumerate(node)]
        return found if origin is list else tuple(found)

    def _any(self, node: Any) -> Any:
        """Return what a node says it is, of plain values, arrays and lists of them."""
        if type(node) is list:
            return [self._any(each) for each in node]
        if type(node) is not dict:
            return node
        ((kind, own),) = node.items()
        if kind == "array":
            return self._array(*own)
        if kind == "sparse":
            return self._sparse(*own)
        if kind == "float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[own]
        if kind == "slice":
            start, stop, step = own
            return slice(start, stop, step)
        if kind == "names":
            return list(self._names(*own))
        return {key: self._any(each) for key, each in node["map"]}

    def _typed(self, node: Any, scalar: Any, place: str) -> NDArray[Any]:
        array = self._array(*node["array"])
        wanted = get_origin(scalar) or scalar
        if wanted is not Any and not np.issubdtype(array.dtype, wanted):
            raise ValueError(f"{place} is of dtype {array.dtype}; expected {wanted.__name__}")
        return array

    def _sparse(self, kind: str, shape: list[int], *parts: Any) -> Any:
        data, indices, indptr = (self._array(*each) for each in parts)
        n, width = shape
        try:
            check_compressed(data, indices, indptr, (n, width))
        except ValueError as error:
            raise ValueError(f"it has no sparse matrix: {error}") from error
        return _SPARSE[kind]((data, indices, indptr), shape=(n, width))

    def _names(self, content: Any, ends: Any) -> tuple[str, ...]:
        text, stops = self._array(*content), self._array(*ends)
        if text.dtype != np.uint8 or stops.dtype != np.int64 or stops.ndim != 1 or not len(stops):
            raise ValueError("names are of the wrong kind")
        starts = np.concatenate([[0], stops[:-1]])
        if (starts > stops).any() or starts.min() < 0 or stops[-1] != text.size:
            raise ValueError("names are cut off")
        whole, pairs = text.tobytes(), zip(starts.tolist(), stops.tolist(), strict=True)
        return tuple(whole[start:stop].decode("utf-8", _PAIRS) for start, stop in pairs)

    def _array(self, kind: str, shape: list[int], name: str | None = None) -> NDArray[Any]:
        """Take the next array; what is not there, or not as it was told, is refused."""
        if not all(type(n) is int and 0 <= n < _MOST for n in shape):
            raise ValueError(f"an array is of shape {str(shape)[:80]}")
        size = math.prod(shape)
        if name is None:
            start = self._used.get(kind, 0)
            found = self._left[f"pool/{kind}"][start : start + size].copy()
            self._used[kind] = start + size
        else:
            found = np.require(self._left.pop(name), requirements="W")
        if found.size != size or found.dtype.name != kind:
            raise ValueError(f"an array has {found.size:,} {found.dtype}; expected {size:,} {kind}")
        if found.dtype.kind == "f" and size and not (found.min() >= 0 and found.max() < math.inf):
            raise ValueError("an array has values that are not finite, or below 0")
        return found.reshape(shape)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the fields of a dataclass in order, and their types."""
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


def _generator(state: Any) -> np.random.Generator:
    """Return a generator of random numbers that goes on from a state."""
    # With an even one the generator comes around too soon, or stands still: who draws would wait.
    if type(increment := state["state"]["inc"]) is not int or increment % 2 == 0:
        raise ValueError(f"the random numbers go on by {str(increment)[:80]}")
    generator = np.random.default_rng(0)
    generator.bit_generator.state = state
    return generator


# Parameters


def pack_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as values that JSON can hold.

    A `RandomState` is left out: it decides nothing more once learning has begun. So are those who
    are asked and told of changes of the stream: they are not saved.

    Examples
    --------
    >>> pack_params({"views": {"text": slice(0, 3)}, "n_clusters": np.int64(2)})
    {'views': {'map': [['text', {'slice': [0, 3, None]}]]}, 'n_clusters': 2}
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
    encoder = Encoder()
    return {name: encoder.node(_plain(name, value)) for name, value in params.items()}


def _plain(name: str, value: Any) -> Any:
    """Return a parameter without arrays, None for what is not saved."""
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain("", each) for key, each in value.items()}
    return [_plain("", each) for each in value] if isinstance(value, list | tuple) else value


def unpack_params(packed: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as they were.

    Examples
    --------
    >>> unpack_params({"views": {"map": [["text", {"slice": [0, 3, None]}]]}})
    {'views': {'text': slice(0, 3, None)}}
    """
    decoder = Decoder({})
    params = {name: decoder.value(value, Any) for name, value in packed.items()}
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


def pack_events(events: Sequence[DriftEvent]) -> list[dict[str, Any]]:
    """Return events as values that JSON can hold; a threshold that is none is null."""
    return [
        asdict(event) | ({"threshold": None} if math.isnan(event.threshold) else {})
        for event in events
    ]


# What an estimator can have come to


def _expect(ok: Any, why: str) -> None:
    if not ok:
        raise ValueError(why)


def _shaped(what: str, array: NDArray[Any], shape: tuple[int, ...], dtype: Any = None) -> None:
    _expect(
        array.shape == shape and (dtype is None or array.dtype == dtype),
        f"{what} is {array.dtype} of shape {array.shape}; expected {dtype or ''} of {shape}",
    )


def check_state(learned: Learned) -> None:
    """Refuse pieces that do not fit each other: those of a file that was made, not learned.

    Parameters
    ----------
    learned : Learned
        Of the types that it is declared with, its floats in arrays finite and not below 0.
    """
    fitted = learned.fitted
    schema, settings, state = fitted.schema, fitted.settings, fitted.state
    _check_schema(schema, fitted.grows)
    per_view = {
        name: dict(zip(schema.names, getattr(settings, name), strict=True))
        for name in ("graph_weight", "sparsity", "view_weight")
    }
    _expect(
        resolve({**asdict(settings), **per_view}, schema.names) == settings, "it has no settings"
    )
    K, paper = state.n_clusters, settings.solver == "paper"
    n, widths, dtype = fitted.n_rows, schema.widths, state.statistics.views[0].B.dtype
    _expect(settings.n_clusters in (AUTO, K) and K > 0, f"it has {K:,} clusters")
    _expect(dtype in (np.float32, np.float64), f"B is of dtype {dtype}")
    _expect(
        1 <= state.n_chunks <= n < _MOST and 0 <= state.reclustered_at <= n,
        f"of {n:,} rows it has {state.n_chunks:,} chunks, or clustered them later",
    )
    _check_statistics(fitted, K, dtype)
    _shaped("B_sq_norms", state.B_sq_norms, (len(widths), K))
    _expect(len(state.V) == (len(widths) if paper else 0), "V is of other views")
    for V_v, D in zip(state.V, widths, strict=bool(state.V)):
        _shaped("V", V_v, (D, K), dtype)
    _check_rows(fitted, K, dtype)
    _check_watch(fitted)
    weights = state.view_weights
    _expect(
        not weights
        or (
            settings.decides_weights
            and len(weights) == len(widths)
            and set(weights) <= {UNHEARD, 1.0}
        ),
        f"the views weigh {weights}",
    )
    if fitted.raised is not None:
        _expect(len(fitted.raised) == len(widths), "columns of other views are raised")
        for raised, D in zip(fitted.raised, widths, strict=True):
            _shaped("raised", raised, (D,), np.float64)
    _check_preparation(fitted)
    parts = fitted.of_parts
    _expect(
        all(len(key) == KEY_SIZE for key in parts) and list(parts) == sorted(set(parts)),
        "the keys of its parts are none, or not in order",
    )
    _check_events(fitted, learned.history)
    _check_features(learned)


def _check_schema(schema: Schema, grows: bool) -> None:
    names, widths, features = schema.names, schema.widths, schema.feature_names
    _expect(
        names and len(names) == len(set(names)) == len(widths) == len(features),
        "the views do not fit each other",
    )
    _expect(all(1 <= width < 1 << 31 for width in widths), f"the views have widths {widths}")
    for width, own in zip(widths, features, strict=True):
        _expect(own is None or len(own) == width, "names of features are too many, or too few")
        _expect(own is None or isinstance(own, Vocabulary) == grows, "names of features grow")


def _check_statistics(fitted: FittedState, K: int, dtype: Any) -> None:
    statistics, settings = fitted.state.statistics, fitted.settings
    n, most = statistics.n_rows, statistics.n_rows * (1 + 1e-9)
    masses = (K, K) if settings.solver == "paper" else (K,)
    counted = fitted.raised is not None or settings.scale_columns
    _expect(len(statistics.views) == len(fitted.schema.widths), "the sums are of other views")
    _expect(0 <= statistics.decayed_n_rows <= most, f"of {n:,} rows more are not forgotten")
    for view, D in zip(statistics.views, fitted.schema.widths, strict=True):
        _shaped("masses", view.masses, masses)
        _shaped("weight_sums", view.weight_sums, (K,))
        _shaped("B", view.B, (D, K), dtype)
        for sums in (view.sums, view.squares):
            _expect((sums is not None) == counted, "columns are counted, or not")
            if sums is not None:
                _shaped("sums of columns", sums, (D,))
        _expect(
            0 <= view.decayed_n_rows <= most
            and 0 <= view.filled_rows <= most
            and 0 <= view.energy < math.inf,
            f"a view has sums over rows that {n:,} rows cannot have",
        )
        _expect(
            view.n_features == D
            and view.filled_columns == replace(view, filled_columns=0).recounted().filled_columns,
            "a view has columns that are not there",
        )
    with np.errstate(over="ignore"):
        finite = np.isfinite(B_sq_norms(statistics, settings)).all()
    _expect(finite, "the squares of its sums overflow")


def _check_block(X: Any, shape: tuple[int, int], dtype: Any) -> None:
    """Refuse rows that are no block, or not of a view."""
    _expect(sp.issparse(X) or isinstance(X, np.ndarray), "rows are no array")
    _expect(
        X.shape == shape and X.dtype == dtype,
        f"rows are {X.dtype} of shape {X.shape}; expected {dtype} of {shape}",
    )
    check_values(X, "a view", None, "error")


def _check_present(present: Any, blocks: Sequence[Any], n: int) -> None:
    """Refuse presence of other rows, and values in rows that lack the view."""
    if present is None:
        return
    _shaped("presence", present, (n, len(blocks)))
    _expect(present.any(axis=1).all(), "there are rows without any view")
    for X_v, has in zip(blocks, present.T, strict=True):
        lacking = X_v[np.flatnonzero(~has)]
        _expect(
            not (lacking.nnz if sp.issparse(lacking) else lacking.any()),
            "there are values in rows that lack the view",
        )


def _check_rows(fitted: FittedState, K: int, dtype: Any) -> None:
    """Refuse rows of the reservoir and the window that do not fit the rest."""
    settings, n_rows, widths = fitted.settings, fitted.n_rows, fitted.schema.widths
    reservoir, window = fitted.state.reservoir, fitted.state.window
    paper = settings.solver == "paper"
    labels, weights, n = reservoir.counted.labels, reservoir.counted.weights, len(reservoir)
    expected = 0 if paper else min(settings.sample_size, n_rows)
    _expect(
        n == expected and len(reservoir.rows) == (len(widths) if n else 0),
        f"the reservoir holds {n:,} rows of {len(reservoir.rows)} views",
    )
    _expect(
        reservoir.capacity == settings.sample_size and reservoir.counted.n_clusters == K,
        "the reservoir is of another size",
    )
    _shaped("labels", labels, (n,), np.intp)
    _expect(((labels >= 0) & (labels < K)).all(), "the reservoir's labels are no clusters")
    _shaped("weights", weights, (n,), dtype)
    _shaped("shares", reservoir.shares, (n,), dtype)
    _expect((reservoir.shares <= 1).all(), "more than all is left of a row of the reservoir")
    with np.errstate(over="ignore"):
        _expect(np.isfinite(weights @ weights), "the squares of the weights overflow")
    for rows, D in zip(reservoir.rows, widths, strict=bool(n)):
        _expect(rows.width == D, "the reservoir is of other features")
        _check_block(rows.held, (n, D), dtype)
    _check_present(reservoir.present, reservoir.blocks, n)
    if reservoir.keys is not None:
        _shaped("keys", reservoir.keys, (n,))
    _expect(
        window.size == settings.window
        and window.at_hand == settings.recent_rows
        and len(window.chunks) == len(window.U) == len(window.presences),
        "the window is of another size",
    )
    for chunk, U, present in zip(window.chunks, window.U, window.presences, strict=True):
        _expect(len(chunk) == len(widths) and len(U), "the window is of other views")
        _shaped("U", U, (len(U), K), dtype)
        for X_v, D in zip(chunk, widths, strict=True):
            _check_block(X_v, (len(U), D), dtype)
        _check_present(present, chunk, len(U))
    held = sum(map(len, window.U))
    _expect(paper <= held <= n_rows, f"the window holds {held:,} of {n_rows:,} rows")


def _check_watch(fitted: FittedState) -> None:
    watch, settings, widths = fitted.state.watch, fitted.settings, fitted.schema.widths
    _expect((watch is not None) == settings.detect_drift, "it is watched for changes, or not")
    if watch is None:
        return
    K, dtype, n_rows = settings.K, fitted.state.statistics.views[0].B.dtype, fitted.n_rows
    _expect(
        (watch.n_clusters, watch.n_views) == (K, len(widths))
        and 0 <= watch.since <= n_rows
        and 0 <= watch.until < _MOST
        and 0 <= watch.n_tests <= n_rows // BUCKET,
        "it was watched longer than it is, or by others",
    )
    yardstick, cells = watch.yardstick, sum(watch.widths)
    if yardstick is None:
        bare = Watch(K, len(widths))
        same = all(
            getattr(watch, name).shape == getattr(bare, name).shape
            for name in ("measured", "open", "recent", "before")
        )
        _expect(same and watch.levels is None, "it is measured by nothing")
        return
    raised = yardstick.raised
    _expect(
        len(yardstick.V) == len(yardstick.factors) == len(widths)
        and (raised is None or len(raised) == len(widths)),
        "it is measured by other views",
    )
    for v, D in enumerate(widths):
        _shaped("yardstick", yardstick.V[v], (D, K), dtype)
        _expect(yardstick.factors[v].shape in ((1,), (D,)), "the yardstick has other factors")
        if raised is not None:
            _shaped("yardstick", raised[v], (D,))
    _shaped("yardstick", yardstick.V_sq_norms, (len(widths), K))
    for name, shape in (("open", (cells,)), ("before", (cells,))):
        _shaped(name, getattr(watch, name), shape)
    _shaped("recent", watch.recent, (len(watch.recent), cells))
    if watch.levels is not None:
        _shaped("levels", watch.levels, (K + 1, LEVELS - 1))
        levels = watch.levels
        _expect((levels <= 1).all() and (np.diff(levels) >= 0).all(), "the levels are none")
    labels, explained = watch.measured.reshape(-1, 2).T
    _expect(
        (labels <= K).all() and (labels == np.floor(labels)).all() and (explained <= 1).all(),
        "rows that levels are laid out by are in no clusters",
    )
    buckets = np.vstack([watch.open, watch.before, watch.recent])
    _expect(((buckets >= 0) & (buckets <= n_rows)).all(), "rows are counted that did not come")
    totals = np.add.reduceat(buckets, np.cumsum([0, *watch.widths[:-1]]), axis=1)
    sizes, full = totals[:, 0], len(watch.recent)
    _expect(
        (totals == totals[:, :1]).all()
        and sizes.sum() <= n_rows
        and sizes[0] < BUCKET
        and sizes[1] % BUCKET == 0
        and (sizes[2:] == BUCKET).all()
        and full <= SPANS[-1]
        and (not sizes[1] or full == SPANS[-1]),
        "rows are counted in other buckets than there may be",
    )


def _check_preparation(fitted: FittedState) -> None:
    views, own = fitted.schema.names, fitted.preparation
    begun = Preparation.of(dict(zip(views, own.steps, strict=True)), views)
    _expect(
        begun.steps == own.steps and list(map(len, own.counted)) == list(map(len, own.steps)),
        "it is prepared by no steps",
    )
    dtype = fitted.state.statistics.views[0].B.dtype
    for steps, counts, D in zip(own.steps, own.counted, fitted.schema.widths, strict=True):
        for step, counted in zip(steps, counts, strict=True):
            wanted = {"tfidf": ["df", "n"], "scale": ["largest"]}.get(step, [])
            _expect(sorted(counted) == wanted, f"{step} has counted {listed(counted)}")
            if step == "scale":
                _shaped("largest", counted["largest"], (D,), dtype)
            if step == "tfidf":
                df, n = counted["df"], counted["n"]
                _shaped("df", df, (D,), np.int64)
                _shaped("n", n, (1,), np.int64)
                _expect(
                    0 <= n[0] <= fitted.n_rows and ((df >= 0) & (df <= n[0])).all(),
                    "it counts rows that did not come",
                )


def _check_events(fitted: FittedState, history: Sequence[ChunkInfo]) -> None:
    n_rows, n_chunks = fitted.n_rows, fitted.state.n_chunks
    _expect(len(history) == min(n_chunks, HISTORY), f"it tells of {len(history):,} chunks")
    for info in history:
        numbers = info.reconstruction, info.graph, info.sparsity, info.seconds
        _expect(
            0 < info.n_rows <= n_rows
            and 0 <= info.n_iter < _MOST
            and all(map(math.isfinite, numbers)),
            "a chunk has numbers that cannot be",
        )
    events = fitted.drift
    _expect(len(events) <= EVENTS, f"it tells of {len(events):,} changes")
    chunks = [-1, *(event.chunk for event in events)]
    _expect(
        chunks[-1] < n_chunks and all(a < b for a, b in itertools.pairwise(chunks)),
        "the changes of the stream are not in order",
    )
    for event in (*events, *(info.drift for info in history if info.drift is not None)):
        threshold = event.threshold
        _expect(
            0 <= event.since <= event.row <= n_rows
            and 0 <= event.statistic < math.inf
            and 0 <= event.distance <= 1
            and (math.isnan(threshold) or threshold > 0),
            "a change of the stream has numbers that cannot be",
        )
        for found in (event.came, event.went):
            _expect(found.keys() == set(fitted.schema.names), "features of other views came")


def _check_features(learned: Learned) -> None:
    """Refuse columns of X that do not fit the views."""
    width, n, columns = sum(learned.fitted.schema.widths), learned.n_features_in, learned.columns
    # Only of one X that was split may some columns be in no view, and who asks for a mask of them
    # all is not to get one that a small file has blown up.
    _expect(
        n == width,
        f"it is of {n:,} features, and its views have {width:,}",
    )
    one = columns is None and len(learned.fitted.schema.names) == 1
    _expect(one or not learned.plain, "one X that was not split has more views than one")
    if columns is not None:
        _shaped("columns", columns, (width,), np.int64)
        _expect((np.sort(columns) == np.arange(n)).all(), "the columns do not fit the features")
    names = learned.feature_names_in
    _expect(names is None or len(names) == n, "names of columns are too many, or too few")


# Estimators


class Persistent:
    """Adds `save` and `load` to the estimator, and the same for bytes in memory."""

    _known: FittedState
    _history: tuple[ChunkInfo, ...]
    _learned: Any
    _columns: NDArray[np.intp] | None
    _plain: bool
    schema_: Schema
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    get_params: Any
    _get_param_names: Any
    _fixed: ClassVar[Mapping[str, Any]]

    def save(self, path: PathLike, extra: Any = None) -> None:
        """Write all that was learned, and the parameters, to a file; the one before is kept too.

        Learning goes on after `load` as if it had never stopped, to the same bits, whatever number
        of threads BLAS is set to. The same model gives the same bytes.

        Parameters
        ----------
        path : path
            The file, replaced atomically. What was there moves to ``<path>.1``.
        extra : object, default=None
            What else to keep: anything that JSON can hold, such as where in a stream to go on.
            `omvfs.persistence.read` returns it as ``tree["extra"]``.
        """
        write(path, self._content(os.fspath(path), extra))

    def to_bytes(self) -> bytes:
        """Return what `save` would write, to be kept in memory or sent to another machine.

        Returns
        -------
        bytes

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> X = np.random.default_rng(0).random((40, 6))
        >>> state = OMVFS(2, random_state=0).fit(X).to_bytes()
        >>> OMVFS.from_bytes(state).n_samples_seen_
        40
        """
        return self._content(GIVEN)

    def _content(self, name: str, extra: Any = None) -> bytes:
        check_is_fitted(self)
        params = self.get_params(deep=False)
        check_all(params, self.schema_.names)
        names = getattr(self, "feature_names_in_", None)
        learned = Learned(
            self._known,
            self._history,
            None if self._columns is None else self._columns.astype(np.int64),
            self._plain,
            self.n_features_in_,
            None if names is None else tuple(names),
        )
        encoder = Encoder()
        tree = {
            "class": type(self).__name__,
            "params": pack_params(params),
            "learned": encoder.node(learned),
            "extra": extra,
        }
        return encoded(encoder.tensors, tree, name)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return the estimator that `to_bytes` gave; what cannot be true is refused.

        Parameters
        ----------
        content : bytes

        Raises
        ------
        omvfs.persistence.CheckpointError
            If they are damaged, of another version, or something else.
        """
        if not isinstance(content, bytes | bytearray | memoryview):
            raise TypeError(f"Got {type(content).__name__}; expected the bytes of a state.")
        return cls._of(*decoded(bytes(content)), None)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Return the estimator that `save` wrote.

        Parameters
        ----------
        path : path

        Raises
        ------
        omvfs.persistence.CheckpointError
            If the file is damaged, of another version, or something else.

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> import tempfile
        >>> X = np.random.default_rng(0).random((40, 6))
        >>> path = tempfile.mkdtemp() + "/model.omvfs"
        >>> OMVFS(2, random_state=0).fit(X).save(path)
        >>> OMVFS.load(path).n_samples_seen_
        40
        """
        return cls._of(*read(path), path)

    @classmethod
    def _of(cls, tensors: Mapping[str, NDArray[Any]], tree: Any, path: PathLike | None) -> Self:
        """Return the estimator that a checkpoint holds, as read from a path, or from bytes."""
        try:
            kind = cls._named(tree["class"])
            params = unpack_params(tree["params"])
            if unknown := params.keys() - set(kind._get_param_names()):
                raise ValueError(
                    f"it is of another version, with parameters {listed(sorted(unknown))}; load it "
                    "with that version, or fit again"
                )
            decoder = Decoder(tensors)
            learned: Learned = decoder.value(tree["learned"], Learned)
            decoder.end()
            check_state(learned)
            fitted = learned.fitted
            check_all(params, fitted.schema.names)
            grows = params.get("new_features", "error") == "grow"
            _expect(grows == fitted.grows, "features come later, or they do not")
            _expect(
                kind._fixed["solver"] == fitted.settings.solver,
                f"its settings are not those of a {kind.__name__}",
            )
        except _UNSOUND as error:
            why = str(error) if len(str(error)) <= _TELLING else f"{str(error)[:_TELLING]}..."
            name = GIVEN if path is None else os.fspath(path)
            raise CheckpointError(
                f"{name} holds no sound {cls.__name__}: {why}.{_older(path)}"
            ) from error
        selector = kind(**params)
        selector.schema_ = fitted.schema
        selector.n_features_in_, selector._plain = learned.n_features_in, learned.plain
        columns = learned.columns
        selector._columns = None if columns is None else columns.astype(np.intp)
        if learned.feature_names_in is not None:
            selector.feature_names_in_ = np.array(learned.feature_names_in, dtype=object)
        selector.__dict__.update(selector._learned(fitted, learned.history))
        return selector

    @classmethod
    def _named(cls, name: Any) -> type[Self]:
        """Return the class of a name: this one, or one made of it."""
        for kind in (cls, *cls.__subclasses__()):
            if kind.__name__ == name:
                return kind
        raise ValueError(f"it is of class {name!r}")
