"""Every selector keeps the contract; and what it must hold of it in rarer company."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from omvfs import OMVFS, OMVFSPaper, Views
from omvfs.baselines import BASELINES
from omvfs.testing import check_selector
from support import KINDS, counts, dense

SMALL = {"n_clusters": 3, "batch_size": 20, "random_state": 0}


def small(estimator, **params):
    """Return an estimator for little data, and for a little time."""
    own = estimator.get_params()
    wanted = {**SMALL, "max_iter": 10 if type(estimator) is OMVFSPaper else 3}
    return estimator.set_params(**{name: wanted[name] for name in wanted if name in own}, **params)


SELECTORS = {"OMVFS": OMVFS, "published": OMVFSPaper, **BASELINES}

# Little and random data: there is nothing to converge to.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


every_selector = pytest.mark.parametrize("make", SELECTORS.values(), ids=SELECTORS.keys())


@every_selector
def test_the_contract_is_kept(make):
    check_selector(small(make()))


@every_selector
def test_frames_are_read_by_name_and_index(make):
    rng = np.random.default_rng(3)
    data = {"text": counts(rng, 50, 9), "image": counts(rng, 50, 6)}
    X = counts(rng, 50, 3) + 0.01
    selector = small(make()).fit(pd.DataFrame(X, columns=list("abc"))).fit({"only": X})
    assert not hasattr(selector, "feature_names_in_")
    selector.fit({**data, "image": pd.DataFrame(data["image"], columns=list("uvwxyz"))})
    expected = [*(f"text__{j}" for j in range(9)), *(f"image__{c}" for c in "uvwxyz")]
    assert list(selector.get_feature_names_out()) == expected
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(50) + 100)
    own = small(make(), views=[2, 1], n_features_per_view=1).fit(frame)
    expected = ["ab"[own.view_ranking_["view_0"].argmin()], "c"]
    assert list(own.get_feature_names_out()) == expected
    frames = {view: pd.DataFrame(X, index=frame.index[::-1]) for view, X in data.items()}
    moved = {**frames, "image": frames["image"].sort_index()}
    selector, other = (small(make(), n_features_per_view=2).fit(X) for X in (frames, moved))
    np.testing.assert_array_equal(other.scores_, selector.scores_)
    selector.set_output(transform="pandas")
    for out in (selector.transform(moved), *selector.transform_views(moved).values()):
        assert list(out.index) == list(frame.index[::-1])


@every_selector
def test_pipelines_and_column_transformers_take_it(make):
    X = counts(np.random.default_rng(3), 50, 15) + 0.01
    pipe = Pipeline([("scale", MinMaxScaler()), ("select", small(make(), n_features_per_view=4))])
    out, support = pipe.fit_transform(X), pipe[-1].get_support(indices=True)
    np.testing.assert_array_equal(out, pipe[:-1].transform(X)[:, support])
    assert list(pipe.get_feature_names_out()) == [f"x{j}" for j in support]
    behind = Pipeline([("select", small(make(), views=[9, 6])), ("k", KMeans(2, n_init=1))])
    assert behind.fit_predict(X).shape == (50,)
    sizes = {"first": (2, slice(0, 9)), "second": (3, slice(9, 15))}
    parts = ColumnTransformer(
        [(name, small(make(), n_features_per_view=n), at) for name, (n, at) in sizes.items()]
    )
    alone = [
        small(make(), n_features_per_view=n).fit_transform(X[:, at]) for n, at in sizes.values()
    ]
    np.testing.assert_array_equal(parts.fit_transform(X), np.hstack(alone))
    assert len(parts.get_feature_names_out()) == 5


@every_selector
def test_searches_and_splits_take_it(make):
    rng = np.random.default_rng(3)
    blocks = {"text": counts(rng, 60, 9), "image": counts(rng, 60, 6)}
    views = Views({name: sp.csr_array(X) for name, X in blocks.items()})
    train, test = train_test_split(views, test_size=0.25, random_state=0)
    assert (len(train), len(test)) == (45, 15)
    selector = small(make(), n_features_per_view=2).fit(train)
    assert selector.transform(test).shape == (15, 4)
    grid = {"n_features_per_view": [2, 3]}
    search = GridSearchCV(small(make()), grid, cv=KFold(3), error_score="raise").fit(views)
    assert search.transform(views).shape == (60, 2 * search.best_params_["n_features_per_view"])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_there_are_baselines():
    assert set(BASELINES) == {"FSDS", "ColumnSum", "RandomScore", "Variance"}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_input_that_is_clipped_is_left_alone(kind):
    before = counts(np.random.default_rng(1), 40, 7)
    before[0, 0] = -1.0
    X = kind(before.copy())
    small(OMVFSPaper(negative="clip")).fit(X).transform(X)
    np.testing.assert_array_equal(dense(X), before)
