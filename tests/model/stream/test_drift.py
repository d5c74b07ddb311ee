"""Recent rows: noticed if they are not what came before, and only then."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS
from omvfs.datasets import make_planted
from omvfs.model.stream.drift import (
    cluster_shares_drifted,
    explained_energy_drifted,
    share_places,
    worst_ranks,
)
from support import dense

CLASSES, MEMORY = 4, 600


def planted(n, **params):
    sizes = {"n_features": (400, 300), "n_informative": (60, 40), "n_classes": CLASSES}
    return make_planted(n, row_length=40, dtype=np.float64, **{**sizes, **params})


def fitted(data, order=None, **params):
    order = slice(None) if order is None else order
    model = OMVFS(CLASSES, sample_size=MEMORY, n_init=8, random_state=0, **params)
    return model.fit({view: X[order] for view, X in data.views.items()})


def found(model, data):
    """Return the share of the words of the last segment among as many of the best."""
    return np.mean(
        [
            truth[np.argsort(model.view_ranking_[view])[: truth.sum()]].mean()
            for view, truth in data.informative.items()
        ]
    )


def changed(model):
    return model._fitted.queries.drifted


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_do_not_change_leave_the_scores_alone(seed):
    data = planted(3000, random_state=seed)
    model = fitted(data)
    assert not changed(model)
    scores = model.view_scores_
    for view, plain in model.set_params(recency=0.0).view_scores_.items():
        np.testing.assert_array_equal(scores[view], plain)


@pytest.mark.parametrize("seed", range(3))
def test_words_that_classes_took_lately_are_found(seed):
    # Words are as frequent as before: only which class has them changes.
    data = planted(4000, drift_at=(1000, 2000, 3000), random_state=seed)
    model = fitted(data)
    queries = model._fitted.queries
    sample = queries.state.reservoir.blocks
    # Shares of clusters aside: it is the words that tell.
    assert explained_energy_drifted(
        queries.recent_rows, sample, queries.state.rng, queries._explained_by
    )
    shares = [found(model.set_params(recency=weight), data) for weight in (0.0, 0.5, 1.0)]
    assert shares[0] < 0.25
    assert shares[1] > shares[0] + 0.15
    assert shares[2] > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_new_words_have_a_share_of_however_few_places(seed):
    data = planted(4000, drift_at=(2000,), random_state=seed)
    model = fitted(data)
    before, after = (segment.informative for segment in data.segments)
    for n in (10, 20, 40):
        for recency, least, most in ((0.5, 0.25, 0.6), (1.0, 0.9, 1.0)):
            ranking = model.set_params(recency=recency).view_ranking_
            best = {view: ranks <= n for view, ranks in ranking.items()}
            shares = [after[view][best[view]].mean() for view in best]
            assert all(least <= share <= most for share in shares), (n, recency, shares)
            if recency < 1:
                assert min(before[view][best[view]].mean() for view in best) > 0.35


@pytest.mark.parametrize("seed", range(3))
def test_classes_that_come_one_after_another_are_noticed(seed):
    data = planted(3000, random_state=seed)
    order = np.argsort(data.labels, kind="stable")
    model = fitted(data, order)
    assert changed(model)
    # What the other classes have keeps most of its places: half of the recent rows find little
    # that the other half finds too.
    assert found(model, data) > 0.7


def test_as_long_as_the_memory_holds_all_rows_none_are_recent():
    data = planted(MEMORY + 1, drift_at=(300,), random_state=0)
    learned = fitted(data, slice(MEMORY))._fitted
    assert learned.queries.recent_rows == []
    learned = fitted(data)._fitted
    rows = learned.queries.recent_rows
    for X, held in zip(data.views.values(), rows, strict=True):
        np.testing.assert_array_equal(dense(held), dense(X[-MEMORY // 2 :]))


@pytest.mark.parametrize("params", [{"sample_size": 0}, {"sample_size": 79}])
def test_without_a_memory_no_rows_are_recent(params):
    X = np.random.default_rng(0).random((90, 5))
    learned = OMVFS(2, max_iter=3, random_state=0, **params).fit(X)._fitted
    assert learned.queries.recent_rows == []
    assert learned.state.window.at_hand == 0


def test_asking_changes_nothing():
    data = planted(2000, drift_at=(1000,), random_state=0)
    asked, silent = fitted(data), fitted(data)
    assert changed(asked)
    assert asked.view_scores_
    more = planted(200, random_state=1).views
    for model in (asked, silent):
        model.partial_fit(more)
    for view, scores in asked.view_scores_.items():
        np.testing.assert_array_equal(scores, silent.view_scores_[view])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_chunks_of_one_row_have_as_many_recent_rows(kind):
    data = planted(700, n_features=(40, 30), n_informative=(20, 10), random_state=0)
    views = {view: kind(dense(X)) for view, X in data.views.items()}
    one_by_one = OMVFS(CLASSES, sample_size=100, n_init=1, max_iter=2, random_state=0)
    for i in range(700):
        one_by_one.partial_fit({view: X[i : i + 1] for view, X in views.items()})
    learned = one_by_one._fitted
    rows = learned.queries.recent_rows
    for X, held in zip(views.values(), rows, strict=True):
        np.testing.assert_array_equal(dense(held), dense(X[-50:]))
    assert len(learned.state.window) == 50
    assert len(one_by_one.window_labels_) == 2


@pytest.mark.parametrize(
    "params", [{"scale_columns": True}, {"graph": "none"}, {"half_life": 2000}]
)
def test_other_settings_follow_too(params):
    data = planted(4000, drift_at=(1000, 2000, 3000), random_state=0)
    model = fitted(data, **params)
    without = found(model.set_params(recency=0.0), data)
    assert found(model.set_params(recency=1.0), data) > max(0.4, without)


@pytest.mark.parametrize(("n_rows", "half_life"), [(20_000, 0.15), (10_000, 1)])
def test_forgetting_may_leave_fewer_rows_than_there_are_recent_ones(n_rows, half_life):
    rng = np.random.default_rng(0)
    model = OMVFS(2, sample_size=200, half_life=half_life, n_init=1, random_state=0)
    model.partial_fit(rng.random((n_rows, 3)))
    for _ in range(5):
        model.partial_fit(rng.random((1, 3)))
        learned = model._fitted
        assert np.isfinite(model.scores_).all()
    assert len(learned.state.reservoir) == 200
    assert learned.queries.recent_rows == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore::omvfs.SuspectColumnWarning")  # of one very large value
def test_rows_with_heavy_tails_that_do_not_change_are_not_noticed(seed):
    # Neighbours move a quarter of such rows: recent ones must be placed as the others are.
    X = np.random.default_rng(seed).pareto(1.2, (4000, 20))
    assert not changed(OMVFS(2, sample_size=1000, n_init=4, random_state=0).fit(X))


def test_empty_rows_do_no_harm():
    data = planted(1500, drift_at=(1000,), random_state=0)
    views = {view: dense(X) for view, X in data.views.items()}
    for X in views.values():
        X[-300:] = 0
    model = OMVFS(CLASSES, sample_size=MEMORY, n_init=2, random_state=0).fit(views)
    assert all(np.isfinite(scores).all() for scores in model.view_scores_.values())


@given(
    n_clusters=st.integers(1, 100),
    n=st.integers(200, 1000),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=200, deadline=None)
def test_equal_shares_are_seldom_taken_for_different_ones(n_clusters, n, seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_clusters))
    draw = [rng.choice(n_clusters, size, p=shares) for size in (n, 2 * n)]
    assert not cluster_shares_drifted(*draw, n_clusters)


# Few values, so that some are equal.
numbers = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])


@given(
    features=st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=12),
    share=st.floats(0, 1),
)
@settings(max_examples=200, deadline=None)
def test_both_have_their_share_of_any_number_of_places(features, share):
    scores, *halves = np.array(features).T
    recent = worst_ranks([(slice(None), half) for half in halves], len(scores))
    ranks, given_out = by_rank(scores), share_places(scores, recent, share)
    for n, least in enumerate(sorted(given_out, reverse=True), start=1):
        assert (given_out[ranks <= math.floor((1 - share) * n)] >= least).all()
        assert (given_out[recent <= math.floor(share * n)] >= least).all()
    for half in halves:
        good = np.isfinite(recent)
        assert (recent[good] >= by_rank(half)[good]).all()
        assert (half[good] > 0).all()


@given(st.lists(numbers, min_size=1, max_size=12), st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_scores_are_given_out_anew_and_none_is_made_up(scores, share):
    before = np.array(scores)
    recent = np.random.default_rng(0).permutation(len(before)) + 1.0
    np.testing.assert_array_equal(np.sort(share_places(before, recent, share)), np.sort(before))
    np.testing.assert_array_equal(share_places(before, recent, 0.0), before)
    nothing = np.full(len(before), np.inf)
    np.testing.assert_array_equal(share_places(before, nothing, share), before)


def by_rank(scores):
    """Return ranks that scores have if the first of equal ones is the best, one by one."""
    order = sorted(range(len(scores)), key=lambda j: (-scores[j], j))
    return np.array([order.index(j) + 1 for j in range(len(scores))])


def test_a_criterion_may_know_features_by_their_places():
    data = planted(1500, drift_at=(1000,), random_state=0)
    views = {view: X.tolil() for view, X in data.views.items()}
    for X in views.values():
        X[1000:, :5] = 0  # features that no recent row has
    weights = {400: np.linspace(1, 2, 400), 300: np.linspace(1, 2, 300)}

    def criterion(V, masses, sums):
        return weights[len(V)] * V.max(axis=1)

    model = OMVFS(CLASSES, criterion=criterion, sample_size=MEMORY, n_init=4, random_state=0)
    model.fit({view: X.tocsr() for view, X in views.items()})
    assert changed(model)
    assert all(np.isfinite(scores).all() for scores in model.view_scores_.values())


def test_scaled_columns_are_compared_in_one_scale():
    data = planted(2000, drift_at=(1000,), random_state=0)
    factors = np.linspace(1, 1000, 400)
    views = {"a": dense(data.views["view_0"]), "b": dense(data.views["view_1"])}
    larger = {**views, "a": views["a"] * factors}
    plain, scaled = (
        OMVFS(
            CLASSES, sample_size=MEMORY, n_init=4, sparsity=0.0, scale_columns=True, random_state=0
        )
        .fit(each)
        .view_scores_
        for each in (views, larger)
    )
    for view, scores in plain.items():
        np.testing.assert_allclose(scaled[view], scores, rtol=1e-6)
