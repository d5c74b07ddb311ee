"""Rows written chunk by chunk, into a folder of one file a view that `FolderSource` reads."""

import os
import shutil
import tempfile
import zipfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from omvfs.sources._base import SourceError
from omvfs.views import Block, Views


class FolderWriter:
    """Writes views as ``view_<number>_<name>.npz`` (CSR) or ``.npy``, and names of their features.

    Nothing but a chunk is held in memory. Used in a ``with`` block; the files appear when it is
    left, not if that is by an error.

    Parameters
    ----------
    path : path
        The folder, made if missing. It must not hold views already.

    Examples
    --------
    >>> from omvfs.sources import FolderSource
    >>> folder = tempfile.mkdtemp()
    >>> with FolderWriter(folder) as writer:
    ...     writer.append(Views({"image": np.eye(2)}))
    ...     writer.append(Views({"image": np.ones((1, 2))}))
    >>> FolderSource(folder).n_rows
    3
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._folder = Path(path)
        self._folder.mkdir(parents=True, exist_ok=True)
        if any(self._folder.glob("view_*")):
            raise FileExistsError(f"Folder {self._folder} holds views already.")
        self._stack = ExitStack()
        self._views: dict[str, _Dense | _Sparse] = {}
        self._names: dict[str, Any] = {}

    def append(self, views: Views) -> None:
        """Write more rows.

        Parameters
        ----------
        views : Views
            With the same views each time, sparse or dense as in the first.
        """
        if not self._views:
            for number, (name, X) in enumerate(views.blocks.items()):
                if "/" in name or "\0" in name or os.sep in name:
                    raise SourceError(f"View {name!r} has a name that no file can have.")
                kind = _Sparse if sp.issparse(X) else _Dense
                place = self._folder / f"view_{number}_{name}"
                self._views[name] = kind(place, X, self._stack)
                self._names[name] = views.feature_names[name], place
        for name, X in views.blocks.items():
            self._views[name].append(X)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._stack:
            if error is None:
                for view in self._views.values():
                    view.finish()
                for names, place in self._names.values():
                    if names is not None and not any("\n" in name for name in names):
                        file = place.with_name(place.name.replace("view", "features", 1) + ".txt")
                        file.write_text("\n".join(names) + "\n", encoding="utf-8")


class _Column:
    """Numbers of one type, written one after another into a file that has no name yet."""

    def __init__(self, folder: Path, dtype: np.dtype[Any], stack: ExitStack) -> None:
        nameless = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (the stack closes it)
        self.file: IO[bytes] = stack.enter_context(nameless)
        self.dtype, self.length = dtype, 0

    def append(self, values: Any) -> None:
        array = np.ascontiguousarray(values, self.dtype)
        self.file.write(array.data)
        self.length += array.size

    def copy_to(self, target: IO[bytes], shape: tuple[int, ...]) -> None:
        header = {
            "descr": npy.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": shape,
        }
        npy.write_array_header_1_0(target, header)
        self.file.seek(0)
        shutil.copyfileobj(self.file, target, 1 << 20)


class _Dense:
    def __init__(self, place: Path, X: Block, stack: ExitStack) -> None:
        self._path = place.with_name(place.name + ".npy")
        self._width = X.shape[1]
        self._values = _Column(place.parent, X.dtype, stack)

    def append(self, X: Block) -> None:
        self._values.append(X)

    def finish(self) -> None:
        rows = self._values.length // self._width if self._width else 0
        with self._path.open("wb") as file:
            self._values.copy_to(file, (rows, self._width))


class _Sparse:
    def __init__(self, place: Path, X: Block, stack: ExitStack) -> None:
        self._path = place.with_name(place.name + ".npz")
        self._width, self._total = X.shape[1], 0
        types = {"data": X.dtype, "indices": np.dtype(np.int32), "indptr": np.dtype(np.int64)}
        self._parts = {name: _Column(place.parent, t, stack) for name, t in types.items()}
        self._parts["indptr"].append([0])

    def append(self, X: Any) -> None:
        self._parts["data"].append(X.data)
        self._parts["indices"].append(X.indices)
        self._parts["indptr"].append(X.indptr[1:].astype(np.int64) + self._total)
        self._total += int(X.indptr[-1])

    def finish(self) -> None:
        rows = self._parts["indptr"].length - 1
        with zipfile.ZipFile(self._path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, array in (
                ("format", np.array(b"csr")),
                ("shape", np.array([rows, self._width])),
            ):
                with archive.open(f"{name}.npy", "w") as file:
                    npy.write_array(file, array, allow_pickle=False)
            for name, part in self._parts.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    part.copy_to(file, (part.length,))
