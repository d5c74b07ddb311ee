"""Parameters reach the model as they are meant, and bad ones are named."""

from collections import deque

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from faults import everything, good
from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import FSDS
from streams import every_solver, two_views


def test_the_paper_has_its_own_defaults_and_they_can_be_changed():
    model = OMVFSPaper(4, sparsity=0.5, max_iter=5, random_state=0).fit(two_views(0, 20))
    learned = model._fitted.settings
    assert (learned.solver, learned.graph, learned.n_clusters) == ("paper", "gaussian", 4)
    assert (learned.orthogonality, learned.sparsity, learned.max_iter) == (1e7, (0.5, 0.5), 5)
    assert OMVFSPaper().get_params()["max_iter"] == 200
    assert model.get_params()["criterion"] == "norm"
    assert model._ranking.diversity == model._ranking.recency == 0


@every_solver
@pytest.mark.parametrize(
    ("name", "value"),
    [("n_clusters", 7), ("sparsity", 0.25), ("sample_size", 10), ("half_life", 50), ("tol", 0.1)],
)
def test_what_decides_learning_may_not_change_without_an_error(make, name, value):
    model = make(3, random_state=0).partial_fit(two_views(0, 20))
    if name not in model.get_params():
        return
    before, was = everything(model), model.get_params()[name]
    model.set_params(**{name: value})
    wanted = rf"Got {name}={value}.*, but what was learned so far is of {name}=.*call fit\(\)"
    with pytest.raises(ValueError, match=wanted):
        model.partial_fit(two_views(1, 20))
    model.set_params(**{name: was})
    assert everything(model) == before
    model.partial_fit(two_views(1, 20))
    assert model.n_samples_seen_ == 40
    # To begin anew is something else.
    assert model.set_params(**{name: value}).fit(two_views(1, 20)).n_samples_seen_ == 20


def test_a_sketch_keeps_its_size():
    sketch = FSDS(n_clusters=2).partial_fit(two_views(0, 20))
    with pytest.raises(ValueError, match=r"a sketch of 31 directions, .* has 3"):
        sketch.set_params(n_clusters=30).partial_fit(two_views(1, 20))
    assert sketch.set_params(n_clusters=2).partial_fit(two_views(1, 20)).n_samples_seen_ == 40


@every_solver
def test_labels_are_of_the_rows_of_fit_and_of_no_others(make):
    X = two_views(0, 60)
    model = make(3, batch_size=20, random_state=0)
    labels = model.fit_predict(X)
    assert labels.shape == (60,)
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_array_equal(labels, model.predict(X))
    labels[:] = -1
    assert (model.labels_ >= 0).all()
    model.partial_fit(two_views(1, 20))
    assert not hasattr(model, "labels_")
    with pytest.raises(AttributeError, match="rows of fit"):
        _ = model.labels_
    assert model.window_labels_.shape == (40,)


@given(weights=st.tuples(st.floats(0, 5), st.floats(0, 5)))
@settings(max_examples=10, deadline=None)
def test_parameters_by_view_are_those_of_the_views(weights):
    assume(weights[0] != weights[1])
    by_view = dict(zip(("text", "image"), weights, strict=True))
    model = OMVFS(2, graph_weight=by_view, sparsity=by_view, random_state=0).fit(two_views(0, 20))
    assert model._fitted.settings.graph_weight == weights
    assert model._fitted.settings.sparsity == weights


BAD_PARAMETERS = [
    ("n_clusters", [0, -1, 2.0, "3", None, True, np.nan]),
    ("criterion", ["best", None, 0]),
    ("diversity", [-0.1, np.nan, np.inf, "2", None, True]),
    ("recency", [-0.1, 1.1, np.nan, np.inf, "2", None, True]),
    ("graph_weight", [-1.0, np.nan, np.inf, "1", None, {"text": 1.0}, {"a": 1.0, "b": 2.0}]),
    ("graph_weight", [{"text": -1.0, "image": 1.0}, {"text": "x", "image": 1.0}]),
    ("sparsity", [-1.0, np.nan, np.inf, "1", None, {"text": 1.0}, {"a": 1.0, "b": 2.0}]),
    ("orthogonality", [-1.0, np.nan, np.inf, "1", None]),
    ("batch_size", [0, -5, 2.5, "10", None, True]),
    ("window", [0, -1, 1.5, "2", True]),
    ("sample_size", [-1, 1.5, "2", None]),
    ("half_life", [0.0, -0.5, np.inf, np.nan, "1"]),
    ("graph", ["dense", None, 3]),
    ("n_neighbors", [0, -1, 2.5, None]),
    ("scale_columns", ["no", None, 2]),
    ("negative", ["drop", "allow", None]),
    ("n_init", [0, 1.5, None]),
    ("max_iter", [0, -1, 2.5, "5"]),
    ("tol", [-1e-3, np.nan, "1", None]),
    ("random_state", ["seed", -1]),
    ("views", [[8, 5]]),  # the data comes as views already
]


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in BAD_PARAMETERS for value in values],
    ids=lambda value: repr(value),
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_bad_parameter_is_named(method, name, value):
    make = OMVFSPaper if name in ("orthogonality", "tol") else OMVFS
    model = make(**{"n_clusters": 3, name: value})
    before = everything(model)
    pattern = "seed|random_state|Seed" if name == "random_state" else name
    with pytest.raises((TypeError, ValueError), match=pattern):
        getattr(model, method)(good(0))
    assert everything(model) == before


def test_parameters_are_not_touched_before_fit():
    value = {"text": 1, "image": 2}
    model = OMVFS("three", sparsity=value)
    assert model.n_clusters == "three"
    assert model.sparsity is value


def test_numpy_numbers_are_numbers():
    params = {"n_clusters": np.int64(3), "sparsity": np.float32(0.5), "half_life": np.float64(900)}
    model = OMVFS(**params, random_state=np.int32(0)).fit(good(0))
    assert isinstance(model.history_, deque)
