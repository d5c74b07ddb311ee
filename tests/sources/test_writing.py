"""Every format that is written reads back as the same rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from omvfs import Views
from omvfs.sources import FolderSource, SourceError, open_source, open_writer
from omvfs.sources.writing.opening import WRITERS
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
    assert {end.removesuffix(".gz").removesuffix(".zst") for end in endings} == set(WRITERS)


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
