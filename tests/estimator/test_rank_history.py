"""The best features along the stream: what is kept, and that it goes where the model goes."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from changing import changing_rows, stacked
from omvfs import OMVFS, OMVFSPaper, fitted
from omvfs.datasets import planted_stream
from omvfs.model.stream import snapshots
from streams import cut, every_solver, learned, two_views


def learn(model, views, size=100):
    n = next(iter(views.values())).shape[0]
    for start in range(0, n, size):
        model.partial_fit({view: X[start : start + size] for view, X in views.items()})
    return model


def small(make=OMVFS, **params):
    return make(3, random_state=0, max_iter=3, **params)


@pytest.fixture
def often(monkeypatch):
    """Take a snapshot before every chunk but the first."""
    monkeypatch.setattr(snapshots, "_SHARE", 0)
    monkeypatch.setattr(snapshots, "_ROWS_PER_VIEW", 1)


def test_the_last_snapshot_is_of_all_rows_and_ranks_what_is_planted():
    model, informative = OMVFS(5, random_state=0), None
    stream = planted_stream(9_000, n_features=(2500, 300), random_state=0)
    for chunk in stream.batches():
        model.partial_fit(chunk)
    informative = stream.informative
    history = model.rank_history_
    assert history.n_rows[-1] == model.n_samples_seen_ == 9_000
    assert (np.diff(history.n_rows) > 0).all()
    assert len(history.n_rows) >= 4
    for view, top in history.top.items():
        assert top.shape == (len(history.n_rows), 100)
        assert informative[view][top[-1]].mean() > 0.95
        best = np.argsort(model.view_ranking_[view])[:100]
        assert np.isin(top[-1], best).mean() > 0.8
    at = np.isin(np.cumsum([info.n_rows for info in model.history_]), history.n_rows)
    assert any(info.overlap is not None for info in model.history_)
    assert at.any()


def test_chunks_tell_the_overlap_of_the_snapshot_that_they_took(often):
    model = learn(small(), two_views(0, 900))
    history, infos = model.rank_history_, model.history_
    told = [info.overlap for info in infos if info.overlap is not None]
    # Before the first there is none, and the last is of now: nobody took it.
    assert_array_equal(told, history.overlap()[:-1])
    assert infos[0].overlap is None


def test_snapshots_are_of_the_rows_that_they_tell(often):
    model, views = small(sample_size=0), two_views(0, 600)
    seen = {}
    for chunk in cut(views, *range(100, 600, 100)):
        model.partial_fit(chunk)
        now = model.rank_history_
        seen[int(now.n_rows[-1])] = {view: top[-1] for view, top in now.top.items()}
    history = model.rank_history_
    assert history.n_rows.tolist() == list(seen)
    for t, n_rows in enumerate(seen):
        for view, top in history.top.items():
            assert_array_equal(top[t][top[t] >= 0], seen[n_rows][view][seen[n_rows][view] >= 0])


def test_few_candidates_are_as_good_as_all(often, monkeypatch):
    from omvfs.model import scoring

    def tops():
        model = OMVFS(5, random_state=0)
        for chunk in planted_stream(2_000, batch_size=500, random_state=0).batches():
            model.partial_fit(chunk)
        return model.rank_history_.top

    some = tops()
    monkeypatch.setattr(scoring, "_CANDIDATES", 10**6)
    every = tops()
    for view in some:
        shares = [np.isin(a, b).mean() for a, b in zip(some[view], every[view], strict=True)]
        assert min(shares) > 0.95


@pytest.mark.parametrize(("make", "kind"), [(OMVFS, sp.csr_array), (OMVFSPaper, np.asarray)])
def test_what_is_learned_does_not_depend_on_it(make, kind, monkeypatch):
    views = two_views(0, 700, kind=kind)
    with_it = learn(small(make), views)
    monkeypatch.setattr(fitted, "with_snapshot", lambda before, update, settings: update)
    without = learn(small(make), views)
    assert_array_equal(with_it.scores_, without.scores_)
    assert with_it._fitted.state.rng.bit_generator.state == (
        without._fitted.state.rng.bit_generator.state
    )
    assert with_it._fitted.state.snapshots.taken
    assert not without._fitted.state.snapshots.taken


@every_solver
def test_it_is_saved_and_goes_on_to_the_same_bits(make, often, tmp_path):
    views = two_views(0, 900)
    whole = learn(small(make), views)
    first, rest = cut(views, 500)
    half = learn(small(make), first.blocks)
    half.save(tmp_path / "model")
    for other in (make.load(tmp_path / "model"), copy.copy(half), pickle.loads(pickle.dumps(half))):
        assert learned(other) == learned(half)
        assert learned(learn(other, rest.blocks)) == learned(whole)
    assert len(whole._fitted.state.snapshots.taken) > 3


def test_shares_along_the_stream_are_those_of_the_rows_as_they_came(often):
    """Without a reservoir clusters are never made anew, and rows are placed once."""
    model, placed = small(sample_size=0), []
    for chunk in cut(two_views(0, 900), *range(100, 900, 100)):
        model.partial_fit(chunk)
        placed.append(np.bincount(model.window_labels_[-100:], minlength=3) / 100)
    history = model.share_history_
    assert history.n_rows.tolist() == list(range(100, 901, 100))
    assert_array_equal(history.shares, np.array(placed, np.float32))


def test_a_change_of_shares_shows(often):
    """Clusters keep their numbers while the reservoir is clustered anew."""
    rng = np.random.default_rng(0)
    even, uneven = changing_rows(rng, 1500), changing_rows(rng, 1500, shares=(0.8, 0.1, 0.1))
    model = learn(small(sample_size=2000), stacked(even, uneven))
    history = model.share_history_
    assert sum(info.reclustered for info in model.history_) > 2
    assert_array_equal(history.n_rows, model.rank_history_.n_rows)
    np.testing.assert_allclose(history.shares.sum(axis=1), 1, rtol=1e-5)
    early, late = (history.shares[own] for own in _early_and_late(history.n_rows))
    np.testing.assert_allclose(early, 1 / 3, atol=0.2)
    np.testing.assert_allclose(np.sort(late.mean(axis=0)), [0.1, 0.1, 0.8], atol=0.06)
    assert model.cluster_shares_.argmax() == late.mean(axis=0).argmax()


def _early_and_late(n_rows):
    """Return which moments are before the change, not at the very beginning, and which after it."""
    return (n_rows > 400) & (n_rows <= 1500), n_rows > 1600


def test_shares_of_other_numbers_of_clusters_and_of_very_many(often):
    model = learn(OMVFS("auto", random_state=0, max_iter=3, sample_size=200), two_views(0, 600))
    history = model.share_history_
    known = ~np.isnan(history.shares)
    assert known[:, 0].all()
    np.testing.assert_allclose(np.nansum(history.shares, axis=1), 1, rtol=1e-5)
    many = OMVFS(501, random_state=0, max_iter=1, n_init=1, sample_size=0, graph="none")
    many.partial_fit({"x": np.random.default_rng(0).random((520, 9))})
    assert many.share_history_.shares.shape == (1, 0)


def test_merged_models_begin_anew_and_go_on(often):
    halves = [learn(small(), two_views(seed, 500)) for seed in (0, 1)]
    merged = halves[0].merge(halves[1])
    assert merged.rank_history_.n_rows.tolist() == [1000]
    assert_array_equal(
        merged.rank_history_.top["text"], halves[1].merge(halves[0]).rank_history_.top["text"]
    )
    merged.partial_fit(two_views(2, 60))
    assert merged.rank_history_.n_rows.tolist() == [1000, 1060]
    # Where the rows before were placed when they came nobody knows: clusters are others.
    assert np.isnan(merged.share_history_.shares).all(axis=1).tolist() == [True, False]
    # One part is the part.
    assert len(halves[0].merge().rank_history_.n_rows) > 2


def words(chunk, n=50):
    """Return rows in which the words of a chunk are new."""
    rng = np.random.default_rng(chunk)
    names = [f"w{j}" for j in range(4 * chunk, 4 * chunk + 8)]
    X = rng.random((n, 8)) * (rng.random((n, 8)) < 0.5)
    return {"text": pd.DataFrame(X, columns=names)}


def test_features_that_come_later_keep_their_ranks(often):
    model = small(new_features="grow")
    for chunk in range(6):
        model.partial_fit(words(chunk))
    history = model.rank_history_
    first = history.top["text"][0]
    assert set(first[first >= 0]) <= set(range(8))
    assert max(history.names["text"]) > 20
    assert all(name == f"w{j}" for j, name in history.names["text"].items())


def test_forgotten_features_leave_the_history_and_others_keep_their_names(often):
    model = small(new_features="grow", max_features=14)
    told = {}
    for chunk in range(8):
        model.partial_fit(words(chunk))
        history = model.rank_history_
        for n_rows, top in zip(history.n_rows[:-1].tolist(), history.top["text"], strict=False):
            names = [history.names["text"].get(j) for j in top.tolist()]
            for now, then in zip(names, told.setdefault(n_rows, names), strict=False):
                assert now in (then, None)
            told[n_rows] = names
    assert model.n_features_forgotten_["text"] > 0
    assert (history.top["text"] < 0).any()
    assert set(history.names["text"].values()) <= set(model.schema_.names_of("text"))


def test_rows_that_lack_views_and_numbers_of_clusters_that_change(often):
    views = two_views(0, 600)
    views["image"][::3] = np.nan
    model = learn(OMVFS("auto", random_state=0, max_iter=3, sample_size=200), views)
    history = model.rank_history_
    assert len(history.n_rows) > 3
    assert all((top[-1] >= 0).any() for top in history.top.values())
    # A view that nobody has had so far has no best features.
    none = np.full((60, 7), np.nan)
    late = small().partial_fit({"text": two_views(0, 60)["text"], "image": none})
    assert late.rank_history_.top["image"].shape == (1, 0)
    assert_array_equal(late.rank_history_.ranks("image", [0, 3]), [[0, 0]])
    assert late.rank_history_.overlap().shape == (0,)


@pytest.mark.parametrize("params", [{"scale_columns": True}, {"half_life": 50.0}])
def test_ranks_on_the_way_do_not_depend_on_units(params, often):
    views = two_views(0, 500)
    small_units = {view: X * 1e-3 for view, X in views.items()}
    plain, scaled = (learn(small(sparsity=0, **params), each) for each in (views, small_units))
    for view in views:
        a, b = plain.rank_history_.top[view], scaled.rank_history_.top[view]
        assert (a == b).mean() > 0.9


def test_scaled_columns_rank_whatever_their_units_are(often):
    views = two_views(0, 500)
    units = {view: X * np.logspace(-3, 3, X.shape[1]) for view, X in views.items()}
    one, other = (
        learn(small(scale_columns=True, sparsity=0), each).rank_history_ for each in (views, units)
    )
    for view in views:
        assert_array_equal(one.top[view], other.top[view])


def test_the_papers_is_its_own_ranking():
    model = small(OMVFSPaper).fit(two_views(0, 300))
    for view, top in model.rank_history_.top.items():
        best = np.argsort(model.view_ranking_[view])
        own = top[-1][top[-1] >= 0]
        assert_array_equal(own, best[: len(own)])


def test_ranks_and_frames_agree_with_the_top(often):
    history = learn(small(), two_views(0, 500)).rank_history_
    frame = history.to_frame()
    assert list(frame.columns) == ["n_rows", "view", "rank", "feature", "name"]
    for t, n_rows in enumerate(history.n_rows):
        for view, top in history.top.items():
            own = frame[(frame.n_rows == n_rows) & (frame["view"] == view)]
            assert own["feature"].tolist() == top[t][top[t] >= 0].tolist()
            ranks = history.ranks(view, own["feature"])
            assert_array_equal(ranks[t], own["rank"])
    assert_array_equal(history.ranks("text", [-1]), np.zeros((len(history.n_rows), 1)))
    assert history.ranks("text", []).shape == (len(history.n_rows), 0)
    with pytest.raises(ValueError, match=r"Got view 'audio'; expected one of 'text', 'image'"):
        history.ranks("audio", [0])
