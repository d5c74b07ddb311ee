"""The paper's four data sets in their original formats.

Files are downloaded once, by pooch, and read where they are: nothing is unpacked.
"""

import gzip
import os
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Literal, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.views import Views
from omvfs.formats import ReadOptions, SourceError
from omvfs.formats.matlab import MatSource
from omvfs.formats.text_files import read_lines
from omvfs.model.arrays import Block
from omvfs.parameters import one_of, whole

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Fetched:
    """A published data set in memory.

    Attributes
    ----------
    name : str
        Such as ``reuters``.
    views : Views
        Blocks by name, rows aligned; names of features where the set has any.
    labels : int array of shape (n_rows,)
        Class of every row, as a place in `target_names`.
    target_names : tuple of str
        Names of the classes.
    DESCR : str
        What the set is.
    """

    name: str
    views: Views
    labels: NDArray[np.intp]
    target_names: tuple[str, ...]
    DESCR: str  # as scikit-learn calls it

    @property
    def n_classes(self) -> int:
        """Number of classes, with rows or without."""
        return len(self.target_names)


@dataclass(frozen=True)
class Needed:
    """The files of a published set.

    Attributes
    ----------
    folder : str
        Folder of the set within the data home.
    files : dict of str to str
        What each file holds, by its name, for those who have to put it there themselves.
    base_url : str or None
        Address of the folder that has the files; None where none is known to last.
    page : str
        Page that describes the set.
    """

    folder: str
    files: Mapping[str, str]
    base_url: str | None
    page: str

    def paths(self, data_home: PathLike | None) -> list[Path]:
        """Return where the files are, or should be."""
        return [get_data_home(data_home) / self.folder / name for name in self.files]


def get_data_home(data_home: PathLike | None = None) -> Path:
    """Return the folder that keeps the sets that were fetched; it need not exist.

    Parameters
    ----------
    data_home : path, default=None
        The folder itself; by default what the environment variable ``OMVFS_DATA`` names, else
        ``omvfs_data`` in the home of the user.

    Examples
    --------
    >>> get_data_home("data").as_posix()
    'data'
    """
    given = os.environ.get("OMVFS_DATA") or "~/omvfs_data" if data_home is None else data_home
    return Path(given).expanduser()


def _provide(
    needed: Needed,
    data_home: PathLike | None,
    download_if_missing: bool,
    base_url: str | None,
    known_hash: Mapping[str, str] | None,
) -> list[Path]:
    """Return the files of a set; those that are missing are downloaded."""
    hashes, address = dict(known_hash or {}), base_url or needed.base_url
    if unknown := sorted(set(hashes) - set(needed.files)):
        raise ValueError(f"Got known_hash of {unknown}; the files are {list(needed.files)}.")
    paths = needed.paths(data_home)
    missing = [path for path in paths if not path.is_file()]
    if not missing:
        return paths
    places = "".join(f"\n  {path}: {needed.files[path.name]}" for path in missing)
    by_hand = f"To do it by hand (see {needed.page}), put there:{places}\n"
    if address is None or not download_if_missing:
        why = "download_if_missing is False" if address else "no lasting address is known"
        raise FileNotFoundError(
            f"There is no {', '.join(path.name for path in missing)} at {missing[0].parent}, and "
            f"{why}. {by_hand}Or pass base_url=, the address of a folder that has the files, and "
            "download_if_missing=True."
        )
    try:
        import pooch
    except ImportError as error:
        raise ImportError("Downloading data sets needs: pip install pooch.") from error
    for path in missing:
        url = f"{address.rstrip('/')}/{path.name}"
        try:
            pooch.retrieve(url, hashes.get(path.name), fname=path.name, path=path.parent)
        except OSError as error:
            raise OSError(f"{url} could not be fetched: {error}. {by_hand}") from error
    return paths


def _described(about: str, views: Views) -> str:
    widths = ", ".join(f"{name} {width:,}" for name, width in views.widths.items())
    return f"{about} {len(views):,} rows; {widths} features."


