"""AnnData's ``.h5ad`` and MuData's ``.h5mu`` files: read by rows from the disk, and written."""

import gc
import io
import logging
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr
from typing import Any

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp
from anndata.io import read_elem, sparse_dataset

from omvfs.data.blocks import Block, take_columns, vstack
from omvfs.data.schema import Schema, listed
from omvfs.data.views import Views
from omvfs.disk import PathLike
from omvfs.formats.combined import Appended
from omvfs.formats.files import (
    File,
    RowSource,
    check_chunk,
    open_hdf5,
    reading,
    reason_of,
    refuse_elsewhere,
)
from omvfs.formats.source import NOTHING, Kept, ReadOptions, Source, SourceError
from omvfs.formats.writer import HoldingWriter, only_block

_logger = logging.getLogger(__name__)
# What anndata keeps of rows and columns beside the matrices.
_PARTS = "obs", "var", "obsm", "varm", "obsp", "varp", "uns"
# Rows of a layer that are read at once on its way into another file.
_AT_ONCE = 1000
_ANYTHING = ReadOptions()


class AnnDataSource(RowSource):
    """The matrices of an ``.h5ad`` or ``.h5mu`` file.

    ``X`` of an ``.h5ad`` file is one view. Each modality of an ``.h5mu`` file is a view; its rows
    must be those of all, in the same order. Sparse matrices must be CSR.
    """

    annotated = True

    def __init__(self, path: PathLike | File, view: str, options: ReadOptions = _ANYTHING) -> None:
        super().__init__(path)
        self._layer = options.layer
        with ExitStack() as stack, reading(self._file):
            self.root = open_hdf5(self._file, stack)
            # By view, the group of its matrices.
            self.groups = self._groups(view, options)
            self._matrices = {name: self._matrix(name) for name in self.groups}
            shapes = {name: tuple(map(int, X.shape)) for name, X in self._matrices.items()}
            self._n_rows = self._rows_of_all({name: shape[0] for name, shape in shapes.items()})
            names = tuple(self._names(name, shape[1]) for name, shape in shapes.items())
            self._schema = Schema(tuple(shapes), tuple(D for _, D in shapes.values()), names)
            self._stack = stack.pop_all()
        self._bytes = self._file.size()

    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""
        with reading(self._file, f" near row {start:,}"):
            blocks = {name: _rows(X, start, stop, self._file) for name, X in self._matrices.items()}
            self._file.check_size(self._bytes)
        return blocks

    def close(self) -> None:
        """Close the file."""
        self._stack.close()

    def described(self, view: str, columns: Any) -> anndata.AnnData:
        """Return what the file says of a view, of some columns or all, with layers, not ``X``."""
        group = self.groups[view]
        with reading(self._file):
            parts = {part: read_elem(group[part]) for part in _PARTS if part in group}
            for part, n in zip(("obs", "var"), self._matrices[view].shape, strict=True):
                parts.setdefault(part, pd.DataFrame(index=[str(i) for i in range(int(n))]))
            whole = anndata.AnnData(**parts)
            found = whole if columns is None else whole[:, columns].copy()
            layers = {name: group["layers"][name] for name in group.get("layers", ())}
            if self._layer is not None:
                layers = {name: each for name, each in layers.items() if name != self._layer}
                layers |= {"X": group["X"]} if "X" in group else {}
            for name, each in layers.items():
                if (X := _by_rows(each)) is None:
                    _logger.warning("Not copied from %s: %s.", self._file, each.name)
                    continue
                found.layers[name] = _selected(X, columns, self._file)
        return found

    def _groups(self, view: str, options: ReadOptions) -> dict[str, Any]:
        if "mod" not in self.root:
            return {view: self.root}
        mods = self.root["mod"]
        order = [str(name) for name in mods.attrs.get("mod-order", list(mods))]
        read, self.other_views = options.split(order)
        if not read:
            raise SourceError(f"{self._file} has no modalities.")
        return {name: mods[name] for name in read}

    def _matrix(self, view: str) -> Any:
        group, layer = self.groups[view], self._layer
        layers = group.get("layers", {})
        if layer is not None and layer not in layers:
            has = listed(layers) or "none"
            raise SourceError(
                f"{self._file} has no layer {layer!r} of view {view!r}; it has {has}."
            )
        stored = group["X"] if layer is None else layers[layer]
        matrix = _by_rows(stored)
        if matrix is None:
            kind = stored.attrs.get("encoding-type", "something else")
            raise SourceError(
                f"View {view!r} of {self._file} is stored as {kind}; expected numbers, dense or as "
                "csr_matrix, which has its rows together: adata.X = adata.X.tocsr()."
            )
        return matrix

    def _rows_of_all(self, lengths: Mapping[str, int]) -> int:
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} {n:,}" for name, n in lengths.items())
            raise SourceError(
                f"{self._file} has different numbers of rows: {counts}. Keep the cells that all "
                "modalities have: muon.pp.intersect_obs."
            )
        groups = self.groups.items()
        cells = {name: _index(group, "obs") for name, group in groups if "obs" in group}
        first, *others = cells or lengths
        for name in others if cells else ():
            if not np.array_equal(cells[first], cells[name]):
                raise SourceError(
                    f"{self._file} has modalities whose rows are not the same, or in another "
                    f"order: mdata.mod[{name!r}] = mdata[{name!r}][mdata[{first!r}].obs_names]"
                )
        return lengths[first]

    def _names(self, view: str, width: int) -> tuple[str, ...] | None:
        if "var" not in self.groups[view]:
            return None
        names = tuple(map(str, _index(self.groups[view], "var")))
        if len(names) != width:
            raise SourceError(
                f"View {view!r} of {self._file} has {len(names):,} names in var, and "
                f"{width:,} columns."
            )
        if len(set(names)) < width:
            raise SourceError(
                f"View {view!r} of {self._file} has two features of the same name: "
                "adata.var_names_make_unique()."
            )
        return names


