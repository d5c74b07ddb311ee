"""What can be told of a stream at once, on the way: clusters and features by the sums alone."""

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from omvfs.model.arrays import Array, IntArray
from omvfs.model.ranking.criteria import ByV, Criterion, relevance
from omvfs.model.ranking.explanation import heights, strengths
from omvfs.model.state import Scales, State
from omvfs.model.view_statistics import ViewStatistics
from omvfs.parameters import whole
from omvfs.selectors.fitted import FittedState
from omvfs.selectors.stream import Journal
from omvfs.threads import alone, on_one_thread

# Features scored together, so that no copy of B is made.
_STRIP = 16_384
# The best features of a view, among which those that tell of a cluster are looked for.
_LOOKED_AT = 50


@dataclass(frozen=True)
class Glimpse:
    """What the sums of a stream tell at once.

    Attributes
    ----------
    n_rows : int
        Rows seen.
    features : dict of str to list of (str or int)
        By view, the features that are best by themselves, the best first; by number where they have
        no names.
    clusters : list of list of (str, str or int)
        Of each cluster, views and features that its rows have more of than others.
    shares : list of float, or None
        Of the rows, those of each cluster, as the reservoir has them; None without one.
    """

    n_rows: int
    features: dict[str, list[str | int]]
    clusters: list[list[tuple[str, str | int]]]
    shares: list[float] | None


class TellsAtOnce:
    """Adds `glimpse` to the estimator."""

    criterion: Criterion
    _journal: Journal[FittedState]

    @alone
    @on_one_thread
    def glimpse(self, n: int = 10) -> Glimpse:
        """Return what the sums tell at once, while a stream is learned from.

        Clusters are as they are, not clustered anew, and features are scored by themselves: nothing
        that repeats another steps aside, and where `criterion` asks rows, it is ``"balanced"``. So
        it takes milliseconds where a ranking takes seconds, and the ranking will differ.

        Parameters
        ----------
        n : int, default=10
            Features of a view, and of a cluster, at most.

        Returns
        -------
        Glimpse

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> rows = [[3, 1, 0, 0, 1], [2, 1, 0, 0, 1], [0, 0, 3, 0, 1], [0, 0, 3, 1, 1]] * 10
        >>> found = OMVFS(2, random_state=0).partial_fit({"text": rows}).glimpse(2)
        >>> found.features, found.clusters, found.shares
        ({'text': [2, 0]}, [[('text', 2), ('text', 3)], [('text', 0), ('text', 1)]], [0.5, 0.5])
        """
        check_is_fitted(self)
        known, n = self._journal.known, whole("n", n, least=1)
        named = isinstance(self.criterion, str) and self.criterion in get_args(ByV)
        rule: Criterion = self.criterion if named else "balanced"
        # V of the paper's solver is of scaled columns already.
        scaled = None if known.state.V else Scales.of(known.state.statistics, known.settings)
        scales = None if scaled is None else scaled.columns
        features: dict[str, list[str | int]] = {}
        about: list[tuple[str, str | int]] = []
        heads = []
        for v, (view, sums) in enumerate(
            zip(known.schema.names, known.state.statistics.views, strict=True)
        ):
            scores = _scores(known.state, v, rule)
            best = _best(scores if scales is None else scores * scales[v], max(n, _LOOKED_AT))
            names = known.schema.feature_names[v]
            own = [j if names is None else names[j] for j in best.tolist()]
            features[view] = own[:n]
            about += [(view, each) for each in own]
            heads.append(heights(strengths(sums.B[best], sums.weight_sums), sums.weight_sums))
        # Those that are alike but for rounding stay in the order of their scores.
        height = np.concatenate(heads).round(6)
        clusters = []
        for k in range(known.state.n_clusters):
            first = np.argsort(-height[:, k], kind="stable")[:n]
            clusters.append([about[i] for i in first[height[first, k] > 0].tolist()])
        return Glimpse(known.n_rows, features, clusters, _shares(known.state))


def _scores(state: State, v: int, rule: Criterion) -> NDArray[np.float64]:
    """Return the score of every feature of a view by itself, strip by strip, of B unscaled."""
    view, given = state.statistics.views[v], state.V[v] if state.V else None
    found = np.zeros(view.n_features)
    for start in range(0, view.n_features, _STRIP):
        strip = slice(start, start + _STRIP)
        V = _unshrunk(view, strip) if given is None else given[strip]
        found[strip] = relevance(V, view.diagonal_masses, view.weight_sums, rule)
    return found


def _unshrunk(view: ViewStatistics, strip: slice) -> Array:
    """Return rows of V before sparsity shrinks them, B/√masses."""
    B, roots = view.B[strip], np.sqrt(view.diagonal_masses).astype(view.B.dtype)
    return np.divide(B, roots, out=np.zeros_like(B), where=roots > 0)


def _best(scores: NDArray[np.float64], n: int) -> IntArray:
    """Return the places of the n highest scores above 0, the best first.

    Examples
    --------
    >>> _best(np.array([0.2, 0.9, 0.0, 0.2]), 2).tolist(), _best(np.array([0.0, 1.0]), 9).tolist()
    ([1, 0], [1])
    """
    if len(scores) > n:
        least = np.partition(scores, -n)[-n]
        found = np.flatnonzero((scores >= least) & (scores > 0))
    else:
        found = np.flatnonzero(scores > 0)
    return found[np.argsort(-scores[found], kind="stable")[:n]]


def _shares(state: State) -> list[float] | None:
    """Return the share of rows of each cluster, as the reservoir has them; None without one."""
    live = state.reservoir.live
    if not len(live):
        return None
    labels, left = state.reservoir.counted.labels[live], state.reservoir.shares[live]
    counts = np.bincount(labels, left, state.n_clusters)
    shares: list[float] = (counts / counts.sum()).tolist()
    return shares
