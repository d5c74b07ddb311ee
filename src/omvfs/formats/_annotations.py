"""What files say of rows and columns beside their matrices, on its way into other files."""

import logging
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from omvfs.data.blocks import Block, take_columns
from omvfs.data.schema import listed
from omvfs.formats._anndata_copy import Copier, run
from omvfs.formats._base import RowSource, Source, SourceError
from omvfs.formats._files import File
from omvfs.formats._hdf5 import PatientFile
from omvfs.formats._hdf5_reading import in_a_process, open_hdf5
from omvfs.formats.appended import Appended

_PROGRAM = Path(__file__).with_name("_anndata_copy.py")
_logger = logging.getLogger(__name__)

# Which columns of its view are written; None for all.
Columns = NDArray[np.intp] | None


class AnnotatedSource(RowSource):
    """Base of sources whose files say more of rows and columns, as AnnData's do.

    Attributes
    ----------
    file : File
    """

    file: File
    annotated = True

    @abstractmethod
    def group_of(self, view: str) -> str | None:
        """Return the group that has all of a view, empty for the file; None if it has none."""

    @abstractmethod
    def layers_of(self, view: str) -> Sequence[str]:
        """Return the names of other matrices of the same rows and columns, which can be read."""

    @abstractmethod
    def unread_layers_of(self, view: str) -> Sequence[str]:
        """Return where other matrices are that cannot be read by rows."""

    @abstractmethod
    def layer(self, view: str, name: str, start: int, stop: int) -> Block:
        """Return some consecutive rows of one of them."""


class Annotations:
    """What is known of some views beside their rows, and where from.

    Parameters
    ----------
    origins : mapping of str to (AnnotatedSource, columns)
        By view. All rows of the source are written, in order.
    several : bool
        Whether the new file has a group for every view, as MuData's have.
    """

    def __init__(
        self, origins: Mapping[str, tuple[AnnotatedSource, Columns]], several: bool
    ) -> None:
        self._origins, self._several = dict(origins), several

    def __bool__(self) -> bool:
        return bool(self._origins)

    def write(self, path: Path, n_views: int) -> None:
        """Make a file that has all of it, but for the layers.

        Parameters
        ----------
        path : Path
            It is not there yet.
        n_views : int
            Views that the file will have, known here or not.
        """
        sources = list(dict.fromkeys(source for source, _ in self._origins.values()))
        for source in sources:
            views = [view for view, (own, _) in self._origins.items() if own is source]
            groups = {view: source.group_of(view) for view in views}
            whole = self._several and len(views) == n_views and None not in groups.values()
            plan = {
                "modalities": [
                    (groups[view], f"mod/{view}" if self._several else "", _plain(columns))
                    for view, (own, columns) in self._origins.items()
                    if own is source
                ],
                "whole": whole and all(groups.values()),
            }
            left_out = [name for view in views for name in source.unread_layers_of(view)]
            if left_out := _copied(source.file, path, plan) + left_out:
                _logger.warning("Not copied from %s: %s.", source.file, listed(left_out))

    def layers(self, view: str, start: int, stop: int) -> dict[str, Block]:
        """Return the rows of the layers of a view, of the columns that are written.

        Parameters
        ----------
        view : str
        start, stop : int
            Numbers of the first row, and of that after the last.
        """
        if view not in self._origins:
            return {}
        source, columns = self._origins[view]
        found = {name: source.layer(view, name, start, stop) for name in source.layers_of(view)}
        if columns is None:
            return found
        return {name: take_columns(X, columns) for name, X in found.items()}

    def check_rows(self, n_rows: int) -> None:
        """Refuse to end with other rows than those that were described."""
        for source, _ in self._origins.values():
            if source.n_rows != n_rows:
                raise SourceError(
                    f"Got {n_rows:,} rows of {source.name}; expected all {source.n_rows:,} of them."
                )


def annotations_of(
    source: Source, columns: Mapping[str, Any], views: Sequence[str], several: bool
) -> Annotations:
    """Return what is known of some views of a source.

    Parameters
    ----------
    source : Source
    columns : mapping of str to array of int
        Which columns of a view are written, if not all.
    views : sequence of str
        Views that are written.
    several : bool
        Whether the new file has a group for every view.
    """
    found = {}
    for view in views:
        origin = source.origin(view)
        if isinstance(origin, AnnotatedSource) and origin.group_of(view) is not None:
            found[view] = origin, columns.get(view)
        elif isinstance(origin, Appended) and isinstance(origin.parts[0], AnnotatedSource):
            _logger.warning("obs, var and layers of parts are not copied: %s.", origin.name)
    return Annotations(found, several)


def _copied(file: File, path: Path, plan: Mapping[str, Any]) -> list[str]:
    """Copy what a plan says into a new file, or one that has some of it; tell what was left out."""
    if file.remote or not sys.executable:
        return _copied_here(file, path, plan)
    answer = in_a_process(_PROGRAM, file, str(path), given=plan)
    left_out: list[str] = answer["left_out"]
    return left_out


def _copied_here(file: File, path: Path, plan: Mapping[str, Any]) -> list[str]:
    with ExitStack() as stack:
        source = open_hdf5(file, stack)
        written = PatientFile(path, again=path.exists())
        with closing(written), h5py.File(written, written.mode) as target:
            left_out = run(Copier(source, target, lambda n: None), dict(plan))
        written.check()
    return left_out


def _plain(columns: Columns) -> list[int] | None:
    return None if columns is None else columns.tolist()
