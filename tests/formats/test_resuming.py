"""Going on with other inputs than before is refused with a sentence; with the same it goes on."""

import io
import json

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.formats import (
    ArraySource,
    FolderSource,
    IteratorSource,
    Joined,
    SideBySide,
    SourceError,
    open_source,
)
from omvfs.formats.opening import standard_input

X = np.arange(24.0).reshape(12, 2)


def csv_of(path, n, name="a"):
    path.write_text("\n".join([f"{name},{name}2", *(f"{i},{i}" for i in range(n))]) + "\n")
    return path


def cursor_after(source, n):
    with source:
        return json.loads(json.dumps(next(source.chunks(n)).cursor))


def test_the_cursor_of_several_inputs_has_the_row_and_the_parts(tmp_path):
    both = SideBySide({"row": ArraySource({"row": X}), "b": ArraySource({"b": X})})
    cursor = cursor_after(both, 5)
    assert cursor == {"row": 5, "parts": {"row": {"row": 5}, "b": {"row": 5}}}
    (chunk,) = both.chunks(20, cursor)
    assert chunk.start == 5
    np.testing.assert_array_equal(chunk.views["row"], X[5:])


def test_other_inputs_are_told(tmp_path):
    for name in ("a", "b", "c"):
        np.save(tmp_path / f"{name}.npy", X)
    (tmp_path / "a.jsonl").write_text('{"a": [1]}\n' * 12)
    sentence = "The cursor is of other inputs"
    first = cursor_after(open_source(tmp_path / "a.npy", tmp_path / "b.npy"), 5)
    for others in (["a.npy", "c.npy"], ["a.npy"], ["a.npy", "b.npy", "c.npy"]):
        with pytest.raises(SourceError, match=f"{sentence}: 'a', 'b'; expected 'a'"):
            list(open_source(*(tmp_path / name for name in others)).chunks(5, first))
    one = cursor_after(open_source(tmp_path / "a.npy"), 5)
    with pytest.raises(SourceError, match=f"{sentence}: it has byte None"):
        list(open_source(tmp_path / "a.jsonl").chunks(5, one))
    with pytest.raises(SourceError, match=f"{sentence}: one input; expected 'a', 'b'"):
        list(open_source(tmp_path / "a.npy", tmp_path / "b.npy").chunks(5, {"row": 5}))
    with pytest.raises(SourceError, match=f"{sentence}: it has row None"):
        open_source(tmp_path / "a.npy").chunks(5, {"a": {"row": 5}})
    parts = {"a": {"row": 5}, "b": {"row": 6}}
    both = open_source(tmp_path / "a.npy", tmp_path / "b.npy")
    with pytest.raises(SourceError, match=f"{sentence}: not all of 'a', 'b' go on at row 5"):
        list(both.chunks(5, {"row": 5, "parts": parts}))


def test_a_cursor_of_rows_that_a_key_aligns_is_of_other_inputs_too(tmp_path):
    inputs = [csv_of(tmp_path / f"{name}.csv", 12, name) for name in ("a", "b")]
    aligned = cursor_after(open_source(*inputs), 5)
    for name in ("a", "b"):
        rows = "\n".join(f"{i},{i}" for i in range(12))
        (tmp_path / f"{name}.csv").write_text(f"id,{name}\n{rows}\n")
    with pytest.raises(SourceError, match="The cursor is of other inputs"):
        list(open_source(*inputs, key="id").chunks(5, aligned))


def short_csv(tmp_path):
    return open_source(csv_of(tmp_path / "x.csv", 3))


def short_csv_and_others(tmp_path):
    return open_source(csv_of(tmp_path / "x.csv", 3), csv_of(tmp_path / "y.csv", 3, "b"))


def short_stream(tmp_path):
    return standard_input("x", io.BytesIO(csv_of(tmp_path / "x.csv", 3).read_bytes()))


def short_iterator(tmp_path):
    return IteratorSource(lambda: iter([X[:2], X[:1]]))


def short_array(tmp_path):
    np.save(tmp_path / "x.npy", X[:3])
    return open_source(tmp_path / "x.npy")


def short_arrays(tmp_path):
    np.save(tmp_path / "x.npy", X[:3])
    np.save(tmp_path / "y.npy", X[:3])
    return open_source(tmp_path / "x.npy", tmp_path / "y.npy")


SHORT = [short_csv, short_csv_and_others, short_stream, short_iterator, short_array, short_arrays]


@pytest.mark.parametrize("make", SHORT)
def test_a_source_that_ends_before_the_cursor_is_told(tmp_path, make):
    source = make(tmp_path)
    parts = {name: {"row": 5} for name in getattr(source, "parts", ())}
    sentence = "has fewer rows than were read before: 3; expected at least 5"
    with pytest.raises(SourceError, match=sentence):
        list(source.chunks(5, {"row": 5, "parts": parts}))
    parts = {name: {"row": 3} for name in getattr(source, "parts", ())}
    assert list(make(tmp_path).chunks(5, {"row": 3, "parts": parts})) == []


def test_comments_of_svmlight_are_no_rows(tmp_path):
    rows = [f"# comment {i}\n1 1:{i}\n" for i in range(7)]
    (tmp_path / "x.svm").write_text("".join(rows) + "# the end\n")
    chunks = list(open_source(tmp_path / "x.svm").chunks(3))
    assert [chunk.cursor["row"] for chunk in chunks] == [3, 6, 7]
    for i, chunk in enumerate(chunks):
        rest = list(open_source(tmp_path / "x.svm").chunks(3, chunk.cursor))
        assert [each.start for each in rest] == [each.start for each in chunks[i + 1 :]]
    (tmp_path / "y.svm").write_text("# one\n1 1:1\n# two\n1 x:1\n")
    with pytest.raises(SourceError, match="in row 2"):
        open_source(tmp_path / "y.svm")


def test_identity_is_of_the_rows_not_of_their_place(tmp_path):
    def make(folder, n):
        folder.mkdir()
        np.save(folder / "image.npy", np.ones((n, 3)))
        sp.save_npz(folder / "text.npz", sp.csr_array(np.eye(n, 7)))
        return open_source(folder / "text.npz", folder / "image.npy")

    here, there = make(tmp_path / "here", 4), make(tmp_path / "there", 5)
    assert here.identity == there.identity == json.loads(json.dumps(here.identity))
    text = {"kind": "NpzSource", "views": {"text": 7}}
    image = {"kind": "NpySource", "views": {"image": 3}}
    assert here.identity == {"kind": "SideBySide", "parts": {"text": text, "image": image}}
    alone = open_source(tmp_path / "here" / "text.npz")
    assert alone.identity != here.identity
    np.save(tmp_path / "here" / "view_0_image.npy", np.ones((4, 3)))
    assert FolderSource(tmp_path / "here").identity["kind"] == "FolderSource"


def test_identity_has_the_files_that_only_give_keys(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"id,{name}\n1,2\n")
    files = tmp_path / "a.csv", tmp_path / "b.csv"
    source = open_source(*files, key="id", views=["a"])
    assert isinstance(source, Joined)
    assert list(source.identity["parts"]) == ["a", "b"]


def test_standard_input_and_a_file_of_words_are_the_same(tmp_path):
    rows = b'{"text": ["a", "b"]}\n'
    (tmp_path / "rows.jsonl").write_bytes(rows)
    with standard_input("x", io.BytesIO(rows)) as source:
        parts = open_source(tmp_path / "rows.jsonl").identity["parts"]
        assert source.identity == parts["rows"]
