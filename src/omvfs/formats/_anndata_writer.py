"""AnnData's ``.h5ad`` and MuData's ``.h5mu`` files, written by rows with h5py."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import h5py
import numpy as np
import scipy.sparse as sp

from omvfs.data.blocks import Block
from omvfs.data.views import Views
from omvfs.disk import Staging
from omvfs.formats._annotations import Annotations, annotations_of
from omvfs.formats._base import NOTHING, Kept, Source
from omvfs.formats._files import File, PathLike
from omvfs.formats._hdf5 import PatientFile
from omvfs.formats._writer import Writer, only_block
from omvfs.model.arrays import dense

_TEXT = h5py.string_dtype("utf-8")


class AnnDataWriter(Writer):
    """Writes ``X`` of an ``.h5ad`` file, or the modalities of an ``.h5mu`` file.

    Observations are called by their number, unless they are described: then ``obs``, ``var``,
    ``obsm``, ``varm``, ``obsp``, ``uns`` and ``layers`` are those of the file that the rows come
    from, of the columns that are written.

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
        self._several = File(path).ending == ".h5mu"
        self._described: tuple[Source, Mapping[str, Any]] | None = None
        self._annotations = Annotations({}, self._several)
        self._written: PatientFile | None = None
        self._n_rows = 0
        self._names: list[str] = []

    def describe(self, source: Source, columns: Mapping[str, Any] = NOTHING) -> None:
        """Keep what a source says of its rows and columns, all of whose rows follow."""
        self._described = source, columns

    def _append(self, views: Views, kept: Kept) -> None:
        if not self._several:
            only_block(views, self._path)
        if self._written is None:
            self._begin(list(views.names))
        assert self._written is not None
        start, stop = self._n_rows, self._n_rows + len(views)
        for view, X in views.blocks.items():
            group = self._file.require_group(self._place(view))
            if "var" not in group:
                names = views.feature_names[view]
                _frame(group, "var", range(X.shape[1]) if names is None else names)
            _extend(group, "X", X)
            for name, layer in self._annotations.layers(view, start, stop).items():
                layers = group.require_group("layers")
                _encode(layers, "dict", "0.1.0")
                _extend(layers, name, layer)
        self._written.check()
        self._n_rows = stop

    def _begin(self, names: list[str]) -> None:
        """Make the file, with what is known already."""
        self._names = names
        if self._described is not None:
            source, columns = self._described
            self._annotations = annotations_of(source, columns, names, self._several)
            self._annotations.write(self._temporary, len(names))
        self._written = PatientFile(self._temporary, again=bool(self._annotations))
        self._file = h5py.File(self._written, self._written.mode)

    def _place(self, view: str) -> str:
        return f"mod/{view}" if self._several else "/"

    def _finish(self, whole: bool) -> None:
        if self._written is None:
            if not whole:
                return
            self._begin([])
        assert self._written is not None
        with closing(self._written), self._file as file:
            if whole:
                self._complete(file)
        self._written.check()

    def _complete(self, file: Any) -> None:
        """Write what has to come last."""
        self._annotations.check_rows(self._n_rows)
        groups = [file[self._place(name)] for name in self._names] or [file]
        described = next((group["obs"] for group in groups if "obs" in group), None)
        for group in [*groups, file]:
            if "obs" not in group:
                _frame(group, "obs", range(self._n_rows), described)
            _encode(group, "anndata", "0.1.0")
        if not self._several:
            return
        _encode(file, "MuData", "0.1.0")
        file.require_group("mod").attrs["mod-order"] = np.array(self._names, _TEXT)
        if "var" not in file:
            index = (_index(group["var"]).asstr()[:] for group in groups if "var" in group)
            _frame(file, "var", [feature for each in index for feature in each])


def _encode(item: Any, kind: str, version: str) -> None:
    item.attrs["encoding-type"], item.attrs["encoding-version"] = kind, version


def _index(frame: Any) -> Any:
    """Return the names of the lines of a data frame."""
    return frame[frame.attrs["_index"]]


def _frame(group: Any, name: str, index: Any, like: Any = None) -> None:
    """Write a data frame without columns that has an index, or that of another."""
    frame = group.create_group(name)
    _encode(frame, "dataframe", "0.2.0")
    frame.attrs["_index"], frame.attrs["column-order"] = "_index", np.array([], _TEXT)
    if like is not None:
        group.copy(_index(like), frame, "_index")
        return
    frame["_index"] = np.array([str(each) for each in index], dtype=_TEXT)
    _encode(frame["_index"], "string-array", "0.2.0")


def _extend(group: Any, name: str, rows: Block) -> None:
    """Put rows below those of a matrix, which is made by the first."""
    if name not in group:
        _begin(group, name, rows)
    X = group[name]
    if isinstance(X, h5py.Dataset):
        _put(X, dense(rows))
        return
    rows = sp.csr_array(rows)
    total = X["data"].shape[0]
    _put(X["data"], rows.data)
    _put(X["indices"], rows.indices)
    _put(X["indptr"], rows.indptr[1:].astype(np.int64) + total)
    X.attrs["shape"] = (X["indptr"].shape[0] - 1, rows.shape[1])


def _begin(group: Any, name: str, X: Block) -> None:
    if not sp.issparse(X):
        shape = (0, X.shape[1])
        array = group.create_dataset(name, shape, X.dtype, maxshape=(None, X.shape[1]))
        _encode(array, "array", "0.2.0")
        return
    matrix = group.create_group(name)
    _encode(matrix, "csr_matrix", "0.1.0")
    matrix.attrs["shape"] = (0, X.shape[1])
    types = {"data": X.dtype, "indices": np.int32, "indptr": np.int64}
    for part, kind in types.items():
        matrix.create_dataset(part, (0,), kind, maxshape=(None,), chunks=(1 << 14,))
    _put(matrix["indptr"], np.zeros(1, np.int64))


def _put(dataset: Any, values: Any) -> None:
    n = dataset.shape[0]
    dataset.resize(n + len(values), 0)
    dataset[n:] = values
