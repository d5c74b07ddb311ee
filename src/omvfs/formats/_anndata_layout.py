"""What an ``.h5ad`` or ``.h5mu`` file says of its matrices; also a program that prints it.

Names in these files are kept in heaps, and a damaged heap makes the HDF5 library go round for ever.
So they are read in a process of their own, which may use little time: some for every name that a
file of its size can have. It imports h5py only.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

import h5py

# Seconds of computing for a file, a byte of it, and a name, which takes so many bytes at least.
_SECONDS, _A_BYTE, _A_NAME, _NAME_BYTES = 0.6, 1e-8, 2e-5, 16


def layout(
    file: Any, view: str, obsm: Mapping[str, str], before_names: Callable[[int], None]
) -> list[dict[str, Any]]:
    """Return name, place, kind, shape and names of the features of every view.

    Parameters
    ----------
    file : h5py.File
    view : str
        Name of the view of ``X`` in an ``.h5ad`` file.
    obsm : mapping of str to str
        More views of an ``.h5ad`` file: by their name, the key in ``obsm``.
    before_names : callable
        Told how many names there are before they are read.
    """

    def described(name: str, place: str, var: str | None) -> dict[str, Any]:
        return _described(file, name, place, var, before_names)

    refuse_links(file)
    if "mod" in file:
        order = file["mod"].attrs.get("mod-order", list(file["mod"]))
        return [described(str(name), f"mod/{name}/X", f"mod/{name}/var") for name in order]
    views = [described(view, "X", "var")]
    for name, key in obsm.items():
        if "obsm" not in file or key not in file["obsm"]:
            known = ", ".join(map(repr, file.get("obsm", ()))) or "none"
            raise ValueError(f"it has no obsm {key!r}; it has {known}")
        views.append(described(name, f"obsm/{key}", None))
    return views


def _described(
    file: Any, name: str, place: str, var: str | None, before_names: Callable[[int], None]
) -> dict[str, Any]:
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
    names = None
    if var is not None and var in file and "_index" in file[var].attrs:
        index = file[var][file[var].attrs["_index"]]
        refuse_elsewhere(index)
        before_names(index.shape[0])
        names = list(map(str, index.asstr()[:]))
        if len(set(names)) < len(names):
            raise ValueError("it has two features of the same name: adata.var_names_make_unique()")
    rows, width = (int(size) for size in shape)
    return {"name": name, "place": place, "kind": kind, "shape": [rows, width], "names": names}


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


class _Patience:
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
    """Print the layout of a file, or why there is none; end after some seconds of computing."""
    path, view, obsm = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    patience = _Patience(os.path.getsize(path))
    try:
        with h5py.File(path, "r") as file:
            answer: dict[str, Any] = {"views": layout(file, view, obsm, patience.more)}
    except Exception as error:  # what h5py makes of a damaged file may be anything
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
