"""CNN and FOX: MATLAB matrices with an article a column."""

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.datasets import fetch_cnn, fetch_fox
from omvfs.formats import SourceError
from originals import news_files


def test_rows_are_articles(tmp_path):
    variables = news_files(tmp_path)
    data = fetch_fox(data_home=tmp_path)
    assert data.name == "fox"
    assert sp.issparse(data.views["text"])
    np.testing.assert_array_equal(
        data.views["text"].toarray(), variables["TFIDF_Normalized"].toarray().T
    )
    np.testing.assert_array_equal(data.views["image"], variables["imageFeatureNormalizedMat"].T)
    np.testing.assert_array_equal(data.labels, np.arange(9) % 4)
    assert data.target_names == ("health", "science_technology", "sports", "travel")
    assert "The paper has 1,523 rows; text 27,072, image 996 features." in data.DESCR


def test_cnn_has_seven_classes_and_its_own_files(tmp_path):
    news_files(tmp_path, "CNN", n_classes=7)
    data = fetch_cnn(data_home=tmp_path)
    assert (data.name, data.n_classes, len(data.views)) == ("cnn", 7, 9)
    with pytest.raises(FileNotFoundError, match="FOX_TFIDF_Normalized"):
        fetch_fox(data_home=tmp_path)


def test_a_set_of_the_shape_of_the_papers_says_so(tmp_path):
    news_files(
        tmp_path,
        n=1_523,
        TFIDF_Normalized=sp.eye_array(27_072, 1_523, format="csc"),
        imageFeatureNormalizedMat=np.zeros((996, 1_523)),
    )
    assert fetch_fox(data_home=tmp_path).DESCR.endswith("features, as in the paper.")


def test_labels_may_be_dense(tmp_path):
    news_files(tmp_path, labelMat=np.eye(4)[[0, 1, 2, 3, 3, 2, 1, 0, 0]])
    np.testing.assert_array_equal(fetch_fox(data_home=tmp_path).labels, [0, 1, 2, 3, 3, 2, 1, 0, 0])


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"labelMat": np.eye(9, 5)}, "has 5 columns; expected 4, one a class: health"),
        ({"labelMat": np.ones((9, 4))}, "Row 1 of labelMat .* has 4 classes; expected one"),
        ({"labelMat": np.eye(9, 4)}, "Row 5 of labelMat .* has 0 classes; expected one"),
        ({"imageFeatureNormalizedMat": np.ones((9, 6))}, r"shape \(9, 6\); expected 9 columns"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(other, why, tmp_path):
    news_files(tmp_path, **other)
    with pytest.raises(SourceError, match=why):
        fetch_fox(data_home=tmp_path)


def test_a_file_without_the_variable_or_cut_off_is_named(tmp_path):
    news_files(tmp_path)
    folder = tmp_path / "fox"
    text = folder / "FOX_TFIDF_Normalized.mat"
    good = text.read_bytes()
    text.write_bytes((folder / "FOX_LabelMat.mat").read_bytes())
    with pytest.raises(SourceError, match="no matrix of numbers 'TFIDF_Normalized'"):
        fetch_fox(data_home=tmp_path)
    for content in (good[: len(good) // 2], b"", b"text"):
        text.write_bytes(content)
        (folder / "FOX_TFIDF_Normalized.mat.sha256").unlink(missing_ok=True)
        with pytest.raises(SourceError, match="FOX_TFIDF_Normalized"):
            fetch_fox(data_home=tmp_path)
