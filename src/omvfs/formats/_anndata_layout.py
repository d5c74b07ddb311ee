"""What an ``.h5ad`` or ``.h5mu`` file says of its matrices; also a program that prints it.

Names in these files are kept in heaps, and a damaged heap makes the HDF5 library go round for ever.
So they are read in a process of their own, which may use little time: some for every name that a
file of its size can have. It imports h5py only.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import h5py

# Seconds of computing for a file, a byte of it, and a name, which takes so many bytes at least.
_SECONDS, _A_BYTE, _A_NAME, _NAME_BYTES = 0.6, 1e-8, 2e-5, 16


class NotThereError(ValueError):
    """The file is sound, and has not what was asked for."""


def layout(
    file: Any,
    view: str,
    obsm: Mapping[str, str],
    layer: str | None,
    views: Sequence[str] | None,
    *,
    before_names: Callable[[int], None],
) -> dict[str, Any]:
    """Return what is known of every view, and the names of those that were not asked for.

    Of a view these are name, group, place, kind, shape and names of the features; and the places of
    other matrices of the same rows and features, by name, and of those that cannot be read by rows.

    Parameters
    ----------
    file : h5py.File
    view : str
        Name of the view of ``X`` in an ``.h5ad`` file.
    obsm : mapping of str to str
        More views of an ``.h5ad`` file: by their name, the key in ``obsm``.
    layer : str or None
        Layer to read in the place of ``X``.
    views : sequence of str or None
        Which modalities to read of an ``.h5mu`` file, if it has any of them; None for all.
    before_names : callable
        Told how many names there are before they are read.
    """
    refuse_links(file)
    if "mod" in file:
        order = list(map(str, file["mod"].attrs.get("mod-order", list(file["mod"]))))
        read = [name for name in order if views is None or name in views] or order
        _check_order(file, read)
        found = [_matrices(file, name, f"mod/{name}", layer, before_names) for name in read]
        return {"views": found, "others": [name for name in order if name not in read]}
    found = [_matrices(file, view, "", layer, before_names)]
    for name, key in obsm.items():
        if "obsm" not in file or key not in file["obsm"]:
            raise NotThereError(f"no obsm {key!r}; it has {_listed(file.get('obsm', ()))}")
        described = _described(file, name, f"obsm/{key}")
        found.append({**described, "group": None, "names": None, "layers": {}, "unread": []})
    return {"views": found, "others": []}


def _matrices(
    file: Any, name: str, group: str, layer: str | None, before_names: Callable[[int], None]
) -> dict[str, Any]:
    """Return what is known of a view that has a group of its own."""
    own = file[group or "/"]
    layers = own.get("layers", {})
    if layer is not None and layer not in layers:
        raise NotThereError(f"no layer {layer!r} of view {name!r}; it has {_listed(layers)}")
    inside = {f"layers/{each}": each for each in layers}
    if layer is not None and "X" in own and "X" not in layers:
        inside["X"] = "X"
    place = "X" if layer is None else f"layers/{layer}"
    at = f"{group}/" if group else ""
    found = _described(file, name, at + place)
    names = _names(file, f"{at}var", before_names)
    found |= {"group": group, "names": names, "layers": {}, "unread": []}
    for other, called in inside.items():
        if _is_alike(file, at + other, found["shape"]):
            found["layers"][called] = at + other
        else:
            found["unread"].append(at + other)
    return found


def _is_alike(file: Any, place: str, shape: Sequence[int]) -> bool:
    """Tell whether a matrix can be read by rows, and has as many of them, and of columns."""
    try:
        described = _described(file, place, place)
    except (ValueError, KeyError, TypeError):
        return False
    return described["shape"] == shape and described["kind"] in ("dense", "csr_matrix")


def _described(file: Any, name: str, place: str) -> dict[str, Any]:
    X = file[place]
    for part in (X,) if isinstance(X, h5py.Dataset) else X.values():
        refuse_elsewhere(part)
    if isinstance(X, h5py.Dataset):
        kind, shape = "dense", X.shape
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise ValueError(
                f"view {name!r} is {X.dtype} of shape {X.shape}; expected numbers, rows × columns"
            )
    else:
        kind, shape = str(X.attrs.get("encoding-type", "unknown")), X.attrs["shape"]
    rows, width = (int(size) for size in shape)
    return {"name": name, "place": place, "kind": kind, "shape": [rows, width]}


def _names(file: Any, var: str, before_names: Callable[[int], None]) -> list[str] | None:
    if var not in file or "_index" not in file[var].attrs:
        return None
    index = file[var][file[var].attrs["_index"]]
    refuse_elsewhere(index)
    before_names(index.shape[0])
    names = list(map(str, index.asstr()[:]))
    if len(set(names)) < len(names):
        raise ValueError("it has two features of the same name: adata.var_names_make_unique()")
    return names


def _check_order(file: Any, names: Sequence[str]) -> None:
    """Refuse modalities whose rows are in different orders, as far as the file tells."""
    maps = file.get("obsmap", {})
    first = None
    for name in names:
        if name not in maps or len(names) < 2:
            return
        refuse_elsewhere(maps[name])
        own = maps[name][:].ravel().tolist()
        first = own if first is None else first
        if own != first:
            raise ValueError(
                f"the rows of {names[0]!r} and {name!r} are not the same, or in another order: "
                f"mdata.mod[{name!r}] = mdata[{name!r}][mdata[{names[0]!r}].obs_names]"
            )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def refuse_links(file: Any) -> None:
    """Refuse a file with links to others, which HDF5 would follow wherever they lead.

    Parameters
    ----------
    file : h5py.File
    """

    def elsewhere(name: bytes, link: Any) -> bytes | None:
        return name if link.type == h5py.h5l.TYPE_EXTERNAL else None

    if (found := file.id.links.visit(elsewhere, info=True)) is not None:
        name = found.decode("utf-8", "replace")
        raise ValueError(f"{name!r} is a link to another file; expected all data within this one")


def refuse_elsewhere(dataset: Any) -> None:
    """Refuse a dataset whose numbers are in other files.

    Parameters
    ----------
    dataset : h5py.Dataset
    """
    if isinstance(dataset, h5py.Dataset) and (dataset.external or dataset.is_virtual):
        raise ValueError(
            f"{dataset.name!r} has its values in another file; expected all data within this one"
        )


class Patience:
    """Ends the process after some seconds of computing, more for every name, as may be asked."""

    def __init__(self, size: int) -> None:
        self._names = size / _NAME_BYTES
        self._wait(_SECONDS + _A_BYTE * size)

    def more(self, n_names: int) -> None:
        """Allow for reading some names, no more in all than the file can have."""
        allowed = min(n_names, self._names)
        self._names -= allowed
        self._wait(_A_NAME * allowed)

    def _wait(self, seconds: float) -> None:
        if hasattr(signal, "setitimer"):  # unknown to Windows
            left, _ = signal.getitimer(signal.ITIMER_PROF)
            signal.setitimer(signal.ITIMER_PROF, left + seconds)


def main() -> None:
    """Print the layout of a file, as standard input asks for it, or why there is none.

    It ends after some seconds of computing.
    """
    path, asked = sys.argv[1], json.load(sys.stdin)
    patience = Patience(os.path.getsize(path))
    try:
        with h5py.File(path, "r") as file:
            answer: dict[str, Any] = layout(file, before_names=patience.more, **asked)
    except NotThereError as error:
        answer = {"has": str(error)}
    except Exception as error:  # what h5py makes of a damaged file may be anything
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
