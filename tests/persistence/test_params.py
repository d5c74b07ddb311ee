"""Parameters that a checkpoint cannot hold, or that are of another version."""

import numpy as np
import pytest
from sklearn.base import clone

from omvfs import OMVFS
from omvfs.formats import ArraySource
from omvfs.persistence import checkpoint
from omvfs.pipeline import run
from streams import two_views


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
    arrays, meta = checkpoint.read(path)
    params = meta["estimator"]["params"]
    params["score"] = params.pop("criterion")
    checkpoint.write(path, arrays, meta)
    with pytest.raises(checkpoint.CheckpointError, match=r"parameters 'score'.*learn anew"):
        OMVFS.load(path)
