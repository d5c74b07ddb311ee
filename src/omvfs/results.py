"""What OMVFS tells of its selection: whether to trust it, what it is worth, what stays, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """How well selected features predict the clusters, by their number.

    Attributes
    ----------
    sizes : int array of shape (n,)
        Numbers of features.
    agreement : array of shape (n,)
        Between 0 and 1: adjusted mutual information of the clusters with those that the features
        alone predict, on held-out rows.
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


class Stays(NamedTuple):
    """Share of the selected features that another sample of the rows selects too.

    Attributes
    ----------
    share : float
        Mean over pairs of draws.
    low, high : float
        Within them, between 0 and 1, are 95 % of the pairs.
    """

    share: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class ViewStability:
    """How much of the selection of one view stays.

    Attributes
    ----------
    stays : Stays
    frequencies : array of shape (D,)
        Of each feature, the share of the draws in which it is selected.
    either : tuple of tuple of (str or int)
        Features of which draws select one or another: their correlations are at least .9.
    """

    stays: Stays
    frequencies: NDArray[np.float64]
    either: tuple[tuple[str | int, ...], ...]


@dataclass(frozen=True, eq=False)
class SelectionStability:
    """How much of the selection stays if other rows are looked at; shown as a table.

    Attributes
    ----------
    stays : Stays
        Of the features of all views together.
    as_one : float
        The share that stays if features whose correlation is at least .9 count as one.
    clusters : float
        How far the clusters of two draws agree: adjusted mutual information, 1 if they are the
        same.
    n_selected : int
        Features that are selected.
    views : mapping of str to ViewStability
    n_resamples : int
        Draws: random halves of the sampled rows, clustered and ranked by themselves.
    """

    stays: Stays
    as_one: float
    clusters: float
    n_selected: int
    views: Mapping[str, ViewStability]
    n_resamples: int

    def __str__(self) -> str:
        whole = np.concatenate([own.frequencies for own in self.views.values()])
        parts = {"all views": ViewStability(self.stays, whole, ()), **self.views}
        lines = [["view", "features", "selected", "stay", "95 % of pairs", "always", "never"]]
        for name, own in parts.items():
            shares, (value, low, high) = own.frequencies, own.stays
            ends = (f"{np.count_nonzero(shares == end):,}" for end in (1, 0))
            middle = f"{value:.2f}", f"{low:.2f} to {high:.2f}"
            chosen = f"{round(shares.sum()):,}"
            lines.append([name, f"{len(shares):,}", chosen, *middle, *ends])
        one, agree = f"{self.as_one:.2f}", f"{self.clusters:.2f}"
        more = [f"{one} stay if features of |r| ≥ .9 count as one; clusters agree by {agree}."]
        for view, own in self.views.items():
            more += [f"{view}: either of {', '.join(map(str, each))}" for each in own.either]
        return "\n".join([_aligned(lines), *more])

    __repr__ = __str__


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ("  ".join(map(str.rjust, line, widths)).rstrip() for line in lines)
    return "\n".join(rows)


def cut(text: str, most: int = 64) -> str:
    """Return the beginning of a text that is too long.

    Examples
    --------
    >>> cut("word", 4), cut("words", 4)
    ('word', 'wor…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def percent(share: float) -> str:
    """Return a share as it is read.

    Examples
    --------
    >>> percent(0.256), percent(0.0123), percent(0.0001), percent(0.0)
    ('26 %', '1.2 %', '< 0.1 %', '0 %')
    """
    if share == 0 or abs(share) >= 0.0995:
        return f"{100 * share:.0f} %"
    return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"


def two_digits(value: float) -> str:
    """Return a number between -1 and 1 in two digits.

    Examples
    --------
    >>> two_digits(0.934), two_digits(-0.5), two_digits(1.0)
    ('.93', '-.50', '1.00')
    """
    return f"{value:.2f}".replace("0.", ".", 1)


def figure(value: float) -> str:
    """Return a number in a few digits.

    Examples
    --------
    >>> figure(0.4867), figure(63.25), figure(48200.3)
    ('0.487', '63.2', '48,200')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


