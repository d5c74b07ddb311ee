"""Every format that is written reads back as the same rows."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from omvfs import Views
from omvfs.formats import FolderSource, SourceError, open_source, open_writer
from omvfs.formats.registry import FORMATS
from support import counts, dense

TABLES = [
    "rows.parquet",
    "rows.feather",
    "rows.arrow",
    "rows.csv",
    "rows.tsv",
    "rows.csv.gz",
    "rows.tsv.bz2",
    "rows.csv.zst",
]
WITH_KEYS = [*TABLES, "rows.jsonl", "rows.jsonl.gz", "rows.jsonl.bz2", "rows.jsonl.zst"]
SEVERAL = ["rows", *WITH_KEYS, "rows.h5mu", "rows.mat"]
ONE = ["text.npy", "text.npz", "text.h5ad", "text.svm", "text.svm.gz", "text.libsvm.zst"]
ONE += ["text.svm.bz2", "text.svmlight"]


def opened(path):
    return FolderSource(path) if path.is_dir() else open_source(path)


def written(path, chunks):
    with open_writer(path) as writer:
        for views in chunks:
            writer.append(views)
    with opened(path) as source:
        return Views.concat([chunk.views for chunk in source.chunks(4)])


def test_every_format_is_among_these():
    endings = {"".join(name.partition(".")[1:]) for name in (*SEVERAL, *ONE)}
    bare = {re.sub(r"\.(gz|bz2|zst)$", "", end) for end in endings}
    assert bare == {"", *FORMATS}


@pytest.mark.parametrize("name", SEVERAL)
def test_views_come_back_in_their_order(tmp_path, name):
    rng = np.random.default_rng(0)
    words, image = counts(rng, 11, 5), counts(rng, 11, 3)
    words[3] = 0
    names = {"text": [f"wörd {j}" for j in range(5)]}
    views = Views({"text": sp.csr_array(words), "image": image}, feature_names=names)
    back = written(tmp_path / name, [views[:4], views[4:5], views[5:].only(["image", "text"])])
    assert back.names == ("text", "image")
    # Features of JSON come in the order in which they appear; MATLAB has no names for them.
    came = names["text"] if "mat" in name else list(back.feature_names["text"])
    by_name = [came.index(each) for each in names["text"]]
    np.testing.assert_array_equal(dense(back["text"])[:, by_name], words)
    np.testing.assert_array_equal(dense(back["image"]), image)
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["text.npy", "text.npz", "text.h5ad", "text.svm.gz"])
@settings(max_examples=10, deadline=None)
@given(
    X=hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.sampled_from([0.0, 0.0, 1.0, -0.5, 1e30]),
    ),
    cut=st.integers(1, 6),
)
def test_one_view_comes_back(tmp_path_factory, name, X, cut):
    X[-1, -1] = 2.0
    views = Views({"text": sp.csr_array(X) if "np" not in name else X})
    path = tmp_path_factory.mktemp("one") / name
    back = written(path, [part for part in (views[:cut], views[cut:]) if len(part)])
    np.testing.assert_array_equal(dense(back["text"]), X)
    if "svm" not in name:
        assert back["text"].dtype == X.dtype


def write_and_fail(writer, views):
    writer.append(views)
    raise RuntimeError("on purpose")


@pytest.mark.parametrize("name", [*SEVERAL, *ONE])
def test_nothing_is_left_by_an_error_and_nothing_is_overwritten(tmp_path, name):
    views = Views({"text": np.eye(3)})

    def left():
        return [file.name for file in tmp_path.rglob("*") if file.is_file()]

    with pytest.raises(RuntimeError, match="on purpose"), open_writer(tmp_path / name) as writer:
        write_and_fail(writer, views)
    for view in ("a/b", "a\0b"):
        with (
            pytest.raises(SourceError, match=r"its name has a '/' or NUL\. Rename it"),
            open_writer(tmp_path / name) as writer,
        ):
            writer.append(Views({view: np.eye(2)}))
    if name in ONE:
        two = Views({"text": np.eye(2), "image": np.eye(2)})
        with pytest.raises(SourceError, match="one view"), open_writer(tmp_path / name) as writer:
            writer.append(two)
    assert left() == []
    written(tmp_path / name, [views])
    with pytest.raises(FileExistsError, match="already"):
        open_writer(tmp_path / name)


def test_what_cannot_be_written_is_told(tmp_path):
    for name, sentence in [("rows.docx", r"'.docx'; expected")] + [
        (f"rows.{kind}.{packed}", rf"ends in '\.{kind}\.{packed}'")
        for kind in ("npy", "npz", "parquet", "feather", "arrow", "h5ad", "h5mu", "mat")
        for packed in ("gz", "zst")
    ]:
        with pytest.raises(SourceError, match=sentence):
            open_writer(tmp_path / name)
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(SourceError, match=sentence):
            open_source(tmp_path / name)
    with pytest.raises(SourceError, match="not of this machine"):
        open_writer("s3://bucket/rows.parquet")
    wide = Views({"text": sp.csr_array((1, 30_000))})
    with (
        pytest.raises(SourceError, match=r"30,000 columns"),
        open_writer(tmp_path / "rows.parquet") as writer,
    ):
        writer.append(wide)


def test_columns_of_a_table_read_back_as_themselves_or_are_refused(tmp_path):
    for number, (view, feature) in enumerate(
        [("a", "x"), ("_a", "_x"), ("a_b", "x_"), ("a b", "__"), ("1", "x__y"), ("a", "_")]
    ):
        views = Views({view: np.eye(1)}, feature_names={view: [feature]})
        back = written(tmp_path / f"{number}.csv", [views])
        assert back.names == (view,)
        assert list(back.feature_names[view]) == [feature]
    for view in ("a__b", "a_", "__a", "_", ""):
        with (
            pytest.raises(SourceError, match=r"'view__feature'; got a view .*Rename it"),
            open_writer(tmp_path / "x.csv") as writer,
        ):
            writer.append(Views({view: np.eye(2)}, feature_names={view: ["x", "y"]}))


@pytest.mark.parametrize("name", WITH_KEYS)
def test_keys_are_written_where_they_can_be(tmp_path, name):
    views = Views({"text": np.eye(3), "id": np.ones((3, 2))})
    for kind in (int, str):
        keys = np.array([kind(k) for k in (3, 5, 7)], object)
        path = tmp_path / f"{kind.__name__}_{name}"
        with open_writer(path, {"key": None}) as writer:
            writer.append(views[:2], {"key": keys[:2]})
            writer.append(views[2:], {"key": keys[2:]})
        with open_source(path, key="key") as source:
            (chunk,) = source.chunks(10)
        assert list(map(kind, chunk.keys)) == keys.tolist()
        np.testing.assert_array_equal(dense(chunk.views["text"]), np.eye(3))
    taken = "id" if "jsonl" in name else "id__0"
    for kept, beside, sentence in [
        (taken, {taken: keys}, rf"would have '{taken}' twice.*Rename one"),
        ("key", {}, "is to have 'key' beside its views; got rows without"),
    ]:
        with (
            pytest.raises(SourceError, match=sentence),
            open_writer(tmp_path / name, {kept: None}) as writer,
        ):
            writer.append(views, beside)


def test_keys_are_left_out_elsewhere(tmp_path):
    views, keys = Views({"text": np.eye(3)}), np.array([3, 5, 7], object)
    for name in {*SEVERAL, *ONE} - set(WITH_KEYS):
        with open_writer(tmp_path / name, {"id": None}) as writer:
            writer.append(views, {"id": keys})
        with opened(tmp_path / name) as source:
            assert source.schema.widths == (3,)
