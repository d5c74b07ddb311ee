"""What must hold for every selector, whatever it computes."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from omvfs import OMVFS, Views, as_views
from omvfs.baselines import (
    EUFS,
    FSDS,
    MCFS,
    MVUFS,
    NDFS,
    SPEC,
    ColumnSum,
    LaplacianScore,
    RandomScore,
    Variance,
)
from support import KINDS, counts, dense

SELECTORS = {
    "constrained": lambda **params: OMVFS(3, batch_size=20, random_state=0, **params),
    "published": lambda **params: OMVFS.as_published(3, batch_size=20, random_state=0, **params),
    "random": lambda **params: RandomScore(random_state=0, **params),
    "column sum": lambda **params: ColumnSum(batch_size=20, **params),
    "variance": lambda **params: Variance(batch_size=20, **params),
    "laplacian score": LaplacianScore,
    "mcfs": lambda **params: MCFS(3, random_state=0, **params),
    "spec": lambda **params: SPEC(3, random_state=0, **params),
    "fsds": lambda **params: FSDS(3, batch_size=20, **params),
    "mvufs": lambda **params: MVUFS(3, max_iter=3, random_state=0, **params),
    "eufs": lambda **params: EUFS(3, random_state=0, **params),
    "ndfs": lambda **params: NDFS(3, random_state=0, **params),
}
# Check by name to the reason why it must fail. None does.
EXPECTED_FAILURES: dict[str, str] = {}

# Small and random data: there is nothing to converge to.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

every_selector = pytest.mark.parametrize("make", SELECTORS.values(), ids=SELECTORS.keys())
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def two_views(n_rows=50, dtype=np.float64, text=np.asarray, image=np.asarray):
    rng = np.random.default_rng(3)
    return {
        "text": text(counts(rng, n_rows, 9, dtype)),
        "image": image(counts(rng, n_rows, 6, dtype)),
    }


@parametrize_with_checks(
    [
        OMVFS(),
        OMVFS.as_published(),
        RandomScore(),
        ColumnSum(),
        Variance(),
        LaplacianScore(),
        MCFS(),
        SPEC(),
        FSDS(),
        MVUFS(),
        EUFS(),
        NDFS(),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


# Ranking and support


@every_selector
def test_ranking_orders_every_view_by_its_scores(make):
    selector = make().fit(two_views())
    assert list(selector.view_scores_) == ["text", "image"]
    assert {view: len(scores) for view, scores in selector.view_scores_.items()} == {
        "text": 9,
        "image": 6,
    }
    for view, scores in selector.view_scores_.items():
        ranking = selector.view_ranking_[view]
        assert sorted(ranking) == list(range(1, len(scores) + 1))
        in_order = scores[np.argsort(ranking)]
        assert (np.diff(in_order) <= 0).all()
        assert np.isfinite(scores).all()
    np.testing.assert_array_equal(
        selector.scores_, np.concatenate(list(selector.view_scores_.values()))
    )
    np.testing.assert_array_equal(
        selector.ranking_, np.concatenate(list(selector.view_ranking_.values()))
    )


@every_selector
def test_equal_scores_rank_in_the_order_of_columns(make):
    X = np.zeros((30, 5))
    X[:, 2] = 1
    selector = make().fit(X)
    if isinstance(selector, RandomScore):
        pytest.skip("Random scores of equal columns differ.")
    rest = selector.ranking_[[0, 1, 3, 4]]
    assert list(rest) == sorted(rest)


@every_selector
@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (4, (4, 4)),
        (np.int64(4), (4, 4)),
        (7, (7, 6)),  # more than a view has: all of it
        (0.5, (4, 3)),
        (1.0, (9, 6)),
        (1e-9, (1, 1)),
        ({"text": 2, "image": 0.5}, (2, 3)),
        ({"text": None, "image": 1}, (9, 1)),
        (None, (9, 6)),
    ],
)
def test_sizes_are_counts_shares_or_either_by_view(make, size, expected):
    selector = make(n_features_to_select=size).fit(two_views())
    support = selector.view_support_
    assert (support["text"].sum(), support["image"].sum()) == expected
    for view, mask in support.items():
        best = selector.view_ranking_[view] <= mask.sum()
        np.testing.assert_array_equal(mask, best)


@every_selector
@pytest.mark.parametrize("size", [0, -1, 0.0, 1.5, -0.5, np.nan, True, "ten", [1, 2]])
def test_a_bad_size_is_refused_before_anything_is_learned(make, size):
    selector = make(n_features_to_select=size)
    with pytest.raises((TypeError, ValueError), match="n_features_to_select"):
        selector.fit(two_views())


@every_selector
@pytest.mark.parametrize("size", [{"text": 3}, {"text": 3, "image": 2, "sound": 1}])
def test_a_size_for_other_views_is_refused_before_anything_is_learned(make, size):
    selector = make(n_features_to_select=size)
    with pytest.raises(ValueError, match=r"n_features_to_select.*(image|sound)"):
        selector.fit(two_views())


@every_selector
def test_a_size_can_be_changed_after_fit(make):
    selector = make(n_features_to_select=4).fit(two_views())
    ranking = selector.ranking_
    selector.set_params(n_features_to_select=2)
    assert selector.transform(two_views()).shape == (50, 4)
    np.testing.assert_array_equal(selector.ranking_, ranking)


@every_selector
def test_support_as_indices_is_the_mask(make):
    selector = make(n_features_to_select=4).fit(two_views())
    mask = selector.get_support()
    assert mask.dtype == bool
    assert mask.shape == (15,)
    np.testing.assert_array_equal(selector.get_support(indices=True), np.flatnonzero(mask))


@every_selector
def test_support_is_in_the_order_of_the_columns_of_x(make):
    X = counts(np.random.default_rng(0), 50, 8)
    columns = {"odd": [7, 5, 3, 1], "even": [0, 2, 4, 6]}
    selector = make(views=columns, n_features_to_select={"odd": 1, "even": 2}).fit(X)
    odd, even = (np.flatnonzero(selector.view_support_[view]) for view in columns)
    expected = sorted([*np.take(columns["odd"], odd), *np.take(columns["even"], even)])
    np.testing.assert_array_equal(selector.get_support(indices=True), expected)


@every_selector
def test_top_features_are_the_best_first(make):
    names = {"text": [f"word{j}" for j in range(9)]}
    selector = make().fit(Views(two_views(), feature_names=names))
    best = np.argsort(selector.view_ranking_["text"])
    assert list(selector.top_features("text", 3)) == [f"word{j}" for j in best[:3]]
    numbers = selector.top_features("image", 100)
    np.testing.assert_array_equal(numbers, np.argsort(selector.view_ranking_["image"]))
    with pytest.raises(ValueError, match=r"'sound'.*'text', 'image'"):
        selector.top_features("sound")


# Names


@every_selector
def test_names_of_one_plain_x_are_its_own(make):
    X = counts(np.random.default_rng(0), 40, 6)
    selector = make(n_features_to_select=2).fit(X)
    chosen = selector.get_support(indices=True)
    assert list(selector.get_feature_names_out()) == [f"x{j}" for j in chosen]
    assert not hasattr(selector, "feature_names_in_")
    given = [f"gene{j}" for j in range(6)]
    assert list(selector.get_feature_names_out(given)) == [given[j] for j in chosen]
    with pytest.raises(ValueError, match="should have length"):
        selector.get_feature_names_out(["a"])


@every_selector
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_a_frame_are_its_columns(make, frame):
    X = counts(np.random.default_rng(0), 40, 3)
    selector = make(n_features_to_select=2).fit(frame({c: X[:, j] for j, c in enumerate("abc")}))
    assert list(selector.feature_names_in_) == ["a", "b", "c"]
    assert list(selector.get_feature_names_out()) == ["abc"[j] for j in selector.get_support(True)]
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(frame({c: X[:, j] for j, c in enumerate("abd")}))


@every_selector
@pytest.mark.parametrize("split", [[2, 1], {"view_0": ["a", "b"], "view_1": slice(2, 3)}])
def test_names_of_a_split_frame_tell_the_view(make, split):
    X = counts(np.random.default_rng(0), 40, 3)
    selector = make(views=split, n_features_to_select=1).fit(pd.DataFrame(X, columns=list("abc")))
    best = "ab"[selector.view_ranking_["view_0"].argmin()]
    assert list(selector.get_feature_names_out()) == [f"view_0__{best}", "view_1__c"]


@every_selector
def test_names_of_views_tell_the_view_and_number_what_is_unnamed(make):
    data = two_views()
    data["image"] = pd.DataFrame(data["image"], columns=list("uvwxyz"))
    selector = make(n_features_to_select=None).fit(data)
    expected = [f"text__{j}" for j in range(9)] + [f"image__{c}" for c in "uvwxyz"]
    assert list(selector.get_feature_names_out()) == expected
    assert not hasattr(selector, "feature_names_in_")


@every_selector
def test_names_of_an_earlier_fit_are_forgotten(make):
    X = counts(np.random.default_rng(0), 40, 3)
    selector = make().fit(pd.DataFrame(X, columns=list("abc")))
    selector.fit({"only": X})
    assert not hasattr(selector, "feature_names_in_")
    assert list(selector.get_feature_names_out()) == ["only__0", "only__1", "only__2"]


# Transform


@every_selector
@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_gives_exactly_the_selected_columns(make, kind, dtype):
    data = two_views(dtype=dtype, text=kind, image=kind)
    selector = make(n_features_to_select=4).fit(data)
    out = selector.transform(data)
    kept = [dense(data[view])[:, selector.view_support_[view]] for view in data]
    np.testing.assert_array_equal(dense(out), np.hstack(kept))
    assert out.dtype == dtype
    assert type(out) is type(data["text"])
    by_view = selector.transform_views(data)
    assert list(by_view) == ["text", "image"]
    for view, expected in zip(data, kept, strict=True):
        assert type(by_view[view]) is type(data[view])
        np.testing.assert_array_equal(dense(by_view[view]), expected)
    assert len(selector.get_feature_names_out()) == out.shape[1] == 8


@every_selector
def test_transform_of_mixed_views_is_sparse_and_each_view_keeps_its_kind(make):
    data = two_views(text=sp.csr_array)
    selector = make(n_features_to_select=4).fit(data)
    assert isinstance(selector.transform(data), sp.csr_array)
    by_view = selector.transform_views(data)
    assert isinstance(by_view["text"], sp.csr_array)
    assert isinstance(by_view["image"], np.ndarray)
    np.testing.assert_array_equal(
        selector.transform(data).toarray(), selector.transform(two_views())
    )


@every_selector
@every_kind
def test_transform_of_one_plain_x_is_indexing_by_the_support(make, kind):
    X = kind(counts(np.random.default_rng(1), 40, 7))
    selector = make(n_features_to_select=3)
    out = selector.fit_transform(X)
    np.testing.assert_array_equal(dense(out), dense(X)[:, selector.get_support()])
    assert type(out) is type(X)


@every_selector
def test_every_form_of_the_same_data_gives_the_same_result(make):
    data = two_views()
    wide = np.hstack(list(data.values()))
    forms = [
        (make(), data),
        (make(), as_views(data)),
        (make(views=[9, 6]), wide),
        (make(views={"text": slice(0, 9), "image": slice(9, 15)}), pd.DataFrame(wide)),
    ]
    results = [selector.fit(X).scores_ for selector, X in forms]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    a, b = make().fit([*data.values()]), make(views=[9, 6]).fit(wide)
    assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())


@every_selector
def test_views_may_come_in_another_order_after_fit(make):
    data = two_views()
    selector = make(n_features_to_select=4).fit(data)
    swapped = {"image": data["image"], "text": data["text"]}
    np.testing.assert_array_equal(selector.transform(swapped), selector.transform(data))


@every_selector
@every_kind
@pytest.mark.parametrize("negative", ["error", "clip"])
def test_input_is_left_alone(make, kind, negative):
    before = counts(np.random.default_rng(1), 40, 7)
    if negative == "clip":
        before[0, 0] = -1.0
    X = kind(before.copy())
    selector = make(n_features_to_select=3)
    if "negative" in selector.get_params():
        selector.set_params(negative=negative)
    selector.fit(X)
    out = selector.transform(X)
    (out.data if sp.issparse(out) else out)[:] = 7
    np.testing.assert_array_equal(dense(X), before)


@every_selector
def test_nothing_can_be_asked_before_fit(make):
    selector = make()
    asked = [
        lambda: selector.transform(two_views()),
        lambda: selector.transform_views(two_views()),
        selector.get_support,
        selector.get_feature_names_out,
        lambda: selector.top_features("text"),
        lambda: selector.scores_,
        lambda: selector.ranking_,
        lambda: selector.view_scores_,
    ]
    for ask in asked:
        with pytest.raises(NotFittedError):
            ask()


@every_selector
def test_what_is_handed_out_does_not_reach_into_the_model(make):
    selector = make().fit(two_views())
    before = selector.scores_.copy(), selector.ranking_.copy()
    for handed_out in (selector.scores_, selector.ranking_, *selector.view_scores_.values()):
        if handed_out.flags.writeable:
            handed_out[:] = 0
    np.testing.assert_array_equal(selector.scores_, before[0])
    np.testing.assert_array_equal(selector.ranking_, before[1])


# scikit-learn around it


@every_selector
@pytest.mark.parametrize(
    "again", [lambda s: pickle.loads(pickle.dumps(s)), copy.copy, copy.deepcopy]
)
def test_pickles_and_copies_are_equal(make, again):
    data = two_views()
    selector = make(n_features_to_select=4).fit(data)
    twin = again(selector)
    assert twin.get_params() == selector.get_params()
    np.testing.assert_array_equal(twin.scores_, selector.scores_)
    np.testing.assert_array_equal(twin.transform(data), selector.transform(data))


@every_selector
def test_a_clone_is_unfitted_and_fits_to_the_same_bits(make):
    selector = make(n_features_to_select={"text": 2, "image": 3}).fit(two_views())
    twin = clone(selector)
    assert twin.get_params() == selector.get_params()
    with pytest.raises(NotFittedError):
        twin.transform(two_views())
    np.testing.assert_array_equal(twin.fit(two_views()).scores_, selector.scores_)


@every_selector
def test_fitting_again_forgets_the_first_fit(make):
    fresh = make().fit(two_views(30)).scores_
    np.testing.assert_array_equal(make().fit(two_views(50)).fit(two_views(30)).scores_, fresh)


@every_selector
def test_y_is_ignored(make):
    plain = make().fit(two_views()).scores_
    np.testing.assert_array_equal(make().fit(two_views(), np.arange(50)).scores_, plain)


@every_selector
def test_grid_search_and_train_test_split_take_views(make):
    views = as_views(two_views(60, text=sp.csr_array))
    train, test = train_test_split(views, test_size=0.25, random_state=0)
    assert (len(train), len(test)) == (45, 15)
    grid = {"n_features_to_select": [2, 3]}
    search = GridSearchCV(make(), grid, cv=KFold(3), error_score="raise").fit(train)
    best = search.best_estimator_
    assert best.transform(test).shape == (15, 2 * best.n_features_to_select)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@every_selector
def test_a_pipeline_sets_pandas_output(make):
    X = pd.DataFrame(
        counts(np.random.default_rng(0), 40, 6) + 0.01,
        columns=[f"word{j}" for j in range(6)],
        index=np.arange(40) + 100,
    )
    pipe = make_pipeline(Normalizer(), make(views=[4, 2], n_features_to_select=2))
    pipe.set_output(transform="pandas")
    out = pipe.fit_transform(X)
    selector = pipe[-1]
    assert list(out.columns) == list(selector.get_feature_names_out())
    assert list(out.index) == list(X.index)
    chosen = [name.split("__")[1] for name in out.columns]
    np.testing.assert_array_equal(out, pipe[0].transform(X)[chosen])
    out = make_pipeline(pipe, KMeans(2, n_init=1, random_state=0)).fit_predict(X)
    assert out.shape == (40,)


@every_selector
def test_pandas_output_of_views(make):
    selector = make(n_features_to_select=2).set_output(transform="pandas")
    out = selector.fit_transform(two_views())
    assert list(out.columns) == list(selector.get_feature_names_out())
    assert out.shape == (50, 4)
