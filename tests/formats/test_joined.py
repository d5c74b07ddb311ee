"""Rows aligned by a key: what every file has, in order, wherever one begins."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from omvfs.formats import Chunk, Joined, SourceError, open_source
from omvfs.formats.source import ArraySource

keys = st.sets(st.integers(0, 60), max_size=40)


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


@given(st.lists(keys.filter(len), min_size=1, max_size=3), st.integers(1, 12), st.booleans())
def test_it_is_the_join_of_pandas(parts, batch_size, words):
    parts = [sorted(f"{k:03d}" if words else k for k in own) for own in parts]
    frames = [
        pd.DataFrame({"key": own, f"v{i}": [float(hash(k) % 1000) for k in own]})
        for i, own in enumerate(parts)
    ]
    expected = frames[0]
    for frame in frames[1:]:
        expected = expected.merge(frame, on="key")
    chunks = list(joined(parts).chunks(batch_size))
    got = [key for chunk in chunks for key in chunk.keys]
    assert got == expected["key"].tolist()
    assert all(len(chunk.views) == batch_size for chunk in chunks[:-1])
    for i in range(len(parts)):
        values = [x for chunk in chunks for x in chunk.views[f"v{i}"].ravel()]
        assert values == expected[f"v{i}"].tolist()


@given(st.lists(keys.filter(len), min_size=2, max_size=3), st.integers(1, 9), st.integers(1, 9))
def test_reading_goes_on_from_any_cursor_in_chunks_of_any_size(parts, batch_size, other):
    parts = [sorted(own) for own in parts]
    chunks = list(joined(parts).chunks(batch_size))
    for i, chunk in enumerate(chunks):
        rest = list(joined(parts).chunks(other, json.loads(json.dumps(chunk.cursor))))
        got = [key for each in rest for key in each.keys]
        assert got == [key for each in chunks[i + 1 :] for key in each.keys]
        assert all(each.start >= chunk.start + len(chunk.views) for each in rest)


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ([1, 3, 2], "2 comes after 3"),
        ([1, 2, 2], "2 comes after 2"),
        ([1, 2, 3, 4, 5, 4], "4 comes after 5"),
        (["a", "b"], "different types"),
        ([1, "b"], "neither all"),
        ([1.5, 2.5], "neither all"),
    ],
)
def test_keys_that_do_not_rise_are_named(own, sentence):
    with pytest.raises(SourceError, match=sentence):
        list(joined([own, [1, 2, 3, 4, 5, 6]]).chunks(3))


def test_a_file_without_the_key_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\n1,2\n")
    np.save(tmp_path / "b.npy", np.eye(2))
    with pytest.raises(SourceError, match=r"a.csv has no column 'key'"):
        open_source(tmp_path / "a.csv", key="key")
    with pytest.raises(SourceError, match=r"b.npy has no column 'id'"):
        open_source(tmp_path / "a.csv", tmp_path / "b.npy", key="id")
    (tmp_path / "c.csv").write_text("id,x\n1.5,2\n")
    with pytest.raises(SourceError, match="keys of type double"):
        open_source(tmp_path / "c.csv", key="id")
    (tmp_path / "d.jsonl").write_text('{"id": null, "x": [1]}\n')
    with pytest.raises(SourceError, match="string or a whole number"):
        open_source(tmp_path / "d.jsonl", key="id")


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys.filter(lambda own: len(own) > 5), keys.filter(lambda own: len(own) > 5))
def test_a_table_and_json_lines_join(tmp_path, left, right):
    words = {k: {"cat": 1 + k % 3, "dog": k} for k in left}
    rows = [json.dumps({"id": k, "text": words[k]}) for k in sorted(left)]
    (tmp_path / "text.jsonl").write_text("\n".join(rows))
    pd.DataFrame({"id": sorted(right), "red": np.array(sorted(right)) / 2}).to_parquet(
        tmp_path / "image.parquet"
    )
    source = open_source(
        tmp_path / "text.jsonl", tmp_path / "image.parquet", key="id", join="inner"
    )
    got = [
        (row[0], row[1], colour)
        for chunk in source.chunks(4)
        for row, colour in zip(
            chunk.views["text"].toarray().tolist(), chunk.views["image"].ravel(), strict=True
        )
    ]
    assert got == [(1 + k % 3, k, k / 2) for k in sorted(left & right)]


def test_the_command_line_tells_what_was_left_out(tmp_path, capsys):
    rng = np.random.default_rng(0)
    for view, rows in (("text", range(60)), ("image", range(5, 60))):
        frame = pd.DataFrame(rng.random((len(rows), 4)), columns=list("abcd"))
        frame.insert(0, "id", list(rows))
        frame.to_csv(tmp_path / f"{view}.csv", index=False)
    inputs = [str(tmp_path / f"{view}.csv") for view in ("text", "image")]
    out = ["-o", str(tmp_path / "out")]
    options = ["-k", "2", "-n", "2", "--batch-size", "20", "--write-data", *out]
    assert run_app(["select", *inputs, "--key", "id", "--join", "inner", *options]) == 0
    said = capsys.readouterr()
    assert "5 rows left out" in said.err
    assert said.out.startswith("55 rows")
    assert len((tmp_path / "out/data/image.csv").read_text().splitlines()) == 56


@given(st.lists(keys.filter(len), min_size=1, max_size=3), st.integers(1, 12), st.integers(1, 12))
def test_every_row_is_read_or_left_out(parts, batch_size, other):
    parts = [sorted(own) for own in parts]
    common = set.intersection(*map(set, parts))
    expected = sum(len(own) - len(common) for own in parts)
    source = joined(parts)
    chunks = list(source.chunks(batch_size))
    assert source.n_left_out == expected
    for chunk in chunks:
        source = joined(parts)
        list(source.chunks(other, json.loads(json.dumps(chunk.cursor))))
        assert source.n_left_out == expected


def test_what_comes_after_the_end_of_another_must_be_sorted_too():
    with pytest.raises(SourceError, match="6 comes after 7"):
        list(joined([[1, 2], [1, 2, 7, 6]]).chunks(2))


@pytest.mark.parametrize("views", [["text"], ["image"]])
def test_rows_are_those_of_all_files_whatever_views_are_read(tmp_path, views):
    (tmp_path / "text.csv").write_text("id,a\n1,1\n2,2\n3,3\n5,5\n")
    (tmp_path / "image.csv").write_text("id,b\n2,2\n3,3\n4,4\n5,5\n6,6\n")
    files = tmp_path / "text.csv", tmp_path / "image.csv"
    with open_source(*files, key="id", join="inner", views=views) as source:
        assert list(source.parts) == list(source.schema.names) == views
        chunks = list(source.chunks(2))
        assert [key for chunk in chunks for key in chunk.keys] == [2, 3, 5]
        assert [x for chunk in chunks for x in chunk.views[views[0]].ravel()] == [2, 3, 5]
        assert source.n_left_out == 3
        (rest,) = source.chunks(2, json.loads(json.dumps(chunks[0].cursor)))
        assert rest.keys.tolist() == [5]


@given(
    st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=2, max_size=3),
    st.integers(1, 7),
    st.integers(1, 7),
)
def test_rows_that_any_part_has_lack_the_views_of_the_others(parts, batch_size, other):
    parts = [sorted(own) for own in parts]
    keys = sorted(set.union(*map(set, parts)))
    chunks = list(joined(parts, "outer").chunks(batch_size))
    assert [key for chunk in chunks for key in chunk.keys.tolist()] == keys
    for v, own in enumerate(parts):
        has = [flag for chunk in chunks for flag in chunk.views.has(f"v{v}").tolist()]
        assert has == [key in own for key in keys]
    # It goes on after any chunk, in chunks of any size.
    for i, chunk in enumerate(chunks):
        place = json.loads(json.dumps(chunk.cursor))
        rest = [key for c in joined(parts, "outer").chunks(other, place) for key in c.keys.tolist()]
        assert rest == [key for c in chunks[i + 1 :] for key in c.keys.tolist()]


def test_a_model_learns_from_rows_that_not_all_files_have(tmp_path):
    (tmp_path / "text.csv").write_text("id,a,b\n1,1,0\n2,2,1\n3,3,5\n5,5,2\n")
    (tmp_path / "image.csv").write_text("id,c\n2,2\n3,3\n4,4\n5,5\n6,6\n")
    files = [str(tmp_path / f"{view}.csv") for view in ("text", "image")]
    out = str(tmp_path / "out")
    assert run_app(["select", *files, "--key", "id", "-k", "2", "-n", "1", "-o", out]) == 0
    model = OMVFS.load(tmp_path / "out" / "model.omvfs")
    assert model.n_samples_seen_ == 6
    assert [view.decayed_n_rows for view in model._fitted.state.statistics.views] == [4, 5]
