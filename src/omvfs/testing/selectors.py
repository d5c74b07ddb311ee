"""The contract of selectors: what must hold of every one, whatever it computes."""

import copy
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from omvfs.data.read import as_views, rechunk
from omvfs.data.views import Views
from omvfs.model.concordance import concordance
from omvfs.testing._rows import WIDTHS, bad_rows, dense, make_views, other_rows, wide_rows
from omvfs.testing.tools import TOOLS

Make = Callable[..., Any]
_KINDS = np.asarray, sp.csr_array, sp.csr_matrix


def check_selector(estimator: Any) -> None:
    """Check that an estimator keeps the contract of a multi-view selector.

    It must have the parameters `views` and `n_features_per_view`, as `OMVFS` and the methods of
    `omvfs.baselines` do. It must pass scikit-learn's own checks, and work with its tools; read
    arrays, mappings, lists, `Views` and frames alike; rank, select, name and score features
    consistently; leave its input alone; refuse what is wrong and be as if nothing had happened;
    and, if it has `partial_fit`, learn from chunks what `fit` learns from all rows, in chunks of
    its `batch_size`.

    Parameters
    ----------
    estimator : selector
        Not fitted; it is cloned. Results are compared to the bit, so that a `random_state` of None
        is set to 0.

    Raises
    ------
    AssertionError
        If the contract is broken, with what was expected. Other errors come as they are.

    Examples
    --------
    >>> from omvfs.baselines import ColumnSum
    >>> from omvfs.testing import check_selector
    >>> check_selector(ColumnSum(batch_size=20))
    >>> class Doubled(ColumnSum):
    ...     def score(self, X, y=None):
    ...         return 2 * super().score(X)
    >>> check_selector(Doubled())
    Traceback (most recent call last):
    AssertionError: score(X) is not the concordance of the selected features with other views.
    """

    def make(**params: Any) -> Any:
        own = clone(estimator)
        if own.get_params().get("random_state", 0) is None:
            own.set_params(random_state=0)
        return own.set_params(**params)

    with warnings.catch_warnings():
        # The data are small and random: there is nothing to converge to.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for check in _CHECKS:
            check(make)
        if hasattr(estimator, "partial_fit"):
            _learns_from_chunks(make)
        check_estimator(estimator, on_skip=None)


def _equal(got: Any, expected: Any, message: str) -> None:
    got, expected = dense(got), dense(expected)
    assert got.shape == expected.shape, f"{message} Got shape {got.shape}, not {expected.shape}."
    assert np.array_equal(got, expected), message


@contextmanager
def _refused(what: str, naming: str = "", kind: Any = (TypeError, ValueError)) -> Iterator[None]:
    try:
        yield
    except kind as error:
        said = str(error)
    else:
        raise AssertionError(f"{what} is not refused.")
    assert re.search(naming, said, re.DOTALL), f"{what}: {said!r} does not say {naming!r}."


# Ranking and support


def _ranks_by_scores(make: Make) -> None:
    selector = make().fit(make_views())
    scores, ranking = selector.view_scores_, selector.view_ranking_
    assert {view: len(own) for view, own in scores.items()} == WIDTHS, (
        "view_scores_ has not a score for every feature of every view, in their order."
    )
    for view, own in scores.items():
        assert np.isfinite(own).all(), f"A score of view {view!r} is not finite."
        order = np.argsort(-own, kind="stable")
        _equal(
            np.argsort(ranking[view]),
            order,
            f"The ranking of view {view!r} is not by score, the first better where they are equal.",
        )
        _equal(np.sort(ranking[view]), np.arange(1, len(own) + 1), "Ranks are not 1, 2, ...")
    _equal(selector.scores_, np.concatenate(list(scores.values())), "scores_: not view by view.")
    _equal(selector.ranking_, np.concatenate(list(ranking.values())), "ranking_: not view by view.")


