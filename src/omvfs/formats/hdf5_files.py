"""AnnData's ``.h5ad`` and MuData's ``.h5mu`` files, read by rows with h5py."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs.data.schema import Schema
from omvfs.data.views import Block
from omvfs.formats._base import RowSource, SourceError
from omvfs.formats._files import File, PathLike
from omvfs.formats.numpy_files import check_chunk

try:
    import h5py

    from omvfs.formats._anndata import layout
except ImportError as missing:
    raise ImportError("Reading this file needs h5py: pip install omvfs[files]") from missing


# What h5py raises when a file is damaged.
_DAMAGE = KeyError, RuntimeError, TypeError, ValueError, OSError, AttributeError
# Time of computing to read names, and bytes of a file for which there is a second more.
_SECONDS, _BYTES_A_SECOND = 0.6, 100e6
_PROGRAM = Path(__file__).with_name("_anndata.py")


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

    @property
    def schema(self) -> Schema:
        """Views, their widths and the names of their features."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._n_rows

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


def open_hdf5(file: File, stack: ExitStack) -> Any:
    """Return a file as h5py opens it, to be closed with a stack."""
    file.check()
    opened = stack.enter_context(file.open()) if file.remote else file.text
    try:
        return stack.enter_context(h5py.File(opened, "r"))
    except (OSError, RuntimeError, ValueError) as error:
        raise SourceError(f"{file} is no HDF5 file, or damaged: {error}") from error


def _layout(
    file: File, view: str, obsm: Mapping[str, str], stack: ExitStack
) -> list[dict[str, Any]]:
    """Return what a file says of its matrices, read where going round for ever does no harm."""
    file.check()
    if file.remote or not sys.executable:
        try:
            return layout(open_hdf5(file, stack), view, obsm)
        except _DAMAGE as error:
            raise SourceError(f"{file} is not as AnnData writes it: {error}") from error
    seconds = _SECONDS + file.size() / _BYTES_A_SECOND
    arguments = [file.text, view, json.dumps(dict(obsm)), str(seconds)]
    done = subprocess.run(
        [sys.executable, "-P", str(_PROGRAM), *arguments], capture_output=True, check=False
    )
    if done.returncode:
        raise SourceError(f"{file} is damaged: reading its names comes to no end.")
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise SourceError(f"{file} is no HDF5 file, or not as AnnData writes it: {answer['error']}")
    found: list[dict[str, Any]] = answer["views"]
    return found
