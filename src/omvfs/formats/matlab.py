"""MATLAB's ``.mat`` files: read in versions 5 to 7.3, written in 7.3."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.disk import Staging
from omvfs.formats import _mat5
from omvfs.formats._asked import Asked, split
from omvfs.formats._base import NOTHING, Kept, RowSource, Source, SourceError
from omvfs.formats._files import File, PathLike, check_chunk
from omvfs.formats._hdf5 import PatientFile
from omvfs.formats._mat5 import Mat5, Matrix, damaged
from omvfs.formats._writer import MOST_COLUMNS, Writer
from omvfs.model.arrays import dense
from omvfs.wording import Clause, Sentence

_NAME_SOME = Clause("variables", " Name those to read: variables=[...].")
_NAME_OTHERS = Clause("other variables", "Name those to read: variables=[...]")

# Rows of version 7.3 are read by so many bytes, as MATLAB keeps columns together.
_WINDOW_BYTES = 1 << 26

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_USER_BLOCK = 512
_NUMBERS = {"double", "single", "logical"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_HEADER = b"MATLAB 7.3 MAT-file, Platform: Python, Created by: omvfs HDF5 schema 1.00 ."
_KEYWORDS = re.compile(
    "break|case|catch|classdef|continue|else|elseif|end|for|function|global|if|otherwise|parfor|"
    "persistent|return|spmd|switch|try|while"
)


class MatSource(RowSource):
    """The matrices of a MATLAB file, each variable a view, its rows the instances.

    A cell array ``X = {A, B}`` gives views ``X1`` and ``X2``, as MATLAB counts. Files that have
    instances in columns are to be transposed in MATLAB first.

    Matrices of versions 5 to 7, and sparse ones of version 7.3, are read as a whole when the first
    row is, and kept. Dense ones of version 7.3 are read by rows. Text, structures and what else
    MATLAB has are passed over.

    Parameters
    ----------
    path : path or File
    variables : sequence of str, default=None
        Variables to read: by the name of a view, or of a cell array for all of its matrices. By
        default all matrices of numbers with more than one row and more than one column, so that
        labels are left out.
    drop : sequence of str, default=()
        Variables to leave out, by the same names; `dropped` tells which of them there are.
    views : sequence of str, default=None
        Views to read of those chosen, if there are any of them; by default all.

    Examples
    --------
    >>> import tempfile
    >>> import scipy.sparse as sp
    >>> from scipy.io import savemat
    >>> path = tempfile.mkdtemp() + "/fox.mat"
    >>> views = np.array([sp.eye_array(3, 5), np.ones((3, 2))], dtype=object)
    >>> savemat(path, {"X": views, "Y": [1, 2, 1]})
    >>> [chunk.views for chunk in MatSource(path).chunks(2)]
    [Views(2 rows; X1: 5 sparse, X2: 2; float64), Views(1 rows; X1: 5 sparse, X2: 2; float64)]
    """

    def __init__(
        self,
        path: PathLike | File,
        variables: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        views: Sequence[str] | None = None,
    ) -> None:
        self._file = File(path)
        self._file.check()
        self._blocks: dict[str, Any] | None = None
        with ExitStack() as stack:
            self._reader = self._open(stack)
            found = self._reader.matrices
            self.dropped = frozenset(drop) & {name for m in found for name in (m.name, m.variable)}
            left = [m for m in found if self.dropped.isdisjoint((m.name, m.variable))]
            self._chosen = self._choose(left, variables, views)
            self._stack = stack.pop_all()
        self.name, self._bytes = str(self._file), self._file.size()
        self._n_rows = self._chosen[0].shape[0]
        names, widths = zip(*((m.name, m.shape[1]) for m in self._chosen), strict=True)
        self._schema = Schema(names, widths, (None,) * len(names))

    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""
        if self._blocks is None:
            self._blocks = self._reader.load(self._chosen)
        blocks = {name: block[start:stop] for name, block in self._blocks.items()}
        self._file.check_size(self._bytes)
        return blocks

    def close(self) -> None:
        """Close the file and let go of what was read."""
        self._blocks = None
        self._stack.close()

    def _open(self, stack: ExitStack) -> "_Reader":
        with self._file.open() as file:
            head = file.read(_USER_BLOCK + len(_SIGNATURE))
        if _SIGNATURE in (head[: len(_SIGNATURE)], head[_USER_BLOCK:]):
            return _Mat73(self._file, stack)
        return Mat5(self._file)

    def _choose(
        self,
        found: Sequence[Matrix],
        variables: Sequence[str] | None,
        views: Sequence[str] | None,
    ) -> list[Matrix]:
        """Return the matrices to read."""
        names = [matrix.name for matrix in found]
        if variables is None:
            chosen = [matrix for matrix in found if min(matrix.shape) > 1]
        else:
            known = {*names, *(matrix.variable for matrix in found)}
            if unknown := [name for name in variables if name not in known]:
                raise SourceError(
                    f"{self._file} has no matrix of numbers {listed(unknown)}; it has "
                    f"{listed(names[:20])}."
                )
            asked = dict.fromkeys(variables)
            chosen = [m for name in asked for m in found if name in (m.name, m.variable)]
        if not chosen:
            said = (
                f"{self._file} has no matrix of numbers with more than one row and column; it has "
            )
            raise SourceError(Sentence(f"{said}{listed(names[:20])}.", _NAME_SOME))
        if twice := [name for name, n in Counter(m.name for m in chosen).items() if n > 1]:
            raise SourceError(
                f"{self._file} has more than one matrix {listed(twice)}; expected each once. "
                "Rename one in MATLAB."
            )
        read, self.other_views = split([matrix.name for matrix in chosen], views)
        chosen = [matrix for matrix in chosen if matrix.name in read]
        for matrix in chosen:
            if matrix.kind == "complex":
                raise SourceError(
                    f"{matrix.name} of {self._file} has complex numbers; expected real ones. Leave "
                    "it out, or save its real and its imaginary part in MATLAB."
                )
            if not matrix.shape[1]:
                raise SourceError(f"{matrix.name} of {self._file} has no columns. Leave it out.")
        if len({matrix.shape[0] for matrix in chosen}) > 1:
            counts = ", ".join(f"{matrix.name} {matrix.shape[0]:,}" for matrix in chosen)
            said = f"{self._file} has matrices with different numbers of rows: {counts}. "
            raise SourceError(Sentence(said, _NAME_OTHERS, "."))
        return chosen


class MatWriter(Writer):
    """Writes views as the matrices of a MATLAB file of version 7.3, rows below rows.

    Nothing but a chunk is held in memory. Used in a ``with`` block; the file appears when it is
    left, not if that is by an error. MATLAB lists variables by name, so that their order is lost,
    and so are the names of features.

    Parameters
    ----------
    path : path
        The file, which must not be there yet.

    Notes
    -----
    Sparse views are written dense: this is meant for selected features. A name that is no MATLAB
    identifier is made one: other signs than ``A`` to ``Z``, digits and ``_`` become ``_``, an
    ``x`` is put before one that begins otherwise or is a keyword, and the 63 first signs are kept.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/selected.mat"
    >>> with MatWriter(path) as writer:
    ...     writer.append(Views({"text": np.eye(2), "4th image": np.ones((2, 3))}))
    ...     writer.append(Views({"text": np.ones((1, 2)), "4th image": np.ones((1, 3))}))
    >>> [chunk.views for chunk in MatSource(path).chunks(3)]
    [Views(3 rows; text: 2, x4th_image: 3; float64)]
    """

    def __init__(
        self,
        path: PathLike,
        kept: Mapping[str, Any] = NOTHING,
        staging: Staging | None = None,
    ) -> None:
        h5py = _h5py("Writing this file needs h5py")
        super().__init__(path, staging=staging)
        # MATLAB reads what HDF5 1.8 does.
        self._written = PatientFile(self._temporary)
        self._file = h5py.File(
            self._written, "w", libver=("earliest", "v108"), userblock_size=_USER_BLOCK
        )
        self._schema: Schema | None = None
        self._names: dict[str, str] = {}
        self._n_rows = 0

    def _append(self, views: Views, kept: Kept) -> None:
        if self._schema is None:
            self._names, self._schema = self._start(views), views.schema
        self._schema.check(views.schema)
        start, self._n_rows = self._n_rows, self._n_rows + len(views)
        for view, X in views.blocks.items():
            dataset = self._file[self._names[view]]
            dataset.resize(self._n_rows, axis=1)
            dataset[:, start:] = dense(X).T
        self._written.check()

    def _start(self, views: Views) -> dict[str, str]:
        """Make a matrix without rows for every view, and return their names."""
        names = {view: _identifier(view) for view in views.names}
        if len(set(names.values())) < len(names):
            raise SourceError(
                f"{self._path} cannot hold views {listed(names)}: as MATLAB names they are "
                f"{listed(names.values())}. Rename them."
            )
        for view, X in views.blocks.items():
            width = X.shape[1]
            if width > MOST_COLUMNS:
                raise SourceError(
                    f"View {view!r} has {width:,} columns; at most {MOST_COLUMNS:,} are "
                    f"written to {self._path}. Select features first, or write a folder."
                )
            rows = min(max(len(views), 64), 1024)
            columns = min((1 << 20) // (rows * X.dtype.itemsize), width)
            dataset = self._file.create_dataset(
                names[view],
                (width, 0),
                X.dtype,
                maxshape=(width, None),
                chunks=(columns, rows),
                compression="gzip",
                compression_opts=1,
            )
            kind = b"single" if X.dtype == np.float32 else b"double"
            dataset.attrs["MATLAB_class"] = np.bytes_(kind)
        return names

    def _finish(self, whole: bool) -> None:
        with closing(self._written), self._file as file:
            for name in self._names.values() if whole else ():
                if not file[name].size:  # without entries, MATLAB writes the shape
                    shape, kind = file[name].shape[::-1], file[name].attrs["MATLAB_class"]
                    del file[name]
                    file[name] = np.array(shape, np.uint64)
                    file[name].attrs["MATLAB_class"] = kind
                    file[name].attrs["MATLAB_empty"] = np.uint8(1)
        self._written.check()
        if whole:
            with self._temporary.open("r+b") as raw:
                raw.write(_HEADER.ljust(116) + bytes(8) + b"\0\2IM")


def open_reader(file: File, view: str, asked: Asked) -> Source:
    """Open a file for `open_source`."""
    return MatSource(file, None, asked.drop, asked.views)


open_writer = MatWriter


class _Reader(Protocol):
    @property
    def matrices(self) -> Sequence[Matrix]: ...

    def load(self, wanted: Sequence[Matrix]) -> dict[str, Any]: ...


class _Mat73:
    """The matrices of a file of version 7.3, which is HDF5: its arrays are seen transposed."""

    def __init__(self, file: File, stack: ExitStack) -> None:
        self._file, self._name = file, str(file)
        self._h5py = h5py = _h5py("MATLAB files of version 7.3 need")
        from omvfs.formats._anndata_layout import refuse_elsewhere, refuse_links

        self._refuse_elsewhere = refuse_elsewhere
        place = stack.enter_context(file.open()) if file.remote else file.text
        try:
            self._root = stack.enter_context(h5py.File(place, "r"))
            refuse_links(self._root)
            links = {name: self._root.get(name, getlink=True) for name in self._root}
            self.matrices = [
                matrix
                for name, link in links.items()
                if isinstance(link, h5py.HardLink) and not name.startswith("#")
                for matrix in self._found(name, self._root[name])
            ]
        except SourceError:
            raise
        except Exception as error:  # what h5py makes of a damaged file may be anything
            raise damaged(self._name, str(error)) from error

    def load(self, wanted: Sequence[Matrix]) -> dict[str, Any]:
        """Return matrices by name, as something to cut by rows."""
        try:
            return {
                m.name: _Transposed(m, self._file) if m.kind == "dense" else self._sparse(m)
                for m in wanted
            }
        except SourceError:
            raise
        except Exception as error:
            raise damaged(self._name, str(error)) from error

    def _found(self, name: str, item: Any) -> Iterator[Matrix]:
        """Yield the matrices of a variable."""
        if self._class_of(item) != "cell":
            yield from self._matrix(name, name, item)
        elif self._h5py.check_ref_dtype(item.dtype) and item.size <= _mat5.MAX_CELLS:
            for number, reference in enumerate(np.ravel(item[()]), 1):
                if reference:
                    yield from self._matrix(f"{name}{number}", name, self._root[reference])

    def _matrix(self, name: str, variable: str, item: Any) -> Iterator[Matrix]:
        """Yield what is a matrix of numbers."""
        if self._class_of(item) not in _NUMBERS:
            return
        self._refuse_elsewhere(item)
        if "MATLAB_sparse" in item.attrs:
            shape = int(item.attrs["MATLAB_sparse"]), item["jc"].size - 1
            is_complex = "data" in item and item["data"].dtype.kind not in "fiub"
            yield Matrix(name, variable, shape, "complex" if is_complex else "sparse", item)
        elif not isinstance(item, self._h5py.Dataset):
            return
        elif "MATLAB_empty" not in item.attrs and item.ndim == 2 and item.dtype.kind in "fiubcV":
            kind = "complex" if item.dtype.kind in "cV" else "dense"
            yield Matrix(name, variable, (item.shape[1], item.shape[0]), kind, item)

    def _class_of(self, item: Any) -> str:
        """Return the class that MATLAB has written, a number's for what others have."""
        name = item.attrs.get("MATLAB_class", b"double")
        return name.decode("latin-1") if isinstance(name, bytes) else str(name)

    def _sparse(self, matrix: Matrix) -> Block:
        """Return a sparse matrix, which is stored by columns."""
        ends = self._whole(matrix, "jc")
        if "data" not in matrix.place:  # without entries
            ends, values, rows = np.zeros_like(ends), np.empty(0), ends[:0]
        else:
            values, rows = self._whole(matrix, "data"), self._whole(matrix, "ir")
        name = f"{matrix.name} of {self._name}"
        return _mat5.csr_of_columns(values, rows, ends, matrix.shape, name)

    def _whole(self, matrix: Matrix, part: str) -> NDArray[Any]:
        dataset = matrix.place[part]
        self._refuse_elsewhere(dataset)
        most = min(_mat5.MAX_VARIABLE_BYTES, _mat5.MAX_INFLATION * dataset.id.get_storage_size())
        if dataset.ndim != 1 or dataset.nbytes > most:
            raise damaged(self._name, f"{part} of {matrix.name} cannot be of {dataset.shape}")
        return np.asarray(dataset[()])


