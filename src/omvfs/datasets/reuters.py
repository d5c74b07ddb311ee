"""Reuters RCV1/RCV2 Multilingual: news in five languages, each translated into the other four."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from omvfs.data.views import Views
from omvfs.datasets._archives import text_files
from omvfs.datasets._downloads import Hashes, Needed, PathLike, provide
from omvfs.datasets._fetched import Fetched, chosen_views, described
from omvfs.datasets._sparse_lines import SparseLines
from omvfs.formats import SourceError

_ARCHIVE = "rcv1rcv2aminigoutte.tar.bz2"
REUTERS = Needed(
    folder="reuters",
    files={_ARCHIVE: "the archive as it is, 166 MB: EN/Index_EN-EN, EN/Index_FR-EN, ..."},
    base_url="https://archive.ics.uci.edu/ml/machine-learning-databases/00259",
    page="https://archive.ics.uci.edu/dataset/259",
)
_CLASSES = ("C15", "CCAT", "E21", "ECAT", "GCAT", "M11")
# By language: its folder, which is its sign in names of files, and the words of its vocabulary.
_LANGUAGES = {
    "english": ("EN", 21_531),
    "french": ("FR", 24_893),
    "german": ("GR", 34_279),
    "italian": ("IT", 15_506),
    "spanish": ("SP", 11_547),
}
_N_ROWS = 111_740


def fetch_reuters_multilingual(
    *,
    views: Sequence[str] = ("english", "french"),
    data_home: PathLike | None = None,
    download_if_missing: bool = True,
    base_url: str | None = None,
    known_hash: Hashes = None,
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
        If False, what is not on this disk is an error.
    base_url : str, default=None
        Address of a folder that has the archive, instead of the UCI repository's.
    known_hash : str, default=None
        Hash of the archive, ``sha256:...`` or ``md5:...``. None is published: without it, the first
        archive seen is trusted, its hash is kept beside it, and later uses are held against that.

    Returns
    -------
    Fetched
        ``.views``, ``.labels``, ``.target_names``, ``.DESCR``.

    Notes
    -----
    The archive is read where it is, at every call. Downloading needs ``pip install
    omvfs[datasets]``. The collection is for research only; cite M. Amini, N. Usunier, C. Goutte,
    Learning from multiple partially observed views, NIPS 2009.

    Examples
    --------
    >>> fetch_reuters_multilingual(
    ...     data_home="nowhere", download_if_missing=False
    ... )  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no rcv1rcv2aminigoutte.tar.bz2 at ...
    """
    views = chosen_views(views, tuple(_LANGUAGES))
    (archive,) = provide(
        REUTERS,
        data_home,
        download_if_missing=download_if_missing,
        base_url=base_url,
        known_hash=known_hash,
    )
    signs = [sign for sign, _ in _LANGUAGES.values()]
    names = {view: [_file(sign, _LANGUAGES[view][0]) for sign in signs] for view in views}
    read: dict[str, SparseLines] = {}
    wanted = [name for several in names.values() for name in several]
    for name, where, lines in text_files(archive, wanted):
        read[name] = SparseLines(where, _CLASSES)
        for line in lines:
            read[name].add(line)
    for written, *translated in zip(*names.values(), strict=True):
        for other in translated:
            _check_same(written, read[written], other, read[other])
    blocks, labels = {}, [label for name in names[views[0]] for label in read[name].labels]
    for view in views:
        words = np.arange(1, _LANGUAGES[view][1] + 1)
        parts = [read.pop(name).matrix(words) for name in names[view]]
        blocks[view] = sp.vstack(parts, format="csr")
    data = Views(blocks)
    paper = _N_ROWS, {view: width for view, (_, width) in _LANGUAGES.items()}
    about = "Reuters RCV1/RCV2 Multilingual (UCI 259): news in six classes, a view a language."
    return Fetched(
        "reuters", data, np.array(labels, np.intp), _CLASSES, described(about, data, paper)
    )


def _file(written: str, language: str) -> str:
    """Return the file of documents written in one language, as they are in another."""
    return f"{language}/Index_{written}-{language}"


def _check_same(name: str, rows: SparseLines, other_name: str, other: SparseLines) -> None:
    """Refuse two files that cannot be of the same documents."""
    if len(rows) != len(other):
        raise SourceError(
            f"{name} has {len(rows):,} documents, {other_name} {len(other):,}; expected the same "
            "ones in both. Fetch the archive again."
        )
    if rows.labels != other.labels:
        row = next(i for i, label in enumerate(rows.labels) if label != other.labels[i])
        raise SourceError(
            f"Document {row + 1:,} is {_CLASSES[rows.labels[row]]} in {name}, "
            f"{_CLASSES[other.labels[row]]} in {other_name}; expected the same documents in both. "
            "Fetch the archive again."
        )
