"""Folders of one file a view."""

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.datasets import load_folder
from support import counts, dense


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    blocks = [counts(rng, 6, width) for width in (4, 3, 5)]
    np.save(tmp_path / "view_10_shape.npy", blocks[0])
    sp.save_npz(tmp_path / "view_2_long_name.npz", sp.csr_matrix(blocks[1]))
    np.save(tmp_path / "view_0_text.npy", blocks[2].astype(np.float32))
    np.save(tmp_path / "labels.npy", np.arange(6))
    (tmp_path / "README.md").write_text("about")
    (tmp_path / "features_0_text.txt").write_text("été\nb\u2028c\nc\nd\ne\n", encoding="utf-8")
    return tmp_path, blocks


def test_views_come_by_number_under_their_names(folder):
    path, blocks = folder
    views, labels = load_folder(path)
    assert list(views.names) == ["text", "long_name", "shape"]
    np.testing.assert_array_equal(views["shape"], blocks[0])
    np.testing.assert_array_equal(dense(views["long_name"]), blocks[1])
    assert sp.issparse(views["long_name"])
    assert list(views.feature_names["text"])[:2] == ["été", "b\u2028c"]
    assert views.feature_names["shape"] is None
    np.testing.assert_array_equal(labels, np.arange(6))


def test_some_views_can_be_asked_for_and_labels_may_be_missing(folder):
    path, _ = folder
    (path / "labels.npy").unlink()
    views, labels = load_folder(str(path), views=["shape", "text"])
    assert list(views.names) == ["shape", "text"]
    assert labels is None


def test_what_is_not_there_is_named(folder, tmp_path_factory):
    path, _ = folder
    with pytest.raises(ValueError, match=r"'sound'.*'text'"):
        load_folder(path, views=["sound"])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_folder(path / "nowhere")
    with pytest.raises(FileNotFoundError, match="view_0_text"):
        load_folder(tmp_path_factory.mktemp("empty"))


def test_what_does_not_fit_is_refused(folder):
    path, _ = folder
    np.save(path / "labels.npy", np.arange(5))
    with pytest.raises(ValueError, match=r"labels of shape \(5,\) for 6 rows"):
        load_folder(path)
    np.save(path / "view_3_text.npy", np.zeros((6, 2)))
    with pytest.raises(ValueError, match="two files of view 'text'"):
        load_folder(path)
