"""Contracts that can be run: what must hold for every selector and every source, yours included.

`check_selector` adds to scikit-learn's `check_estimator` what holds of views; `check_source` is the
contract of `omvfs.formats.Source`.
"""

import json
import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from omvfs.data.read import as_views, rechunk
from omvfs.data.views import Views
from omvfs.formats import Chunk, Cursor, Source, SourceError
from omvfs.model.arrays import dense
from omvfs.model.concordance import concordance

__all__ = ["check_selector", "check_source"]

Make = Callable[..., Any]
_KINDS = np.asarray, sp.csr_array, sp.csr_matrix


def check_selector(estimator: Any) -> None:
    """Check that an estimator keeps the contract of a multi-view selector.

    It must have the parameters `views` and `n_features_per_view`, as `OMVFS` and the methods of
    `omvfs.baselines` do. It must pass scikit-learn's own checks; read arrays, mappings, lists
    and `Views` alike; rank, select, name and score features consistently; leave its input alone;
    refuse what is wrong and be as if nothing had happened; and, if it has `partial_fit`, learn from
    chunks what `fit` learns from all rows, in chunks of its `batch_size`.

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
    selector = make().fit(_two_views())
    scores, ranking = selector.view_scores_, selector.view_ranking_
    assert {view: len(own) for view, own in scores.items()} == _WIDTHS, (
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
        (7, (7, 6)),  # more than a view has: all of it
        (0.5, (4, 3)),
        (1e-9, (1, 1)),
        ({"text": None, "image": 1}, (9, 1)),
        (None, (9, 6)),
    ]
    selector = make().fit(_two_views())
    ranking = selector.ranking_
    for size, expected in sizes:
        support = selector.set_params(n_features_per_view=size).view_support_
        got = tuple(int(mask.sum()) for mask in support.values())
        assert got == expected, f"n_features_per_view={size!r} selects {got}, not {expected}."
        for view, mask in support.items():
            best = selector.view_ranking_[view] <= mask.sum()
            _equal(mask, best, f"The support of view {view!r} is not the best by rank.")
        _equal(selector.ranking_, ranking, "n_features_per_view changes the ranking.")
    bad = 0, -1, 1.5, np.nan, True, "ten", {"text": 3}, {"text": 3, "image": 2, "sound": 1}
    for size in bad:
        with _refused(f"n_features_per_view={size!r}", "n_features_per_view"):
            make(n_features_per_view=size).fit(_two_views())


def _supports_columns_of_x(make: Make) -> None:
    selector = make(n_features_per_view=4).fit(_two_views())
    mask = selector.get_support()
    assert mask.dtype == bool, f"get_support() is of dtype {mask.dtype}, not bool."
    assert mask.shape == (15,), f"get_support() is of shape {mask.shape}, not (15,)."
    _equal(selector.get_support(indices=True), np.flatnonzero(mask), "Indices are not the mask.")
    columns = {"odd": [7, 5, 3, 1], "even": [0, 2, 4, 6]}
    own = make(views=columns, n_features_per_view={"odd": 1, "even": 2}).fit(_wide_rows()[:, :8])
    chosen = [np.take(columns[view], np.flatnonzero(own.view_support_[view])) for view in columns]
    message = "get_support() is not in the order of the columns of X."
    _equal(own.get_support(indices=True), np.sort(np.concatenate(chosen)), message)
    X, support = _wide_rows()[:, :8], own.get_support()
    _equal(dense(own.transform(X)), X[:, support], "transform(X) is not X[:, get_support()].")
    back = own.inverse_transform(own.transform(X))
    _equal(back, np.where(support, X, 0), "inverse_transform() does not put columns back.")
    for view, places in columns.items():
        _equal(own.scores_[places], own.view_scores_[view], "scores_ is not in the order of X.")
        _equal(own.ranking_[places], own.view_ranking_[view], "ranking_ is not in X's order.")
    with _refused("Columns in no view", "2 of 10 columns in no view: '8', '9'"):
        make(views=columns).fit(_wide_rows()[:, :10])


def _names_features(make: Make) -> None:
    names = {"text": [f"word{j}" for j in range(9)]}
    selector = make().fit(Views(_two_views(), feature_names=names))
    best = {view: np.argsort(ranking) for view, ranking in selector.view_ranking_.items()}
    expected = [f"word{j}" for j in best["text"][:3]]
    assert selector.top_features("text", 3) == expected, "top_features: not the best first."
    numbers = [str(j) for j in best["image"]]
    assert selector.top_features("image", 100) == numbers, "top_features: not by number."
    expected = [*(f"text__word{j}" for j in range(9)), *(f"image__{j}" for j in range(6))]
    got = list(selector.get_feature_names_out())
    assert got == expected, f"Columns of views are called {got}, not {expected}."


# What comes out


def _transform_selects(make: Make) -> None:
    for kind, dtype in zip(_KINDS, (np.float32, np.float64, np.float32), strict=True):
        data = _two_views(dtype=dtype, kind=kind)
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
    mixed = {**_two_views(), "text": sp.csr_array(_two_views()["text"])}
    selector = make(n_features_per_view=4).fit(mixed)
    assert sp.issparse(selector.transform(mixed)), "Of mixed views, transform is not sparse."
    message = "transform depends on whether rows are sparse."
    _equal(selector.transform(mixed), selector.transform(_two_views()), message)


def _scores_by_concordance(make: Make) -> None:
    for data, size in [(_two_views(), 4), (_wide_rows(), 0.3), (_two_views(kind=sp.csr_array), 2)]:
        selector = make(n_features_per_view=size).fit(data)
        got = selector.score(data)
        assert isinstance(got, float), f"score(X) is a {type(got).__name__}, not a float."
        chosen = [np.flatnonzero(mask) for mask in selector.view_support_.values()]
        blocks = list(selector._read_as_learned(data).blocks.values())
        assert np.isclose(got, concordance(blocks, chosen)), (
            "score(X) is not the concordance of the selected features with other views."
        )
        assert selector.score(data, np.arange(50)) == got, "score(X, y) depends on y."
    zeros = np.zeros((9, 15))
    assert make().fit(_wide_rows()).score(zeros) == 0, "score of nothing but zeros is not 0."


def _forms_are_alike(make: Make) -> None:
    data, wide = _two_views(), _wide_rows()
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
        X = kind(_wide_rows())
        selector = make(n_features_per_view=3).fit(X)
        out = selector.transform(X)
        (out.data if sp.issparse(out) else out)[:] = 7
        _equal(X, _wide_rows(), "fit changes its input, or transform hands it out.")
    selector = make().fit(_two_views())
    scores, ranking = selector.scores_.copy(), selector.ranking_.copy()
    for handed_out in (selector.scores_, selector.ranking_, *selector.view_scores_.values()):
        if handed_out.flags.writeable:
            handed_out[:] = 0
    _equal(selector.scores_, scores, "Scores that are handed out reach into the model.")
    _equal(selector.ranking_, ranking, "Ranks that are handed out reach into the model.")


def _copies_are_equal(make: Make) -> None:
    data = _two_views()
    selector = make(n_features_per_view={"text": 2, "image": 3}).fit(data)
    twin = pickle.loads(pickle.dumps(selector))
    _equal(twin.scores_, selector.scores_, "A copy has other scores.")
    _equal(twin.transform(data), selector.transform(data), "A copy selects other features.")
    _equal(clone(selector).fit(data).scores_, selector.scores_, "A clone learns something else.")
    _equal(selector.fit(data, np.arange(50)).scores_, twin.scores_, "fit depends on y.")
    fresh = make().fit(_two_views(30)).scores_
    _equal(make().fit(data).fit(_two_views(30)).scores_, fresh, "fit remembers the fit before.")


def _failures_change_nothing(make: Make) -> None:
    selector = make(n_features_per_view=4).fit(_two_views())
    before = selector.scores_
    positive = get_tags(selector).input_tags.positive_only
    for fault, X in _bad_rows(positive).items():
        own = make()
        with _refused(f"fit: {fault}"):
            own.fit(X)
        with _refused(f"After a fit that was refused, {fault}, a ranking", kind=NotFittedError):
            _ = own.ranking_
        with _refused(f"fit: {fault}"):
            selector.fit(X)
        _equal(selector.scores_, before, f"fit: {fault} is refused, but has left something.")
    for fault, X in {**_bad_rows(positive=False), **_other_rows()}.items():
        with _refused(f"transform: {fault}"):
            selector.transform(X)
        with _refused(f"score: {fault}"):
            selector.score(X)
        _equal(selector.scores_, before, f"transform: {fault} is refused, but changes scores.")


def _learns_from_chunks(make: Make) -> None:
    params = {"batch_size": 20, "n_features_per_view": 4}
    data = as_views(_two_views())
    whole, chunked, troubled = make(**params).fit(data), make(**params), make(**params)
    faults = _bad_rows(get_tags(whole).input_tags.positive_only)
    for chunk in rechunk([data], 20):
        chunked.partial_fit(chunk)
        for fault, X in faults.items():
            with _refused(f"partial_fit: {fault}"):
                troubled.partial_fit(X)
        troubled.partial_fit(chunk)
        faults |= _other_rows()
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
    _names_features,
    _transform_selects,
    _scores_by_concordance,
    _forms_are_alike,
    _copies_are_equal,
    _failures_change_nothing,
)


# Rows to check selectors on

_WIDTHS = {"text": 9, "image": 6}


def _two_views(n_rows: int = 50, dtype: Any = np.float64, kind: Any = np.asarray) -> dict[str, Any]:
    """Return nonnegative rows of two views, half of the values zeros, and two columns of each."""
    rng = np.random.default_rng(3)
    blocks = {}
    for name, width in _WIDTHS.items():
        X = rng.random((n_rows, width)) * (rng.random((n_rows, width)) < 0.5)
        X[:, [2, 4]] = 0
        blocks[name] = kind(X.astype(dtype))
    return blocks


def _wide_rows() -> NDArray[Any]:
    """Return the same rows as one array."""
    return np.hstack(list(_two_views().values()))


def _bad_rows(positive: bool) -> dict[str, Any]:
    """Return what no selector can read by what is wrong with it, negative values if asked for."""
    data = _two_views(20)
    image = data["image"]
    values = {"NaN": np.nan, "infinity": np.inf} | ({"a negative value": -1.0} if positive else {})
    at = np.arange(image.size).reshape(image.shape) == 19
    return {
        **{name: {**data, "image": np.where(at, bad, image)} for name, bad in values.items()},
        "a view with fewer rows": {**data, "image": image[:3]},
        "a view of words": {**data, "image": np.full(image.shape, "word")},
        "a view of one dimension": {**data, "image": image[:, 0]},
        "no rows": {view: X[:0] for view, X in data.items()},
        "no views": {},
        "None": None,
    }


def _other_rows() -> dict[str, Any]:
    """Return rows that a selector of `_two_views` cannot read, though another may."""
    data = _two_views(20)
    return {
        "a view missing": {"text": data["text"]},
        "a view too many": {**data, "sound": data["text"]},
        "a view of another name": {"words": data["text"], "image": data["image"]},
        "a view of another width": {**data, "image": data["image"][:, :-1]},
        "one array": _wide_rows(),
    }


# Sources

MakeSource: TypeAlias = Callable[[], Source]

# Rows of a chunk where none are asked for.
_SIZE = 3


def check_source(make_source: MakeSource) -> None:
    """Check that a source does what every source must; an AssertionError says what it does not.

    A run over it then learns from every row once, in order, and goes on where it stopped.

    Parameters
    ----------
    make_source : callable
        Opens the source. It has the same rows each time, at least 4 of them, and few: they are
        read a dozen times.

    Examples
    --------
    >>> from omvfs.formats import ArraySource
    >>> check_source(lambda: ArraySource({"text": np.eye(5), "image": np.ones((5, 2))}))
    """
    chunks = _read(make_source, _SIZE)
    n = sum(len(chunk.views) for chunk in chunks)
    assert n > _SIZE, f"Got a source of {n} rows; expected at least {_SIZE + 1} to check it by."
    _check_schema(make_source, n)
    for size in (1, _SIZE, n, n + 1):
        _check_chunks(_read(make_source, size), size, chunks)
    _check_cursors(make_source, chunks)
    _check_refusals(make_source, chunks)
    _check_identity(make_source)
    _check_again(make_source)


def _check_schema(make_source: MakeSource, n: int) -> None:
    """Check that the schema and the number of rows are true, and that keys are one a row."""
    with make_source() as source:
        for chunk in source.chunks(_SIZE):
            assert isinstance(chunk.views, Views), f"Got {type(chunk.views)} for Views."
            got, told = chunk.views.schema, source.schema
            assert got == told, f"Got rows of {got}; the schema of the source is {told}."
            n_rows = len(chunk.views)
            n_keys = n_rows if chunk.keys is None else len(chunk.keys)
            assert n_keys == n_rows, f"Got {n_keys} keys of {n_rows} rows."
        assert source.n_rows in (n, None), f"Got n_rows={source.n_rows} of {n} rows."


def _check_chunks(chunks: Sequence[Chunk], size: int, rows: Sequence[Chunk]) -> None:
    """Check that chunks are all rows in order, of the size asked for."""
    _check_same(chunks, rows, f"in chunks of {size}")
    lengths = [len(chunk.views) for chunk in chunks]
    n = sum(lengths)
    expected = [size] * (n // size) + [n % size] * (n % size > 0)
    assert lengths == expected, f"Got chunks of {lengths} rows; expected {expected}."


def _check_cursors(make_source: MakeSource, chunks: Sequence[Chunk]) -> None:
    """Check that reading goes on from any cursor, as JSON keeps it, in chunks of any size."""
    n_rows = 0
    for chunk in chunks:
        n_rows += len(chunk.views)
        cursor = _plain(chunk.cursor, "a cursor")
        assert cursor.get("row") == n_rows, f"Got {cursor}; expected the row {n_rows} in it."
    for i, size in ((0, _SIZE), (len(chunks) // 2, _SIZE + 1), (len(chunks) - 1, _SIZE)):
        cursor = _plain(chunks[i].cursor, "a cursor")
        rest = _read(make_source, size, cursor)
        _check_same(rest, chunks[i + 1 :], f"from {cursor} on", first=cursor["row"])


def _check_refusals(make_source: MakeSource, chunks: Sequence[Chunk]) -> None:
    """Check that sizes and cursors that cannot be are refused."""
    last = chunks[-1].cursor
    bad: list[tuple[Any, Any, str]] = [(size, None, "batch_size") for size in (0, 2.5, "ten", True)]
    bad += [(_SIZE, cursor, "cursor") for cursor in ({}, {"page": 3}, {"row": -1}, {"row": "3"})]
    with make_source() as source:
        if source.n_rows is not None:
            bad.append((_SIZE, {**last, "row": last["row"] + 1}, "fewer rows"))
        for size, cursor, word in bad:
            with _refused(f"chunks(batch_size={size!r}, cursor={cursor})", word, ValueError):
                list(source.chunks(size, cursor))


def _check_identity(make_source: MakeSource) -> None:
    """Check that what the rows are is told in plain values, the same each time."""
    with make_source() as source, make_source() as again:
        identity = _plain(source.identity, "an identity")
        list(source.chunks(_SIZE))
        for other in (source.identity, again.identity):
            assert other == identity, f"Got the identity {other}, and {identity} before."
        again.close()  # and again, when the block is left


def _check_again(make_source: MakeSource) -> None:
    """Check that a reader can stop early and begin again, or is told that it cannot."""
    with make_source() as source:
        first = next(source.chunks(_SIZE))
        try:
            again = next(source.chunks(_SIZE))
        except SourceError:
            again = first  # a stream that can be read once
        _check_same([again], [first], "when reading begins again")
        source.close()


def _read(make_source: MakeSource, size: int, cursor: Cursor | None = None) -> list[Chunk]:
    with make_source() as source:
        return list(source.chunks(size, cursor))


def _check_same(
    got: Sequence[Chunk], expected: Sequence[Chunk], where: str, *, first: int = 0
) -> None:
    """Have the rows of some chunks be those of others, with numbers that fit."""
    starts = [*accumulate((len(chunk.views) for chunk in got), initial=first)][:-1]
    numbers = [chunk.start for chunk in got]
    assert numbers == starts, f"Got chunks that start at {numbers} {where}; expected {starts}."
    n_rows = [sum(len(chunk.views) for chunk in chunks) for chunks in (got, expected)]
    assert n_rows[0] == n_rows[1], f"Got {n_rows[0]} rows {where}; expected {n_rows[1]}."
    for view in got[0].views.names if got else ():
        a, b = (np.vstack([dense(c.views[view]) for c in chunks]) for chunks in (got, expected))
        same = np.array_equal(a, b, equal_nan=True)
        assert same, f"Got other rows of view {view!r} {where}: {a}; expected {b}."


def _plain(value: dict[str, Any], what: str) -> dict[str, Any]:
    """Return a value as JSON keeps it, which is as it was."""
    kept: dict[str, Any] = json.loads(json.dumps(value, default=repr))
    assert kept == value, f"Got {what} that JSON does not keep: {value}; it becomes {kept}."
    return kept
