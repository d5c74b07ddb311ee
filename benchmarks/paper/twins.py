"""Twins of the paper's four sets: their shape, not their data.

Rows have classes and Zipf frequencies, so that caches and clusters behave as with text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.datasets.planted import PlantedChunk
from omvfs.parameters import whole

TwinName = Literal["reuters", "youtube", "cnn", "fox"]


@dataclass(frozen=True)
class _Shape:
    """Rows and classes of a set, and per view its features and the words drawn for a row."""

    n_rows: int
    n_features: tuple[int, ...]
    n_words: tuple[int, ...]
    n_classes: int


# Rows, features and classes are those of the paper's table; it does not tell the nonzeros. The text
# of cnn and fox is given as many words as leave the nonzeros of that kind of news, about 150; its
# 996 image features are dense in the originals, and here as dense as words make them.
_SHAPES = {
    "reuters": _Shape(111_740, (21_531, 24_893), (80, 80), 6),
    "youtube": _Shape(95_343, (94_012, 2_000), (15, 200), 31),
    "cnn": _Shape(2_107, (996, 35_719), (2_000, 210), 7),
    "fox": _Shape(1_523, (996, 27_072), (2_000, 210), 4),
}


@dataclass(frozen=True)
class Twin:
    """A data set in the shape of one of the paper's sets.

    Attributes
    ----------
    name : str
        Such as ``reuters-twin``.
    description : str
        What it is, and that it is not the set itself.
    views : dict of str to csr_array
        Sparse rows of unit norm, per view.
    labels : int array
        Class of every row.
    n_classes : int
        Number of classes.
    """

    name: str
    description: str
    views: dict[str, sp.csr_array]
    labels: NDArray[np.int64]
    n_classes: int

    def chunks(self, batch_size: int) -> Iterator[PlantedChunk]:
        """Yield the rows in order, `batch_size` at a time; the last chunk may be smaller."""
        rows = PlantedChunk(0, self.views, self.labels)
        for start in range(0, len(self.labels), batch_size):
            yield rows.part(start, start + batch_size)


def make_twin(
    name: TwinName,
    n_samples: int | None = None,
    *,
    random_state: int = 0,
    n_features: Sequence[int] | None = None,
    n_words: Sequence[int] | None = None,
    n_classes: int | None = None,
) -> Twin:
    """Draw a twin: rows, features and classes of one of the paper's sets, none of its data.

    The classes are equally likely. A row draws about `n_words` words of a view, Zipf by rank, and
    half of them are moved to the nearest word of its own class, which has every K-th word. Words
    that are drawn more than once make one larger value, so that a row has fewer nonzeros than
    words. Rows are scaled to unit norm. Which words a class has does not depend on the seed: twins
    of different seeds are rows of the same stream.

    Parameters
    ----------
    name : {"reuters", "youtube", "cnn", "fox"}
        Whose shape.
    n_samples : int, optional
        Rows; by default as many as the set has. Fewer are not the first rows of more.
    random_state : int
        Seed. The same arguments and seed give the same bits.
    n_features, n_words : sequence of int, optional
        Features, and words drawn for a row on average, of each view, instead of the set's. Of other
        lengths than the set's number of views, both are needed.
    n_classes : int, optional
        Instead of the set's.

    Returns
    -------
    Twin
        Views, labels, and what it is.

    See Also
    --------
    make_planted : Rows of which it is known which features tell the classes apart.

    Examples
    --------
    >>> twin = make_twin("reuters", 500)
    >>> twin.name
    'reuters-twin'
    >>> {name: X.shape for name, X in twin.views.items()}
    {'view_0': (500, 21531), 'view_1': (500, 24893)}
    >>> len(set(twin.labels.tolist()))
    6
    >>> print(twin.description)
    500 rows, 21,531 + 24,893 features, 6 classes: a twin of the paper's reuters set, drawn at
    random; it has the shape of that set, not its data.
    """
    if name not in _SHAPES:
        raise ValueError(f"Got name={name!r}; expected one of {get_args(TwinName)}.")
    shape = _SHAPES[name]
    n = shape.n_rows if n_samples is None else n_samples
    K = shape.n_classes if n_classes is None else n_classes
    widths = tuple(n_features or shape.n_features)
    words = tuple(n_words or shape.n_words)
    if len(widths) != len(words):
        raise ValueError(
            f"Got {len(widths)} views in n_features={widths} and {len(words)} in n_words={words}; "
            "pass both, of the same length."
        )
    whole("n_samples", n, least=1)
    whole("n_classes", K, least=1)
    for what, values in (("n_features", widths), ("n_words", words)):
        whole(what, min(values), least=1)
    rng = np.random.default_rng(random_state)
    labels = rng.integers(K, size=n)
    views = {
        f"view_{v}": _block(rng, labels, K, width, length)
        for v, (width, length) in enumerate(zip(widths, words, strict=True))
    }
    features = " + ".join(f"{width:,}" for width in widths)
    same = (widths, K) == (shape.n_features, shape.n_classes)
    description = (
        f"{n:,} rows, {features} features, {K} classes: a twin of the paper's {name} set, drawn at "
        f"random; it has {'the shape of that set' if same else 'another shape'}, not its data."
    )
    return Twin(f"{name}-twin", description, views, labels, K)


def _block(
    rng: np.random.Generator, labels: NDArray[np.int64], n_classes: int, width: int, length: int
) -> sp.csr_array:
    """Return rows of about `length` words, half of them from the words of their class."""
    n = len(labels)
    counts = np.maximum(1, rng.poisson(length, n))
    rows = np.repeat(np.arange(n), counts)
    # Zipf by inversion: the rank is exp(u log width).
    ranks = np.minimum(np.exp(rng.random(len(rows)) * np.log(width)), width).astype(np.int64) - 1
    own = rng.random(len(rows)) < 0.5
    inside = ranks // n_classes * n_classes + labels[rows]
    columns = np.where(own, np.minimum(inside, width - 1), ranks)
    X = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, width))
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    norms = np.sqrt(np.bincount(np.repeat(np.arange(n), np.diff(X.indptr)), X.data**2, n))
    X.data /= np.repeat(np.maximum(norms, 1e-12), np.diff(X.indptr))
    return X
