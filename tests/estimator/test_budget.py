"""So many features in all: shared between the views, and everything that is selected follows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from streams import two_views

QUICK = {"random_state": 0, "batch_size": 30}
WAYS = [
    {},
    {"half_life": 60.0, "view_weight": 1.0},
    {"prepare": "scale", "criterion": "norm"},
    {"criterion": lambda S, Q, n: Q, "prepare": "l2"},
]


def rows(seed=0, n=120):
    """Return two views that tell of three kinds of rows, and one that does not."""
    noise = np.random.default_rng(1000 + seed).random((n, 15))
    return {**two_views(seed, n), "noise": noise}


def fitted(X, **params):
    return OMVFS(3, **{**QUICK, **params}).fit(X)


@pytest.mark.parametrize("params", WAYS, ids=lambda each: "-".join(each))
def test_every_way_to_rank_selects_so_many_in_all(params):
    X = rows(n=240)
    model = fitted(X, n_features_to_select=12, **params)
    counts = {view: int(mask.sum()) for view, mask in model.view_support_.items()}
    assert sum(counts.values()) == model.get_support().sum() == 12
    assert min(counts.values()) >= 1
    assert counts["noise"] < counts["text"]
    for view, ranks in model.view_ranking_.items():  # the best of each
        assert (ranks[model.view_support_[view]] <= counts[view]).all()
    assert model.transform(X).shape == model.selection().transform(X).shape == (240, 12)
    assert model.ranking_table()["selected"].sum() == 12
    assert len(model.get_feature_names_out()) == 12


@pytest.fixture(scope="module")
def model():
    return fitted(rows())


def test_more_in_all_are_those_and_others(model):
    before, ranking = np.zeros(34, bool), model.ranking_
    for total in (3, 5, 8, 13, 21, 34):
        now = model.set_params(n_features_to_select=total).get_support()
        assert now.sum() == total
        assert now[before].all()
        before = now
    np.testing.assert_array_equal(model.ranking_, ranking)
    # A share is of all features, and there are no more than all.
    for share, total in ((0.5, 17), (1.0, 34), (1000, 34), (0.001, 3)):
        assert model.set_params(n_features_to_select=share).get_support().sum() == total
    model.set_params(n_features_to_select=None)
    assert model.get_support().sum() == fitted(rows()).get_support().sum()


@given(st.integers(0, 100), st.tuples(st.integers(-8, 8), st.integers(-8, 8)))
@settings(max_examples=3, deadline=None)
def test_units_of_views_do_not_matter(seed, powers):
    X = two_views(seed, 120)
    other = {name: 2.0**p * X_v for (name, X_v), p in zip(X.items(), powers, strict=True)}
    one, two = (fitted(each, n_features_to_select=6) for each in (X, other))
    np.testing.assert_array_equal(one.get_support(), two.get_support())


def test_what_cannot_be_shared_is_refused():
    with pytest.raises(ValueError, match="n_features_to_select=2 for 3 views; expected at least 3"):
        fitted(rows(), n_features_to_select=2).get_support()
    with pytest.raises(ValueError, match="a whole number of at least 1"):
        fitted(rows(), n_features_to_select="all")


def test_enough_in_all_are_those_where_the_quality_levels_off():
    X = rows(n=240)
    model = fitted(X, n_features_to_select="auto")
    enough = model.suggest_n_features()
    assert model.get_support().sum() == enough == model.selection_quality_.levels_off_at
    assert fitted(X, n_features_to_select=enough).get_support().tolist() == (
        model.get_support().tolist()
    )


def test_the_command_line_selects_so_many_in_all(tmp_path, capsys):
    for v, (view, X) in enumerate(rows(n=1000).items()):
        np.save(tmp_path / f"view_{v}_{view}.npy", X)
    given = ["select", str(tmp_path), "-k", "3", "-o", str(tmp_path / "out")]
    assert run_app([*given, "--total", "9"]) == 0
    assert "9 features in all predict" in capsys.readouterr().out
    again = ["rank", str(tmp_path / "out" / "model.omvfs"), "--total", "0.5", "-o"]
    assert run_app([*again, str(tmp_path / "again")]) == 0
    for folder, n in (("out", 9), ("again", 17)):
        ranked = (tmp_path / folder / "ranking.csv").read_text(encoding="utf-8")
        assert ranked.count(",True,") == n
