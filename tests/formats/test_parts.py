"""Rows in parts: globs, folders and lists of files are appended; views side by side are not."""

import gzip
import json
import os
from itertools import pairwise

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from omvfs import OMVFS, Views
from omvfs.cli.commands import run_app
from omvfs.data.schema import Schema
from omvfs.formats import Appended, ArraySource, SourceError, SvmlightSource, open_source
from omvfs.persistence import CheckpointError
from omvfs.pipeline import run
from omvfs.testing import check_source
from support import counts, dense

X = counts(np.random.default_rng(0), 60, 5)
NAMES = [f"f{j}" for j in range(5)]
# Rows of the parts, of which one has none.
CUTS = [0, 7, 7, 30, 41, 60]


def frame(rows=slice(None), names=NAMES):
    return pd.DataFrame(X[rows], columns=names)


def cut(folder, ending="parquet", names=NAMES):
    """Write the rows in five parts, the last of which is number 10."""
    folder.mkdir(exist_ok=True)
    for number, (a, b) in zip((1, 2, 3, 9, 10), pairwise(CUTS), strict=True):
        put(frame(slice(a, b), names), folder / f"part-{number}.{ending}")
    return folder


def put(rows, path):
    if path.suffix == ".parquet":
        rows.to_parquet(path)
    elif path.suffix == ".feather":
        rows.to_feather(path)
    elif path.suffix == ".npy":
        np.save(path, rows.to_numpy())
    elif path.suffix == ".npz":
        sp.save_npz(path, sp.csr_array(rows.to_numpy()))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"rows": row}) + "\n" for row in rows.values.tolist()))
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(rows.to_csv(index=False).encode()))
    else:
        rows.to_csv(path, index=False)
    return path


def read(*inputs, **asked):
    with open_source(*inputs, **asked) as source:
        return Views.concat([chunk.views for chunk in source.chunks(13)])


FOLDERS = ["parquet", "feather", "csv", "csv.gz", "jsonl"]


@pytest.mark.parametrize("ending", FOLDERS)
def test_a_folder_a_glob_a_list_and_files_of_one_table_are_the_same_rows(tmp_path, ending):
    folder = cut(tmp_path / "parts", ending)
    (folder / "_SUCCESS").touch()
    (folder / ".part-1.crc").write_bytes(b"x")
    (folder / "notes.txt").write_text("not a part")
    files = [folder / f"part-{n}.{ending}" for n in (1, 2, 3, 9, 10)]
    # A shell puts part 10 before part 3.
    shell = sorted(map(str, files))
    assert shell.index(str(files[-1])) == 1
    ways = [folder], [f"{folder}/part-*.{ending}"], [f"{tmp_path}/**/*.{ending}"], [files], shell
    for inputs in ways:
        views = read(*inputs)
        assert views.names == ("rows",)
        np.testing.assert_array_equal(dense(views["rows"]), X)


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_a_glob_and_a_list_append_rows_of_any_format(tmp_path, ending):
    folder = cut(tmp_path / "parts", ending)
    np.testing.assert_array_equal(dense(read(f"text={folder}/*.{ending}")["text"]), X)
    files = [folder / f"part-{n}.{ending}" for n in (9, 1)]
    np.testing.assert_array_equal(dense(read(files)["rows"]), np.vstack([X[30:41], X[:7]]))
    # Files without names of features are views, as ever.
    with pytest.raises(SourceError, match="different numbers of rows"):
        open_source(*files)
    with pytest.raises(FileNotFoundError, match=r"nor parts of a table.*give a glob"):
        open_source(folder)


@pytest.mark.parametrize("ending", FOLDERS)
def test_parts_do_what_every_source_must(tmp_path, ending):
    folder = cut(tmp_path / "parts", ending)
    check_source(lambda: open_source(folder))
    check_source(lambda: open_source([folder / f"part-3.{ending}"]))


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    batch_size=st.integers(1, 12),
    stop=st.integers(0, 60),
    other=st.integers(1, 12),
)
def test_any_parts_are_the_rows_and_go_on_from_any_chunk(lengths, batch_size, stop, other):
    rows = X[: sum(lengths)]
    ends = np.cumsum([0, *lengths])
    parts = [ArraySource({"x": rows[a:b]}) for a, b in pairwise(ends) if b > a]
    if not parts:
        return
    source = Appended(parts)
    chunks = list(source.chunks(batch_size))
    assert source.n_rows == len(rows)
    assert [len(chunk.views) for chunk in chunks[:-1]] == [batch_size] * (len(chunks) - 1)
    np.testing.assert_array_equal(np.vstack([c.views["x"] for c in chunks]), rows)
    before = chunks[: stop % len(chunks) + 1]
    rest = list(source.chunks(other, json.loads(json.dumps(before[-1].cursor))))
    done = before[-1].start + len(before[-1].views)
    assert [chunk.start for chunk in rest] == list(range(done, len(rows), other))
    got = [chunk.views["x"] for chunk in rest] or [rows[:0]]
    np.testing.assert_array_equal(np.vstack(got), rows[done:])


