"""What a process finds out once, found out before others are forked from it."""

import contextlib
import gc
import importlib
import io

from omvfs.cli.commands import run_app
from reliability.rows_at_hand import place, select, views, write

_LATE = ("h5py", "pyarrow.csv", "pyarrow.feather", "pyarrow.parquet", "pyarrow.dataset", "fsspec")


def warm() -> None:
    """Import what is imported late, and run once what looks at the machine when it first runs."""
    for name in _LATE:
        importlib.import_module(name)
    # Nothing that starts threads of a library, which a fork would not have.
    with place() as here, contextlib.redirect_stdout(io.StringIO()):
        data = write(here / "folder", views())
        code = run_app([str(each) for each in select(data, here / "out", "--write-data")])
    assert code == 0
    gc.collect()
    gc.freeze()
