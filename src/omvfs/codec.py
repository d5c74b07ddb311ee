"""Values as bytes and back: arrays and JSON in one checksummed file; no pickle.

The file is a safetensors file. The tensor ``tree`` is JSON, the other tensors are arrays, by their
number. The tree names no classes: what is rebuilt is what the type hints of the dataclass that is
asked for say, and nothing else.
"""

import contextlib
import hashlib
import json
import math
import os
import types
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from omvfs import disk
from omvfs.data.blocks import check_compressed
from omvfs.data.schema import Vocabulary
from omvfs.disk import PathLike

FORMAT, VERSION = "omvfs checkpoint", 8
# A file that claims more is refused before anything is read into memory.
MAX_HEADER_BYTES, MAX_TREE_BYTES, MAX_BYTES = 1 << 24, 1 << 26, 1 << 36
# What errors call bytes that are of no file.
GIVEN = "The state"
# What is raised by contents that are not what they should be.
UNSOUND = (
    *(SafetensorError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    RecursionError,
)
# Written at a time, so that an interruption is never far.
_PIECE = 1 << 20
_SPARSE = {"csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}
# Half a surrogate pair may be a name, and is kept as it is.
_PAIRS = "surrogatepass"
# Whole numbers that floats count one by one.
_MOST = 1 << 53

Tensors = dict[str, NDArray[Any]]


class CheckpointError(ValueError):
    """A file that is no checkpoint of ours, or not whole."""


class OtherVersionError(CheckpointError):
    """A checkpoint of another version of the library."""


# Files


def previous(path: PathLike) -> Path:
    """Return where the checkpoint before the last one is kept."""
    path = Path(path)
    return path.with_name(path.name + ".1")


def kept(path: PathLike) -> Path | None:
    """Return the checkpoint to go on from: the last one, else the one before; None without any."""
    return next((each for each in (Path(path), previous(path)) if each.exists()), None)


def write(path: PathLike, content: bytes, has_rows: bool = True) -> None:
    """Replace the file at `path` by a new one.

    At any moment, whatever interrupts, `path` holds the old file or the new one, whole. If it is a
    checkpoint, with rows that may be private, nobody else may read it, and the one before it is
    kept beside it.
    """
    path, left = Path(path), memoryview(content)
    mode, before = (0o600, lambda: _keep(path)) if has_rows else (0o666, lambda: None)
    with disk.replacing(path, mode, before=before) as descriptor:
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
    """Return the arrays and the JSON of a checkpoint, whole but otherwise unchecked."""
    name, path = os.fspath(path), Path(path)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise CheckpointError(f"{name} has {size:,} bytes; at most {MAX_BYTES:,} are read.")
        content = file.read(size)
    try:
        return decoded(content, name)
    except OtherVersionError:
        raise
    except CheckpointError as error:
        raise CheckpointError(f"{error}{older(path)}") from error


def older(path: PathLike | None) -> str:
    """Return a sentence on the checkpoint before a damaged one, nothing if there is none."""
    if path is None or not previous(path).exists():
        return ""
    return (
        f" The one before it is there, {previous(path)}: take {Path(path).name} away and resume, "
        "to go on from that."
    )


def encoded(tensors: Mapping[str, NDArray[Any]], tree: Any, name: str = GIVEN) -> bytes:
    """Return the bytes of a checkpoint: the same for the same contents."""
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
    """Return what `encoded` was given, of bytes that come from anywhere."""
    claimed = int.from_bytes(content[:8], "little")
    if len(content) < 8 or not 2 <= claimed <= len(content) - 8:
        raise CheckpointError(f"{name} is cut off, or no checkpoint.")
    if claimed > MAX_HEADER_BYTES:
        raise CheckpointError(
            f"{name} claims a header of {claimed:,} bytes; at most {MAX_HEADER_BYTES:,} are read."
        )
    try:
        told = json.loads(content[8 : 8 + claimed]).get("__metadata__") or {}
        # Earlier formats have no such entry.
        told = json.loads(told["omvfs"]) if "omvfs" in told else told
        if told.get("format") != FORMAT:
            raise CheckpointError(f"{name} is no checkpoint of this library.")
        if told.get("version") != str(VERSION):
            raise OtherVersionError(
                f"{name} was written by another version of omvfs, in format "
                f"{str(told.get('version'))[:20]}; this one reads format {VERSION}. Fit again, or "
                "load it with that version."
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
    except UNSOUND as error:
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
        if isinstance(value, Vocabulary):
            return {"vocabulary": self._names(list(value))}
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
    are finite, and whole numbers not below 0.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self._left = dict(tensors)

    def end(self) -> None:
        """Refuse arrays that nothing asked for."""
        if self._left:
            raise ValueError("it has arrays that belong nowhere")

    def value(self, node: Any, hint: Any, place: str = "it") -> Any:
        """Return the value of a type; ValueError if it is of another."""
        origin, args = get_origin(hint), get_args(hint)
        if hint is Any:
            return self._any(node)
        if (alias := getattr(origin, "__value__", None)) is not None:
            # From NumPy 2.5 on, NDArray is a name of the type, in Pythons that have such.
            return self.value(node, alias[args], place)
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
            array, scalar = self._array(node["array"]), get_args(args[1])[0]
            wanted = get_origin(scalar) or scalar
            if wanted is Any or np.issubdtype(array.dtype, wanted):
                return array
            raise ValueError(f"{place} is of dtype {array.dtype}; expected {wanted.__name__}")
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
        if real and not np.isfinite(found).all():
            raise ValueError("an array has values that are not finite")
        return found


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the fields of a dataclass in order, and their types."""
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}