# What is appended, and what is side by side


def test_columns_of_parts_are_taken_by_their_names(tmp_path):
    put(frame(slice(0, 30)), tmp_path / "a.csv")
    put(frame(slice(30, 60))[NAMES[::-1]], tmp_path / "b.parquet")
    put(frame(slice(30, 60))[NAMES[::-1]], tmp_path / "b.csv")
    for inputs in (
        (tmp_path / "a.csv", tmp_path / "b.csv"),
        ([tmp_path / "a.csv", tmp_path / "b.parquet"],),
    ):
        np.testing.assert_array_equal(read(*inputs)["rows"], X)


def test_names_make_views_side_by_side_whatever_the_columns(tmp_path):
    a, b = (
        put(frame(rows), tmp_path / f"{n}.csv")
        for n, rows in (("a", slice(0, 30)), ("b", slice(30, 60)))
    )
    views = read(f"left={a}", f"right={b}")
    np.testing.assert_array_equal(views["right"], X[30:])
    assert read(f"left={a}", b).names == ("left", "b")


def test_other_columns_make_views_side_by_side(tmp_path):
    put(frame(names=[f"a{j}" for j in range(5)]), tmp_path / "a.csv")
    put(frame(names=[f"b{j}" for j in range(5)]), tmp_path / "b.csv")
    assert read(tmp_path / "a.csv", tmp_path / "b.csv").names == ("a", "b")


def test_a_file_called_as_its_view_is_no_part_of_another(tmp_path):
    for view in ("text", "image"):
        put(frame(names=[f"{view}__{name}" for name in NAMES]), tmp_path / f"{view}.parquet")
    views = read(tmp_path / "text.parquet", tmp_path / "image.parquet")
    assert views.names == ("text", "image")
    assert len(views) == 60


def test_a_key_aligns_files_of_the_same_columns(tmp_path):
    for name in "ab":
        put(frame().assign(id=range(60)), tmp_path / f"{name}.csv")
    assert read(tmp_path / "a.csv", tmp_path / "b.csv", key="id").names == ("a", "b")


def test_parts_are_aligned_by_a_key_too(tmp_path):
    ids = np.arange(60)
    for view in ("text", "image"):
        folder = tmp_path / view
        folder.mkdir()
        for number, rows in enumerate((slice(0, 25), slice(25, 60))):
            put(frame(rows).assign(id=ids[rows]), folder / f"{number}.parquet")
    (tmp_path / "image/1.parquet").unlink()
    inputs = f"text={tmp_path / 'text'}", f"image={tmp_path / 'image'}/*.parquet"
    with open_source(*inputs, key="id", join="inner") as source:
        chunks = list(source.chunks(10))
        assert source.n_left_out == 35
    np.testing.assert_array_equal(np.concatenate([c.keys for c in chunks]), ids[:25])
    np.testing.assert_array_equal(np.vstack([c.views["image"] for c in chunks]), X[:25])
    check_source(lambda: open_source(*inputs, key="id", join="inner"))


def test_views_of_two_files_that_are_the_same_in_part_are_told(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": ["a"], "tags": ["b"]}\n')
    (tmp_path / "b.jsonl").write_text('{"text": ["a"], "image": [1]}\n')
    with pytest.raises(SourceError, match=r"view 'text' from more than one.*a glob in quotes"):
        open_source(tmp_path / "a.jsonl", tmp_path / "b.jsonl")


def test_parts_of_other_columns_are_told(tmp_path):
    put(frame(), tmp_path / "a.csv")
    put(frame().drop(columns="f3"), tmp_path / "b.csv")
    with pytest.raises(
        SourceError, match=r"b\.csv has other features than .*a\.csv, .*: view 'rows' lacks 'f3'\."
    ):
        open_source(tmp_path)
    # Files that were given one by one are no views of their own if they have most in common.
    with pytest.raises(SourceError, match=r"b\.csv has other .* lacks 'f3'.* view=FILE"):
        open_source(tmp_path / "a.csv", tmp_path / "b.csv")
    put(frame().assign(more=1), tmp_path / "b.csv")
    with pytest.raises(SourceError, match=r"b\.csv has other .*: view 'rows' has 'more' besides\."):
        open_source(tmp_path)
    put(frame().assign(f1="x"), tmp_path / "b.csv")
    with pytest.raises(SourceError, match=r"b\.csv has values of type string in column 'f1'"):
        open_source(tmp_path)
    put(frame(), tmp_path / "c.parquet")
    with pytest.raises(SourceError, match=r"several formats: '\.csv', '\.parquet'"):
        open_source(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"No file is called like .*d\*\.csv"):
        open_source(f"{tmp_path}/d*.csv")
    with pytest.raises(SourceError, match="empty list"):
        open_source([])
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :3])
    with pytest.raises(SourceError, match=r"b\.npy has other .*'rows' has 3 features, not 5\."):
        open_source(f"{tmp_path}/*.npy")


