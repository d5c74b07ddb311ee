"""A view that tells nothing has no say, and is certain to tell nothing before it loses it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model.concordance import likeness, likeness_correlation
from omvfs.model.constrained.view_weights import UNHEARD, view_weights

SAYS_NOTHING = {
    "even": lambda rng, n: rng.random((n, 20)),
    "normal": lambda rng, n: np.abs(rng.standard_normal((n, 20))),
    "lognormal": lambda rng, n: rng.lognormal(0, 2, (n, 20)),
    "words": lambda rng, n: rng.poisson(0.3, (n, 40)).astype(float),
    "few values": lambda rng, n: 1.0 * (rng.random((n, 30)) < 0.02),
    "one column": lambda rng, n: rng.random((n, 1)),
    "constant": lambda rng, n: np.ones((n, 5)),
    "empty": lambda rng, n: np.zeros((n, 5)),
}


def of_kinds(rng, kinds):
    """Return a view that tells of which kind its rows are."""
    return np.hstack([np.eye(3)[kinds], 2 * rng.random((len(kinds), 6))])


@given(st.integers(0, 1000), st.integers(5, 7))
@settings(max_examples=5, deadline=None)
def test_the_error_is_that_over_all_ways_to_pair_the_rows(seed, n):
    rng = np.random.default_rng(seed)
    K, L = (likeness(rng.random((n, 4))) for _ in range(2))
    found = [
        likeness_correlation(K, L[np.ix_(order, order)])
        for order in map(list, itertools.permutations(range(n)))
    ]
    assert np.mean(found) == pytest.approx(0, abs=1e-12)
    assert np.std(found) == pytest.approx(math.sqrt(2 / (n * (n - 3))), rel=1e-9)


@pytest.mark.parametrize("noise", SAYS_NOTHING.values(), ids=SAYS_NOTHING.keys())
@given(seed=st.integers(0, 1000))
@settings(max_examples=3, derandomize=True, deadline=None)
def test_noise_beside_views_that_have_structure_is_not_heard(noise, seed):
    # Of 1,000 seeds, noise is heard with one at most: chance goes beyond four standard errors.
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, 400)
    one, two, nothing = of_kinds(rng, kinds), of_kinds(rng, kinds), noise(rng, 400)
    assert view_weights([one, nothing, two]) == (1.0, UNHEARD, 1.0)
    assert view_weights([nothing, one]) == (UNHEARD, 1.0)


@given(st.integers(0, 1000), st.permutations(range(3)))
@settings(max_examples=8, deadline=None)
def test_structure_that_no_other_view_shares_is_heard_unless_others_share_one(seed, order):
    rng = np.random.default_rng(seed)
    kinds, other_kinds = rng.integers(0, 3, 400), rng.integers(0, 3, 400)
    X = [of_kinds(rng, each) for each in (kinds, kinds, other_kinds)]
    assert view_weights([X[0], X[2]]) == (1.0, 1.0)
    # In whatever order they come.
    weights = (1.0, 1.0, UNHEARD)
    assert view_weights([X[v] for v in order]) == tuple(weights[v] for v in order)


def test_few_rows_one_view_and_views_that_no_row_has_both_of_decide_nothing():
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, 900)
    X = [of_kinds(rng, kinds), of_kinds(rng, kinds), rng.random((900, 5)), rng.random((900, 5))]
    assert view_weights([X_v[:99] for X_v in X]) == (1.0,) * 4
    assert view_weights(X[2:3]) == (1.0,)
    present = np.ones((900, 4), bool)
    # The last can be compared with none, and the others with each other.
    present[:450, :3], present[:450, 3], present[450:, 3] = False, True, False
    pairs = zip(X, present.T, strict=True)
    weights = view_weights([X_v * has[:, np.newaxis] for X_v, has in pairs], present)
    assert weights == (1.0, 1.0, UNHEARD, 1.0)
