"""Several files as one: parts one below another, views side by side, rows joined by a key."""

import gzip
import io
import json
from itertools import pairwise

import fsspec
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from omvfs import OMVFS, Views
from omvfs.cli.commands import run_app
from omvfs.data.schema import Schema
from omvfs.formats import (
    Appended,
    ArraySource,
    Chunk,
    FolderSource,
    IteratorSource,
    Joined,
    SideBySide,
    SourceError,
    open_source,
)
from omvfs.formats.opening import standard_input
from omvfs.testing import check_source
from support import counts, dense

X = counts(np.random.default_rng(0), 60, 5)
NAMES = [f"f{j}" for j in range(5)]
# Rows of the parts, of which one has none.
CUTS = [0, 7, 7, 30, 41, 60]
FOLDERS = ["parquet", "feather", "csv", "csv.gz", "jsonl"]


def frame(rows=slice(None), names=NAMES):
    return pd.DataFrame(X[rows], columns=names)


def cut(folder, ending="parquet"):
    """Write the rows in five parts, the last of which is number 10."""
    folder.mkdir(exist_ok=True)
    for number, (a, b) in zip((1, 2, 3, 9, 10), pairwise(CUTS), strict=True):
        put(frame(slice(a, b)), folder / f"part-{number}.{ending}")
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


def plain(cursor):
    return json.loads(json.dumps(cursor))


# Parts


@pytest.mark.parametrize("ending", FOLDERS)
def test_a_folder_a_glob_a_list_and_files_of_one_table_are_the_same_rows(tmp_path, ending):
    folder = cut(tmp_path / "parts", ending)
    for name in ("_SUCCESS", ".part-1.crc", "notes.txt"):
        (folder / name).write_text("not a part")
    files = [folder / f"part-{n}.{ending}" for n in (1, 2, 3, 9, 10)]
    # A shell puts part 10 before part 3.
    shell = sorted(map(str, files))
    assert shell.index(str(files[-1])) == 1
    ways = [folder], [f"{folder}/part-*.{ending}"], [f"{tmp_path}/**/*.{ending}"], [files], shell
    for inputs in ways:
        views = read(*inputs)
        assert views.names == ("rows",)
        np.testing.assert_array_equal(dense(views["rows"]), X)
    check_source(lambda: open_source(folder))


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


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    batch_size=st.integers(1, 12),
    stop=st.integers(0, 60),
    other=st.integers(1, 12),
)
def test_any_parts_are_the_rows_and_go_on_from_any_chunk(lengths, batch_size, stop, other):
    rows, ends = X[: sum(lengths)], np.cumsum([0, *lengths])
    source = Appended([ArraySource({"x": rows[a:b]}) for a, b in pairwise(ends)])
    chunks = list(source.chunks(batch_size))
    assert source.n_rows == len(rows)
    assert [len(chunk.views) for chunk in chunks[:-1]] == [batch_size] * (len(chunks) - 1)
    np.testing.assert_array_equal(np.vstack([c.views["x"] for c in chunks]), rows)
    before = chunks[: stop % len(chunks) + 1]
    rest = list(source.chunks(other, plain(before[-1].cursor)))
    done = before[-1].start + len(before[-1].views)
    assert [chunk.start for chunk in rest] == list(range(done, len(rows), other))
    got = [chunk.views["x"] for chunk in rest] or [rows[:0]]
    np.testing.assert_array_equal(np.vstack(got), rows[done:])


def test_columns_of_parts_are_taken_by_their_names(tmp_path):
    put(frame(slice(0, 30)).astype("float32"), tmp_path / "a.csv")
    put(frame(slice(30, 60))[NAMES[::-1]], tmp_path / "b.parquet")
    put(frame(slice(30, 60))[NAMES[::-1]], tmp_path / "b.csv")
    for inputs in (
        (tmp_path / "a.csv", tmp_path / "b.csv"),
        ([tmp_path / "a.csv", tmp_path / "b.parquet"],),
    ):
        np.testing.assert_allclose(read(*inputs)["rows"], X, rtol=1e-6)


