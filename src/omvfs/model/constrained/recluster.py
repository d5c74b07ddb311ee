"""Cluster the reservoir anew, and let all that is known follow.

Done seldom on the way, with little effort, and with all effort when something is asked.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from omvfs.model.arrays import Array, Block, in_ties, near_largest, project, unit_rows
from omvfs.model.columns import on_own_columns
from omvfs.model.constrained.alternate import (
    PriorStatistics,
    best_cluster,
    in_clusters,
    joined,
    solve,
    unit_directions,
)
from omvfs.model.constrained.directions import completed, completed_matrices
from omvfs.model.constrained.init import graph_start, mean_directions, spectral_start
from omvfs.model.constrained.number import ClusterCurve, cluster_curve
from omvfs.model.constrained.view_weights import view_weights
from omvfs.model.graph.term import agreement, graph_term, neighbour_graphs, no_graph
from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.partitions import entropy, every_other, shared_information
from omvfs.model.presence import Presence, can_judge, of_those
from omvfs.model.settings import AUTO, Settings
from omvfs.model.state import B_sq_norms, Scales, State
from omvfs.model.statistics import Statistics
from omvfs.model.stream.reservoir import Reservoir

# The reservoir is clustered anew whenever the stream has grown by the first factor while the
# reservoir fills, when it is full, and whenever the stream has grown by the second factor after
# that.
_FILLING, _GROWTH = 4.0, 64.0
# On the way, it is clustered with less effort than when something is asked: with one start in so
# many, and at most so many iterations of the solver.
_STARTS, ITERATIONS = 4, 10
# After so many iterations only the start of the most merit goes on.
_HEAT = 6
# Rows that a cluster must have on average to be found, or to be judged by.
ROWS_PER_CLUSTER = 10


def recluster_due(state: State, n_rows: int) -> bool:
    """Tell whether the reservoir of a state is to be clustered anew after so many rows."""
    capacity = state.reservoir.capacity
    if state.reclustered_at < capacity:
        return n_rows >= min(capacity, _FILLING * state.reclustered_at)
    return n_rows >= _GROWTH * state.reclustered_at


def reclustered(
    state: State, settings: Settings, near: Sequence[sp.csr_array | None] = ()
) -> State:
    """Return the state with its clusters as good as they can be, for what is asked of them.

    Parameters
    ----------
    state : State
    settings : Settings
    near : sequence of (csr_array, or None)
        What `nearest` has found of the live rows of the reservoir, by view, if it was asked.

    Examples
    --------
    >>> from omvfs import OMVFS
    >>> from omvfs.model.constrained.step import step
    >>> from omvfs.constraints import resolve
    >>> settings = resolve(OMVFS(2, n_init=2)._all_params, ["x"])
    >>> rng = np.random.default_rng(0)
    >>> state = State.empty([5], np.dtype(float), settings, rng)
    >>> for _ in range(3):
    ...     update = step(state, [rng.random((20, 5))], settings)
    ...     state = update.commit()
    >>> update.info.reclustered, state.reclustered_at, reclustered(state, settings).reclustered_at
    (False, 20, 60)
    """
    return recluster(replace(state, rng=copy.deepcopy(state.rng)), settings, near=near)


def number_of_clusters(
    state: State, settings: Settings, on_the_way: bool = False
) -> ClusterCurve | None:
    """Return what the rows of the reservoir tell of how many clusters there are.

    None if they are not asked, or are all forgotten. The generator is not drawn from.
    """
    live = state.reservoir.live
    if settings.n_clusters != AUTO or not len(live):
        return None
    sample = state.reservoir.take(live)
    told = settings.weighing(decided_weights(sample.blocks, settings, sample.present))
    rows = Scales.of(state.statistics, told).rows(sample.blocks)
    return cluster_curve(rows, state.rng, told, on_the_way, sample.present)


def fresh_start(
    X: Sequence[Block],
    rng: np.random.Generator,
    settings: Settings,
    on_the_way: bool,
    present: Presence = None,
) -> list[Array]:
    """Return directions to start from that owe nothing to those so far."""
    n_init = -(-settings.n_init // _STARTS) if on_the_way else settings.n_init
    return spectral_start(X, settings.K, rng, n_init, present)


def recluster(
    state: State,
    settings: Settings,
    on_the_way: bool = False,
    near: Sequence[sp.csr_array | None] = (),
) -> State:
    """Cluster the reservoir anew, and move the statistics to the new clusters.

    Rows in the reservoir move exactly. The rest of the statistics, whose rows are gone, moves as
    the reservoir's rows of the same cluster did. Arrays are made anew; the generator is drawn from.
    Where rows are to tell how many clusters there are, they are asked first.
    """
    live = state.reservoir.live
    if not len(live):
        return state
    sample, statistics = state.reservoir.take(live), state.statistics
    held, has = sample.blocks, sample.present
    state = replace(state, view_weights=decided_weights(held, settings, has))
    told = settings.weighing(state.view_weights)
    if (curve := number_of_clusters(state, told, on_the_way)) is not None:
        settings, told = settings.with_clusters(curve.best), told.with_clusters(curve.best)
    scales = Scales.of(statistics, told)
    scaled = scales.rows(held)
    # Other clusters than there are to be are no start.
    as_many = state.n_clusters == told.K
    known = [completed_matrices(state, settings)] if as_many else []
    found = clustered(scaled, known, state.rng, told, on_the_way, has, state.view_weights, near)
    old, new = sample.counted, _matched(found, sample.counted)
    rest = statistics.cleared()
    if statistics.n_rows > len(sample):
        without = statistics.without(Statistics.of_clusters(held, old, sample.shares, has))
        shares = moves(sample, new)
        unseen = shares.sum(axis=1) == 0
        if as_many:
            shares += np.diag(unseen)  # clusters that no row is of stay
        elif unseen.any():
            common = mean_directions(scaled, new.labels, new.n_clusters, has)
            shares[unseen] = nearest_moves(without, scales, common)[unseen]
        rest = without.relabel(shares)
    elif not as_many:
        rest = rest.relabel(np.zeros((state.n_clusters, settings.K)))
    statistics = rest.placed(held, new, sample.shares, has)
    return replace(
        state,
        statistics=statistics,
        reservoir=state.reservoir.recount(live, new),
        window=state.window if as_many else state.window.relabel(moves(sample, new)),
        reclustered_at=statistics.n_rows,
        B_sq_norms=B_sq_norms(statistics, settings),
    )


def decided_weights(
    held: Sequence[Block], settings: Settings, present: Presence
) -> tuple[float, ...]:
    """Return what views weigh by a sample of rows; empty if it is not for them to decide.

    Parameters
    ----------
    held : sequence of array or CSR matrix of shape (n, D_v)
        The rows, scaled or not.
    settings : Settings
    present : array of shape (n, n_views), or None
    """
    if not settings.decides_weights:
        return ()
    found = zip(settings.view_weight, view_weights(held, present), strict=True)
    return tuple(own if weight == AUTO else 1.0 for weight, own in found)


def clustered(
    held: Sequence[Block],
    known: Sequence[Sequence[Array]],
    rng: np.random.Generator,
    settings: Settings,
    on_the_way: bool = False,
    present: Presence = None,
    heard: Sequence[float] = (),
    near: Sequence[sp.csr_array | None] = (),
) -> Indicator:
    """Return clusters of rows, the best found from those that are known and from a fresh start.

    Parameters
    ----------
    held : sequence of array or CSR matrix of shape (n, D_v)
        The rows, their columns scaled.
    known : sequence of (sequence of array of shape (D_v, K))
        Feature matrices to start from.
    rng : Generator
        Drawn from.
    settings : Settings
    on_the_way : bool, default=False
        With little effort.
    present : array of shape (n, n_views), optional
        Which rows have which views; by default all.
    heard : sequence of float
        What views weigh, if the rows have decided that.
    near : sequence of (csr_array of shape (n, n), or None)
        What `nearest` has found of each view, if it was asked.
    """
    columns, X = zip(*map(on_own_columns, held), strict=True)
    begun = [unit_directions([V_v[c] for V_v, c in zip(V, columns, strict=True)]) for V in known]
    if present is not None:
        return clustered_in_part(X, begun, rng, settings, on_the_way, present, heard)
    max_iter = min(settings.max_iter, ITERATIONS) if on_the_way else settings.max_iter
    graphs, K = neighbour_graphs(X, settings, near), settings.K
    graph, prior = graph_term(X, settings, graphs), PriorStatistics.none(X, K)
    starts: list[tuple[list[Array], Indicator | None]] = [(each, None) for each in begun]
    starts.append((fresh_start(X, rng, settings, on_the_way), None))
    if graphs and not on_the_way:
        labels = graph_start(graphs, settings.graph_weight, K, rng, settings.n_init)
        directions = mean_directions(X, labels, K)
        starts.append((directions, in_clusters(project(X, directions), labels)))
    beta, heat = settings.sparsity, min(max_iter, _HEAT)
    options = [solve(X, start, prior, graph, beta=beta, max_iter=heat, U=U) for start, U in starts]
    unit = [unit_rows(X_v) for X_v in X]
    merits = [merit(each.U, unit, graphs, settings.graph_weight, heard=heard) for each in options]
    best = options[int(in_ties(np.array(merits)).argmax())]
    if best.n_iter < heat or heat == max_iter:
        return best.U
    directions, rest = unit_directions(best.V), max_iter - heat
    return solve(X, directions, prior, graph, beta=beta, max_iter=rest, U=best.U).U


def clustered_in_part(
    X: Sequence[Block],
    begun: Sequence[Sequence[Array]],
    rng: np.random.Generator,
    settings: Settings,
    on_the_way: bool,
    present: NDArray[np.bool_],
    heard: Sequence[float] = (),
) -> Indicator:
    """Return clusters of rows of which some lack views.

    Two ways, of which that of the most merit is taken. All rows alike, without a graph: a row that
    has one view alone has neighbours in that view only, and clusters would follow what is alike by
    chance there. Or those that have every view first, with all that they can tell, which the others
    then join by their fit.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, C_v)
        On the columns that they have.
    begun : sequence of (sequence of array of shape (C_v, K))
        Unit directions to start from.
    rng : Generator
    settings : Settings
    on_the_way : bool
        With little effort.
    present : array of shape (n, n_views)
        Which rows have which views.
    heard : sequence of float
        What views weigh, if the rows have decided that.
    """
    K, beta = settings.K, settings.sparsity
    max_iter = min(settings.max_iter, ITERATIONS) if on_the_way else settings.max_iter
    prior = PriorStatistics.none(X, K)
    starts = [*begun, fresh_start(X, rng, settings, on_the_way, present)]
    options = [
        solve(X, start, prior, no_graph, beta=beta, max_iter=max_iter, present=present)
        for start in starts
    ]
    whole = np.flatnonzero(present.all(axis=1))
    if len(whole) >= ROWS_PER_CLUSTER * K:
        U = clustered([X_v[whole] for X_v in X], begun, rng, settings, on_the_way, heard=heard)
        options.append(joined(X, whole, U, beta, present))
    unit = [unit_rows(X_v) for X_v in X]
    merits = [merit(each.fit, unit, [], [], present, heard) for each in options]
    return options[int(in_ties(np.array(merits)).argmax())].U


def moves(sample: Reservoir, new: Indicator) -> Array:
    """Return what share of each cluster goes to which, by the rows of a sample.

    Parameters
    ----------
    sample : Reservoir
        With the clusters that its rows were counted in.
    new : Indicator
        The clusters that they are in now.

    Returns
    -------
    array of shape (K, K')
        Rows sum to 1, or to 0 where no row is of the cluster.
    """
    old = sample.counted
    found = np.zeros((old.n_clusters, new.n_clusters))
    np.add.at(found, (old.labels, new.labels), sample.shares * np.square(old.weights))
    totals = found.sum(axis=1, keepdims=True)
    shares: Array = np.divide(found, totals, out=found, where=totals > 0)
    return shares


def _matched(U: Indicator, old: Indicator) -> Indicator:
    """Return U with its clusters numbered so that as much weight as possible keeps its number.

    Of fewer clusters than before the numbers close up, of more the new ones come behind.
    """
    overlap = np.zeros((U.n_clusters, old.n_clusters))
    np.add.at(overlap, (U.labels, old.labels), np.square(old.weights))
    own, numbers = linear_sum_assignment(-overlap)
    if U.n_clusters != old.n_clusters:
        before = np.full(U.n_clusters, old.n_clusters)
        before[own] = numbers
        numbers = np.argsort(np.argsort(before, kind="stable"), kind="stable")
    return Indicator(numbers[U.labels], U.weights, U.n_clusters)


def nearest_moves(statistics: Statistics, scales: Scales, directions: Sequence[Array]) -> Array:
    """Return where clusters go whose rows are gone: to the one that is most like them.

    Parameters
    ----------
    statistics : Statistics
        With their sums.
    scales : Scales
    directions : sequence of array of shape (D_v, K')
        Of the clusters to go to.

    Returns
    -------
    array of shape (K, K')
    """
    B = completed(scales.features(statistics.B), statistics)
    labels = best_cluster(project([B_v.T for B_v in B], directions)).labels
    return np.eye(directions[0].shape[1])[labels]


# Neighbours that share clusters no further than this tell nothing of them: those of rows that are
# all much alike are a few that stand in the midst.
_NOTHING = 0.05


def merit(
    U: Indicator,
    X: Sequence[Block],
    graphs: Sequence[sp.csr_array],
    weights: Sequence[float],
    present: Presence = None,
    heard: Sequence[float] = (),
) -> float:
    """Return how good clusters are: four things that good ones have, multiplied.

    What they explain, how evenly they share the rows, how well each view alone foretells them for
    other rows, and, with a graph, how far neighbours share them. Each by itself is a poor guide:
    the first likes small clusters of near duplicates, the second any even cut, the third few and
    plain ones, the last those of one view.

    Parameters
    ----------
    U : Indicator
        Clusters, with weights in units of their directions.
    X : sequence of array or CSR matrix of shape (n, D_v)
        The rows, of unit norm in each view.
    graphs : sequence of csr_array
        Ŵ_v of each view; none without a graph.
    weights : sequence of float
        α_v of each view, by which it has a say in how far neighbours agree.
    present : array of shape (n, n_views), optional
        Which rows have which views; by default all. What a view foretells is told by those that
        have it and another.
    heard : sequence of float
        What each view weighs in how well views foretell clusters; by default all the same.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> good, bad = (
    ...     Indicator(np.array(labels), np.ones(4), 2) for labels in ([0, 0, 1, 1], [0, 0, 0, 1])
    ... )
    >>> merit(good, [X], [], []) > merit(bad, [X], [], [])
    True
    """
    found = float(U.masses.sum()) * evenness(U)
    rows = [can_judge(present, v) for v in range(len(X))]
    known = [
        foretold(of_those(X_v, own), U if own is None else U.take(own))
        for X_v, own in zip(X, rows, strict=True)
    ]
    found *= float(np.average(known, weights=heard) if len(set(heard)) > 1 else np.mean(known))
    if graphs:
        agree = float(np.average([agreement(W, U) for W in graphs], weights=weights))
        found *= max(agree, _NOTHING)
    return found


def evenness(U: Indicator) -> float:
    """Return the entropy of the shares of the clusters, 1 if all are alike.

    Examples
    --------
    >>> evenness(Indicator(np.array([0, 0, 1, 1]), np.ones(4), 2))
    1.0
    """
    shares = np.bincount(U.labels, minlength=U.n_clusters) / max(1, len(U.labels))
    return entropy(shares) / float(np.log(max(2, U.n_clusters)))


def foretold(X: Block, U: Indicator) -> float:
    """Return how much of the clusters of one half of the rows the other half foretells.

    A row is foretold to be in the cluster whose rows of the other half have the mean nearest to it
    by cosine; a half has every other row of each cluster, whatever the order of the clusters.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
        The rows in one view, of unit norm.
    U : Indicator

    Returns
    -------
    float
        Normalised mutual information of clusters and what is foretold, mean of both halves.
    """
    even = every_other(U.labels, U.n_clusters)
    found = []
    for known, asked in ((even, ~even), (~even, even)):
        rows = X[known]
        means = transposed_product(
            rows, Indicator(U.labels[known], np.ones(rows.shape[0], rows.dtype), U.n_clusters)
        )
        P = np.asarray(X[asked] @ unit_rows(np.ascontiguousarray(means.T)).T)
        found.append(shared_information(U.labels[asked], near_largest(P).argmax(axis=1)))
    return float(np.mean(found))