def _selects_as_many_as_asked(make: Make) -> None:
    sizes: list[tuple[Any, tuple[int, int]]] = [
        (4, (4, 4)),
        (np.int64(4), (4, 4)),
        (7, (7, 6)),  # more than a view has: all of it
        (0.5, (4, 3)),
        (1.0, (9, 6)),
        (1e-9, (1, 1)),
        ({"text": 2, "image": 0.5}, (2, 3)),
        ({"text": None, "image": 1}, (9, 1)),
        (None, (9, 6)),
    ]
    selector = make().fit(make_views())
    ranking = selector.ranking_
    for size, expected in sizes:
        for own in (make(n_features_per_view=size).fit(make_views()), selector):
            own.set_params(n_features_per_view=size)
            support = own.view_support_
            got = tuple(int(mask.sum()) for mask in support.values())
            assert got == expected, f"n_features_per_view={size!r} selects {got}, not {expected}."
            for view, mask in support.items():
                best = own.view_ranking_[view] <= mask.sum()
                _equal(mask, best, f"The support of view {view!r} is not the best by rank.")
        _equal(selector.ranking_, ranking, "n_features_per_view changes the ranking.")
    for bad in (0, -1, 0.0, 1.5, -0.5, np.nan, True, "ten", [1, 2]):
        with _refused(f"n_features_per_view={bad!r}", "n_features_per_view"):
            make(n_features_per_view=bad).fit(make_views())
    for other in ({"text": 3}, {"text": 3, "image": 2, "sound": 1}):
        with _refused(f"n_features_per_view={other!r}", "n_features_per_view.*(image|sound)"):
            make(n_features_per_view=other).fit(make_views())


def _supports_columns_of_x(make: Make) -> None:
    selector = make(n_features_per_view=4).fit(make_views())
    mask = selector.get_support()
    assert mask.dtype == bool, f"get_support() is of dtype {mask.dtype}, not bool."
    assert mask.shape == (15,), f"get_support() is of shape {mask.shape}, not (15,)."
    _equal(selector.get_support(indices=True), np.flatnonzero(mask), "Indices are not the mask.")
    columns = {"odd": [7, 5, 3, 1], "even": [0, 2, 4, 6]}
    own = make(views=columns, n_features_per_view={"odd": 1, "even": 2}).fit(wide_rows()[:, :8])
    chosen = [np.take(columns[view], np.flatnonzero(own.view_support_[view])) for view in columns]
    message = "get_support() is not in the order of the columns of X."
    _equal(own.get_support(indices=True), np.sort(np.concatenate(chosen)), message)
    X, support = wide_rows()[:, :8], own.get_support()
    _equal(dense(own.transform(X)), X[:, support], "transform(X) is not X[:, get_support()].")
    back = own.inverse_transform(own.transform(X))
    _equal(back, np.where(support, X, 0), "inverse_transform() does not put columns back.")
    for view, places in columns.items():
        _equal(own.scores_[places], own.view_scores_[view], "scores_ is not in the order of X.")
        _equal(own.ranking_[places], own.view_ranking_[view], "ranking_ is not in X's order.")
    with _refused("Columns in no view", "2 of 10 columns in no view: '8', '9'.*remainder='drop'"):
        make(views=columns).fit(wide_rows()[:, :10])
    spare = make(views=columns, remainder="drop").fit(wide_rows()[:, :10])
    _equal(np.isnan(spare.scores_), np.arange(10) >= 8, "Columns in no view have scores.")
    _equal(spare.ranking_[8:], [0, 0], "Columns in no view have ranks.")
    _equal(spare.scores_[:8], own.scores_, "Columns in no view change the scores of others.")


def _freezes_a_selection(make: Make) -> None:
    X = wide_rows()[:, :8]
    by_view = {view: X[:, places] for view, places in {"odd": [7, 5, 3], "even": [0, 2]}.items()}
    split = {"odd": [7, 5, 3, 1], "even": [0, 2, 4, 6]}
    for rows, views in ((X, None), (X, split), (by_view, None)):
        selector = make(views=views, n_features_per_view=2).fit(rows)
        frozen, before = selector.selection(), dense(selector.transform(rows))
        selector.set_params(n_features_per_view=1)
        _equal(dense(frozen.transform(rows)), before, "A selection does not do as transform().")
        assert len(frozen.get_feature_names_out()) == before.shape[1], "A selection lacks names."
        table = selector.ranking_table()
        n_selected = sum(table["selected"])
        assert n_selected == len(selector.schema_.names), "A table has others selected."


