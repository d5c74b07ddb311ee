"""AnnData's ``.h5ad`` and MuData's ``.h5mu`` files, written chunk by chunk with h5py."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs.data.views import Block, Views
from omvfs.formats._files import File, PathLike
from omvfs.formats.writing._base import Keys, Writer, only_block
from omvfs.model.arrays import dense

try:
    import h5py
except ImportError as missing:
    raise ImportError("Writing this file needs h5py: pip install omvfs[files]") from missing

_TEXT = h5py.string_dtype("utf-8")


class AnnDataWriter(Writer):
    """Writes ``X`` of an ``.h5ad`` file, or the modalities of an ``.h5mu`` file.

    Observations are called by their number.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: PathLike) -> None:
        super().__init__(path)
        self._several = File(path).ending == ".h5mu"
        self._file = h5py.File(self._temporary, "w")
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
        self._n_rows += len(views)

    def _finish(self, whole: bool) -> None:
        with self._file as file:
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
