"""The table of parameters: all of OMVFS's, each with a check and a role that is true."""

from dataclasses import fields

import numpy as np
import pytest

from omvfs import OMVFS, OMVFSPaper
from omvfs.constraints import PARAMETERS, check_all, checked
from omvfs.formats import ArraySource
from omvfs.model.ranking.request import Ranking
from omvfs.model.state import Settings
from omvfs.persistence import CheckpointError
from omvfs.pipeline import run
from support import clustered, fingerprint


class NoDrift:
    """A detector that sees no change."""

    drift_detected = False

    def update(self, x):
        """Take no notice."""


# Of every parameter a value that is not its default.
OTHER = {
    "n_clusters": 3,
    "n_features_per_view": 2,
    "n_features_to_select": 6,
    "views": [5, 7],
    "remainder": "drop",
    "prepare": "l2",
    "solver": "paper",
    "criterion": "norm",
    "diversity": 0.0,
    "recency": 0.0,
    "graph_weight": 1.0,
    "sparsity": 0.5,
    "orthogonality": 1.0,
    "batch_size": 15,
    "window": 3,
    "sample_size": 10,
    "half_life": 50.0,
    "graph": "none",
    "n_neighbors": 3,
    "scale_columns": True,
    "view_weight": None,
    "negative": "shift",
    "n_init": 2,
    "max_iter": 1,
    "tol": 0.1,
    "new_features": "grow",
    "max_features": 5,
    "detect_drift": True,
    "drift_detector": NoDrift(),
    "on_drift": print,
    "random_state": 1,
}
ROLES = {
    role: [name for name in OTHER if PARAMETERS[name].role == role]
    for role in ("learns", "ranks", "reads", "tells", "seeds")
}


def rows():
    return clustered(np.random.default_rng(0), 90, 12)[0]


def model(**params):
    return OMVFS(**{"n_clusters": 4, "batch_size": 30, "random_state": 0, **params})


def test_every_parameter_stands_in_the_table():
    assert list(PARAMETERS) == list(OTHER)
    for kind in (OMVFS, OMVFSPaper):
        assert set(PARAMETERS) == {*kind._get_param_names(), *kind._fixed}
        assert not set(kind._fixed) & set(kind._get_param_names())
    assert {field.name for field in fields(Settings)} <= set(ROLES["learns"])
    assert {field.name for field in fields(Ranking)} - {"n_steps"} <= set(ROLES["ranks"])


def test_defaults_pass_their_own_checks():
    check_all(OMVFS().get_params())
    check_all(OMVFSPaper().get_params(), ["text", "image"])
    check_all(OTHER, ["text"])


@pytest.mark.parametrize("name", ROLES["ranks"])
def test_what_ranks_changes_nothing_that_is_learned(name):
    plain, other = model().fit(rows()), model(**{name: OTHER[name]}).fit(rows())
    assert fingerprint(other._fitted) == fingerprint(plain._fitted)
    # And may be changed later as well as before.
    plain.set_params(**{name: OTHER[name]})
    np.testing.assert_array_equal(plain.scores_, other.scores_)
    np.testing.assert_array_equal(plain.get_support(), other.get_support())


@pytest.mark.parametrize("name", OMVFS().get_params())
def test_a_run_goes_on_with_what_ranks_reads_or_tells_and_with_nothing_else(name, tmp_path):
    path, others = tmp_path / "model", {name: OTHER[name]}
    run(ArraySource(rows()), model(), save_to=path)
    if PARAMETERS[name].role in ("ranks", "reads", "tells"):
        result = run(ArraySource(rows()), model(**others), save_to=path, resume=True)
        assert result.selector.get_params()[name] == OTHER[name]
    else:
        with pytest.raises(CheckpointError, match=rf"other parameters: {name}="):
            run(ArraySource(rows()), model(**others), save_to=path, resume=True)


@pytest.mark.parametrize("name", [name for name, each in PARAMETERS.items() if each.per_view])
def test_a_parameter_by_view_has_one_for_each(name):
    one, two = OTHER[name], OMVFS().get_params()[name]
    taken = checked(name, one, ["a"]) + checked(name, two, ["b"])
    assert checked(name, {"b": two, "a": one}, ["a", "b"]) == taken
    assert checked(name, one, ["a", "b"]) == (one, one)
    assert set(checked(name, {"x": one})) == {one}  # which views there are is not known
    with pytest.raises(ValueError, match=rf"{name} for views 'x'.*'a', 'b'"):
        checked(name, {"x": one}, ["a", "b"])
    with pytest.raises(ValueError, match=rf"{name}\['x'\]="):
        checked(name, {"x": "much"})