class _Transposed:
    """A dense matrix of version 7.3 as something to cut by rows; some around them are kept."""

    def __init__(self, matrix: Matrix, file: File) -> None:
        self._dataset, self._shape, self._file = matrix.place, matrix.shape, file
        self._start, self._rows = 0, np.empty((0, matrix.shape[1]))

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop = rows.start, rows.stop
        if not self._start <= start <= stop <= self._start + len(self._rows):
            row_bytes = max(1, self._shape[1] * self._dataset.dtype.itemsize)
            check_chunk((stop - start) * row_bytes, self._file)
            end = min(self._shape[0], max(stop, start + _WINDOW_BYTES // row_bytes))
            try:
                self._rows = np.ascontiguousarray(self._dataset[:, start:end].T)
            except SourceError:
                raise
            except Exception as error:  # what h5py makes of a damaged file may be anything
                raise damaged(str(self._file), f"near row {start:,}: {error}") from error
            self._start = start
        return self._rows[start - self._start : stop - self._start]


def _h5py(need: str) -> Any:
    try:
        import h5py
    except ImportError as missing:
        raise ImportError(f"{need}: pip install omvfs[files]") from missing
    return h5py


def _identifier(name: str) -> str:
    """Return a name that MATLAB takes.

    Examples
    --------
    >>> _identifier("text"), _identifier("3-grams"), _identifier("end")
    ('text', 'x3_grams', 'xend')
    """
    signs = re.sub("[^A-Za-z0-9_]", "_", name)
    begins = re.match("[A-Za-z]", signs) and not _KEYWORDS.fullmatch(signs)
    return (signs if begins else f"x{signs}")[:63]
