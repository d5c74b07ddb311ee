"""What was learned on disk, and back: arrays and JSON in one checksummed file; no pickle.

A checkpoint is a safetensors file. The tensor ``tree`` is JSON: the class and parameters of the
estimator, all that it has learned, and where the run stands. The other tensors are its arrays, by
their number. The tree names no classes: what is rebuilt is what the type hints of `Learned` and of
the dataclasses below it say, and nothing else. `check_state` then compares the pieces with each
other, as the checksum finds damage and not intent.
"""

import contextlib
import hashlib
import json
import math
import os
import types
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save
from sklearn.utils.validation import check_is_fitted

from omvfs import disk
from omvfs.constraints import check_all, resolve
from omvfs.data.blocks import check_compressed
from omvfs.data.schema import Vocabulary, listed
from omvfs.fitted import EVENTS, KEY_SIZE, FittedState
from omvfs.model.constrained.view_weights import UNHEARD
from omvfs.model.settings import AUTO
from omvfs.model.state import B_sq_norms, ChunkInfo
from omvfs.model.stream.reservoir import Rows
from omvfs.model.stream.watch import LEVELS
from omvfs.prepare import Preparation
from omvfs.selector import HISTORY

_S = TypeVar("_S")
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

    def __init__(self, many: float = 64) -> None:
        # Lists of so many names are arrays.
        self._many = many
        self.tensors: Tensors = {}

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
            if len(items) >= self._many and all(type(each) is str for each in items):
                return {"names": self._names(items)}
            return [self.node(each) for each in items]
        raise TypeError(f"Got a value of type {type(value).__name__}, which cannot be saved.")

    def _names(self, names: Sequence[str]) -> list[str]:
        """Keep texts as bytes and where each ends."""
        each = [name.encode("utf-8", _PAIRS) for name in names]
        ends = np.cumsum([len(part) for part in each], dtype=np.int64)
        return [self._array(np.frombuffer(b"".join(each), np.uint8)), self._array(ends)]

    def _array(self, array: NDArray[Any]) -> str:
        """Keep an array, and return its name."""
        self.tensors[name := str(len(self.tensors))] = array
        return name


