"""NumPy's files, written chunk by chunk: ``.npy``, ``.npz``, and folders of them."""

import shutil
import tempfile
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from omvfs.data.views import Block, Views
from omvfs.formats._files import PathLike
from omvfs.formats.writing._base import Keys, Writer, check_names, only_block
from omvfs.model.arrays import dense


class NpyWriter(Writer):
    """Writes one view as a dense array.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: PathLike) -> None:
        super().__init__(path)
        self._stack, self._values, self._width = ExitStack(), None, 0

    _values: "_Column | None"

    def _append(self, views: Views, keys: Keys) -> None:
        X = only_block(views, self._path)
        if self._values is None:
            self._width = X.shape[1]
            self._values = _Column(self._path.parent, X.dtype, self._stack)
        self._values.append(dense(X))

    def _finish(self, whole: bool) -> None:
        with self._stack:
            if whole and self._values is not None:
                rows = self._values.length // self._width if self._width else 0
                with self._temporary.open("wb") as file:
                    self._values.copy_to(file, (rows, self._width))


class NpzWriter(Writer):
    """Writes one view as a CSR matrix that `scipy.sparse.load_npz` reads.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: PathLike) -> None:
        super().__init__(path)
        self._stack, self._width, self._total = ExitStack(), 0, 0
        self._parts: dict[str, _Column] = {}

    def _append(self, views: Views, keys: Keys) -> None:
        X = sp.csr_array(only_block(views, self._path))
        if not self._parts:
            self._width = X.shape[1]
            types = {"data": X.dtype, "indices": np.dtype(np.int32), "indptr": np.dtype(np.int64)}
            folder = self._path.parent
            self._parts = {name: _Column(folder, t, self._stack) for name, t in types.items()}
            self._parts["indptr"].append([0])
        self._parts["data"].append(X.data)
        self._parts["indices"].append(X.indices)
        self._parts["indptr"].append(X.indptr[1:].astype(np.int64) + self._total)
        self._total += int(X.indptr[-1])

    def _finish(self, whole: bool) -> None:
        with self._stack:
            if not whole or not self._parts:
                return
            shape = self._parts["indptr"].length - 1, self._width
            small = {"format": np.array(b"csr"), "shape": np.array(shape)}
            deflated = zipfile.ZIP_DEFLATED
            with zipfile.ZipFile(self._temporary, "w", deflated, compresslevel=1) as archive:
                for name, array in small.items():
                    with archive.open(f"{name}.npy", "w") as file:
                        npy.write_array(file, array, allow_pickle=False)
                for name, part in self._parts.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                        part.copy_to(file, (part.length,))


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
    >>> from omvfs.formats import FolderSource
    >>> folder = tempfile.mkdtemp()
    >>> with FolderWriter(folder) as writer:
    ...     writer.append(Views({"image": np.eye(2)}))
    ...     writer.append(Views({"image": np.ones((1, 2))}))
    >>> FolderSource(folder).n_rows
    3
    """

    def __init__(self, path: PathLike) -> None:
        self._folder = Path(path)
        self._folder.mkdir(parents=True, exist_ok=True)
        if any(self._folder.glob("view_*")):
            raise FileExistsError(f"Folder {self._folder} holds views already.")
        self._stack = ExitStack()
        self._writers: dict[str, Writer] = {}
        self._names: dict[Path, Any] = {}

    def append(self, views: Views, keys: Keys = None) -> None:
        """Write more rows.

        Parameters
        ----------
        views : Views
            With the same views each time, sparse or dense as in the first.
        keys : array, default=None
            Not written.
        """
        check_names(views.names, self._folder)
        if not self._writers:
            for number, (name, X) in enumerate(views.blocks.items()):
                self._begin(number, name, X)
                names = views.feature_names[name]
                if names is not None and not any("\n" in each for each in names):
                    self._names[self._folder / f"features_{number}_{name}.txt"] = names
        for name, X in views.blocks.items():
            self._writers[name].append(Views({name: X}))

    def _begin(self, number: int, name: str, X: Block) -> None:
        kind, ending = (NpzWriter, "npz") if sp.issparse(X) else (NpyWriter, "npy")
        writer = kind(self._folder / f"view_{number}_{name}.{ending}")
        self._writers[name] = self._stack.enter_context(writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self._stack.__exit__(kind, error, traceback)
        if error is None:
            for file, names in self._names.items():
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
