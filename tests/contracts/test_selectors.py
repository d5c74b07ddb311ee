"""Every selector keeps the contract; and what it must hold of it in rarer company."""

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import BASELINES, MVUFS, LaplacianScore, Variance, laplacian_score
from omvfs.testing import check_selector
from support import KINDS, counts, dense

SMALL = {"n_clusters": 3, "batch_size": 20, "random_state": 0}
# Iterations of MVUFS have iterations of their own.
MAX_ITER = {OMVFS: 20, OMVFSPaper: 10, MVUFS: 1}


def small(estimator, **params):
    """Return an estimator for little data, and for a little time."""
    own = estimator.get_params()
    wanted = {**SMALL, "max_iter": MAX_ITER.get(type(estimator), 3)}
    return estimator.set_params(**{name: wanted[name] for name in wanted if name in own}, **params)


SELECTORS = {"constrained": OMVFS, "published": OMVFSPaper, **BASELINES}

# Little and random data: there is nothing to converge to.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

every_selector = pytest.mark.parametrize("make", SELECTORS.values(), ids=SELECTORS.keys())


def two_views(n_rows=50):
    rng = np.random.default_rng(3)
    return {"text": counts(rng, n_rows, 9), "image": counts(rng, n_rows, 6)}


@every_selector
def test_the_contract_is_kept(make):
    check_selector(small(make()))


def test_there_are_baselines():
    assert {"EUFS", "LaplacianScore", "RandomScore"} < set(BASELINES)
    assert all(each.__name__ == name for name, each in BASELINES.items())


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_input_that_is_clipped_is_left_alone(kind):
    before = counts(np.random.default_rng(1), 40, 7)
    before[0, 0] = -1.0
    X = kind(before.copy())
    small(OMVFS(negative="clip")).fit(X).predict(X)
    np.testing.assert_array_equal(dense(X), before)


def test_the_laplacian_score_serves_select_k_best():
    X = counts(np.random.default_rng(0), 60, 12)
    best = SelectKBest(laplacian_score, k=4).fit(X)
    expected = LaplacianScore(n_features_per_view=4).fit(X)
    np.testing.assert_array_equal(best.get_support(), expected.get_support())
    np.testing.assert_array_equal(best.scores_, expected.scores_)
    pipe = make_pipeline(MinMaxScaler(), SelectKBest(laplacian_score), Variance())
    search = GridSearchCV(pipe, {"selectkbest__k": [3, 5]}, cv=2, error_score="raise").fit(X)
    assert search.transform(X).shape[1] == search.best_params_["selectkbest__k"]
