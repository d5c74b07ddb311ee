"""NumPy's ``.npy`` arrays, SciPy's ``.npz`` matrices, and folders of one such file a view."""

import math
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.disk import PathLike, settle, unfinished
from omvfs.formats.combined import SideBySide
from omvfs.formats.files import File, FileSource, RowSource, check_chunk, reading
from omvfs.formats.source import (
    Chunk,
    Cursor,
    Kept,
    ReadOptions,
    Source,
    SourceError,
    known_names,
    named,
    row_of,
)
from omvfs.formats.writer import Writer, only_block
from omvfs.model.arrays import dense
from omvfs.parameters import whole

# No array that a file describes is wider, or longer.
MOST = 1 << 48
# The arrays of a CSR matrix.
_CSR = ("data", "indices", "indptr")
_VIEW = re.compile(r"view_(\d+)_(.+)\.(npz|npy)")


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
        super().__init__(path)
        self._view = view
        with self._file.open() as file:
            shape, self._fortran, self._dtype = read_header(file, self._file)
            self._offset = file.tell()
            size = file.seek(0, 2)
        if self._dtype.kind == "S" or len(shape) != 2:
            raise SourceError(
                f"{self._file} has an array of shape {shape} and type {self._dtype}; expected "
                "numbers, rows × columns."
            )
        self._n_rows, self._width = shape
        self._schema = Schema((view,), (self._width,), (None,))
        needed = self._offset + math.prod(shape) * self._dtype.itemsize
        if needed > size:
            raise SourceError(f"{self._file} is cut off: {size:,} bytes of {needed:,}.")

    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""
        n, width = stop - start, self._width
        check_chunk(n * width * self._dtype.itemsize, self._file)
        if not self._fortran:
            return {self._view: self._values([start * width], n * width).reshape(n, width)}
        # Columns one after another. Not mapped into memory: a file that is cut off meanwhile would
        # end the process.
        columns = self._values([j * self._n_rows + start for j in range(width)], n)
        return {self._view: np.ascontiguousarray(columns.reshape(width, n).T)}

    def _values(self, places: list[int], n: int) -> NDArray[Any]:
        """Return n values from each place on."""
        size = self._dtype.itemsize
        content = self._file.parts([(self._offset + place * size, n * size) for place in places])
        return np.frombuffer(content, self._dtype)


