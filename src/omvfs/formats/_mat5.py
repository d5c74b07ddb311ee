"""Matrices of numbers in MATLAB's level-5 files, which ``save`` with ``-v6`` and ``-v7`` writes.

A file is a header of 128 bytes, then elements: each a tag of type and length, then its content. A
variable is an element of type matrix, or such an element compressed by zlib. Its own elements are
flags with its class, dimensions, name, then numbers, column by column; those of a cell array are
matrices in turn.

Nothing in the file is believed. Every length is checked against what is left of the element
around it, and memory is taken as bytes arrive, not as a length asks for it.
"""

import math
import struct
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import Block, check_compressed
from omvfs.formats._base import SourceError
from omvfs.formats._files import File, exactly

# MATLAB itself writes no larger variable to such a file.
MAX_VARIABLE_BYTES = 1 << 31
# A cell array of more is no list of views.
MAX_CELLS = 1000
# zlib makes a byte of at most so many.
MAX_INFLATION = 1032
# A sparse matrix may have so many more rows than entries, or entries than places for them.
_SPARE = 1 << 24
_MAX_DIMENSIONS, _MAX_NAME = 32, 255
_PIECE = 1 << 16

_Bytes: TypeAlias = bytes | bytearray

_HEADER = 128
_ORDERS = {b"IM": "<", b"MI": ">"}
_TEXT, _INT32, _UINT32, _MATRIX, _COMPRESSED = (1, 2, 16), 5, 6, 14, 15
# How numbers are stored, and what they are: whole ones of a double are often stored in one byte.
_WHOLE = ("i1", "u1", "i2", "u2", "i4", "u4")
_STORED = {**dict(enumerate(_WHOLE, 1)), 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_NUMBERS = {6: "f8", 7: "f4", **dict(enumerate((*_WHOLE, "i8", "u8"), 8))}
_CELL, _SPARSE = 1, 5
_LOGICAL, _COMPLEX = 2, 8


@dataclass(frozen=True)
class Matrix:
    """Where to find a matrix, and what it is.

    Attributes
    ----------
    name : str
        That of its variable; in a cell array followed by its number, from 1 on.
    variable : str
    shape : tuple of int
    kind : {"dense", "sparse", "complex"}
    place : object
        For the reader of the file.
    """

    name: str
    variable: str
    shape: tuple[int, int]
    kind: str
    place: Any


class Mat5:
    """The matrices of numbers of a level-5 file: dense, logical, sparse, and in cell arrays.

    All else is passed over. Numbers are read when they are asked for; to find the matrices, only
    the beginning of each variable is decompressed, but all of a cell array.

    Parameters
    ----------
    file : File

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> path = tempfile.mkdtemp() + "/x.mat"
    >>> views = np.array([np.ones((2, 3)), sp.eye_array(2)], dtype=object)
    >>> savemat(path, {"X": views, "note": "text"})
    >>> reader = Mat5(File(path))
    >>> [(matrix.name, matrix.shape, matrix.kind) for matrix in reader.matrices]
    [('X1', (2, 3), 'dense'), ('X2', (2, 2), 'sparse')]
    >>> reader.load(reader.matrices[1:])["X2"].toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, file: File) -> None:
        self._file, self._name = file, str(file)
        with file.open() as opened:
            self._order = self._read_order(opened)
            self.matrices = [found for at in self._variables(opened) for found in self._found(*at)]

    def load(self, wanted: Sequence[Matrix]) -> dict[str, Block]:
        """Return matrices by name, each as a C-ordered array or CSR."""
        blocks: dict[str, Block] = {}
        with self._file.open() as opened:
            places = {matrix.place[0] for matrix in wanted}
            for offset, content in self._variables(opened, places):
                names = {m.place[1]: m.name for m in wanted if m.place[0] == offset}
                for _, cell, head, part in self._matrices(content):
                    if cell in names:
                        blocks[names[cell]] = self._block(head, part, names[cell])
                content.finish()
        if any(m.name not in blocks or blocks[m.name].shape != m.shape for m in wanted):
            raise self._damaged("it has changed since it was opened")
        return {matrix.name: blocks[matrix.name] for matrix in wanted}

    def _read_order(self, file: IO[bytes]) -> str:
        head = file.read(_HEADER)
        order = _ORDERS.get(head[126:128])
        if order is None or struct.unpack(f"{order}H", head[124:126])[0] != 0x0100:
            raise SourceError(
                f"{self._file} is no MATLAB file of version 5, 7 or 7.3. Write it in MATLAB with "
                "save(file, '-v7')."
            )
        return order

    def _variables(
        self, file: IO[bytes], places: Collection[int] | None = None
    ) -> Iterator[tuple[int, "_Part"]]:
        """Yield where each variable begins, or each of some, and its content."""
        size, offset = file.seek(0, 2), _HEADER
        while offset < size:
            file.seek(offset)
            if size - offset < 8:
                raise self._damaged("it ends within a tag")
            kind, length = self._two(exactly(file, 8, self._name))
            if length > size - offset - 8:
                raise self._damaged(f"{length:,} bytes are expected, {size - offset - 8:,} follow")
            if kind not in (_MATRIX, _COMPRESSED):
                raise self._damaged(f"there is an element of type {kind} for a variable")
            if places is None or offset in places:
                stored = _Part(_Stored(file, self._name), length, self._name)
                yield offset, stored if kind == _MATRIX else self._inflated(stored)
            offset += 8 + length

    def _inflated(self, stored: "_Part") -> "_Part":
        """Return the content of a matrix that is compressed."""
        most = min(MAX_VARIABLE_BYTES, stored.left * MAX_INFLATION)
        stream = _Inflated(stored, self._name)
        kind, length = self._two(stream.take(8))
        if kind != _MATRIX or length > most:
            raise self._damaged(f"a variable is of type {kind} with {length:,} bytes")
        return _Part(stream, length, self._name)

    def _found(self, offset: int, content: "_Part") -> Iterator[Matrix]:
        for variable, cell, head, _ in self._matrices(content):
            kind = "sparse" if head.kind == _SPARSE else "dense"
            yield Matrix(
                name=f"{variable}{cell}" if cell else variable,
                variable=variable,
                shape=(head.shape[0], head.shape[1]),
                kind="complex" if head.flags & _COMPLEX else kind,
                place=(offset, cell),
            )

    def _matrices(self, content: "_Part") -> Iterator[tuple[str, int, "_Head", "_Part"]]:
        """Yield name, number in a cell array (else 0), head and rest of each matrix of numbers."""
        outer = self._head(content)
        if outer is None or not outer.name:
            return
        if outer.kind != _CELL:
            if len(outer.shape) == 2:
                yield outer.name, 0, outer, content
            return
        n_cells = math.prod(outer.shape)
        for number in range(1, 1 + n_cells if n_cells <= MAX_CELLS else 1):
            kind, length = self._two(content.take(8))
            if kind != _MATRIX:
                raise self._damaged(f"{outer.name} has an element of type {kind} for a cell")
            cell = _Part(content, length, self._name)
            inner = self._head(cell) if length else None
            if inner is not None and inner.kind != _CELL and len(inner.shape) == 2:
                yield outer.name, number, inner, cell
            cell.skip(cell.left)

    def _head(self, part: "_Part") -> "_Head | None":
        """Return what begins a matrix of numbers or a cell array, None for all else."""
        _, content = self._element(part, (_UINT32,), 8)
        if len(content) < 8:
            raise self._damaged("a variable has no flags")
        word, _ = self._two(content)
        kind, flags = word & 0xFF, word >> 8 & 0xFF
        if kind not in _NUMBERS and kind not in (_SPARSE, _CELL):
            return None
        _, content = self._element(part, (_INT32, _UINT32), 4 * _MAX_DIMENSIONS)
        shape = struct.unpack(f"{self._order}{len(content) // 4}i", content[: len(content) & ~3])
        if len(shape) < 2 or min(shape) < 0:
            raise self._damaged(f"a variable has dimensions {shape}")
        _, content = self._element(part, _TEXT, _MAX_NAME)
        return _Head(kind, flags, shape, content.decode("utf-8", "backslashreplace"))

    def _block(self, head: "_Head", part: "_Part", name: str) -> Block:
        shape = head.shape[0], head.shape[1]
        if head.kind == _SPARSE:
            rows = self._numbers(part, math.prod(shape) + _SPARE)
            ends = self._numbers(part, shape[1] + 1)
            logical = bool(head.flags & _LOGICAL)
            values = self._numbers(part, len(rows), logical) if part.left else rows[:0]
            values = values != 0 if logical else values.astype(np.float64)
            return csr_of_columns(values, rows, ends, shape, f"{name} of {self._file}")
        dtype = np.dtype(_NUMBERS[head.kind])
        count = math.prod(shape)
        if count * dtype.itemsize > MAX_VARIABLE_BYTES:
            raise SourceError(
                f"{name} of {self._file} would take {count * dtype.itemsize:,} bytes; at most "
                f"{MAX_VARIABLE_BYTES:,} are read. Write it in MATLAB with save(file, '-v7.3')."
            )
        stored = self._numbers(part, count) if part.left else np.empty(0, dtype)
        if len(stored) != count:
            raise self._damaged(f"{name} has {len(stored):,} numbers for {count:,}")
        if head.flags & _LOGICAL:
            stored, dtype = stored != 0, np.dtype(bool)
        with np.errstate(all="ignore"):
            block: NDArray[Any] = stored.reshape(shape, order="F").astype(dtype, order="C")
        if not np.can_cast(stored.dtype, dtype) and (block.ravel("F") != stored).any():
            raise self._damaged(f"{name} has numbers that {dtype} cannot hold")
        return block

    def _numbers(self, part: "_Part", most: int, logical: bool = False) -> NDArray[Any]:
        """Return the numbers of the next element, as they are stored."""
        kind, content = self._element(part, _STORED, 8 * most)
        dtype = np.dtype(self._order + _STORED[kind])
        if logical and len(content) == most:  # MATLAB calls them doubles, but writes bytes
            dtype = np.dtype(np.uint8)
        return np.frombuffer(content, dtype, len(content) // dtype.itemsize)

    def _element(self, part: "_Part", kinds: Collection[int], most: int) -> tuple[int, _Bytes]:
        """Return type and content of the next element, which is of one of some types."""
        kind, length, padding = self._tag(part)
        if kind not in kinds or length > most:
            raise self._damaged(f"there is an element of type {kind} with {length:,} bytes")
        content = part.take(length)
        part.skip(min(padding, part.left))
        return kind, content

    def _tag(self, part: "_Part") -> tuple[int, int, int]:
        """Return type and length of the next element, and how many bytes fill it up."""
        (word,) = struct.unpack(f"{self._order}I", part.take(4))
        if word >> 16:  # up to four bytes of content are within the tag
            length = word >> 16
            if length > 4:
                raise self._damaged(f"a short element has {length:,} bytes")
            return word & 0xFFFF, length, 4 - length
        (length,) = struct.unpack(f"{self._order}I", part.take(4))
        return word, length, -length % 8

    def _two(self, content: _Bytes) -> tuple[int, int]:
        first, second = struct.unpack(f"{self._order}2I", content)
        return first, second

    def _damaged(self, why: str) -> SourceError:
        return damaged(self._name, why)


@dataclass(frozen=True)
class _Head:
    kind: int
    flags: int
    shape: tuple[int, ...]
    name: str


class _Stored:
    """Bytes of a file, from where it stands."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name

    def take(self, n: int) -> _Bytes:
        return exactly(self._file, n, self._name)

    def skip(self, n: int) -> None:
        self._file.seek(n, 1)

    def finish(self) -> None:
        pass


class _Part:
    """The content of an element: the next bytes of a stream, and none beyond."""

    def __init__(self, stream: "_Stored | _Inflated | _Part", length: int, name: str) -> None:
        self._stream, self.left, self._name = stream, length, name

    def take(self, n: int) -> _Bytes:
        self._use(n)
        return self._stream.take(n)

    def skip(self, n: int) -> None:
        self._use(n)
        self._stream.skip(n)

    def finish(self) -> None:
        self.skip(self.left)
        self._stream.finish()

    def _use(self, n: int) -> None:
        if n > self.left:
            raise damaged(self._name, "an element is longer than the one around it")
        self.left -= n


class _Inflated:
    """Bytes that others are decompressed to."""

    def __init__(self, stored: _Part, name: str) -> None:
        self._stored, self._name = stored, name
        self._zlib, self._input = zlib.decompressobj(), b""

    def take(self, n: int) -> _Bytes:
        taken = bytearray()
        while len(taken) < n:
            taken += self._some(min(n - len(taken), _PIECE))
        return taken

    def skip(self, n: int) -> None:
        while n:
            n -= len(self._some(min(n, _PIECE)))

    def finish(self) -> None:
        """Go on to the checksum at the end."""
        while not self._zlib.eof:
            if self._some(_PIECE):
                raise damaged(self._name, "a variable is longer than it says")

    def _some(self, most: int) -> bytes:
        """Return at most so many bytes, at times none; at the end it is an error to ask."""
        if not self._input:
            self._input = bytes(self._stored.take(min(self._stored.left, _PIECE)))
        given, over = len(self._input), self._zlib.eof
        try:
            piece = self._zlib.decompress(self._input, most)
        except zlib.error as error:
            raise damaged(self._name, str(error)) from error
        self._input = self._zlib.unconsumed_tail
        if over or not (piece or given or self._zlib.eof):
            raise damaged(self._name, "a variable is cut off")
        return piece


def damaged(name: str, why: str) -> SourceError:
    """Return the error to raise for a file that is not as it should be."""
    return SourceError(f"{name} is damaged: {why}. Copy it or save it again.")


def csr_of_columns(
    values: NDArray[Any],
    rows: NDArray[Any],
    ends: NDArray[Any],
    shape: tuple[int, int],
    name: str,
) -> sp.csr_array:
    """Return a sparse matrix that is stored by columns, after a check of all its parts.

    Parameters
    ----------
    values, rows : ndarray
        Of the entries. There may be more of them than entries.
    ends : ndarray
        Where in them each column ends, after a 0.
    shape : tuple of int
    name : str
        What errors call it.

    Examples
    --------
    >>> parts = np.array([5.0, 6.0]), np.array([0, 2]), np.array([0, 1, 2])
    >>> csr_of_columns(*parts, (3, 2), "X").toarray().tolist()
    [[5.0, 0.0], [0.0, 0.0], [0.0, 6.0]]
    """
    if len(ends) != shape[1] + 1 or rows.dtype.kind not in "iu" or ends.dtype.kind not in "iu":
        raise damaged(name, f"its parts do not make a sparse matrix of shape {shape}")
    n = int(ends[-1])
    if ends[0] != 0 or not n <= min(len(rows), len(values)):
        raise damaged(name, f"it has {min(len(rows), len(values)):,} entries for {n:,}")
    if shape[0] > _SPARE + n:
        raise damaged(name, f"it has {n:,} entries in {shape[0]:,} rows")
    native = values[:n].astype(values.dtype.newbyteorder("="))
    parts = native, rows[:n].astype(np.int64), ends.astype(np.int64)
    try:
        # Nothing after this looks at the indices again before it writes where they say.
        check_compressed(*parts, (shape[1], shape[0]))
    except ValueError as error:
        raise damaged(name, str(error)) from error
    return sp.csc_array(parts, shape=shape).tocsr()
