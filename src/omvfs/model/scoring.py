"""Scores of features by a state: each by itself, repetition discounted, or as a set."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from omvfs.model.arrays import Array, Block, IntArray, dense_if_full, significant
from omvfs.model.presence import of_those, who_has
from omvfs.model.ranking.repetition import Repetition
from omvfs.model.ranking.request import Ranking
from omvfs.model.ranking.separation import (
    ClusterMeans,
    cluster_means,
    explained_shares,
    separation,
)
from omvfs.model.ranking.signal import score_in_order, signal_order
from omvfs.model.settings import Settings
from omvfs.model.state import Scales, State


def relevances(
    state: State, V: Sequence[Array], ranking: Ranking, settings: Settings
) -> list[Array]:
    """Return the score of every feature by itself, per view; those of a callable as they are."""
    views, dtype = state.statistics.views, state.statistics.dtype
    if ranking.asks_rows and len(state.reservoir.live):
        return [significant(separation(means), dtype) for _, _, means in _means(state, settings)]
    found = [
        ranking.relevance(V_v, view.diagonal_masses, view.weight_sums)
        for view, V_v in zip(views, V, strict=True)
    ]
    if callable(ranking.criterion):
        return found
    return [significant(scores, dtype).astype(scores.dtype, copy=False) for scores in found]


def worths(
    found: Sequence[Repetition], order: Sequence[IntArray], state: State, settings: Settings
) -> list[Array]:
    """Return what features are worth beside those of other views, each view's in some order.

    η², the share of a feature's variance that the clusters explain, times what repetition leaves of
    its score. Neither has units.

    Parameters
    ----------
    found : sequence of Repetition
        Of each view, by separation, whatever the order is by.
    order : sequence of int array of shape (D_v,)
        The features of each view by their ranks.
    state : State
        With rows in its reservoir.
    settings : Settings
    """
    parts = zip(found, order, _means(state, settings), strict=True)
    return [
        (explained_shares(means) * each.left)[places].astype(np.float64)
        for each, places, (_, _, means) in parts
    ]


def _means(state: State, settings: Settings) -> list[tuple[Block, Array, ClusterMeans]]:
    """Return for each view the rows of the reservoir that have it, scaled, with their shares.

    And the means of its clusters.
    """
    sample = state.reservoir.take(state.reservoir.live)
    scales = Scales.of(state.statistics, settings)
    X, B = scales.rows(sample.blocks), scales.features(state.statistics.B)
    found = []
    for v, (X_v, B_v, view) in enumerate(zip(X, B, state.statistics.views, strict=True)):
        rows = who_has(sample.present, v)
        U = sample.counted if rows is None else sample.counted.take(rows)
        X_v, shares = dense_if_full(of_those(X_v, rows)), of_those(sample.shares, rows)
        found.append((X_v, shares, cluster_means(X_v, U, shares, B_v, view.weight_sums)))
    return found


def discounted(
    own: Sequence[Array],
    rows: Sequence[Block],
    ranking: Ranking,
    strength: float | None = None,
    rest: bool = True,
) -> list[Repetition]:
    """Return scores, repetition discounted as asked for, or by another strength.

    Of features that are not taken, only if the rest is asked for; see `find_repetition`.
    """
    if not rows or ranking.diversity == 0:
        return [Repetition.none(scores) for scores in own]
    by = ranking if strength is None else replace(ranking, diversity=strength)
    pairs = zip(own, map(dense_if_full, rows), strict=True)
    return [by.discount(scores, X_v, rest) for scores, X_v in pairs]


def as_set(
    found: Sequence[Repetition],
    own: Sequence[Array],
    state: State,
    ranking: Ranking,
    settings: Settings,
) -> list[Array]:
    """Return scores of features taken as a set, those not taken behind by their scores so far."""
    parts = zip(found, own, _means(state, settings), strict=True)
    return [
        score_in_order(
            signal_order(X_v, shares, means, scores, ranking.n_steps), each.scores, scores
        )
        for each, scores, (X_v, shares, means) in parts
    ]
