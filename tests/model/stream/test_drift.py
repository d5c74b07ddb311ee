"""Recent rows: noticed if they are not what came before, and only then."""

import math

import numpy as np
import pytest
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
from support import dense, recovered

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
    return np.mean(list(recovered(data, model.view_scores_).values()))


def changed(model):
    return model._known.queries.drifted


def test_rows_that_do_not_change_leave_the_scores_alone_and_classes_in_turn_are_noticed():
    data = planted(3000, random_state=0)
    model = fitted(data)
    assert not changed(model)
    scores = model.view_scores_
    for view, plain in model.set_params(recency=0.0).view_scores_.items():
        np.testing.assert_array_equal(scores[view], plain)
    model = fitted(data, np.argsort(data.labels, kind="stable"))
    assert changed(model)
    # What the other classes have keeps most of its places: half of the recent rows find little
    # that the other half finds too.
    assert found(model, data) > 0.7


@pytest.mark.parametrize("params", [{}, {"scale_columns": True}, {"graph": "none"}], ids=str)
def test_words_that_classes_took_lately_are_found(params):
    # Words are as frequent as before: only which class has them changes.
    data = planted(4000, drift_at=(1000, 2000, 3000), random_state=0)
    model = fitted(data, **params)
    queries = model._known.queries
    # Shares of clusters aside: it is the words that tell.
    assert explained_energy_drifted(
        queries.recent_rows,
        queries.state.reservoir.blocks,
        queries.state.rng,
        queries._explained_by,
    )
    shares = [found(model.set_params(recency=weight), data) for weight in (0.0, 0.5, 1.0)]
    assert shares[0] < 0.25
    assert shares[1] > shares[0] + 0.15
    assert shares[2] > 0.5


def test_as_long_as_the_memory_holds_all_rows_none_are_recent():
    data = planted(MEMORY + 1, drift_at=(300,), random_state=0)
    assert fitted(data, slice(MEMORY))._known.queries.recent_rows == []
    rows = fitted(data)._known.queries.recent_rows
    for X, held in zip(data.views.values(), rows, strict=True):
        np.testing.assert_array_equal(dense(held), dense(X[-MEMORY // 2 :]))


@given(n_clusters=st.integers(1, 100), n=st.integers(200, 1000), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_equal_shares_are_seldom_taken_for_different_ones(n_clusters, n, seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_clusters))
    draw = [rng.choice(n_clusters, size, p=shares) for size in (n, 2 * n)]
    assert not cluster_shares_drifted(*draw, n_clusters)


def by_rank(scores):
    """Return ranks that scores have if the first of equal ones is the best, one by one."""
    order = sorted(range(len(scores)), key=lambda j: (-scores[j], j))
    return np.array([order.index(j) + 1 for j in range(len(scores))])


# Few values, so that some are equal.
numbers = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])


@given(
    features=st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=12),
    share=st.floats(0, 1),
)
@settings(max_examples=150, deadline=None)
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
    # Scores are given out anew, and none is made up.
    np.testing.assert_array_equal(np.sort(given_out), np.sort(scores))
    np.testing.assert_array_equal(share_places(scores, recent, 0.0), scores)
    nothing = np.full(len(scores), np.inf)
    np.testing.assert_array_equal(share_places(scores, nothing, share), scores)
