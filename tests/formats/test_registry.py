"""A format is a module and a line; what it needs is imported when such a file is opened."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from omvfs import Views
from omvfs.formats import SourceError, numpy_files, open_source, open_writer
from omvfs.formats.registry import FORMATS, Format, load


@pytest.mark.parametrize("ending", FORMATS)
def test_a_module_reads_and_writes(ending):
    module = load(ending)
    assert module.__name__ == f"omvfs.formats.{FORMATS[ending].module}"
    assert callable(module.open_reader)
    assert callable(module.open_writer)


@pytest.mark.parametrize("text", [False, True])
def test_a_format_is_a_module_and_a_line(tmp_path, monkeypatch, text):
    ours = ModuleType("omvfs.formats.ours")
    ours.open_reader = lambda file, view, options: numpy_files.NpySource(file, view)
    ours.open_writer = numpy_files.NpyWriter
    monkeypatch.setitem(sys.modules, ours.__name__, ours)
    with pytest.raises(SourceError, match=r"'\.ours'; expected '', '\.npy'"):
        open_writer(tmp_path / "rows.ours")
    monkeypatch.setitem(FORMATS, ".ours", Format("ours", text=text))
    with open_writer(tmp_path / "rows.ours") as writer:
        writer.append(Views({"rows": np.eye(3)}))
    with open_source(tmp_path / "rows.ours") as source:
        np.testing.assert_array_equal(next(source.chunks(3)).views["rows"], np.eye(3))
    with pytest.raises(SourceError, match="no column 'id'"):
        open_source(tmp_path / "rows.ours", key="id")
    if not text:
        with pytest.raises(SourceError, match=r"ends in '\.ours\.gz'"):
            open_writer(tmp_path / "rows.ours.gz")


# scikit-learn imports pandas if it is there, and pandas pyarrow.
PROGRAM = """
import sys
sys.modules["pandas"] = None
import numpy as np
import omvfs
from omvfs.formats import open_source, open_writer
with open_writer(sys.argv[1]) as writer:
    writer.append(omvfs.Views({"rows": np.eye(3)}))
with open_source(sys.argv[1]) as source:
    assert sum(len(chunk.views) for chunk in source.chunks(2)) == 3
print([name for name in ("pyarrow", "h5py") if name in sys.modules])
"""

NEEDS = {"rows": [], "x.jsonl.gz": [], "x.svm": [], "x.mat": []}


@pytest.mark.parametrize(("name", "needed"), NEEDS.items())
def test_a_library_is_imported_for_the_formats_that_need_it(tmp_path, name, needed):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(needed)
