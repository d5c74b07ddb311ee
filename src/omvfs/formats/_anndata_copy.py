"""What ``.h5ad`` and ``.h5mu`` files say beside their matrices, copied; also a program to do so.

Like `_anndata_layout`, it runs in a process of its own, which may use little time, and imports h5py
only: names and texts are kept in heaps, and a damaged heap makes the HDF5 library go round for
ever.
"""

import importlib.util
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

# What has a line a row, or belongs to no row, is copied as it is.
_AS_IT_IS = "obs", "obsm", "obsp", "uns"
# What is of all columns goes along with all of them only.
_OF_ALL = "varp", "raw"
# An array of which some lines are taken has no more.
_MOST_BYTES = 1 << 30
# A column of a frame that is a group: which of its parts has an entry for every line.
_LINES = {"categorical": ("codes",)} | dict.fromkeys(
    ("nullable-integer", "nullable-boolean", "nullable-string-array"), ("values", "mask")
)


class Copier:
    """Copies from one open file to another.

    Parameters
    ----------
    source, target : h5py.File
    before_names : callable
        Told how many texts there are before they are read.

    Attributes
    ----------
    left_out : list of str
        What could not be copied.
    """

    def __init__(self, source: Any, target: Any, before_names: Callable[[int], None]) -> None:
        self._source, self._target, self._before_names = source, target, before_names
        self.left_out: list[str] = []

    def modality(self, place: str, to: str, columns: Sequence[int] | None) -> None:
        """Copy what is said of rows and columns beside the matrices of one modality.

        Parameters
        ----------
        place, to : str
            Its group, in the source and in the target; empty for the file.
        columns : sequence of int or None
            Columns that are written; None for all.
        """
        source, target = self._source[place or "/"], self._target.require_group(to or "/")
        for name in _AS_IT_IS:
            self._copy(source, target, name)
        for name in ("var", "varm"):
            if columns is None:
                self._copy(source, target, name)
            elif name in source:
                self._some(source[name], target, name, np.asarray(columns, np.int64))
        for name in _OF_ALL:
            if columns is None:
                self._copy(source, target, name)
            elif name in source and len(source[name]):
                self.left_out.append(source[name].name)

    def whole(self, names: Sequence[str], columns: Sequence[Sequence[int] | None]) -> None:
        """Copy what MuData says of all modalities together.

        Parameters
        ----------
        names : sequence of str
            Modalities that are written.
        columns : sequence of (sequence of int or None)
            Which of their columns.
        """
        source, target = self._source, self._target
        others = {*source["mod"]} - {*names}
        for name in (*_AS_IT_IS, "obsmap"):
            self._copy(source, target, name, without=others)
        # Where the columns of a modality are among those of all, from 1.
        maps = source.get("varmap", {})
        if "var" not in source or any(name not in maps for name in names):
            return
        lines = []
        for name, chosen in zip(names, columns, strict=True):
            own = maps[name][:]
            places = np.flatnonzero(own)[np.argsort(own[own > 0], kind="stable")]
            lines.append(places if chosen is None else places[np.asarray(chosen, np.int64)])
        every = np.concatenate(lines)
        self._some(source["var"], target, "var", every)
        sizes = [len(each) for each in lines]
        ends = np.cumsum([0, *sizes])
        for group, kind in (("varmap", np.uint32), ("varm", np.bool_)):
            made = target.require_group(group)
            _encode(made, "dict", "0.1.0")
            for name, start, size in zip(names, ends, sizes, strict=False):
                own = np.zeros(len(every), kind)
                own[start : start + size] = np.arange(1, size + 1) if group == "varmap" else True
                made[name] = own[:, np.newaxis] if group == "varm" else own
                _encode(made[name], "array", "0.2.0")

    def _copy(self, source: Any, target: Any, name: str, without: Collection[str] = ()) -> None:
        """Copy a group as it is, without some of its members."""
        if name not in source:
            return
        group = source[name]
        if name in ("obs", "var") and not _is_frame(group):
            self.left_out.append(group.name)
            return
        self._check(group)
        if not without or not isinstance(group, h5py.Group):
            source.copy(group, target, name)
            return
        made = target.create_group(name)
        _copy_attributes(group, made)
        for member in group:
            if member not in without:
                group.copy(group[member], made, member)

    def _some(self, source: Any, target: Any, name: str, lines: Any) -> None:
        """Copy some lines of an array, a column or a frame; what is none of these is left out."""
        self._check(source)
        if isinstance(source, h5py.Dataset):
            if not source.shape or not len(lines) or source.shape[0] <= lines.max():
                self.left_out.append(source.name)
                return
            most = int(lines.max()) + 1
            if most * source.dtype.itemsize * math.prod(source.shape[1:]) > _MOST_BYTES:
                self.left_out.append(source.name)
                return
            made = target.create_dataset(name, data=source[:most][lines], dtype=source.dtype)
            _copy_attributes(source, made)
            return
        kind = source.attrs.get("encoding-type", "dataframe" if _is_frame(source) else "")
        parts = _LINES.get(kind, tuple(source) if kind in ("dataframe", "dict", "") else None)
        if parts is None or (kind == "dataframe" and not _is_frame(source)):
            self.left_out.append(source.name)
            return
        made = target.create_group(name)
        _copy_attributes(source, made)
        for member in source:
            if member in parts:
                self._some(source[member], made, member, lines)
            else:
                source.copy(source[member], made, member)
        if "column-order" in made.attrs:
            order = [column for column in made.attrs["column-order"] if column in made]
            made.attrs["column-order"] = np.array(order, h5py.string_dtype("utf-8"))

    def _check(self, group: Any) -> None:
        """Refuse values in other files, and ask for the time that reading texts may take."""

        def visit(_: str, item: Any) -> None:
            if not isinstance(item, h5py.Dataset):
                return
            if item.external or item.is_virtual:
                raise ValueError(
                    f"{item.name!r} has its values in another file; expected all data within this "
                    "one"
                )
            if h5py.check_string_dtype(item.dtype) is not None:
                self._before_names(int(item.size))

        visit("", group)
        if isinstance(group, h5py.Group):
            group.visititems(visit)


