"""CNN and FOX web news: articles as text and image, in MATLAB files."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from omvfs.data.blocks import Block
from omvfs.data.views import Views
from omvfs.datasets._downloads import Hashes, Needed, PathLike, provide
from omvfs.datasets._fetched import Fetched, described
from omvfs.formats import SourceError
from omvfs.formats.matlab import MatSource

_TEXT, _IMAGE, _LABELS = "TFIDF_Normalized", "imageFeatureNormalizedMat", "labelMat"


def _needed(name: str) -> Needed:
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


FOX, CNN = _needed("FOX"), _needed("CNN")
_FOX_CLASSES = ("health", "science_technology", "sports", "travel")
_CNN_CLASSES = ("crime", "entertainment", "health", "living", "politics", "technology", "travel")


def fetch_fox(
    *,
    data_home: PathLike | None = None,
    download_if_missing: bool = True,
    base_url: str | None = None,
    known_hash: Hashes = None,
) -> Fetched:
    """Load FOX web news: 1,523 articles in 4 classes, views ``text`` and ``image``.

    Text is TF-IDF of stems, rows of unit norm. The image has features of colour and texture, scaled
    around 0.5, a few of them negative. Rows are sorted by class: shuffle them before streaming.

    Parameters
    ----------
    data_home : path, default=None
        Folder that keeps the data sets, this one in ``fox``; see `get_data_home`.
    download_if_missing : bool, default=True
        If False, what is not on this disk is an error.
    base_url : str, default=None
        Address of a folder that has the files. There is no default: the page of the set may be
        gone. Without an address, and without the files, the error says what to put where.
    known_hash : dict of str to str, default=None
        Hashes by file, ``sha256:...`` or ``md5:...``. None are published: without them, the first
        files seen are trusted, their hashes are kept beside them, and later uses are held against
        those.

    Returns
    -------
    Fetched
        ``.views``, ``.labels``, ``.target_names``, ``.DESCR``.

    Notes
    -----
    Cite M. Qian, C. Zhai, Unsupervised feature selection for multi-view clustering on text-image
    web news data, CIKM 2014.

    See Also
    --------
    fetch_cnn : Its sibling.

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
    text, image, labels = provide(
        FOX,
        data_home,
        download_if_missing=download_if_missing,
        base_url=base_url,
        known_hash=known_hash,
    )
    about = "FOX web news (Qian and Zhai, 2014): articles in four classes, as text and image."
    paper = 1_523, {"text": 27_072, "image": 996}
    return _read("fox", text, image, labels, _FOX_CLASSES, about, paper)


def fetch_cnn(
    *,
    data_home: PathLike | None = None,
    download_if_missing: bool = True,
    base_url: str | None = None,
    known_hash: Hashes = None,
) -> Fetched:
    """Load CNN web news: 2,107 articles in 7 classes, views ``text`` and ``image``.

    All is as with `fetch_fox`, but the folder, ``cnn``, and the names of the files.

    Parameters
    ----------
    data_home, download_if_missing, base_url, known_hash
        See `fetch_fox`.

    Returns
    -------
    Fetched
        ``.views``, ``.labels``, ``.target_names``, ``.DESCR``.

    Examples
    --------
    >>> fetch_cnn(data_home="nowhere")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no CNN_TFIDF_Normalized.mat, ...
    """
    text, image, labels = provide(
        CNN,
        data_home,
        download_if_missing=download_if_missing,
        base_url=base_url,
        known_hash=known_hash,
    )
    about = "CNN web news (Qian and Zhai, 2014): articles in seven classes, as text and image."
    paper = 2_107, {"text": 35_719, "image": 996}
    return _read("cnn", text, image, labels, _CNN_CLASSES, about, paper)


def _read(
    name: str,
    text: Path,
    image: Path,
    labels: Path,
    classes: tuple[str, ...],
    about: str,
    paper: tuple[int, dict[str, int]],
) -> Fetched:
    member = sp.csr_array(_matrix(labels, _LABELS))
    if member.shape[1] != len(classes):
        raise SourceError(
            f"{_LABELS} of {labels} has {member.shape[1]} columns; expected {len(classes)}, one a "
            f"class: {', '.join(classes)}."
        )
    member.eliminate_zeros()
    per_row = np.diff(member.indptr)
    if (per_row != 1).any():
        row = int(np.argmax(per_row != 1))
        raise SourceError(
            f"Row {row + 1:,} of {_LABELS} in {labels} has {per_row[row]} classes; expected one."
        )
    blocks = {}
    for view, path, variable in (("text", text, _TEXT), ("image", image, _IMAGE)):
        X = _matrix(path, variable)
        if X.shape[1] != member.shape[0]:
            raise SourceError(
                f"{variable} of {path} has shape {X.shape}; expected {member.shape[0]:,} columns, "
                f"an article each, as {labels.name} has rows. Transpose it, or take the files "
                "from one place."
            )
        blocks[view] = X.T
    data = Views(blocks)
    return Fetched(
        name, data, member.indices.astype(np.intp), classes, described(about, data, paper)
    )


def _matrix(path: Path, variable: str) -> Block:
    """Return a variable of a MATLAB file."""
    with MatSource(path, [variable]) as source:
        return source.read(0, source.n_rows)[variable]
