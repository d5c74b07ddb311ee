"""YouTube Multiview Video Games: videos of thirty games, and of none of them, in thirteen views."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.views import Views
from omvfs.datasets._archives import text_files
from omvfs.datasets._downloads import Hashes, Needed, PathLike, provide
from omvfs.datasets._fetched import Fetched, chosen_views, described
from omvfs.datasets._sparse_lines import SparseLines
from omvfs.formats import SourceError
from omvfs.parameters import whole

YOUTUBE = Needed(
    folder="youtube",
    files={"dir_data.tar": "the archive as it is, 3 GB: train/text_tag_unigrams.txt.gz, ..."},
    base_url="https://archive.ics.uci.edu/ml/machine-learning-databases/00269",
    page="https://archive.ics.uci.edu/dataset/269",
)
_PARTS = ("train", "validation", "test")
_FAMILIES = (
    "text_game_lda_1000",
    "text_description_unigrams",
    "text_tag_unigrams",
    "audio_mfcc",
    "audio_sai_boxes",
    "audio_sai_intervalgrams",
    "audio_spectrogram_stream",
    "audio_volume_stream",
    "vision_cuboids_histogram",
    "vision_hist_motion_estimate",
    "vision_hog_features",
    "vision_hs_hist_stream",
    "vision_misc",
)
_CLASSES = tuple(str(label) for label in range(1, 32))
_OTHER = len(_CLASSES) - 1
_PAPER = 95_343, {"text_tag_unigrams": 94_012, "audio_mfcc": 2_000}


def fetch_youtube_games(
    *,
    views: Sequence[str] = ("text_tag_unigrams", "audio_mfcc"),
    n_samples: int | None = 95_343,
    missing: Literal["drop", "empty"] = "drop",
    random_state: int = 0,
    data_home: PathLike | None = None,
    download_if_missing: bool = True,
    base_url: str | None = None,
    known_hash: Hashes = None,
) -> Fetched:
    """Load the YouTube Multiview Video Games set (UCI 269), a view a family of features.

    Rows are videos by their number: those for training, validation and test, in this order. Columns
    of a view are the features that occur in it, by their number, which is their name too: numbers
    of words have large gaps, and the words are not published.

    Parameters
    ----------
    views : sequence of str
        Families of features, by the names of their files; the paper has words of the tags and MFCC.
    n_samples : int or None, default=95_343
        At most so many rows. If there are more, videos of class 31, which is none of the thirty
        games, are left out at random. None keeps all. The paper says that it "removed some
        instances with label 31", not which: to draw them is our choice.
    missing : {"drop", "empty"}, default="drop"
        What to do with videos that lack some of the views: leave them out before any of class 31
        are, or keep them with empty rows. The paper does not tell; to leave them out is our choice.
    random_state : int
        Seed of what is left out. The same archive, arguments and seed give the same rows.
    data_home : path, default=None
        Folder that keeps the data sets, this one in ``youtube``; see `get_data_home`.
    download_if_missing : bool, default=True
        If False, what is not on this disk is an error.
    base_url : str, default=None
        Address of a folder that has the archive, instead of the UCI repository's.
    known_hash : str, default=None
        Hash of the archive, ``sha256:...`` or ``md5:...``. None is published: without it, the first
        archive seen is trusted, its hash is kept beside it, and later uses are held against that.

    Returns
    -------
    Fetched
        ``.views``, ``.labels``, ``.target_names`` (``"1"`` to ``"31"``), ``.DESCR``.

    Notes
    -----
    The archive is read where it is, at every call, and the views are read as a whole. Downloading
    needs ``pip install omvfs[datasets]``. Cite O. Madani, M. Georg, D. A. Ross, On using
    nearly-independent feature families for high precision and confidence, Machine Learning 92
    (2013).

    Examples
    --------
    >>> fetch_youtube_games(data_home="nowhere", download_if_missing=False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no dir_data.tar at ...
    """
    views = chosen_views(views, _FAMILIES)
    if missing not in ("drop", "empty"):
        raise ValueError(f"Got missing={missing!r}; expected 'drop' or 'empty'.")
    (archive,) = provide(
        YOUTUBE,
        data_home,
        download_if_missing=download_if_missing,
        base_url=base_url,
        known_hash=known_hash,
    )
    files = {f"{part}/{view}.txt.gz": (view, part) for view in views for part in _PARTS}
    read = {files[name]: _Videos(where, lines) for name, where, lines in text_files(archive, files)}
    videos = {view: [read.pop((view, part)) for part in _PARTS] for view in views}
    numbers, labels = _all_videos([part for parts in videos.values() for part in parts])
    kept = np.ones(len(numbers), dtype=bool)
    if missing == "drop":
        for parts in videos.values():
            kept &= np.isin(numbers, np.concatenate([part.numbers for part in parts]))
        if not kept.any():
            raise SourceError(f"No video of {archive} has all of {views}. Pass missing='empty'.")
    kept[_left_out(labels, kept, n_samples, random_state)] = False
    blocks, names = {}, {}
    for view in views:
        blocks[view], names[view] = _block(videos.pop(view), numbers[kept])
    data = Views(blocks, feature_names=names)
    n_other = np.count_nonzero(labels[kept] == _OTHER), np.count_nonzero(labels == _OTHER)
    about = (
        "YouTube Multiview Video Games (UCI 269): videos of thirty games, and of others in class "
        f"31, of which {n_other[0]:,} of {n_other[1]:,} are kept."
    )
    return Fetched("youtube", data, labels[kept], _CLASSES, described(about, data, _PAPER))


class _Videos:
    """The vectors of one file, and the numbers of their videos: a line ``#I 312`` before each."""

    def __init__(self, where: str, lines: Iterator[bytes]) -> None:
        self.where, self.rows = where, SparseLines(where, _CLASSES)
        numbers: list[int] = []
        for line in lines:
            if line.startswith(b"#I"):
                if len(numbers) > len(self.rows):
                    raise self._wrong(f"{numbers[-1]:,} has no line before the next")
                try:
                    numbers.append(int(line[2:]))
                except ValueError as error:
                    raise self._wrong(f"{line[2:40]!r} is no number") from error
            elif not line.startswith(b"#"):
                if len(numbers) == len(self.rows):
                    raise self._wrong(f"in row {len(numbers) + 1:,} has no line '#I <number>'")
                self.rows.add(line)
        if len(numbers) > len(self.rows):
            raise self._wrong(f"{numbers[-1]:,} has no line after its number")
        if len(set(numbers)) < len(numbers):
            twice = min(n for n, times in Counter(numbers).items() if times > 1)
            raise self._wrong(f"{twice:,} is there twice")
        self.numbers = np.array(numbers, np.int64)

    def _wrong(self, why: str) -> SourceError:
        return SourceError(f"{self.where} is damaged: video {why}. Fetch the archive again.")


def _all_videos(files: Sequence[_Videos]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the numbers of all videos, ascending, and their classes, the same in every file."""
    given = np.concatenate([np.array(file.rows.labels, np.intp) for file in files])
    numbers, first, places = np.unique(
        np.concatenate([file.numbers for file in files]), return_index=True, return_inverse=True
    )
    labels = given[first]
    if len(bad := np.flatnonzero(labels[places] != given)):
        classes = _CLASSES[given[bad[0]]], _CLASSES[labels[places[bad[0]]]]
        raise SourceError(
            f"Video {numbers[places[bad[0]]]:,} is of class {classes[0]} in one file, {classes[1]} "
            f"in another, beside {files[0].where}. Fetch the archive again."
        )
    return numbers, labels


def _left_out(
    labels: NDArray[np.intp], kept: NDArray[np.bool_], n_samples: int | None, seed: int
) -> NDArray[np.intp]:
    """Draw the rows of class 31 to leave out, so that no more than some are kept."""
    spare = np.flatnonzero(kept & (labels == _OTHER))
    n_kept, n_out = int(np.count_nonzero(kept)), 0
    if n_samples is not None:
        n_out = max(0, n_kept - whole("n_samples", n_samples, least=1))
    if n_out > len(spare):
        raise ValueError(
            f"Got n_samples={n_samples:,}; expected at least {n_kept - len(spare):,}, the rows of "
            "classes 1 to 30: only class 31 is thinned out. Take fewer rows of what is returned."
        )
    return np.random.default_rng(seed).choice(spare, n_out, replace=False)


def _block(files: Sequence[_Videos], wanted: NDArray[np.int64]) -> tuple[sp.csr_array, list[str]]:
    """Return the rows of some videos, empty where there is none, and names of the columns."""
    features = np.unique(np.concatenate([file.rows.indices() for file in files]))
    empty = sp.csr_array((1, len(features)))
    X = sp.vstack([*(file.rows.matrix(features) for file in files), empty], format="csr")
    numbers = np.concatenate([file.numbers for file in files])
    order = np.argsort(numbers)
    places = np.searchsorted(numbers, wanted, sorter=order)
    rows = order.take(places, mode="clip")
    rows[numbers[rows] != wanted] = len(numbers)
    return X[rows], [str(feature) for feature in features]
