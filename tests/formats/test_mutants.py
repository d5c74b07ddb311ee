"""Some damaged and hostile files over all readers: an error that says so, or a read.

`make test-faults` goes through thousands, in processes with little memory.
"""

import time

import numpy as np
import pytest

from omvfs.codec import CheckpointError
from omvfs.formats import SourceError
from omvfs.formats.registry import FORMATS
from reliability import files as mutants

COUNT = 8


def test_a_kind_of_every_format_can_be_damaged():
    endings = {"." + kind.rpartition("/")[2].split(".")[1] for kind in mutants.KINDS}
    same = {".arrow": ".feather", ".svmlight": ".svm", ".libsvm": ".svm", ".tsv": ".csv"}
    assert {same.get(ending, ending) for ending in FORMATS} <= endings


@pytest.mark.parametrize("kind", mutants.KINDS)
def test_a_damaged_file_is_refused_or_read(kind, tmp_path):
    path = tmp_path / kind
    path.parent.mkdir(exist_ok=True)
    mutants.KINDS[kind](path)
    whole, rng = path.read_bytes(), np.random.default_rng([*kind.encode()])
    mutants.read(path)
    files = [
        *mutants.made_with_intent(kind)[:5],
        *(mutants.cut_and_changed(whole, rng) for _ in range(COUNT)),
    ]
    refused, began = [], time.process_time()
    for content in files:
        path.write_bytes(content)
        try:
            mutants.read(path)
        except (SourceError, CheckpointError) as error:
            refused.append(str(error))
    assert len(refused) > len(files) // 4
    assert all(path.name in sentence for sentence in refused)
    assert time.process_time() - began < len(files)
