"""The paper's sets: original formats, downloads from a server on this machine, what is refused."""

import gzip
import hashlib

import numpy as np
import pytest
import scipy.sparse as sp
from originals import (
    news_files,
    reuters_archive,
    reuters_files,
    youtube_archive,
    youtube_files,
)

from omvfs.formats import SourceError
from paper import Place, sets
from paper.published import (
    fetch_cnn,
    fetch_fox,
    fetch_reuters_multilingual,
    fetch_youtube_games,
)
from web import serving

ARCHIVE = "rcv1rcv2aminigoutte.tar.bz2"
ROOT = "rcv1rcv2aminigoutte/"
TAGS = "dir_data/train/text_tag_unigrams.txt.gz"


def files_in(home):
    return sorted(path.name for path in home.rglob("*") if path.is_file())


def reuters(home, **options):
    return fetch_reuters_multilingual(data_home=home, download_if_missing=False, **options)


def youtube(home, **options):
    return fetch_youtube_games(data_home=home, download_if_missing=False, **options)


def test_what_is_missing_is_fetched_once_or_not_at_all(tmp_path):
    home, origin = tmp_path / "home", reuters_archive(tmp_path / "origin")
    with serving() as web:
        url = web.url("reuters")
        options = {"data_home": home, "base_url": url}
        with pytest.raises(OSError, match=rf"{url}/{ARCHIVE} could not be fetched.*404"):
            fetch_reuters_multilingual(**options)
        content = web.files[f"reuters/{ARCHIVE}"] = origin.read_bytes()
        with pytest.raises(ValueError, match="hash"):
            fetch_reuters_multilingual(**options, known_hash={ARCHIVE: "sha256:" + "0" * 64})
        with pytest.raises(ValueError, match=r"known_hash of \['other.tar'\]"):
            fetch_reuters_multilingual(**options, known_hash={"other.tar": "0" * 64})
        assert files_in(home) == []
        right = "sha256:" + hashlib.sha256(content).hexdigest()
        assert len(fetch_reuters_multilingual(**options, known_hash={ARCHIVE: right}).views) == 10
        n_asked = len(web.asked)
        assert len(fetch_reuters_multilingual(**options).views) == 10
        assert len(web.asked) == n_asked
    assert files_in(home) == [ARCHIVE]


def test_without_an_address_or_leave_the_error_says_what_to_put_where(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        reuters(tmp_path)
    for part in ("download_if_missing is False", str(tmp_path / "reuters" / ARCHIVE), "EN/Index"):
        assert part in str(caught.value)
    for fetch, name in ((fetch_fox, "FOX"), (fetch_cnn, "CNN")):
        with pytest.raises(FileNotFoundError) as caught:
            fetch(data_home=tmp_path)
        for part in ("TFIDF_Normalized", "imageFeatureNormalizedMat", "labelMat", "base_url="):
            assert part in str(caught.value)
        assert str(tmp_path / name.lower() / f"{name}_LabelMat.mat") in str(caught.value)


def test_reuters_has_a_view_a_language_and_the_documents_of_all_five(tmp_path):
    reuters_archive(tmp_path)
    data = reuters(tmp_path)
    assert data.views.names == ("english", "french")
    english, french = data.views["english"], data.views["french"]
    assert english.shape == (10, 21_531)
    assert french.shape == (10, 24_893)
    np.testing.assert_array_equal(english[[0, 2]][:, [0, 9]].toarray(), [[1.5, -0.25]] * 2)
    np.testing.assert_array_equal(french[[8]][:, [0, 10]].toarray(), [[2.5, -0.25]])
    assert english.nnz == french.nnz == 10
    assert data.target_names == ("C15", "CCAT", "E21", "ECAT", "GCAT", "M11")
    np.testing.assert_array_equal(data.labels, [0, 5] * 5)
    assert "10 rows; english 21,531, french 24,893 features" in data.DESCR
    others = reuters(tmp_path, views=["spanish", "german", "italian"]).views
    assert list(others.widths.values()) == [11_547, 34_279, 15_506]
    for views in (["dutch"], [], ["english", "english"], "english"):
        with pytest.raises(ValueError, match="expected some of"):
            reuters(tmp_path, views=views)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("C15 1:1\nC16 1:1\n", "Row 2 of FR/Index_GR-FR .* is b'C16 1:1'; .* C15, CCAT"),
        ("C15 1:1\nM11 1:nan\n", "Row 2 .* expected 'label index:value"),
        ("C15 1:1\nM11 0:1\n", "indices from 0 to 1; expected 1 to 24,893"),
        ("C15 1:1\nM11 3:1 4:1 3:1\n", "FR/Index_GR-FR .* an index twice"),
        ("C15 1:1\nC15 1:1\n", "EN/Index_GR-EN and FR/Index_GR-FR .* have other documents"),
        ("\n", "FR/Index_GR-FR .* has no rows"),
        (None, "has no FR/Index_GR-FR"),
    ],
)
def test_a_file_of_reuters_that_is_wrong_is_named(text, why, tmp_path):
    files = {**reuters_files(), ROOT + "FR/Index_GR-FR": text}
    reuters_archive(tmp_path, {name: text for name, text in files.items() if text is not None})
    with pytest.raises(SourceError, match=why):
        reuters(tmp_path)