class Decoder:
    """Turns JSON and arrays into values of the types that are expected, and of no others.

    Every array is used once, so that what a file brings takes no more memory than the file. Floats
    are finite; floats in arrays and whole numbers are not below 0.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self._left = dict(tensors)

    def end(self) -> None:
        """Refuse arrays that nothing asked for."""
        if self._left:
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
        elif hint is float and type(node) in (int, float):
            if math.isfinite(node):
                return float(node)
        elif (hint in (bool, str) and type(node) is hint) or (
            hint is int and type(node) is int and 0 <= node < _MOST
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
            return self._array(own)
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
        array = self._array(node["array"])
        wanted = get_origin(scalar) or scalar
        if wanted is not Any and not np.issubdtype(array.dtype, wanted):
            raise ValueError(f"{place} is of dtype {array.dtype}; expected {wanted.__name__}")
        return array

    def _sparse(self, kind: str, shape: list[int], *parts: Any) -> Any:
        data, indices, indptr = (self._array(each) for each in parts)
        n, width = shape
        try:
            check_compressed(data, indices, indptr, (n, width))
        except ValueError as error:
            raise ValueError(f"it has no sparse matrix: {error}") from error
        return _SPARSE[kind]((data, indices, indptr), shape=(n, width))

    def _names(self, content: Any, ends: Any) -> tuple[str, ...]:
        text, stops = self._array(content), self._array(ends)
        if text.dtype != np.uint8 or stops.dtype != np.int64 or stops.ndim != 1 or not len(stops):
            raise ValueError("names are of the wrong kind")
        starts = np.concatenate([[0], stops[:-1]])
        if (starts > stops).any() or starts.min() < 0 or stops[-1] != text.size:
            raise ValueError("names are cut off")
        whole, pairs = text.tobytes(), zip(starts.tolist(), stops.tolist(), strict=True)
        return tuple(whole[start:stop].decode("utf-8", _PAIRS) for start, stop in pairs)

    def _array(self, name: str) -> NDArray[Any]:
        """Take an array; one that is not there, or was taken before, is refused."""
        found = np.require(self._left.pop(name), requirements="W")
        real = found.dtype.kind == "f" and found.size
        if real and not (found.min() >= 0 and found.max() < math.inf):
            raise ValueError("an array has values that are not finite, or below 0")
        return found


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
    encoder = Encoder(many=math.inf)
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
    return {name: decoder.value(value, Any) for name, value in packed.items()}


# What an estimator can have come to


class _Form(NamedTuple):
    """What an array must be: its shape, None for no array; its dtype; its largest value."""

    name: str
    array: Any
    shape: tuple[int, ...] | None
    dtype: Any = None
    most: float = math.inf

    def holds(self) -> bool:
        """Tell whether the array is so, and not below 0."""
        array, shape, dtype, most = self[1:]
        if array is None or shape is None:
            return array is None and shape is None
        if not isinstance(array, np.ndarray) and not sp.issparse(array):
            return False
        values = array.data if sp.issparse(array) else array
        if array.shape != shape or (dtype is not None and array.dtype != dtype):
            return False
        return not values.size or bool(values.min() >= 0 and values.max() <= most)


def check_state(learned: Learned) -> None:
    """Refuse pieces that do not fit each other: those of a file that was made, not learned.

    Parameters
    ----------
    learned : Learned
        Of the types that it is declared with, its floats in arrays finite and not below 0.
    """
    for ok, why in _facts(learned):
        if not ok:
            raise ValueError(why)
    for form in _forms(learned):
        if not form.holds():
            raise ValueError(f"{form.name} is no array of {form.shape}, or has values out of range")
    state = learned.fitted.state
    with np.errstate(over="ignore"):
        sums = B_sq_norms(state.statistics, learned.fitted.settings)
        weights = np.square(state.reservoir.counted.weights).sum()
    if not (np.isfinite(sums).all() and np.isfinite(weights)):
        raise ValueError("the squares of its sums overflow")


def _facts(learned: Learned) -> Iterator[tuple[Any, str]]:
    """Yield what must be true, in an order in which each may rely on those before; and why not."""
    fitted, history = learned.fitted, learned.history
    schema, settings, state = fitted.schema, fitted.settings, fitted.state
    names, widths, features = schema.names, schema.widths, schema.feature_names
    yield names and len(names) == len(set(names)), "its views have no names of their own"
    yield len(names) == len(widths) == len(features), "the views do not fit each other"
    yield all(1 <= width < 1 << 31 for width in widths), f"the views have widths {widths}"
    for width, own in zip(widths, features, strict=True):
        if own is not None:
            yield len(own) == width, "names of features are too many, or too few"
            yield isinstance(own, Vocabulary) == fitted.grows, "names of features grow, or do not"
    by_view = {
        name: dict(zip(names, getattr(settings, name), strict=True))
        for name in ("graph_weight", "sparsity", "view_weight")
    }
    resolved = resolve({**asdict(settings), **by_view}, names)
    yield resolved == settings, "it has no settings"
    yield len(state.statistics.views) == len(names), "the sums are of other views"
    K, dtype = state.n_clusters, state.statistics.views[0].B.dtype
    yield settings.n_clusters in (AUTO, K) and K > 0, f"it has {K:,} clusters"
    yield dtype in (np.float32, np.float64), f"the sums are of dtype {dtype}"
    watch, own_size = state.watch, (K, len(names))
    yield (watch is not None) == settings.detect_drift, "it is watched for changes, or not"
    if watch is not None:
        yield (watch.n_clusters, watch.n_views) == own_size, "other clusters or views are watched"
    window, reservoir, n = state.window, state.reservoir, fitted.n_rows
    yield window.size == settings.window, "the window is of another size"
    yield window.at_hand == settings.recent_rows, "the window is of another size"
    yield 1 <= state.n_chunks <= n, f"{n:,} rows came in {state.n_chunks:,} chunks"
    held = 0 if settings.solver == "paper" else min(settings.sample_size, n)
    yield len(reservoir) == held, f"the reservoir holds {len(reservoir):,} rows"
    yield reservoir.capacity == settings.sample_size, "the reservoir is of another size"
    yield reservoir.counted.n_clusters == K, "the reservoir is of other clusters"
    rows = zip(reservoir.rows, widths, strict=bool(held))
    yield all(own.width == D for own, D in rows), "the reservoir is of other features"
    for view, D in zip(state.statistics.views, widths, strict=True):
        yield view.n_features == D, "the sums are of other features"
        least = min(view.decayed_n_rows, view.filled_rows, view.energy)
        yield least >= 0, "there are fewer rows than none"
    weights, decided = state.view_weights, settings.decides_weights
    yield not weights or (decided and len(weights) == len(names)), "other views have weights"
    yield set(weights) <= {UNHEARD, 1.0}, f"the views weigh {weights}"
    steps = fitted.preparation.steps
    begun = Preparation.of(dict(zip(names, steps, strict=True)), names)
    yield begun.steps == steps, "it is prepared by no steps"
    parts = fitted.of_parts
    yield all(len(key) == KEY_SIZE for key in parts), "the keys of its parts are none"
    yield list(parts) == sorted(set(parts)), "the keys of its parts are not in order"
    yield len(history) == min(state.n_chunks, HISTORY), f"it tells of {len(history):,} chunks"
    yield len(fitted.drift) <= EVENTS, f"it tells of {len(fitted.drift):,} changes"
    for event in (*fitted.drift, *(info.drift for info in history if info.drift is not None)):
        yield event.came.keys() == event.went.keys() == set(names), "other views have changed"
    D, own = learned.n_features_in, learned.feature_names_in
    yield sum(widths) == D, f"it is of {D:,} features, and its views have {sum(widths):,}"
    yield own is None or len(own) == D, "names of columns are too many, or too few"
    one = learned.columns is None and len(names) == 1
    yield one or not learned.plain, "one X that was not split has more views than one"
    if (columns := learned.columns) is not None:
        yield columns.shape == (D,), "the columns do not fit the features"
        yield (np.sort(columns) == np.arange(D)).all(), "the columns do not fit the features"


def _forms(learned: Learned) -> Iterator[_Form]:
    """Yield what the arrays must be: those by view in the order of the views."""
    fitted, settings = learned.fitted, learned.fitted.settings
    state, widths, n = fitted.state, fitted.schema.widths, fitted.n_rows
    K, n_views, dtype = state.n_clusters, len(widths), state.statistics.views[0].B.dtype
    paper = settings.solver == "paper"
    counted = fitted.raised is not None or settings.scale_columns
    yield _Form("B_sq_norms", state.B_sq_norms, (n_views, K))
    for V, D in zip(state.V, widths if paper else (), strict=True):
        yield _Form("V", V, (D, K), dtype)
    for raised, D in zip(fitted.raised or (), widths, strict=fitted.raised is not None):
        yield _Form("raised", raised, (D,))
    for view, D in zip(state.statistics.views, widths, strict=True):
        yield _Form("masses", view.masses, (K, K) if paper else (K,))
        yield _Form("weight_sums", view.weight_sums, (K,))
        yield _Form("B", view.B, (D, K), dtype)
        yield _Form("sums", view.sums, (D,) if counted else None)
        yield _Form("squares", view.squares, (D,) if counted else None)
    yield from _forms_of_rows(fitted, K, dtype)
    for names, counts, D in zip(
        fitted.preparation.steps, fitted.preparation.counted, widths, strict=True
    ):
        for step, own in zip(names, counts, strict=True):
            if step == "tfidf":
                yield _Form("df", own["df"], (D,), np.int64, n)
                yield _Form("n", own["n"], (1,), np.int64, n)
            elif step == "scale":
                yield _Form("largest", own["largest"], (D,), dtype)
    if (watch := state.watch) is not None:
        cells, levels = sum(watch.widths) if watch.yardstick else 0, watch.levels
        yield _Form("open", watch.open, (cells,), most=n)
        yield _Form("before", watch.before, (cells,), most=n)
        yield _Form("recent", watch.recent, (len(watch.recent), cells), most=n)
        yield _Form("measured", watch.measured, (len(watch.measured), 2), most=K)
        yield _Form("levels", levels, None if levels is None else (K + 1, LEVELS - 1), most=1)
        if (yardstick := watch.yardstick) is not None:
            yield _Form("V_sq_norms", yardstick.V_sq_norms, (n_views, K))
            for D, V, factors in zip(widths, yardstick.V, yardstick.factors, strict=True):
                yield _Form("V", V, (D, K), dtype)
                yield _Form("factors", factors, (D,) if len(factors) != 1 else (1,))
            for D, raised in zip(widths, yardstick.raised or (), strict=bool(yardstick.raised)):
                yield _Form("raised", raised, (D,))


def _forms_of_rows(fitted: FittedState, K: int, dtype: Any) -> Iterator[_Form]:
    """Yield what the arrays of the rows that are held must be."""
    state, widths = fitted.state, fitted.schema.widths
    reservoir, window, n_views = state.reservoir, state.window, len(widths)
    n, present = len(reservoir), reservoir.present
    yield _Form("labels", reservoir.counted.labels, (n,), np.intp, K - 1)
    yield _Form("weights", reservoir.counted.weights, (n,), dtype)
    yield _Form("shares", reservoir.shares, (n,), dtype, 1)
    yield _Form("keys", reservoir.keys, None if reservoir.keys is None else (n,))
    yield _Form("presence", present, None if present is None else (n, n_views))
    for rows, D in zip(reservoir.rows, widths if n else (), strict=True):
        yield _Form("rows", rows.held, (n, D), dtype)
    for chunk, U, has in zip(window.chunks, window.U, window.presences, strict=True):
        m = len(U)
        yield _Form("U", U, (m, K), dtype)
        yield _Form("presence", has, None if has is None else (m, n_views))
        for X, D in zip(chunk, widths, strict=True):
            yield _Form("rows", X, (m, D), dtype)


# Estimators


def content_of(selector: Any, name: str = GIVEN, extra: Any = None) -> bytes:
    """Return the checkpoint of an estimator, which errors call by a name."""
    check_is_fitted(selector)
    params = selector.get_params(deep=False)
    check_all(params, selector.schema_.names)
    names, columns = getattr(selector, "feature_names_in_", None), selector._columns
    learned = Learned(
        selector._known,
        selector._history,
        None if columns is None else columns.astype(np.int64),
        selector._plain,
        selector.n_features_in_,
        None if names is None else tuple(names),
    )
    encoder = Encoder()
    tree = {
        "class": type(selector).__name__,
        "params": pack_params(params),
        "learned": encoder.node(learned),
        "extra": extra,
    }
    return encoded(encoder.tensors, tree, name)


def selector_of(
    asked: type[_S], tensors: Mapping[str, NDArray[Any]], tree: Any, path: PathLike | None = None
) -> _S:
    """Return the estimator that a checkpoint holds, of a class or one made of it.

    It was read from a path, or from bytes.
    """
    try:
        kinds: dict[str, Any] = {own.__name__: own for own in (*asked.__subclasses__(), asked)}
        if (kind := kinds.get(tree["class"])) is None:
            raise ValueError(f"it is of class {tree['class']!r}")
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
        if grows != fitted.grows or kind._fixed["solver"] != fitted.settings.solver:
            raise ValueError(f"its settings are not those of a {kind.__name__}")
    except _UNSOUND as error:
        why = str(error) if len(str(error)) <= _TELLING else f"{str(error)[:_TELLING]}..."
        name = GIVEN if path is None else os.fspath(path)
        raise CheckpointError(
            f"{name} holds no sound {asked.__name__}: {why}.{_older(path)}"
        ) from error
    selector = kind(**params)
    selector.schema_ = fitted.schema
    selector.n_features_in_, selector._plain = learned.n_features_in, learned.plain
    columns = learned.columns
    selector._columns = None if columns is None else columns.astype(np.intp)
    if learned.feature_names_in is not None:
        selector.feature_names_in_ = np.array(learned.feature_names_in, dtype=object)
    selector.__dict__.update(selector._learned(fitted, learned.history))
    found: _S = selector
    return found
