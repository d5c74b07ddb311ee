"""Scores of features by a state: each by itself, repetition discounted, or as a set."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, dense_if_full, significant
from omvfs.model.constrained.half_steps import inverse_roots, update_v
from omvfs.model.presence import of_those, who_has
from omvfs.model.ranking.criteria import ByV, relevance
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
from omvfs.model.state import Scales, State, Update
from omvfs.model.stream.snapshots import Snapshot, n_top, overlap
from omvfs.model.view_statistics import ViewStatistics

# On the way, features of a view that are scored: those of the largest contrast.
_CANDIDATES = 1000
# Features at a time, so that they stay in the cache.
_PIECE = 4096


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


def with_snapshot(before: State, update: Update[State], settings: Settings) -> Update[State]:
    """Return what a chunk changes, its rows counted, with a snapshot if one is due.

    Of what the chunk left if the reservoir was clustered anew, as that costs more than ranking. Of
    what it came upon, if there are rows enough since the last snapshot: what it left is not in
    the arrays yet.

    Parameters
    ----------
    before : State
        What the chunk came upon.
    update : Update
        What it changes.
    settings : Settings
    """
    assert update.info is not None
    anew, info, U = update.info.reclustered, update.info, update.known.window.U[-1]
    taken, widths = before.snapshots, [view.n_features for view in before.statistics.views]
    due = taken.due(before.statistics.n_rows, widths, fast=settings.graph == "none")
    if anew:
        taken = taken.count(U)
    if due or anew:
        now = snapshot(update.known if anew else before, settings, taken.shares)
        share = overlap(taken.taken[-1].top, now.top) if taken.taken else np.nan
        info = replace(info, overlap=None if np.isnan(share) else share)
        taken = taken.add(now)
    if not anew:
        taken = taken.count(U)
    return replace(update, known=replace(update.known, snapshots=taken), info=info)


def snapshot(
    state: State, settings: Settings, shares: NDArray[np.float32] | None = None
) -> Snapshot:
    """Return the best features as the statistics tell at once, repetition not discounted.

    By the norm of V with the paper's solver, else by ``balanced``. A feature whose score is 0 is
    not among them.

    Parameters
    ----------
    state : State
    settings : Settings
    shares : array of shape (K,), optional
        Of clusters, among the rows since the snapshot before; by default those that were counted.
    """
    n_views, scales = len(state.statistics.views), Scales.of(state.statistics, settings)
    top = np.full((n_views, n_top(n_views)), -1, np.int32)
    rule: ByV = "norm" if settings.solver == "paper" else "balanced"
    for v, own in enumerate(top):
        best = best_at_once(state, v, scales, settings, rule, len(own))
        own[: len(best)] = best
    shares = state.snapshots.shares if shares is None else shares
    return Snapshot(state.statistics.n_rows, top, shares)


def best_at_once(
    state: State, v: int, scales: Scales, settings: Settings, rule: ByV, n: int
) -> IntArray:
    """Return the best features of a view by themselves, as the statistics tell at once.

    Parameters
    ----------
    state : State
    v : int
        The view.
    scales : Scales
        Of its statistics.
    settings : Settings
    rule : {"norm", "contrast", "information", "balanced"}
    n : int
        Features at most; fewer if others have a score of 0.

    Returns
    -------
    int array
        Columns, the best first.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        features, scores = _scored_at_once(state, v, scales, settings, rule, max(n, _CANDIDATES))
    order = np.argsort(-scores, kind="stable")[:n]
    return features[order[scores[order] > 0]]


def _scored_at_once(
    state: State, v: int, scales: Scales, settings: Settings, rule: ByV, most: int
) -> tuple[IntArray, NDArray[np.floating[Any]]]:
    """Return so many features of a view that may be the best, in rising order, and scores."""
    view = state.statistics.views[v]
    features = np.arange(view.n_features)
    if state.V:
        # V of the paper's solver, which is of scaled columns already.
        return features, relevance(state.V[v], view.diagonal_masses, view.weight_sums, rule)
    by = None if scales.columns is None else scales.columns[v]
    if len(features) > most:
        squares = _squares(view, rule)
        squares = squares if by is None else squares * np.square(by)
        features = np.sort(np.argpartition(-squares, most)[:most])
    B = view.B[features] * scales.views[v]
    if by is not None:
        B *= by[features, np.newaxis]
    V = update_v(view.masses, B, settings.sparsity[v])
    return features, relevance(V, view.diagonal_masses, view.weight_sums, rule)


def _squares(view: ViewStatistics, rule: ByV) -> NDArray[np.float64]:
    """Return the squared `contrast` of every feature of a view, as fast as it can be read.

    Or its squared `norm`, if that is what it is ranked by.
    """
    roots = inverse_roots(view.masses, np.dtype(np.float64))
    even = view.weight_sums * roots
    even = even * roots / max(float(np.linalg.norm(even)), np.finfo(float).tiny)
    found = np.empty(view.n_features)
    for start in range(0, len(found), _PIECE):
        B = view.B[start : start + _PIECE]
        squares = np.square(B, dtype=np.float64) @ np.square(roots)
        found[start : start + _PIECE] = squares - (0 if rule == "norm" else np.square(B @ even))
    return found
