"""Which module reads and writes a file, told by the end of its name.

A format is a module of this package and its line here. The module has ``open_reader(file, view,
options)``, which returns a `Source`, and ``open_writer(path, kept, staging)``, which returns a
`Writer`. It is imported when such a file is opened: pyarrow and h5py are large, and extras.
"""

from importlib import import_module
from typing import Any, NamedTuple


class Format(NamedTuple):
    """What is known of a format without its module.

    Attributes
    ----------
    module : str
        Its name in this package.
    text : bool
        Whether it is text, which may be compressed: ``.gz`` or ``.zst`` after the ending.
    keys : bool
        Whether its rows can have keys, by which files are aligned.
    layers : bool
        Whether its matrices can have layers.
    """

    module: str
    text: bool = False
    keys: bool = False
    layers: bool = False


FORMATS = {
    ".npy": Format("numpy_files"),
    ".npz": Format("numpy_files"),
    ".parquet": Format("tables", keys=True),
    ".feather": Format("tables", keys=True),
    ".arrow": Format("tables", keys=True),
    ".csv": Format("tables", text=True, keys=True),
    ".h5ad": Format("anndata", layers=True),
    ".h5mu": Format("anndata", layers=True),
    ".mat": Format("matlab"),
    ".jsonl": Format("text_files", text=True, keys=True),
    ".svm": Format("text_files", text=True),
    ".svmlight": Format("text_files", text=True),
    ".libsvm": Format("text_files", text=True),
}


def is_table(ending: str) -> bool:
    """Tell whether files of an ending have named columns, which can be left out one by one."""
    return ending in FORMATS and FORMATS[ending].module == "tables"


def load(ending: str, doing: str = "Reading") -> Any:
    """Return the module of a format; `doing` says what it is for, should it lack a library."""
    try:
        return import_module(f"omvfs.formats.{FORMATS[ending].module}")
    except ModuleNotFoundError as missing:
        extra = "scverse" if FORMATS[ending].layers else "files"
        raise ImportError(
            f"{doing} this file needs {missing.name}: pip install 'omvfs[{extra}]'"
        ) from missing
