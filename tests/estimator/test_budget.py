"""So many features in all: shared between the views, and everything that is selected follows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omvfs
from omvfs import OMVFS, OMVFSPaper, Views
from omvfs.cli.commands import run_app
from streams import two_views

QUICK = {"n_init": 2, "max_iter": 3, "random_state": 0, "batch_size": 30}
WAYS = [
    {},
    {"half_life": 60.0},
    {"scale_columns": True},
    {"view_weight": "auto"},
    {"criterion": "signal"},
    {"criterion": "norm"},
    {"criterion": lambda V, masses, sums: V.sum(axis=1)},
    {"diversity": 0.0},
    {"prepare": "l2"},
]


def rows(seed=0, n=120):
    """Return two views that tell of three kinds of rows, and one that does not."""
    noise = np.random.default_rng(1000 + seed).random((n, 15))
    return {**two_views(seed, n), "noise": noise}


def fitted(X, **params):
    return OMVFS(3, **{**QUICK, **params}).fit(X)


@pytest.mark.parametrize("params", WAYS, ids=lambda each: "-".join(each))
def test_every_way_to_rank_selects_so_many_in_all(params):
    X = rows()
    model = fitted(X, n_features_to_select=12, **params)
    counts = {view: int(mask.sum()) for view, mask in model.view_support_.items()}
    assert sum(counts.values()) == model.get_support().sum() == 12
    assert min(counts.values()) >= 1
    assert counts["noise"] < counts["text"]
    for view, ranks in model.view_ranking_.items():  # the best of each
        assert (ranks[model.view_support_[view]] <= counts[view]).all()
    assert model.transform(X).shape == model.selection().transform(X).shape == (120, 12)
    assert model.ranking_table()["selected"].sum() == 12
    assert len(model.get_feature_names_out()) == 12


def test_the_ranking_is_that_of_numbers_by_view():
    one, other = fitted(rows()), fitted(rows(), n_features_to_select=9)
    np.testing.assert_array_equal(one.scores_, other.scores_)
    np.testing.assert_array_equal(one.ranking_, other.ranking_)
    other.set_params(n_features_to_select=None)
    np.testing.assert_array_equal(one.get_support(), other.get_support())
    # What is not looked at may be anything.
    by_view = {"text": 1, "image": 2, "noise": 3}
    some = fitted(rows(), n_features_to_select=9, n_features_per_view=by_view)
    assert some.get_support().sum() == 9


def test_a_share_is_of_all_features_and_there_are_no_more_than_all():
    model = fitted(rows(), n_features_to_select=0.5)
    assert model.get_support().sum() == 17
    assert model.set_params(n_features_to_select=1.0).get_support().all()
    assert model.set_params(n_features_to_select=1000).get_support().all()
    assert model.set_params(n_features_to_select=0.001).get_support().sum() == 3


@given(st.integers(0, 100), st.tuples(st.integers(-8, 8), st.integers(-8, 8)))
@settings(max_examples=5, deadline=None)
def test_units_of_views_do_not_matter(seed, powers):
    X = two_views(seed, 120)
    other = {name: 2.0**p * X_v for (name, X_v), p in zip(X.items(), powers, strict=True)}
    one, two = (fitted(each, n_features_to_select=6) for each in (X, other))
    np.testing.assert_array_equal(one.get_support(), two.get_support())


def test_it_is_saved_and_merged_and_rows_may_lack_views():
    X = Views(rows(), present={"image": np.arange(120) % 3 > 0})
    model = fitted(X, n_features_to_select=10)
    again = OMVFS.from_bytes(model.to_bytes())
    assert again.n_features_to_select == 10
    np.testing.assert_array_equal(again.get_support(), model.get_support())
    parts = [fitted(X[i : i + 60], n_features_to_select=10) for i in (0, 60)]
    merged, other = omvfs.merge(parts), omvfs.merge(parts[::-1])
    assert merged.get_support().sum() == 10
    np.testing.assert_array_equal(merged.get_support(), other.get_support())


def test_quality_is_of_so_many_in_all():
    model = fitted(rows(), n_features_to_select=9)
    quality = model.selection_quality_
    assert quality.sizes.tolist() == [3, 6, 9, 12, 18, 24, 30, 34]
    by_view = np.transpose([curve.sizes for curve in quality.views.values()])
    np.testing.assert_array_equal(by_view.sum(axis=1), quality.sizes)
    assert model.suggest_n_features() in quality.sizes
    assert str(quality).count("\n") == len(quality.sizes)


def test_what_cannot_be_shared_is_refused():
    with pytest.raises(ValueError, match="n_features_to_select=2 for 3 views; expected at least 3"):
        fitted(rows(), n_features_to_select=2).get_support()
    with pytest.raises(ValueError, match=r"n_features_to_select=9 with sample_size=20; .* 30 rows"):
        fitted(rows(), n_features_to_select=9, sample_size=20)
    model = fitted(rows(), sample_size=0).set_params(n_features_to_select=9)
    with pytest.raises(ValueError, match="no rows by which features of several views compare"):
        model.get_support()
    with pytest.raises(ValueError, match="a whole number of at least 1"):
        fitted(rows(), n_features_to_select="auto")
    with pytest.raises(TypeError, match="n_features_to_select"):
        OMVFSPaper(3, n_features_to_select=9)


def test_the_command_line_selects_so_many_in_all(tmp_path, capsys):
    for v, (view, X) in enumerate(rows().items()):
        np.save(tmp_path / f"view_{v}_{view}.npy", X)
    out = tmp_path / "out"
    given = ["select", str(tmp_path), "-k", "3", "-o", str(out)]
    assert run_app([*given, "-n", "5", "--total", "9"]) == 2
    assert "give one of them" in capsys.readouterr().err
    assert run_app([*given, "--total", "many"]) == 2
    assert "a share such as 0.1" in capsys.readouterr().err
    assert run_app([*given, "--total", "9"]) == 0
    assert "9 features in all reproduce" in capsys.readouterr().out
    ranked = (out / "ranking.csv").read_text(encoding="utf-8")
    assert ranked.count(",True,") == 9
    model = out / "model.omvfs"
    for how, n in ((["--total", "0.5"], 17), (["-n", "2"], 6), ([], 9)):
        assert run_app(["rank", str(model), *how, "-o", str(tmp_path / f"again{n}")]) == 0
        ranked = (tmp_path / f"again{n}" / "ranking.csv").read_text(encoding="utf-8")
        assert ranked.count(",True,") == n
