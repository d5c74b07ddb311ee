"""Planted multi-view word counts: which features tell the classes apart is known.

Every view has one long-tailed law of word frequencies. The informative features are drawn from all
frequency ranks, and a class only shifts mass *between* informative features, so that over all rows
each feature keeps exactly its base frequency. Column sums say nothing about which features are
informative. Variances say little: a word that gathers in one class varies slightly more than an
even one of the same frequency, the more so the longer the rows and the fewer the features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from omvfs.data.views import Views
from omvfs.parameters import number, whole

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
_T = TypeVar("_T", int, float)

# What the classes are about, for names of features.
_TOPICS = "sport", "music", "food", "travel", "film", "health", "money", "science", "nature", "law"

# Rows are drawn in blocks of this size whatever the batch size is, so that the batch size never
# changes a bit of the data and a shorter stream is the beginning of a longer one.
_BLOCK_ROWS = 2048
# The larger, the less frequent are the most frequent words.
_OFFSET = 0.17


@dataclass(frozen=True)
class Segment:
    """A stretch of rows over which the classes keep their vocabulary."""

    # First row, and one past the last.
    start: int
    stop: int
    # Per view, the class each feature belongs to, -1 for noise.
    feature_class: dict[str, IntArray]

    @property
    def informative(self) -> dict[str, BoolArray]:
        """Which features are informative, per view."""
        return {view: classes >= 0 for view, classes in self.feature_class.items()}


@dataclass(frozen=True)
class PlantedChunk:
    """Consecutive rows of a planted stream.

    Attributes
    ----------
    start : int
        Number of the first row in the stream.
    views : dict of str to csr_array
        Word counts per view.
    labels : int array
        Class of every row.
    """

    start: int
    views: dict[str, sp.csr_array]
    labels: IntArray

    def part(self, start: int, stop: int | None = None) -> PlantedChunk:
        """Return some of its rows, by their numbers in it."""
        rows = slice(start, stop)
        views = {name: X[rows] for name, X in self.views.items()}
        return PlantedChunk(self.start + start, views, self.labels[rows])


@dataclass(frozen=True)
class _Truth:
    """What both forms of a planted data set know: the truth of each segment."""

    segments: tuple[Segment, ...]

    @property
    def informative(self) -> dict[str, BoolArray]:
        """Which features are informative, per view, at the end of the stream."""
        return self.segments[-1].informative

    @property
    def feature_class(self) -> dict[str, IntArray]:
        """Class of every feature, -1 for noise, per view, at the end of the stream."""
        return self.segments[-1].feature_class

    @property
    def feature_names(self) -> dict[str, list[str]]:
        """Names that tell the truth: ``food_0417``, of the topic of a class, or ``noise_0418``."""
        topics = dict(enumerate(_TOPICS)) | {-1: "noise"}
        return {
            view: [f"{topics.get(c, f'topic{c}')}_{j:04d}" for j, c in enumerate(classes.tolist())]
            for view, classes in self.feature_class.items()
        }


@dataclass(frozen=True)
class Planted(_Truth):
    """A planted data set in memory, with its truth.

    With drift, `informative` and `feature_class` hold at the end of the stream; `segments` has the
    truth of every stretch.

    Attributes
    ----------
    views : dict of str to csr_array
        Word counts, rows by features, per view.
    labels : int array
        Class of every row.
    segments : tuple of Segment
        Stretches of rows between drifts, in order.
    """

    views: dict[str, sp.csr_array]
    labels: IntArray


@dataclass(frozen=True)
class ViewLaw:
    """How the rows of one view are drawn.

    `cumulative` holds one cumulative law per segment and class, the c-th running from c to c + 1,
    so that one search serves every row of a block whatever its class.
    """

    name: str
    n_features: int
    n_words: int
    missing: float
    cumulative: FloatArray


@dataclass(frozen=True)
class PlantedStream(_Truth):
    """A planted data set drawn on the fly: iterate over it, as often as you like, for chunks.

    No more than a chunk and a block of rows is held at any time.

    Attributes
    ----------
    n_rows, batch_size : int
        Rows in the stream, and in each chunk but the last.
    segments : tuple of Segment
        Stretches of rows between drifts, in order, with their truth.
    """

    n_rows: int
    batch_size: int
    _views: tuple[ViewLaw, ...] = field(repr=False)
    _class_weights: FloatArray = field(repr=False)
    _seed: np.random.SeedSequence = field(repr=False)
    _dtype: np.dtype[Any] = field(repr=False)

    def __len__(self) -> int:
        """Return the number of chunks."""
        return -(-self.n_rows // self.batch_size)

    def __iter__(self) -> Iterator[PlantedChunk]:
        """Yield the chunks in order."""
        pending: list[PlantedChunk] = []
        held = 0
        for block in self._blocks():
            pending.append(block)
            held += len(block.labels)
            while held >= self.batch_size:
                joined = _join(pending)
                yield joined.part(0, self.batch_size)
                pending = [joined.part(self.batch_size)]
                held -= self.batch_size
        if held:
            yield _join(pending)

    def batches(self) -> Iterator[Views]:
        """Yield the views of the chunks in order, their features by name."""
        names = self.feature_names
        for chunk in self:
            yield Views(chunk.views, feature_names=names)

    def _blocks(self) -> Iterator[PlantedChunk]:
        rng = np.random.default_rng(self._seed)
        n_classes = len(self._class_weights)
        class_bounds = np.cumsum(self._class_weights)[:-1]
        segment_starts = np.array([s.start for s in self.segments])
        for start in range(0, self.n_rows, _BLOCK_ROWS):
            n = min(_BLOCK_ROWS, self.n_rows - start)
            labels = np.searchsorted(class_bounds, rng.random(_BLOCK_ROWS)[:n], side="right")
            segment = np.searchsorted(segment_starts, np.arange(start, start + n), side="right") - 1
            laws = segment * n_classes + labels
            views = {}
            for view in self._views:
                u = rng.random((_BLOCK_ROWS, view.n_words))[:n]
                # Drawn even when nothing is missing: blanking rows must not change the others.
                present = rng.random(_BLOCK_ROWS)[:n] >= view.missing
                views[view.name] = draw_rows(view, laws, u, present, self._dtype)
            yield PlantedChunk(start, views, labels)


def make_planted(
    n_rows: int = 3000,
    *,
    n_features: Sequence[int] = (4000, 1000),
    n_informative: Sequence[int] = (200, 100),
    n_classes: int = 5,
    concentration: float = 0.9,
    row_length: int | Sequence[int] = 60,
    drift_at: Sequence[int] = (),
    missing: float | Sequence[float] = 0.0,
    class_weights: Sequence[float] | None = None,
    informative_ranks: float = 1.0,
    view_names: Sequence[str] | None = None,
    dtype: DTypeLike = np.float32,
    random_state: int | None = None,
) -> Planted:
    """Draw a multi-view data set of word counts with known informative features.

    The r-th most frequent feature of a view with D features has base frequency proportional to
    1 / (r + 0.17 D). The ranks are cut into as many strata of neighbours as there are
    informative features, and one feature of each stratum is informative: informative and noise
    features follow the same law. A row is `row_length` independent words. A word is informative
    with the total base frequency of the informative features; an informative word is, with
    probability `concentration`, one of the words of the row's own class, else any informative word.

    Over all rows every feature keeps its base frequency exactly. A class whose words are a little
    too frequent for its share of the rows uses them a little more, and so `concentration` is
    exact only on average over the classes; with so few informative features that a class would need
    a probability above 1, all classes are given less.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_features, n_informative : sequence of int
        Features, and informative ones among them, of each view.
    n_classes : int
        Number of classes.
    concentration : float
        From 0, where classes are all alike, to 1, where a class uses no other class's words.
    row_length : int or sequence of int
        Words in a row, for all views or each.
    drift_at : sequence of int
        Rows at which every class changes its vocabulary: from there on other features are
        informative, none of them informative just before.
    missing : float or sequence of float
        Fraction of rows that are empty, in all views or each, independently between views.
    class_weights : sequence of float, optional
        Relative sizes of the classes; equal by default.
    informative_ranks : float
        Share of the frequency ranks, from the most frequent, that informative features come from.
        Below 1 the rarest features are all noise, and column sums do carry a hint.
    view_names : sequence of str, optional
        By default ``view_0``, ``view_1`` and so on.
    dtype : dtype
        Type of the counts.
    random_state : int, optional
        Seed. The same arguments and seed give the same bits.

    Returns
    -------
    Planted
        Views, labels and the truth.

    See Also
    --------
    planted_stream : The same rows, never all in memory.

    Examples
    --------
    >>> planted = make_planted(500, n_features=(80, 40), n_informative=(20, 10), random_state=0)
    >>> {name: X.shape for name, X in planted.views.items()}
    {'view_0': (500, 80), 'view_1': (500, 40)}
    >>> int(planted.informative["view_1"].sum())
    10
    """
    stream = planted_stream(**locals())
    rows = _join(list(stream._blocks()))
    return Planted(stream.segments, rows.views, rows.labels)


def planted_stream(
    n_rows: int = 3000,
    *,
    batch_size: int = 1000,
    n_features: Sequence[int] = (4000, 1000),
    n_informative: Sequence[int] = (200, 100),
    n_classes: int = 5,
    concentration: float = 0.9,
    row_length: int | Sequence[int] = 60,
    drift_at: Sequence[int] = (),
    missing: float | Sequence[float] = 0.0,
    class_weights: Sequence[float] | None = None,
    informative_ranks: float = 1.0,
    view_names: Sequence[str] | None = None,
    dtype: DTypeLike = np.float32,
    random_state: int | None = None,
) -> PlantedStream:
    """Draw the rows of `make_planted` chunk by chunk, in memory that does not grow with `n_rows`.

    Parameters
    ----------
    batch_size : int
        Rows in a chunk; the last may be smaller. It does not change the rows.
    n_rows, n_features, n_informative, n_classes, concentration, row_length, drift_at, missing, \