def _names_the_best(make: Make) -> None:
    names = {"text": [f"word{j}" for j in range(9)]}
    selector = make().fit(Views(make_views(), feature_names=names))
    best = {view: np.argsort(ranking) for view, ranking in selector.view_ranking_.items()}
    expected = [f"word{j}" for j in best["text"][:3]]
    assert selector.top_features("text", 3) == expected, "top_features: not the best first."
    numbers = [str(j) for j in best["image"]]
    assert selector.top_features("image", 100) == numbers, "top_features: not by number."
    with _refused("top_features of an unknown view", "'sound'.*'text', 'image'"):
        selector.top_features("sound")


def _names_columns(make: Make) -> None:
    X = wide_rows()[:, :6]
    selector = make(n_features_per_view=2).fit(X)
    chosen = selector.get_support(indices=True)
    given = [f"gene{j}" for j in range(6)]
    for out, expected in [
        (selector.get_feature_names_out(), [f"x{j}" for j in chosen]),
        (selector.get_feature_names_out(given), [given[j] for j in chosen]),
    ]:
        assert list(out) == expected, f"Columns of one plain X are called {list(out)}."
    with _refused("A wrong number of names", "should have length"):
        selector.get_feature_names_out(["a"])
    selector.set_params(n_features_per_view=None).fit(make_views())
    expected = [f"{view}__{j}" for view, width in WIDTHS.items() for j in range(width)]
    got = list(selector.get_feature_names_out())
    assert got == expected, f"Columns of views are called {got}, not {expected}."


def _reads_frames(make: Make) -> None:
    if find_spec("pandas") is None:
        return
    import pandas as pd

    X = wide_rows()[:, 5:8] + 0.01
    selector = make(n_features_per_view=2).fit(pd.DataFrame(X, columns=list("abc")))
    assert list(selector.feature_names_in_) == ["a", "b", "c"], "feature_names_in_: others."
    expected = ["abc"[j] for j in selector.get_support(indices=True)]
    assert list(selector.get_feature_names_out()) == expected, "Names out are not the frame's."
    with _refused("A frame with other columns", "feature names should match"):
        selector.transform(pd.DataFrame(X, columns=list("abd")))
    selector.set_params(n_features_per_view=None).fit({"only": X})
    assert not hasattr(selector, "feature_names_in_"), "Names of an earlier fit are not forgotten."
    data = make_views()
    selector.fit({**data, "image": pd.DataFrame(data["image"], columns=list("uvwxyz"))})
    expected = [*(f"text__{j}" for j in range(9)), *(f"image__{c}" for c in "uvwxyz")]
    assert list(selector.get_feature_names_out()) == expected, "Names of one view are lost."
    for split in ([2, 1], {"view_0": ["a", "b"], "view_1": slice(2, 3)}):
        own = make(views=split, n_features_per_view=1).fit(pd.DataFrame(X, columns=list("abc")))
        best = "ab"[own.view_ranking_["view_0"].argmin()]
        expected = [best, "c"]
        assert list(own.get_feature_names_out()) == expected, "Names of a split frame are others."
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(50) + 100)
    pipe = make_pipeline(Normalizer(), make(views=[2, 1], n_features_per_view=1))
    out = pipe.set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == list(pipe[-1].get_feature_names_out()), "Pandas output: names."
    assert list(out.index) == list(frame.index), "Pandas output: the index is lost."
    chosen = pipe[0].transform(frame)[list(out.columns)]
    _equal(out, chosen, "Pandas output is not the selected columns.")
    frames = {view: pd.DataFrame(X, index=frame.index[::-1]) for view, X in data.items()}
    moved = {**frames, "image": frames["image"].sort_index()}
    message = "Rows of frames do not go together by their index."
    _equal(make().fit(moved).scores_, make().fit(frames).scores_, message)
    selector = make(n_features_per_view=2).set_output(transform="pandas").fit(frames)
    parts = [selector.transform(moved), *selector.transform_views(moved).values()]
    assert all(list(out.index) == list(frame.index[::-1]) for out in parts), (
        "Pandas output of views: the index is lost."
    )


# What comes out


