"""Which module reads and writes a file, told by the end of its name.

A format is a module of this package and its line here. The module has ``open_reader(file, view,
options)``, which returns a `Source`, and ``open_writer(path, kept, staging)``, which returns a
`Writer`. It is imported when such a file is opened: pyarrow and h5py are large, and extras.
"""

from importlib import import_module
from typing import Any, NamedTuple


class Format(NamedTuple):
    """What is known of a format without its module, whose name in this package it has."""

    module: str
    # Text may be compressed: ``.gz``, ``.bz2`` or ``.zst`` after the ending.
    text: bool = False
    # Rows can have keys, by which files are aligned, and other columns beside the features.
    keys: bool = False
    # Matrices can have layers, and rows and columns annotations.
    layers: bool = False


FORMATS = {
    ".npy": Format("numpy_files"),
    ".npz": Format("numpy_files"),
    ".parquet": Format("tables", keys=True),
    ".feather": Format("tables", keys=True),
    ".arrow": Format("tables", keys=True),
    ".csv": Format("tables", text=True, keys=True),
    ".tsv": Format("tables", text=True, keys=True),
    ".h5ad": Format("anndata", layers=True),
    ".h5mu": Format("anndata", layers=True),
    ".mat": Format("matlab"),
    ".jsonl": Format("text_files", text=True, keys=True),
    ".svm": Format("text_files", text=True),
    ".svmlight": Format("text_files", text=True),
    ".libsvm": Format("text_files", text=True),
}


def format_of(ending: str) -> Format:
    """Return what is known of the format of an ending: nothing, if there is none."""
    return FORMATS.get(ending, Format(""))


def load(ending: str, doing: str = "Reading") -> Any:
    """Return the module of a format; `doing` says what it is for, should it lack a library."""
    extra = "scverse" if FORMATS[ending].layers else "files"
    return imported(f"omvfs.formats.{FORMATS[ending].module}", f"{doing} this file", extra)


def imported(module: str, doing: str, extra: str = "files") -> Any:
    """Return a module, or say what needs the library that is missing, and which extra has it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise ImportError(
            f"{doing} needs {missing.name}: pip install 'omvfs[{extra}]'"
        ) from missing
