"""A model whose arrays joblib has mapped from a file, not to be written, learns as any other."""

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed

from faults import every_solver, everything, good
from omvfs import OMVFS
from omvfs.baselines import FSDS


@every_solver
@pytest.mark.parametrize("params", [{}, {"scale_columns": True}, {"half_life": 200}])
def test_a_mapped_model_learns_and_answers_as_any_other(tmp_path, make, params):
    model = make(3, random_state=0, **params).partial_fit(good(0))
    joblib.dump(model, tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert isinstance(mapped._fitted.state.statistics.views[0].B, np.memmap)
    for seed in (1, 2, 3):
        np.testing.assert_array_equal(mapped.scores_, model.scores_)
        np.testing.assert_array_equal(mapped.window_labels_, model.window_labels_)
        np.testing.assert_array_equal(mapped.predict(good(9)), model.predict(good(9)))
        for each in (mapped, model):
            each.partial_fit(good(seed))
        assert everything(mapped)["_journal"] == everything(model)["_journal"]
    # What others may have mapped too is as it was.
    assert (tmp_path / "model").read_bytes() == content


def test_raised_columns_and_sketches_are_no_exception(tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 6))
    for model in (OMVFS(2, negative="shift", random_state=0), FSDS(2)):
        joblib.dump(model.partial_fit(X), tmp_path / "model")
        mapped = joblib.load(tmp_path / "model", mmap_mode="r")
        for each in (mapped, model):
            each.partial_fit(X - 1)
        np.testing.assert_array_equal(mapped.scores_, model.scores_)


def test_a_model_in_a_worker_of_joblib_learns():
    model = OMVFS(2, random_state=0).partial_fit(np.random.default_rng(0).random((30, 400)))
    X = np.random.default_rng(1).random((20, 400))
    (scores,) = Parallel(n_jobs=2, max_nbytes=100)(
        delayed(lambda model, X: model.partial_fit(X).scores_)(model, X) for _ in range(1)
    )
    np.testing.assert_array_equal(scores, model.partial_fit(X).scores_)