def test_names_and_other_columns_make_views_side_by_side(tmp_path):
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    put(frame(slice(0, 30)), a)
    put(frame(slice(30, 60)), b)
    views = read(f"left={a}", f"right={b}")
    np.testing.assert_array_equal(views["right"], X[30:])
    assert read(f"left={a}", b).names == ("left", "b")
    assert read(f"left={a}", f"right={a}").names == ("left", "right")
    put(frame(slice(0, 30), [f"b{j}" for j in range(5)]), b)
    assert read(a, b).names == ("a", "b")
    for view in ("text", "image"):
        put(frame(names=[f"{view}__{name}" for name in NAMES]), tmp_path / f"{view}.parquet")
    assert read(tmp_path / "text.parquet", tmp_path / "image.parquet").names == ("text", "image")
    for path in (a, b):
        put(frame().assign(id=range(60)), path)
    assert read(a, b, key="id").names == ("a", "b")


def test_parts_are_aligned_by_a_key_too(tmp_path):
    ids = np.arange(60)
    for view in ("text", "image"):
        (tmp_path / view).mkdir()
        for number, rows in enumerate((slice(0, 25), slice(25, 60))):
            put(frame(rows).assign(id=ids[rows]), tmp_path / view / f"{number}.parquet")
    (tmp_path / "image/1.parquet").unlink()
    inputs = f"text={tmp_path / 'text'}", f"image={tmp_path / 'image'}/*.parquet"
    with open_source(*inputs, key="id", join="inner") as source:
        chunks = list(source.chunks(10))
        assert source.n_left_out == 35
    np.testing.assert_array_equal(np.concatenate([c.keys for c in chunks]), ids[:25])
    np.testing.assert_array_equal(np.vstack([c.views["image"] for c in chunks]), X[:25])
    check_source(lambda: open_source(*inputs, key="id", join="inner"))


