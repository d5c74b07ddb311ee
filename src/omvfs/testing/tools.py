"""Tools of scikit-learn that every selector must work with, each a check with a name."""

import copy
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, KFold, cross_validate, train_test_split
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MinMaxScaler

from omvfs.data.read import as_views
from omvfs.testing._rows import dense, make_views, wide_rows

Make = Callable[..., Any]
# Of the columns of `wide_rows`.
_SPLIT = [9, 6]


def _rows() -> Any:
    return wide_rows() + 0.01


def _alike(got: Any, expected: Any, tool: str) -> None:
    got, expected = dense(got), dense(expected)
    assert got.shape == expected.shape, f"{tool}: got shape {got.shape}, not {expected.shape}."
    assert np.array_equal(got, expected), f"{tool} gives other values."


def _pipeline(make: Make) -> None:
    X = _rows()
    pipe = Pipeline([("scale", MinMaxScaler()), ("select", make(n_features_per_view=4))])
    out = pipe.fit_transform(X)
    _alike(out, pipe[:-1].transform(X)[:, pipe[-1].get_support()], "Pipeline")
    names = list(pipe.get_feature_names_out())
    assert names == [f"x{j}" for j in pipe[-1].get_support(indices=True)], f"Pipeline: {names}."
    behind = Pipeline([("select", make(views=_SPLIT)), ("cluster", KMeans(2, n_init=1))])
    assert behind.fit_predict(X).shape == (50,), "Pipeline: nothing goes on behind."


def _column_transformer(make: Make) -> None:
    X = _rows()
    own = make(n_features_per_view=2)
    parts = ColumnTransformer(
        [("first", own, slice(0, 9)), ("second", make(n_features_per_view=3), slice(9, 15))]
    )
    out = parts.fit_transform(X)
    alone = [
        make(n_features_per_view=n).fit_transform(part)
        for n, part in ((2, X[:, :9]), (3, X[:, 9:]))
    ]
    _alike(out, np.hstack(alone), "ColumnTransformer")
    assert len(parts.get_feature_names_out()) == 5, "ColumnTransformer: names are lost."


def _feature_union(make: Make) -> None:
    X = _rows()
    both = FeatureUnion([("few", make(n_features_per_view=2)), ("all", MinMaxScaler())])
    expected = make(n_features_per_view=2).fit_transform(X), MinMaxScaler().fit_transform(X)
    _alike(both.fit_transform(X), np.hstack(expected), "FeatureUnion")


def _train_test_split(make: Make) -> None:
    views = as_views(make_views(60, kind=sp.csr_array))
    train, test = train_test_split(views, test_size=0.25, random_state=0)
    assert (len(train), len(test)) == (45, 15), "train_test_split: not the rows asked for."
    selector = make(n_features_per_view=2).fit(train)
    assert selector.transform(test).shape == (15, 4), "train_test_split: not the columns."


def _grid_search(make: Make) -> None:
    views = as_views(make_views(60, kind=sp.csr_array))
    grid = {"n_features_per_view": [2, 3]}
    search = GridSearchCV(make(), grid, cv=KFold(3), error_score="raise").fit(views)
    expected = 60, 2 * search.best_params_["n_features_per_view"]
    assert search.transform(views).shape == expected, "GridSearchCV: not the best."
    found = search.cv_results_["mean_test_score"]
    assert np.isfinite(found).all(), f"GridSearchCV: by score(X), features are worth {found}."
    pipe = Pipeline([("scale", MinMaxScaler()), ("select", make(views=_SPLIT))])
    grid = {"select__n_features_per_view": [2, 3]}
    search = GridSearchCV(pipe, grid, cv=KFold(2), error_score="raise").fit(_rows())
    expected = 50, 2 * search.best_params_["select__n_features_per_view"]
    assert search.transform(_rows()).shape == expected, "GridSearchCV: not the best in a Pipeline."


