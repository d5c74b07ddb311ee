"""What is asked of inputs: views, columns to leave out or carry along, features that are known."""

import io
import json
import os
import subprocess
import sys
from types import ModuleType

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import feather, parquet
from scipy.io import savemat

from omvfs import Views
from omvfs.data.schema import Schema
from omvfs.formats import ReadOptions, SourceError, numpy_files, open_source, open_writer
from omvfs.formats.opening import standard_input
from omvfs.formats.registry import FORMATS, Format, load
from omvfs.testing import check_source
from support import dense

FRAME = pd.DataFrame(
    {"text__a": [1.0, 2, 3, 4], "image__x": [3.0, 4, 5, 6], "image__y": [0.5, 0, 1, 0]}
)
LABELS = ["cat", None, "dog", "cat"]
NAMED = ["rows.parquet", "rows.feather", "rows.csv", "rows.jsonl"]
every_named = pytest.mark.parametrize("name", NAMED)


def put(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        path.write_text("".join(json.dumps(as_views(row)) + "\n" for row in rows))
    return path


def as_views(row):
    """Return a row of a table as one of JSON Lines."""
    views = {}
    for name, value in row.items():
        view, sign, feature = name.partition("__")
        if sign:
            views.setdefault(view, {})[feature] = value
        else:
            views[name] = value
    return views


def rows_of(source, size=3):
    with source:
        chunks = list(source.chunks(size))
    kept = {name: np.concatenate([c.kept[name] for c in chunks]).tolist() for name in source.kept}
    return Views.concat([chunk.views for chunk in chunks]), kept


# Views


@every_named
def test_what_is_no_part_of_a_view_does_not_matter_to_it(tmp_path, name):
    frame = FRAME.assign(label=["a", "b", "c", "d"], image__y=["no", "number", "at", "all"])
    path = put(frame, tmp_path / name)
    if name == "rows.jsonl":
        assert "label" in open_source(path).table.kinds
    else:
        with pytest.raises(SourceError):
            open_source(path)
    views, _ = rows_of(open_source(path, views=["text", "text"]))
    assert views.names == ("text",)
    np.testing.assert_array_equal(dense(views["text"]).ravel(), [1, 2, 3, 4])
    with pytest.raises(SourceError, match=r"Got views 'sound'; the files give .*'image'"):
        open_source(path, views=["text", "sound"])
    if name in ("rows.csv", "rows.jsonl"):
        stream = io.BytesIO(path.read_bytes())
        with standard_input("rows", stream, ReadOptions(views=("text",))) as source:
            assert source.schema.names == ("text",)
            assert sum(len(chunk.views) for chunk in source.chunks(3)) == 4


def test_other_matrices_of_a_file_are_not_looked_at(tmp_path):
    with h5py.File(tmp_path / "rows.h5mu", "w") as file:
        file["mod/a/X"] = np.eye(4)
        file["mod/b/X"] = np.ones((9, 2))
        odd = file.create_group("mod/c/X")
        odd.attrs["encoding-type"], odd.attrs["shape"] = "csc_matrix", (4, 4)
    matrices = {"a": np.ones((4, 3)), "b": np.ones((5, 3)), "c": np.eye(4) * 1j}
    savemat(tmp_path / "rows.mat", matrices)
    for name in ("rows.h5mu", "rows.mat"):
        with pytest.raises(SourceError):
            open_source(tmp_path / name)
        with open_source(tmp_path / name, views=["a"]) as source:
            assert source.schema.names == ("a",)
        with pytest.raises(SourceError, match=r"Got views 'd'; the files give .*'b'"):
            open_source(tmp_path / name, views=["a", "d"])


@every_named
def test_rows_whose_views_are_not_asked_for_are_there_for_their_keys(tmp_path, name):
    put(FRAME[["image__x"]].assign(id=[1, 2, 3, 4]), tmp_path / "image.csv")
    path = put(FRAME[["text__a"]].assign(id=[2, 4, 5, 6]), tmp_path / name)
    inputs = tmp_path / "image.csv", path
    with open_source(*inputs, views=["image"], key="id", join="inner") as source:
        (chunk,) = source.chunks(10)
    assert chunk.keys.tolist() == [2, 4]
    np.testing.assert_array_equal(chunk.views["image"].ravel(), [4, 6])


# Columns that go along


@every_named
def test_columns_go_along_with_the_rows(tmp_path, name):
    frame = FRAME.assign(label=LABELS, n=[1, 2, 3, 4], day=pd.Timestamp("2020-01-02"))
    path = put(frame.astype({"day": str}) if name == "rows.jsonl" else frame, tmp_path / name)
    asked = {"keep": ["n", "label"], "drop": ["day"]}
    views, kept = rows_of(open_source(path, **asked))
    assert views.widths == {"text": 1, "image": 2}
    # Text has no numbers, nor nothing.
    text = name == "rows.csv"
    assert kept == {
        "n": ["1", "2", "3", "4"] if text else [1, 2, 3, 4],
        "label": ["cat", "", "dog", "cat"] if text else LABELS,
    }
    check_source(lambda: open_source(path, **asked))
    with pytest.raises(SourceError, match=r"has 'lable' to keep.*keep=\["):
        open_source(path, keep=["lable"], drop=["n", "label", "day"])
    with pytest.raises(SourceError, match="Got 'n' to leave out and to keep"):
        open_source(path, keep=["n"], drop=["n"])


@every_named
def test_columns_that_go_along_are_written(tmp_path, name):
    to = NAMED[NAMED.index(name) - 1]
    # Nothing in the first chunk tells what they are.
    frame = FRAME.assign(label=[None, None, None, "cat"], n=[1, 2, 3, 4])
    source = open_source(put(frame, tmp_path / name), keep=["label", "n"])
    out = tmp_path / f"out_{to}"
    with source, open_writer(out, source.kept) as writer:
        for chunk in source.chunks(4 if name == "rows.jsonl" else 2):
            writer.append(chunk.views, chunk.kept)
    views, kept = rows_of(open_source(out, keep=["label", "n"]))
    np.testing.assert_array_equal(dense(views["text"]).ravel(), FRAME["text__a"])
    nothing = "" if "rows.csv" in (name, to) else None
    assert kept["label"] == [nothing] * 3 + ["cat"]
    assert list(map(int, kept["n"])) == [1, 2, 3, 4]


def test_values_that_no_column_holds_are_told(tmp_path):
    rows = [{"x": [1], "label": 1}, {"x": [2], "label": "one"}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = open_source(tmp_path / "rows.jsonl", keep=["label"])
    one, two = source.chunks(1)
    with open_writer(tmp_path / "out.parquet", source.kept) as writer:
        writer.append(one.views, one.kept)
        with pytest.raises(SourceError, match=r"Column 'label' cannot be .*Write JSON Lines"):
            writer.append(two.views, two.kept)


def test_columns_of_files_side_by_side_must_agree(tmp_path):
    both = tmp_path / "text.parquet", tmp_path / "image.parquet"
    put(FRAME[["text__a"]].assign(id=[1, 2, 3, 4], n=[1, 1, 1, 1]), both[0])
    put(FRAME[["image__x"]].assign(id=[1, 2, 3, 4]), both[1])
    assert rows_of(open_source(*both, keep=["n", "id"]))[1]["id"] == [1, 2, 3, 4]
    put(FRAME[["image__x"]].assign(id=[1, 2, 4, 3]), both[1])
    with (
        open_source(*both, keep=["id"], drop=["n"]) as source,
        pytest.raises(SourceError, match=r"'id' is 3 in text and 4 in image .*key=\.\.\."),
    ):
        list(source.chunks(4))


def test_columns_go_along_with_keys_and_parts(tmp_path):
    put(FRAME[["text__a"]].assign(id=[1, 3, 5, 7], label=list("abcd")), tmp_path / "text.parquet")
    image = pd.DataFrame({"image__x": np.arange(8.0), "id": range(8)})
    put(image.assign(label=list("xaxbxcxd")), tmp_path / "image.parquet")
    inputs = tmp_path / "text.parquet", tmp_path / "image.parquet"
    for size in (1, 2, 3):
        views, kept = rows_of(
            open_source(*inputs, key="id", join="inner", keep=["label", "id"]), size
        )
        assert kept == {"label": list("abcd")}
        np.testing.assert_array_equal(views["image"].ravel(), [1, 3, 5, 7])
    (tmp_path / "parts").mkdir()
    for i in range(3):
        put(FRAME.assign(label=LABELS), tmp_path / f"parts/{i}.parquet")
    assert rows_of(open_source(tmp_path / "parts", keep=["label"]), 5)[1] == {"label": LABELS * 3}
    put(FRAME, tmp_path / "parts/1.parquet")
    with pytest.raises(SourceError, match=r"'label' to keep: .*1\.parquet differs"):
        open_source(tmp_path / "parts", keep=["label"])


# What is left out


def test_values_and_variables_can_be_left_out(tmp_path):
    rows = [{"a": [1], "label": "x"}, {"a": [2], "label": None, "note": 3}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(SourceError, match=r"View 'label'.*drop="):
        open_source(tmp_path / "rows.jsonl")
    savemat(tmp_path / "rows.mat", {"a": np.ones((4, 3)), "label": np.eye(4), "note": 1.0})
    for name in ("rows.jsonl", "rows.mat"):
        with open_source(tmp_path / name, drop=["label", "note"]) as source:
            assert source.schema.names == ("a",)
    with pytest.raises(SourceError, match="no matrix of numbers"):
        open_source(tmp_path / "rows.mat", drop=["label", "a"])


def test_what_no_input_has_cannot_be_left_out_or_kept(tmp_path):
    put(pd.DataFrame({"a": [1.0, 2], "label": [0, 1]}), tmp_path / "text.csv")
    np.save(tmp_path / "image.npy", np.eye(2))
    both = tmp_path / "text.csv", tmp_path / "image.npy"
    assert open_source(*both, drop=["label"]).schema.widths == (1, 2)
    with pytest.raises(SourceError, match=r"No input has 'lable' to leave out.*drop="):
        open_source(*both, drop=["label", "lable"])
    np.save(tmp_path / "view_0_image.npy", np.eye(2))
    for place in (tmp_path, tmp_path / "view_0_image.npy"):
        with pytest.raises(SourceError, match="No input has 'label'"):
            open_source(place, drop=["label"])
        with pytest.raises(SourceError, match="has 'label' to keep"):
            open_source(place, keep=["label"])
        with pytest.raises(SourceError, match=r"has no column 'id'"):
            open_source(place, key="id")


# Features that are known before

TEXT = Schema(("text",), (3,), (("cat", "dog", "emu"),))
WORDS = {
    "objects.jsonl": ['{"text": {"dog": 2, "yak": 9}}', "{}", '{"text": {"cat": 1}}'],
    "lists.jsonl": [
        '{"text": ["dog", "yak", "dog"]}',
        '{"text": ["yak"]}',
        '{"text": ["cat"]}',
    ],
    "text.csv": ["row,feature,value", "0,dog,2", "0,yak,9", "1,yak,1", "2,cat,1"],
    "rows.csv": ["label,text__dog,text__cat,text__emu", "x,2,0,0", "y,0,0,0", "z,0,1,0"],
}


@pytest.mark.parametrize("name", WORDS)
def test_features_are_placed_by_their_names(tmp_path, name):
    path = tmp_path / name
    path.write_text("\n".join(WORDS[name]) + "\n")
    expected = [[0, 2, 0], [0, 0, 0], [1, 0, 0]]
    source = open_source(path, schema=TEXT)
    assert source.schema == TEXT
    np.testing.assert_array_equal(dense(rows_of(source)[0]["text"]), expected)
    stream = io.BytesIO(path.read_bytes())
    with standard_input("text", stream, ReadOptions(schema=TEXT)) as piped:
        assert piped.schema == TEXT
        rows = np.vstack([dense(chunk.views["text"]) for chunk in piped.chunks(2)])
    np.testing.assert_array_equal(rows, expected)
    if name != "rows.csv":
        with pytest.raises(SourceError, match="by name; the model knows them by number"):
            open_source(path, schema=Schema(("text",), (3,), (None,)))
        # Views that the model does not know are as they are.
        source = open_source(path, schema=Schema(("other",), (3,), (None,)))
        assert source.schema.feature_names == (("dog", "yak", "cat"),)


def test_a_column_that_is_missing_is_told(tmp_path):
    path = put(
        pd.DataFrame({"emu": [1], "yak": [9], "dog": [2], "cat": [3]}), tmp_path / "text.csv"
    )
    np.testing.assert_array_equal(rows_of(open_source(path, schema=TEXT))[0]["text"], [[3, 2, 1]])
    path = put(pd.DataFrame({"cat": [1], "emu": [2]}), tmp_path / "text.csv")
    with pytest.raises(SourceError, match=r"text.csv has no columns for the features 'dog' of"):
        open_source(path, schema=TEXT)


def test_widths_are_those_of_the_model(tmp_path):
    known, narrow = (Schema(("text",), (width,), (None,)) for width in (5, 2))
    (tmp_path / "text.svm").write_text("0 1:1 3:2\n")
    put(pd.DataFrame({"row": [0], "feature": [2], "value": [1.0]}), tmp_path / "text.parquet")
    for name in ("text.svm", "text.parquet"):
        views, _ = rows_of(open_source(tmp_path / name, schema=known))
        assert views["text"].shape == (1, 5)
        with pytest.raises(SourceError, match=r"beyond the 2|fewer than 2 in view"):
            open_source(tmp_path / name, schema=narrow)


# Names, and files that do not fit


def test_files_that_do_not_fit_are_named(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    np.save(tmp_path / "b.npy", np.ones((4, 2)))
    (tmp_path / "c.txt").write_text("1 2")
    (tmp_path / "rows.npy").mkdir()
    a, b = tmp_path / "a.npy", tmp_path / "b.npy"
    for inputs, kind, sentence in [
        ((a, b), SourceError, "different numbers of rows: a 3, b 4"),
        ((a, f"a={b}"), SourceError, "two inputs for view 'a'"),
        ((tmp_path / "c.txt",), SourceError, r"ends in '\.txt'"),
        ((tmp_path / "nowhere.npy",), FileNotFoundError, "There is no file .*nowhere"),
        ((a, tmp_path / "rows.npy"), IsADirectoryError, "is a folder; expected a file"),
        ((), SourceError, "no input"),
        (("nosuch://bucket/rows.npy",), OSError, "nosuch"),
        (("memory://nowhere/rows.npy",), FileNotFoundError, "nowhere"),
    ]:
        with pytest.raises(kind, match=sentence):
            open_source(*inputs)
    assert open_source(f"one={a}", a, views=["a"]).schema.names == ("a",)


def _h5ad(path):
    with h5py.File(path, "w") as file:
        file["X"] = np.zeros((4, 0))


def test_what_has_no_columns_is_told(tmp_path):
    for name, write in {
        "rows.npy": lambda path: np.save(path, np.zeros((4, 0))),
        "rows.npz": lambda path: sp.save_npz(path, sp.csr_array((4, 0))),
        "rows.parquet": lambda path: parquet.write_table(pa.table({}), path),
        "rows.feather": lambda path: feather.write_feather(pa.table({}), path),
        "rows.csv": lambda path: path.write_text("__index_level_0__\n1\n"),
        "rows.h5ad": _h5ad,
    }.items():
        write(tmp_path / name)
        with pytest.raises(SourceError, match=rf"{name} has no columns"):
            open_source(tmp_path / name)


def test_a_name_that_is_no_text_is_told_before_anything_is_learned(tmp_path):
    odd = os.fsdecode(b"caf\xe9")
    np.save(tmp_path / f"{odd}.npy", np.eye(3))
    (tmp_path / "rows.csv").write_bytes(b"a,caf\xe9\n1,2\n")
    for name in (f"{odd}.npy", "rows.csv"):
        with pytest.raises(SourceError, match=r"UTF-?8|utf-?8"):
            open_source(tmp_path / name)
    assert open_source(f"text={tmp_path / odd}.npy").schema.names == ("text",)


# Formats


@pytest.mark.parametrize("text", [False, True])
def test_a_format_is_a_module_and_a_line(tmp_path, monkeypatch, text):
    ours = ModuleType("omvfs.formats.ours")
    ours.open_reader = lambda file, view, options: numpy_files.NpySource(file, view)
    ours.open_writer = numpy_files.NpyWriter
    monkeypatch.setitem(sys.modules, ours.__name__, ours)
    with pytest.raises(SourceError, match=r"'\.ours'; expected '', '\.npy'"):
        open_writer(tmp_path / "rows.ours")
    monkeypatch.setitem(FORMATS, ".ours", Format("ours", text=text))
    with open_writer(tmp_path / "rows.ours") as writer:
        writer.append(Views({"rows": np.eye(3)}))
    with open_source(tmp_path / "rows.ours") as source:
        np.testing.assert_array_equal(next(source.chunks(3)).views["rows"], np.eye(3))
    with pytest.raises(SourceError, match="no column 'id'"):
        open_source(tmp_path / "rows.ours", key="id")
    if not text:
        with pytest.raises(SourceError, match=r"ends in '\.ours\.gz'"):
            open_writer(tmp_path / "rows.ours.gz")


def test_a_missing_library_is_told_with_the_extra(monkeypatch):
    for ending, library, extra in ((".csv", "pyarrow", "files"), (".h5mu", "anndata", "scverse")):
        monkeypatch.delitem(sys.modules, f"omvfs.formats.{FORMATS[ending].module}", raising=False)
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=rf"pip install 'omvfs\[{extra}\]'"):
            load(ending)


# scikit-learn imports pandas if it is there, and pandas pyarrow.
PROGRAM = """
import sys
sys.modules["pandas"] = None
import numpy as np
import omvfs
from omvfs.formats import open_source, open_writer
for name in ("rows", "x.jsonl.gz", "x.svm", "x.mat"):
    path = f"{sys.argv[1]}/{name}"
    with open_writer(path) as writer:
        writer.append(omvfs.Views({"rows": np.eye(3)}))
    with open_source(path) as source:
        assert sum(len(chunk.views) for chunk in source.chunks(2)) == 3
print([name for name in ("pyarrow", "h5py") if name in sys.modules])
"""


def test_a_library_is_imported_for_the_formats_that_need_it(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_stream_of_csv_has_the_views_that_its_columns_name():
    source = standard_input("rows", io.BytesIO(b"text__a,image__x\n1,2\n3,4\n"))
    shown = "Views(1 rows; text: 1, image: 1; float64)"
    assert [repr(chunk.views) for chunk in source.chunks(1)] == [shown] * 2


def test_a_file_that_has_none_of_the_views_asked_for_is_read_as_it_is():
    asked = ReadOptions(views=("image", "sound"))
    assert asked.split(["text", "image"]) == (["image"], ("text",))
    assert ReadOptions(views=("sound",)).split(["text", "image"]) == (["text", "image"], ())