class_weights, informative_ranks, view_names, dtype, random_state
        As in `make_planted`.

    Returns
    -------
    PlantedStream
        An iterable of `PlantedChunk`, with the truth.

    Examples
    --------
    >>> stream = planted_stream(10**9, n_features=(80,), n_informative=(20,), random_state=0)
    >>> chunk = next(iter(stream))
    >>> chunk.views["view_0"].shape
    (1000, 80)
    >>> next(stream.batches()).feature_names["view_0"][:4].tolist()
    ['noise_0000', 'noise_0001', 'noise_0002', 'noise_0003']
    """
    whole("n_rows", n_rows, least=1)
    whole("batch_size", batch_size, least=1)
    weights = class_weights_of(class_weights, n_classes)
    whole("number of views", len(n_features), least=1)
    numbered = [f"view_{v}" for v in range(len(n_features))]
    names = tuple(numbered if view_names is None else view_names)
    if len(names) != len(n_features) or len(set(names)) != len(names):
        raise ValueError(f"view_names must be {len(n_features)} different names; got {names}.")
    widths = per_view("n_features", n_features, names)
    planted = per_view("n_informative", n_informative, names)
    lengths = per_view("row_length", row_length, names)
    gone = per_view("missing", missing, names)
    number("concentration", concentration, least=0.0, most=1.0)
    number("informative_ranks", informative_ranks, least=0.0, most=1.0)
    bounds = segment_bounds(drift_at, n_rows)

    # The truth and the rows do not disturb each other.
    of_truth, of_rows = np.random.SeedSequence(random_state).spawn(2)
    rng = np.random.default_rng(of_truth)
    views = []
    classes_of: dict[str, list[IntArray]] = {}
    for v, name in enumerate(names):
        whole(f"row_length of view {name!r}", lengths[v], least=1)
        number(f"missing of view {name!r}", gone[v], least=0.0, most=1.0)
        # Frequencies by rank, the most frequent first.
        base = 1 / (np.arange(1, widths[v] + 1) + _OFFSET * widths[v])
        base /= base.sum()
        n_ranks = int(informative_ranks * widths[v])
        # Half of them where there is drift, so that it can change all.
        most = n_ranks // 2 if len(bounds) > 1 else n_ranks
        whole(f"n_informative of view {name!r}", planted[v], least=1, most=most)
        columns = rng.permutation(widths[v])
        p = np.empty_like(base)
        p[columns] = base
        words = columns[informative_ranks_of(rng, n_ranks, planted[v], len(bounds))]
        laws = []
        classes_of[name] = []
        for chosen in words:
            g = np.full(widths[v], -1, dtype=np.intp)
            g[chosen] = assign_classes(p[chosen], weights)
            classes_of[name].append(g)
            laws.append(class_laws(p, g, weights, concentration))
        cumulative = np.cumsum(np.concatenate(laws), axis=1)
        cumulative /= cumulative[:, -1:]
        cumulative += np.arange(len(cumulative))[:, np.newaxis]
        views.append(ViewLaw(name, widths[v], lengths[v], gone[v], cumulative.ravel()))

    segments = tuple(
        Segment(start, stop, {name: classes_of[name][s] for name in names})
        for s, (start, stop) in enumerate(bounds)
    )
    return PlantedStream(
        segments, n_rows, batch_size, tuple(views), weights, of_rows, np.dtype(dtype)
    )


def _join(chunks: list[PlantedChunk]) -> PlantedChunk:
    if len(chunks) == 1:
        return chunks[0]
    views = {
        name: sp.vstack([c.views[name] for c in chunks], format="csr") for name in chunks[0].views
    }
    return PlantedChunk(chunks[0].start, views, np.concatenate([c.labels for c in chunks]))


def informative_ranks_of(
    rng: np.random.Generator, n_ranks: int, n_informative: int, n_segments: int
) -> IntArray:
    """Choose one rank of every stratum, another one in the next segment.

    Returns one row of ranks, ascending, per segment.
    """
    strata = np.array_split(np.arange(n_ranks), n_informative)
    turns = np.arange(n_segments)
    return np.stack([rng.permutation(s)[turns % len(s)] for s in strata], axis=1)


def assign_classes(p: FloatArray, weights: FloatArray) -> IntArray:
    """Deal the words to the classes so that each has its share of the frequency `p`.

    Words come most frequent first, and each goes to the class furthest below its share: small
    words last, to even out what the large ones left.
    """
    share = np.zeros(len(weights))
    g = np.empty(len(p), dtype=np.intp)
    for j, frequency in enumerate(p):
        g[j] = np.argmin(share / weights)
        share[g[j]] += frequency
    return g


def class_laws(p: FloatArray, g: IntArray, weights: FloatArray, concentration: float) -> FloatArray:
    """Return the law of words in each class; their mean by `weights` is exactly `p`.

    With q the law within the informative words, Q_c the part of class c and w_c its weight, class c
    draws its own words with probability t_c = concentration Q_c / w_c. The mean over the classes is
    then q_j (1 - sum_c w_c t_c + w_g t_g / Q_g) = q_j, whatever the Q.
    """
    words = np.flatnonzero(g >= 0)
    mass = p[words].sum()
    q = p[words] / mass
    share = np.bincount(g[words], weights=q, minlength=len(weights))
    own = concentration * share / weights
    own /= max(1.0, own.max())
    belongs = g[words] == np.arange(len(weights))[:, np.newaxis]
    laws = np.tile(p, (len(weights), 1))
    own_law = belongs * (q / share[g[words]])
    laws[:, words] = mass * ((1 - own)[:, np.newaxis] * q + own[:, np.newaxis] * own_law)
    return laws


def draw_rows(
    view: ViewLaw, laws: IntArray, u: FloatArray, present: BoolArray, dtype: np.dtype[Any]
) -> sp.csr_array:
    """Turn uniform numbers, one per word, into rows of counts."""
    laws, u = laws[present, np.newaxis], u[present]
    # Sorting the numbers sorts the words of each row.
    u.sort(axis=1)
    # u + c may round up to c + 1, which is the next class's law.
    x = np.minimum(u + laws, np.nextafter(laws + 1.0, 0.0))
    words = np.searchsorted(view.cumulative, x, side="right") - laws * view.n_features
    first = np.ones(words.shape, dtype=bool)
    np.not_equal(words[:, 1:], words[:, :-1], out=first[:, 1:])
    starts = np.flatnonzero(first)
    counts = np.diff(starts, append=words.size)
    indptr = np.zeros(len(present) + 1, dtype=np.int32)
    indptr[1:][present] = first.sum(axis=1)
    np.cumsum(indptr, out=indptr)
    return sp.csr_array(
        (counts.astype(dtype), words.ravel()[starts].astype(np.int32), indptr),
        shape=(len(present), view.n_features),
    )


def segment_bounds(drift_at: Sequence[int], n_rows: int) -> list[tuple[int, int]]:
    """Return the first row of every stretch between drifts, and one past its last."""
    edges = [0, *drift_at, n_rows]
    if any(a >= b for a, b in pairwise(edges)):
        raise ValueError(
            f"drift_at must be increasing rows between 1 and n_rows - 1 = {n_rows - 1}; "
            f"got {list(drift_at)}."
        )
    return list(pairwise(edges))


def class_weights_of(class_weights: Sequence[float] | None, n_classes: int) -> NDArray[np.float64]:
    """Return the shares of the classes, equal by default."""
    whole("n_classes", n_classes, least=1)
    weights: NDArray[np.float64] = np.ones(n_classes)
    if class_weights is not None:
        weights = np.array(class_weights, dtype=np.float64)
    if weights.shape != (n_classes,) or not np.all(weights > 0) or not np.all(weights < np.inf):
        raise ValueError(
            f"class_weights must be {n_classes} positive numbers, one per class; "
            f"got {class_weights}."
        )
    weights /= weights.sum()
    return weights


def per_view(what: str, value: _T | Sequence[_T], names: tuple[str, ...]) -> tuple[_T, ...]:
    """Return a value for every view, of one for all or of as many."""
    if not isinstance(value, Sequence):
        return (value,) * len(names)
    if len(value) != len(names):
        raise ValueError(f"{what} has {len(value)} values; there are {len(names)} views {names}.")
    return tuple(value)
