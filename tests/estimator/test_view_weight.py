"""Views have the say that they are given, whatever units they come in."""

from itertools import cycle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

import omvfs
from omvfs import OMVFS, Views
from omvfs.model.constrained.view_weights import UNHEARD
from streams import SOLVERS, taken, two_views
from support import fingerprint

KINDS = {"dense": np.asarray, "sparse": sp.csr_array}


def model(solver="constrained", **params):
    given = {"batch_size": 20, "view_weight": "balanced", "max_iter": 10, "random_state": 0}
    make = SOLVERS[solver]
    return make(3, **taken(make, **{**given, **params}))


def root_mean_square(X):
    squares = np.asarray((X * X).sum(axis=1)).ravel()
    return np.sqrt(squares[squares > 0].mean())


@pytest.mark.parametrize(
    ("solver", "params", "dtype"),
    [
        ("constrained", {"sample_size": 20}, np.float32),
        ("constrained", {"half_life": 60.0, "scale_columns": True}, np.float64),
    ],
)
@given(
    seed=st.integers(0, 1000),
    powers=st.tuples(st.integers(-30, 30), st.integers(-30, 30)),
    kind=st.sampled_from(list(KINDS.values())),
)
@settings(max_examples=3, deadline=None)
def test_the_units_of_views_change_nothing(solver, params, dtype, seed, powers, kind):
    # Powers of 2 scale every number without rounding.
    blocks = two_views(seed, 60, dtype, kind=kind)
    units = [dtype(2.0**power) for power in powers]
    other = {name: X * c for (name, X), c in zip(blocks.items(), units, strict=True)}
    one, two = model(solver, **params).fit(blocks), model(solver, **params).fit(other)
    np.testing.assert_array_equal(two.scores_, one.scores_)
    np.testing.assert_array_equal(two.labels_, one.labels_)
    np.testing.assert_array_equal(two.predict(other), one.predict(blocks))
    for name, V in one.V_.items():
        np.testing.assert_array_equal(two.V_[name], V)


@given(seed=st.integers(0, 1000), c=st.floats(1e-6, 1e6))
@settings(max_examples=4, deadline=None)
def test_the_units_of_a_raised_view_change_nothing(seed, c):
    blocks = {name: X - 0.3 for name, X in two_views(seed, 60).items()}
    one, two = (
        model(negative="shift", sparsity=0.0).fit(each)
        for each in (blocks, {**blocks, "text": blocks["text"] * c})
    )
    np.testing.assert_array_equal(two.labels_, one.labels_)
    np.testing.assert_allclose(two.scores_, one.scores_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("solver", "dtype"), list(zip(SOLVERS, [np.float32], strict=True)))
def test_rows_of_unit_norm_stay_as_they_are_to_the_bit(solver, dtype):
    blocks = {name: normalize(X).astype(dtype) for name, X in two_views(3, 80, dtype).items()}
    blocks["text"] = np.where(np.arange(80)[:, np.newaxis] % 7 == 0, 0, blocks["text"])
    one, two = (model(solver, view_weight=each).fit(blocks) for each in ("balanced", None))
    assert fingerprint(one._known.state) == fingerprint(two._known.state)
    np.testing.assert_array_equal(one.scores_, two.scores_)


@pytest.mark.parametrize(
    ("solver", "kind"), list(zip(SOLVERS, KINDS.values(), strict=False)), ids=list(SOLVERS)
)
def test_weighing_is_scaling_by_hand(solver, kind):
    blocks = two_views(5, 60, kind=kind)
    weights = dict(zip(blocks, (4.0, 0.5), strict=True))
    by_hand = {
        name: X * (np.sqrt(weights[name]) / root_mean_square(X)) for name, X in blocks.items()
    }
    weighed = model(solver, view_weight=weights, batch_size=60).fit(blocks)
    plain = model(solver, view_weight=None, batch_size=60).fit(by_hand)
    np.testing.assert_array_equal(weighed.labels_, plain.labels_)
    np.testing.assert_allclose(weighed.scores_, plain.scores_, rtol=1e-8, atol=1e-12)
    assert weighed.explained_share(blocks) == pytest.approx(plain.explained_share(by_hand))


