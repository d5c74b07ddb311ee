"""What holds for methods that score features on a graph of the rows."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from omvfs.datasets import make_planted
from omvfs.testing import check_selector
from paper.mcfs import MCFS
from paper.spec import SPEC, LaplacianScore
from support import KINDS, ODD, clustered, counts

SEEDED = (MCFS, SPEC)


def make(method, n_clusters):
    return method(n_clusters, random_state=0) if method in SEEDED else method()


def by_name(methods):
    return pytest.mark.parametrize("method", methods, ids=lambda method: method.__name__)


every_method = by_name([LaplacianScore, *SEEDED])


@every_method
def test_the_contract_of_selectors_is_kept(method):
    check_selector(make(method, 3))


@pytest.mark.parametrize(("method", "least"), [(LaplacianScore, 0.9), (SPEC, 0.9), (MCFS, 0.6)])
def test_planted_features_are_found_far_above_chance(method, least):
    data = make_planted(400, n_features=(150, 100), n_informative=(15, 10), random_state=0)
    views = {name: normalize(X.astype(float)) for name, X in data.views.items()}
    model = make(method, 5).fit(views)
    for view, truth in data.informative.items():
        assert truth[model.view_ranking_[view] <= truth.sum()].mean() >= least  # chance: 0.1


@every_method
def test_kind_and_precision_change_no_more_than_rounding(method):
    rng = np.random.default_rng(0)
    views = {"a": clustered(rng, 40, 12)[0], "b": counts(rng, 40, 60)}
    views = {name: X.astype(np.float32).astype(np.float64) for name, X in views.items()}
    expected = make(method, 3).fit(views).scores_
    atol = 1e-5 * np.abs(expected).max()
    for kind in KINDS.values():
        own = {name: kind(X.astype(np.float32)) for name, X in views.items()}
        scores = make(method, 3).fit(own).scores_
        assert scores.dtype == np.float64
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=atol)


@every_method
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_constant_feature_comes_last(method, kind):
    X, _ = clustered(np.random.default_rng(0), 60, 9)
    X[:, 0], X[:, 4] = 100.0, 0.1
    X[:, 4] *= 1 + 2e-16 * np.arange(60)
    model = make(method, 3).fit(kind(X))
    assert set(np.argsort(model.ranking_)[-2:]) == {0, 4}
    assert model.scores_[0] == model.scores_[4] < np.delete(model.scores_, [0, 4]).min()


@every_method
@pytest.mark.parametrize("X", ODD.values(), ids=ODD.keys())
def test_odd_views_give_finite_scores(method, X):
    for kind in (np.asarray, sp.csr_array):
        model = make(method, 8).fit({"a": kind(X), "b": kind(X)})
        assert np.isfinite(model.scores_).all()


@by_name(SEEDED)
def test_the_seed_decides_nothing_but_the_rounding_of_eigenvectors(method):
    X = counts(np.random.default_rng(0), 60, 20)
    first, again = (make(method, 5).fit(X).scores_ for _ in range(2))
    np.testing.assert_array_equal(again, first)
    for seed in range(1, 4):
        other = make(method, 5).set_params(random_state=seed).fit(X).scores_
        np.testing.assert_allclose(other, first, atol=1e-7)


@every_method
def test_memory_is_far_from_that_of_rows_or_features_squared(method):
    shape = 2500, 30_000
    X = sp.random_array(shape, density=5e-4, format="csr", rng=np.random.default_rng(0))
    tracemalloc.start()
    try:
        make(method, 2).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.17 * shape[0] * shape[1] * 8


@pytest.mark.parametrize(
    ("method", "bad"),
    [
        (LaplacianScore, {"n_neighbors": (0, 2.0, True), "weights": ("dot",), "width": (0, -1.0)}),
        (MCFS, {"n_clusters": (0,), "n_nonzero": (0, 0.5), "weights": (None,)}),
        (SPEC, {"n_clusters": (0,), "style": (0, True), "width": (np.inf,)}),
    ],
)
def test_a_bad_parameter_is_refused_before_anything_is_learned(method, bad):
    for name, values in bad.items():
        for value in values:
            model = method(**{name: value})
            with pytest.raises(ValueError, match=name):
                model.fit({"a": np.eye(4), "b": np.eye(4)})
            assert not [each for each in vars(model) if each.endswith("_")]