def test_parts_that_do_not_fit_are_told(tmp_path):
    a, b = put(frame(), tmp_path / "a.csv"), tmp_path / "b.csv"
    for rows, sentence in (
        (frame().drop(columns="f3"), r"b\.csv has other features .*: view 'rows' lacks 'f3'\."),
        (frame().assign(more=1), r"a\.csv has other features .*: view 'rows' lacks 'more'\."),
        (
            frame().assign(f1="x"),
            r"b\.csv cannot be read: .*'f1' is of numbers in the first rows, and has 'x' in row 0",
        ),
    ):
        put(rows, b)
        # Files that were given one by one are no views of their own if they have most in common.
        for inputs in ([tmp_path], [a, b]):
            with pytest.raises(SourceError, match=sentence):
                open_source(*inputs)
    put(frame(), tmp_path / "c.parquet")
    with pytest.raises(SourceError, match=r"several formats: '\.csv', '\.parquet'"):
        open_source(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"No file is called like .*d\*\.csv"):
        open_source(f"{tmp_path}/d*.csv")
    with pytest.raises(SourceError, match="empty list"):
        open_source([])
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :3])
    with pytest.raises(SourceError, match=r"b\.npy has other .*'rows' has 3 features, not 5"):
        open_source(f"{tmp_path}/*.npy")
    (tmp_path / "a.jsonl").write_text('{"text": ["a"], "tags": ["b"]}\n')
    (tmp_path / "b.jsonl").write_text('{"text": ["a"], "image": [1]}\n')
    with pytest.raises(SourceError, match=r"view 'text' from more than one.*a glob in quotes"):
        open_source(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    one, two = cut(tmp_path / "one"), cut(tmp_path / "two")
    with pytest.raises(SourceError, match=rf"two inputs for view 'rows'; name them: other={two}\."):
        open_source(one, two)


def test_parts_that_do_not_stand_by_themselves_are_refused(tmp_path):
    for ending, rows in (("svm", "0 1:1\n"), ("csv", "row,feature,value\n0,a,1\n")):
        for name in "ab":
            (tmp_path / f"{name}.{ending}").write_text(rows)
        with pytest.raises(SourceError, match=r"cannot be one of several parts: .*into one file"):
            open_source(f"{tmp_path}/*.{ending}")
        assert len(read(f"{tmp_path}/a*.{ending}")) == 1


@pytest.mark.parametrize("ending", ["csv", "jsonl", "csv.gz"])
def test_files_of_nothing_are_parts_wherever_they_are(tmp_path, ending):
    for name in "acd":
        (tmp_path / f"{name}.{ending}").touch()
    put(frame(), tmp_path / f"b.{ending}")
    inputs = [tmp_path / f"{name}.{ending}" for name in "abcd"]
    for way in (inputs, [inputs], [tmp_path]):
        np.testing.assert_array_equal(dense(read(*way)["rows"]), X)
    # Views side by side have rows.
    with pytest.raises(SourceError, match=rf"a\.{ending}"):
        open_source(f"left={inputs[0]}", inputs[1])


def words(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_words_of_all_parts_are_features(tmp_path):
    rows = [{"text": ["cat", "dog"], "image": [1, 2]}]
    rows += [{"image": [3, 4], "text": {"emu": 2, "dog": 1}, "tags": ["new"]}]
    (tmp_path / "whole").mkdir()
    words(tmp_path / "whole/rows.jsonl", *rows)
    for name, row in zip("ac", rows, strict=True):
        words(tmp_path / f"{name}.jsonl", row)
    with open_source(tmp_path) as parts, open_source(tmp_path / "whole/rows.jsonl") as one:
        assert parts.schema == one.schema
        assert parts.schema.feature_names == (("cat", "dog", "emu"), None, ("new",))
    a, b = read(tmp_path), read(tmp_path / "whole/rows.jsonl")
    for view in a.names:
        np.testing.assert_array_equal(dense(a[view]), dense(b[view]))
    words(tmp_path / "c.jsonl", {"text": ["emu"], "image": [1, 2, 3]})
    with pytest.raises(SourceError, match=r"has other .*'image' has 2 features, not 3"):
        open_source(tmp_path)


def test_parts_have_the_features_that_a_model_knows(tmp_path):
    words(tmp_path / "a.jsonl", {"text": ["cat", "dog"]})
    words(tmp_path / "b.jsonl", {"text": ["emu"]})
    known = Schema(("text",), (2,), (("emu", "cat"),))
    np.testing.assert_array_equal(dense(read(tmp_path, schema=known)["text"]), [[0, 1], [1, 0]])
    folder = cut(tmp_path / "parts", "csv")
    known = Schema(("rows",), (2,), (("f4", "f0"),))
    for inputs in ([folder], sorted(map(str, folder.iterdir()))):
        np.testing.assert_array_equal(read(*inputs, schema=known)["rows"], X[:, [4, 0]])


def test_parts_are_found_from_afar(tmp_path):
    folder, memory = cut(tmp_path / "parts"), fsspec.filesystem("memory")
    memory.put(str(folder), "/afar/parts", recursive=True)
    memory.pipe("/afar/parts/_SUCCESS", b"")
    for place in ("memory://afar/parts/part-*.parquet", "memory://afar/parts"):
        np.testing.assert_array_equal(read(place)["rows"], X)
    with pytest.raises(FileNotFoundError, match=r"like memory://afar/\*\.npy"):
        open_source("memory://afar/*.npy")


def test_the_command_line_appends_parts_and_says_so(tmp_path, monkeypatch, capsys):
    cut(tmp_path / "parts")
    monkeypatch.chdir(tmp_path)
    shell = sorted(str(file.relative_to(tmp_path)) for file in (tmp_path / "parts").iterdir())
    for i, inputs in enumerate((shell, ["parts"])):
        out = ["--write-data", "-o", f"out{i}"]
        assert run_app(["select", *inputs, "-k", "2", "-n", "3", *out]) == 0
        said = capsys.readouterr()
        assert "60 rows" in said.out
        noticed = "5 files of the same columns: their rows are read one after" in said.err
        assert noticed == (i == 0)
        assert parquet.read_metadata(f"out{i}/data/rows.parquet").num_rows == 60
    rankings = [(tmp_path / f"out{i}/ranking.csv").read_text() for i in range(2)]
    assert rankings[0] == rankings[1]


# Rows joined by a key

keys = st.sets(st.integers(0, 60), min_size=1, max_size=40)
several = st.lists(keys, min_size=1, max_size=3)


class Keyed(ArraySource):
    """Rows in memory with keys."""

    def __init__(self, view, own):
        self.own = np.array(own, object)
        super().__init__({view: np.array([[float(hash(key) % 1000)] for key in own])})

    def chunks(self, batch_size, cursor=None):
        for chunk in super().chunks(batch_size, cursor):
            stop = chunk.start + len(chunk.views)
            yield Chunk(chunk.start, chunk.views, chunk.cursor, self.own[chunk.start : stop])


def joined(parts, join="inner"):
    return Joined({f"v{i}": Keyed(f"v{i}", own) for i, own in enumerate(parts)}, join=join)


@settings(max_examples=50, deadline=None)
@given(several, st.integers(1, 12), st.booleans(), st.sampled_from(["inner", "outer"]))
def test_it_is_the_join_of_pandas(parts, batch_size, as_text, join):
    parts = [sorted(f"{k:03d}" if as_text else k for k in own) for own in parts]
    expected = None
    for i, own in enumerate(parts):
        part = pd.DataFrame({"key": own, f"v{i}": [float(hash(k) % 1000) for k in own]})
        expected = part if expected is None else expected.merge(part, on="key", how=join)
    expected = expected.sort_values("key")
    source = joined(parts, join)
    chunks = list(source.chunks(batch_size))
    got = [key for chunk in chunks for key in chunk.keys]
    assert got == expected["key"].tolist()
    assert all(len(chunk.views) == batch_size for chunk in chunks[:-1])
    for i in range(len(parts)):
        values = [x for chunk in chunks for x in dense(chunk.views[f"v{i}"]).ravel()]
        has = [flag for chunk in chunks for flag in chunk.views.has(f"v{i}")]
        assert values == expected[f"v{i}"].fillna(0).tolist()
        assert has == expected[f"v{i}"].notna().tolist()
    left = sum(map(len, parts)) - len(parts) * len(got) if join == "inner" else 0
    assert source.n_left_out == left


@settings(max_examples=50, deadline=None)
@given(several, st.integers(1, 9), st.integers(1, 9), st.sampled_from(["inner", "outer"]))
def test_a_join_goes_on_from_any_cursor_in_chunks_of_any_size(parts, batch_size, other, join):
    parts = [sorted(own) for own in parts]
    chunks = list(joined(parts, join).chunks(batch_size))
    for i, chunk in enumerate(chunks):
        rest = list(joined(parts, join).chunks(other, plain(chunk.cursor)))
        for what in (lambda c: c.keys.tolist(), lambda c: dense(c.views["v0"]).ravel().tolist()):
            got = [each for c in rest for each in what(c)]
            assert got == [each for c in chunks[i + 1 :] for each in what(c)]
        assert all(each.start >= chunk.start + len(chunk.views) for each in rest)


@settings(max_examples=50, deadline=None)
@given(several, st.integers(1, 12), st.integers(1, 12))
def test_every_row_is_read_or_left_out_wherever_reading_goes_on(parts, batch_size, other):
    parts = [sorted(own) for own in parts]
    common = set.intersection(*map(set, parts))
    for chunk in joined(parts).chunks(batch_size):
        source = joined(parts)
        list(source.chunks(other, plain(chunk.cursor)))
        assert source.n_left_out == sum(len(own) - len(common) for own in parts)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys, keys)
def test_a_table_and_json_lines_join(tmp_path, left, right):
    words(tmp_path / "text.jsonl", *({"id": k, "text": {"cat": 1 + k % 3}} for k in sorted(left)))
    image = pd.DataFrame({"id": sorted(right), "red": np.array(sorted(right)) / 2})
    inputs = tmp_path / "text.jsonl", put(image, tmp_path / "image.parquet")
    got = [
        (text, colour)
        for chunk in open_source(*inputs, key="id", join="inner").chunks(4)
        for text, colour in zip(
            dense(chunk.views["text"]).ravel(), chunk.views["image"].ravel(), strict=True
        )
    ]
    assert got == [(1 + k % 3, k / 2) for k in sorted(left & right)]


@settings(max_examples=40, deadline=None)
@given(several, st.integers(1, 9), st.sampled_from(["inner", "outer"]), st.randoms())
def test_rows_in_any_order_join_as_sorted_ones(parts, batch_size, join, random):
    parts = [sorted(own) for own in parts]
    mixed = [random.sample(own, len(own)) for own in parts]
    chunks, others = (list(joined(own, join).chunks(batch_size)) for own in (parts, mixed))
    for chunk, other in zip(chunks, others, strict=True):
        assert chunk.keys.tolist() == other.keys.tolist()
        for view in chunk.views.names:
            np.testing.assert_array_equal(dense(chunk.views[view]), dense(other.views[view]))
            np.testing.assert_array_equal(chunk.views.has(view), other.views.has(view))


@pytest.mark.parametrize("ending", ["csv", "tsv.bz2", "parquet", "feather", "jsonl"])
def test_files_in_any_order_are_aligned_by_a_key(tmp_path, ending, caplog, capsys):
    ids = np.random.default_rng(1).permutation(60)
    for view, order in (("text", ids), ("image", np.arange(60))):
        rows = {f"{view}__{name}": X[order, j] for j, name in enumerate(NAMES)}
        place = tmp_path / f"{view}.{ending}"
        frame = pd.DataFrame({"id": [f"c{i:02}" for i in order], "note": order.astype(str), **rows})
        if ending == "jsonl":
            lines = zip(frame["id"], order.tolist(), X[order].tolist(), strict=True)
            words(place, *({"id": i, "note": str(n), view: own} for i, n, own in lines))
        elif ending == "tsv.bz2":
            frame.to_csv(place, sep="\t", index=False)
        else:
            put(frame, place)
    files = [tmp_path / f"{view}.{ending}" for view in ("text", "image")]

    def opened():
        return open_source(*files, key="id", keep=["note"])

    with caplog.at_level("INFO"), opened() as source:
        chunks = list(source.chunks(13))
    assert [each.getMessage() for each in caplog.records] == [
        "text is not sorted by its keys: all its 60 rows are held in memory."
    ]
    assert [key for chunk in chunks for key in chunk.keys] == [f"c{i:02}" for i in range(60)]
    assert [n for chunk in chunks for n in chunk.kept["note"]] == [str(i) for i in range(60)]
    for view in ("text", "image"):
        np.testing.assert_array_equal(np.vstack([c.views[view] for c in chunks]), X)
    check_source(opened)
    out = ["--key", "id", "--drop", "note", "-k", "2", "-n", "3", "-o", str(tmp_path / "out")]
    assert run_app(["select", *map(str, files), *out]) == 0
    assert "60 rows are held in memory" in capsys.readouterr().err


def test_categories_in_any_order_are_aligned_by_a_key(tmp_path):
    plans = ["pro", "free", "team", "free", "new"] * 12
    a = pd.DataFrame({"id": range(60), "plan": plans, "x": np.arange(60) % 7 / 2})
    put(a.sample(frac=1, random_state=0), tmp_path / "a.csv")
    put(pd.DataFrame({"id": range(60), "b__y": np.arange(60) / 4}), tmp_path / "b.csv")
    views = read(tmp_path / "a.csv", tmp_path / "b.csv", key="id")
    found = views["categories"].toarray().argmax(axis=1)
    names = views.feature_names["categories"]
    assert [names[j] for j in found] == [f"plan={plan}" for plan in plans]


def test_numbers_of_rows_that_differ_name_what_could_be_the_key(tmp_path):
    rows = {"customer_id": range(60), "area": range(60), "x": 0.5}
    for ending in ("csv", "parquet", "jsonl"):
        left, right = (tmp_path / f"{name}.{ending}" for name in "ab")
        ours, theirs = pd.DataFrame(rows), pd.DataFrame(rows).rename(columns={"x": "y"})[:50]
        if ending == "jsonl":
            ours.to_json(left, orient="records", lines=True)
            theirs.to_json(right, orient="records", lines=True)
        else:
            put(ours, left)
            put(theirs, right)
        inputs = f"a={left}", f"b={right}"
        with pytest.raises(
            SourceError,
            match=r"rows: a (52 or more|60), b 50\. Views are aligned by row; if a column tells "
            r"the rows apart, .* key='customer_id' \(--key customer_id\); both have 'area',",
        ):
            read(*inputs)
        assert len(read(*inputs, key="customer_id", drop=["area"], join="inner")) == 50
    np.save(tmp_path / "c.npy", X[:3])
    with pytest.raises(SourceError, match="the same rows in the same order"):
        open_source(tmp_path / "c.npy", tmp_path / "a.parquet")


def test_keys_that_cannot_be_matched_are_named():
    for own, sentence in [
        ([1, 2, 2], "v0 has the key 2 in row 2 and again in row 3; .* or align by a column"),
        ([5, 1, 2, 3, 5], "key 5 in row 1 and again in row 5"),
        (["a", "b"], "different types"),
        ([1, "b"], "neither all"),
        ([1.5, 2.5], "neither all"),
    ]:
        with pytest.raises(SourceError, match=sentence):
            list(joined([own, [1, 2, 3, 4, 5, 6]]).chunks(3))


def test_a_file_without_the_key_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\n1,2\n")
    np.save(tmp_path / "b.npy", np.eye(2))
    (tmp_path / "c.csv").write_text("id,x\n1.5,2\n")
    words(tmp_path / "d.jsonl", {"id": None, "x": [1]})
    for names, key, sentence in [
        (["a.csv"], "key", "a.csv has no column 'key'"),
        (["a.csv", "b.npy"], "id", "b.npy has no column 'id'"),
        (["c.csv"], "id", "keys of type double"),
        (["d.jsonl"], "id", "string or a whole number"),
    ]:
        with pytest.raises(SourceError, match=sentence):
            open_source(*(tmp_path / name for name in names), key=key)


def test_a_model_learns_from_rows_that_not_all_files_have(tmp_path, capsys):
    (tmp_path / "text.csv").write_text("id,a,b\n1,1,0\n2,2,1\n3,3,5\n5,5,2\n")
    (tmp_path / "image.csv").write_text("id,c\n2,2\n3,3\n4,4\n5,5\n6,6\n")
    files = [str(tmp_path / f"{view}.csv") for view in ("text", "image")]
    for join, n_rows, n_image in (("outer", 6, 5), ("inner", 3, 3)):
        out = ["--join", join, "-o", str(tmp_path / join)]
        assert run_app(["select", *files, "--key", "id", "-k", "2", "-n", "1", *out]) == 0
        model = OMVFS.load(tmp_path / join / "model.omvfs")
        assert model.n_samples_seen_ == n_rows
        assert model._known.state.views[1].n.sum() == n_image
    assert "3 rows left out" in capsys.readouterr().err


# Going on


def csv_of(path, n, name="a"):
    path.write_text("\n".join([f"{name},{name}2", *(f"{i},{i}" for i in range(n))]) + "\n")
    return path


def cursor_after(source, n):
    with source:
        return plain(next(source.chunks(n)).cursor)


def test_other_inputs_are_told(tmp_path):
    for name in ("a", "b", "c"):
        np.save(tmp_path / f"{name}.npy", X)
    (tmp_path / "a.jsonl").write_text('{"a": [1]}\n' * 12)
    both = cursor_after(open_source(tmp_path / "a.npy", tmp_path / "b.npy"), 5)
    assert both == {"row": 5, "parts": {"a": {"row": 5}, "b": {"row": 5}}}
    one = cursor_after(open_source(tmp_path / "a.npy"), 5)
    odd = {"row": 5, "parts": {"a": {"row": 5}, "b": {"row": 6}}}
    for names, cursor, sentence in [
        (["a.npy", "c.npy"], both, "'a', 'b'; expected 'a', 'c'"),
        (["a.npy"], both, "'a', 'b'; expected 'a'"),
        (["a.jsonl"], one, "it has byte None"),
        (["a.npy", "b.npy"], {"row": 5}, "one input; expected 'a', 'b'"),
        (["a.npy"], {"a": {"row": 5}}, "it has row None"),
        (["a.npy", "b.npy"], odd, "not all of 'a', 'b' go on at row 5"),
    ]:
        with pytest.raises(SourceError, match=f"The cursor is of other inputs: {sentence}"):
            list(open_source(*(tmp_path / name for name in names)).chunks(5, cursor))


def short_sources(tmp_path):
    one, two = csv_of(tmp_path / "x.csv", 3), csv_of(tmp_path / "y.csv", 3, "b")
    np.save(tmp_path / "x.npy", X[:3])
    yield lambda: open_source(one)
    yield lambda: open_source(one, two)
    yield lambda: standard_input("x", io.BytesIO(one.read_bytes()))
    yield lambda: IteratorSource(lambda: iter([X[:2], X[:1]]))
    yield lambda: open_source(tmp_path / "x.npy")


def test_a_source_that_ends_before_the_cursor_is_told(tmp_path):
    for make in short_sources(tmp_path):
        parts = list(getattr(make(), "parts", ()))
        sentence = "has fewer rows than were read before: 3; expected at least 5"
        with pytest.raises(SourceError, match=sentence):
            list(make().chunks(5, {"row": 5, "parts": {name: {"row": 5} for name in parts}}))
        end = {"row": 3, "parts": {name: {"row": 3} for name in parts}}
        assert list(make().chunks(5, end)) == []


def test_identity_is_of_the_rows_not_of_their_place(tmp_path):
    def make(folder, n):
        folder.mkdir()
        np.save(folder / "view_0_image.npy", np.ones((n, 3)))
        sp.save_npz(folder / "text.npz", sp.csr_array(np.eye(n, 7)))
        return open_source(folder / "text.npz", f"image={folder}/view_0_image.npy")

    here, there = make(tmp_path / "here", 4), make(tmp_path / "there", 5)
    assert here.identity == there.identity == plain(here.identity)
    text = {"kind": "NpzSource", "views": {"text": 7}}
    image = {"kind": "NpySource", "views": {"image": 3}}
    assert here.identity == {"kind": "SideBySide", "parts": {"text": text, "image": image}}
    assert isinstance(here, SideBySide)
    assert FolderSource(tmp_path / "here").identity["kind"] == "FolderSource"
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"id,{name}\n1,2\n")
    # Files that only give keys are of the rows too.
    source = open_source(tmp_path / "a.csv", tmp_path / "b.csv", key="id", views=["a"])
    assert list(source.identity["parts"]) == ["a", "b"]


def test_a_chunk_may_have_rows_of_several_parts():
    both = Appended([ArraySource({"text": X}) for X in (np.eye(3), np.ones((2, 3)))])
    assert [(chunk.start, len(chunk.views)) for chunk in both.chunks(2)] == [(0, 2), (2, 2), (4, 1)]
