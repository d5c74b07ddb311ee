"""NumPy's files, read by rows: ``.npy`` arrays, and ``.npz`` files of one CSR matrix."""

import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from omvfs.data.schema import Schema
from omvfs.data.views import Block
from omvfs.formats._base import Chunk, Cursor, RowSource, Source, SourceError, named, row_of
from omvfs.formats._files import File, PathLike, exactly
from omvfs.parameters import whole

# A chunk that claims more than this is refused before it is read.
MAX_CHUNK_BYTES = 1 << 30
# No array that a file describes is wider, or longer.
_MOST = 1 << 48


class NpySource(RowSource):
    """One view in a ``.npy`` file, of which rows are read as they are asked for.

    Parameters
    ----------
    path : path
    view : str
        Name of the view.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "image.npy"
    >>> np.save(path, np.arange(6.0).reshape(3, 2))
    >>> [chunk.views["image"].tolist() for chunk in NpySource(path, "image").chunks(2)]
    [[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0]]]
    """

    def __init__(self, path: PathLike | File, view: str) -> None:
        self._path, self._view = File(path), view
        self.name = str(self._path)
        self._path.check()
        with self._path.open() as file:
            shape, fortran, self._dtype = read_header(file, self._path)
            self._offset = file.tell()
            size = file.seek(0, 2)
        if self._dtype.kind == "S":
            raise SourceError(f"{self._path} has text; expected numbers.")
        if len(shape) != 2:
            raise SourceError(
                f"{self._path} has an array of shape {shape}; expected rows × columns."
            )
        self._shape = shape
        needed = self._offset + math.prod(shape) * self._dtype.itemsize
        if needed > size:
            raise SourceError(f"{self._path} is cut off: {size:,} bytes of {needed:,}.")
        self._fortran = fortran

    @property
    def schema(self) -> Schema:
        """The view and its width."""
        return Schema((self._view,), (self._shape[1],), (None,))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._shape[0]

    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""
        n, width = stop - start, self._shape[1]
        check_chunk(n * width * self._dtype.itemsize, self._path)
        if not self._fortran:
            return {self._view: self._values([start * width], n * width).reshape(n, width)}
        # Columns one after another. Not mapped into memory: a file that is cut off meanwhile would
        # end the process.
        columns = self._values([j * self.n_rows + start for j in range(width)], n)
        return {self._view: np.ascontiguousarray(columns.reshape(width, n).T)}

    def _values(self, places: list[int], n: int) -> NDArray[Any]:
        """Return n values from each place on."""
        size, parts = self._dtype.itemsize, []
        with self._path.open() as file:
            for place in places:
                file.seek(self._offset + place * size)
                parts.append(exactly(file, n * size, str(self._path)))
        return np.frombuffer(parts[0] if len(parts) == 1 else b"".join(parts), self._dtype)


class NpzSource(Source):
    """One view in a ``.npz`` file of a CSR matrix, as `scipy.sparse.save_npz` writes it.

    The file is decompressed as it is read, never as a whole.

    Parameters
    ----------
    path : path
    view : str
        Name of the view.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "text.npz"
    >>> sp.save_npz(path, sp.eye_array(3, 4, format="csr"))
    >>> [chunk.views for chunk in NpzSource(path, "text").chunks(2)]
    [Views(2 rows; text: 4 sparse; float64), Views(1 rows; text: 4 sparse; float64)]
    """

    def __init__(self, path: PathLike | File, view: str) -> None:
        self._path, self._view = File(path), view
        self.name = str(self._path)
        with _opened(self._path) as (archive, stack):
            kind = bytes(_Member(archive, "format", self._path, stack).read(1).tobytes())
            shape = _Member(archive, "shape", self._path, stack).read(2)
            if kind.strip(b"\0") != b"csr":
                raise SourceError(
                    f"{self._path} has a matrix in format {kind!r}; expected CSR. Write it with "
                    "scipy.sparse.save_npz(path, scipy.sparse.csr_array(X))."
                )
            members = [_Member(archive, name, self._path, stack) for name in _CSR]
            self._shape = tuple(whole("shape", n, least=0) for n in shape.tolist())
            if max(self._shape) > _MOST or members[2].length != self._shape[0] + 1:
                raise SourceError(
                    f"{self._path} has a matrix of shape {self._shape} that cannot be."
                )
            if members[0].length != members[1].length:
                raise SourceError(f"{self._path} has more values than columns for them, or fewer.")
            if members[1].dtype.kind != "i" or members[2].dtype.kind != "i":
                raise SourceError(f"{self._path} has places that are no whole numbers.")

    @property
    def schema(self) -> Schema:
        """The view and its width."""
        return Schema((self._view,), (self._shape[1],), (None,))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._shape[0]

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        with _opened(self._path) as (archive, stack):
            data, indices, indptr = (_Member(archive, n, self._path, stack) for n in _CSR)
            row = row_of(cursor)
            indptr.skip(min(row, self.n_rows))
            end = int(indptr.read(1)[0])
            data.skip(end)
            indices.skip(end)
            while row < self.n_rows:
                n = min(batch_size, self.n_rows - row)
                ends = np.concatenate([[end], indptr.read(n)]).astype(np.int64)
                block = self._block(ends, data, indices)
                row, end = row + n, int(ends[-1])
                yield Chunk(row - n, named({self._view: block}, self.schema), {"row": row})

    def _block(self, ends: NDArray[np.int64], data: "_Member", indices: "_Member") -> Block:
        counts = np.diff(ends)
        if (counts < 0).any() or (counts > self._shape[1]).any():
            raise SourceError(
                f"{self._path} has a row with more entries than columns, or fewer than 0."
            )
        total = int(counts.sum())
        check_chunk(total * (data.dtype.itemsize + indices.dtype.itemsize), self._path)
        columns = indices.read(total)
        if total and not (columns.min() >= 0 and columns.max() < self._shape[1]):
            raise SourceError(
                f"{self._path} has an entry in a column beyond its {self._shape[1]:,}."
            )
        parts = data.read(total), columns, ends - ends[0]
        return sp.csr_array(parts, shape=(len(counts), self._shape[1]))


