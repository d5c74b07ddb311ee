"""MATLAB's ``.mat`` files: version 7.3 by h5py, others by `scipy.io`, which writes them too."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.disk import PathLike
from omvfs.formats.files import File, RowSource, check_chunk, open_hdf5, reading, refuse_elsewhere
from omvfs.formats.source import ReadOptions, Source, SourceError
from omvfs.formats.writer import HoldingWriter

# No variable is larger, nor deflated by a larger factor.
MAX_VARIABLE_BYTES, MAX_INFLATION = 1 << 31, 1100
MAX_CELLS = 1000
_ANYTHING = ReadOptions()
# Rows of version 7.3 are read by so many bytes, as MATLAB keeps columns together.
_WINDOW_BYTES = 1 << 26
_SIGNATURE, _USER_BLOCK = b"\x89HDF\r\n\x1a\n", 512
_NUMBERS = {"double", "single", "logical", "sparse"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_KEYWORDS = re.compile(
    "break|case|catch|classdef|continue|else|elseif|end|for|function|global|if|otherwise|parfor|"
    "persistent|return|spmd|switch|try|while"
)


class Matrix(NamedTuple):
    """A matrix of numbers in a file: its name, that of its variable, its shape, and where it is."""

    name: str
    variable: str
    shape: tuple[int, int]
    place: Any


class MatSource(RowSource):
    """The matrices of a MATLAB file, each variable a view, its rows the instances.

    A cell array ``X = {A, B}`` gives views ``X1`` and ``X2``, as MATLAB counts. Files that have
    instances in columns are to be transposed in MATLAB first.

    Dense matrices of version 7.3 are read by rows. Sparse ones, and all of older versions, are read
    as a whole when the first row is, cell arrays of older versions when the file is opened. Text,
    structures and what else MATLAB has are passed over.

    Views and variables to leave out go by the name of a matrix, or of a cell array for all of its
    matrices. By default all matrices of numbers with more than one row and more than one column
    are read, so that labels are left out.
    """

    def __init__(self, path: PathLike | File, options: ReadOptions = _ANYTHING) -> None:
        super().__init__(path)
        self._blocks: dict[str, Any] | None = None
        with ExitStack() as stack, reading(self._file):
            with self._file.open() as opened:
                head = opened.read(_USER_BLOCK + len(_SIGNATURE))
                self._stored = opened.seek(0, 2)
            self._root: Any = None
            if _SIGNATURE in (head[: len(_SIGNATURE)], head[_USER_BLOCK:]):
                self._root = open_hdf5(self._file, stack)
            found = list(self._matrices_73() if self._root else self._matrices_5())
            self.dropped = frozenset(options.drop) & {name for m in found for name in m[:2]}
            left = [m for m in found if self.dropped.isdisjoint(m[:2])]
            self._chosen = self._choose(left, options.views)
            self._stack = stack.pop_all()
        self._bytes, self._n_rows = self._file.size(), self._chosen[0].shape[0]
        names, widths = zip(*((m.name, m.shape[1]) for m in self._chosen), strict=True)
        self._schema = Schema(names, widths, (None,) * len(names))

    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""
        with reading(self._file, f" near row {start:,}"):
            if self._blocks is None:
                load = self._loaded_73 if self._root else self._loaded_5
                self._blocks = {m.name: _checked(load(m), m, self._file) for m in self._chosen}
            blocks = {name: block[start:stop] for name, block in self._blocks.items()}
            self._file.check_size(self._bytes)
        return blocks

    def close(self) -> None:
        """Close the file and let go of what was read."""
        self._blocks = None
        self._stack.close()

    def _choose(self, found: Sequence[Matrix], views: Sequence[str] | None) -> list[Matrix]:
        """Return the matrices to read."""
        proper = [matrix for matrix in found if min(matrix.shape) > 1]
        chosen = [m for name in dict.fromkeys(views or ()) for m in found if name in m[:2]]
        # A file that has none of those asked for is read as it is.
        chosen = chosen or proper
        self.other_views = tuple(matrix.name for matrix in proper if matrix not in chosen)
        if not chosen:
            raise SourceError(
                f"{self._file} has no matrix of numbers with more than one row and column; it has "
                f"{listed([matrix.name for matrix in found][:20])}."
            )
        names = [matrix.name for matrix in chosen]
        if twice := {name for name in names if names.count(name) > 1}:
            raise SourceError(
                f"{self._file} has more than one matrix {listed(twice)}. Rename one in MATLAB."
            )
        if len({matrix.shape[0] for matrix in chosen}) > 1:
            counts = ", ".join(f"{matrix.name} {matrix.shape[0]:,}" for matrix in chosen)
            raise SourceError(
                f"{self._file} has matrices with different numbers of rows: {counts}. Leave out "
                "those that are no views: drop=[...] (--drop NAME)."
            )
        return chosen

    def _check_bytes(self, name: str, n_bytes: int, stored: int) -> None:
        """Refuse a variable that claims more than can be in the file, before it is read."""
        if n_bytes > min(MAX_VARIABLE_BYTES, MAX_INFLATION * stored):
            raise SourceError(
                f"{self._file} cannot be read: {name} would take {n_bytes:,} bytes; its file has "
                f"{stored:,}, and at most {MAX_VARIABLE_BYTES:,} are read."
            )

    # Versions 4 to 7

    def _matrices_5(self) -> Iterator[Matrix]:
        """Yield the matrices of an older version, and read cell arrays."""
        with self._file.open() as opened:
            found = scipy.io.whosmat(opened)
        for name, shape, kind in found:
            if kind == "cell" and math.prod(shape) <= MAX_CELLS:
                cells = np.ravel(self._variable_5(name), "F")
                for number, cell in enumerate(cells, 1):
                    if getattr(cell, "dtype", np.dtype("O")).kind in "fiubc" and cell.ndim == 2:
                        yield Matrix(f"{name}{number}", name, cell.shape, cell)
            elif kind in _NUMBERS and len(shape) == 2:
                yield Matrix(name, name, shape, kind)

    def _loaded_5(self, matrix: Matrix) -> Any:
        if not isinstance(matrix.place, str):
            return matrix.place
        # A number takes a byte at least, and the end of a column of a sparse matrix four.
        sparse = matrix.place == "sparse"
        n_bytes = 4 * matrix.shape[1] if sparse else math.prod(matrix.shape)
        self._check_bytes(matrix.name, n_bytes, self._stored)
        return self._variable_5(matrix.name)

    def _variable_5(self, name: str) -> Any:
        with self._file.open() as opened:
            return scipy.io.loadmat(opened, variable_names=[name])[name]

    # Version 7.3, which is HDF5: its arrays are seen transposed

    def _matrices_73(self) -> Iterator[Matrix]:
        """Yield the matrices of version 7.3."""
        import h5py

        for variable in self._root:
            if variable.startswith("#") or not self._root.get(variable, getlink=True):
                continue
            item = self._root[variable]
            if _class_of(item) != "cell":
                yield from _matrix_73(variable, variable, item)
            elif h5py.check_ref_dtype(item.dtype) and item.size <= MAX_CELLS:
                for number, reference in enumerate(np.ravel(item[()]), 1):
                    if reference:
                        cell = self._root[reference]
                        yield from _matrix_73(f"{variable}{number}", variable, cell)

    def _loaded_73(self, matrix: Matrix) -> Any:
        item = matrix.place
        if "MATLAB_sparse" not in item.attrs:
            return _Transposed(matrix, self._file)
        parts = [self._whole_73(matrix, part) for part in ("data", "ir") if part in item]
        ends = self._whole_73(matrix, "jc")
        if not parts:  # without entries
            return sp.csr_array(matrix.shape)
        return sp.csc_array((*parts, ends), shape=matrix.shape)

    def _whole_73(self, matrix: Matrix, part: str) -> NDArray[Any]:
        dataset = matrix.place[part]
        refuse_elsewhere(dataset)
        self._check_bytes(matrix.name, dataset.nbytes, dataset.id.get_storage_size())
        return np.asarray(dataset[()])


def _class_of(item: Any) -> str:
    """Return the class that MATLAB has written, a number's for what others have."""
    name = item.attrs.get("MATLAB_class", b"double")
    return name.decode("latin-1") if isinstance(name, bytes) else str(name)