def _transform_selects(make: Make) -> None:
    for kind in _KINDS:
        for dtype in (np.float32, np.float64):
            data = make_views(dtype=dtype, kind=kind)
            selector = make(n_features_per_view=4).fit(data)
            out, by_view = selector.transform(data), selector.transform_views(data)
            kept = [dense(data[view])[:, selector.view_support_[view]] for view in data]
            _equal(out, np.hstack(kept), "transform: not the selected columns as they are.")
            assert out.dtype == dtype, f"transform gives {out.dtype} of {np.dtype(dtype)}."
            assert type(out) is type(data["text"]), f"transform gives {type(out)} of {kind}."
            assert list(by_view) == list(data), "transform_views gives other views."
            for view, expected in zip(data, kept, strict=True):
                _equal(by_view[view], expected, "transform_views: not the selected columns.")
                assert type(by_view[view]) is type(data[view]), "transform_views: another kind."
        X = kind(wide_rows())
        plain = make(n_features_per_view=3)
        out = plain.fit_transform(X)
        _equal(out, dense(X)[:, plain.get_support()], "Of one X, not the supported columns.")
        assert type(out) is type(X), f"transform gives {type(out)} of {type(X)}."
    mixed = {**make_views(), "text": sp.csr_array(make_views()["text"])}
    selector = make(n_features_per_view=4).fit(mixed)
    assert sp.issparse(selector.transform(mixed)), "Of mixed views, transform is not sparse."
    for view, X in selector.transform_views(mixed).items():
        assert type(X) is type(mixed[view]), f"transform_views: view {view!r} is of another kind."
    message = "transform depends on whether rows are sparse."
    _equal(selector.transform(mixed), selector.transform(make_views()), message)


def _scores_by_concordance(make: Make) -> None:
    for data, size in [(make_views(), 4), (wide_rows(), 0.3), (make_views(kind=sp.csr_array), 2)]:
        selector = make(n_features_per_view=size).fit(data)
        got = selector.score(data)
        assert isinstance(got, float), f"score(X) is a {type(got).__name__}, not a float."
        chosen = [np.flatnonzero(mask) for mask in selector.view_support_.values()]
        assert np.isclose(got, concordance(list(as_views(data).blocks.values()), chosen)), (
            "score(X) is not the concordance of the selected features with other views."
        )
        assert selector.score(data, np.arange(50)) == got, "score(X, y) depends on y."
    zeros = np.zeros((9, 15))
    assert make().fit(wide_rows()).score(zeros) == 0, "score of nothing but zeros is not 0."


def _forms_are_alike(make: Make) -> None:
    data, wide = make_views(), wide_rows()
    expected = make().fit(data)
    for selector, X, form in [
        (make(), as_views(data), "Views"),
        (make(), list(data.values()), "a list"),
        (make(views=[9, 6]), wide, "one array, split by widths"),
        (make(views={"text": slice(0, 9), "image": slice(9, 15)}), wide, "one array, split"),
    ]:
        _equal(selector.fit(X).scores_, expected.scores_, f"{form} gives other scores.")
    swapped = {"image": data["image"], "text": data["text"]}
    expected.set_params(n_features_per_view=4)
    message = "Views in another order after fit are not put in order."
    _equal(expected.transform(swapped), expected.transform(data), message)
    assert np.isclose(expected.score(swapped), expected.score(data)), message


# Manners


def _leaves_input_alone(make: Make) -> None:
    for kind in _KINDS:
        X = kind(wide_rows())
        selector = make(n_features_per_view=3).fit(X)
        out = selector.transform(X)
        (out.data if sp.issparse(out) else out)[:] = 7
        _equal(X, wide_rows(), "fit changes its input, or transform hands it out.")
    selector = make().fit(make_views())
    scores, ranking = selector.scores_.copy(), selector.ranking_.copy()
    for handed_out in (selector.scores_, selector.ranking_, *selector.view_scores_.values()):
        if handed_out.flags.writeable:
            handed_out[:] = 0
    _equal(selector.scores_, scores, "Scores that are handed out reach into the model.")
    _equal(selector.ranking_, ranking, "Ranks that are handed out reach into the model.")


