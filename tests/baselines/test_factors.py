"""What holds for both methods that score features by the rows of a factor matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from omvfs.baselines.eufs import EUFS
from omvfs.baselines.factors import indicator
from omvfs.baselines.ndfs import NDFS
from omvfs.datasets import make_planted
from omvfs.evaluation import clustering_accuracy
from support import KINDS, clustered, counts

both = pytest.mark.parametrize("make", [EUFS, NDFS])


def only(by_view):
    (value,) = by_view.values()
    return value


@both
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 2.0}, "n_clusters=2.0"),
        ({"sparsity": -1}, "sparsity=-1"),
        ({"graph_weight": np.nan}, "graph_weight=nan"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1.0}, "tol=-1.0"),
    ],
)
def test_bad_parameters_are_refused_and_leave_the_model_as_it_was(make, params, message):
    X = counts(np.random.default_rng(0), 20, 5)
    selector = make(2, random_state=0).fit(X)
    weights, scores = only(selector.weights_), selector.scores_
    with pytest.raises(ValueError, match=message):
        selector.set_params(**params).fit(X[:, :4])
    np.testing.assert_array_equal(only(selector.weights_), weights)
    np.testing.assert_array_equal(selector.scores_, scores)


def test_parameters_of_one_method_are_refused():
    X = counts(np.random.default_rng(0), 20, 5)
    with pytest.raises(ValueError, match="penalty=0"):
        EUFS(penalty=0).fit(X)
    with pytest.raises(ValueError, match="orthogonality=-1"):
        NDFS(orthogonality=-1).fit(X)


@both
def test_a_failure_in_the_second_view_keeps_the_factors_of_the_first_fit(make, monkeypatch):
    rng = np.random.default_rng(0)
    views = {"text": counts(rng, 20, 5), "image": counts(rng, 20, 4)}
    selector = make(2, random_state=0).fit(views)
    before, held = selector.embeddings_, sorted(vars(selector))
    learn = selector._factorise

    def fail(X, rng):
        if X.shape[1] == 4:
            raise MemoryError
        return learn(X, rng)

    monkeypatch.setattr(selector, "_factorise", fail)
    with pytest.raises(MemoryError):
        selector.fit({name: X[:10] for name, X in views.items()})
    monkeypatch.undo()
    assert sorted(vars(selector)) == held
    for view, U in selector.embeddings_.items():
        np.testing.assert_array_equal(U, before[view])


@both
def test_scores_are_the_row_norms_of_the_weights(make):
    rng = np.random.default_rng(0)
    views = {"text": counts(rng, 30, 7), "image": counts(rng, 30, 4)}
    selector = make(3, random_state=0).fit(views)
    for view, X in views.items():
        W = selector.weights_[view]
        assert W.shape == (X.shape[1], 3)
        assert selector.embeddings_[view].shape == (30, 3)
        np.testing.assert_allclose(selector.view_scores_[view], np.linalg.norm(W, axis=1))
    selector.weights_["text"][:] = 0
    assert selector.weights_["text"].any()
    assert 1 <= selector.n_iter_ <= selector.max_iter


@both
def test_a_view_is_scored_as_if_it_were_alone(make):
    rng = np.random.default_rng(0)
    views = {"text": counts(rng, 30, 7), "image": counts(rng, 30, 4)}
    together = make(3, random_state=0).fit(views).view_scores_
    for view, X in views.items():
        np.testing.assert_array_equal(make(3, random_state=0).fit(X).scores_, together[view])


@both
@pytest.mark.parametrize("shape", [(40, 12), (30, 60)])
def test_kind_and_precision_change_no_more_than_rounding(make, shape):
    X, _ = clustered(np.random.default_rng(1), *shape)
    X = X.astype(np.float32).astype(np.float64)
    expected = make(3, random_state=0).fit(X).scores_
    for kind in KINDS.values():
        for dtype in (np.float32, np.float64):
            scores = make(3, random_state=0).fit(kind(X.astype(dtype))).scores_
            assert scores.dtype == np.float64
            np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-7 * expected.max())


@both
def test_long_indices_are_taken(make):
    X = sp.csr_array(counts(np.random.default_rng(0), 20, 5))
    expected = make(2, random_state=0).fit(X).scores_
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    np.testing.assert_array_equal(make(2, random_state=0).fit(X).scores_, expected)
    assert X.indices.dtype == np.int64


@both
def test_the_seed_decides(make):
    X = counts(np.random.default_rng(0), 60, 20)
    first = make(5, random_state=1).fit(X).scores_
    np.testing.assert_array_equal(make(5, random_state=1).fit(X).scores_, first)
    others = [make(5, random_state=seed).fit(X).scores_ for seed in range(2, 6)]
    assert any(not np.allclose(first, other) for other in others)


def empty_rows_and_columns():
    X = counts(np.random.default_rng(0), 12, 6)
    X[::3], X[:, ::3] = 0, 0
    return X


ODD = {
    "zeros": np.zeros((6, 4)),
    "constant": np.ones((6, 4)),
    "one row": np.array([[1.0, 0.0, 2.0]]),
    "one column": np.arange(5.0)[:, np.newaxis],
    "one number": np.array([[3.0]]),
    "two different rows": np.repeat([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 5, axis=0),
    "orthogonal rows": np.eye(7),
    "empty rows and columns": empty_rows_and_columns(),
    "negative": np.random.default_rng(0).standard_normal((12, 6)),
    "large": 1e6 * counts(np.random.default_rng(0), 12, 6),
    "small": 1e-6 * counts(np.random.default_rng(0), 12, 6),
}


@both
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("X", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("sparsity", [None, 0.0, 10.0])
def test_odd_views_do_no_harm(make, kind, X, sparsity):
    selector = make(random_state=0)  # 8 clusters: more than most have rows
    if sparsity is not None:
        selector.set_params(sparsity=sparsity)
    selector.fit(kind(X))
    U, scores = only(selector.embeddings_), selector.scores_
    assert len(U) == len(X)
    assert 1 <= U.shape[1] <= min(8, len(np.unique(X, axis=0)))
    assert np.isfinite(U).all()
    assert np.isfinite(scores).all()
    # An empty column has nothing to say.
    assert not scores[~X.any(axis=0)].any()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("make", "least"), [(EUFS, 0.25), (NDFS, 0.8)])
def test_planted_features_are_found_far_above_chance(make, least, seed):
    planted = make_planted(600, n_features=(200,), n_informative=(20,), random_state=seed)
    truth = planted.informative["view_0"]
    X = normalize(planted.views["view_0"])
    found = truth[make(5, random_state=0).fit(X).ranking_ <= truth.sum()].mean()
    sums = np.ravel(X.sum(axis=0))
    assert found >= least > 2 * truth.mean()
    assert found > truth[np.argsort(-sums)[: truth.sum()]].mean() + 0.1


@both
def test_clear_clusters_are_found_and_noise_is_ranked_last(make):
    rng = np.random.default_rng(0)
    X, labels = clustered(rng, 150, 12)
    X = normalize(np.hstack([X, 0.2 * counts(rng, 150, 6)]))
    selector = make(3, random_state=0).fit(X)
    assert clustering_accuracy(labels, only(selector.embeddings_).argmax(axis=1)) > 0.95
    assert set(np.argsort(selector.ranking_)[:12]) == set(range(12))


def test_the_start_has_no_empty_clusters():
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(3), [5, 1, 2], axis=0)
    for n_clusters, expected in [(1, 1), (2, 2), (3, 3), (8, 3), (100, 3)]:
        for kind in KINDS.values():
            U = indicator(kind(X), n_clusters, rng)
            assert U.shape == (8, expected)
            assert set(U.ravel()) <= {0.0, 1.0}
            assert (U.sum(axis=1) == 1).all()
            assert U.any(axis=0).all()