def run(copier: Copier, plan: dict[str, Any]) -> list[str]:
    """Copy all that a plan says, and return what was left out.

    Parameters
    ----------
    copier : Copier
    plan : dict
        Under ``modalities``, for each the arguments of `Copier.modality`; under ``whole`` whether
        all of them are one file of MuData that becomes another.
    """
    modalities = plan["modalities"]
    for place, to, columns in modalities:
        copier.modality(place, to, columns)
    if plan["whole"]:
        names = [place.removeprefix("mod/") for place, _, _ in modalities]
        copier.whole(names, [columns for _, _, columns in modalities])
    return copier.left_out


def _is_frame(group: Any) -> bool:
    """Tell whether a group is a frame as AnnData has written them since version 0.8."""
    return isinstance(group, h5py.Group) and "_index" in group.attrs and "__categories" not in group


def _copy_attributes(source: Any, target: Any) -> None:
    for name, value in source.attrs.items():
        if not isinstance(value, h5py.Reference):
            target.attrs[name] = value


def _encode(item: Any, kind: str, version: str) -> None:
    item.attrs["encoding-type"], item.attrs["encoding-version"] = kind, version


def _beside(name: str) -> Any:
    """Return a module beside this one, without the package around it, which is slow to import."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Copy from one file to another as standard input says; print what was left out, or why."""
    path, to, plan = sys.argv[1], sys.argv[2], json.load(sys.stdin)
    patience = _beside("_anndata_layout").Patience(os.path.getsize(path))
    written = _beside("_hdf5").PatientFile(Path(to), os.path.exists(to))
    try:
        with h5py.File(path, "r") as source, h5py.File(written, written.mode) as target:
            answer: dict[str, Any] = {"left_out": run(Copier(source, target, patience.more), plan)}
    except Exception as error:  # what h5py makes of a damaged file may be anything
        answer = {"error": str(error)}
    written.close()
    try:
        written.check()
    except OSError as error:
        answer = {"error": error.strerror, "errno": error.errno}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
