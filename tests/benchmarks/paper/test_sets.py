"""Experiments find what was fetched, and fetch nothing."""

import numpy as np
import pytest

from omvfs.datasets import make_planted
from originals import news_files, reuters_archive, youtube_archive
from paper import Place, sets


@pytest.fixture
def place(tmp_path):
    return Place(data_home=tmp_path)


def test_sets_that_were_fetched_are_at_hand(place):
    assert sets.at_hand(place, sets.PAPER) == []
    news_files(place.data_home)
    reuters_archive(place.data_home)
    assert sets.at_hand(place, sets.PAPER) == ["fox", "reuters"]
    assert sets.twins(place) == ["cnn-twin", "youtube-twin"]
    (place.data_home / "fox" / "FOX_LabelMat.mat").unlink()
    assert sets.at_hand(place, sets.PAPER) == ["reuters"]


def test_sets_that_were_fetched_are_loaded_as_others_are(place):
    news_files(place.data_home, "CNN", n_classes=7)
    reuters_archive(place.data_home)
    youtube_archive(place.data_home)
    for name, n_rows in (("cnn", 9), ("reuters", 10), ("youtube", 14)):
        data = sets.load(name, place)
        assert (data.name, len(data.labels)) == (name, n_rows)
        for X in data.views.values():
            assert X.min() >= 0
            norms = np.sqrt((X**2).sum(axis=1))
            np.testing.assert_allclose(norms[norms > 0], 1)
    assert len(sets.load("reuters", place, 3).labels) == 3


def test_a_folder_of_the_data_comes_first(place, tmp_path):
    news_files(place.data_home)
    folder = tmp_path / "data" / "fox"
    folder.mkdir(parents=True)
    planted = make_planted(12, n_features=(8,), n_informative=(4,), n_classes=2, random_state=0)
    np.save(folder / "view_0_text.npy", planted.views["view_0"].toarray())
    np.save(folder / "labels.npy", planted.labels)
    data = sets.load("fox", Place(data=tmp_path / "data", data_home=place.data_home))
    assert list(data.views) == ["text"]
