"""Tables: which columns are which view, and files that are none."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, feather, ipc, parquet

from omvfs import OMVFS
from omvfs.formats import SourceError, open_source
from omvfs.formats import text_files as lines
from support import damaged

ROWS = pa.table({"a": [1.0, 2.0, 3.0], "b": [1, 2, 3], "id": ["x", "y", "z"]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables")
    parquet.write_table(ROWS, path / "rows.parquet")
    feather.write_feather(ROWS, path / "rows.feather")
    (path / "rows.csv").write_text("a,b,id\n1,1,x\n2,2,y\n3,3,z\n")
    return path


every_table = pytest.mark.parametrize("name", ["rows.parquet", "rows.feather", "rows.csv"])


@every_table
def test_text_is_named(folder, name):
    with pytest.raises(SourceError, match=r"string in column 'id'"):
        open_source(folder / name)
    with pytest.raises(SourceError, match="no columns for view 'rows'"):
        open_source(folder / name, drop=["a", "b", "id"])


OPENS = {
    "parquet": (parquet, "ParquetFile"),
    "feather": (ipc, "open_file"),
    "csv": (csv, "open_csv"),
}


@pytest.mark.parametrize("kind", OPENS)
@pytest.mark.parametrize("long", [False, True])
def test_the_header_is_read_once_to_open_a_table(tmp_path, monkeypatch, kind, long):
    module, name = OPENS[kind]
    genuine, opened = getattr(module, name), []
    monkeypatch.setattr(module, name, lambda *a, **k: opened.append(1) or genuine(*a, **k))
    path = tmp_path / f"rows.{kind}"
    columns = {"row": [0, 1], "feature": [0, 1], "value": [1.0, 2.0]} if long else {"a": [1.0, 2.0]}
    write = {"parquet": parquet.write_table, "feather": feather.write_feather}
    write.get(kind, csv.write_csv)(pa.table(columns), path)
    source = open_source(path)
    # A table in long form is read as a whole to find its features.
    assert len(opened) == 1 + long
    assert sum(len(chunk.views) for chunk in source.chunks(1)) == 2
    assert len(opened) == 2 + long


def test_missing_values_are_refused_by_the_selector(tmp_path):
    parquet.write_table(
        pa.table({"a": [1.0, None, 2.0], "b": [1.0, 1.0, 1.0]}), tmp_path / "x.parquet"
    )
    (chunk,) = open_source(tmp_path / "x.parquet").chunks(10)
    with pytest.raises(ValueError, match=r"NaN.*'x'|'x'.*NaN"):
        OMVFS(2).partial_fit(chunk.views)


def test_single_precision_is_kept(tmp_path):
    columns = {"a": pa.array([1.0, 2.0], pa.float32()), "b": pa.array([3.0, 4.0], pa.float32())}
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    (chunk,) = open_source(tmp_path / "x.parquet").chunks(10)
    assert chunk.views["x"].dtype == np.float32


def test_fractions_after_whole_numbers_are_read(tmp_path):
    lines = ["a,b", *["1,2"] * 200_000, "0.5,2"]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    *_, last = open_source(tmp_path / "x.csv").chunks(50_000)
    np.testing.assert_array_equal(last.views["x"], [[0.5, 2]])


def test_lines_longer_than_a_block_are_read(tmp_path):
    n = 50_000
    header = ",".join(f"text__feature_number_{j:08}" for j in range(n))
    # The first rows are short, those after them are long.
    rows = [",".join(["0"] * n), *[",".join(["0.12345678901234567890123"] * n)] * 3]
    (tmp_path / "x.csv").write_text("\n".join([header, *rows]))
    chunks = list(open_source(tmp_path / "x.csv").chunks(3))
    assert [chunk.views["text"].shape for chunk in chunks] == [(3, n), (1, n)]
    assert chunks[1].views["text"].min() == 0.12345678901234568


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1000)
    (tmp_path / "x.csv").write_text("a,b\n" + "1" * 2000)
    with pytest.raises(SourceError, match=r"x\.csv is longer than 1,000"):
        open_source(tmp_path / "x.csv")


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_truths_are_numbers(tmp_path, name):
    (tmp_path / "x.csv").write_text("a,b\ntrue,1\nfalse,2\n,3\n")
    rows = pa.table({"a": [True, False, None], "b": [1.0, 2.0, 3.0]})
    parquet.write_table(rows, tmp_path / "x.parquet")
    (chunk,) = open_source(tmp_path / name).chunks(10)
    np.testing.assert_array_equal(chunk.views["x"], [[1, 1], [0, 2], [np.nan, 3]])


@every_table
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_damaged_table_is_an_error_or_rows(folder, tmp_path_factory, name, data):
    content = damaged(data, (folder / name).read_bytes(), most=3)
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_bytes(content)
    try:
        chunks = list(open_source(path, drop=["id"]).chunks(2))
    except ValueError:
        return
    assert all(len(chunk.views) <= 2 for chunk in chunks)
