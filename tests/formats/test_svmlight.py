"""svmlight: what rows mean, and lines that mean nothing."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.formats import SourceError, SvmlightSource, open_source
from support import damaged

SVM = "1 1:0.5 3:2\n\n# nothing\n-1 qid:3 2:1 # a comment\n0\n"


def test_an_svmlight_file_has_its_rows_and_no_labels(tmp_path):
    (tmp_path / "x.svm").write_text(SVM)
    (chunk,) = open_source(tmp_path / "x.svm").chunks(100)
    np.testing.assert_array_equal(chunk.views["x"].toarray(), [[0.5, 0, 2], [0, 1, 0], [0, 0, 0]])
    (tmp_path / "y.libsvm").write_text("0 0:1\n0 4:1\n")
    assert open_source(tmp_path / "y.libsvm").schema.widths == (5,)
    assert SvmlightSource(tmp_path / "y.libsvm", "y", 9).schema.widths == (9,)
    with pytest.raises(SourceError, match=r"indices from 0 to 4, beyond the 3 of view 'y'"):
        list(SvmlightSource(tmp_path / "y.libsvm", "y", 3, zero_based=True).chunks(5))


def test_a_line_that_is_none_of_svmlight_is_named(tmp_path):
    for line in ("1 a:1", "1 2:b", "1 2", "1 1:2:3", "1 99999999999999999999:1", "1 -4:1"):
        (tmp_path / "x.svm").write_text(f"# nothing\n1 1:1\n{line}\n")
        with pytest.raises(SourceError, match=r"x\.svm cannot be read in row 2: "):
            open_source(tmp_path / "x.svm")


@pytest.mark.parametrize("ending", ["svm", "svm.gz"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_an_error_or_rows(tmp_path_factory, ending, data):
    whole = gzip.compress(SVM.encode()) if ending.endswith("gz") else SVM.encode()
    path = tmp_path_factory.mktemp("damaged") / f"x.{ending}"
    path.write_bytes(damaged(data, whole, most=3))
    try:
        chunks = list(SvmlightSource(path, "x").chunks(2))
    except SourceError:
        return
    assert all(len(chunk.views) <= 2 for chunk in chunks)