def _cross_validate(make: Make) -> None:
    found = cross_validate(
        make(views=_SPLIT, n_features_per_view=3),
        _rows(),
        cv=KFold(3),
        error_score="raise",
        return_estimator=True,
    )
    assert np.isfinite(found["test_score"]).all(), "cross_validate: a score is not finite."
    assert len({id(each) for each in found["estimator"]}) == 3, "cross_validate: no clones."


def _joblib(make: Make) -> None:
    X = _rows()
    selector = make(views=_SPLIT, n_features_per_view=3).fit(X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "selector.joblib"
        joblib.dump(selector, path)
        twin = joblib.load(path)
    _alike(twin.transform(X), selector.transform(X), "joblib.dump")
    _alike(twin.scores_, selector.scores_, "joblib.dump")


def _clone(make: Make) -> None:
    selector = make(views=_SPLIT, n_features_per_view=3)
    twin = clone(selector)
    assert twin.get_params() == selector.get_params(), "clone has other parameters."
    assert clone(copy.deepcopy(selector).fit(_rows())).get_params() == selector.get_params(), (
        "clone of what is fitted has other parameters."
    )
    _alike(twin.fit(_rows()).scores_, selector.fit(_rows()).scores_, "clone")


def _metadata_routing(make: Make) -> None:
    X, weight = _rows(), np.linspace(1, 2, 50)
    with sklearn.config_context(enable_metadata_routing=True):
        last = KMeans(2, n_init=1, random_state=0).set_fit_request(sample_weight=True)
        pipe = Pipeline([("select", make(views=_SPLIT, n_features_per_view=3)), ("last", last)])
        routed = pipe.fit(X, sample_weight=weight)
        chosen = make(views=_SPLIT, n_features_per_view=3).fit_transform(X)
        expected = KMeans(2, n_init=1, random_state=0).fit(chosen, sample_weight=weight)
        _alike(routed[-1].cluster_centers_, expected.cluster_centers_, "Metadata routing")
        grid = {"select__n_features_per_view": [2, 3]}
        # A score of ours: how Pipeline.score is routed to differs between versions.
        search = GridSearchCV(pipe, grid, cv=KFold(2), scoring=_inertia, error_score="raise")
        search.fit(X, sample_weight=weight)
        try:
            Pipeline([("select", make()), ("last", KMeans(2))]).fit(X, sample_weight=weight)
        except (TypeError, ValueError):
            return
    raise AssertionError("Metadata routing: weights that nobody asked for are not refused.")


def _inertia(fitted: Any, X: Any, y: Any = None) -> float:
    return -float(fitted[-1].inertia_)


def _set_output_pandas(make: Make) -> None:
    _set_output(make, "pandas")


def _set_output_polars(make: Make) -> None:
    _set_output(make, "polars")


def _set_output(make: Make, kind: str) -> None:
    if find_spec(kind) is None:
        return
    X = _rows()
    selector = make(views=_SPLIT, n_features_per_view=3).set_output(transform=kind)
    out = selector.fit_transform(X)
    assert type(out).__module__.partition(".")[0] == kind, f"set_output gives {type(out)}."
    names = [f"x{j}" for j in selector.get_support(indices=True)]
    assert list(out.columns) == names, f"set_output: columns are {list(out.columns)}, not {names}."
    _alike(out, X[:, selector.get_support()], f"set_output({kind!r})")
    pipe = Pipeline([("scale", MinMaxScaler()), ("select", make(n_features_per_view=2))])
    framed = pipe.set_output(transform=kind).fit_transform(X)
    assert list(framed.columns) == list(pipe.get_feature_names_out()), "Pipeline: other columns."


TOOLS: dict[str, Callable[[Make], None]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "FeatureUnion": _feature_union,
    "train_test_split": _train_test_split,
    "GridSearchCV": _grid_search,
    "cross_validate": _cross_validate,
    "joblib.dump": _joblib,
    "clone": _clone,
    "metadata routing": _metadata_routing,
    'set_output("pandas")': _set_output_pandas,
    'set_output("polars")': _set_output_polars,
}