def _index(group: Any, axis: str) -> Any:
    """Return the names of rows or columns."""
    frame = group[axis]
    index = frame[frame.attrs["_index"]]
    refuse_elsewhere(index)
    return index.asstr()[:] if hasattr(index, "asstr") else np.asarray(read_elem(index))


def _by_rows(stored: Any) -> Any:
    """Return a matrix on the disk as something to cut by rows; None if it is none."""
    if hasattr(stored, "shape"):
        refuse_elsewhere(stored)
        return stored if stored.ndim == 2 and stored.dtype.kind in "fiub" else None
    if stored.attrs.get("encoding-type") != "csr_matrix":
        return None
    for part in stored.values():
        refuse_elsewhere(part)
    ends, n = stored["indptr"], stored["data"].shape
    if ends.shape != (int(stored.attrs["shape"][0]) + 1,) or stored["indices"].shape != n:
        raise ValueError(f"{stored.name} has parts that do not fit each other")
    return sparse_dataset(stored)


def _rows(X: Any, start: int, stop: int, file: File) -> Block:
    """Return consecutive rows of a matrix on the disk."""
    if hasattr(X, "group"):
        ends = X.group["indptr"][start : stop + 1].astype(np.int64)
        if (np.diff(ends) < 0).any() or not 0 <= ends[0] <= ends[-1] <= X.group["data"].shape[0]:
            raise ValueError("its rows do not follow each other")
        check_chunk(int(ends[-1] - ends[0]) * 16, file)
        block = sp.csr_array(X[start:stop])
        block.check_format(full_check=True)
        return block
    check_chunk((stop - start) * X.shape[1] * X.dtype.itemsize, file)
    return np.asarray(X[start:stop])


def _selected(X: Any, columns: Any, file: File) -> Block:
    """Return some columns of all rows of a matrix on the disk."""

    def parts() -> Iterator[Block]:
        for start in range(0, X.shape[0], _AT_ONCE):
            rows = _rows(X, start, min(start + _AT_ONCE, X.shape[0]), file)
            yield rows if columns is None else take_columns(rows, columns)

    return _plain(vstack(list(parts())))