def _matrix_73(name: str, variable: str, item: Any) -> Iterator[Matrix]:
    """Yield what is a matrix of numbers."""
    if _class_of(item) not in _NUMBERS:
        return
    refuse_elsewhere(item)
    if "MATLAB_sparse" in item.attrs:
        shape = int(item.attrs["MATLAB_sparse"]), item["jc"].size - 1
        yield Matrix(name, variable, shape, item)
    elif (
        hasattr(item, "shape")
        and "MATLAB_empty" not in item.attrs
        and item.ndim == 2
        and item.dtype.kind in "fiubcV"
    ):
        yield Matrix(name, variable, item.shape[::-1], item)


def _checked(block: Any, matrix: Matrix, file: File) -> Any:
    """Return a matrix as something to cut by rows, if it is one of real numbers and sound."""
    if block.dtype.kind in "cV":
        raise SourceError(
            f"{matrix.name} of {file} has complex numbers; expected real ones. Leave it out: "
            f"drop=[{matrix.name!r}] (--drop {matrix.name}); or save its real and its imaginary "
            "part in MATLAB."
        )
    if block.shape != matrix.shape:
        raise SourceError(f"{matrix.name} of {file} has not the shape {matrix.shape} it claims.")
    if not sp.issparse(block):
        return block
    block = sp.csc_array(block)
    block.check_format(full_check=True)
    return block.tocsr()