def read_header(file: IO[bytes], path: File) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether columns come first, and dtype of a ``.npy`` array."""
    with reading(path):
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise SourceError(f"{path} has a header of version {version}, which is not read.")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file)
    if dtype.hasobject or dtype.kind not in "fiubS":
        raise SourceError(f"{path} has values of type {dtype}; expected numbers.")
    if any(type(n) is not int or not 0 <= n <= MOST for n in shape):
        raise SourceError(f"{path} has an array of shape {shape}, which cannot be.")
    return shape, fortran, dtype


class NpzSource(FileSource):
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
        super().__init__(path)
        self._view = view
        with _opened(self._file) as (archive, stack):
            kind = bytes(_Member(archive, "format", self._file, stack).read(1).tobytes())
            shape = _Member(archive, "shape", self._file, stack).read(2)
            if kind.strip(b"\0") != b"csr":
                raise SourceError(
                    f"{self._file} has a matrix in format {kind!r}; expected CSR. Write it with "
                    "scipy.sparse.save_npz(path, scipy.sparse.csr_array(X))."
                )
            members = [_Member(archive, name, self._file, stack) for name in _CSR]
            self._shape = tuple(whole("shape", n, least=0) for n in shape.tolist())
            data, *places = members
            if (
                max(self._shape) > MOST
                or [each.length for each in places] != [data.length, self._shape[0] + 1]
                or any(each.dtype.kind != "i" for each in places)
            ):
                raise SourceError(
                    f"{self._file} has a matrix of shape {self._shape} whose parts do not fit it."
                )
        self._n_rows = self._shape[0]
        self._schema = Schema((view,), (self._shape[1],), (None,))

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        with _opened(self._file) as (archive, stack):
            data, indices, indptr = (_Member(archive, n, self._file, stack) for n in _CSR)
            row = row_of(cursor)
            indptr.skip(min(row, self._n_rows))
            end = int(indptr.read(1)[0])
            data.skip(end)
            indices.skip(end)
            while row < self._n_rows:
                n = min(batch_size, self._n_rows - row)
                ends = np.concatenate([[end], indptr.read(n)]).astype(np.int64)
                block = self._block(ends, data, indices)
                with reading(self._file):
                    views = named({self._view: block}, self.schema)
                row, end = row + n, int(ends[-1])
                yield Chunk(row - n, views, {"row": row})

    def _block(self, ends: NDArray[np.int64], data: "_Member", indices: "_Member") -> Block:
        counts = np.diff(ends)
        if (counts < 0).any() or (counts > self._shape[1]).any():
            raise SourceError(
                f"{self._file} has a row with more entries than columns, or fewer than 0."
            )
        total = int(counts.sum())
        check_chunk(total * (data.dtype.itemsize + indices.dtype.itemsize), self._file)
        parts = data.read(total), indices.read(total), ends - ends[0]
        return sp.csr_array(parts, shape=(len(counts), self._shape[1]))


@contextmanager
def _opened(path: File) -> Iterator[tuple[zipfile.ZipFile, ExitStack]]:
    """Give a zip file that is open, and what closes with it."""
    with ExitStack() as stack:
        file = stack.enter_context(path.open())
        with reading(path):
            archive = stack.enter_context(zipfile.ZipFile(file))
        yield archive, stack


class _Member:
    """An array within a zip file, read from its beginning on."""

    def __init__(self, archive: zipfile.ZipFile, name: str, path: File, stack: ExitStack) -> None:
        self._path, self._name = path, name
        with reading(path):
            if f"{name}.npy" not in archive.namelist():
                raise ValueError("it holds no matrix of scipy.sparse.save_npz")
            self._file = stack.enter_context(archive.open(f"{name}.npy"))
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
        with reading(self._path, f" in {self._name}"):
            found = self._file.read(n_bytes)
            if len(found) < n_bytes:
                raise ValueError("it is cut off")
            return found


class FolderSource(SideBySide):
    """The views of a folder, aligned by row.

    Names of the features are read from ``features_<number>_<name>.txt``, one a line, if there.

    Parameters
    ----------
    path : path
        The folder.
    views : sequence of str, default=None
        Names of the views to read; by default all, in the order of their numbers.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "view_0_image.npy", np.eye(3))
    >>> np.save(folder / "view_1_text.npy", np.ones((3, 2)))
    >>> [chunk.views for chunk in FolderSource(folder).chunks(2)]
    [Views(2 rows; image: 3, text: 2; float64), Views(1 rows; image: 3, text: 2; float64)]
    """

    def __init__(self, path: str | os.PathLike[str], views: Sequence[str] | None = None) -> None:
        files = view_files(Path(path))
        names = list(dict.fromkeys(files if views is None else views))
        if unknown := [name for name in names if name not in files]:
            raise SourceError(f"Got views {listed(unknown)}; folder {path} has {listed(files)}.")
        super().__init__({name: _SOURCES[files[name].suffix](files[name], name) for name in names})
        self.name = f"Folder {path}"
        features = tuple(
            _feature_names(files[name], width)
            for name, width in zip(names, self._schema.widths, strict=True)
        )
        self._schema = Schema(self._schema.names, self._schema.widths, features)

    def _chunks(self, batch_size: int, cursor: Cursor | None) -> Iterator[Chunk]:
        names = known_names(self._schema)
        for chunk in super()._chunks(batch_size, cursor):
            yield replace(chunk, views=chunk.views.named(names))


def view_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by the name of the view, in the order of their numbers."""
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    if unfinished(folder):
        raise SourceError(
            f"Folder {folder} is not whole: who wrote it was ended before its last file was there. "
            "Write to it again, which brings the rest."
        )
    found: dict[str, tuple[int, Path]] = {}
    for file in folder.iterdir():
        if match := _VIEW.fullmatch(file.name):
            if match[2] in found:
                raise SourceError(f"Folder {folder} has two files of view {match[2]!r}.")
            found[match[2]] = int(match[1]), file
    if not found:
        raise FileNotFoundError(
            f"Folder {folder} has no file like view_0_text.npz or view_0_image.npy, nor parts of "
            "a table or of JSON Lines. For parts of another kind, give a glob: "
            f"'{folder}/*.npy'."
        )
    return {name: found[name][1] for name in sorted(found, key=lambda name: found[name])}


def _feature_names(view: Path, width: int) -> tuple[str, ...] | None:
    file = view.with_name(view.stem.replace("view", "features", 1) + ".txt")
    if not file.exists():
        return None
    try:
        # Not splitlines: a name may hold one of the rarer ends of lines.
        names = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise SourceError(f"{file} is no text in UTF-8: {error}") from error
    if len(names) != width:
        raise SourceError(f"{file} has {len(names):,} names; {view} has {width:,} features.")
    return tuple(names)