@dataclass(frozen=True)
class FeatureNotes:
    """What is known of every feature of a view beside its rank; arrays of shape (D,).

    Attributes
    ----------
    explained : array
        Share of the feature's variance that the clusters explain, η², from 0 to 1, beyond what
        chance gives.
    spread : array
        Standard deviation, over that of a typical feature of the view.
    novelty : array
        What is left of it as it repeats a better feature, from 0 to 1: (1 − r²)⁴.
    score : array
        explained × spread × novelty.
    cluster : int array
        Of the clusters above the mean, the one that carries most of the variance between clusters;
        −1 if there is none.
    share_of_rows, share_in, share_out : array
        Of the sampled rows, of those in that cluster, and of the others, the share in which the
        feature is not 0.
    mean_in, mean_out : array
        Means over the rows of that cluster and over all others, in the units of the feature.
    repeats : int array
        The better feature that it repeats most; −1 if there is none.
    r : array
        The correlation with that one.
    steps : tuple of str
        Steps after which the means are taken, as they cannot be undone.
    """

    explained: NDArray[np.float64]
    spread: NDArray[np.float64]
    novelty: NDArray[np.float64]
    score: NDArray[np.float64]
    cluster: NDArray[np.intp]
    share_of_rows: NDArray[np.float64]
    share_in: NDArray[np.float64]
    share_out: NDArray[np.float64]
    mean_in: NDArray[np.float64]
    mean_out: NDArray[np.float64]
    repeats: NDArray[np.intp]
    r: NDArray[np.float64]
    steps: tuple[str, ...]

    def is_repeat(self, j: int) -> bool:
        """Tell whether a better feature tells at least half of the variance of this one."""
        return bool(self.repeats[j] >= 0 and self.r[j] ** 2 >= _REPEATS)

    def tells(self, j: int, clusters: Sequence[str]) -> str:
        """Say which cluster a feature tells from the others, and by what.

        Parameters
        ----------
        j : int
        clusters : sequence of str
            What clusters are called.
        """
        k = int(self.cluster[j])
        if k < 0:
            return "tells no cluster from the others"
        named = f"cluster {k} ('{clusters[k]}')" if clusters[k] else f"cluster {k}"
        if self.share_of_rows[j] < _NEARLY_ALL:
            own, others = percent(self.share_in[j]), percent(self.share_out[j])
            return f"is in {own} of the rows of {named} and in {others} of the others"
        own, others = figure(self.mean_in[j]), figure(self.mean_out[j])
        after = f" (after {', '.join(self.steps)})" if self.steps else ""
        return f"averages {own} in {named} and {others} in the others{after}"

    def why(self, j: int, rank: int, names: Sequence[str], clusters: Sequence[str]) -> str:
        """Say in a sentence why a feature has its rank.

        Parameters
        ----------
        j, rank : int
        names : sequence of str
            Of the features of the view.
        clusters : sequence of str
            What clusters are called.
        """
        place = f"rank {rank:,} of {len(names):,}"
        repeats = ""
        if self.is_repeat(j):
            better = names[int(self.repeats[j])]
            repeats = f"; it repeats `{better}` (r = {two_digits(self.r[j])})"
        return f"`{names[j]}` {self.tells(j, clusters)}; {place}{repeats}."


# Of this r², a better feature tells half of the variance of another.
_REPEATS = 0.5
# Of a feature that so many rows have, means tell more than how many have it.
_NEARLY_ALL = 0.9


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
    why : str
        The sentence, as in ``ranking.csv``.
    score : float
        By ``criterion="separation"``: explained × spread × novelty.
    explained : float
        Share of its variance that the clusters explain, η², from 0 to 1, beyond what chance gives.
    spread : float
        Its standard deviation, over that of a typical feature of the view.
    novelty : float
        What is left of it as it repeats a better feature, from 0 to 1: (1 − r²)⁴.
    repeats : str or int or None
        The better feature that it repeats most; None if there is none.
    r : float
        The correlation with that one.
    mean : float
        Over all rows that have the view, in the units of the feature.
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
    why: str
    score: float
    explained: float
    spread: float
    novelty: float
    repeats: str | int | None
    r: float
    mean: float
    means: tuple[float, ...]
    cluster: int | None
    share_of_rows: float

    def __str__(self) -> str:
        chosen = "selected" if self.selected else "not selected"
        parts = f"{percent(self.explained)} of its variance explained by the clusters"
        typical = f"{self.spread:.3g} × the spread of a typical feature"
        novelty = f"{self.novelty:.3g} not repeated"
        means = ", ".join(f"{k}: {figure(own)}" for k, own in enumerate(self.means))
        lines = [
            self.why,
            f"  view      {self.view!r}, {chosen}",
            f"  score     {self.score:.3g} = {parts} × {typical} × {novelty}",
            f"  means     {figure(self.mean)} of all rows; by cluster {means}",
            f"  found in  {percent(self.share_of_rows)} of the rows",
        ]
        if self.repeats is not None:
            lines.append(f"  repeats   {self.repeats!r} most, r = {two_digits(self.r)}")
        return "\n".join(lines)

    __repr__ = __str__


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


