"""AnnData's ``.h5ad`` and MuData's ``.h5mu`` files, read and written by rows with h5py."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.sparse as sp

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema
from omvfs.formats._anndata_layout import NotThereError, layout
from omvfs.formats._anndata_writer import AnnDataWriter
from omvfs.formats._annotations import AnnotatedSource
from omvfs.formats._asked import Asked
from omvfs.formats._base import Source, SourceError
from omvfs.formats._files import File, PathLike, check_chunk
from omvfs.formats._hdf5_reading import DAMAGE, in_a_process, open_hdf5

_PROGRAM = Path(__file__).with_name("_anndata_layout.py")


class AnnDataSource(AnnotatedSource):
    """The matrices of an ``.h5ad`` or ``.h5mu`` file.

    ``X`` of an ``.h5ad`` file is one view; more come from ``obsm``. Each modality of an ``.h5mu``
    file is a view; its rows must be those of all, in the same order. Sparse matrices must be CSR.

    Parameters
    ----------
    path : path
    view : str
        Name of the view of ``X`` in an ``.h5ad`` file.
    obsm : mapping of str to str, default=None
        More views of an ``.h5ad`` file: by their name, the key in ``obsm``.
    layer : str, default=None
        Layer that is read in the place of ``X``.
    views : sequence of str, default=None
        Modalities to read of an ``.h5mu`` file, if there are any of them; by default all.
    """

    def __init__(
        self,
        path: PathLike | File,
        view: str,
        obsm: Mapping[str, str] | None = None,
        layer: str | None = None,
        views: Sequence[str] | None = None,
    ) -> None:
        self.file = self._path = File(path)
        self.name = str(self._path)
        self._stack = ExitStack()
        with ExitStack() as stack:
            chosen = None if views is None else list(views)
            asked = {"view": view, "obsm": dict(obsm or {}), "layer": layer, "views": chosen}
            told = _layout(self._path, stack, asked)
            described, self.other_views = told["views"], tuple(told["others"])
            self._file = open_hdf5(self._path, stack)
            self._places = {str(each["name"]): str(each["place"]) for each in described}
            self._groups: dict[str, str | None] = {e["name"]: e["group"] for e in described}
            self._layers = {str(each["name"]): dict(each["layers"]) for each in described}
            for each in described:
                if problem := self._problem(each["place"], each["kind"], each["shape"]):
                    raise SourceError(f"View {each['name']!r} of {self._path} {problem}")
            self._unread = {str(each["name"]): list(each["unread"]) for each in described}
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
        return self._read(self._places, start, stop)

    def _read(self, places: Mapping[str, str], start: int, stop: int) -> dict[str, Block]:
        try:
            blocks = {name: self._rows(name, at, start, stop) for name, at in places.items()}
        except SourceError:
            raise
        except DAMAGE as error:
            raise SourceError(f"{self._path} is damaged near row {start:,}: {error}") from error
        self._path.check_size(self._bytes)
        return blocks

    def close(self) -> None:
        """Close the file."""
        self._stack.close()

    def group_of(self, view: str) -> str | None:
        """Return the group that has all of a view, empty for the file; None if it has none."""
        return self._groups[view]

    def layers_of(self, view: str) -> Sequence[str]:
        """Return the names of other matrices of the same rows and columns, which can be read."""
        return list(self._layers[view])

    def unread_layers_of(self, view: str) -> Sequence[str]:
        """Return where other matrices are that cannot be read by rows."""
        return self._unread[view]

    def layer(self, view: str, name: str, start: int, stop: int) -> Block:
        """Return some consecutive rows of one of them."""
        return self._read({view: self._layers[view][name]}, start, stop)[view]

    def _problem(self, place: str, kind: str, shape: Sequence[int]) -> str:
        """Return why a matrix cannot be read by rows; nothing if it can."""
        if kind == "dense":
            return ""
        if kind != "csr_matrix":
            return (
                f"is stored as {kind}; expected csr_matrix, which has its rows together: adata.X = "
                "adata.X.tocsr()."
            )
        try:
            parts = {part: self._file[place][part] for part in ("data", "indices", "indptr")}
            fit = parts["indptr"].shape == (shape[0] + 1,)
            fit = fit and parts["data"].shape == parts["indices"].shape
            whole = all(parts[part].dtype.kind in "iu" for part in ("indptr", "indices"))
        except DAMAGE as error:
            raise SourceError(f"{self._path} is not as AnnData writes it: {error}") from error
        if not fit or not whole:
            return "has parts that do not fit each other, or places that are no whole numbers."
        return ""

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

    def _rows(self, name: str, place: str, start: int, stop: int) -> Block:
        X, width = self._file[place], self._schema.widths[self._schema.names.index(name)]
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


def open_reader(file: File, view: str, asked: Asked) -> Source:
    """Open a file for `open_source`."""
    return AnnDataSource(file, view, None, asked.layer, asked.views)


open_writer = AnnDataWriter


def _layout(file: File, stack: ExitStack, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says of its matrices, read where going round for ever does no harm."""
    file.check()
    if file.remote or not sys.executable:
        opened = open_hdf5(file, stack)
        try:
            return layout(opened, before_names=lambda n: None, **asked)
        except NotThereError as error:
            raise SourceError(f"{file} has {error}.") from error
        except SourceError:
            raise
        except DAMAGE as error:
            raise SourceError(f"{file} is not as AnnData writes it: {error}") from error
    return in_a_process(_PROGRAM, file, given=asked)
