"""Signal: which features together make clusters stand out of the noise."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.ranking.separation import cluster_means, separation
from omvfs.model.ranking.signal import score_in_order, signal_order
from support import clustered

seeds = st.integers(0, 2**32 - 1)


def means_of(X, U):
    return cluster_means(X, U, np.ones(len(X)), transposed_product(X, U), U.sums)


def drawn(seed, n=60, d=9, k=3):
    rng = np.random.default_rng(seed)
    X, labels = clustered(rng, n, d, k)
    U = Indicator(labels, np.ones(n), k)
    return X, U, means_of(X, U), rng


def slow(X, labels, means, n_steps, beside=30):
    """Return the same by working out the worth of every set that could come next."""
    m = np.array([X[labels == k].mean(axis=0) for k in np.unique(labels)]) / means.unit
    shares = np.bincount(labels) / len(labels)
    C = np.cov(X.T / means.unit, bias=True) ** 2
    scores = separation(means)
    best = list(np.argsort(-scores, kind="stable")[:beside])

    def worth(S):
        signal = noise = 0.0
        total = sum(shares[a] * shares[b] for a in range(len(m)) for b in range(a))
        for a in range(len(m)):
            for b in range(a):
                d2 = sum((m[a, j] - m[b, j]) ** 2 for j in [*best, *S])
                signal += shares[a] * shares[b] / total * np.log(d2)
        noise = C[np.ix_(best, best)].sum() + C[np.ix_(S, S)].sum()
        return signal - 0.5 * np.log(noise)

    taken = []
    for _ in range(n_steps):
        left = [j for j in range(X.shape[1]) if j not in taken]
        taken.append(max(left, key=lambda j: worth([*taken, j])))
    return taken


@settings(max_examples=25)
@given(seeds)
def test_each_feature_is_the_one_that_makes_the_best_set(seed):
    X, U, means, _ = drawn(seed)
    found = signal_order(X, np.ones(len(X)), means, separation(means), 9)
    assert list(found) == slow(X, U.labels, means, 9)


@given(seeds)
def test_neither_the_order_of_columns_nor_how_rows_are_held_nor_empty_clusters_matter(seed):
    X, U, means, rng = drawn(seed)
    ones = np.ones(len(X))
    expected = signal_order(X, ones, means, separation(means), 5)
    sparse = signal_order(sp.csr_array(X), ones, means, separation(means), 5)
    np.testing.assert_array_equal(sparse, expected)
    wide = means_of(X, Indicator(U.labels, U.weights, 5))
    np.testing.assert_array_equal(signal_order(X, ones, wide, separation(wide), 5), expected)
    places = rng.permutation(X.shape[1])
    moved = means_of(X[:, places], U)
    found = signal_order(X[:, places], ones, moved, separation(moved), 5)
    np.testing.assert_array_equal(places[found], expected)


@given(st.data(), st.integers(1, 12))
def test_scores_stand_in_an_order_and_behind_it_by_others(data, n):
    first = np.array(data.draw(st.permutations(range(1, n + 1))), float)
    order = np.array(data.draw(st.permutations(range(n))), int)[: data.draw(st.integers(0, n))]
    rest = [j for j in np.argsort(-first) if j not in order]
    found = score_in_order(order, first, np.ones(n))
    np.testing.assert_array_equal(np.argsort(-found), [*order, *rest])
    assert ((found > 0) & (found <= 1)).all()
    assert score_in_order(order, first, np.zeros(n)).max() == 0