@pytest.mark.parametrize("ending", ["svm", "csv"])
def test_parts_that_do_not_stand_by_themselves_are_refused(tmp_path, ending):
    rows = {"svm": "0 1:1\n", "csv": "row,feature,value\n0,a,1\n"}[ending]
    for name in "ab":
        (tmp_path / f"{name}.{ending}").write_text(rows)
    with pytest.raises(SourceError, match=r"cannot be one of several parts: .*into one file"):
        open_source(f"{tmp_path}/*.{ending}")
    assert len(read(f"{tmp_path}/a*.{ending}")) == 1


def test_parts_of_svmlight_whose_first_index_is_told_are_appended(tmp_path):
    (tmp_path / "a.svm").write_text("0 1:1 2:5\n")
    (tmp_path / "b.svm").write_text("0 3:1\n")
    parts = [SvmlightSource(tmp_path / f"{name}.svm", "x", 3, False) for name in "ab"]
    (chunk,) = Appended(parts).chunks(5)
    np.testing.assert_array_equal(dense(chunk.views["x"]), [[1, 5, 0], [0, 0, 1]])


def test_parts_of_other_types_of_numbers_are_appended(tmp_path):
    kinds = "float32", "int32", "float64"
    for n, kind in enumerate(kinds):
        put(frame(slice(20 * n, 20 * n + 20)).round().astype(kind), tmp_path / f"{n}.parquet")
    np.testing.assert_array_equal(read(tmp_path)["rows"], X.round())


@pytest.mark.parametrize("ending", ["csv", "jsonl", "csv.gz"])
def test_files_of_nothing_are_parts_wherever_they_are(tmp_path, ending):
    for name in "acd":
        (tmp_path / f"{name}.{ending}").touch()
    put(frame(), tmp_path / f"b.{ending}")
    inputs = [tmp_path / f"{name}.{ending}" for name in "abcd"]
    for way in (inputs, [inputs], [tmp_path]):
        np.testing.assert_array_equal(dense(read(*way)["rows"]), X)
    (tmp_path / f"b.{ending}").write_bytes(b"")
    with pytest.raises(SourceError, match=r"a\.|Empty|no rows"):
        open_source(*inputs)
    # Views side by side have rows.
    put(frame(names=list("vwxyz")), tmp_path / f"b.{ending}")
    with pytest.raises(SourceError, match=rf"a\.{ending}"):
        open_source(f"left={inputs[0]}", inputs[1])


def test_one_file_can_be_two_views(tmp_path):
    file = put(frame(), tmp_path / "a.csv")
    views = read(f"left={file}", f"right={file}")
    np.testing.assert_array_equal(views["left"], views["right"])


def test_two_folders_of_parts_need_names(tmp_path):
    one, two = cut(tmp_path / "one"), cut(tmp_path / "two")
    with pytest.raises(SourceError, match=rf"two inputs for view 'rows'; name them: other={two}\."):
        open_source(one, two)
    assert read(f"a={one}", f"b={two}").names == ("a", "b")


# Words