class _Growing:
    """A ``.npy`` file to which rows are added; its first lines are written again at the end."""

    def __init__(self, file: IO[bytes], dtype: Any, *width: int) -> None:
        self.file, self._dtype, self._width, self.length = file, np.dtype(dtype), width, 0
        self._write_header()

    def append(self, rows: Any) -> None:
        """Write more rows."""
        self.file.write(np.ascontiguousarray(rows, self._dtype).data)
        self.length += len(rows)

    def finish(self) -> None:
        """Write how many there are, and go back to the beginning."""
        self.file.seek(0)
        self._write_header()
        self.file.seek(0)

    def _write_header(self) -> None:
        # NumPy leaves room for a length of 21 digits.
        about = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False}
        npy.write_array_header_1_0(self.file, {**about, "shape": (self.length, *self._width)})


class NpyWriter(Writer):
    """Writes one view as a dense array."""

    _rows: _Growing | None = None

    def _append(self, views: Views, kept: Kept) -> None:
        X = dense(only_block(views, self._path))
        if self._rows is None:
            file = self._stack.enter_context(self._temporary.open("wb"))
            self._rows = _Growing(file, X.dtype, X.shape[1])
        self._rows.append(X)

    def _finish(self) -> None:
        if self._rows is not None:
            self._rows.finish()


class NpzWriter(Writer):
    """Writes one view as a CSR matrix that `scipy.sparse.load_npz` reads."""

    _parts: dict[str, _Growing] | None = None
    _width = _total = 0

    def _append(self, views: Views, kept: Kept) -> None:
        X = sp.csr_array(only_block(views, self._path))
        if self._parts is None:
            self._width, types = X.shape[1], {"data": X.dtype, "indices": "i4", "indptr": "i8"}
            self._parts = {
                name: _Growing(self._stack.enter_context(nameless), dtype)
                for name, dtype in types.items()
                for nameless in [tempfile.TemporaryFile(dir=self._staging.folder)]  # noqa: SIM115
            }
            self._parts["indptr"].append([0])
        self._parts["data"].append(X.data)
        self._parts["indices"].append(X.indices)
        self._parts["indptr"].append(X.indptr[1:].astype(np.int64) + self._total)
        self._total += X.nnz

    def _finish(self) -> None:
        if self._parts is None:
            return
        shape = self._parts["indptr"].length - 1, self._width
        small = {"format": np.array(b"csr"), "shape": np.array(shape)}
        with zipfile.ZipFile(self._temporary, "w", zipfile.ZIP_DEFLATED, True, 1) as archive:
            for name, array in small.items():
                with archive.open(f"{name}.npy", "w") as file:
                    npy.write_array(file, array, allow_pickle=False)
            for name, part in self._parts.items():
                part.finish()
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    shutil.copyfileobj(part.file, file, 1 << 20)


class FolderWriter(Writer):
    """Writes views as ``view_<number>_<name>.npz`` (CSR) or ``.npy``, and names of their features.

    Nothing but a chunk is held in memory. The files appear together when the ``with`` block is
    left, not if that is by an error. The folder is made if missing, and must not hold views.
    """

    def __init__(self, path: PathLike) -> None:
        self._path, self._stack, self._given = Path(path), ExitStack(), None
        self._writers: dict[str, Writer] = {}
        settle(self._path)
        self._check_free()

    def _check_free(self) -> None:
        files = self._path.iterdir() if self._path.is_dir() else ()
        if any(file.name.startswith(("view_", "features_")) for file in files):
            raise FileExistsError(f"Folder {self._path} holds views already.")

    def _append(self, views: Views, kept: Kept) -> None:
        for number, (name, X) in enumerate(views.blocks.items() if not self._writers else ()):
            kind, ending = (NpzWriter, "npz") if sp.issparse(X) else (NpyWriter, "npy")
            path = self._path / f"view_{number}_{name}.{ending}"
            self._writers[name] = self._stack.enter_context(kind(path, staging=self._staging))
            names = views.feature_names[name]
            if names is not None and not any("\n" in each for each in names):
                file = self._staging.folder / f"features_{number}_{name}.txt"
                file.write_text("".join(f"{each}\n" for each in names), encoding="utf-8")
        for name in views.names:
            self._writers[name].append(views.only([name]))

    def _publish(self) -> None:
        self._check_free()
        self._staging.publish()


_SOURCES: dict[str, Any] = {".npz": NpzSource, ".npy": NpySource}


def open_reader(file: File, view: str, options: ReadOptions) -> Source:
    """Open a file for `open_source`."""
    source: Source = _SOURCES[file.ending](file, view)
    return source


def open_writer(path: PathLike, *more: Any) -> Writer:
    """Return what writes a file."""
    kind = NpzWriter if File(path).ending == ".npz" else NpyWriter
    return kind(path, *more)
