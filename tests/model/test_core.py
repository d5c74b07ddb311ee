"""The core against its oracle: on little data, sparse and dense, with all that may be odd."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score

import core_oracle as oracle
from omvfs.model import clustering
from omvfs.model.learning import Answers, Settings, State, step
from omvfs.model.separation import (
    COMPARED,
    DISCOUNT,
    coverage,
    discounted,
    mean_separation,
    repetition,
    spread,
    total_variance,
)
from omvfs.model.sums import ViewSums, fit_to_clusters
from support import KINDS, dense

few = settings(max_examples=15, deadline=None)
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
K = 4


def draw(seed, n=18, width=6):
    """Return rows of any sign, one empty, one column constant and one empty; and their clusters.

    The last cluster has no rows.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(0.5, 1, (n, width)) * (rng.random((n, width)) < 0.7)
    X[0], X[:, 1], X[:, 2] = 0, 0.75, 0
    return X, rng.integers(0, K - 1, n)


@every_kind
@given(seed=st.integers(0, 10_000))
@few
def test_sums_and_variances(kind, seed):
    X, labels = draw(seed)
    sums = ViewSums.from_rows(kind(X), labels, K)
    S, Q, n = oracle.sums_by_cluster(X.tolist(), labels, K)
    np.testing.assert_allclose(sums.S, S, atol=1e-12)
    np.testing.assert_allclose(sums.Q, Q, atol=1e-12)
    np.testing.assert_array_equal(sums.n, n)
    between, total = oracle.variances(X.tolist(), labels)
    np.testing.assert_allclose(total_variance(sums), total, atol=1e-12)
    found = mean_separation(sums, kind(X), np.ones(len(X)), labels, [labels], K)
    np.testing.assert_allclose(found * spread(total) * total[total > 0].mean(), between, atol=1e-12)
    expected = oracle.coverage(X.tolist(), labels, K)
    np.testing.assert_allclose(coverage(sums), expected, atol=1e-9)


@every_kind
@given(seed=st.integers(0, 10_000), n_after=st.integers(1, 6))
@few
def test_relabel(kind, seed, n_after):
    X, labels = draw(seed)
    rng = np.random.default_rng(seed)
    # A sample of the rows, and other clusters of it.
    sample = np.sort(rng.permutation(len(X))[:7])
    after = rng.integers(0, n_after, 7)
    sums = ViewSums.from_rows(X, labels, K)
    moved = sums.relabel(kind(X[sample]), np.ones(7), labels[sample], after, n_after)
    S, n = oracle.relabeled(sums.S, sums.n, X[sample].tolist(), labels[sample], after, n_after)
    np.testing.assert_allclose(moved.S, S, atol=1e-12)
    np.testing.assert_allclose(moved.n, n, atol=1e-12)
    np.testing.assert_array_equal(moved.Q, sums.Q)
    # Nothing is lost.
    np.testing.assert_allclose(moved.S.sum(axis=1), X.sum(axis=0), atol=1e-12)
    assert moved.n.sum() == pytest.approx(len(X))


@every_kind
@given(seed=st.integers(0, 10_000))
@few
def test_separation_over_clusterings_and_repetition(kind, seed):
    X, labels = draw(seed)
    others = [np.random.default_rng([seed, i]).integers(0, K, len(X)) for i in range(3)]
    sums = ViewSums.from_rows(X, labels, K)
    found = mean_separation(sums, kind(X), np.ones(len(X)), labels, others, K)
    expected = oracle.separation(X.tolist(), others)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    tells = expected > 1e-9  # others are constant, or no better than chance
    found, repeated = repetition(kind(X), expected)
    r = oracle.repetition(X.tolist(), expected, COMPARED)
    np.testing.assert_allclose(abs(found[tells]), r[tells], atol=1e-5)
    assert all(
        expected[j] >= s for j, s in zip(repeated[tells], expected[tells], strict=True) if j >= 0
    )
    np.testing.assert_allclose(
        discounted(expected, found)[tells], (expected * (1 - r**2) ** DISCOUNT)[tells], atol=1e-4
    )


def test_a_constant_column_repeats_nothing():
    X = np.random.default_rng(0).random((30, 3))
    X[:, 2] = 0.1
    r, repeated = repetition(X, np.array([2.0, 1.0, 0.0]))
    assert (r[2], repeated[2]) == (0, -1)


def test_repetition_has_the_sign_of_the_correlation():
    x = np.random.default_rng(0).random(50)
    r, repeated = repetition(np.column_stack([x, -x, 3 * x]), np.array([3.0, 2.0, 1.0]))
    np.testing.assert_allclose(r, [0, -1, 1], atol=1e-6)
    assert repeated.tolist() == [-1, 0, 0]


