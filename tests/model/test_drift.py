"""A change of the stream is told soon, and nothing is told of a stream that never changes."""

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2

from omvfs.datasets import make_planted
from omvfs.model.arrays import Block
from omvfs.model.drift import ALPHA, BUCKET, FIRST, Change, Watch, g_test, watched


def planted(n_rows: int, drift_at: Sequence[int] = (), missing: float = 0.0, seed: int = 0):
    return make_planted(
        n_rows,
        n_features=(200, 60),
        n_informative=(40, 20),
        n_classes=4,
        row_length=30,
        drift_at=drift_at,
        missing=missing,
        random_state=seed,
    )


def watch_all(X: Sequence[Block], batch_size: int = 250) -> tuple[Watch, list[Change]]:
    """Watch rows that come chunk by chunk."""
    watch, found = Watch.empty(len(X)), []
    for start in range(0, X[0].shape[0], batch_size):
        watch, changes = watched(watch, [X_v[start : start + batch_size] for X_v in X])
        found += changes
    return watch, found


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_is_told_of_a_stream_that_does_not_change(missing: float, seed: int) -> None:
    watch, changes = watch_all(list(planted(8000, missing=missing, seed=seed).views.values()))
    assert not changes
    assert watch.n_tests == (8000 - FIRST) // BUCKET


def test_words_that_change_their_meaning_are_told_each_time() -> None:
    rows = planted(9000, drift_at=(3000, 6000))
    _, changes = watch_all(list(rows.views.values()))
    assert len(changes) == 2
    for change, at in zip(changes, (3000, 6000), strict=True):
        assert at < change.row <= at + 2 * BUCKET
        assert abs(change.since - at) <= BUCKET
        assert change.statistic > change.threshold
        assert 0 < change.distance <= 1


def test_other_shares_of_the_classes_are_told_as_such() -> None:
    rows = planted(6000)
    kept = np.flatnonzero((np.arange(6000) < 4000) | (rows.labels != 0))
    _, changes = watch_all([X[kept] for X in rows.views.values()])
    assert [4000 < change.row <= 5000 for change in changes] == [True]
    assert changes[0].kind == "shares"


def test_views_that_rows_begin_to_lack_are_told() -> None:
    X = list(planted(6000).views.values())
    X[1] = sp.csr_array(sp.vstack([X[1][:4000], sp.csr_array((2000, X[1].shape[1]))]))
    _, changes = watch_all(X)
    assert [4000 < change.row <= 4400 for change in changes] == [True]


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize(("first", "then"), [([1, 0, 0], [0, 1, 0]), ([0, 0, 0], [0, 1, 0])])
def test_a_change_of_rows_that_are_all_alike_is_told(first: list[int], then: list[int]) -> None:
    X = np.repeat(np.array([first, then], float), [3000, 600], axis=0)
    X[:, 2] += np.arange(3600) % 2 * 0.1
    _, changes = watched(Watch.empty(1), [X])
    assert [change.row for change in changes] == [3200]


def test_changes_are_the_same_however_the_rows_are_cut() -> None:
    X = list(planted(7000, drift_at=(3000,)).views.values())
    (watch, changes), (other, others) = (watch_all(X, size) for size in (170, 7000))
    assert changes == others
    np.testing.assert_array_equal(watch.buckets, other.buckets)
    np.testing.assert_array_equal(watch.before, other.before)
    np.testing.assert_array_equal(watch.views[0].S, other.views[0].S)


def test_a_call_changes_nothing_of_the_watch_it_is_given() -> None:
    X = list(planted(3000).views.values())
    watch, _ = watched(Watch.empty(2), [X_v[:1300] for X_v in X])
    rest = [X_v[1300:] for X_v in X]
    first, second = (watched(watch, rest)[0] for _ in range(2))
    np.testing.assert_array_equal(first.buckets, second.buckets)


def test_columns_that_no_row_has_yet_change_nothing() -> None:
    X = list(planted(3000).views.values())
    wide = [sp.csr_array((X_v.data, X_v.indices, X_v.indptr), (3000, 400)) for X_v in X]
    plain, grown = (
        watched(watched(Watch.empty(2), [X_v[:500] for X_v in X])[0], [X_v[500:] for X_v in late])
        for late in (X, wide)
    )
    np.testing.assert_array_equal(plain[0].buckets, grown[0].buckets)


def test_new_words_are_told() -> None:
    X = list(planted(4000).views.values())
    watch, changes = watched(Watch.empty(2), [X_v[:2500] for X_v in X])
    assert not changes
    new = sp.csr_array(np.random.default_rng(0).poisson(0.5, (1500, 50)).astype(float))
    late = [sp.csr_array(sp.hstack([X_v[2500:], new])) for X_v in X]
    _, changes = watched(watch, late)
    assert [2500 < change.row <= 3000 for change in changes] == [True]
    assert changes[0].kind == "fit"


def test_g_is_chi_squared_where_rows_are_drawn_alike() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(24, 0.5))
    found = [
        g_test(rng.multinomial(200, shares), rng.multinomial(1500, shares)) for _ in range(4000)
    ]
    p = np.array([chi2.sf(G, degrees) for G, degrees in found])
    assert 0.08 < np.mean(p < 0.1) < 0.12
    assert 0.006 < np.mean(p < 0.01) < 0.016


def test_g_does_not_depend_on_which_rows_came_first() -> None:
    a, b = np.array([30, 20, 50, 1]), np.array([25, 40, 60, 2])
    assert g_test(a, b) == pytest.approx(g_test(b, a))
    assert g_test(a, 3 * a)[0] == pytest.approx(0, abs=1e-9)
    assert g_test(a, np.zeros(4, int)) == (0.0, 0)


def test_levels_of_all_tests_add_up_to_alpha() -> None:
    n = np.arange(1, 10**6)
    assert np.sum(ALPHA / (n * (n + 1))) == pytest.approx(ALPHA, rel=1e-5)
