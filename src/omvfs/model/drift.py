"""What features tell of the most recent rows, if these are not what came before.

Over all rows a feature that has come to matter lately tells little, however much it tells of what
comes now. So when the stream has changed, a feature is worth what it tells of all rows, or a part
of what it tells of recent ones, whichever is more.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, project, squared_row_norms, stack
from omvfs.model.columns import Columns, on_own_columns
from omvfs.model.constrained.alternate import nearest, unit_directions
from omvfs.model.constrained.directions import feature_matrices
from omvfs.model.constrained.recluster import live_rows, settled
from omvfs.model.constrained.step import step
from omvfs.model.ranking import Score, relevance
from omvfs.model.state import Settings, State

# Shares of clusters differ if this part of the rows is in others, beyond what chance explains.
_OTHERWISE = 0.1
# Standard errors by which a difference is more than chance.
_CLEAR = 4.0


def recent_rows(state: State, settings: Settings) -> list[Block]:
    """Return the most recent rows, per view, as soon as there were more than the memory holds.

    Parameters
    ----------
    state : State
    settings : Settings

    Returns
    -------
    list of array or CSR matrix of shape (n, D_v)
        Empty as long as there were no more, and if forgetting has left the memory fewer rows than
        that: then what is known is of recent rows.
    """
    n = settings.recent_rows
    if not n or state.count <= settings.memory or len(live_rows(state)) < n:
        return []
    return state.window.last(settings.recent_rows)


def shares_differ(recent: IntArray, memory: IntArray, n_clusters: int) -> bool:
    """Tell whether recent rows are in other clusters than rows of the memory.

    Parameters
    ----------
    recent, memory : int array
        Clusters of the rows.
    n_clusters : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> even = rng.integers(0, 4, 2000)
    >>> shares_differ(rng.integers(0, 4, 1000), even, 4)
    False
    >>> shares_differ(rng.integers(0, 3, 1000), even, 4)
    True
    """
    now, ever = (
        np.bincount(labels, minlength=n_clusters) / len(labels) for labels in (recent, memory)
    )
    variances = ever * (1 - ever) * (1 / len(recent) + 1 / len(memory))
    # Of a normal variable, the mean and the variance of its distance from 0.
    by_chance = float(np.sqrt(2 / np.pi * variances).sum()) / 2
    error = float(np.sqrt((1 - 2 / np.pi) * variances.sum())) / 2
    return bool(np.abs(now - ever).sum() / 2 > by_chance + _CLEAR * error + _OTHERWISE)


def fit_differs(
    rows: Sequence[Block], memory: Sequence[Block], rng: np.random.Generator, settings: Settings
) -> bool:
    """Tell whether recent rows are better explained by one another than by rows of the memory.

    Clusters found on one half of them are compared with clusters found on as many rows of the
    memory, by how much of the other half they explain; and again with the halves exchanged and
    other rows of the memory, so that luck with one of them does not do. As some recent rows are in
    the memory too, a change that has just begun may go unnoticed.

    Parameters
    ----------
    rows, memory : sequence of array or CSR matrix of shape (n, D_v)
        Recent rows and those of the memory, which are no fewer, their columns scaled.
    rng : Generator
        Draws rows of the memory; not changed.
    settings : Settings
    """
    n = rows[0].shape[0]
    chosen = copy.deepcopy(rng).permutation(memory[0].shape[0])[:n]
    control = [X_v[chosen] for X_v in memory]
    # On the columns that any of them has: of all columns there may be far more.
    both = [on_own_columns(stack(parts))[1] for parts in zip(rows, control, strict=True)]
    even, odd = np.arange(0, n, 2), np.arange(1, n, 2)
    return all(
        _explain_more(both, some, n + some, others, rng, settings)
        for some, others in ((even, odd), (odd, even))
    )


def _explain_more(
    X: Sequence[Block],
    some: IntArray,
    control: IntArray,
    others: IntArray,
    rng: np.random.Generator,
    settings: Settings,
) -> bool:
    """Tell whether clusters of some rows explain clearly more of others than a control's do."""
    norms = np.sum([squared_row_norms(X_v[others]) for X_v in X], axis=0)
    ours, theirs = (_explained(X, others, rows, rng, settings) for rows in (some, control))
    gain = (ours - theirs)[norms > 0] / norms[norms > 0]
    return len(gain) > 1 and bool(gain.mean() > _CLEAR * gain.std() / np.sqrt(len(gain)))


def relevances(state: State, V: Sequence[Array], score: Score) -> list[Array]:
    """Return the score of every feature by itself, per view.

    Parameters
    ----------
    state : State
    V : sequence of array of shape (D_v, K)
        Feature matrices of the state.
    score : {"norm", "contrast", "information", "balanced"}
    """
    masses = np.diagonal(state.A) if state.A.ndim == 2 else state.A
    return [relevance(V_v, masses, state.weight_sums, score) for V_v in V]


def lift(
    scores: Sequence[Array],
    rows: Sequence[Block],
    state: State,
    settings: Settings,
    score: Score,
    weight: float,
) -> list[Array]:
    """Return scores, lifted to what recent rows give a feature where that is more.

    Parameters
    ----------
    scores : sequence of array of shape (D_v,)
        By all rows, per view; not changed.
    rows : sequence of array or CSR matrix of shape (n, D_v)
        The recent rows, their columns scaled. They are clustered as if nothing else had ever come.
    state : State
        What is known of all rows.
    settings : Settings
    score : {"norm", "contrast", "information", "balanced"}
    weight : float
        What the scores of a view by the recent rows sum up to, for a sum of 1 by all rows.

    Returns
    -------
    list of array of shape (D_v,)
    """
    columns, held = zip(*map(on_own_columns, rows), strict=True)
    alone = _as_they_come(settings)
    recent = settled(_after(held, state.rng, alone), alone)
    lately = relevances(recent, feature_matrices(recent, alone), score)
    parts = zip(scores, columns, lately, strict=True)
    return [lifted(all_v, c, recent_v, weight) for all_v, c, recent_v in parts]


def lifted(scores: Array, columns: Columns, recent: Array, weight: float) -> Array:
    """Return the scores of one view, some lifted to their share by recent rows.

    Examples
    --------
    >>> lifted(np.array([6.0, 3.0, 1.0]), np.array([0, 2]), np.array([0.5, 0.5]), weight=0.5)
    array([6. , 3. , 2.5])
    """
    higher = scores.copy()
    total = float(recent.sum())
    if total > 0:
        share = recent / total * (weight * float(scores.sum()))
        higher[columns] = np.maximum(scores[columns], share)
    return higher


def _explained(
    X: Sequence[Block],
    others: IntArray,
    rows: IntArray,
    rng: np.random.Generator,
    settings: Settings,
) -> NDArray[np.float64]:
    """Return how much of the squared norm of others clusters of some rows explain."""
    alone = _as_they_come(settings)
    V = feature_matrices(_after([X_v[rows] for X_v in X], rng, alone), alone)
    P = project([X_v[others] for X_v in X], unit_directions(V))
    return np.square(nearest(P).weights, dtype=np.float64)


def _after(rows: Sequence[Block], rng: np.random.Generator, settings: Settings) -> State:
    """Return what would be known if some rows were all that ever came."""
    widths, dtype = [X_v.shape[1] for X_v in rows], rows[0].dtype
    nothing = State.start(widths, dtype, settings, copy.deepcopy(rng))
    return step(nothing, rows, settings)[0]


def _as_they_come(settings: Settings) -> Settings:
    """Return settings for rows whose columns are scaled already."""
    return replace(settings, scale_columns=False)