# Decided by the rows: a view that tells nothing has no say, and is still ranked.

QUICK = {"n_init": 3, "max_iter": 5, "random_state": 0, "batch_size": 60, "view_weight": "auto"}
# Of forgetting, scaling, preparing, graphs and rules, all that a stream may be learned by.
WAYS = [
    {},
    {"half_life": 200.0, "view_weight": {"text": "auto", "image": "auto", "noise": "auto"}},
    {"scale_columns": True, "graph": "gaussian", "criterion": "signal"},
    {"sample_size": 200, "negative": "shift"},
    {"prepare": ["tfidf", "l2"], "criterion": "information"},
]


def with_noise(seed=0, n=480, noisy=True):
    """Return two views of three kinds of rows, a third of noise, and the kinds."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n)
    text, image = (np.hstack([np.eye(3)[kinds], rng.random((n, 6))]) for _ in range(2))
    views = {"text": text, "image": image}
    if noisy:
        views["noise"] = rng.lognormal(0, 1.5, (n, 9))
    return views, kinds


def decided(rows, **params):
    return OMVFS(3, **{**QUICK, **params}).fit(rows)


@pytest.mark.parametrize(("params", "lacks"), list(zip(WAYS, cycle([False, True]), strict=False)))
def test_every_way_to_learn_finds_the_view_that_tells_nothing(params, lacks):
    views, _ = with_noise()
    rng = np.random.default_rng(1)
    present = {name: rng.random(480) < 0.8 for name in ("image", "noise")}
    rows = Views(views, present=present if lacks else {})
    auto = decided(rows, **params)
    assert auto.view_weights_ == {"text": 1.0, "image": 1.0, "noise": UNHEARD}
    assert np.isfinite(auto.scores_).all()
    assert (auto.view_scores_["noise"] > 0).any()
    assert set(auto.predict(rows)) <= set(range(3))
    assert 0 <= auto.explained_share(rows) <= 1
    assert auto.explain("noise", 0).rank >= 1
    if lacks:
        gone = np.zeros(20, bool)
        first = {name: X[:20] for name, X in views.items()}
        only = Views(first, present={"text": gone, "image": gone})
        assert len(set(auto.predict(only))) > 1  # placed by the noise, as there is nothing else


@given(st.integers(0, 100))
@settings(max_examples=3, deadline=None)
def test_views_that_are_all_heard_are_balanced_to_the_bit(seed):
    rows, _ = with_noise(seed, noisy=False)
    auto, balanced = decided(rows), decided(rows, view_weight="balanced")
    assert auto.view_weights_ == balanced.view_weights_ == {"text": 1.0, "image": 1.0}
    np.testing.assert_array_equal(auto.scores_, balanced.scores_)
    np.testing.assert_array_equal(auto.labels_, balanced.labels_)
    assert fingerprint(auto._known.state.statistics) == fingerprint(
        balanced._known.state.statistics
    )


@given(st.permutations(range(3)))
@settings(max_examples=4, deadline=None)
def test_parts_decide_anew_together_in_any_order(order):
    rows, _ = with_noise()
    # None of them could decide by itself.
    parts = [decided({name: X[i::6] for name, X in rows.items()}) for i in range(3)]
    assert all(set(part.view_weights_.values()) == {1.0} for part in parts)
    one, other = omvfs.merge(parts), omvfs.merge([parts[i] for i in order])
    assert one._known.state.view_weights == (1.0, 1.0, UNHEARD)
    np.testing.assert_array_equal(one.scores_, other.scores_)
    assert OMVFS.from_bytes(one.to_bytes()).view_weights_ == one.view_weights_


def test_what_cannot_be_decided_is_refused():
    rows, _ = with_noise(n=60)
    with pytest.raises(ValueError, match=r"view_weight='auto' with sample_size=99; .* 100 rows"):
        decided(rows, sample_size=99)
    with pytest.raises(ValueError, match="expected 'balanced', 'auto', a weight above 0"):
        decided(rows, view_weight="by itself")
