"""What OMVFS tells of its selection: what it is worth, how much of it stays, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omvfs.model.stability import StabilityIndex, stability_index

# Numbers of features a view at which selections are judged.
SIZES = (1, 2, 3, 4, 6, 8, 10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640)


class TooFewRowsError(ValueError, AttributeError):
    """There are too few rows to judge a selection by.

    An `AttributeError` too, as scikit-learn's of an estimator that is not fitted, so that `hasattr`
    tells whether there is a quality.
    """


def sizes_to_judge(widths: Sequence[int], in_all: bool = False) -> tuple[int, ...]:
    """Return numbers of features a view, up to all of the widest view; or of all views.

    Examples
    --------
    >>> sizes_to_judge([7, 3]), sizes_to_judge([7, 3], in_all=True)
    ((1, 2, 3, 4, 6, 7), (2, 4, 6, 8, 10))
    """
    if in_all:
        n = len(widths)
        return tuple(sorted({min(size * n, sum(widths)) for size in SIZES}))
    most = min(max(widths), SIZES[-1])
    return (*(size for size in SIZES if size < most), most)


@dataclass(frozen=True, eq=False)
class Curve:
    """How well selected features foretell the clusters, by their number.

    Attributes
    ----------
    sizes : int array of shape (n,)
        Numbers of features.
    agreement : array of shape (n,)
        Between 0 and 1: adjusted mutual information of the clusters with those that the features
        alone foretell, on rows held out.
    spread : array of shape (n,)
        Standard deviation of the judgements whose mean is the agreement.

    Examples
    --------
    >>> curve = Curve(np.array([10, 20, 40]), np.array([0.5, 0.79, 0.8]), np.full(3, 0.02))
    >>> curve.levels_off_at, curve.at(15)
    (20, 0.645)
    """

    sizes: NDArray[np.intp]
    agreement: NDArray[np.float64]
    spread: NDArray[np.float64]

    @property
    def levels_off_at(self) -> int:
        """The least number of features whose agreement is within the usual spread of the best.

        The most that were judged, if more would still gain.
        """
        enough = self.agreement >= self.agreement.max() - self.spread.mean()
        return int(self.sizes[enough.argmax()])

    def at(self, size: float) -> float:
        """Return the agreement of a number of features, between those judged a straight line.

        Beyond the most that were judged, that of these.
        """
        return float(np.interp(size, self.sizes, self.agreement))


@dataclass(frozen=True, eq=False)
class SelectionQuality(Curve):
    """The same for the best features of all views together, so many of each, and of each alone.

    Attributes
    ----------
    sizes : int array of shape (n,)
        Numbers of features a view, of one that has fewer, all; or, with ``n_features_to_select``,
        of all views.
    agreement, spread : array of shape (n,)
        Of all views together.
    views : mapping of str to Curve
        Of each view alone. A view that is poor in itself may still be of use beside others.

    Examples
    --------
    >>> sizes, spread = np.array([10, 20]), np.zeros(2)
    >>> text = Curve(sizes, np.array([0.4, 0.7]), spread)
    >>> print(SelectionQuality(sizes, np.array([0.5, 0.8]), spread, {"text": text}))
      features    all views         text
            10  0.50 ± 0.00  0.40 ± 0.00
            20  0.80 ± 0.00  0.70 ± 0.00
    """

    views: Mapping[str, Curve]

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        agreements: NDArray[np.float64],
        widths: Mapping[str, int],
        by_view: Sequence[tuple[int, ...]] | None = None,
    ) -> "SelectionQuality":
        """Return it from judgements of shape (n_judgements, 1 + n_views, n_sizes), all views first.

        `widths` has no view if none is told of alone; `by_view` tells how many of each view sizes
        in all are.
        """
        each = np.array(sizes, np.intp)
        mean, spread = agreements.mean(axis=0), agreements.std(axis=0, ddof=1)
        alone = {}
        for v, (view, width) in enumerate(widths.items(), start=1):
            if by_view is not None:
                own = np.array(by_view, np.intp)[:, v - 1]
                alone[view] = Curve(own, mean[v], spread[v])
                continue
            own, first = np.unique(np.minimum(each, width), return_index=True)
            alone[view] = Curve(own, mean[v, first], spread[v, first])
        return cls(each, mean[0], spread[0], alone)

    def __str__(self) -> str:
        curves = {"all views": self, **self.views}
        lines = [["  features", *curves]]
        for i, size in enumerate(self.sizes):
            cells = [
                f"{own.agreement[i]:.2f} ± {own.spread[i]:.2f}" if i < len(own.sizes) else ""
                for own in curves.values()
            ]
            lines.append([f"{size}", *cells])
        return _aligned(lines)

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class ViewStability:
    """How much of the selection of one view stays.

    Attributes
    ----------
    index : StabilityIndex
        1 if every resample selects the same features, about 0 if they have no more in common than
        by chance; with its 95 % interval.
    frequencies : array of shape (D,)
        Of each feature, the share of the resamples in which it is selected.
    """

    index: StabilityIndex
    frequencies: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SelectionStability:
    """How much of the selection stays; shown as a table.

    Attributes
    ----------
    index : StabilityIndex
        Of the features of all views together.
    views : mapping of str to ViewStability
    n_resamples : int

    Examples
    --------
    >>> masks = {"text": np.array([[True, False, False], [True, True, False]])}
    >>> print(SelectionStability.of(masks))
         view  features  selected  stability  95 % interval  always  never
    all views         3       1.5       0.33   0.33 to 0.33       1      1
         text         3       1.5       0.33   0.33 to 0.33       1      1
    """

    index: StabilityIndex
    views: Mapping[str, ViewStability]
    n_resamples: int

    @classmethod
    def of(cls, selected: Mapping[str, NDArray[np.bool_]]) -> "SelectionStability":
        """Return it from masks of shape (n_resamples, D) by view: what each resample selects."""
        views = {
            view: ViewStability(stability_index(masks), masks.mean(axis=0))
            for view, masks in selected.items()
        }
        together = np.hstack(list(selected.values()))
        return cls(stability_index(together), views, len(together))

    def __str__(self) -> str:
        whole = np.concatenate([own.frequencies for own in self.views.values()])
        parts = {"all views": ViewStability(self.index, whole), **self.views}
        heads = ["view", "features", "selected", "stability", "95 % interval", "always", "never"]
        lines = [heads]
        for name, own in parts.items():
            shares, (value, low, high) = own.frequencies, own.index
            chosen = f"{shares.sum():,.1f}".removesuffix(".0")
            ends = (f"{np.count_nonzero(shares == end):,}" for end in (1, 0))
            middle = f"{value:.2f}", f"{low:.2f} to {high:.2f}"
            lines.append([name, f"{len(shares):,}", chosen, *middle, *ends])
        return _aligned(lines)

    __repr__ = __str__


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ("  ".join(map(str.rjust, line, widths)).rstrip() for line in lines)
    return "\n".join(rows)


# Clusters that a text names.
_CLUSTERS = 4


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a feature has the rank it has, in parts that multiply to its score; shown as text.

    Attributes
    ----------
    view : str
    feature : str or int
        Its name, or its number if it has none.
    n_features : int
        Features of the view.
    selected : bool
    rank : int
        Its rank in the view, 1 = best.
    score : float
        By ``criterion="separation"``: share × deviation × kept.
    share : float
        Share of its variance that the clusters explain, from 0 to 1, beyond what chance gives.
    deviation : float
        Its standard deviation.
    kept : float
        What is left of it as it repeats a better feature, from 0 to 1: (1 − r²)⁴.
    repeats : str or int or None
        The better feature that it repeats most; None if there is none.
    r_squared : float
        With that one.
    mean : float
        Over all rows that have the view.
    means : tuple of float
        Over the rows of every cluster, in the units of the feature.
    cluster : int or None
        Of the clusters above the mean, the one that carries most of the variance between clusters.
    share_of_rows : float
        Of the sampled rows that have the view, those in which it is not 0.
    """

    view: str
    feature: str | int
    n_features: int
    selected: bool
    rank: int
    score: float
    share: float
    deviation: float
    kept: float
    repeats: str | int | None
    r_squared: float
    mean: float
    means: tuple[float, ...]
    cluster: int | None
    share_of_rows: float

    def __str__(self) -> str:
        chosen = "selected" if self.selected else "not selected"
        place = f"rank {self.rank:,} of {self.n_features:,}, {chosen}"
        explained = f"{self.share:.1%} of its variance explained"
        parts = f"standard deviation {self.deviation:.4g} × {self.kept:.3f} not repeated"
        lines = [
            f"Feature {self.feature!r} of view {self.view!r}: {place}",
            f"  score       {self.score:.4g} = {explained} × {parts}",
            f"  stands for  {self._clusters()}",
            f"  found in    {self.share_of_rows:.1%} of the rows",
        ]
        if self.repeats is not None:
            lines.append(f"  repeats     {self.repeats!r} most, r² = {self.r_squared:.2f}")
        return "\n".join(lines)

    __repr__ = __str__

    def _clusters(self) -> str:
        """Name the cluster it stands for most, and others above the mean."""
        if self.cluster is None:
            return "no cluster more than another"
        others = [k for k, m in enumerate(self.means) if m > self.mean and k != self.cluster]
        others.sort(key=lambda k: -self.means[k])
        named = [self.cluster, *others][:_CLUSTERS]
        told = ", ".join(f"cluster {k} (mean {self.means[k]:.3g})" for k in named)
        return f"{told}; all rows {self.mean:.3g}"


class ClusterFeature(NamedTuple):
    """A feature that stands for a cluster.

    Attributes
    ----------
    view : str
    feature : str or int
        Its name, or its number if it has none.
    strength : float
        Its mean over the rows of the cluster, over the mean of all rows.
    part : float
        Of its score, the part that the cluster carries.
    """

    view: str
    feature: str | int
    strength: float
    part: float


@dataclass(frozen=True)
class FeatureNotes:
    """What a table tells of every feature of a view beside its rank."""

    # The cluster it stands for most, −1 if none, of shape (D,).
    cluster: NDArray[np.intp]
    # Of the sampled rows that have the view, those in which it is not 0, of shape (D,).
    share_of_rows: NDArray[np.float64]
    # The better feature that it repeats most, if r² is at least ½; else −1. Of shape (D,).
    repeats: NDArray[np.intp]
