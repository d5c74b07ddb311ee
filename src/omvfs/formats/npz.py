"""SciPy's ``.npz`` files of one CSR matrix, read and written by rows."""

import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema
from omvfs.data.views import Views
from omvfs.disk import Staging
from omvfs.formats._asked import Asked
from omvfs.formats._base import NOTHING, Chunk, Cursor, Kept, Source, SourceError, named, row_of
from omvfs.formats._files import File, PathLike, check_chunk, exactly
from omvfs.formats._writer import Writer, only_block
from omvfs.formats.npy import MOST, Column, read_header
from omvfs.parameters import whole


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

    _n_rows: int

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
            if max(self._shape) > MOST or members[2].length != self._shape[0] + 1:
                raise SourceError(
                    f"{self._path} has a matrix of shape {self._shape} that cannot be."
                )
            if members[0].length != members[1].length:
                raise SourceError(f"{self._path} has more values than columns for them, or fewer.")
            if members[1].dtype.kind != "i" or members[2].dtype.kind != "i":
                raise SourceError(f"{self._path} has places that are no whole numbers.")
        self._n_rows = self._shape[0]
        self._schema = Schema((view,), (self._shape[1],), (None,))

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        with _opened(self._path) as (archive, stack):
            data, indices, indptr = (_Member(archive, n, self._path, stack) for n in _CSR)
            row = row_of(cursor)
            indptr.skip(min(row, self._n_rows))
            end = int(indptr.read(1)[0])
            data.skip(end)
            indices.skip(end)
            while row < self._n_rows:
                n = min(batch_size, self._n_rows - row)
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


class NpzWriter(Writer):
    """Writes one view as a CSR matrix that `scipy.sparse.load_npz` reads.

    Parameters
    ----------
    path : path
    """

    def __init__(
        self,
        path: PathLike,
        kept: Mapping[str, Any] = NOTHING,
        staging: Staging | None = None,
    ) -> None:
        super().__init__(path, staging=staging)
        self._width, self._total = 0, 0
        self._parts: dict[str, Column] = {}

    def _append(self, views: Views, kept: Kept) -> None:
        X = sp.csr_array(only_block(views, self._path))
        if not self._parts:
            self._width = X.shape[1]
            types = {"data": X.dtype, "indices": np.dtype(np.int32), "indptr": np.dtype(np.int64)}
            folder = self._staging.folder
            self._parts = {name: Column(folder, t, self._stack) for name, t in types.items()}
            self._parts["indptr"].append([0])
        self._parts["data"].append(X.data)
        self._parts["indices"].append(X.indices)
        self._parts["indptr"].append(X.indptr[1:].astype(np.int64) + self._total)
        self._total += int(X.indptr[-1])

    def _finish(self, whole: bool) -> None:
        if not whole or not self._parts:
            return
        shape = self._parts["indptr"].length - 1, self._width
        small = {"format": np.array(b"csr"), "shape": np.array(shape)}
        deflated = zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(self._temporary, "w", deflated, compresslevel=1) as archive:
            for name, array in small.items():
                with archive.open(f"{name}.npy", "w") as file:
                    npy.write_array(file, array, allow_pickle=False)
            for name, part in self._parts.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    part.copy_to(file, (part.length,))


def open_reader(file: File, view: str, asked: Asked) -> Source:
    """Open a file for `open_source`."""
    return NpzSource(file, view)


open_writer = NpzWriter


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
            for own in (error, error.__context__):  # zipfile takes any trouble for damage
                if isinstance(own, SourceError):
                    raise own from None
            raise SourceError(f"{path} is no .npz file, or damaged: {error}") from error
        yield archive, stack


class _Member:
    """An array within a zip file, read from its beginning on."""

    def __init__(self, archive: zipfile.ZipFile, name: str, path: File, stack: ExitStack) -> None:
        self._path, self._name = path, name
        try:
            self._file = stack.enter_context(archive.open(f"{name}.npy"))
        except SourceError:
            raise
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