class ViewVerdict(NamedTuple):
    """What a view has to do with the clusters.

    Attributes
    ----------
    agreement : float
        How well it alone predicts the clusters of held-out rows: 0 by chance, 1 perfectly.
    holds : bool
        Whether it tells anything at all: its features agree with each other, or with other views,
        on which rows are alike. What does not is noise.
    """

    agreement: float
    holds: bool


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether to trust what was found; shown as sentences.

    Attributes
    ----------
    holds : bool
        Whether there is structure that holds on held-out rows. If not, the rows are noise.
    views : mapping of str to ViewVerdict
    stability : SelectionStability or None
        None of too few rows, and of noise.
    other_numbers : mapping of int to float
        Share of the selection that stays with other numbers of clusters.
    quality : str
        How well the selected features predict the clusters, and how many would do.
    small : tuple of int
        Clusters of which the sample has so few rows that they may be chance.
    n_sampled, n_rows : int
        Rows of the sample, and all that were learned from.
    tested : bool
        Whether there were rows and features enough to tell structure from noise.
    """

    holds: bool
    views: Mapping[str, ViewVerdict]
    stability: SelectionStability | None = None
    other_numbers: Mapping[int, float] = field(default_factory=dict)
    quality: str = ""
    small: tuple[int, ...] = ()
    n_sampled: int = 0
    n_rows: int = 0
    tested: bool = True

    @property
    def sentences(self) -> list[str]:
        """What there is to say, most important first."""
        if not self.holds:
            return [_NOISE if self.tested else _UNTESTED]
        found = [self._views(), self._noise(), self._stays(), self._numbers(), self.quality]
        return [each for each in [*found, self._small()] if each]

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    __repr__ = __str__

    def _views(self) -> str:
        """Say which views carry the clusters, and which add little."""
        told = {view: own.agreement for view, own in self.views.items() if own.holds}
        if len(self.views) == 1:
            ((_, value),) = told.items()
            found = f"There is structure: clusters of held-out rows are predicted by {_two(value)}"
            return f"{found} (0 is chance, 1 perfect)."
        best = max(told.values())
        carry = [view for view, value in told.items() if value >= best / 2]
        little = [view for view in told if view not in carry and told[view] >= _NOTHING]
        nothing = [view for view in told if view not in carry and told[view] < _NOTHING]
        shown = f"{_listed(carry, told)} {'carries' if len(carry) == 1 else 'carry'} the clusters"
        parts = [shown if len(carry) > 1 or little or len(told) == 1 else f"{shown} alone"]
        for names, what in ((little, "little"), (nothing, "nothing")):
            if names:
                parts.append(
                    f"{_listed(names, told)} {'adds' if len(names) == 1 else 'add'} {what}"
                )
        how = "how well a view alone predicts the clusters of held-out rows; 0 is chance, 1 perfect"
        return f"{'; '.join(parts)} ({how})."

    def _noise(self) -> str:
        noise = [view for view, own in self.views.items() if not own.holds]
        if not noise:
            return ""
        drop = " ".join(f"--drop {view}" for view in noise[:_NAMED])
        are, its, it = ("is", "its", "it") if len(noise) == 1 else ("are", "their", "them")
        return (
            f"{_first(noise, ' views')} {are} noise: {its} features agree neither with each other "
            f"nor with another view on which rows are alike. Leave {it} out ({drop})."
        )

    def _stays(self) -> str:
        if self.stability is None:
            return ""
        n, (share, low, high) = self.stability.n_selected, self.stability.stays
        count, least, most, one = (round(n * x) for x in (share, low, high, self.stability.as_one))
        together = f"; {one:,} if near-duplicates count as one" if one > count else ""
        named = "1 selected feature" if n == 1 else f"{n:,} selected features"
        agree = f"Clusters of two samples agree by {_two(self.stability.clusters)}."
        return (
            f"{count:,} of {named} are chosen again with another sample of rows (95 % of the time "
            f"{least:,} to {most:,}{together}). {agree}"
        )

    def _numbers(self) -> str:
        if self.stability is None or not self.other_numbers:
            return ""
        n = self.stability.n_selected
        named = " or ".join(f"{K:,}" for K in self.other_numbers)
        stay = " or ".join(f"{round(n * share):,}" for share in self.other_numbers.values())
        least = min(self.other_numbers.values())
        matters = "hardly matters" if least >= self.stability.stays.low else "matters"
        return f"With {named} clusters {stay} are still chosen: the number of clusters {matters}."

    def _small(self) -> str:
        if not self.small:
            return ""
        few = _first(self.small)
        which = f"Cluster {few} has" if len(self.small) == 1 else f"Clusters {few} have"
        more = "a larger sample_size (--sample-size)"
        return (
            f"{which} fewer than {FEWEST} of the {self.n_sampled:,} sampled rows and may be "
            f"chance: {more if self.n_rows > self.n_sampled else 'only more rows'} can tell."
        )


# Rows of the sample that a group needs to be seen: as many as a row has neighbours.
FEWEST = 20
# Views that a sentence names, and agreement with the clusters that is nothing.
_NAMED, _NOTHING = 4, 0.05
_NOISE = (
    "No structure that holds on held-out rows was found: features agree on which rows are alike "
    "no more than by chance. Clusters and ranking are those of noise. Learn from more rows, or "
    "check what the features are and how they are prepared (--prepare)."
)
_UNTESTED = (
    "Whether there is structure cannot be tested: that takes at least four rows, and four features "
    "or another view."
)
_two = two_digits


def _first(names: Sequence[Any], what: str = "") -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - _NAMED:,} more{what}" if len(names) > _NAMED else ""
    return f"{', '.join(map(str, names[:_NAMED]))}{more}"


def _listed(views: Sequence[str], values: Mapping[str, float]) -> str:
    shown = [f"{view} ({_two(values[view])})" for view in views]
    if len(views) > _NAMED:
        return _first(shown)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
