"""How much of the clusters features reproduce, and how far two partitions agree."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from omvfs.model.arrays import unit_rows
from omvfs.model.partitions import shared_information
from omvfs.model.quality import Rows, agreements, halves, reproduced

seeds = st.integers(0, 2**32 - 1)
HALVES = slice(0, 60, 2), slice(1, 60, 2)


def clustered(seed, n=60, K=3, widths=(8, 5), noise=0.6):
    """Rows of two views, features of which stand for one cluster each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(K, size=n)
    X = [(np.arange(D) % K == labels[:, np.newaxis]) + noise * rng.random((n, D)) for D in widths]
    return Rows([unit_rows(X_v) for X_v in X], labels), rng


def slow_and_obvious(known, asked, K):
    """The same row by row, cluster by cluster."""

    def nearest(rows, centred, labels):
        sums = [centred[labels == k].sum(axis=0) for k in range(K)]
        centres = [s / np.linalg.norm(s) if s.any() else s for s in sums]
        return np.array([int(np.argmax([row @ c for c in centres])) for row in rows])

    A, B = np.hstack(known.X), np.hstack(asked.X)
    labels = nearest(B, A, known.labels)
    for _ in range(5):
        labels = nearest(B, B, labels)
    return normalized_mutual_info_score(asked.labels, labels, average_method="geometric")


@given(seeds)
def test_it_is_k_means_from_the_centres_of_other_rows(seed):
    rows, _ = clustered(seed)
    known, asked = (Rows([X[half] for X in rows.X], rows.labels[half]) for half in HALVES)
    assert reproduced(known, asked, 3) == pytest.approx(slow_and_obvious(known, asked, 3))


@given(seeds, st.permutations(range(3)))
def test_neither_the_numbers_of_clusters_nor_how_rows_are_held_matter(seed, numbers):
    rows, _ = clustered(seed, noise=2.0)
    known, asked = (Rows([X[half] for X in rows.X], rows.labels[half]) for half in HALVES)
    renamed = [Rows(each.X, np.array(numbers)[each.labels]) for each in (known, asked)]
    sparse = [Rows([sp.csr_array(X) for X in each.X], each.labels) for each in (known, asked)]
    expected = reproduced(known, asked, 3)
    assert reproduced(*renamed, 3) == pytest.approx(expected)
    assert reproduced(*sparse, 3) == pytest.approx(expected)


@given(seeds, st.lists(st.integers(0, 3), min_size=4, max_size=50), st.integers(1, 3))
def test_halves_share_the_rows_of_every_cluster(seed, labels, n_splits):
    labels = np.array(labels)
    found = list(halves(labels, 4, n_splits, np.random.default_rng(seed)))
    assert len(found) == 2 * n_splits
    for a, b in found:
        assert sorted([*a, *b]) == list(range(len(labels)))
        counts = [np.bincount(labels[half], minlength=4) for half in (a, b)]
        assert abs(counts[0] - counts[1]).max() <= 1


def test_features_are_judged_on_rows_they_were_not_ranked_by():
    # Noise, in which some features tell the clusters of any rows that are looked at.
    rng = np.random.default_rng(0)
    n, D = 80, 400
    rows = Rows([rng.random((n, D))], np.arange(n) % 2)

    def by_looking(half):
        X, labels = rows.X[0][half], rows.labels[half]
        return [abs(X[labels == 0].mean(axis=0) - X[labels == 1].mean(axis=0))]

    split = list(halves(rows.labels, 2, 4, rng))
    honest = agreements(rows, by_looking, [10], 2, split).mean()
    cheating = agreements(rows, lambda half: by_looking(slice(None)), [10], 2, split).mean()
    assert honest < 0.05 < 0.15 < cheating


# Partitions

pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


@given(pairs)
@example([(1, 0), (1, 0), (1, 0), (1, 0), (1, 1), (1, 2)])  # 4/6 + 1/6 + 1/6 is not 1 in floats
def test_shared_information_is_the_normalised_mutual_information(rows):
    a, b = np.array(rows).T
    expected = normalized_mutual_info_score(a, b, average_method="geometric")
    if min(len(set(a)), len(set(b))) < 2:
        expected = 0.0
    assert shared_information(a, b) == pytest.approx(expected, abs=1e-12)
    assert shared_information(np.zeros(0, int), np.zeros(0, int)) == 0


@given(pairs, st.permutations(range(5)))
def test_shared_information_asks_neither_what_parts_are_called_nor_which_comes_first(rows, names):
    a, b = np.array(rows).T
    renamed = np.array(names)[b]
    assert shared_information(a, renamed) == pytest.approx(shared_information(b, a), abs=1e-12)
