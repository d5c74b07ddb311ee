"""The cluster of new rows: by fit, and by the votes of neighbours."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.arrays import project
from omvfs.model.graph import products, vote
from omvfs.model.graph.neighbours import nearest
from omvfs.model.graph.vote import Electorate, agreement_of_views, assign, weighed
from omvfs.model.indicator import Indicator
from support import KINDS, clustered, counts

quick = settings(max_examples=40, deadline=None)


def naive_votes(X, rows, labels, keep, k, K):
    """Return the share of each cluster among the k rows of the largest positive cosine."""
    votes = np.zeros((len(X), K))
    for i, x in enumerate(X):
        cosines = [x @ y / max(np.linalg.norm(x) * np.linalg.norm(y), 1e-300) for y in rows]
        for j in sorted(range(len(rows)), key=lambda j: -cosines[j])[:k]:
            votes[i, labels[j]] += max(cosines[j], 0) * keep[j]
        votes[i] /= votes[i].sum() or 1
    return votes


every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
in_strips_or_at_once = pytest.mark.parametrize("few", [0, 256], ids=["in strips", "at once"])


@every_kind
@given(seed=st.integers(0, 2**32), k=st.integers(1, 6))
@quick
def test_votes_are_those_of_the_nearest_rows_also_on_the_columns_that_rows_have(kind, seed, k):
    rng = np.random.default_rng(seed)
    rows, labels = clustered(rng, 30, 8)
    keep, X = rng.random(30), counts(rng, 7, 8)
    X[:, [1, 4]] = 0
    X[3] = 0
    electorate = Electorate([kind(rows)], Indicator(labels, keep, 3), k)
    cosines = np.sort(X @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T)[:, ::-1]
    # In single precision; where rows are equally near but for that, all are asked.
    clear = cosines[:, k - 1] - cosines[:, k] > 1e-3 * cosines[:, k - 1]
    clear |= cosines[:, 0] == 0
    expected = naive_votes(X, rows, labels, keep, k, 3)
    columns = np.array([0, 2, 3, 5, 6, 7])
    for asked in ([[kind(X)]], [[kind(X[:, columns])], [columns]]):
        (got,) = electorate.shares(*asked)
        np.testing.assert_allclose(got[clear], expected[clear], atol=1e-5)


@every_kind
@in_strips_or_at_once
def test_many_rows_are_asked_as_few_are(monkeypatch, kind, few):
    monkeypatch.setattr(vote, "_FEW", few)
    monkeypatch.setattr(products, "STRIP_ENTRIES", 120)
    monkeypatch.setattr(products, "_SQUARE_ENTRIES", 120)
    rng = np.random.default_rng(0)
    rows, labels = clustered(rng, 30, 8)
    X = rng.random((11, 8))
    electorate = Electorate([kind(rows)], Indicator(labels, np.ones(30), 3), 5)
    expected = naive_votes(X, rows, labels, np.ones(30), 5, 3)
    np.testing.assert_allclose(electorate.shares([kind(X)])[0], expected, atol=1e-5)
    # Asked by one another, rows do not ask themselves.
    alone = [
        naive_votes(rows[[i]], np.delete(rows, i, 0), np.delete(labels, i), np.ones(29), 5, 3)
        for i in range(30)
    ]
    own = electorate._cast(*[electorate._unit[0]] * 2, others=True)
    np.testing.assert_allclose(own, np.concatenate(alone), atol=1e-5)


@every_kind
@given(seed=st.integers(0, 2**32), k=st.integers(1, 8), n=st.integers(3, 40))
@quick
def test_votes_of_rows_found_near_before_are_the_votes(kind, seed, k, n):
    rng = np.random.default_rng(seed)
    rows = kind(counts(rng, n, 6))
    electorate = Electorate([rows], Indicator(rng.integers(3, size=n), rng.random(n), 3), k)
    if (near := nearest(rows, k)) is not None:
        own = electorate._cast(*[electorate._unit[0]] * 2, others=True)
        np.testing.assert_allclose(electorate._cast_near(near), own, atol=1e-5)


@given(seed=st.integers(0, 2**32))
@quick
def test_without_votes_the_best_fit_decides_and_any_scale_of_a_row_is_the_same(seed):
    rng = np.random.default_rng(seed)
    X, V = counts(rng, 20, 6), rng.random((6, 4))
    fit = X @ V
    found = assign(fit)
    np.testing.assert_allclose(fit[np.arange(20), found], fit.max(axis=1))
    np.testing.assert_array_equal(assign(fit * rng.uniform(1e-6, 1e6, (20, 1))), found)


def test_a_row_between_two_clusters_goes_with_its_neighbours():
    rng = np.random.default_rng(0)
    # Two views: the first cannot tell the clusters apart, the neighbours in the second can.
    labels = np.arange(60) % 2
    second = np.eye(2)[labels] + 0.1 * rng.random((60, 2))
    electorate = Electorate([np.ones((60, 1)), second], Indicator(labels, np.ones(60), 2), 5)
    say = agreement_of_views(electorate.own_shares(), labels)
    assert say[1] > 0.9
    new = [np.ones((2, 1)), np.array([[0.2, 0.1], [0.1, 0.2]])]
    P = project(new, [np.array([[1.0, 1.1]]), np.zeros((2, 2))])
    np.testing.assert_array_equal(assign(P), [1, 1])
    votes = weighed(electorate.shares(new), [3.0, 3.0], say)
    np.testing.assert_array_equal(assign(P, votes), [0, 1])
