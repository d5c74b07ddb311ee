"""States that wait in files are whole wherever they are sent, and leave nothing behind."""

import gc
import pickle
import sys

import pytest

from omvfs.distributed.dask import Parked


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where files wait that no worker has."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_what_is_parked_is_read_as_it_was_and_holds_no_memory(folder):
    state = bytes(range(256)) * 4_000
    parked = Parked(state)
    assert parked.read() == state
    assert sys.getsizeof(parked) < 1_000
    assert [file.stat().st_size for file in folder.iterdir()] == [len(state)]


def test_where_it_is_sent_it_waits_in_a_file_of_its_own(folder):
    here = Parked(b"learned")
    there = pickle.loads(pickle.dumps(here))
    assert len(list(folder.iterdir())) == 2
    del here
    gc.collect()
    assert there.read() == b"learned"
    assert len(list(folder.iterdir())) == 1


def test_the_file_is_gone_with_the_last_that_knows_of_it(folder):
    parked = Parked(b"learned")
    assert list(folder.iterdir())
    del parked
    gc.collect()
    assert not list(folder.iterdir())
