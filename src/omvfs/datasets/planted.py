"""Planted multi-view word counts: which features tell the classes apart is known.

Every view has one long-tailed law of word frequencies. The informative features are drawn from all
frequency ranks, and a class only shifts mass *between* informative features, so that over all rows
each feature keeps exactly its base frequency. Column sums say nothing about which features are
informative. Variances say little: a word that gathers in one class varies slightly more than an
even one of the same frequency, the more so the longer the rows and the fewer the features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from omvfs.data.views import Views
from omvfs.datasets._checks import (
    check_fraction,
    check_informative,
    check_positive,
    class_weights_of,
    names_of_views,
    per_view,
    segment_bounds,
)
from omvfs.datasets._laws import (
    BoolArray,
    FloatArray,
    IntArray,
    ViewLaw,
    assign_classes,
    base_law,
    class_laws,
    cumulative_laws,
    draw_rows,
    guide_to,
    informative_ranks_of,
)
from omvfs.datasets._topics import names_of_features

# Rows are drawn in blocks of this size whatever the batch size is, so that the batch size never
# changes a bit of the data and a shorter stream is the beginning of a longer one.
_BLOCK_ROWS = 2048


@dataclass(frozen=True)
class Segment:
    """A stretch of rows over which the classes keep their vocabulary.

    Attributes
    ----------
    start, stop : int
        First row, and one past the last.
    informative : dict of str to bool array
        Per view, which features are informative.
    feature_class : dict of str to int array
        Per view, the class each feature belongs to, -1 for noise.
    """

    start: int
    stop: int
    informative: dict[str, BoolArray]
    feature_class: dict[str, IntArray]


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
        return {view: names_of_features(classes) for view, classes in self.feature_class.items()}


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

    def chunks(self, batch_size: int) -> Iterator[PlantedChunk]:
        """Yield the rows in order, `batch_size` at a time; the last chunk may be smaller."""
        return cut(self.views, self.labels, batch_size)


def cut(
    views: Mapping[str, sp.csr_array], labels: IntArray, batch_size: int
) -> Iterator[PlantedChunk]:
    """Yield rows in order, `batch_size` at a time; the last chunk may be smaller."""
    check_positive("batch_size", batch_size)
    for start in range(0, len(labels), batch_size):
        rows = slice(start, start + batch_size)
        yield PlantedChunk(start, {name: X[rows] for name, X in views.items()}, labels[rows])


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
    _entropy: Any = field(repr=False)
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
                ready, rest = _cut(_join(pending), self.batch_size)
                yield ready
                pending = [rest]
                held -= self.batch_size
        if held:
            yield _join(pending)

    def batches(self) -> Iterator[Views]:
        """Yield the views of the chunks in order, their features by name."""
        names = self.feature_names
        for chunk in self:
            yield Views(chunk.views, feature_names=names)

    def collect(self) -> Planted:
        """Draw every row and return the data set in memory."""
        whole = _join(list(self._blocks()))
        return Planted(self.segments, whole.views, whole.labels)

    def _blocks(self) -> Iterator[PlantedChunk]:
        rng = _generator(self._entropy, "rows")
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
    noise: float | Sequence[float] = 0.0,
    drift_at: Sequence[int] = (),
    missing: float | Sequence[float] = 0.0,
    class_weights: Sequence[float] | None = None,
    exponent: float = 1.0,
    offset: float = 0.17,
    informative_ranks: float = 1.0,
    view_names: Sequence[str] | None = None,
    dtype: DTypeLike = np.float32,
    random_state: int | None = None,
) -> Planted:
    """Draw a multi-view data set of word counts with known informative features.

    The r-th most frequent feature of a view with D features has base frequency proportional to
    (r + offset D)^-exponent. The ranks are cut into as many strata of neighbours as there are
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
    noise : float or sequence of float
        Additional words that know no class, as a fraction of `row_length`.
    drift_at : sequence of int
        Rows at which every class changes its vocabulary: from there on other features are
        informative, none of them informative just before.
    missing : float or sequence of float
        Fraction of rows that are empty, in all views or each, independently between views.
    class_weights : sequence of float, optional
        Relative sizes of the classes; equal by default.
    exponent, offset : float
        Shape of the law of frequencies. A larger offset makes frequent words less frequent.
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
    >>> [chunk.labels.size for chunk in planted.chunks(200)]
    [200, 200, 100]
    """
    return planted_stream(
        n_rows,
        n_features=n_features,
        n_informative=n_informative,
        n_classes=n_classes,
        concentration=concentration,
        row_length=row_length,
        noise=noise,
        drift_at=drift_at,
        missing=missing,
        class_weights=class_weights,
        exponent=exponent,
        offset=offset,
        informative_ranks=informative_ranks,
        view_names=view_names,
        dtype=dtype,
        random_state=random_state,
    ).collect()


def planted_stream(
    n_rows: int = 3000,
    *,
    batch_size: int = 1000,
    n_features: Sequence[int] = (4000, 1000),
    n_informative: Sequence[int] = (200, 100),
    n_classes: int = 5,
    concentration: float = 0.9,
    row_length: int | Sequence[int] = 60,
    noise: float | Sequence[float] = 0.0,
    drift_at: Sequence[int] = (),
    missing: float | Sequence[float] = 0.0,
    class_weights: Sequence[float] | None = None,
    exponent: float = 1.0,
    offset: float = 0.17,
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
    n_rows, n_features, n_informative, n_classes, concentration, row_length, noise, drift_at, \
missing, class_weights, exponent, offset, informative_ranks, view_names, dtype, random_state
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
    check_positive("n_rows", n_rows)
    check_positive("batch_size", batch_size)
    weights = class_weights_of(class_weights, n_classes)
    names = names_of_views(view_names, len(n_features))
    widths = per_view("n_features", n_features, names)
    planted = per_view("n_informative", n_informative, names)
    lengths = per_view("row_length", row_length, names)
    extra = per_view("noise", noise, names)
    gone = per_view("missing", missing, names)
    for name, value in (("concentration", concentration), ("informative_ranks", informative_ranks)):
        check_fraction(name, value)
    if min(extra) < 0:
        raise ValueError(f"noise must not be negative; got {noise}.")
    bounds = segment_bounds(drift_at, n_rows)

    entropy = np.random.SeedSequence(random_state).entropy
    rng = _generator(entropy, "truth")
    views = []
    classes_of: dict[str, list[IntArray]] = {}
    for v, name in enumerate(names):
        check_positive(f"row_length of view {name!r}", lengths[v])
        check_fraction(f"missing of view {name!r}", gone[v])
        base = base_law(widths[v], exponent, offset)
        n_ranks = int(informative_ranks * widths[v])
        check_informative(name, planted[v], n_ranks, drifts=len(bounds) > 1)
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
            # Extra words follow the base law of all features, which leaves every marginal alone.
            laws.append((class_laws(p, g, weights, concentration) + extra[v] * p) / (1 + extra[v]))
        n_words = round(lengths[v] * (1 + extra[v]))
        cumulative = cumulative_laws(np.concatenate(laws))
        guide, cells = guide_to(cumulative, widths[v])
        views.append(ViewLaw(name, widths[v], n_words, gone[v], cumulative, guide, cells))

    segments = tuple(
        Segment(
            start,
            stop,
            informative={name: classes_of[name][s] >= 0 for name in names},
            feature_class={name: classes_of[name][s] for name in names},
        )
        for s, (start, stop) in enumerate(bounds)
    )
    return PlantedStream(
        segments, n_rows, batch_size, tuple(views), weights, entropy, np.dtype(dtype)
    )


def _join(chunks: list[PlantedChunk]) -> PlantedChunk:
    if len(chunks) == 1:
        return chunks[0]
    views = {
        name: sp.vstack([c.views[name] for c in chunks], format="csr") for name in chunks[0].views
    }
    return PlantedChunk(chunks[0].start, views, np.concatenate([c.labels for c in chunks]))


def _cut(chunk: PlantedChunk, n: int) -> tuple[PlantedChunk, PlantedChunk]:
    head = {name: X[:n] for name, X in chunk.views.items()}
    tail = {name: X[n:] for name, X in chunk.views.items()}
    return (
        PlantedChunk(chunk.start, head, chunk.labels[:n]),
        PlantedChunk(chunk.start + n, tail, chunk.labels[n:]),
    )


def _generator(entropy: Any, purpose: str) -> np.random.Generator:
    """Return the generator of the truth, or that of the rows, which do not disturb each other."""
    key = {"truth": 0, "rows": 1}[purpose]
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(key,)))
