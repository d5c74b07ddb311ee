"""Columns of any kind become views, whatever their widths are in a fold."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder

from omvfs import OMVFS, Views, ViewTransformer
from omvfs.baselines import ColumnSum

TOPICS = {
    "pets": ["cat", "dog", "paw", "tail", "fur", "bark", "purr"],
    "cars": ["wheel", "engine", "road", "brake", "fuel", "gear", "tyre"],
}


def posts(n_rows=60, seed=0):
    """Texts of two topics, places and sizes; rare words and places differ from fold to fold."""
    rng = np.random.default_rng(seed)
    topics = rng.choice(list(TOPICS), n_rows)
    words = [[*rng.choice(TOPICS[topic], 4), f"rare{i}"] for i, topic in enumerate(topics)]
    return pd.DataFrame(
        {
            "title": [" ".join(each) for each in words],
            "place": [f"place{i}" for i in rng.integers(40, size=n_rows)],
            "width": rng.random(n_rows) + (topics == "cars"),
            "height": rng.random(n_rows) + (topics == "cars"),
        },
        index=[f"post{i}" for i in range(n_rows)],
    )


def transformers():
    return [
        ("text", CountVectorizer(), "title"),
        ("size", MaxAbsScaler(), make_column_selector(dtype_include="number")),
    ]


def test_each_view_is_what_its_transformer_makes_of_its_columns():
    data, later = posts(), posts(20, seed=1)
    ours = ViewTransformer(transformers(), remainder=OneHotEncoder(handle_unknown="ignore"))
    theirs = ColumnTransformer(
        ours.transformers, remainder=ours.remainder, sparse_threshold=1.0
    ).fit(data)
    views = ours.fit(data).transform(later)
    assert isinstance(views, Views)
    assert views.names == ("text", "size", "remainder")
    assert [sp.issparse(block) for block in views.blocks.values()] == [True, False, True]
    assert views.index.equals(later.index)
    side_by_side = np.hstack([b.toarray() if sp.issparse(b) else b for b in views.blocks.values()])
    np.testing.assert_array_equal(side_by_side, theirs.transform(later).toarray())
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    names = [f"{view}__{name}" for view, own in views.feature_names.items() for name in own]
    assert names == list(theirs.get_feature_names_out())


def test_it_clones_pickles_and_takes_parameters():
    data = posts()
    views = clone(ViewTransformer(transformers(), n_jobs=1)).set_params(text__max_features=5)
    assert views.get_params()["text__max_features"] == 5
    assert views.get_params()["n_jobs"] == 1
    with pytest.raises(NotFittedError):
        views.transform(data)
    expected = views.fit_transform(data)
    assert expected.widths == {"text": 5, "size": 2}
    got = pickle.loads(pickle.dumps(views)).transform(data)
    assert got.schema == expected.schema
    assert views.set_params(text="drop").fit_transform(data).names == ("size",)


def test_a_transformer_without_names_gives_a_view_without():
    own = [*transformers(), ("twice", FunctionTransformer(lambda X: 2 * X.to_numpy()), ["width"])]
    views = ViewTransformer(own).fit_transform(posts())
    assert views.feature_names["twice"] is None
    assert views.feature_names["text"] is not None


def test_rows_stay_where_they_are_whatever_frames_come_out():
    data = posts(5).set_axis([3, 1, 0, 2, 4])
    anew = FunctionTransformer(lambda X: pd.DataFrame(X.to_numpy(), columns=list(X.columns)))
    kept = FunctionTransformer(lambda X: X[["height"]])
    own = [("a", anew, ["width", "height"]), ("b", kept, ["width", "height"])]
    views = ViewTransformer(own).fit_transform(data)
    np.testing.assert_array_equal(views["a"][:, 1:], views["b"])
    assert list(views.index) == [3, 1, 0, 2, 4]
    assert list(views.feature_names["a"]) == ["width", "height"]


def test_frames_that_are_asked_for_come_out_of_the_selector():
    data = posts()
    dense = FunctionTransformer(lambda X: X.toarray(), feature_names_out="one-to-one")
    own = [("text", make_pipeline(CountVectorizer(), dense), "title"), *transformers()[1:]]
    pipe = make_pipeline(ViewTransformer(own), ColumnSum(n_features_per_view=2))
    pipe.set_output(transform="pandas")
    out = pipe.fit_transform(data)
    assert out.index.equals(data.index)
    assert list(out.columns[2:]) == ["size__width", "size__height"]
    with config_context(transform_output="pandas"):
        assert clone(pipe).fit_transform(data).equals(out)


def test_widths_may_differ_from_fold_to_fold():
    data = posts()
    pipe = make_pipeline(
        ViewTransformer([("text", TfidfVectorizer(), "title"), *transformers()[1:]]),
        OMVFS(2, random_state=0),
    )
    grid = {
        "viewtransformer__text__max_features": [None, 10],
        "omvfs__n_features_per_view": [{"text": 8, "size": 1}],
    }
    search = GridSearchCV(pipe, grid, cv=KFold(3), error_score="raise").fit(data)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.transform(data).shape == (60, 9)
    widths = {
        clone(pipe[0]).fit(data.iloc[train]).transform(data).widths["text"]
        for train, _ in KFold(3).split(data)
    }
    assert widths != {pipe[0].fit_transform(data).widths["text"]}


def test_views_by_name_may_differ_in_width_from_fold_to_fold():
    columns = ColumnTransformer(
        [
            ("place", OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["place"]),
            ("size", MaxAbsScaler(), ["width", "height"]),
        ]
    ).set_output(transform="pandas")
    by_pattern = {view: make_column_selector(pattern=f"^{view}__") for view in ("place", "size")}
    for split in ("prefix", by_pattern):
        pipe = make_pipeline(columns, ColumnSum(views=split))
        grid = {"columnsum__n_features_per_view": [1, 2]}
        search = GridSearchCV(pipe, grid, cv=KFold(3), error_score="raise").fit(posts())
        two = search.best_estimator_
        assert list(two[-1].schema_.names) == ["place", "size"]
        assert list(two[-1].get_feature_names_out()) == list(
            two[0].get_feature_names_out()[two[-1].get_support()]
        )


def test_a_columntransformer_without_names_is_told_what_to_do():
    pipe = make_pipeline(ColumnTransformer(transformers()), OMVFS(views="prefix"))
    with pytest.raises(ValueError, match=r"no column names.*set_output.*omvfs\.ViewTransformer"):
        pipe.fit(posts())
    with pytest.raises(ValueError, match="No transformer was given any columns"):
        ViewTransformer([("text", "drop", "title")]).fit(posts())


@pytest.mark.parametrize("n_views", [1, 2])
def test_a_vectorizer_of_a_list_of_columns_is_told_what_to_do(n_views):
    """Given a list it gets a frame, which is a sequence of its columns' names: one row."""
    data = posts().assign(again=posts()["title"]).reset_index(drop=True)
    of_lists = [("text", CountVectorizer(), ["title"]), ("more", CountVectorizer(), ["again"])]
    views = ViewTransformer([*of_lists[:n_views], transformers()[1]][:2])
    with pytest.raises(ValueError, match=r"'text'.* 1 row.* 60.*'title', not \['title'\]"):
        views.fit_transform(data)
