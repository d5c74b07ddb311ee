"""What every writer of rows is: chunk by chunk, into a file that appears when it is whole."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from omvfs.data.blocks import Block
from omvfs.data.read import mark_missing
from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.disk import PathLike, Staging, naming
from omvfs.formats.files import PACKED, File
from omvfs.formats.registry import imported
from omvfs.formats.source import NOTHING, Kept, Source, SourceError


class Writer(ABC):
    """Writes rows into a file, which appears when the ``with`` block is left without an error.

    A subclass writes into `_temporary` and provides `_append`; what is in `_stack` is closed then.
    For the parameters see `open_writer`.
    """

    def __init__(
        self,
        path: PathLike,
        kept: Mapping[str, Any] = NOTHING,
        staging: Staging | None = None,
    ) -> None:
        self._path, self._kept, self._stack = Path(path), dict(kept), ExitStack()
        self._given = staging
        if self._path.exists():
            raise FileExistsError(f"{self._path} is there already.")

    @cached_property
    def _staging(self) -> Staging:
        return self._given or Staging(self._path)

    @cached_property
    def _temporary(self) -> Path:
        return self._staging.folder / self._path.name

    def describe(  # noqa: B027 (most formats have no place for it)
        self, source: Source, columns: Mapping[str, Any] = NOTHING
    ) -> None:
        """Keep what a source says of its rows and columns, where the format has a place for it.

        All its rows follow, in order; by view, `columns` tells which columns, by default all.
        """

    def append(self, views: Views, kept: Kept = NOTHING) -> None:
        """Write more rows.

        Parameters
        ----------
        views : Views
            With the same views each time, sparse or dense as in the first. Rows that lack a view
            are NaN where it is dense, left out in JSON Lines, and empty in other sparse formats.
        kept : mapping of str to array, default={}
            Columns beside the views. Tables and JSON Lines have those that their writer was told
            of; other formats have none.
        """
        for view in views.names:
            if any(sign in view for sign in ("/", "\0", os.sep)):
                raise SourceError(
                    f"View {view!r} cannot be written to {self._path}: its name has a '/' or NUL. "
                    "Rename it."
                )
        with naming(self._path):
            self._append(mark_missing(views).shown(), kept)

    def _beside(self, kept: Kept, taken: Iterable[str]) -> dict[str, Any]:
        """Return the columns to write beside the views, whose names are none of those taken."""
        if missing := [name for name in self._kept if name not in kept]:
            raise SourceError(
                f"{self._path} is to have {listed(missing)} beside its views; got rows without."
            )
        if twice := [name for name in taken if name in self._kept]:
            raise SourceError(
                f"{self._path} would have {listed(twice)} twice, as a feature or view and beside "
                "them. Rename one."
            )
        return {name: kept[name] for name in self._kept}

    @abstractmethod
    def _append(self, views: Views, kept: Kept) -> None:
        """Write what `append` says; the names of the views are checked already."""

    def _finish(self) -> None:  # noqa: B027 (most have nothing to add)
        """Write what has to come last; all rows came."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        try:
            with naming(self._path):
                with self._stack:
                    if error is None:
                        self._finish()
                if error is None:
                    self._publish()
        except Exception:
            # That a file cannot be closed matters less than what went wrong before.
            if error is None:
                raise
        finally:
            if self._given is None and "_staging" in vars(self):
                self._staging.close()

    def _publish(self) -> None:
        """Let the file appear, if it is not to wait for others."""
        if self._given is None and self._temporary.exists():
            self._staging.publish_file()

    def _opened(self) -> Any:
        """Return the file to write into, which compresses if its name says so."""
        opened: Any = self._stack.enter_context(self._temporary.open("wb"))
        compression = File(self._path).compression
        if pack := PACKED.get(compression):
            opened = self._stack.enter_context(pack(opened, "wb"))
        elif compression:
            pa = imported("pyarrow", f"Writing {self._path}")
            packed = pa.CompressedOutputStream(pa.PythonFile(opened, "w"), "zstd")
            opened = self._stack.enter_context(packed)
        return opened


class HoldingWriter(Writer):
    """Base of writers that hold all rows in memory until the end, which `_write` writes."""

    @cached_property
    def _held(self) -> list[Views]:
        return []

    def _append(self, views: Views, kept: Kept) -> None:
        self._held.append(views)

    def _finish(self) -> None:
        if self._held:
            self._write(Views.concat(self._held))

    @abstractmethod
    def _write(self, views: Views) -> None:
        """Write all rows."""


def only_block(views: Views, path: Path) -> Block:
    """Return the one block of some views."""
    if len(views.names) > 1:
        raise SourceError(
            f"{path} holds one view; got {len(views.names)}. Write a folder, or a table."
        )
    block: Block = next(iter(views.blocks.values()))
    return block