_CSR = ("data", "indices", "indptr")


@contextmanager
def _opened(path: File) -> Iterator[tuple[zipfile.ZipFile, ExitStack]]:
    """Give a zip file that is open, and what closes with it."""
    path.check()
    with ExitStack() as stack:
        file = stack.enter_context(path.open())
        try:
            archive = stack.enter_context(zipfile.ZipFile(file))
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
            raise SourceError(f"{path} is no .npz file, or damaged: {error}") from error
        yield archive, stack


class _Member:
    """An array within a zip file, read from its beginning on."""

    def __init__(self, archive: zipfile.ZipFile, name: str, path: File, stack: ExitStack) -> None:
        self._path, self._name = path, name
        try:
            self._file = stack.enter_context(archive.open(f"{name}.npy"))
        except (KeyError, ValueError, RuntimeError, OSError, zipfile.BadZipFile) as error:
            raise SourceError(
                f"{path} holds no sparse matrix of scipy.sparse.save_npz: {error}"
            ) from error
        shape, _, self.dtype = read_header(self._file, path)
        self.length = math.prod(shape)

    def read(self, n: int) -> NDArray[Any]:
        """Return the next n entries."""
        content = self._take(n * self.dtype.itemsize)
        return np.frombuffer(content, self.dtype)

    def skip(self, n: int) -> None:
        """Pass over n entries."""
        left = n * self.dtype.itemsize
        while left:
            left -= len(self._take(min(left, 1 << 20)))

    def _take(self, n_bytes: int) -> bytes:
        try:
            return exactly(self._file, n_bytes, f"{self._path}, in {self._name},")
        except SourceError:
            raise
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, zlib.error) as error:
            raise SourceError(f"{self._path} is damaged in {self._name}: {error}") from error


def read_header(file: IO[bytes], path: File) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether columns come first, and dtype of a ``.npy`` array.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3), np.float32))
    >>> _ = file.seek(0)
    >>> read_header(file, File("x.npy"))
    ((2, 3), False, dtype('float32'))
    """
    try:
        version = npy.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = npy.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, fortran, dtype = npy.read_array_header_2_0(file)
        else:
            raise SourceError(f"{path} has a header of version {version}, which is not read.")
    except SourceError:
        raise
    except Exception as error:  # numpy parses the header as Python: anything may come of it
        raise SourceError(f"{path} is no array of NumPy, or damaged: {error}") from error
    if dtype.hasobject or dtype.kind not in "fiubS":
        raise SourceError(f"{path} has values of type {dtype}; expected numbers.")
    if any(type(n) is not int or not 0 <= n <= _MOST for n in shape):
        raise SourceError(f"{path} has an array of shape {shape}, which cannot be.")
    return shape, fortran, dtype


def check_chunk(n_bytes: int, path: File) -> None:
    """Refuse a chunk that would take too much memory."""
    if n_bytes > MAX_CHUNK_BYTES:
        raise SourceError(
            f"A chunk of {path} would take {n_bytes:,} bytes; at most {MAX_CHUNK_BYTES:,} are read "
            "at once. Choose a smaller batch_size."
        )
