"""Parameters that a checkpoint cannot hold, or that are of another version."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from omvfs import OMVFS, persistence
from omvfs.formats import ArraySource
from omvfs.pipeline import run
from streams import two_views
from support import counts


def largest(V, masses, sums):
    """A criterion of one's own."""
    return V.max(axis=1)


def test_a_callable_is_not_saved(tmp_path):
    model = OMVFS(3, criterion=largest, random_state=0).fit(two_views(0, 60))
    with pytest.raises(TypeError, match=r"criterion=<function largest.*set_params\(criterion="):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="criterion=<function largest"):
        run(ArraySource(two_views(0, 60)), clone(model), save_to=tmp_path / "model")
    assert run(ArraySource(two_views(0, 60)), clone(model)).selector.scores_.any()
    model.set_params(criterion="norm").save(tmp_path / "model")
    again = OMVFS.load(tmp_path / "model").set_params(criterion=largest)
    np.testing.assert_array_equal(again.scores_, model.set_params(criterion=largest).scores_)


def test_a_model_with_parameters_of_before_says_what_to_do(tmp_path):
    path = tmp_path / "model"
    OMVFS(3, random_state=0).fit(two_views(0, 60)).save(path)
    arrays, meta = persistence.read(path)
    params = meta["params"]
    params["score"] = params.pop("criterion")
    persistence.write(path, persistence.encoded(arrays, meta))
    with pytest.raises(persistence.CheckpointError, match=r"parameters 'score'.*fit again"):
        OMVFS.load(path)


NAMES = ["text__a", "image__x", "text__b", "image__y"]


def named_rows(names=NAMES):
    return pd.DataFrame(counts(np.random.default_rng(0), 40, 4), columns=names)


def test_views_by_the_names_of_columns_are_saved(tmp_path):
    frame = named_rows(NAMES)
    model = OMVFS(2, views="prefix", n_features_per_view=1, random_state=0).fit(frame)
    model.save(tmp_path / "model")
    again = OMVFS.load(tmp_path / "model")
    assert again.views == "prefix"
    assert again.schema_.names == ("text", "image")
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    again.partial_fit(frame)


def test_views_by_callables_are_not_saved(tmp_path):
    frame = named_rows()
    model = OMVFS(2, views="prefix", n_features_per_view=1, random_state=0).fit(frame)
    columns = {"text": [0, 2], "image": [1, 3]}
    found = {view: lambda X, own=own: own for view, own in columns.items()}
    by_callables = clone(model).set_params(views=found).fit(frame)
    with pytest.raises(TypeError, match=r"views= with callables.*set_params\(views="):
        by_callables.save(tmp_path / "other")
    by_callables.set_params(views=columns).save(tmp_path / "other")
    got = OMVFS.load(tmp_path / "other").transform(frame)
    np.testing.assert_array_equal(got, model.transform(frame))
