"""10,000 damaged and hostile files over all readers: an error that says so, or a read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from omvfs.formats import MAX_CHUNK_BYTES
from omvfs.formats.registry import FORMATS

PROGRAM = Path(__file__).with_name("mutants.py")
# Names of AnnData are read in a process of their own, which takes its time.
COUNTS = {"text.h5ad": 60, "rows.h5mu": 60}
OTHERS = 495
KINDS = [
    "image.npy",
    "text.npz",
    "plain/text.npz",
    "rows.parquet",
    "long/rows.parquet",
    "rows.feather",
    "packed/rows.feather",
    "rows.csv",
    "rows.csv.gz",
    "rows.csv.zst",
    "long/rows.csv",
    "rows.jsonl",
    "rows.jsonl.gz",
    "rows.jsonl.zst",
    "text.svm",
    "text.svm.gz",
    "text.h5ad",
    "rows.h5mu",
    "rows.mat",
    "packed/rows.mat",
    "v7/rows.mat",
    "model.omvfs",
]


def test_these_are_10_000_files_of_every_kind():
    assert sum(COUNTS.get(kind, OTHERS) for kind in KINDS) >= 10_000
    endings = {"." + kind.rpartition("/")[2].split(".")[1] for kind in KINDS}
    same = {".arrow": ".feather", ".svmlight": ".svm", ".libsvm": ".svm"}
    assert {same.get(ending, ending) for ending in FORMATS} <= endings


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_refused_or_read(kind, tmp_path):
    count = COUNTS.get(kind, OTHERS)
    done = subprocess.run(
        [sys.executable, str(PROGRAM), kind, "0", str(count), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    place = (tmp_path / "last").read_text()
    assert done.returncode == 0, f"file {place}: {done.stderr}"
    told = json.loads(done.stdout)
    assert told["read"] + told["refused"] == told["files"] == count
    assert told["refused"] > count // 4
    assert told["longest"] < 1, f"slow files are in {tmp_path}"
    assert told["grown"] < 2 * MAX_CHUNK_BYTES
