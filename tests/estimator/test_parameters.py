"""Parameters reach the model as they are meant, and bad ones are named."""

from collections import deque

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from faults import everything, good
from omvfs import OMVFS
from streams import two_views


def test_as_published_is_the_printed_method_and_can_be_changed():
    params = OMVFS.as_published(4, sparsity=0.5).get_params()
    assert params["n_clusters"] == 4
    assert params["solver"] == "paper"
    assert params["graph"] == "gaussian"
    assert params["criterion"] == "norm"
    assert params["diversity"] == 0
    assert params["orthogonality"] == 1e7
    assert params["max_iter"] == 200
    assert params["sparsity"] == 0.5


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
    ("solver", ["newton", None, 1]),
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
    ("forgetting", [0.0, -0.5, 1.1, np.nan, "1", None]),
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
    model = OMVFS(**{"n_clusters": 3, name: value})
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
    params = {"n_clusters": np.int64(3), "sparsity": np.float32(0.5), "forgetting": np.float64(0.9)}
    model = OMVFS(**params, random_state=np.int32(0)).fit(good(0))
    assert isinstance(model.history_, deque)
