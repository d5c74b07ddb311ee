"""Views have the say that they are given, whatever units they come in."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from omvfs import OMVFS
from omvfs.datasets import make_planted
from omvfs.evaluation import normalized_mutual_information
from streams import SOLVERS, every_dtype, taken, two_views
from support import clustered, fingerprint

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
        ("constrained", {}, np.float32),
        ("constrained", {"scale_columns": True}, np.float64),
        ("constrained", {"half_life": 60.0}, np.float32),
        ("constrained", {"sample_size": 20}, np.float64),
        ("paper", {}, np.float64),
        ("paper", {"half_life": 60.0, "scale_columns": True}, np.float32),
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
@settings(max_examples=8, deadline=None)
def test_the_units_of_a_raised_view_change_nothing(seed, c):
    blocks = {name: X - 0.3 for name, X in two_views(seed, 60).items()}
    name = next(iter(blocks))
    one, two = (
        model(negative="shift", sparsity=0.0).fit(each)
        for each in (blocks, {**blocks, name: blocks[name] * c})
    )
    np.testing.assert_array_equal(two.labels_, one.labels_)
    np.testing.assert_allclose(two.scores_, one.scores_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@every_dtype
def test_rows_of_unit_norm_stay_as_they_are_to_the_bit(solver, dtype):
    blocks = {name: normalize(X).astype(dtype) for name, X in two_views(3, 80, dtype).items()}
    blocks["text"] = np.where(np.arange(80)[:, np.newaxis] % 7 == 0, 0, blocks["text"])
    one, two = (model(solver, view_weight=each).fit(blocks) for each in ("balanced", None))
    assert fingerprint(one._fitted.state) == fingerprint(two._fitted.state)
    np.testing.assert_array_equal(one.scores_, two.scores_)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
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


@pytest.mark.parametrize(("weight", "least", "most"), [("balanced", 0.3, 0.7), (None, 0, 0.03)])
def test_scaled_columns_weigh_by_view_not_by_how_many_there_are(weight, least, most):
    rng = np.random.default_rng(0)
    views = {name: clustered(rng, 300, width)[0] for name, width in {"few": 6, "many": 600}.items()}
    fitted = model(scale_columns=True, view_weight=weight, batch_size=300).fit(views)
    squares = {name: float(np.sum(V**2)) for name, V in fitted.V_.items()}
    assert least < squares["few"] / sum(squares.values()) < most


def test_a_heavy_view_does_not_drown_the_others():
    planted = make_planted(1_000, n_features=(500, 300), n_informative=(40, 20), random_state=0)
    heavy = 10 * np.random.default_rng(0).lognormal(0, 2, (1_000, 20))
    views = {**planted.views, "heavy": heavy}

    def found(weight):
        ranks = OMVFS(5, view_weight=weight, random_state=0).fit(views).view_ranking_["view_0"]
        return planted.informative["view_0"][ranks <= 40].sum()

    assert found(None) < 10
    assert found("balanced") > 35


def test_of_two_partitions_the_view_of_more_weight_has_its_own():
    rng = np.random.default_rng(0)
    (a, of_a), (b, of_b) = clustered(rng, 300, 30), clustered(rng, 300, 30)
    views = {"a": a, "b": 1000 * b}
    for weights, labels in (({"a": 9, "b": 1}, of_a), ({"a": 1, "b": 9}, of_b)):
        found = model(view_weight=weights, batch_size=100).fit(views).predict(views)
        assert normalized_mutual_information(labels, found) > 0.9


@pytest.mark.parametrize("bad", ["even", 0, -1, np.nan, np.inf, True, {"text": 1}, {"text": 0}])
def test_what_is_no_weight_is_refused(bad):
    with pytest.raises(ValueError, match="view_weight"):
        model(view_weight=bad).fit(two_views(0, 20))