def _chosen(views: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    views = tuple(views)
    if not views or len(set(views)) < len(views) or not set(views) <= set(known):
        raise ValueError(f"Got views={views}; expected some of {tuple(known)}, each once.")
    return views


@contextmanager
def _reading(archive: Path) -> Iterator[None]:
    """Say which archive is damaged."""
    try:
        yield
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise SourceError(
            f"{archive} is damaged or cut off: {error}. Delete it to fetch it again."
        ) from error


def _text_files(
    archive: Path, wanted: Collection[str]
) -> Iterator[tuple[str, str, Iterator[bytes]]]:
    """Yield files of a tar archive by the ends of their paths: the end, for errors, and lines."""
    left = dict.fromkeys(wanted)

    def lines(opened: IO[bytes], where: str) -> Iterator[bytes]:
        with _reading(archive):
            yield from (line for line, _ in read_lines(opened, where))

    with _reading(archive), tarfile.open(archive) as tar:
        for member in tar:
            name = "/".join(PurePosixPath(member.name).parts[-2:])
            if name in left and member.isfile():
                del left[name]
                where = f"{name} in {archive}"
                opened = cast(IO[bytes], tar.extractfile(member))
                if name.endswith(".gz"):
                    opened = cast(IO[bytes], gzip.GzipFile(fileobj=opened))
                yield name, where, lines(opened, where)
            if not left:
                return
    raise SourceError(f"{archive} has no {', '.join(left)}. Delete it to fetch it again.")


class _SparseRows:
    """Lines ``label index:value index:value ...`` of a file, and the sparse matrix they make."""

    def __init__(self, where: str, lines: Iterator[bytes], classes: tuple[str, ...]) -> None:
        self.where, self.labels = where, list[int]()
        known = {label.encode(): place for place, label in enumerate(classes)}
        ends, indices, values = [0], [np.empty(0, np.int64)], [np.empty(0)]
        for line in lines:
            label, *parts = line.replace(b":", b" ").split()
            try:
                self.labels.append(known[label])
                indices.append(np.array(list(map(int, parts[::2])), np.int64))
                values.append(np.array(list(map(float, parts[1::2]))))
                sound = len(parts) == 2 * line.count(b":") and np.isfinite(values[-1]).all()
            except (KeyError, ValueError, OverflowError):
                sound = False
            if not sound:
                raise SourceError(
                    f"Row {len(ends):,} of {where} is {line[:40]!r}; expected 'label index:value "
                    f"index:value ...' with a label of {', '.join(classes)}. Fetch it again."
                )
            ends.append(ends[-1] + len(indices[-1]))
        if not self.labels:
            raise SourceError(f"{where} has no rows. Fetch it again.")
        self.indices, self._values = np.concatenate(indices), np.concatenate(values)
        self._ends = np.array(ends)

    def matrix(self, features: NDArray[np.int64]) -> sp.csr_array:
        """Return the rows, with a column for each of some indices, ascending."""
        columns = np.searchsorted(features, self.indices)
        if (features.take(columns, mode="clip") != self.indices).any():
            raise SourceError(
                f"{self.where} has indices from {self.indices.min():,} to {self.indices.max():,}; "
                f"expected {features[0]:,} to {features[-1]:,}. Fetch it again."
            )
        shape = len(self.labels), len(features)
        X = sp.csr_array((self._values, columns.astype(np.int32), self._ends), shape=shape)
        X.sort_indices()
        if not X.has_canonical_format:
            raise SourceError(f"{self.where} has an index twice in a row. Fetch it again.")
        return X


REUTERS = Needed(
    folder="reuters",
    files={"rcv1rcv2aminigoutte.tar.bz2": "the archive, 166 MB: EN/Index_EN-EN, ..."},
    base_url="https://archive.ics.uci.edu/ml/machine-learning-databases/00259",
    page="https://archive.ics.uci.edu/dataset/259",
)
_TOPICS = ("C15", "CCAT", "E21", "ECAT", "GCAT", "M11")
# By language: its sign in names of files, and the words of its vocabulary.
_LANGUAGES = {
    "english": ("EN", 21_531),
    "french": ("FR", 24_893),
    "german": ("GR", 34_279),
    "italian": ("IT", 15_506),
    "spanish": ("SP", 11_547),
}


def fetch_reuters_multilingual(
    *,
    views: Sequence[str] = ("english", "french"),
    data_home: PathLike | None = None,
    download_if_missing: bool = True,
    base_url: str | None = None,
    known_hash: Mapping[str, str] | None = None,
) -> Fetched:
    """Load the Reuters RCV1/RCV2 multilingual collection (UCI 259), a view a language.

    The 111,740 documents are those written in English, then those in French, German, Italian and
    Spanish, in the order of the files. Each has a view in every language: the original, or its
    translation by machine. Values are TF-IDF weights; those of very frequent words are negative.

    Parameters
    ----------
    views : sequence of {"english", "french", "german", "italian", "spanish"}
        Languages to read; the paper has English and French.
    data_home : path, default=None
        Folder that keeps the data sets, this one in ``reuters``; see `get_data_home`.
    download_if_missing : bool, default=True
        If False, what is not on this disk is an error, which says which file to put where.
    base_url : str, default=None
        Address of a folder that has the files, instead of the UCI repository's.
    known_hash : dict of str to str, default=None
        Hashes by name of file, ``sha256:...`` or ``md5:...``, which downloads must have. None are
        published.

    Returns
    -------
    Fetched
        ``.views``, ``.labels``, ``.target_names``, ``.DESCR``.

    Notes
    -----
    The archive is read where it is, at every call. The collection is for research only; cite
    M. Amini, N. Usunier, C. Goutte, Learning from multiple partially observed views, NIPS 2009.

    Examples
    --------
    >>> fetch_reuters_multilingual(
    ...     data_home="nowhere", download_if_missing=False
    ... )  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no rcv1rcv2aminigoutte.tar.bz2 at ...
    """
    views = _chosen(views, _LANGUAGES)
    (archive,) = _provide(REUTERS, data_home, download_if_missing, base_url, known_hash)
    signs = [sign for sign, _ in _LANGUAGES.values()]
    # By view, a file for the documents written in each language.
    names = {
        view: [f"{_LANGUAGES[view][0]}/Index_{sign}-{_LANGUAGES[view][0]}" for sign in signs]
        for view in views
    }
    wanted = [name for several in names.values() for name in several]
    read = {
        name: _SparseRows(where, lines, _TOPICS)
        for name, where, lines in _text_files(archive, wanted)
    }
    for written, *translated in zip(*names.values(), strict=True):
        for other in translated:
            if read[written].labels != read[other].labels:
                raise SourceError(
                    f"{written} and {other} in {archive} have other documents: their numbers or "
                    "their classes differ. Delete it to fetch it again."
                )
    labels = np.concatenate([read[name].labels for name in names[views[0]]]).astype(np.intp)
    blocks = {}
    for view in views:
        words = np.arange(1, _LANGUAGES[view][1] + 1)
        blocks[view] = sp.vstack([read.pop(name).matrix(words) for name in names[view]], "csr")
    data = Views(blocks)
    about = "Reuters RCV1/RCV2 Multilingual (UCI 259): news in six classes, a view a language."
    return Fetched("reuters", data, labels, _TOPICS, _described(about, data))


YOUTUBE = Needed(
    folder="youtube",
    files={"dir_data.tar": "the archive, 3 GB: train/text_tag_unigrams.txt.gz, ..."},
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
# The last is none of the thirty games.
_GAMES = tuple(str(label) for label in range(1, 32))


def fetch_youtube_games(
    *,
    views: Sequence[str] = ("text_tag_unigrams", "audio_mfcc"),
    n_samples: int | None = 95_343,
    missing: Literal["drop", "empty"] = "drop",
    random_state: int = 0,
    data_home: PathLike | None = None,
    download_if_missing: bool = True,
    base_url: str | None = None,
    known_hash: Mapping[str, str] | None = None,
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
    data_home, download_if_missing, base_url, known_hash
        See `fetch_reuters_multilingual`; this set is in ``youtube``.

    Returns
    -------
    Fetched
        ``.views``, ``.labels``, ``.target_names`` (``"1"`` to ``"31"``), ``.DESCR``.

    Notes
    -----
    Cite O. Madani, M. Georg, D. A. Ross, On using nearly-independent feature families for high
    precision and confidence, Machine Learning 92 (2013).
    """
    views = _chosen(views, _FAMILIES)
    one_of("missing", missing, ("drop", "empty"))
    (archive,) = _provide(YOUTUBE, data_home, download_if_missing, base_url, known_hash)
    files = {f"{part}/{view}.txt.gz": view for view in views for part in _PARTS}
    videos: dict[str, list[_Videos]] = {view: [] for view in views}
    for name, where, lines in _text_files(archive, files):
        videos[files[name]].append(_Videos(where, lines))
    read = [file for files_of_view in videos.values() for file in files_of_view]
    given = np.concatenate([file.labels for file in read]).astype(np.intp)
    numbers, first, places = np.unique(
        np.concatenate([file.numbers for file in read]), return_index=True, return_inverse=True
    )
    labels = given[first]
    if (labels[places] != given).any():
        number = numbers[places[np.argmax(labels[places] != given)]]
        raise SourceError(f"Video {number:,} of {archive} has two classes. Fetch it again.")
    kept = np.ones(len(numbers), dtype=bool)
    if missing == "drop":
        for several in videos.values():
            kept &= np.isin(numbers, np.concatenate([file.numbers for file in several]))
        if not kept.any():
            raise SourceError(f"No video of {archive} has all of {views}. Pass missing='empty'.")
    if n_samples is not None:
        others = np.flatnonzero(kept & (labels == len(_GAMES) - 1))
        too_many = max(0, int(kept.sum()) - whole("n_samples", n_samples, least=1))
        if too_many > len(others):
            raise ValueError(
                f"Got n_samples={n_samples:,}; expected at least {kept.sum() - len(others):,}, the "
                "rows of classes 1 to 30: only class 31 is thinned out."
            )
        drawn = np.random.default_rng(random_state).choice(others, too_many, replace=False)
        kept[drawn] = False
    blocks, names = {}, {}
    for view in views:
        blocks[view], names[view] = _block(videos.pop(view), numbers[kept])
    data = Views(blocks, feature_names=names)
    about = "YouTube Multiview Video Games (UCI 269): videos of thirty games, and of others."
    return Fetched("youtube", data, labels[kept], _GAMES, _described(about, data))


class _Videos(_SparseRows):
    """The rows of a file, and the numbers of their videos: a line ``#I 312`` before each."""

    def __init__(self, where: str, lines: Iterator[bytes]) -> None:
        numbers: list[bytes] = []

        def rows() -> Iterator[bytes]:
            for n_rows, line in enumerate(line for line in lines if not self._is_number(line)):
                if len(numbers) != n_rows + 1:
                    raise self._misnumbered()
                yield line

        self.where, self._numbers = where, numbers
        super().__init__(where, rows(), _GAMES)
        try:
            self.numbers = np.array(list(map(int, numbers)), np.int64)
        except (ValueError, OverflowError) as error:
            raise self._misnumbered() from error
        if len(np.unique(self.numbers)) != len(self.labels):
            raise self._misnumbered()

    def _is_number(self, line: bytes) -> bool:
        if line.startswith(b"#I"):
            self._numbers.append(line[2:])
        return line.startswith(b"#")

    def _misnumbered(self) -> SourceError:
        return SourceError(
            f"{self.where} is damaged near {self._numbers[-1:]}; expected a line '#I <number>' "
            "before every video, each with another number. Fetch the archive again."
        )


def _block(files: Sequence[_Videos], wanted: NDArray[np.int64]) -> tuple[sp.csr_array, list[str]]:
    """Return the rows of some videos, empty where there is none, and names of the columns."""
    features = np.unique(np.concatenate([file.indices for file in files]))
    empty = sp.csr_array((1, len(features)))
    X = sp.vstack([*(file.matrix(features) for file in files), empty], format="csr")
    numbers = np.concatenate([file.numbers for file in files])
    order = np.argsort(numbers)
    rows = order.take(np.searchsorted(numbers, wanted, sorter=order), mode="clip")
    rows[numbers[rows] != wanted] = len(numbers)
    return X[rows], [str(feature) for feature in features]


_TEXT, _IMAGE, _LABELS = "TFIDF_Normalized", "imageFeatureNormalizedMat", "labelMat"


def _news(name: str) -> Needed:
    return Needed(
        folder=name.lower(),
        files={
            f"{name}_TFIDF_Normalized.mat": f"{_TEXT}, words x articles, sparse",
            f"{name}_ImageFeatureNormalizedMat.mat": f"{_IMAGE}, 996 features x articles",
            f"{name}_LabelMat.mat": f"{_LABELS}, articles x classes, a 1 in each row",
        },
        base_url=None,
        page="https://sites.google.com/site/qianmingjie/home/datasets",
    )


FOX, CNN = _news("FOX"), _news("CNN")


def fetch_fox(
    *,
    data_home: PathLike | None = None,
    download_if_missing: bool = True,
    base_url: str | None = None,
    known_hash: Mapping[str, str] | None = None,
) -> Fetched:
    """Load FOX web news: 1,523 articles in 4 classes, views ``text`` and ``image``.

    Text is TF-IDF of stems, rows of unit norm. The image has features of colour and texture, scaled
    around 0.5, a few of them negative. Rows are sorted by class: shuffle them before streaming.

    Parameters
    ----------
    data_home, download_if_missing, base_url, known_hash
        See `fetch_reuters_multilingual`; this set is in ``fox``. There is no default address: the
        page of the set may be gone. Without the files the error says what to put where.

    Returns
    -------
    Fetched
        ``.views``, ``.labels``, ``.target_names``, ``.DESCR``.

    Notes
    -----
    Cite M. Qian, C. Zhai, Unsupervised feature selection for multi-view clustering on text-image
    web news data, CIKM 2014.

    Examples
    --------
    Files of the same form, with two words, three features and four articles:

    >>> import tempfile
    >>> from scipy.io import savemat
    >>> home = Path(tempfile.mkdtemp())
    >>> (home / "fox").mkdir()
    >>> start = str(home / "fox" / "FOX_")
    >>> words = sp.csc_array([[1.0, 0, 0.6, 0], [0, 1, 0.8, 1]])
    >>> savemat(start + "TFIDF_Normalized.mat", {"TFIDF_Normalized": words})
    >>> image = {"imageFeatureNormalizedMat": np.ones((3, 4))}
    >>> savemat(start + "ImageFeatureNormalizedMat.mat", image)
    >>> savemat(start + "LabelMat.mat", {"labelMat": sp.eye_array(4)})
    >>> data = fetch_fox(data_home=home)
    >>> data.views
    Views(4 rows; text: 2 sparse, image: 3; float64)
    >>> data.target_names[data.labels[2]]
    'sports'
    """
    paths = _provide(FOX, data_home, download_if_missing, base_url, known_hash)
    classes = "health", "science_technology", "sports", "travel"
    return _read_news("fox", paths, classes)


def fetch_cnn(
    *,
    data_home: PathLike | None = None,
    download_if_missing: bool = True,
    base_url: str | None = None,
    known_hash: Mapping[str, str] | None = None,
) -> Fetched:
    """Load CNN web news: 2,107 articles in 7 classes, views ``text`` and ``image``.

    Parameters
    ----------
    data_home, download_if_missing, base_url, known_hash
        As for `fetch_fox`; this set is in ``cnn``.

    Returns
    -------
    Fetched
        ``.views``, ``.labels``, ``.target_names``, ``.DESCR``.
    """
    paths = _provide(CNN, data_home, download_if_missing, base_url, known_hash)
    classes = "crime", "entertainment", "health", "living", "politics", "technology", "travel"
    return _read_news("cnn", paths, classes)


def _read_news(name: str, paths: list[Path], classes: tuple[str, ...]) -> Fetched:
    text, image, labels = map(_matrix, paths, (_TEXT, _IMAGE, _LABELS))
    member = sp.csr_array(labels)
    member.eliminate_zeros()
    if member.shape[1] != len(classes) or (np.diff(member.indptr) != 1).any():
        raise SourceError(
            f"{_LABELS} of {paths[2]} has shape {member.shape}, up to "
            f"{np.diff(member.indptr).max()} classes a row; expected one of {', '.join(classes)}."
        )
    for path, X in zip(paths, (text, image), strict=False):
        if X.shape[1] != member.shape[0]:
            raise SourceError(
                f"{path} has a matrix of shape {X.shape}; expected {member.shape[0]:,} columns, an "
                f"article each, as {paths[2].name} has rows. Take the files from one place."
            )
    data = Views({"text": text.T, "image": image.T})
    about = f"{name.upper()} web news (Qian and Zhai, 2014): articles as text and image."
    return Fetched(name, data, member.indices.astype(np.intp), classes, _described(about, data))


def _matrix(path: Path, variable: str) -> Block:
    """Return a variable of a MATLAB file."""
    with MatSource(path, ReadOptions(views=(variable,))) as source:
        if variable not in source.schema.names:
            raise SourceError(f"{path} has no matrix of numbers {variable!r}.")
        return source.read(0, source.n_rows)[variable]


# The paper's sets by their short names.
PUBLISHED: dict[str, tuple[Needed, Callable[..., Fetched]]] = {
    "fox": (FOX, fetch_fox),
    "cnn": (CNN, fetch_cnn),
    "reuters": (REUTERS, fetch_reuters_multilingual),
    "youtube": (YOUTUBE, fetch_youtube_games),
}


def is_fetched(name: str, data_home: PathLike | None = None) -> bool:
    """Tell whether the files of one of the paper's sets are on this disk; of no other set they are.

    Examples
    --------
    >>> is_fetched("reuters", "nowhere"), is_fetched("iris")
    (False, False)
    """
    return name in PUBLISHED and all(p.is_file() for p in PUBLISHED[name][0].paths(data_home))
