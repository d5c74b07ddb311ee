"""Every format that is written reads back as the same rows."""

import subprocess
import sys

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

SEVERAL = {"rows", "rows.parquet", "rows.feather", "rows.arrow", "rows.csv", "rows.csv.gz"} | {
    "rows.csv.zst",
    "rows.jsonl",
    "rows.jsonl.gz",
    "rows.jsonl.zst",
    "rows.h5mu",
    "rows.mat",
}
ONE = {"text.npy", "text.npz", "text.h5ad", "text.svm", "text.svm.gz", "text.libsvm.zst"} | {
    "text.svmlight"
}


def opened(path):
    return FolderSource(path) if path.is_dir() else open_source(path)


def written(path, chunks):
    with open_writer(path) as writer:
        for views in chunks:
            writer.append(views)
    with opened(path) as source:
        return Views.concat([chunk.views for chunk in source.chunks(4)])


def test_every_format_is_among_these():
    endings = {"".join(name.partition(".")[1:]) for name in SEVERAL | ONE}
    assert {end.removesuffix(".gz").removesuffix(".zst") for end in endings} == {"", *FORMATS}


@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_views_come_back(tmp_path, name):
    rng = np.random.default_rng(0)
    words, image = counts(rng, 11, 5), counts(rng, 11, 3)
    words[3] = 0
    text = sp.csr_array(words)
    names = {"text": [f"wörd {j}" for j in range(5)]}
    views = Views({"text": text, "image": image}, feature_names=names)
    back = written(tmp_path / name, [views[:4], views[4:5], views[5:]])
    assert set(back.names) == {"text", "image"}
    # Features of JSON come in the order in which they appear; MATLAB has no names for them.
    came = names["text"] if "mat" in name else list(back.feature_names["text"])
    by_name = [came.index(each) for each in names["text"]]
    np.testing.assert_array_equal(dense(back["text"])[:, by_name], dense(text))
    np.testing.assert_array_equal(dense(back["image"]), image)
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", sorted(ONE))
@settings(max_examples=15, deadline=None)
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


@pytest.mark.parametrize("name", sorted(SEVERAL | ONE))
def test_nothing_is_left_by_an_error_and_nothing_is_overwritten(tmp_path, name):
    views = Views({"text": np.eye(3)})
    with pytest.raises(RuntimeError, match="on purpose"), open_writer(tmp_path / name) as writer:
        write_and_fail(writer, views)
    left = [file.name for file in tmp_path.rglob("*") if file.is_file()]
    assert left == []
    written(tmp_path / name, [views])
    with pytest.raises(FileExistsError, match="already"):
        open_writer(tmp_path / name)


@pytest.mark.parametrize("name", sorted(ONE))
def test_one_view_is_not_two(tmp_path, name):
    two = Views({"text": np.eye(2), "image": np.eye(2)})
    with pytest.raises(SourceError, match="one view"), open_writer(tmp_path / name) as writer:
        writer.append(two)


def test_an_unknown_ending_and_an_address_are_told(tmp_path):
    with pytest.raises(SourceError, match=r"'.docx'; expected"):
        open_writer(tmp_path / "rows.docx")
    with pytest.raises(SourceError, match="not of this machine"):
        open_writer("s3://bucket/rows.parquet")


def test_too_wide_a_table_is_told(tmp_path):
    wide = Views({"text": sp.csr_array((1, 30_000))})
    with (
        pytest.raises(SourceError, match=r"30,000 columns"),
        open_writer(tmp_path / "rows.parquet") as writer,
    ):
        writer.append(wide)


COMPRESSED = ["npy", "npz", "parquet", "feather", "arrow", "h5ad", "h5mu", "mat"]


@pytest.mark.parametrize("kind", COMPRESSED)
@pytest.mark.parametrize("compression", ["gz", "zst"])
def test_what_is_no_text_is_not_compressed(tmp_path, kind, compression):
    name = f"rows.{kind}.{compression}"
    with pytest.raises(SourceError, match=rf"ends in '\.{kind}\.{compression}'"):
        open_writer(tmp_path / name)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(SourceError, match=rf"ends in '\.{kind}\.{compression}'"):
        open_source(tmp_path / name)


