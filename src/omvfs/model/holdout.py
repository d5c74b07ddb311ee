"""How well selected features foretell the clusters of rows they were not selected by."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression
from sklearn.metrics import adjusted_mutual_info_score

from omvfs.model.arrays import Block
from omvfs.model.learning import Answers
from omvfs.model.separation import discounted, repetition, separation, variances
from omvfs.model.sums import ViewSums, fit_to_clusters

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
# How often the sample is halved; each half is looked at once, and judged once.
N_HALVINGS = 3


def selection_quality(
    answers: Answers, sizes: Sequence[int | Sequence[int]], n_halvings: int = N_HALVINGS
) -> FloatArray:
    """Return how well the best features foretell the clusters, by how many they are.

    Features are ranked by half of the sampled rows. Rows of the other half are put into the cluster
    of the first half's rows along whose sum they lie most, by the best features alone, as `predict`
    does by all. The adjusted mutual information with their clusters is 0 for chance and 1 if every
    row is foretold.

    Parameters
    ----------
    answers : Answers
    sizes : sequence of int, or of sequences of n_views int
        Numbers of features: so many of every view, or by view. A view that has fewer has all.
    n_halvings : int
        How often rows are halved.

    Returns
    -------
    array of shape (2 · n_halvings, 1 + n_views, n_sizes)
        By half, of all views together and of each alone: means and standard deviations are taken
        over the first axis.
    """
    n_views = len(answers.rows)
    by_view = np.array([np.broadcast_to(size, n_views) for size in sizes])
    pairs = halves(len(answers.state.sample), n_halvings, answers.settings.seed)
    return np.stack([_judged(answers, *pair, by_view) for pair in pairs])


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


def _judged(answers: Answers, looked_at: IntArray, judged: IntArray, sizes: IntArray) -> FloatArray:
    """Return the agreement of one half, of shape (1 + n_views, n_sizes)."""
    found = answers.clustering
    present, labels, K = answers.state.sample.present, found.labels, found.n_clusters
    known: list[tuple[Block, IntArray]] = []
    asked: list[Block] = []
    for v, X in enumerate(answers.rows):
        has = looked_at[present[looked_at, v]]
        best = _ranked(X[has], labels[has], K)[: sizes[:, v].max()]
        known.append((X[has][:, best], labels[has]))
        asked.append(X[judged][:, best])
    agreement = np.zeros((1 + len(known), len(sizes)))
    for s, size in enumerate(sizes):
        rows = [X[:, :n] for X, n in zip(asked, size, strict=True)]
        sums = [
            ViewSums.from_rows(X[:, :n], own, K) for (X, own), n in zip(known, size, strict=True)
        ]
        agreement[0, s] = _agreement(rows, sums, answers.weights, labels[judged])
        for v in range(len(known)):
            has = np.flatnonzero(present[judged, v])
            truth = labels[judged[has]]
            agreement[1 + v, s] = _agreement([rows[v][has]], [sums[v]], np.ones(1), truth)
    return agreement


def _ranked(X: Block, labels: IntArray, n_clusters: int) -> IntArray:
    """Return the features of a view, the best first, by some rows alone."""
    own = separation(*variances(ViewSums.from_rows(X, labels, n_clusters)))
    return np.argsort(-discounted(own, repetition(X, own)[0]), kind="stable")


def _agreement(
    rows: Sequence[Block], sums: Sequence[ViewSums], weights: FloatArray, labels: IntArray
) -> float:
    """Return the agreement of clusters with those foretold; rows without a feature are apart."""
    if not len(labels):
        return 0.0
    fit = fit_to_clusters(rows, sums, weights)
    foretold = np.where(fit.any(axis=1), fit.argmax(axis=1), fit.shape[1])
    return max(float(adjusted_mutual_info_score(labels, foretold)), 0.0)


def enough(agreement: FloatArray) -> int:
    """Return the first size whose mean agreement is within one standard deviation of the best.

    Parameters
    ----------
    agreement : array of shape (n_halves, n_sizes)
        Of all views together, or of one; sizes ascend.

    Returns
    -------
    int
        Number of the size, from 0.

    Examples
    --------
    >>> enough(np.array([[0.2, 0.70, 0.8, 0.8], [0.2, 0.76, 0.7, 0.8], [0.2, 0.79, 0.8, 0.7]]))
    1
    """
    mean = agreement.mean(axis=0)
    best = int(mean.argmax())
    return int(np.argmax(mean >= mean[best] - agreement[:, best].std()))


def explained_variances(answers: Answers) -> list[FloatArray]:
    """Return what every feature explains of its view: by this, features of all views compare.

    The share of its variance that the clusters explain, times its variance, over the variance of
    all features of the view, discounted for repetition. It has no units.
    """
    found = []
    for view, score in zip(answers.state.views, answers.scores, strict=True):
        total = variances(view)[1]
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
