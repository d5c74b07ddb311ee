"""Columns that are hardly features are found, and others are not."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import Views
from omvfs.data.read import find_suspects
from support import counts

KINDS = {"dense": np.asarray, "sparse": sp.csr_array}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def row_numbers(views):
    return find_suspects(views, ["row number"])


def dominant(views):
    return find_suspects(views, ["dominant"])


def labels(views):
    return find_suspects(views, ["label"])


def rows(n=60, width=12, seed=0):
    return counts(np.random.default_rng(seed), n, width)


def with_column(column, j=3, kind=np.asarray, **named):
    X = rows(len(column))
    X[:, j] = column
    return Views({"rows": kind(X)}, **named)


def columns(found):
    return [each.column for each in found]


@every_kind
@given(
    start=st.integers(-5, 5),
    steps=st.lists(st.integers(1, 9), min_size=30, max_size=40),
    falls=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_whole_numbers_that_only_rise_or_only_fall_count_the_rows(kind, start, steps, falls):
    column = start + np.cumsum(steps)
    views = with_column(column[::-1] if falls else column, kind=kind)
    assert columns(row_numbers(views)) == [3]


@every_kind
@pytest.mark.parametrize(
    "column",
    [
        np.arange(60) + 0.5,
        np.r_[np.arange(59), 58],
        np.r_[np.arange(59), 3],
        np.zeros(60),
        np.random.default_rng(0).permutation(60),
        np.sort(np.random.default_rng(0).random(60)),
    ],
    ids=["halves", "twice the last", "one falls", "zeros", "shuffled", "sorted"],
)
def test_other_numbers_do_not(kind, column):
    assert row_numbers(with_column(column, kind=kind)) == []


def test_few_rows_tell_nothing():
    few = with_column(1000.0 * np.arange(19))
    assert row_numbers(few) == dominant(few) == []


def of_share(X, share, j=3):
    """Return rows of which a column has a share of the variance."""
    X = X.copy()
    rest = np.sum((X - X.mean(axis=0)) ** 2) - np.sum((X[:, j] - X[:, j].mean()) ** 2)
    X[:, j] = np.arange(len(X)) % 2 * 2 * np.sqrt(share / (1 - share) * rest / len(X))
    return X


@every_kind
def test_a_column_that_holds_most_of_the_variance_is_dominant(kind):
    for share in (0.2, 0.45, 0.55, 0.99):
        found = dominant(Views({"rows": kind(of_share(rows(), share))}))
        assert columns(found) == ([3] if share > 0.5 else [])
        if found:
            assert found[0].share == pytest.approx(share)


@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_column_that_is_large_in_all_rows_alike_is_not(kind, dtype):
    assert dominant(with_column(np.full(60, 1000.0, dtype), kind=kind)) == []


@pytest.mark.parametrize(("width", "share", "told"), [(2, 0.85, 0), (2, 0.95, 1), (8, 0.6, 0)])
def test_of_few_columns_one_may_hold_much(width, share, told):
    X = of_share(rows(width=width), share, j=0)
    assert len(dominant(Views({"rows": X}))) == told
    assert dominant(Views({"rows": X[:, :1]})) == []
    # Columns that are empty do not count.
    padded = np.hstack([X[:, :1], np.zeros((60, 9))])
    assert dominant(Views({"rows": padded})) == []


@every_kind
def test_labels_are_called_so_and_are_few(kind):
    named = {"feature_names": {"rows": [*"abc", "Class", *"defghijk"]}}
    few = np.arange(60) % 3
    assert columns(labels(with_column(few, kind=kind, **named))) == ["Class"]
    for other in (few + 0.5, np.random.default_rng(0).permutation(60)):
        assert labels(with_column(other, kind=kind, **named)) == []
    assert labels(with_column(few, kind=kind)) == []


def test_what_is_missing_or_too_large_is_no_trouble():
    X = rows()
    X[3, 3], X[4, 4], X[5, 5] = np.nan, np.inf, 1e300
    views = Views({"rows": X}, feature_names={"rows": [*"abcyefghijkl"]})
    assert row_numbers(views) == dominant(views) == labels(views) == []
    assert dominant(Views({"rows": np.zeros((60, 12))})) == []
