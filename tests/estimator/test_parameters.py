"""Parameters reach the model as they are meant, and bad ones are named."""

import re
import shutil
from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import clone

from faults import everything, good
from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import FSDS, Variance
from omvfs.codec import CheckpointError
from omvfs.constraints import PARAMETERS, check_all, checked
from omvfs.formats import ArraySource
from omvfs.model.learning import Settings
from omvfs.parameters import GONE, number, one_of
from omvfs.pipeline import run
from streams import two_views
from support import clustered, fingerprint


@pytest.mark.parametrize(
    ("model", "others"),
    [
        (OMVFS(3, random_state=0), {"half_life": 50.0, "sample_size": 10}),
        (OMVFSPaper(3, max_iter=5, random_state=0), {"sparsity": 0.25, "tol": 0.1}),
    ],
    ids=["OMVFS", "OMVFSPaper"],
)
def test_what_decides_learning_may_not_change_without_an_error(model, others):
    model = clone(model).partial_fit(two_views(0, 20))
    before, params = everything(model), model.get_params()
    others = {"n_clusters": 7, "half_life": 50, **others}
    for name, value in others.items():
        model.set_params(**{name: value})
        wanted = rf"Got {name}={value}.*, but what was learned so far is of {name}=.*call fit\(\)"
        with pytest.raises(ValueError, match=wanted):
            model.partial_fit(two_views(1, 20))
        model.set_params(**{name: params[name]})
        assert everything(model) == before
    assert model.partial_fit(two_views(1, 20)).n_samples_seen_ == 40
    # To begin anew is something else.
    assert model.set_params(n_clusters=7).fit(two_views(1, 20)).n_samples_seen_ == 20


def test_labels_are_of_the_rows_of_fit_and_of_no_others():
    X = two_views(0, 60)
    model = OMVFS(3, batch_size=20, random_state=0)
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


@pytest.mark.parametrize("weights", [(2.0, 0.5), (1.0, "auto")])
def test_parameters_by_view_are_those_of_the_views(weights):
    by_view = dict(zip(("image", "text"), weights[::-1], strict=True))
    model = OMVFS(2, view_weight=by_view, random_state=0).fit(two_views(0, 20))
    assert model._known.settings.view_weights == weights


BAD_PARAMETERS = [
    ("n_clusters", [0, -1, 2.0, "3", None, True, np.nan]),
    ("criterion", ["best", "auto", None, 0]),
    ("batch_size", [0, -5, 2.5, "10", None, True]),
    ("sample_size", [0, -1, 1.5, "2", None]),
    ("half_life", [0.0, -0.5, np.inf, np.nan, "1"]),
    ("view_weight", ["even", 0, -1, np.nan, np.inf, True, None, {"text": 1}, {"text": 0}]),
    ("new_features", ["maybe", None, True]),
    ("detect_drift", ["no", None, 2]),
    ("random_state", ["seed", -1]),
    ("columns", ["zip", {"zip": "postcode"}]),
    ("views", [[8, 5]]),  # the data comes as views already
]


@pytest.mark.parametrize(("name", "values"), BAD_PARAMETERS)
def test_a_bad_parameter_is_named(name, values):
    pattern = "seed|random_state|Seed" if name == "random_state" else name
    for value in values:
        model = OMVFS(**{"n_clusters": 3, name: value})
        before = everything(model)
        for method in (model.fit, model.partial_fit):
            with pytest.raises((TypeError, ValueError), match=pattern):
                method(good(0))
        assert everything(model) == before


# What each parameter decides

# Of every parameter a value that is not its default.
OTHER = {
    "n_clusters": 3,
    "n_features_per_view": 2,
    "n_features_to_select": 6,
    "views": [5, 7],
    "columns": {"zip": "category"},
    "prepare": "l2",
    "criterion": "norm",
    "view_weight": 1.0,
    "sample_size": 10,
    "batch_size": 15,
    "half_life": 50.0,
    "new_features": "grow",
    "detect_drift": True,
    "random_state": 1,
}
ROLES = {
    role: [name for name in OTHER if PARAMETERS[name].role == role]
    for role in ("learns", "ranks", "reads", "seeds")
}


def rows():
    return clustered(np.random.default_rng(0), 90, 12)[0]


def model(**params):
    return OMVFS(**{"n_clusters": 4, "batch_size": 30, "random_state": 0, **params})


def test_every_parameter_stands_in_the_table():
    assert list(PARAMETERS) == list(OTHER)
    assert set(PARAMETERS) == set(OMVFS._get_param_names())
    learned = {field.name for field in fields(Settings)} - {"seed", "view_weights"}
    assert learned | {"view_weight"} <= set(ROLES["learns"])


@pytest.mark.parametrize("name", GONE)
def test_a_parameter_that_is_gone_is_refused_with_what_to_do_instead(name):
    assert name not in PARAMETERS
    for each in (OMVFS(), Variance()):
        said = re.escape(f"no parameter {name} any more. {GONE[name][:20]}")
        with pytest.raises(ValueError, match=said):
            each.set_params(**{name: None})
    with pytest.raises(ValueError, match=said):
        OMVFS(**{name: None})


def test_partial_fit_takes_no_other_keywords():
    for each in (OMVFS(2), FSDS()):
        with pytest.raises(TypeError, match="start_U"):
            each.partial_fit(two_views(0, 20), start_U=None)


def test_defaults_pass_their_own_checks():
    check_all(OMVFS().get_params())
    check_all(OTHER, ["text"])


@pytest.mark.parametrize("name", ROLES["ranks"])
def test_what_ranks_changes_nothing_that_is_learned(name):
    plain, other = model().fit(rows()), model(**{name: OTHER[name]}).fit(rows())
    assert fingerprint(other._known) == fingerprint(plain._known)
    # And may be changed later as well as before.
    plain.set_params(**{name: OTHER[name]})
    np.testing.assert_array_equal(plain.scores_, other.scores_)
    np.testing.assert_array_equal(plain.get_support(), other.get_support())


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "model"
    run(ArraySource(rows()), model(), save_to=path)
    return path.parent


@pytest.mark.parametrize("name", OMVFS().get_params())
def test_a_run_goes_on_with_what_ranks_or_reads_and_with_nothing_else(name, checkpoint, tmp_path):
    shutil.copytree(checkpoint, tmp_path / "run")
    path, others = tmp_path / "run" / "model", {name: OTHER[name]}
    if PARAMETERS[name].role in ("ranks", "reads"):
        result = run(ArraySource(rows()), model(**others), save_to=path, resume=True)
        assert result.selector.get_params()[name] == OTHER[name]
    else:
        with pytest.raises(CheckpointError, match=rf"other parameters: {name}=.+, now .+"):
            run(ArraySource(rows()), model(**others), save_to=path, resume=True)


@pytest.mark.parametrize("name", [name for name in OTHER if PARAMETERS[name].per_view])
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


# Checks of a value


def test_what_is_not_among_the_values_or_no_finite_number_is_refused():
    for value in (True, 3, "1", None, np.array([1, 2]), [1], np.nan):
        with pytest.raises(ValueError, match="Got style="):
            one_of("style", value, (1, 2))
    for value in (10**400, float("inf"), float("nan"), True, "1", None):
        with pytest.raises(ValueError, match=r"Got x=.*; expected a finite number of at least 0"):
            number("x", value, least=0.0)