def words(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_words_of_all_parts_are_features(tmp_path):
    words(tmp_path / "a.jsonl", {"text": ["cat", "dog"], "image": [1, 2]})
    (tmp_path / "b.jsonl").touch()  # as a writer leaves a part without rows
    words(tmp_path / "c.jsonl", {"image": [3, 4], "text": {"emu": 2, "dog": 1}, "tags": ["new"]})
    whole = tmp_path / "whole" / "rows.jsonl"
    whole.parent.mkdir()
    whole.write_text(
        (tmp_path / "a.jsonl").read_text()
        + '{"image": [3, 4], "text": ["emu", "emu", "dog"], "tags": ["new"]}\n'
    )
    with open_source(tmp_path) as parts, open_source(whole) as one:
        assert parts.schema == one.schema
        assert parts.schema.feature_names == (("cat", "dog", "emu"), None, ("new",))
    a, b = read(tmp_path), read(whole)
    for view in a.names:
        np.testing.assert_array_equal(dense(a[view]), dense(b[view]))
    words(tmp_path / "c.jsonl", {"text": ["emu"], "image": [1, 2, 3]})
    with pytest.raises(SourceError, match=r"c\.jsonl has other .*'image' has 3 features, not 2"):
        open_source(tmp_path)


def test_parts_have_the_features_that_a_model_knows(tmp_path):
    words(tmp_path / "a.jsonl", {"text": ["cat", "dog"]})
    words(tmp_path / "b.jsonl", {"text": ["emu"]})
    known = Schema(("text",), (2,), (("emu", "cat"),))
    np.testing.assert_array_equal(dense(read(tmp_path, schema=known)["text"]), [[0, 1], [1, 0]])
    folder = cut(tmp_path / "parts", "csv")
    known = Schema(("rows",), (2,), (("f4", "f0"),))
    shell = sorted(map(str, folder.iterdir()))
    for inputs in ([folder], shell):
        np.testing.assert_array_equal(read(*inputs, schema=known)["rows"], X[:, [4, 0]])


# Elsewhere


def test_parts_are_found_from_afar(tmp_path):
    folder, memory = cut(tmp_path / "parts"), fsspec.filesystem("memory")
    memory.put(str(folder), "/afar/parts", recursive=True)
    memory.pipe("/afar/parts/_SUCCESS", b"")
    for place in (
        "memory://afar/parts/part-*.parquet",
        "memory://afar/parts",
        "memory://afar/parts/",
    ):
        np.testing.assert_array_equal(read(place)["rows"], X)
    with pytest.raises(FileNotFoundError, match=r"like memory://afar/\*\.npy"):
        open_source("memory://afar/*.npy")


# Runs


def test_a_run_over_parts_is_a_run_over_the_whole_and_resumes(tmp_path):
    whole = put(frame(), tmp_path / "rows.parquet")
    folder = cut(tmp_path / "parts")
    make = lambda: OMVFS(2, batch_size=9, random_state=0)  # noqa: E731
    expected = run(open_source(whole), make()).selector.scores_
    seen = iter([False, False, True])
    save = tmp_path / "model"
    first = run(open_source(folder), make(), save_to=save, should_stop=lambda: next(seen, True))
    assert not first.finished
    again = run(open_source(folder), make(), save_to=save, resume=True)
    np.testing.assert_array_equal(again.selector.scores_, expected)
    # One part more, and the run goes on; another order, and it is told.
    put(frame(slice(0, 20)), folder / "part-11.parquet")
    more = run(open_source(folder), make(), save_to=save, resume=True).selector
    assert more.n_samples_seen_ == 80
    os.rename(folder / "part-9.parquet", folder / "part-0.parquet")
    with pytest.raises(CheckpointError, match=r"it is called 'part-0\.parquet', and was 'part-1"):
        run(open_source(folder), make(), save_to=save, resume=True)


def test_the_command_line_appends_parts_and_says_so(tmp_path, capsys, monkeypatch):
    folder, out = (
        cut(tmp_path / "parts", names=[f"text__{name}" for name in NAMES]),
        tmp_path / "out",
    )
    monkeypatch.chdir(tmp_path)
    shell = sorted(str(file.relative_to(tmp_path)) for file in folder.iterdir())
    options = ["-k", "2", "-n", "3", "--write-data"]
    ways = shell, ["parts"], ["parts/part-*.parquet"]
    for i, inputs in enumerate(ways):
        assert run_app(["select", *inputs, *options, "-o", f"out{i}"]) == 0
        said = capsys.readouterr()
        assert "60 rows" in said.out
        assert ("5 files of the same columns: their rows are read one after" in said.err) == (
            i == 0
        )
    rankings = {(tmp_path / f"out{i}/ranking.csv").read_text() for i in range(3)}
    assert len(rankings) == 1
    for i in range(3):
        assert os.listdir(tmp_path / f"out{i}/data") == ["rows.parquet"]
        assert parquet.read_metadata(tmp_path / f"out{i}/data/rows.parquet").num_rows == 60
    assert run_app(["transform", "out0/model.omvfs", "parts/part-1*.parquet", "-o", str(out)]) == 0
    assert parquet.read_table(out / "rows.parquet").num_rows == 26
    assert run_app(["convert", "text=parts", "-o", "whole.parquet"]) == 0
    assert pa.compute.sum(parquet.read_table("whole.parquet")["text__f0"]).as_py() == pytest.approx(
        X[:, 0].sum()
    )
