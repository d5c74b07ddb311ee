"""AnnData's ``.h5ad`` and MuData's ``.h5mu`` files, read by rows with h5py."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs._schema import Schema, listed
from omvfs.sources._base import RowSource, SourceError
from omvfs.sources.numpy_files import check_chunk
from omvfs.views import Block

try:
    import h5py
except ImportError as missing:
    raise ImportError("Reading this file needs h5py: pip install omvfs[files]") from missing


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
        self, path: str | os.PathLike[str], view: str, obsm: Mapping[str, str] | None = None
    ) -> None:
        self._path = Path(path)
        try:
            self._file = h5py.File(self._path, "r")
        except OSError as error:
            if not self._path.exists():
                raise
            raise SourceError(f"{self._path} is no HDF5 file, or damaged: {error}") from error
        try:
            self._parts = self._find(view, obsm or {})
            names = tuple(_feature_names(self._path, group) for _, group in self._parts.values())
            shapes = {name: self._shape(name, X) for name, (X, _) in self._parts.items()}
        except (KeyError, RuntimeError, TypeError, ValueError, OSError, AttributeError) as error:
            self._file.close()
            if isinstance(error, SourceError):
                raise
            raise SourceError(f"{self._path} is not as AnnData writes it: {error}") from error
        lengths = {name: n for name, (n, _) in shapes.items()}
        if len(set(lengths.values())) > 1:
            self._file.close()
            counts = ", ".join(f"{name} {n:,}" for name, n in lengths.items())
            raise SourceError(
                f"{self._path} has different numbers of rows: {counts}. Keep the cells that all "
                "modalities have: muon.pp.intersect_obs."
            )
        self._n_rows = next(iter(lengths.values()))
        widths = tuple(width for _, width in shapes.values())
        fitting = tuple(
            own if own is not None and len(own) == width else None
            for own, width in zip(names, widths, strict=True)
        )
        self._schema = Schema(tuple(self._parts), widths, fitting)

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
            return {name: self._rows(name, start, stop) for name in self._parts}
        except (OSError, RuntimeError, KeyError, TypeError) as error:
            raise SourceError(f"{self._path} is damaged near row {start:,}: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _find(self, view: str, obsm: Mapping[str, str]) -> dict[str, tuple[Any, Any]]:
        """Return the matrix of every view, and the group that describes its features."""
        if "mod" in self._file:
            modalities = self._file["mod"]
            order = modalities.attrs.get("mod-order", list(modalities))
            return {
                str(name): (modalities[name]["X"], modalities[name].get("var")) for name in order
            }
        parts = {view: (self._file["X"], self._file.get("var"))}
        for name, key in obsm.items():
            if key not in self._file["obsm"]:
                raise SourceError(
                    f"{self._path} has no obsm {key!r}; it has {listed(self._file['obsm'])}."
                )
            parts[name] = self._file["obsm"][key], None
        return parts

    def _shape(self, name: str, X: Any) -> tuple[int, int]:
        if isinstance(X, h5py.Dataset):
            if X.ndim != 2 or X.dtype.kind not in "fiub":
                raise SourceError(
                    f"View {name!r} of {self._path} is {X.dtype} of shape {X.shape}; expected "
                    "numbers, rows × columns."
                )
            return X.shape[0], X.shape[1]
        kind = X.attrs.get("encoding-type", "unknown")
        if kind != "csr_matrix":
            raise SourceError(
                f"View {name!r} of {self._path} is stored as {kind}; expected csr_matrix, which "
                "has its rows together: adata.X = adata.X.tocsr()."
            )
        n, width = (int(size) for size in X.attrs["shape"])
        if X["indptr"].shape != (n + 1,) or X["data"].shape != X["indices"].shape:
            raise SourceError(
                f"View {name!r} of {self._path} has parts that do not fit each other."
            )
        if X["indptr"].dtype.kind not in "iu" or X["indices"].dtype.kind not in "iu":
            raise SourceError(
                f"View {name!r} of {self._path} has places that are no whole numbers."
            )
        return n, width

    def _rows(self, name: str, start: int, stop: int) -> Block:
        X, width = self._parts[name][0], self._schema.widths[self._schema.names.index(name)]
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


def _feature_names(path: Path, var: Any) -> tuple[str, ...] | None:
    """Return the names in the index of a data frame, None if there is none."""
    if var is None or "_index" not in var.attrs:
        return None
    names: NDArray[Any] = var[var.attrs["_index"]].asstr()[:]
    found = tuple(map(str, names))
    if len(set(found)) < len(found):
        raise SourceError(
            f"{path} has two features of the same name: adata.var_names_make_unique()."
        )
    return found