@every_kind
@given(seed=st.integers(0, 10_000), n_neighbors=st.integers(1, 25))
@settings(max_examples=8, deadline=None)
def test_neighbours_filter_and_agreement(kind, seed, n_neighbors):
    rng = np.random.default_rng(seed)
    has = rng.random((2, 18)) < 0.8
    X = [rng.normal(0.5, 1, (18, 6)) * has[v][:, np.newaxis] for v in range(2)]
    views = [
        clustering.embedded(kind(X_v), own, n_neighbors) for X_v, own in zip(X, has, strict=True)
    ]
    for X_v, view, own in zip(X, views, has, strict=True):
        expected = oracle.neighbor_graph(X_v.tolist(), own, n_neighbors)
        np.testing.assert_allclose(view.graph.toarray(), expected, atol=1e-5)
        # All directions there are: the Gram matrix of the unit rows to the power of a half.
        unit = np.array([oracle._unit(row) for row in X_v])
        values, vectors = np.linalg.eigh(unit @ unit.T)
        root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
        np.testing.assert_allclose(view.rows @ view.rows.T, root, atol=1e-3)
    weights = np.array([1.0, 0.3])
    F = clustering._filtered(views, weights)
    graphs = [view.graph.toarray() for view in views]
    rows = [view.rows for view in views]
    expected = oracle.filtered(rows, graphs, has, weights, clustering.N_FILTERS)
    np.testing.assert_allclose(F, expected, atol=1e-5)
    labels = rng.integers(0, K, 18)
    found = clustering.holdout_agreement(rows, labels, K, views)
    each = [
        oracle.holdout_agreement(E, labels, own, K, clustering.N_HALVES)
        for E, own in zip(rows, has, strict=True)
    ]
    np.testing.assert_allclose(found, each, atol=1e-9)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(20, 60),
    numbers=st.tuples(st.integers(1, 9), st.integers(1, 9)),
)
@settings(max_examples=60, deadline=None)
def test_the_adjusted_mutual_information_is_that_of_scikit_learn(seed, n, numbers):
    rng = np.random.default_rng(seed)
    a, b = (3 * rng.integers(0, number, n) for number in numbers)
    b = np.where(rng.random(n) < 0.5, a, b)
    found = clustering.adjusted_mutual_information(a, b)
    assert found == pytest.approx(adjusted_mutual_info_score(a, b), abs=1e-9)


def test_agreement_that_chance_cannot_miss_is_none():
    apart = np.arange(5)
    assert clustering.adjusted_mutual_information(apart, apart[::-1]) == 0


@every_kind
@given(seed=st.integers(0, 10_000))
@few
def test_rows_go_where_their_cosines_say(kind, seed):
    X, labels = draw(seed)
    other, _ = draw(seed + 1, width=4)
    sums = [ViewSums.from_rows(kind(X_v), labels, K) for X_v in (X, other)]
    found = fit_to_clusters([kind(X), kind(other)], sums, np.array([1.0, 0.4]))
    expected = oracle.fit_to_clusters([X, other], [own.S for own in sums], [1.0, 0.4])
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("lacks", [False, True])
@every_kind
def test_scores_of_a_stream_are_those_of_its_rows_if_all_are_in_the_sample(kind, lacks):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 50)
    X = [rng.random((50, w)) + (np.arange(w) % 3 == labels[:, np.newaxis]) for w in (7, 5)]
    present = np.ones((50, 2), bool)
    if lacks:
        present[rng.integers(0, 50, 15), rng.integers(0, 2, 15)] = False
    X = [X_v * present[:, [v]] for v, X_v in enumerate(X)]
    own = Settings(3, sample_size=80)
    state = State.empty([7, 5], own)
    for start in range(0, 50, 20):
        rows = slice(start, start + 20)
        state = step(state, [kind(X_v[rows]) for X_v in X], own, present[rows]).commit()
    answers = Answers(
        State(state.views, state.sample.compact(), state.weights, 50, state.cluster_at), own
    )
    others = answers.clustering.starts
    for v, scores in enumerate(answers.scores()):
        has = np.flatnonzero(present[:, v])
        np.testing.assert_allclose(dense(answers.rows[v]), X[v])
        expected = oracle.separation(X[v][has].tolist(), [each[has] for each in others])
        np.testing.assert_allclose(answers.separations[v], expected, atol=1e-9)
        r = oracle.repetition(X[v][has].tolist(), expected, COMPARED)
        np.testing.assert_allclose(scores, expected * (1 - r**2) ** DISCOUNT, atol=1e-4)


def test_sparse_rows_stay_sparse_in_the_sample():
    X = sp.random_array((30, 50), density=0.1, rng=np.random.default_rng(0), format="csr")
    own = Settings(2)
    state = step(State.empty([50], own), [X], own).commit()
    assert all(sp.issparse(block) for piece in state.sample.pieces for block in piece)
