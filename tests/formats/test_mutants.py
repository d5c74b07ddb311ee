"""Some 100 damaged and hostile files over all readers: an error that says so, or a read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from formats import mutants
from omvfs.formats import MAX_CHUNK_BYTES
from omvfs.formats.registry import FORMATS

PROGRAM = Path(__file__).with_name("mutants.py")
# Kinds of files that are damaged here; tests/reliability goes through all, thousands of times.
KINDS = ["text.npz", "rows.parquet", "long/rows.csv", "rows.jsonl.gz", "rows.h5mu", "rows.mat"]
COUNT = 20


def test_a_kind_of_every_format_can_be_damaged():
    endings = {"." + kind.rpartition("/")[2].split(".")[1] for kind in mutants.KINDS}
    same = {".arrow": ".feather", ".svmlight": ".svm", ".libsvm": ".svm"}
    assert {same.get(ending, ending) for ending in FORMATS} <= endings


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_refused_or_read(kind, tmp_path):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), kind, "0", str(COUNT), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    place = (tmp_path / "last").read_text()
    assert done.returncode == 0, f"file {place}: {done.stderr}"
    told = json.loads(done.stdout)
    assert told["read"] + told["refused"] == told["files"] == COUNT
    assert told["refused"] > COUNT // 4
    assert told["longest"] < 1, f"slow files are in {tmp_path}"
    assert told["grown"] < 2 * MAX_CHUNK_BYTES
