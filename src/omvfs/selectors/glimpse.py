"""What can be told of a stream at once, on the way: clusters and features by the sums alone."""

from dataclasses import dataclass
from typing import cast, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from omvfs.fitted import FittedState
from omvfs.model.ranking.criteria import ByV, Criterion
from omvfs.model.ranking.explanation import heights, strengths
from omvfs.model.scoring import best_at_once
from omvfs.model.state import Scales, State
from omvfs.parameters import whole
from omvfs.selector import Journal
from omvfs.threads import alone, on_one_thread

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
        named = self.criterion in get_args(ByV)
        rule: ByV = cast(ByV, self.criterion) if named else "balanced"
        scales = Scales.of(known.state.statistics, known.settings)
        features: dict[str, list[str | int]] = {}
        about: list[tuple[str, str | int]] = []
        heads = []
        for v, (view, sums) in enumerate(
            zip(known.schema.names, known.state.statistics.views, strict=True)
        ):
            most = max(n, _LOOKED_AT)
            best = best_at_once(known.state, v, scales, known.settings, rule, most)
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


def _shares(state: State) -> list[float] | None:
    """Return the share of rows of each cluster, as the reservoir has them; None without one."""
    live = state.reservoir.live
    if not len(live):
        return None
    labels, left = state.reservoir.counted.labels[live], state.reservoir.shares[live]
    counts = np.bincount(labels, left, state.n_clusters)
    shares: list[float] = (counts / counts.sum()).tolist()
    return shares
