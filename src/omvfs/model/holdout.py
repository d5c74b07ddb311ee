"""How well selected features foretell the clusters of rows they were not selected by."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from omvfs.model.arrays import Block
from omvfs.model.clustering import N_STARTS, adjusted_mutual_information
from omvfs.model.learning import Answers, Criterion
from omvfs.model.separation import total_variance
from omvfs.model.sums import ViewSums, fit_to_clusters

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
# How often the sample is halved; each half is looked at once, and judged once.
N_HALVINGS = 2


def selection_quality(
    answers: Answers,
    sizes: Sequence[int | Sequence[int]],
    criterion: Criterion = "separation",
    n_halvings: int = N_HALVINGS,
) -> FloatArray:
    """Return how well the best features foretell the clusters, by how many they are.

    Features are ranked by half of the sampled rows, as if they were all. Rows of the other half are
    put into the cluster of the first half's rows along whose sum they lie most, by the best
    features alone, as `Answers.place` does by all. The adjusted mutual information with their
    clusters is 0 for chance and 1 if every row is foretold.

    Parameters
    ----------
    answers : Answers
    sizes : sequence of int, or of sequences of n_views int
        Numbers of features: so many of every view, or by view. A view that has fewer has all.
    criterion : {"separation", "norm"} or callable
        By which features are ranked.
    n_halvings : int
        How often rows are halved.

    Returns
    -------
    array of shape (2 · n_halvings, 1 + n_views, n_sizes)
        By half, of all views together and of each alone: means and standard deviations are taken
        over the first axis.
    """
    by_view = np.array([np.broadcast_to(size, len(answers.rows)) for size in sizes])
    found = []
    for looked_at, judged in halves(len(answers.state.sample), n_halvings, answers.settings.seed):
        scores = on_rows(answers, looked_at, answers.settings.seed, n_starts=1).scores(criterion)
        found.append(_judged(answers, scores, looked_at, judged, by_view))
    return np.stack(found)


def halves(n_rows: int, n: int, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield two random halves of the rows, and the same the other way round, n times.

    Examples
    --------
    >>> [(len(first), len(second)) for first, second in halves(5, 1, seed=0)]
    [(2, 3), (3, 2)]
    """
    rng = np.random.default_rng(seed)
    for _ in range(n):
        order = rng.permutation(n_rows)
        first, second = np.sort(order[: n_rows // 2]), np.sort(order[n_rows // 2 :])
        yield first, second
        yield second, first


def on_rows(answers: Answers, rows: IntArray, seed: int, n_starts: int = N_STARTS) -> Answers:
    """Return the answers that some rows of the sample give, as if there were no others.

    They are clustered anew, into as many clusters.
    """
    state = answers.state
    sample = replace(
        state.sample,
        pieces=(tuple(X[rows] for X in answers.rows),),
        keys=state.sample.keys[rows],
        labels=np.zeros(len(rows), np.intp),
        present=state.sample.present[rows],
        arrived=state.sample.arrived[rows],
    )
    views = []
    for X, has in zip(sample.pieces[0], sample.present.T, strict=True):
        own = np.flatnonzero(has)
        views.append(ViewSums.from_rows(X[own], sample.labels[own], 1))
    # The sample has about as many rows of every age as count: they are alike.
    K = answers.clustering.n_clusters
    settings = replace(answers.settings, n_clusters=K, seed=seed, half_life=None)
    return Answers(replace(state, views=tuple(views), sample=sample), settings, n_starts)


def _judged(
    answers: Answers,
    scores: Sequence[FloatArray],
    looked_at: IntArray,
    judged: IntArray,
    sizes: IntArray,
) -> FloatArray:
    """Return the agreement of one half, of shape (1 + n_views, n_sizes)."""
    present, found = answers.state.sample.present, answers.clustering
    known: list[tuple[Block, IntArray]] = []
    asked: list[Block] = []
    for v, X in enumerate(answers.rows):
        best = np.argsort(-scores[v], kind="stable")[: sizes[:, v].max()]
        has = looked_at[present[looked_at, v]]
        known.append((X[has][:, best], found.labels[has]))
        asked.append(X[judged][:, best])
    agreement = np.zeros((1 + len(known), len(sizes)))
    for s, size in enumerate(sizes):
        rows = [X[:, :n] for X, n in zip(asked, size, strict=True)]
        sums = [
            ViewSums.from_rows(X[:, :n], labels, found.n_clusters)
            for (X, labels), n in zip(known, size, strict=True)
        ]
        agreement[0, s] = _agreement(rows, sums, answers.weights, found.labels[judged])
        for v in range(len(known)):
            has = np.flatnonzero(present[judged, v])
            labels = found.labels[judged[has]]
            agreement[1 + v, s] = _agreement([rows[v][has]], [sums[v]], np.ones(1), labels)
    return agreement


def _agreement(
    rows: Sequence[Block], sums: Sequence[ViewSums], weights: FloatArray, labels: IntArray
) -> float:
    """Return the agreement of clusters with those foretold; rows without a feature are apart."""
    if not len(labels):
        return 0.0
    fit = fit_to_clusters(rows, sums, weights)
    foretold = np.where(fit.any(axis=1), fit.argmax(axis=1), fit.shape[1])
    return max(adjusted_mutual_information(labels, foretold), 0.0)


def explained_variances(answers: Answers) -> list[FloatArray]:
    """Return what every feature explains of its view: by this, features of all views compare.

    The share of its variance that the clusters explain, times its variance, over the variance of
    all features of the view, discounted for repetition. It has no units.
    """
    found = []
    for view, score in zip(answers.state.views, answers.scores(), strict=True):
        total = total_variance(view)
        # Separation is the share of variance explained times the standard deviation.
        found.append(score * np.sqrt(total) / max(total.sum(), np.finfo(float).tiny))
    return found


def budget(scores: Sequence[FloatArray], explained: Sequence[FloatArray], total: int) -> IntArray:
    """Return how many features of each view are among the best so many of all views.

    In every view features are taken in the order of their scores, at least one. What they explain
    is made to descend in that order (isotonic regression), so that a larger budget has all that a
    smaller one has.

    Parameters
    ----------
    scores, explained : sequence of array of shape (D_v,)
        Of every view, see `explained_variances`.
    total : int
        At least the number of views.

    Examples
    --------
    >>> scores = [np.array([5.0, 4.0, 3.0]), np.array([9.0, 8.0])]
    >>> explained = [np.array([0.3, 0.2, 0.1]), np.array([0.25, 0.01])]
    >>> [budget(scores, explained, total).tolist() for total in (2, 3, 4)]
    [[1, 1], [2, 1], [3, 1]]
    """
    values, views = [], []
    for v, (own, parts) in enumerate(zip(scores, explained, strict=True)):
        order = np.argsort(-own, kind="stable")
        descending = isotonic_regression(parts[order], increasing=False).astype(np.float64)
        descending[:1] = np.inf
        values.append(descending)
        views.append(np.full(len(own), v))
    chosen = np.argsort(-np.concatenate(values), kind="stable")[:total]
    return np.bincount(np.concatenate(views)[chosen], minlength=len(scores))
