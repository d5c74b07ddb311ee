"""AnnData's ``.h5ad`` and MuData's ``.h5mu`` files, read and written by rows with h5py."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.sparse as sp

from omvfs.data.schema import Schema
from omvfs.data.views import Block, Views
from omvfs.disk import Staging
from omvfs.formats._anndata_layout import layout
from omvfs.formats._asked import Asked
from omvfs.formats._base import RowSource, Source, SourceError
from omvfs.formats._files import File, PathLike, check_chunk
from omvfs.formats._hdf5 import PatientFile
from omvfs.formats._writer import Keys, Writer, only_block
from omvfs.model.arrays import dense

# What h5py raises when a file is damaged.
_DAMAGE = KeyError, RuntimeError, TypeError, ValueError, OSError, AttributeError
# What ends the process that reads names when it takes too long, or falls over a damaged file.
_ENDLESS, _CRASHES = ("SIGPROF",), ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL")
_PROGRAM = Path(__file__).with_name("_anndata_layout.py")
_TEXT = h5py.string_dtype("utf-8")


class AnnDataSource(RowSource):
    """The matrices of an ``.h5ad`` or ``.h5mu`` file.

    ``X`` of an ``.h5ad`` file is one view; more come from ``obsm``. Each modality of an ``.h5mu``
    file is a view; its rows must be those of all. Sparse matrices must be CSR.

    Parameters
    ----------
    path : path
    view : str
        Name of the view of ``X`` in an ``.h5ad`` file.
    obsm : mapping of str to str, default=None
        More views of an ``.h5ad`` file: by their name, the key in ``obsm``.
    """

    def __init__(
        self, path: PathLike | File, view: str, obsm: Mapping[str, str] | None = None
    ) -> None:
        self._path = File(path)
        self.name = str(self._path)
        self._stack = ExitStack()
        with ExitStack() as stack:
            described = _layout(self._path, view, obsm or {}, stack)
            self._file = open_hdf5(self._path, stack)
            self._places = {str(each["name"]): str(each["place"]) for each in described}
            for each in described:
                self._check(each)
            self._n_rows = self._rows_of_all(described)
            self._bytes = self._path.size()
            self._stack = stack.pop_all()
        widths = tuple(each["shape"][1] for each in described)
        names = tuple(
            tuple(own) if own is not None and len(own) == width else None
            for own, width in zip((each["names"] for each in described), widths, strict=True)
        )
        self._schema = Schema(tuple(self._places), widths, names)

    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""
        try:
            blocks = {name: self._rows(name, start, stop) for name in self._places}
        except SourceError:
            raise
        except _DAMAGE as error:
            raise SourceError(f"{self._path} is damaged near row {start:,}: {error}") from error
        self._path.check_size(self._bytes)
        return blocks

    def close(self) -> None:
        """Close the file."""
        self._stack.close()

    def _check(self, view: Mapping[str, Any]) -> None:
        """Refuse a matrix that cannot be read by rows."""
        name, (n, _) = view["name"], view["shape"]
        if view["kind"] == "dense":
            return
        if view["kind"] != "csr_matrix":
            raise SourceError(
                f"View {name!r} of {self._path} is stored as {view['kind']}; expected csr_matrix, "
                "which has its rows together: adata.X = adata.X.tocsr()."
            )
        try:
            parts = {
                part: self._file[view["place"]][part] for part in ("data", "indices", "indptr")
            }
            fit = parts["indptr"].shape == (n + 1,)
            fit = fit and parts["data"].shape == parts["indices"].shape
            whole = all(parts[part].dtype.kind in "iu" for part in ("indptr", "indices"))
        except _DAMAGE as error:
            raise SourceError(f"{self._path} is not as AnnData writes it: {error}") from error
        if not fit or not whole:
            raise SourceError(
                f"View {name!r} of {self._path} has parts that do not fit each other, or places "
                "that are no whole numbers."
            )

    def _rows_of_all(self, described: Sequence[Mapping[str, Any]]) -> int:
        lengths = {each["name"]: each["shape"][0] for each in described}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} {n:,}" for name, n in lengths.items())
            raise SourceError(
                f"{self._path} has different numbers of rows: {counts}. Keep the cells that all "
                "modalities have: muon.pp.intersect_obs."
            )
        if not lengths:
            raise SourceError(f"{self._path} has no modalities.")
        return int(next(iter(lengths.values())))

    def _rows(self, name: str, start: int, stop: int) -> Block:
        X, width = (
            self._file[self._places[name]],
            self._schema.widths[self._schema.names.index(name)],
        )
        if isinstance(X, h5py.Dataset):
            check_chunk((stop - start) * width * X.dtype.itemsize, self._path)
            return np.asarray(X[start:stop])
        ends = X["indptr"][start : stop + 1].astype(np.int64)
        counts = np.diff(ends)
        if (counts < 0).any() or ends[0] < 0 or ends[-1] > X["data"].shape[0]:
            raise SourceError(f"View {name!r} of {self._path} is damaged near row {start:,}.")
        check_chunk(int(counts.sum()) * 16, self._path)
        span = slice(int(ends[0]), int(ends[-1]))
        columns = X["indices"][span].astype(np.int64)
        if len(columns) and not 0 <= columns.min() <= columns.max() < width:
            raise SourceError(
                f"View {name!r} of {self._path} has an entry beyond its {width:,} columns."
            )
        parts = X["data"][span], columns, ends - ends[0]
        return sp.csr_array(parts, shape=(stop - start, width))


class AnnDataWriter(Writer):
    """Writes ``X`` of an ``.h5ad`` file, or the modalities of an ``.h5mu`` file.

    Observations are called by their number.

    Parameters
    ----------
    path : path
    """

    def __init__(
        self, path: PathLike, key: str | None = None, staging: Staging | None = None
    ) -> None:
        super().__init__(path, staging=staging)
        self._several = File(path).ending == ".h5mu"
        self._written = PatientFile(self._temporary)
        self._file = h5py.File(self._written, "w")
        self._n_rows = 0
        self._names: list[str] = []

    def _append(self, views: Views, keys: Keys) -> None:
        if self._several:
            self._names = self._names or list(views.names)
        else:
            only_block(views, self._path)
        for view, X in views.blocks.items():
            group = self._file.require_group(f"mod/{view}") if self._several else self._file
            if "X" not in group:
                names = views.feature_names[view]
                _frame(group, "var", range(X.shape[1]) if names is None else names)
                _begin(group, X)
            _extend(group["X"], X)
        self._written.check()
        self._n_rows += len(views)

    def _finish(self, whole: bool) -> None:
        with closing(self._written), self._file as file:
            if not whole:
                return
            for group in [file, *(file["mod"][name] for name in self._names)]:
                _frame(group, "obs", range(self._n_rows))
                _encode(group, "anndata", "0.1.0")
            if self._several:
                _encode(file, "MuData", "0.1.0")
                file.require_group("mod").attrs["mod-order"] = np.array(self._names, _TEXT)
                index = (file[f"mod/{name}/var/_index"].asstr()[:] for name in self._names)
                _frame(file, "var", [feature for each in index for feature in each])
        self._written.check()


def open_reader(file: File, view: str, asked: Asked) -> Source:
    """Open a file for `open_source`."""
    return AnnDataSource(file, view)


open_writer = AnnDataWriter


def open_hdf5(file: File, stack: ExitStack) -> Any:
    """Return a file as h5py opens it, to be closed with a stack."""
    file.check()
    opened = stack.enter_context(file.open()) if file.remote else file.text
    try:
        return stack.enter_context(h5py.File(opened, "r"))
    except SourceError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise SourceError(f"{file} is no HDF5 file, or damaged: {error}") from error


def _layout(
    file: File, view: str, obsm: Mapping[str, str], stack: ExitStack
) -> list[dict[str, Any]]:
    """Return what a file says of its matrices, read where going round for ever does no harm."""
    file.check()
    if file.remote or not sys.executable:
        opened = open_hdf5(file, stack)
        try:
            return layout(opened, view, obsm, lambda n: None)
        except SourceError:
            raise
        except _DAMAGE as error:
            raise SourceError(f"{file} is not as AnnData writes it: {error}") from error
    arguments = [file.text, view, json.dumps(dict(obsm))]
    done = subprocess.run(
        [sys.executable, "-P", str(_PROGRAM), *arguments], capture_output=True, check=False
    )
    if done.returncode:
        raise _ended(file, done.returncode)
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise SourceError(f"{file} is no HDF5 file, or not as AnnData writes it: {answer['error']}")
    found: list[dict[str, Any]] = answer["views"]
    return found


def _ended(file: File, code: int) -> Exception:
    """Return the error of a process that did not come to its end."""
    name = signal.Signals(-code).name if code < 0 else f"code {code}"
    if name in _ENDLESS:
        return SourceError(f"{file} is damaged: reading its names comes to no end.")
    if name in _CRASHES:
        return SourceError(f"{file} is damaged: reading its names ends in {name}.")
    return OSError(
        f"{file} was not read: the process that reads its names was ended by {name}, as happens "
        "where memory is short. Try again."
    )


def _encode(item: Any, kind: str, version: str) -> None:
    item.attrs["encoding-type"], item.attrs["encoding-version"] = kind, version


def _frame(group: Any, name: str, index: Any) -> None:
    """Write a data frame that has an index and no columns."""
    frame = group.create_group(name)
    _encode(frame, "dataframe", "0.2.0")
    frame.attrs["_index"], frame.attrs["column-order"] = "_index", np.array([], _TEXT)
    frame["_index"] = np.array([str(each) for each in index], dtype=_TEXT)
    _encode(frame["_index"], "string-array", "0.2.0")


def _begin(group: Any, X: Block) -> None:
    if not sp.issparse(X):
        shape = (0, X.shape[1])
        array = group.create_dataset("X", shape, X.dtype, maxshape=(None, X.shape[1]))
        _encode(array, "array", "0.2.0")
        return
    matrix = group.create_group("X")
    _encode(matrix, "csr_matrix", "0.1.0")
    matrix.attrs["shape"] = (0, X.shape[1])
    types = {"data": X.dtype, "indices": np.int32, "indptr": np.int64}
    for part, kind in types.items():
        matrix.create_dataset(part, (0,), kind, maxshape=(None,), chunks=(1 << 14,))
    _put(matrix["indptr"], np.zeros(1, np.int64))


def _extend(X: Any, rows: Block) -> None:
    if isinstance(X, h5py.Dataset):
        _put(X, dense(rows))
        return
    rows = sp.csr_array(rows)
    total = X["data"].shape[0]
    _put(X["data"], rows.data)
    _put(X["indices"], rows.indices)
    _put(X["indptr"], rows.indptr[1:].astype(np.int64) + total)
    X.attrs["shape"] = (X["indptr"].shape[0] - 1, rows.shape[1])


def _put(dataset: Any, values: Any) -> None:
    n = dataset.shape[0]
    dataset.resize(n + len(values), 0)
    dataset[n:] = values