def _plain(X: Block) -> Any:
    """Return a block as all versions of anndata take it."""
    return sp.csr_matrix(X) if sp.issparse(X) else X


class AnnDataWriter(HoldingWriter):
    """Writes ``X`` of an ``.h5ad`` file, or the modalities of an ``.h5mu`` file.

    All rows are held in memory until the ``with`` block is left: this is meant for selected
    features. Observations are called by their number, unless they are described: then ``obs``,
    ``var``, ``obsm``, ``varm``, ``obsp``, ``uns`` and ``layers`` are those of the file that the
    rows come from, of the columns that are written.
    """

    _described: tuple[Source, Mapping[str, Any]] | None = None

    def describe(self, source: Source, columns: Mapping[str, Any] = NOTHING) -> None:
        """Keep what a source says of its rows and columns, all of whose rows follow."""
        self._described = source, columns

    def _append(self, views: Views, kept: Kept) -> None:
        if self._path.suffix == ".h5ad":
            only_block(views, self._path)
        super()._append(views, kept)

    def _write(self, views: Views) -> None:
        found = {view: self._annotated(views, view) for view in views.names}
        with _saying_it_once():
            if self._path.suffix == ".h5ad":
                next(iter(found.values())).write_h5ad(self._temporary)
            else:
                self._write_modalities(found)

    def _write_modalities(self, found: Mapping[str, anndata.AnnData]) -> None:
        import mudata

        with warnings.catch_warnings(), mudata.set_options(pull_on_update=False):
            # Views may have features of the same name, which mudata warns of.
            warnings.simplefilter("ignore", UserWarning)
            data = mudata.MuData(found)
            self._describe_all(data)
            data.write_h5mu(self._temporary)

    def _annotated(self, views: Views, view: str) -> anndata.AnnData:
        """Return a view with all that is known of it."""
        X, names = views.blocks[view], views.feature_names[view]
        source = self._origin(view)
        if source is not None and self._described is not None:
            if source.n_rows != len(views):
                raise SourceError(
                    f"Got {len(views):,} rows of {source.name}; expected all {source.n_rows:,}."
                )
            data = source.described(view, self._described[1].get(view))
        else:
            data = anndata.AnnData(shape=X.shape)
            data.obs_names = [str(i) for i in range(len(views))]
            called = range(X.shape[1]) if names is None else names
            data.var_names = [str(each) for each in called]
        data.X = _plain(X)
        return data

    def _origin(self, view: str) -> AnnDataSource | None:
        if self._described is None:
            return None
        origin = self._described[0].origin(view)
        if isinstance(origin, AnnDataSource):
            return origin
        if isinstance(origin, Appended) and isinstance(origin.parts[0], AnnDataSource):
            _logger.warning("obs, var and layers of parts are not copied: %s.", origin.name)
        return None

    def _describe_all(self, data: Any) -> None:
        """Copy what an ``.h5mu`` file says of the rows of all modalities, if they are its."""
        origins = {self._origin(view) for view in data.mod}
        source = origins.pop()
        if origins or source is None or "mod" not in source.root:
            return
        for part in ("obs", "obsm", "uns"):
            for name, value in (
                dict(read_elem(source.root[part])).items() if part in source.root else ()
            ):
                if name not in data.mod:
                    getattr(data, part)[name] = value


@contextmanager
def _saying_it_once() -> Iterator[None]:
    """Have a full disk be one error: h5py prints another as it lets go of each of its objects."""
    with redirect_stderr(io.StringIO()):
        try:
            yield
        except Exception as error:
            traceback.clear_frames(error.__traceback__)
            gc.collect()
            if isinstance(error, OSError):
                raise
            # h5py has many kinds of errors for a disk that is full.
            raise OSError(reason_of(error)) from error


open_reader, open_writer = AnnDataSource, AnnDataWriter
