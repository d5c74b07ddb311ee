"""The consensus clusters: found, followed as they drift, and what they explain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omvfs import OMVFS, fitted
from omvfs.datasets import make_planted
from omvfs.evaluation import clustering_accuracy
from streams import every_dtype, few
from support import counts


def planted(**params):
    return make_planted(
        2000, n_features=(300, 200), n_informative=(40, 30), row_length=30, **params
    )


@every_dtype
def test_consensus_clusters_are_the_planted_classes(dtype):
    data = planted(random_state=0, dtype=dtype)
    model = OMVFS(5, random_state=0).fit(data.views)
    assert clustering_accuracy(data.labels, model.predict(data.views)) > 0.95
    assert clustering_accuracy(data.labels[-400:], model.window_labels_) > 0.95


@given(seed=st.integers(0, 1000), n_clusters=st.integers(1, 5), rank_one=st.booleans())
@few
def test_the_explained_share_is_between_0_and_1(seed, n_clusters, rank_one):
    rng = np.random.default_rng(seed)
    X = counts(rng, 20, 6)
    if rank_one:
        X = rng.random((20, 1)) @ rng.random((1, 6))
    model = OMVFS(n_clusters, sparsity=0.0, random_state=0).fit(X)
    assert 0 <= model.explained_share(X) <= 1
    if rank_one:
        assert model.explained_share(X) == pytest.approx(1)
    assert model.explained_share(np.zeros((2, 6))) == 0


def recovered(model, data):
    """Return the share of the planted features among as many of the best, over all views."""
    hits = sum(
        truth[np.argsort(model.view_ranking_[view])[: truth.sum()]].sum()
        for view, truth in data.informative.items()
    )
    return hits / sum(truth.sum() for truth in data.informative.values())


@pytest.mark.parametrize("seed", range(2))
def test_forgetting_follows_a_drift(seed):
    data = planted(drift_at=(1000,), random_state=seed)
    faithful = OMVFS(5, half_life=None, random_state=0).fit(data.views)
    forgetful = OMVFS(5, half_life=200, random_state=0).fit(data.views)
    assert recovered(forgetful, data) > 0.7
    assert recovered(forgetful, data) > recovered(faithful, data) + 0.2


def test_without_drift_forgetting_costs_little():
    data = planted(random_state=0)
    assert recovered(OMVFS(5, half_life=1300, random_state=0).fit(data.views), data) > 0.8


@pytest.mark.parametrize(("half_life", "sample_size"), [(75, 2000), (145, 300)])
def test_settling_does_not_bring_back_what_was_forgotten(half_life, sample_size):
    stream = make_planted(
        3000,
        n_features=(200,),
        n_informative=(60,),
        n_classes=2,
        row_length=30,
        drift_at=(1500,),
        random_state=0,
    )
    model = OMVFS(2, half_life=half_life, sample_size=sample_size, random_state=0)
    for chunk in stream.chunks(75):
        model.partial_fit(chunk.views)
    assert model._fitted.queries.state.reclustered_at > model._fitted.state.reclustered_at
    last = {view: X[-300:] for view, X in stream.views.items()}
    assert clustering_accuracy(stream.labels[-300:], model.predict(last)) > 0.9


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_rows_are_told_part_by_part_as_all_at_once(missing, monkeypatch):
    data = planted(random_state=0, missing=missing)
    model = OMVFS(5, random_state=0).fit(data.views)
    whole = model.predict(data.views)
    monkeypatch.setattr(fitted, "_PLACED_AT_ONCE", 300)
    np.testing.assert_array_equal(model.predict(data.views), whole)
