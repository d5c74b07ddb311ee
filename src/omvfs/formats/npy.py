"""NumPy's ``.npy`` arrays, read and written by rows."""

import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema
from omvfs.data.views import Views
from omvfs.formats._asked import Asked
from omvfs.formats._base import Kept, RowSource, Source, SourceError
from omvfs.formats._files import File, PathLike, check_chunk, exactly
from omvfs.formats._writer import Writer, only_block
from omvfs.model.arrays import dense

# No array that a file describes is wider, or longer.
MOST = 1 << 48


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

    _kept: IO[bytes] | None = None

    def __init__(self, path: PathLike | File, view: str) -> None:
        self._path, self._view = File(path), view
        self.name = str(self._path)
        self._path.check()
        with self._opened() as file:
            shape, fortran, self._dtype = read_header(file, self._path)
            self._offset = file.tell()
            size = file.seek(0, 2)
        if self._dtype.kind == "S":
            raise SourceError(f"{self._path} has text; expected numbers.")
        if len(shape) != 2:
            raise SourceError(
                f"{self._path} has an array of shape {shape}; expected rows × columns."
            )
        self._n_rows, self._width = shape
        self._schema = Schema((view,), (self._width,), (None,))
        needed = self._offset + math.prod(shape) * self._dtype.itemsize
        if needed > size:
            raise SourceError(f"{self._path} is cut off: {size:,} bytes of {needed:,}.")
        self._fortran = fortran

    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""
        n, width = stop - start, self._width
        check_chunk(n * width * self._dtype.itemsize, self._path)
        if not self._fortran:
            return {self._view: self._values([start * width], n * width).reshape(n, width)}
        # Columns one after another. Not mapped into memory: a file that is cut off meanwhile would
        # end the process.
        columns = self._values([j * self.n_rows + start for j in range(width)], n)
        return {self._view: np.ascontiguousarray(columns.reshape(width, n).T)}

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """Give the file; one from afar is kept, as opening it may mean to fetch it."""
        if not self._path.remote:
            with self._path.open() as file:
                yield file
            return
        if self._kept is None:
            self._kept = self._path.open()
        self._kept.seek(0)
        yield self._kept

    def close(self) -> None:
        """Close the file."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _values(self, places: list[int], n: int) -> NDArray[Any]:
        """Return n values from each place on."""
        size, parts = self._dtype.itemsize, []
        with self._opened() as file:
            for place in places:
                file.seek(self._offset + place * size)
                parts.append(exactly(file, n * size, str(self._path)))
        return np.frombuffer(parts[0] if len(parts) == 1 else b"".join(parts), self._dtype)


class NpyWriter(Writer):
    """Writes one view as a dense array.

    Parameters
    ----------
    path : path
    """

    _values: "Column | None" = None
    _width = 0

    def _append(self, views: Views, kept: Kept) -> None:
        X = only_block(views, self._path)
        if self._values is None:
            self._width = X.shape[1]
            self._values = Column(self._staging.folder, X.dtype, self._stack)
        self._values.append(dense(X))

    def _finish(self, whole: bool) -> None:
        if whole and self._values is not None:
            rows = self._values.length // self._width if self._width else 0
            with self._temporary.open("wb") as file:
                self._values.copy_to(file, (rows, self._width))


def open_reader(file: File, view: str, asked: Asked) -> Source:
    """Open a file for `open_source`."""
    return NpySource(file, view)


open_writer = NpyWriter


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
    if any(type(n) is not int or not 0 <= n <= MOST for n in shape):
        raise SourceError(f"{path} has an array of shape {shape}, which cannot be.")
    return shape, fortran, dtype


class Column:
    """Numbers of one type, written one after another into a file that has no name yet."""

    def __init__(self, folder: Path, dtype: np.dtype[Any], stack: ExitStack) -> None:
        nameless = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (the stack closes it)
        self.file: IO[bytes] = stack.enter_context(nameless)
        self.dtype, self.length = dtype, 0

    def append(self, values: Any) -> None:
        """Write more of them."""
        array = np.ascontiguousarray(values, self.dtype)
        self.file.write(array.data)
        self.length += array.size

    def copy_to(self, target: IO[bytes], shape: tuple[int, ...]) -> None:
        """Write all of them as a ``.npy`` array."""
        header = {
            "descr": npy.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": shape,
        }
        npy.write_array_header_1_0(target, header)
        self.file.seek(0)
        shutil.copyfileobj(self.file, target, 1 << 20)
