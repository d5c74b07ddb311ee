"""Files by path or address: what they are called, how they are opened, what is told if not."""

import builtins
import os

import fsspec
import numpy as np
import pytest

from omvfs.formats import SourceError, open_source
from omvfs.formats.files import File, reading


@pytest.mark.parametrize(
    ("given", "stem", "ending", "compression", "remote"),
    [
        ("rows.csv", "rows", ".csv", "", False),
        ("a.b/rows.csv.gz", "rows", ".csv", ".gz", False),
        ("rows.gz", "rows", ".gz", "", False),
        ("rows.tar.zst", "rows", ".tar", ".zst", False),
        ("rows", "rows", "", "", False),
        ("s3://bucket/a/rows.jsonl.zst", "rows", ".jsonl", ".zst", True),
        ("https://example.org/rows.parquet?x=1", "rows", ".parquet", "", True),
        ("zip://rows.csv::s3://bucket/all.zip", "rows", ".csv", "", True),
    ],
)
def test_names(given, stem, ending, compression, remote):
    file = File(given)
    got = file.stem, file.ending, file.compression, file.remote
    assert got == (stem, ending, compression, remote)
    assert File(file).text == given


def test_a_view_asked_for_twice_is_read_once(tmp_path):
    np.save(tmp_path / "view_0_text.npy", np.eye(2))
    assert open_source(tmp_path, views=["text", "text"]).schema.names == ("text",)
    file = tmp_path / "view_0_text.npy"
    assert open_source(f"text={file}", views=["text", "text"]).schema.names == ("text",)


def test_what_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        open_source(tmp_path / "rows.npy")
    (tmp_path / "rows.npy").mkdir()
    np.save(tmp_path / "image.npy", np.eye(2))
    with pytest.raises(IsADirectoryError, match="is a folder; expected a file"):
        open_source(tmp_path / "image.npy", tmp_path / "rows.npy")
    with pytest.raises(OSError, match="nosuch"):
        open_source("nosuch://bucket/rows.npy")
    with pytest.raises(FileNotFoundError):
        open_source("memory://nowhere/rows.npy")


def test_an_array_by_columns_is_read_from_afar_too():
    X = np.arange(12.0).reshape(4, 3)
    with fsspec.open("memory://files/rows.npy", "wb") as file:
        np.save(file, np.asfortranarray(X))
    (chunk,) = open_source("memory://files/rows.npy").chunks(4)
    np.testing.assert_array_equal(chunk.views["rows"], X)


def test_an_array_by_columns_cut_off_while_it_is_read_is_an_error(tmp_path):
    np.save(tmp_path / "rows.npy", np.asfortranarray(np.ones((5000, 30))))
    chunks = open_source(tmp_path / "rows.npy").chunks(100)
    next(chunks)
    os.truncate(tmp_path / "rows.npy", 5000)
    with pytest.raises(SourceError, match="cut off"):
        next(chunks)


def test_an_address_without_fsspec_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "fsspec":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"omvfs\[remote\]"):
        File("s3://bucket/rows.npy").open()


def test_a_signal_that_a_library_has_made_an_error_of_stays_a_signal():
    def returned_with_an_exception_set():
        raise SystemError("a result with an exception set") from KeyboardInterrupt()

    with pytest.raises(KeyboardInterrupt), reading("rows.h5mu"):
        returned_with_an_exception_set()
