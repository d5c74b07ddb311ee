"""Why a feature was chosen, and what a cluster is about, in the names of the data."""

import numbers
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from omvfs.constraints import resolve_ranking
from omvfs.data.schema import Schema, listed
from omvfs.fitted import FittedState
from omvfs.model.ranking.explanation import displaced_by, place_of
from omvfs.model.ranking.request import Ranking
from omvfs.parameters import whole
from omvfs.selector import StreamSelector
from omvfs.threads import alone, on_one_thread

# Of this correlation, squared, a better feature tells half of the variance of another.
_REPEATS = 0.5
# Features that are named as displaced, and clusters that a text names.
_DISPLACED, _CLUSTERS = 5, 4
# Names among which one like a misspelt one is looked for.
_LIKE = 20_000


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a feature has the rank it has; shown as a few lines of text.

    Attributes
    ----------
    view : str
    feature : str or int
        Its name, or its number if it has none.
    number : int
        Its column in the view.
    rank, n_features : int
        Its rank in the view, 1 = best, and of how many.
    score : float
    selected : bool
    strengths : tuple of float
        For each cluster, how much of the feature its rows have, over what all rows have: its row of
        V over that of a feature that every row has to the same amount. 1 is even, 0 not at all. In
        a view raised by ``negative="shift"`` amounts are above the lowest value of the column.
    cluster : int or None
        The cluster it stands for most: of those above 1 the one that carries most of its variance
        between clusters, size × (strength − 1)². None if it is even.
    share_of_rows : float or None
        Of the rows, as far as they are not forgotten, those in which it is not 0, estimated on the
        reservoir. With ``negative="clip"`` negative values are 0; with ``"shift"`` it is the value
        as it came, not the raised one, that must not be 0. None without a reservoir.
    repeats : str or int or None
        Of the better features of the view, the one it correlates with most; None if with none,
        without a reservoir or with ``diversity=0``.
    correlation : float or None
        With that one.
    displaced : tuple of (str or int)
        The best features, five at most, that repeat this one more than any other and lost more than
        half of their score to it.
    ranks : mapping of str to (int or None)
        Its rank by each criterion if repetition were not discounted: that of
        ``set_params(criterion=rule, diversity=0)``. None by "separation" without a reservoir.
    is_recent : bool
        Whether the stream has drifted and it owes its score to the most recent rows. `strengths`
        and `share_of_rows` are of all rows.
    """

    view: str
    feature: str | int
    number: int
    rank: int
    n_features: int
    score: float
    selected: bool
    strengths: tuple[float, ...]
    cluster: int | None
    share_of_rows: float | None
    repeats: str | int | None
    correlation: float | None
    displaced: tuple[str | int, ...]
    ranks: Mapping[str, int | None]
    is_recent: bool

    def __str__(self) -> str:
        chosen = "selected" if self.selected else "not selected"
        place = f"rank {self.rank:,} of {self.n_features:,}, score {self.score:.4g}, {chosen}"
        lines = [
            f"Feature {self.feature!r} of view {self.view!r}: {place}",
            f"  stands for  {self._clusters()}",
        ]
        if self.share_of_rows is not None:
            lines.append(f"  found in    {self.share_of_rows:.1%} of the rows")
        if self.repeats is not None:
            lines.append(f"  repeats     {self.repeats!r} most, r = {self.correlation:.2f}")
        if self.displaced:
            lines.append(f"  displaced   {listed(self.displaced)}")
        ranks = [f"{rule} {rank:,}" for rule, rank in self.ranks.items() if rank is not None]
        lines.append(f"  by itself   {', '.join(ranks)}")
        if self.is_recent:
            lines.append("  recent      it owes its score to the most recent rows")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _clusters(self) -> str:
        """Name the cluster it stands for most, and others above the even share."""
        if self.cluster is None:
            return "no cluster more than another"
        others = [k for k, s in enumerate(self.strengths) if s > 1 and k != self.cluster]
        others.sort(key=lambda k: -self.strengths[k])
        named = [self.cluster, *others][:_CLUSTERS]
        return ", ".join(f"cluster {k} ({self.strengths[k]:.2f} × even)" for k in named)


class ClusterFeature(NamedTuple):
    """A feature that stands for a cluster.

    Attributes
    ----------
    view : str
    feature : str or int
        Its name, or its number if it has none.
    strength : float
        How much of it the rows of the cluster have, over what all rows have.
    correlation : float or None
        With being a row of the cluster; None without a reservoir.
    """

    view: str
    feature: str | int
    strength: float
    correlation: float | None


@dataclass(frozen=True)
class FeatureNotes:
    """What a table tells of every feature of a view beside its rank.

    Attributes
    ----------
    cluster : int array of shape (D,)
        The cluster it stands for most, −1 if none.
    share_of_rows : array of shape (D,), or None
        Of the rows, those that have it; None without a reservoir.
    repeats : int array of shape (D,)
        The better feature that it repeats most, if r² is at least ½, so that this one tells half of
        its variance; else −1.
    """

    cluster: NDArray[np.intp]
    share_of_rows: NDArray[np.float64] | None
    repeats: NDArray[np.intp]


class ExplainingSelector(StreamSelector[FittedState]):
    """Base of OMVFS that adds why features were chosen, and what clusters are about."""

    @alone
    @on_one_thread
    def explain(self, view: str, feature: str | int) -> Explanation:
        """Return why a feature has the rank it has.

        Parameters
        ----------
        view : str
            Name of the view.
        feature : str or int
            Name of the feature, or its number in the view.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> rows = [[3, 1, 0, 0, 1], [2, 1, 0, 0, 1], [0, 0, 3, 0, 1], [0, 0, 3, 1, 1]] * 10
        >>> selector = OMVFS(2, n_features_per_view=2, random_state=0).fit({"text": rows})
        >>> selector.explain("text", 2)
        Feature 2 of view 'text': rank 1 of 5, score 0.4867, selected
          stands for  cluster 0 (1.90 × even)
          found in    50.0% of the rows
          displaced   0, 1, 3
          by itself   separation 1, balanced 1, information 1, contrast 1, norm 1
        >>> why = selector.explain("text", 0)
        >>> why.repeats, round(why.correlation, 2), why.selected
        (2, -0.96, False)
        """
        check_is_fitted(self)
        v = self.schema_.number_of(view)
        j = _number_of_feature(self.schema_, v, feature)
        known, ranking = self._journal.known, self._ranking
        queries, found = known.queries, known.queries.repetition(ranking)[v]
        rank = place_of(found.scores, j)
        shares = queries.shares_of_rows(v, known.zeros(v))
        repeated, own = int(found.repeated[j]), np.array([j])
        displaced = displaced_by(found, j, _DISPLACED).tolist()
        cluster = int(queries.leading_clusters(v, own)[0])
        return Explanation(
            view=view,
            feature=_name(self.schema_, v, j),
            number=j,
            rank=rank,
            n_features=self.schema_.widths[v],
            score=float(found.scores[j]),
            selected=rank <= self._sizes()[view],
            strengths=tuple(queries.strengths(v, own)[0].tolist()),
            cluster=None if cluster < 0 else cluster,
            share_of_rows=None if shares is None else float(shares[j]),
            repeats=None if repeated < 0 else _name(self.schema_, v, repeated),
            correlation=None if repeated < 0 else float(found.correlations[j]),
            displaced=tuple(_name(self.schema_, v, i) for i in displaced),
            ranks=queries.ranks(v, j, ranking),
            is_recent=queries.is_recent(v, j, float(found.own[j]), ranking),
        )

    @alone
    @on_one_thread
    def cluster_features(
        self, k: int | None = None, n: int = 10, *, view: str | None = None
    ) -> list[ClusterFeature] | dict[int, list[ClusterFeature]]:
        """Return what clusters are about: the selected features that stand for them most.

        Of the selected features of all views, those that rows of the cluster have more of than
        others, by their correlation with being in it, over the rows of the reservoir. A feature
        that all rows have correlates with no cluster, one that hardly any row has with none by
        much, and units do not matter, so that views compare. Without a reservoir, by how far the
        mean in the cluster is above that of all rows, relative to it, times the root of p/(1 − p)
        for a cluster of a share p.

        Parameters
        ----------
        k : int or None, default=None
            The cluster, as `predict` numbers it; None for all.
        n : int, default=10
            Features of a cluster at most.
        view : str or None, default=None
            Of this view only; None for the best of all views.

        Returns
        -------
        list of ClusterFeature, or dict of int to such a list
            Best first; of all clusters by their numbers.

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> rows = [[3, 1, 0, 0, 1], [2, 1, 0, 0, 1], [0, 0, 3, 0, 1], [0, 0, 3, 1, 1]] * 10
        >>> selector = OMVFS(2, n_features_per_view=3, random_state=0).fit({"text": rows})
        >>> about = selector.cluster_features()
        >>> {k: [each.feature for each in own] for k, own in about.items()}
        {0: [2, 3], 1: [0]}
        >>> selector.cluster_shares_
        array([0.5, 0.5])
        """
        check_is_fitted(self)
        K, n = self._journal.known.queries.K, whole("n", n, least=1)
        views = [view] if view is not None else list(self.schema_.names)
        if k is None:
            return self._about(range(K), n, views)
        if not _is_number(k, below=K):
            raise ValueError(f"Got k={k!r}; expected a cluster from 0 to {K - 1}, or None for all.")
        return self._about([int(k)], n, views)[int(k)]

    @property
    @alone
    @on_one_thread
    def cluster_shares_(self) -> NDArray[np.float64] | None:
        """Share of rows of each cluster, estimated on the reservoir; None without one."""
        check_is_fitted(self)
        return self._journal.known.queries.cluster_shares()

    @alone
    @on_one_thread
    def feature_notes(self) -> dict[str, FeatureNotes]:
        """Return what a table tells of every feature beside its rank, by view name.

        Worked out for all features at once; `explain` tells more of one.

        Returns
        -------
        dict of str to FeatureNotes

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> rows = [[3, 1, 0, 0, 1], [2, 1, 0, 0, 1], [0, 0, 3, 0, 1], [0, 0, 3, 1, 1]] * 10
        >>> notes = OMVFS(2, random_state=0).fit({"text": rows}).feature_notes()["text"]
        >>> notes.cluster.tolist(), notes.share_of_rows.tolist(), notes.repeats.tolist()
        ([1, 1, 0, 0, -1], [0.5, 0.5, 0.5, 0.25, 1.0], [2, 2, -1, -1, -1])
        """
        check_is_fitted(self)
        known, ranking = self._journal.known, self._ranking
        notes = {}
        for v, (name, found) in enumerate(
            zip(self.schema_.names, known.queries.repetition(ranking), strict=True)
        ):
            worth_telling = np.square(found.correlations) >= _REPEATS
            notes[name] = FeatureNotes(
                known.queries.leading_clusters(v),
                known.queries.shares_of_rows(v, known.zeros(v)),
                np.where(worth_telling, found.repeated, -1),
            )
        return notes

    def _more_columns(self, order: Mapping[str, NDArray[np.intp]]) -> dict[str, Any]:
        notes = self.feature_notes()
        clusters: list[int | None] = []
        shares: list[float | None] = []
        repeats: list[str | None] = []
        for view, places in order.items():
            own, names = notes[view], self.schema_.names_of(view)
            clusters += [None if k < 0 else k for k in own.cluster[places].tolist()]
            known = own.share_of_rows
            shares += [None] * len(places) if known is None else known[places].tolist()
            repeats += [None if j < 0 else names[j] for j in own.repeats[places].tolist()]
        return {"cluster": clusters, "share_of_rows": shares, "repeats": repeats}

    @property
    @abstractmethod
    def _all_params(self) -> dict[str, Any]:
        """The parameters, with those that are not for the user to choose."""

    @property
    def _ranking(self) -> Ranking:
        """How features are ranked, by the parameters as they are now."""
        return resolve_ranking(self._all_params, self.schema_)

    def _about(
        self, clusters: Sequence[int], n: int, views: Sequence[str]
    ) -> dict[int, list[ClusterFeature]]:
        """Return the features of some views that stand for clusters most, n of each at most."""
        entries: list[tuple[str, str | int]] = []
        parts, sizes = [], self._sizes()
        scores = self._journal.known.queries.scores(self._ranking)
        for view in views:
            v = self.schema_.number_of(view)
            # The better ranked first, so that it stays before others that stand as high.
            features = np.argsort(-scores[v], kind="stable")[: sizes[view]]
            entries += [(view, _name(self.schema_, v, j)) for j in features.tolist()]
            parts.append(self._journal.known.queries.standing(v, features))
        strength, height = (np.concatenate(each) for each in zip(*parts, strict=True))
        has_rows = self._journal.known.queries.has_rows
        about = {}
        for k in clusters:
            best = np.argsort(-height[:, k], kind="stable")[:n]
            about[k] = [
                ClusterFeature(
                    view=entries[i][0],
                    feature=entries[i][1],
                    strength=float(strength[i, k]),
                    correlation=float(height[i, k]) if has_rows else None,
                )
                for i in best[height[best, k] > 0].tolist()
            ]
        return about


def _name(schema: Schema, v: int, j: int) -> str | int:
    """Return the name of a feature, or its number if it has none."""
    names = schema.feature_names[v]
    return j if names is None else names[j]


def _is_number(value: Any, below: int | None = None) -> bool:
    """Tell whether a value is a whole number, if there is a limit one from 0 to below it."""
    if type(value) is bool or not isinstance(value, numbers.Integral):
        return False
    return below is None or 0 <= int(value) < below


def _number_of_feature(schema: Schema, v: int, feature: Any) -> int:
    """Return the column of a feature that is given by name or by number."""
    view, width, names = schema.names[v], schema.widths[v], schema.feature_names[v]
    span = f"a number from 0 to {width - 1:,}"
    if _is_number(feature, below=width):
        return int(feature)
    if _is_number(feature):
        raise ValueError(f"View {view!r} has {width:,} features; got {feature}, expected {span}.")
    if not isinstance(feature, str):
        kind = type(feature).__name__
        raise TypeError(f"Got a feature of view {view!r} as {kind}; expected a name or {span}.")
    if names is None:
        raise ValueError(
            f"The features of view {view!r} have no names; got {feature!r}, expected {span}."
        )
    if feature in names:
        return names.index(feature)
    raise ValueError(
        f"View {view!r} has no feature {feature!r}; expected one of its {width:,} names, or "
        f"{span}.{_meant(feature, names)}"
    )


def _meant(got: Any, names: Sequence[str]) -> str:
    """Return a question after names like one that is not among them, if there are any."""
    if not isinstance(got, str):
        return ""
    # Of very many names only those that begin alike: to compare all would take minutes.
    alike = names if len(names) <= _LIKE else (n for n in names if n[:1] == got[:1])
    like = get_close_matches(got, list(islice(alike, _LIKE)))
    return f" Did you mean {' or '.join(map(repr, like))}?" if like else ""
