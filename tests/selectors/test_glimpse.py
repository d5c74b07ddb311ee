"""What is told at once: nothing is changed by it, and it is what the sums say."""

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import OMVFS, OMVFSPaper
from omvfs.model import scoring
from support import clustered, fingerprint


def chunk(seed, n_rows=60, width=12):
    rng = np.random.default_rng(seed)
    text, labels = clustered(rng, n_rows, width)
    image = rng.random((n_rows, 7)) * (0.05 + (np.arange(7) % 3 == labels[:, np.newaxis]))
    return {"text": sp.csr_array(text), "image": image}


@pytest.mark.parametrize("n", [1, 20])
@pytest.mark.parametrize(
    "params", [{}, {"scale_columns": True}, {"sample_size": 0}, {"n_clusters": "auto"}]
)
def test_a_look_changes_nothing_and_works_nothing_out(params, n):
    params = {"n_clusters": 3, "random_state": 0, **params}
    looked, quiet = OMVFS(**params), OMVFS(**params)
    for i in range(3):
        for model in (looked, quiet):
            model.partial_fit(chunk(i))
        found = looked.glimpse(n)
        assert "queries" not in vars(looked._journal.known)
        assert found.n_rows == looked.n_samples_seen_
        assert [len(own) for own in found.features.values()] == [min(n, 12), min(n, 7)]
        assert all(len(own) <= n for own in found.clusters)
        if params.get("sample_size") != 0:
            assert sum(found.shares) == pytest.approx(1)
            assert len(found.shares) == len(found.clusters)
    assert fingerprint(looked._journal) == fingerprint(quiet._journal)


@pytest.mark.parametrize("rule", ["norm", "contrast", "information", "balanced"])
def test_where_nothing_is_clustered_anew_it_is_the_ranking_without_repetition(rule):
    """Without a reservoir the clusters stay, so that the ranking is by the same sums."""
    model = OMVFS(3, sample_size=0, criterion=rule, diversity=0.0, sparsity=0.0, random_state=0)
    for i in range(3):
        model.partial_fit(chunk(i))
    assert model.glimpse(5).features == {
        view: list(map(int, map(str, model.top_features(view, 5)))) for view in ("text", "image")
    }
    about = model.set_params(n_features_per_view=None).cluster_features(n=3)
    told = [[(each.view, each.feature) for each in own] for own in about.values()]
    assert [set(own) for own in model.glimpse(3).clusters] == list(map(set, told))


@pytest.mark.parametrize("make", [OMVFS, OMVFSPaper])
def test_columns_of_unit_norm_are_ranked_as_the_history_of_ranks_has_them(make):
    units = 10.0 ** np.arange(-6, 6)
    rows = clustered(np.random.default_rng(0), 300, 12)[0] * units
    model = make(3, scale_columns=True, random_state=0).partial_fit({"x": rows})
    best = model.rank_history_.top["x"][-1, :5]
    assert model.glimpse(5).features["x"] == best.tolist()


@pytest.mark.parametrize("rule", ["norm", "contrast"])
def test_few_candidates_and_small_pieces_do_not_change_it(rule, monkeypatch):
    wide = [chunk(i, width=300) for i in range(3)]
    model = OMVFS(3, criterion=rule, sparsity=0.0, random_state=0)
    for each in wide:
        model.partial_fit(each)
    whole = model.glimpse()
    monkeypatch.setattr(scoring, "_CANDIDATES", 60)
    monkeypatch.setattr(scoring, "_PIECE", 7)
    assert model.glimpse() == whole
    assert len(model.glimpse(100).features["text"]) == 100


def test_a_callable_is_not_asked():
    def criterion(V, masses, sums):
        raise AssertionError

    model = OMVFS(3, criterion=criterion, random_state=0).partial_fit(chunk(0))
    other = OMVFS(3, random_state=0).partial_fit(chunk(0))
    assert model.glimpse().features == other.glimpse().features


def test_the_paper_has_it_by_its_own_V():
    model = OMVFSPaper(3, max_iter=5, random_state=0).partial_fit(chunk(0))
    V = model._fitted.state.V[0]
    best = model.set_params(criterion="norm").glimpse(3).features["text"]
    assert best == np.argsort(-np.linalg.norm(V, axis=1), kind="stable")[:3].tolist()
