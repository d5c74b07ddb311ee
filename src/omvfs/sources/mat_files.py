"""MATLAB's ``.mat`` files, of version 5 and of version 7.3."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat
from scipy.io.matlab import MatReadError

from omvfs._schema import Schema, listed
from omvfs.sources._base import RowSource, SourceError
from omvfs.sources.numpy_files import check_chunk
from omvfs.views import Block

_WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_NUMBERS = {"double", "single", "sparse", "logical", *_WHOLE}
_HDF5 = b"\x89HDF\r\n\x1a\n"


class MatSource(RowSource):
    """The matrices of a MATLAB file, each variable a view.

    MATLAB stores matrices column by column, and those of version 5 compressed, so that they are
    read as a whole; dense ones of version 7.3 are read by rows.

    Parameters
    ----------
    path : path
    view : str
        Not used: the variables name the views.
    variables : sequence of str, default=None
        Variables to read. By default all matrices of numbers with more than one row and column.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> path = Path(tempfile.mkdtemp()) / "fox.mat"
    >>> savemat(path, {"text": sp.eye_array(3, 5, format="csc"), "image": np.ones((3, 2))})
    >>> MatSource(path).schema.names
    ('text', 'image')
    """

    def __init__(
        self, path: str | os.PathLike[str], view: str = "", variables: Sequence[str] | None = None
    ) -> None:
        self._path = Path(path)
        with self._path.open("rb") as file:
            head = file.read(1024)
        self._blocks: dict[str, Any] = (
            self._of_version_7(variables) if _HDF5 in head else self._of_version_5(variables)
        )
        if not self._blocks:
            raise SourceError(f"{self._path} has no matrix of numbers.")
        rows = {name: block.shape[0] for name, block in self._blocks.items()}
        if len(set(rows.values())) > 1:
            counts = ", ".join(f"{name} {n:,}" for name, n in rows.items())
            self.close()
            raise SourceError(
                f"{self._path} has matrices with different numbers of rows: {counts}. Name those "
                "to read."
            )
        self._n_rows = int(next(iter(rows.values())))

    @property
    def schema(self) -> Schema:
        """The views and their widths."""
        widths = tuple(block.shape[1] for block in self._blocks.values())
        return Schema(tuple(self._blocks), widths, (None,) * len(widths))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._n_rows

    def read(self, start: int, stop: int) -> dict[str, Block]:
        """Return some consecutive rows by view name."""
        return {name: block[start:stop] for name, block in self._blocks.items()}

    def close(self) -> None:
        """Close the file."""
        for block in getattr(self, "_blocks", {}).values():
            if isinstance(block, _Transposed):
                block.close()

    def _of_version_5(self, variables: Sequence[str] | None) -> dict[str, Any]:
        try:
            found = {name: (shape, kind) for name, shape, kind in whosmat(self._path)}
            chosen = self._chosen(found, variables)
            for name in chosen:
                shape, kind = found[name]
                if kind != "sparse":
                    check_chunk(int(np.prod(shape, dtype=object)) * 8, self._path)
            content = loadmat(self._path, variable_names=chosen) if chosen else {}
        except SourceError:
            raise
        except (
            MatReadError,
            ValueError,
            TypeError,
            OSError,
            NotImplementedError,
            KeyError,
        ) as error:
            raise SourceError(f"{self._path} is no .mat file, or damaged: {error}") from error
        except Exception as error:  # what scipy makes of bytes that are no .mat file
            raise SourceError(f"{self._path} is no .mat file, or damaged: {error!r}") from error
        return {name: _by_rows(content[name]) for name in chosen}

    def _of_version_7(self, variables: Sequence[str] | None) -> dict[str, Any]:
        try:
            import h5py
        except ImportError as missing:
            raise ImportError("Reading this file needs h5py: pip install omvfs[files]") from missing
        try:
            file = h5py.File(self._path, "r")
            found = {}
            for name, item in file.items():
                if "MATLAB_sparse" in item.attrs:
                    columns = len(item["jc"]) - 1
                    found[name] = ((int(item.attrs["MATLAB_sparse"]), columns), "sparse")
                elif (
                    isinstance(item, h5py.Dataset) and item.ndim == 2 and item.dtype.kind in "fiub"
                ):
                    found[name] = (item.shape[::-1], "double")
            chosen = self._chosen(found, variables)
            return {
                name: _sparse_of(file[name], found[name][0], self._path)
                if found[name][1] == "sparse"
                else _Transposed(file[name], self._path)
                for name in chosen
            }
        except SourceError:
            raise
        except (OSError, KeyError, ValueError, TypeError, RuntimeError, AttributeError) as error:
            raise SourceError(f"{self._path} is no .mat file, or damaged: {error}") from error

    def _chosen(self, found: dict[str, Any], variables: Sequence[str] | None) -> list[str]:
        """Return the variables to read, of those found with shape and kind."""
        if variables is None:
            return [
                name
                for name, (shape, kind) in found.items()
                if len(shape) == 2 and min(shape) > 1 and kind in _NUMBERS
            ]
        if unknown := [name for name in variables if name not in found]:
            raise SourceError(f"{self._path} has no {listed(unknown)}; it has {listed(found)}.")
        return list(variables)


class _Transposed:
    """A matrix of version 7.3, which HDF5 sees transposed, as something that is cut by rows."""

    def __init__(self, dataset: Any, path: Path) -> None:
        self._dataset, self._path = dataset, path
        self.shape = dataset.shape[::-1]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        check_chunk((rows.stop - rows.start) * self.shape[1] * 8, self._path)
        try:
            return np.ascontiguousarray(self._dataset[:, rows].T)
        except OSError as error:
            raise SourceError(
                f"{self._path} is damaged near row {rows.start:,}: {error}"
            ) from error

    def close(self) -> None:
        self._dataset.file.close()


def _by_rows(X: Any) -> Block:
    return sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)


def _sparse_of(group: Any, shape: tuple[int, int], path: Path) -> Block:
    """Return a sparse matrix of version 7.3, which is stored by columns."""
    if shape[1] == 0 or "data" not in group:
        return sp.csr_array(shape)
    check_chunk(len(group["data"]) * 16, path)
    parts = group["data"][:], group["ir"][:].astype(np.int64), group["jc"][:].astype(np.int64)
    matrix = sp.csc_array(parts, shape=shape)
    # Indices out of range would read beyond the memory of others.
    matrix.check_format(full_check=True)
    return sp.csr_array(matrix)
