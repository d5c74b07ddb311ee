"""State on disk: one safetensors file, checksummed and replaced atomically; no pickle."""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from omvfs import disk

FORMAT = "omvfs checkpoint"
VERSION = 6
# The oldest that is read: it has no ranks along the stream.
_OLDEST = 5
# A file that claims more is refused before anything is read into memory.
MAX_HEADER_BYTES = 1 << 24
MAX_BYTES = 1 << 36

# What errors call bytes that are of no file.
GIVEN = "The state"
# What is raised by bytes that are no checkpoint.
_NO_FILE = (SafetensorError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
# Written at a time, so that an interruption is never far.
_PIECE = 1 << 20

PathLike = str | os.PathLike[str]


class CheckpointError(ValueError):
    """A file that is no checkpoint of ours, or not whole."""


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
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "model.omvfs"
    >>> kept(path) is None
    True
    >>> previous(path).touch()
    >>> kept(path).name
    'model.omvfs.1'
    """
    return next((each for each in (Path(path), previous(path)) if each.exists()), None)


def write(path: PathLike, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Replace the file at `path` by a new checkpoint, and keep the one before beside it.

    At any moment, whatever interrupts, `path` holds the old checkpoint or the new one, whole.

    Parameters
    ----------
    path : path
        The file. Its folder is made if missing.
    arrays : mapping of str to array
        What to keep.
    meta : mapping of str to object
        What else to keep: anything that JSON can hold.

    Raises
    ------
    CheckpointError
        If there is too much in `meta` for `read`.
    OSError
        If it cannot be written.
    """
    path = Path(path)
    content = encoded(arrays, meta, os.fspath(path))
    # Of mode 0600: the rows in it may be private.
    with disk.replacing(path, 0o600, before=lambda: _keep(path)) as descriptor:
        _write_all(descriptor, content)


def encoded(
    arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any], name: str = GIVEN
) -> bytes:
    """Return what `write` writes, to be kept or sent elsewhere.

    Parameters
    ----------
    arrays : mapping of str to array
    meta : mapping of str to object
        Anything that JSON can hold.
    name : str
        What errors call it.
    """
    text = json.dumps(meta, sort_keys=True, allow_nan=False)
    solid = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "meta": text,
        "sha256": _digest(solid, text),
    }
    content = save(solid, metadata)
    if (header := int.from_bytes(content[:8], "little")) > MAX_HEADER_BYTES:
        raise CheckpointError(
            f"{name} would have a header of {header:,} bytes; at most {MAX_HEADER_BYTES:,} are "
            "read again."
        )
    return content


def decoded(content: bytes, max_bytes: int = MAX_BYTES) -> tuple[dict[str, NDArray[Any]], Any]:
    """Return the arrays and the rest of what `encoded` made; nothing is taken on trust.

    Parameters
    ----------
    content : bytes
    max_bytes : int
        Most that are read.

    Examples
    --------
    >>> arrays, meta = decoded(encoded({"a": np.arange(3)}, {"n": 1}))
    >>> arrays["a"], meta
    (array([0, 1, 2]), {'n': 1})
    """
    _check_sizes(GIVEN, content[:8], len(content), max_bytes)
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        metadata = header.get("__metadata__") or {}
        _check_format(GIVEN, metadata)
        # Learning writes into them.
        found = sorted(load(content).items())
        arrays = {name: np.require(each, requirements="W") for name, each in found}
    except CheckpointError:
        raise
    except _NO_FILE as error:
        raise CheckpointError(f"{GIVEN} is damaged, or no checkpoint: {error}") from error
    return arrays, _checked_meta(GIVEN, arrays, metadata)


def read(path: PathLike, max_bytes: int = MAX_BYTES) -> tuple[dict[str, NDArray[Any]], Any]:
    """Return the arrays and the rest of a checkpoint.

    Parameters
    ----------
    path : path
    max_bytes : int
        Largest file that is read.

    Returns
    -------
    arrays : dict of str to array
    meta : object

    Raises
    ------
    CheckpointError
        If the file is damaged, cut off, too large or something else.
    OSError
        If it cannot be read.
    """
    try:
        return _read(Path(path), max_bytes)
    except CheckpointError as error:
        raise CheckpointError(f"{error}{before(path)}") from error


def before(path: PathLike) -> str:
    """Return a sentence on the checkpoint before a damaged one, nothing if there is none.

    Examples
    --------
    >>> before("nowhere/model.omvfs")
    ''
    """
    if not previous(path).exists():
        return ""
    return (
        f" The one before it is there, {previous(path)}: take {Path(path).name} away and resume, "
        "to go on from that."
    )


def _read(path: Path, max_bytes: int) -> tuple[dict[str, NDArray[Any]], Any]:
    name = os.fspath(path)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(8)
    _check_sizes(name, head, size, max_bytes)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            _check_format(name, metadata)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, TypeError, KeyError) as error:
        raise CheckpointError(f"{path} is damaged, or no checkpoint: {error}") from error
    return arrays, _checked_meta(name, arrays, metadata)


def _checked_meta(
    name: str, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> Any:
    """Return what is there beside the arrays, if all is as it was written."""
    text = metadata.get("meta", "")
    if _digest(arrays, text) != metadata.get("sha256"):
        raise CheckpointError(f"{name} is damaged: its contents do not match their checksum.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{name} has a header that cannot be read: {error}") from error


def _check_sizes(name: str, head: bytes, size: int, max_bytes: int) -> None:
    """Refuse what claims to be too large, before anything is read into memory."""
    if size > max_bytes:
        raise CheckpointError(f"{name} has {size:,} bytes; at most {max_bytes:,} are read.")
    claimed = int.from_bytes(head, "little")
    if len(head) < 8 or not 2 <= claimed <= size - 8:
        raise CheckpointError(f"{name} is cut off, or no checkpoint.")
    if claimed > MAX_HEADER_BYTES:
        raise CheckpointError(
            f"{name} claims a header of {claimed:,} bytes; at most {MAX_HEADER_BYTES:,} are read."
        )


def _check_format(name: str, metadata: Mapping[str, str]) -> None:
    if metadata.get("format") != FORMAT:
        raise CheckpointError(f"{name} is no checkpoint of this library.")
    if metadata.get("version") not in [str(n) for n in range(_OLDEST, VERSION + 1)]:
        raise CheckpointError(
            f"{name} is of version {metadata.get('version')!r}; this library reads {_OLDEST} to "
            f"{VERSION}. "
            "Learn anew, or read it with the version of the library that wrote it."
        )


def _digest(arrays: Mapping[str, NDArray[Any]], text: str) -> str:
    """Return the SHA-256 of all that a checkpoint holds."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left[:_PIECE]) :]


def _keep(path: Path) -> None:
    """Keep what is at `path` under its second name, without a moment in which it is gone."""
    if not path.exists():
        return
    kept = previous(path)
    # A rename between two names of one file does nothing, and leaves both.
    if kept.exists() and path.samefile(kept):
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
        os.replace(second, kept)
    except FileNotFoundError:
        # Another writer of the same checkpoint has swept it.
        return
    except BaseException:
        os.unlink(second)
        raise
