"""Rows of views go together by their labels where they have any, else by their place."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batches import quick
from omvfs import OMVFS, Views, as_views
from support import KINDS, counts, dense

LABELS = ["d", "b", "a", "c"]


def frame(labels=LABELS, width=2, seed=0):
    X = counts(np.random.default_rng(seed), len(labels), width)
    return pd.DataFrame(X, index=labels, columns=[f"f{j}" for j in range(width)])


@quick
@given(st.permutations(range(7)), st.permutations(range(7)), st.sampled_from(["row{}", 3.5, "day"]))
def test_frames_in_another_order_are_put_in_that_of_the_first(first, second, kind):
    days = pd.date_range("2020-01-01", periods=7)
    labels = {"row{}": [f"row{i}" for i in range(7)], 3.5: np.arange(7) + 3.5, "day": days}[kind]
    text, image = frame(labels, seed=1), frame(labels, 3, seed=2)
    views = as_views({"text": text.iloc[list(first)], "image": image.iloc[list(second)]})
    np.testing.assert_array_equal(views["text"], text.iloc[list(first)])
    np.testing.assert_array_equal(views["image"], image.iloc[list(first)])
    assert views.index.equals(text.index[list(first)])


def test_what_is_learned_does_not_hang_on_the_order_of_a_frame():
    rng = np.random.default_rng(0)
    labels = [f"row{i}" for i in range(60)]
    text = pd.DataFrame(counts(rng, 60, 9), index=labels)
    image = pd.DataFrame(counts(rng, 60, 6), index=labels)
    data = {"text": text, "image": image}
    expected = OMVFS(2, random_state=0).fit(data)
    shuffled = {"text": text, "image": image.sample(frac=1, random_state=1)}
    got = OMVFS(2, random_state=0).fit(shuffled)
    for view, scores in expected.view_scores_.items():
        np.testing.assert_array_equal(got.view_scores_[view], scores)
    np.testing.assert_array_equal(got.predict(shuffled), expected.predict(data))


def test_a_list_of_frames_is_put_in_order_too():
    views = Views([frame(), frame(LABELS[::-1], 3)])
    np.testing.assert_array_equal(views["view_1"], frame(LABELS[::-1], 3)[::-1])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (["d", "b", "a", "x"], "1 of 'text' are not in 'image', such as 'c'"),
        (["d", "b", "a"], "1 of 'text' are not in 'image', such as 'c'"),
        ([*LABELS, "x", "y"], "2 of 'image' are not in 'text', such as 'x'"),
    ],
)
def test_frames_of_other_rows_are_refused(other, message):
    with pytest.raises(
        ValueError, match=f"different rows by their labels: {message}.*Keep the rows"
    ):
        as_views({"text": frame(), "image": frame(other)})


def test_labels_of_another_type_are_other_labels():
    with pytest.raises(ValueError, match="1 of 'a' are not in 'b', such as 7"):
        as_views({"a": frame([7]), "b": frame(["7"])})


def test_labels_that_come_twice_cannot_be_put_in_order():
    twice = ["d", "b", "b", "c"]
    np.testing.assert_array_equal(
        as_views([frame(twice), frame(twice, 3)])["view_1"], frame(twice, 3)
    )
    for data in ([frame(twice), frame(twice[::-1])], [frame(), frame(twice)]):
        with pytest.raises(ValueError, match=r"has the label 'b' more than once.*reset_index"):
            as_views(data)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_has_no_labels_goes_by_its_place(kind):
    X = counts(np.random.default_rng(3), 4, 3)
    for other in (KINDS[kind](X), pd.DataFrame(X), pl.DataFrame(X, orient="row")):
        for data in ({"a": frame(), "b": other}, {"b": other, "a": frame()}):
            views = as_views(data)
            np.testing.assert_array_equal(dense(views["b"]), X)
            np.testing.assert_array_equal(views["a"], frame())
            assert list(views.index) == LABELS


def test_where_a_place_could_be_that_in_either_frame_it_is_asked():
    data = {"a": frame(), "b": np.ones((4, 1)), "c": frame(LABELS[::-1])}
    with pytest.raises(
        ValueError, match=r"'c' has the rows of view 'a' in another order.*'b' has no"
    ):
        as_views(data)


@pytest.mark.parametrize("order", [slice(None, None, -1), [1, 0, 3, 2]])
def test_counted_rows_beside_the_same_numbers_in_another_order_are_refused(order):
    counted = frame(range(4))
    moved = counted.iloc[order]
    for data in ({"a": counted, "b": moved}, {"b": moved, "a": counted}):
        with pytest.raises(
            ValueError, match=r"View 'a' numbers its rows.*reset_index\(drop=True\)"
        ):
            as_views(data)
    # A part of a larger frame, as a split leaves it, beside what was made of it.
    as_views({"a": counted, "b": frame([7, 0, 3, 2])})
    as_views({"a": counted, "b": moved.sort_index()})


def test_labels_of_rows_are_those_of_the_rows_taken():
    views = as_views({"a": frame(), "b": np.ones((4, 1))})
    assert list(views[1:3].index) == ["b", "a"]
    assert list(views[[3, 0]].index) == ["c", "d"]
    assert list(views[np.array([True, False, False, True])].index) == ["d", "c"]
    assert list(views.only(["b"]).index) == LABELS
    assert list(Views.concat([views[:1], views[1:]]).index) == LABELS
    assert Views.concat([views, Views({"a": np.ones((1, 2)), "b": [[1.0]]})]).index is None
    assert as_views({"b": np.ones((4, 1))}).index is None
    assert as_views({"b": frame(range(4))}).index is None


def test_views_beside_each_other_are_put_in_order():
    both = Views.beside([Views({"a": frame()}), Views({"b": frame(LABELS[::-1], 3)})])
    np.testing.assert_array_equal(both["b"], frame(LABELS[::-1], 3)[::-1])
    assert list(both.index) == LABELS


def test_an_index_that_is_given_is_that_of_the_rows_as_they_stand():
    views = Views({"a": frame(), "b": frame(LABELS[::-1])}, index=pd.Index([1, 2, 3, 4]))
    np.testing.assert_array_equal(views["b"], frame(LABELS[::-1]))
    assert list(views[1:].index) == [2, 3, 4]
    with pytest.raises(ValueError, match="an index of 2 labels for 4 rows"):
        Views({"a": frame()}, index=pd.Index([1, 2]))
