"""A frozen selection does as the selector did, by name or place, and comes back from its file."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from omvfs import OMVFS
from omvfs.baselines import Variance
from omvfs.selection import Selection
from streams import two_views
from support import dense

WORDS = [f"word{j}" for j in range(12)]


def frames():
    blocks = two_views(0, 30)
    return {"text": pd.DataFrame(blocks["text"], columns=WORDS), "image": blocks["image"]}


def fitted(X, **params):
    return Variance(n_features_per_view=3, **params).fit(X)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_what_is_learned_later_does_not_change_it(kind):
    X = two_views(0, 30, kind=kind)
    model = OMVFS(3, n_features_per_view=3, random_state=0).fit(X)
    frozen, was = model.selection(), dense(model.transform(X))
    model.partial_fit(two_views(1, 300, kind=kind))
    np.testing.assert_array_equal(dense(frozen.transform(X)), was)
    assert list(frozen.transform_views(X)) == ["text", "image"]


def test_columns_with_names_are_taken_by_name_wherever_they_are():
    X = frames()
    model = fitted(X)
    frozen, wanted = model.selection(), model.transform(X)
    moved = {**X, "text": X["text"][WORDS[::-1]].assign(more=1.0)}
    np.testing.assert_array_equal(frozen.transform(moved), wanted)
    np.testing.assert_array_equal(frozen.transform({**X, "text": X["text"].to_numpy()}), wanted)
    chosen = model.top_features("text", 1)[0]
    with pytest.raises(ValueError, match=f"'text' lacks 1 of the 3 .* such as '{chosen}'"):
        frozen.transform({**X, "text": X["text"].drop(columns=chosen)})
    with pytest.raises(ValueError, match=r"'image' is to be taken from 7 columns; got 6"):
        frozen.transform({**X, "image": X["image"][:, :6]})
    with pytest.raises(ValueError, match=r"Got views 'text'; expected 'text', 'image'"):
        frozen.transform({"text": X["text"]})
    with pytest.raises(ValueError, match="Got one X"):
        frozen.transform(np.ones((2, 19)))


def test_of_one_x_the_columns_stay_in_order():
    X = pd.DataFrame(two_views(0, 30)["text"], columns=WORDS)
    views = {"b": WORDS[1::2], "a": WORDS[::2]}
    model = fitted(X, views=views)
    frozen = model.selection()
    assert list(frozen.get_feature_names_out()) == list(X.columns[model.get_support()])
    np.testing.assert_array_equal(frozen.transform(X), X.loc[:, model.get_support()])
    np.testing.assert_array_equal(frozen.transform(X[WORDS[::-1]]), X.loc[:, model.get_support()])
    for view, block in frozen.transform_views(X).items():
        np.testing.assert_array_equal(
            block,
            X[[w for w in WORDS if w in views[view]]].to_numpy()[
                :, np.isin([w for w in WORDS if w in views[view]], X.columns[frozen.columns[view]])
            ],
        )
    with pytest.raises(ValueError, match="Got several views"):
        frozen.transform({"a": X, "b": X})


@pytest.mark.parametrize("X", [frames(), two_views(0, 30), two_views(0, 30)["text"]])
def test_it_comes_back_from_its_file(X, tmp_path):
    frozen = fitted(X).selection()
    frozen.save(tmp_path / "selection.json")
    back = Selection.load(tmp_path / "selection.json")
    assert back == frozen
    assert hash(back) == hash(frozen)
    np.testing.assert_array_equal(back.transform(X), frozen.transform(X))


def saved(tmp_path, **other):
    path = tmp_path / "selection.json"
    fitted(frames()).selection().save(path)
    held = json.loads(path.read_text())
    held["views"][0] |= other
    path.write_text(json.dumps(held))
    return path


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"columns": [0, 1, 99]}, "numbers from 0 to 11"),
        ({"columns": [2, 1, 0]}, "do not rise"),
        ({"columns": [0, 1, 1.5]}, "numbers from 0"),
        ({"columns": []}, "do not rise"),
        ({"names": ["a"]}, "names that do not fit"),
        ({"names": [1, 2, 3]}, "names that do not fit"),
        ({"width": 2**40}, "of 1099511627776 features"),
        ({"view": "image"}, "views do not fit"),
    ],
)
def test_a_file_that_is_none_is_refused(other, said, tmp_path):
    path = saved(tmp_path, **other)
    with pytest.raises(ValueError, match=rf"selection.json holds no selection: .*{said}"):
        Selection.load(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "x", "version": 1}', "[" * 100_000])
def test_another_file_is_refused(text, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match="holds no selection"):
        Selection.load(tmp_path / "x.json")


def test_showing_a_model_works_nothing_out(monkeypatch):
    model = OMVFS(3, random_state=0).partial_fit(two_views(0, 30))
    monkeypatch.setattr(type(model._fitted), "scores", None)
    monkeypatch.setattr(type(model._fitted), "feature_matrices", None)
    assert "Learned from 30 rows" in model._repr_html_()
