"""YouTube Multiview Video Games: an archive of gzipped files, videos joined by their number."""

import gzip

import numpy as np
import pytest

from omvfs.datasets import fetch_youtube_games
from omvfs.formats import SourceError
from originals import youtube_archive, youtube_files

TAGS = "dir_data/train/text_tag_unigrams.txt.gz"
# Of the 16 videos, 4 and 5 lack a view; of class 31 are 3, 6, 9, 12, 201000.
N_BOTH, OTHER = 14, 30


def load(home, **options):
    return fetch_youtube_games(data_home=home, download_if_missing=False, **options)


def changed(home, content, name=TAGS):
    files = {**youtube_files(), name: content}
    return youtube_archive(home, {n: text for n, text in files.items() if text is not None})


def test_rows_are_videos_with_both_views_by_number(tmp_path):
    youtube_archive(tmp_path)
    data = load(tmp_path)
    assert data.views.names == ("text_tag_unigrams", "audio_mfcc")
    assert len(data.views) == len(data.labels) == N_BOTH
    tags = data.views["text_tag_unigrams"]
    names = data.views.feature_names["text_tag_unigrams"]
    assert list(names[:3]) == ["7", "1000001", "1000002"]
    # Every video has its own word.
    numbers = [n for n in (*range(1, 13), 201000, 201001, 301000, 301001) if n not in (4, 5)]
    own = [names.tolist().index(str(1_000_000 + n)) for n in numbers]
    np.testing.assert_array_equal(tags[np.arange(N_BOTH), own], np.full(N_BOTH, 0.5))
    np.testing.assert_array_equal(data.views["audio_mfcc"].toarray(), [[0.25, 0.75]] * N_BOTH)
    assert [data.target_names[label] for label in data.labels[:4]] == ["2", "3", "31", "31"]
    assert data.n_classes == 31
    assert "5 of 5" in data.DESCR


def test_videos_that_lack_a_view_can_be_kept_with_empty_rows(tmp_path):
    youtube_archive(tmp_path)
    data = load(tmp_path, missing="empty")
    assert len(data.views) == 16
    tags, sound = data.views["text_tag_unigrams"], data.views["audio_mfcc"]
    np.testing.assert_array_equal(np.flatnonzero(np.diff(tags.indptr) == 0), [3])
    np.testing.assert_array_equal(np.flatnonzero(np.diff(sound.indptr) == 0), [4])
    assert data.target_names[data.labels[3]] == "5"


def test_only_class_31_is_thinned_out_and_the_same_seed_gives_the_same_rows(tmp_path):
    youtube_archive(tmp_path)
    everything, some = load(tmp_path, n_samples=None), load(tmp_path, n_samples=11)
    assert len(some.views) == 11
    assert np.sum(some.labels == OTHER) == 2
    np.testing.assert_array_equal(
        some.labels[some.labels != OTHER], everything.labels[everything.labels != OTHER]
    )
    assert "2 of 5" in some.DESCR
    chosen = set()
    for seed in (*range(8), 0):
        data = load(tmp_path, n_samples=11, random_state=seed)
        # Columns are those of the whole set, whatever is left out.
        assert data.views.shape == some.views.shape
        chosen.add(tuple(data.views["text_tag_unigrams"].indices.tolist()))
    assert 1 < len(chosen) <= 8
    again = load(tmp_path, n_samples=11)
    assert (again.views["text_tag_unigrams"] != some.views["text_tag_unigrams"]).nnz == 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"n_samples": 8}, "n_samples=8; expected at least 9"),
        ({"n_samples": 0}, "n_samples"),
        ({"missing": "keep"}, "missing='keep'; expected 'drop' or 'empty'"),
        ({"views": ["text"]}, "expected some of"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options, why, tmp_path):
    youtube_archive(tmp_path)
    with pytest.raises(ValueError, match=why):
        load(tmp_path, **options)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("#I 1\n32 1:1\n", "begins with '32'; expected 1 to 31"),
        ("#I 1\n2 1:1 x\n", "is not 'label index:value"),
        ("2 1:1\n", "video in row 1 has no line '#I <number>'"),
        ("#I 1\n2 1:1\n3 1:1\n", "video in row 2 has no line '#I <number>'"),
        ("#I 1\n#I 2\n3 1:1\n", "video 1 has no line before the next"),
        ("#I 1\n2 1:1\n#I 2\n", "video 2 has no line after its number"),
        ("#I one\n2 1:1\n", "' one' is no number"),
        ("#I 1\n2 1:1\n#I 1\n2 1:1\n", "video 1 is there twice"),
        ("#I 1\n9 1:1\n", "Video 1 is of class"),
        ("# nothing\n", "has no rows"),
    ],
)
def test_a_file_that_is_wrong_is_named(content, why, tmp_path):
    changed(tmp_path, content)
    with pytest.raises(SourceError, match=why) as caught:
        load(tmp_path)
    assert "train/text_tag_unigrams.txt.gz" in str(caught.value)


def test_views_without_a_common_video_are_told(tmp_path):
    files = youtube_files()
    for part in ("train", "validation", "test"):
        name = f"dir_data/{part}/text_tag_unigrams.txt.gz"
        files[name] = f"#I {len(part) * 7_000_000}\n1 1:1\n"
    youtube_archive(tmp_path, files)
    with pytest.raises(SourceError, match="missing='empty'"):
        load(tmp_path)


def test_a_damaged_file_in_a_sound_archive_is_named(tmp_path):
    good = gzip.compress(youtube_files()[TAGS].encode())
    for content in (good[: len(good) // 2], good[:-6] + b"\0\0\0\0" + good[-2:], b"no gzip"):
        changed(tmp_path, content)
        with pytest.raises(SourceError, match=r"train/text_tag_unigrams.txt.gz .* damaged or cut"):
            load(tmp_path)
        (tmp_path / "youtube" / "dir_data.tar.sha256").unlink()


def test_a_file_that_is_not_there_is_named(tmp_path):
    changed(tmp_path, None)
    with pytest.raises(SourceError, match=r"has no train/text_tag_unigrams.txt.gz"):
        load(tmp_path)


def test_an_archive_that_is_cut_off_is_told(tmp_path):
    path = youtube_archive(tmp_path)
    content = path.read_bytes()
    # In the middle of members, at their headers, and at their last bytes.
    for length in (*range(520, 5600, 331), 4000):
        path.write_bytes(content[:length])
        with pytest.raises(SourceError, match=r"damaged or cut off|has no"):
            load(tmp_path)
        path.with_name("dir_data.tar.sha256").unlink()