def test_what_is_no_archive_or_half_of_one_is_refused(tmp_path):
    path = reuters_archive(tmp_path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"<html>gone</html>", b"\0" * 2000):
        path.write_bytes(content)
        with pytest.raises(SourceError, match=rf"{ARCHIVE} (is damaged|has no)"):
            reuters(tmp_path)
    path = youtube_archive(tmp_path)
    whole = path.read_bytes()
    # In the middle of members, at their headers, and at their last bytes.
    for length in (*range(520, 5600, 331), 4000):
        path.write_bytes(whole[:length])
        with pytest.raises(SourceError, match=r"damaged or cut off|has no"):
            youtube(tmp_path)
    good = gzip.compress(youtube_files()[TAGS].encode())
    for content in (good[: len(good) // 2], good[:-6] + b"\0\0\0\0" + good[-2:], b"no gzip"):
        youtube_archive(tmp_path, {**youtube_files(), TAGS: content})
        with pytest.raises(SourceError, match=r"damaged or cut"):
            youtube(tmp_path)


def test_youtube_has_the_videos_with_both_views_by_number(tmp_path):
    youtube_archive(tmp_path)
    data = youtube(tmp_path)
    assert len(data.views) == len(data.labels) == 14
    tags = data.views["text_tag_unigrams"]
    names = data.views.feature_names["text_tag_unigrams"]
    assert list(names[:3]) == ["7", "1000001", "1000002"]
    # Every video has its own word; 4 and 5 lack a view.
    numbers = [n for n in (*range(1, 13), 201000, 201001, 301000, 301001) if n not in (4, 5)]
    own = [names.tolist().index(str(1_000_000 + n)) for n in numbers]
    np.testing.assert_array_equal(tags[np.arange(14), own], np.full(14, 0.5))
    np.testing.assert_array_equal(data.views["audio_mfcc"].toarray(), [[0.25, 0.75]] * 14)
    assert [data.target_names[label] for label in data.labels[:4]] == ["2", "3", "31", "31"]
    assert data.n_classes == 31
    kept = youtube(tmp_path, missing="empty")
    empty = {view: np.flatnonzero(np.diff(X.indptr) == 0) for view, X in kept.views.blocks.items()}
    assert (len(kept.views), kept.target_names[kept.labels[3]]) == (16, "5")
    assert empty == {"text_tag_unigrams": [3], "audio_mfcc": [4]}


def test_only_class_31_is_thinned_out_and_the_same_seed_gives_the_same_rows(tmp_path):
    youtube_archive(tmp_path)
    everything, some = youtube(tmp_path, n_samples=None), youtube(tmp_path, n_samples=11)
    assert (len(some.views), np.sum(some.labels == 30)) == (11, 2)
    np.testing.assert_array_equal(
        some.labels[some.labels != 30], everything.labels[everything.labels != 30]
    )
    chosen = [
        tuple(youtube(tmp_path, n_samples=11, random_state=seed).views["text_tag_unigrams"].indices)
        for seed in (*range(8), 0)
    ]
    assert chosen[0] == chosen[-1]
    assert len(set(chosen)) > 1
    for options, why in (
        ({"n_samples": 8}, "n_samples=8; expected at least 9"),
        ({"n_samples": 0}, "n_samples"),
        ({"missing": "keep"}, "missing='keep'"),
        ({"views": ["text"]}, "expected some of"),
    ):
        with pytest.raises(ValueError, match=why):
            youtube(tmp_path, **options)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("#I 1\n32 1:1\n", "Row 1 of train/text_tag_unigrams.txt.gz"),
        ("#I 1\n2 1:1\n3 1:1\n", "train/text_tag_unigrams.txt.gz .* '#I <number>'"),
        ("#I 1\n2 1:1\n#I 2\n", "train/text_tag_unigrams.txt.gz .* '#I <number>'"),
        ("#I 1\n2 1:1\n#I 1\n2 1:1\n", "train/text_tag_unigrams.txt.gz .* '#I <number>'"),
        ("#I 1\n9 1:1\n", "Video 1 of .* has two classes"),
        (None, "has no train/text_tag_unigrams.txt.gz"),
    ],
)
def test_a_file_of_youtube_that_is_wrong_is_named(content, why, tmp_path):
    files = {**youtube_files(), TAGS: content}
    youtube_archive(tmp_path, {name: text for name, text in files.items() if text is not None})
    with pytest.raises(SourceError, match=why):
        youtube(tmp_path)


def test_news_have_an_article_a_row(tmp_path):
    variables = news_files(tmp_path)
    data = fetch_fox(data_home=tmp_path)
    assert sp.issparse(data.views["text"])
    np.testing.assert_array_equal(
        data.views["text"].toarray(), variables["TFIDF_Normalized"].toarray().T
    )
    np.testing.assert_array_equal(data.views["image"], variables["imageFeatureNormalizedMat"].T)
    np.testing.assert_array_equal(data.labels, np.arange(9) % 4)
    assert data.target_names == ("health", "science_technology", "sports", "travel")
    news_files(tmp_path, "CNN", n_classes=7)
    cnn = fetch_cnn(data_home=tmp_path)
    assert (cnn.name, cnn.n_classes, len(cnn.views)) == ("cnn", 7, 9)
    for other, why in (
        ({"labelMat": np.eye(9, 5)}, r"shape \(9, 5\).*; expected one of health"),
        ({"labelMat": np.ones((9, 4))}, "up to 4 classes a row; expected one of"),
        ({"imageFeatureNormalizedMat": np.ones((9, 6))}, r"shape \(9, 6\); expected 9 columns"),
    ):
        news_files(tmp_path, **other)
        with pytest.raises(SourceError, match=why):
            fetch_fox(data_home=tmp_path)
    news_files(tmp_path)
    text = tmp_path / "fox" / "FOX_TFIDF_Normalized.mat"
    for content in (text.read_bytes()[:200], b"", b"text"):
        text.write_bytes(content)
        with pytest.raises(SourceError, match="FOX_TFIDF_Normalized"):
            fetch_fox(data_home=tmp_path)


@pytest.fixture
def place(tmp_path):
    return Place(data_home=tmp_path)


def test_experiments_know_sets_that_were_fetched(place):
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
