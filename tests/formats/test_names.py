"""Views without columns, and names that no text can hold, are refused when they are read."""

import io
import os

import h5py
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import feather, parquet

from omvfs.cli.commands import run_app
from omvfs.formats import ReadOptions, SourceError, open_source
from omvfs.formats.opening import standard_input

ODD = os.fsdecode(b"caf\xe9")


def _h5ad(path):
    with h5py.File(path, "w") as file:
        file["X"] = np.zeros((4, 0))


def _folder(path):
    path.mkdir()
    np.save(path / "view_0_text.npy", np.eye(4))
    np.save(path / "view_1_none.npy", np.zeros((4, 0)))


WITHOUT_COLUMNS = {
    "rows.npy": lambda path: np.save(path, np.zeros((4, 0))),
    "rows.npz": lambda path: sp.save_npz(path, sp.csr_array((4, 0))),
    "rows.parquet": lambda path: parquet.write_table(pa.table({}), path),
    "rows.feather": lambda path: feather.write_feather(pa.table({}), path),
    "rows.csv": lambda path: path.write_text("__index_level_0__\n1\n"),
    "rows.h5ad": _h5ad,
    "rows": _folder,
}


@pytest.mark.parametrize("name", WITHOUT_COLUMNS)
@pytest.mark.parametrize("command", ["info", "convert"])
def test_what_has_no_columns_is_told(tmp_path, capsys, name, command):
    WITHOUT_COLUMNS[name](tmp_path / name)
    more = ["-o", str(tmp_path / "out")] if command == "convert" else []
    assert run_app([command, str(tmp_path / name), *more]) == 3
    told = capsys.readouterr().err
    assert "has no columns" in told
    assert name in told


@pytest.mark.parametrize("option", ["--drop", "--key"])
def test_a_table_of_nothing_but_labels_or_keys_is_told(tmp_path, capsys, option):
    (tmp_path / "x.csv").write_text("y\n1\n2\n")
    assert run_app(["info", str(tmp_path / "x.csv"), option, "y"]) == 3
    assert "x.csv has no columns" in capsys.readouterr().err


def test_standard_input_of_nothing_but_labels_is_told():
    with pytest.raises(SourceError, match="Standard input has no columns"):
        standard_input("x", io.BytesIO(b"y\n1\n"), ReadOptions(drop=("y",)))


def _mat73(path):
    with h5py.File(path, "w") as file:
        file[b"caf\xe9"] = np.eye(3)


def _odd_folder(path):
    path.mkdir()
    np.save(path / f"view_0_{ODD}.npy", np.eye(3))


def _odd_column(path):
    path.write_bytes(b"a,caf\xe9\n1,2\n")


def _json(line):
    return lambda path: path.write_bytes(b'{"text": {"b": 1}}\n' + line + b"\n")


NAMED_ODDLY = {
    f"{ODD}.npy": lambda path: np.save(path, np.eye(3)),
    "folder": _odd_folder,
    "rows.csv": _odd_column,
    "1.jsonl": _json(b'{"text": {"\\ud800": 1}}'),
    "2.jsonl": _json(b'{"\\udfff": {"a": 1}}'),
    "3.jsonl": _json(b'{"text": {"caf\xe9": 1}}'),
    "4.jsonl": _json(b'{"text": {"\xed\xa0\x80": 1}}'),
}


@pytest.mark.parametrize("name", NAMED_ODDLY)
def test_a_name_that_is_no_text_is_told_before_anything_is_learned(tmp_path, name):
    NAMED_ODDLY[name](tmp_path / name)
    with pytest.raises(SourceError, match=r"UTF-?8|utf-?8") as caught:
        open_source(tmp_path / name)
    assert name in str(caught.value)


def test_a_key_that_is_no_text_is_told(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"id": "\\ud800", "text": {"b": 1}}\n')
    with pytest.raises(SourceError, match=r"Row 1 of .*x\.jsonl .*UTF-8"):
        open_source(tmp_path / "x.jsonl", key="id")


def test_a_file_with_an_odd_name_is_read_by_another(tmp_path):
    np.save(tmp_path / f"{ODD}.npy", np.eye(3))
    assert open_source(f"text={tmp_path / ODD}.npy").schema.names == ("text",)


def test_pairs_of_surrogates_are_text(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": {"\\ud83d\\ude00": 1}}\n')
    assert open_source(tmp_path / "x.jsonl").schema.feature_names == (("\N{GRINNING FACE}",),)