@pytest.mark.parametrize("name", sorted(SEVERAL | ONE))
@pytest.mark.parametrize("view", ["a/b", "a\0b"])
def test_names_that_no_file_can_have_are_refused(tmp_path, name, view):
    with (
        pytest.raises(SourceError, match=r"its name has a '/' or NUL\. Rename it"),
        open_writer(tmp_path / name) as writer,
    ):
        writer.append(Views({view: np.eye(2)}))
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


@pytest.mark.parametrize("view", ["a__b", "a_", "__a", "_", ""])
def test_views_of_a_table_read_back_as_themselves_or_are_refused(tmp_path, view):
    with (
        pytest.raises(SourceError, match=r"'view__feature'; got a view .*Rename it"),
        open_writer(tmp_path / "x.csv") as writer,
    ):
        writer.append(Views({view: np.eye(2)}, feature_names={view: ["x", "y"]}))


@pytest.mark.parametrize("view", ["a", "_a", "a_b", "a b", "1"])
@pytest.mark.parametrize("feature", ["x", "_x", "x_", "__", "x__y", "_"])
def test_columns_of_a_table_read_back_as_they_were(tmp_path, view, feature):
    views = Views({view: np.eye(1)}, feature_names={view: [feature]})
    back = written(tmp_path / "x.csv", [views])
    assert back.names == (view,)
    assert list(back.feature_names[view]) == [feature]


@pytest.mark.parametrize("name", ["rows.h5mu", "rows", "rows.jsonl"])
def test_views_keep_their_order(tmp_path, name):
    views = Views({"text": np.eye(3), "image": np.eye(3), "audio": np.eye(3)})
    back = written(tmp_path / name, [views[:2], views[2:].only(["audio", "image", "text"])])
    assert back.names == ("text", "image", "audio")


WITH_KEYS = sorted(name for name in SEVERAL if "." in name and name[5:9] not in ("h5mu", "mat"))


@pytest.mark.parametrize("name", WITH_KEYS)
@pytest.mark.parametrize("kind", [int, str])
def test_keys_are_written_where_they_can_be(tmp_path, name, kind):
    keys = np.array([kind(k) for k in (3, 5, 7)], object)
    views = Views({"text": np.eye(3), "image": np.ones((3, 2))})
    with open_writer(tmp_path / name, {"id": None}) as writer:
        writer.append(views[:2], {"id": keys[:2]})
        writer.append(views[2:], {"id": keys[2:]})
    with open_source(tmp_path / name, key="id") as source:
        (chunk,) = source.chunks(10)
    assert list(map(kind, chunk.keys)) == keys.tolist()
    np.testing.assert_array_equal(dense(chunk.views["text"]), np.eye(3))


@pytest.mark.parametrize("name", sorted((SEVERAL | ONE) - set(WITH_KEYS)))
def test_keys_are_left_out_elsewhere(tmp_path, name):
    views, keys = Views({"text": np.eye(3)}), np.array([3, 5, 7], object)
    with open_writer(tmp_path / name, {"id": None}) as writer:
        writer.append(views, {"id": keys})
    with opened(tmp_path / name) as source:
        assert source.schema.widths == (3,)


@pytest.mark.parametrize("name", WITH_KEYS)
def test_keys_need_a_name_of_their_own_and_must_be_there(tmp_path, name):
    views, keys = Views({"id": np.eye(2)}), np.array([3, 5], object)
    key = "id" if "jsonl" in name else "id__0"
    with (
        pytest.raises(SourceError, match=rf"would have '{key}' twice.*Rename one"),
        open_writer(tmp_path / name, {key: None}) as w,
    ):
        w.append(views, {key: keys})
    with (
        pytest.raises(SourceError, match="is to have 'key' beside its views; got rows without"),
        open_writer(tmp_path / name, {"key": None}) as w,
    ):
        w.append(views)
    with open_writer(tmp_path / name) as w:
        w.append(views, {"id": keys})
    assert open_source(tmp_path / name).schema.widths == (2,)


PROGRAM = """
import sys
for name in ("pyarrow", "h5py", "anndata"):
    sys.modules[name] = None
import numpy as np
from omvfs.formats import open_writer
try:
    open_writer(sys.argv[1])
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(("name", "extra"), [("x.csv", "files"), ("x.h5mu", "scverse")])
def test_a_missing_library_is_told_with_the_extra(tmp_path, name, extra):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"pip install 'omvfs[{extra}]'" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == []
