"""What every writer of rows is: chunk by chunk, into a file that appears when it is whole."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from omvfs.sources._base import SourceError
from omvfs.sources._files import PathLike
from omvfs.views import Block, Views


class Writer(ABC):
    """Writes rows into a file, which appears when the ``with`` block is left without an error.

    A subclass writes into `_temporary` and provides `append` and `_finish`.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: PathLike) -> None:
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists():
            raise FileExistsError(f"{self._path} is there already.")
        self._temporary = self._path.with_name(f".{os.getpid()}.{self._path.name}")

    @abstractmethod
    def append(self, views: Views) -> None:
        """Write more rows.

        Parameters
        ----------
        views : Views
            With the same views each time, sparse or dense as in the first.
        """

    @abstractmethod
    def _finish(self, whole: bool) -> None:
        """Close what is open; if all rows came, write what has to come last."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        try:
            self._finish(error is None)
            if error is None and self._temporary.exists():
                self._temporary.replace(self._path)
        finally:
            self._temporary.unlink(missing_ok=True)


def only_block(views: Views, path: Path) -> Block:
    """Return the one block of some views.

    Examples
    --------
    >>> import numpy as np
    >>> only_block(Views({"text": np.eye(2)}), Path("x.npy")).shape
    (2, 2)
    """
    if len(views.names) > 1:
        raise SourceError(
            f"{path} holds one view; got {len(views.names)}. Write a folder, or a table."
        )
    block: Block = next(iter(views.blocks.values()))
    return block