def _asks_for_fit(make: Make) -> None:
    selector, data = make(), make_views()
    for name, ask in {
        "transform": lambda: selector.transform(data),
        "transform_views": lambda: selector.transform_views(data),
        "score": lambda: selector.score(data),
        "get_support": selector.get_support,
        "get_feature_names_out": selector.get_feature_names_out,
        "top_features": lambda: selector.top_features("text"),
        "scores_": lambda: selector.scores_,
        "ranking_": lambda: selector.ranking_,
        "view_scores_": lambda: selector.view_scores_,
    }.items():
        with _refused(f"{name} before fit", kind=NotFittedError):
            ask()


def _copies_are_equal(make: Make) -> None:
    data = make_views()
    selector = make(n_features_per_view={"text": 2, "image": 3}).fit(data)
    pickled = pickle.loads(pickle.dumps(selector))
    for twin in (pickled, copy.copy(selector), copy.deepcopy(selector)):
        assert twin.get_params() == selector.get_params(), "A copy has other parameters."
        _equal(twin.scores_, selector.scores_, "A copy has other scores.")
        _equal(twin.transform(data), selector.transform(data), "A copy selects other features.")
    twin = clone(selector)
    assert twin.get_params() == selector.get_params(), "A clone has other parameters."
    with _refused("A clone that is asked before fit", kind=NotFittedError):
        twin.transform(data)
    _equal(twin.fit(data).scores_, selector.scores_, "A clone learns something else.")
    _equal(twin.fit(data, np.arange(50)).scores_, selector.scores_, "fit depends on y.")
    fresh = make().fit(make_views(30)).scores_
    _equal(make().fit(data).fit(make_views(30)).scores_, fresh, "fit remembers the fit before.")


def _failures_change_nothing(make: Make) -> None:
    selector = make(n_features_per_view=4).fit(make_views())
    before = selector.scores_
    positive = get_tags(selector).input_tags.positive_only
    for fault, X in bad_rows(positive).items():
        own = make()
        with _refused(f"fit: {fault}"):
            own.fit(X)
        with _refused(f"After a fit that was refused, {fault}, a ranking", kind=NotFittedError):
            _ = own.ranking_
        with _refused(f"fit: {fault}"):
            selector.fit(X)
        _equal(selector.scores_, before, f"fit: {fault} is refused, but has left something.")
    for fault, X in {**bad_rows(positive=False), **other_rows()}.items():
        with _refused(f"transform: {fault}"):
            selector.transform(X)
        with _refused(f"score: {fault}"):
            selector.score(X)
        _equal(selector.scores_, before, f"transform: {fault} is refused, but changes scores.")


def _learns_from_chunks(make: Make) -> None:
    params = {"batch_size": 20, "n_features_per_view": 4}
    data = as_views(make_views())
    whole, chunked, troubled = make(**params).fit(data), make(**params), make(**params)
    faults = bad_rows(get_tags(whole).input_tags.positive_only)
    for chunk in rechunk([data], 20):
        chunked.partial_fit(chunk)
        for fault, X in faults.items():
            with _refused(f"partial_fit: {fault}"):
                troubled.partial_fit(X)
        troubled.partial_fit(chunk)
        faults |= other_rows()
    assert chunked.n_samples_seen_ == whole.n_samples_seen_ == 50, (
        "n_samples_seen_ is not the rows seen."
    )
    _equal(chunked.scores_, whole.scores_, "partial_fit over chunks gives other scores than fit.")
    _equal(troubled.scores_, whole.scores_, "A chunk that was refused has left something.")
    assert troubled.n_samples_seen_ == 50, "A chunk that was refused has been counted."
    more = make(**params).fit(data[:40]).partial_fit(data[40:])
    _equal(more.scores_, whole.scores_, "partial_fit does not go on from fit.")


_CHECKS = (
    _leaves_input_alone,
    _ranks_by_scores,
    _selects_as_many_as_asked,
    _supports_columns_of_x,
    _freezes_a_selection,
    _names_the_best,
    _names_columns,
    _reads_frames,
    _transform_selects,
    _scores_by_concordance,
    _forms_are_alike,
    _asks_for_fit,
    _copies_are_equal,
    _failures_change_nothing,
    *TOOLS.values(),
)
