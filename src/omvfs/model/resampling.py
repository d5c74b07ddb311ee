"""What other samples of the rows would give: which features stay, and what these predict.

Random halves of the sample differ from each other as much as independent samples of its size do
(the delete-half jackknife). Each is clustered and ranked as if it were all, in the embedding of the
whole sample and on the features that come into question.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.isotonic import isotonic_regression

from omvfs.model.arrays import Block, IntArray, dense, part_of, significant, squared_row_norms
from omvfs.model.clustering import adjusted_mutual_information
from omvfs.model.learning import Answers, Criterion
from omvfs.model.separation import spread, total_variance
from omvfs.model.sums import ViewSums, indicator

FloatArray = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
# Halves that are drawn, two of each halving, and how many of them are judged on the other half.
N_DRAWS, N_JUDGED = 8, 4
# Features of a view that come into question: the best of the whole sample.
CANDIDATES = 1000
# Features of so large a correlation count as one.
ALIKE = 0.9
# Of a normal variable, how far 95 % are within.
_WITHIN = 1.96


@dataclass(frozen=True)
class Draw:
    """What half of the sample gives by itself.

    Attributes
    ----------
    rows, others : int array
        The half, and the rows that are not in it.
    labels : int array
        Clusters of the half.
    best : list of int array
        Features by view that come into question, the best first.
    """

    rows: IntArray
    others: IntArray
    labels: IntArray
    best: list[IntArray]


def draw(
    answers: Answers, n: int = N_DRAWS, criterion: Criterion = "separation", most: int = 0
) -> list[Draw]:
    """Return what random halves of the sample give.

    Parameters
    ----------
    answers : Answers
    n : int
        How many halves.
    criterion : {"separation", "norm"} or callable
        By which features are ranked.
    most : int
        Features of a view that come into question, if more than `CANDIDATES`.
    """
    in_question, found = candidates(answers, criterion, most), []
    blocks = _columns(answers, in_question)
    pairs = halves(len(answers.state.sample), -(-n // 2), answers.settings.seed)
    for i, (rows, others) in enumerate(islice(pairs, n)):
        half = on_rows(answers, rows, blocks, answers.settings.seed + i)
        best = _best(half, in_question, criterion)
        found.append(Draw(rows, others, half.clustering.labels, best))
    return found


def candidates(answers: Answers, criterion: Criterion, most: int = 0) -> list[IntArray]:
    """Return the features that come into question, by view, in rising order."""
    if callable(criterion):
        # It may know which feature is which.
        return [np.arange(X.shape[1]) for X in answers.rows]
    # A feature may rise when the one that it repeats falls.
    scores = answers.separations if criterion == "separation" else answers.scores(criterion)
    n = max(CANDIDATES, most)
    return [np.sort(np.argsort(-own, kind="stable")[:n]) for own in scores]


def _best(half: Answers, in_question: Sequence[IntArray], criterion: Criterion) -> list[IntArray]:
    pairs = zip(in_question, half.scores(criterion), strict=True)
    return [columns[np.argsort(-significant(own), kind="stable")] for columns, own in pairs]


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


def _columns(answers: Answers, columns: Sequence[IntArray]) -> list[Block]:
    return [X[:, own] for X, own in zip(answers.rows, columns, strict=True)]


def on_rows(
    answers: Answers, rows: IntArray, columns: Sequence[Block], seed: int, factor: float = 1.0
) -> Answers:
    """Return the answers of some rows of the sample, and some columns, as if there were no others.

    They are clustered anew, into as many clusters, or `factor` times as many.

    Parameters
    ----------
    answers : Answers
    rows : int array
    columns : sequence of array or CSR matrix
        The sample by view, in the columns that are looked at.
    seed : int
    factor : float
    """
    sample = answers.state.sample
    blocks = tuple(X[rows] for X in columns)
    drawn = replace(
        sample,
        pieces=(blocks,),
        keys=sample.keys[rows],
        labels=np.zeros(len(rows), np.intp),
        present=sample.present[rows],
        arrived=sample.arrived[rows],
    )
    views = []
    for X, has in zip(blocks, drawn.present.T, strict=True):
        own = np.flatnonzero(has)
        views.append(ViewSums.from_rows(X[own], drawn.labels[own], 1))
    # The sample has about as many rows of every age as count: they are alike.
    K = min(max(round(factor * answers.clustering.n_clusters), 2), len(rows))
    settings = replace(answers.settings, n_clusters=K, seed=seed, half_life=None)
    found = Answers(replace(answers.state, views=tuple(views), sample=drawn), settings)
    # The embedding is that of the whole sample.
    vars(found)["embedded"] = [view.on(rows) for view in answers.embedded]
    vars(found)["noise"] = answers.noise
    return found


def selections(draws: Sequence[Draw], widths: Sequence[int], sizes: Sequence[int]) -> list[Mask]:
    """Return which features each draw selects, of shape (n_draws, D_v) by view."""
    found = [np.zeros((len(draws), width), bool) for width in widths]
    for i, each in enumerate(draws):
        for masks, best, size in zip(found, each.best, sizes, strict=True):
            masks[i, best[:size]] = True
            masks[i] |= size >= masks.shape[1]
    return found


def overlaps(masks: NDArray[np.bool_]) -> FloatArray:
    """Return the share of the selected features that two draws have in common, by pair.

    Draws that follow each other are halves of one halving: they have no row in common, and differ
    by more than independent samples do.

    Parameters
    ----------
    masks : bool array of shape (n_draws, n_features)
        Of each draw, an even number of them, as many features are selected.

    Examples
    --------
    >>> overlaps(np.array([[True, False], [True, False], [True, False], [False, True]]))
    array([1., 0., 1., 0.])
    """
    counts = masks.astype(np.float32)
    common = (counts @ counts.T).astype(np.float64) / max(masks[0].sum(), 1)
    first, second = np.triu_indices(len(masks), 1)
    apart = (first // 2) != (second // 2)
    return np.asarray(common[first[apart], second[apart]])


def interval(shares: FloatArray) -> tuple[float, float, float]:
    """Return the mean of some shares, and the ends between which 95 % of them are.

    Examples
    --------
    >>> [round(end, 3) for end in interval(np.array([0.9, 1.0, 0.95, 0.95]))]
    [0.95, 0.87, 1.0]
    """
    mean, half = float(shares.mean()), _WITHIN * float(shares.std(ddof=min(1, len(shares) - 1)))
    return mean, max(mean - half, 0.0), min(mean + half, 1.0)


def alike(X: Block, chosen: IntArray) -> IntArray:
    """Return a group for each of some columns: those of |r| ≥ `ALIKE`, in chains, have the same.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.1, 5.0], [3.0, 6.0, 0.0]])
    >>> alike(X, np.array([0, 1, 2])).tolist()
    [0, 0, 1]
    """
    columns = dense(X[:, chosen]).astype(np.float64)
    columns -= columns.mean(axis=0)
    lengths = np.linalg.norm(columns, axis=0)
    columns /= np.where(lengths > 0, lengths, 1)
    groups: IntArray = connected_components(abs(columns.T @ columns) >= ALIKE)[1].astype(np.intp)
    return groups


def as_one(masks: NDArray[np.bool_], ever: IntArray, groups: IntArray) -> NDArray[np.float64]:
    """Return the overlaps of draws, features of one group counted as one."""
    own = masks[:, ever]
    of_group = np.zeros((len(own), groups.max(initial=-1) + 1), bool)
    for i, selected in enumerate(own):
        of_group[i, groups[selected]] = True
    found = [
        (of_group[j][groups[own[i]]].mean() + of_group[i][groups[own[j]]].mean()) / 2
        for i in range(len(own))
        for j in range(i)
        if i // 2 != j // 2
    ]
    return np.array(found)


def agreement_of_clusters(draws: Sequence[Draw]) -> float:
    """Return how far the clusters of two draws agree on the rows that both have, mean of pairs."""
    found = []
    for i, a in enumerate(draws):
        for b in draws[: i - i % 2]:
            _, in_a, in_b = np.intersect1d(a.rows, b.rows, return_indices=True)
            if len(in_a):
                found.append(adjusted_mutual_information(a.labels[in_a], b.labels[in_b]))
    return max(float(np.mean(found)), 0.0) if found else 1.0


def other_numbers(
    answers: Answers, first: Draw, sizes: Sequence[int], criterion: Criterion, most: int = 0
) -> dict[int, float]:
    """Return what share of the selection stays with half and twice as many clusters, by number.

    Of one draw, so that the rows are the same.
    """
    in_question, found = candidates(answers, criterion, most), {}
    blocks = _columns(answers, in_question)
    for factor in (0.5, 2.0):
        other = on_rows(answers, first.rows, blocks, answers.settings.seed, factor)
        best = _best(other, in_question, criterion)
        pair = [replace(first, best=own) for own in (first.best, best)]
        masks = selections(pair, [X.shape[1] for X in answers.rows], sizes)
        common = sum(int((a & b).sum()) for a, b in masks)
        found[other.clustering.n_clusters] = common / max(sum(sizes), 1)
    found.pop(answers.clustering.n_clusters, None)
    return found


def selection_agreement(
    answers: Answers, draws: Sequence[Draw], sizes: Sequence[int | Sequence[int]]
) -> FloatArray:
    """Return how well the best features of each draw predict clusters, by how many they are.

    Features are ranked by half of the sampled rows, as if they were all. Rows of the other half are
    put into the cluster of the first half's rows along whose sum they lie most, by the best
    features alone, as `Answers.place` does by all. The adjusted mutual information with their
    clusters is 0 for chance and 1 if every row is predicted.

    Parameters
    ----------
    answers : Answers
    draws : sequence of Draw
    sizes : sequence of int, or of sequences of n_views int
        Numbers of features: so many of every view, or by view. A view that has fewer has all.

    Returns
    -------
    array of shape (n_draws, 1 + n_views, n_sizes)
        Of all views together and of each alone.
    """
    by_view = np.array([np.broadcast_to(size, len(answers.rows)) for size in sizes])
    return np.stack([_judged(answers, each, by_view) for each in draws])


def _judged(answers: Answers, drawn: Draw, sizes: IntArray) -> FloatArray:
    """Return the agreement of one draw, of shape (1 + n_views, n_sizes)."""
    present, found = answers.state.sample.present, answers.clustering
    fits, labels = [], found.labels[drawn.others]
    for v, X in enumerate(answers.rows):
        best = drawn.best[v][: sizes[:, v].max()]
        has = drawn.rows[present[drawn.rows, v]]
        members = indicator(found.labels[has], found.n_clusters)
        S = dense(part_of(X, has, best)).astype(np.float64).T @ members
        fits.append(_cosines(dense(part_of(X, drawn.others, best)), S, sizes[:, v]))
    agreement = np.zeros((1 + len(fits), len(sizes)))
    for s in range(len(sizes)):
        together = sum(weight * fit[s] for weight, fit in zip(answers.weights, fits, strict=True))
        agreement[0, s] = _agreement(together, labels)
        for v, fit in enumerate(fits):
            has = np.flatnonzero(present[drawn.others, v])
            agreement[1 + v, s] = _agreement(fit[s][has], labels[has])
    return agreement


def _cosines(X: NDArray[Any], S: FloatArray, sizes: IntArray) -> list[FloatArray]:
    """Return the cosines of rows with sums by cluster, on the first so many columns each."""
    product, lengths, norms = np.zeros((len(X), S.shape[1])), np.zeros(len(X)), np.zeros(S.shape[1])
    found, start = [], 0
    for size in sizes.tolist():
        # Sizes rise, so that each needs only the columns that are new.
        own, start = slice(start, max(size, start)), max(size, start)
        rows, sums = X[:, own].astype(np.float64), S[own]
        product = product + rows @ sums
        lengths, norms = lengths + squared_row_norms(rows), norms + squared_row_norms(sums.T)
        scale = np.outer(np.sqrt(lengths), np.sqrt(norms))
        found.append(np.divide(product, scale, out=np.zeros_like(product), where=scale > 0))
    return found


def _agreement(fit: FloatArray, labels: IntArray) -> float:
    """Return the agreement of clusters with those predicted; rows without a feature are apart."""
    if not len(labels):
        return 0.0
    given = np.where(fit.any(axis=1), fit.argmax(axis=1), fit.shape[1])
    return max(adjusted_mutual_information(labels, given), 0.0)


def explained_variances(answers: Answers) -> list[FloatArray]:
    """Return what every feature explains of its view: by this, features of all views compare.

    The share of its variance that the clusters explain, times its variance, over the variance of
    all features of the view, discounted for repetition. It has no units.
    """
    found = []
    for view, score in zip(answers.state.views, answers.scores(), strict=True):
        total = total_variance(view)
        # Scores are shares of variance times the spread, the root of the variance over its mean.
        found.append(score * spread(total) / max(int((total > 0).sum()), 1))
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
