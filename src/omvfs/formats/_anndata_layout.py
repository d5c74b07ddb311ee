"""What an ``.h5ad`` or ``.h5mu`` file says of its matrices; also a program that prints it.

Names in these files are kept in heaps, and a damaged heap makes the HDF5 library go round for ever.
So they are read in a process of their own, which may use little time. It imports h5py only.
"""

import json
import signal
import sys
from collections.abc import Mapping
from typing import Any

import h5py


def layout(file: Any, view: str, obsm: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return name, place, kind, shape and names of the features of every view.

    Parameters
    ----------
    file : h5py.File
    view : str
        Name of the view of ``X`` in an ``.h5ad`` file.
    obsm : mapping of str to str
        More views of an ``.h5ad`` file: by their name, the key in ``obsm``.
    """
    if "mod" in file:
        order = file["mod"].attrs.get("mod-order", list(file["mod"]))
        return [_described(file, str(name), f"mod/{name}/X", f"mod/{name}/var") for name in order]
    views = [_described(file, view, "X", "var")]
    for name, key in obsm.items():
        if "obsm" not in file or key not in file["obsm"]:
            known = ", ".join(map(repr, file.get("obsm", ()))) or "none"
            raise ValueError(f"it has no obsm {key!r}; it has {known}")
        views.append(_described(file, name, f"obsm/{key}", None))
    return views


def _described(file: Any, name: str, place: str, var: str | None) -> dict[str, Any]:
    X = file[place]
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
        names = list(map(str, file[var][file[var].attrs["_index"]].asstr()[:]))
        if len(set(names)) < len(names):
            raise ValueError("it has two features of the same name: adata.var_names_make_unique()")
    rows, width = (int(size) for size in shape)
    return {"name": name, "place": place, "kind": kind, "shape": [rows, width], "names": names}


def main() -> None:
    """Print the layout of a file, or why there is none; end after some seconds of computing."""
    path, view, obsm = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    if hasattr(signal, "setitimer"):  # unknown to Windows
        signal.setitimer(signal.ITIMER_PROF, float(sys.argv[4]))
    try:
        with h5py.File(path, "r") as file:
            answer: dict[str, Any] = {"views": layout(file, view, obsm)}
    except Exception as error:  # what h5py makes of a damaged file may be anything
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