class _Transposed:
    """A dense matrix of version 7.3 as something to cut by rows; some around them are kept."""

    def __init__(self, matrix: Matrix, file: File) -> None:
        self._dataset, self.shape, self._file = matrix.place, matrix.shape, file
        self.dtype = self._dataset.dtype
        self._start, self._rows = 0, np.empty((0, matrix.shape[1]))

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop = rows.start, rows.stop
        if not self._start <= start <= stop <= self._start + len(self._rows):
            row_bytes = max(1, self.shape[1] * self.dtype.itemsize)
            check_chunk((stop - start) * row_bytes, self._file)
            end = min(self.shape[0], max(stop, start + _WINDOW_BYTES // row_bytes))
            self._rows = np.ascontiguousarray(self._dataset[:, start:end].T)
            self._start = start
        return self._rows[start - self._start : stop - self._start]


class MatWriter(HoldingWriter):
    """Writes views as the matrices of a MATLAB file of version 5, compressed.

    All rows are held in memory until the ``with`` block is left: this is meant for selected
    features. The names of features are lost. A name that is no MATLAB identifier is made one: other
    signs than ``A`` to ``Z``, digits and ``_`` become ``_``, an ``x`` is put before one that begins
    otherwise or is a keyword, and the 63 first signs are kept.
    """

    def _write(self, views: Views) -> None:
        names = {view: _identifier(view) for view in views.names}
        if len(set(names.values())) < len(names):
            raise SourceError(
                f"{self._path} cannot hold views {listed(names)}: as MATLAB names they are "
                f"{listed(names.values())}. Rename them."
            )
        found = {names[view]: X for view, X in views.blocks.items()}
        with self._temporary.open("wb") as file:
            scipy.io.savemat(file, found, do_compression=True, long_field_names=True)


def open_reader(file: File, view: str, options: ReadOptions) -> Source:
    """Open a file for `open_source`."""
    return MatSource(file, options)


open_writer = MatWriter


def _identifier(name: str) -> str:
    """Return a name that MATLAB takes."""
    signs = re.sub("[^A-Za-z0-9_]", "_", name)
    begins = re.match("[A-Za-z]", signs) and not _KEYWORDS.fullmatch(signs)
    return (signs if begins else f"x{signs}")[:63]
