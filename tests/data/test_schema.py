"""Later batches are held to the first; names may become more, and what was known stays."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from batches import assert_same, batches, quick
from omvfs.data.read import as_views
from omvfs.data.schema import Vocabulary, own_names
from omvfs.data.views import Views


@quick
@given(batches(), st.randoms())
def test_permuted_views_are_put_into_the_order_of_like(views, random):
    names = list(views.names)
    random.shuffle(names)
    permuted = as_views({name: views[name] for name in names})
    assert permuted.names == tuple(names)
    assert_same(as_views(permuted, like=views.schema), views)


FIRST = Views(
    {"text": np.ones((2, 3)), "image": np.ones((2, 2))}, feature_names={"text": ["a", "b", "c"]}
)


def like_first(text=None, **others):
    text = np.ones((1, 3)) if text is None else text
    return as_views({"text": text, "image": np.ones((1, 2)), **others}, like=FIRST.schema)


def test_a_missing_or_renamed_or_new_view_is_refused():
    with pytest.raises(ValueError, match=r"'text'; the first .* missing: 'image'; unknown: none"):
        as_views({"text": np.ones((1, 3))}, like=FIRST.schema)
    with pytest.raises(ValueError, match=r"missing: 'image'; unknown: 'img'.*same names"):
        as_views({"text": np.ones((1, 3)), "img": np.ones((1, 2))}, like=FIRST.schema)
    with pytest.raises(ValueError, match="missing: none; unknown: 'audio'"):
        like_first(audio=np.ones((1, 1)))


def test_changed_features_are_refused():
    first = as_views({"text": sp.csr_array((2, 21_531))})
    with pytest.raises(ValueError, match=r"'text' has 20,999 features; the first chunk had 21,531"):
        as_views({"text": sp.csr_array((2, 20_999))}, like=first.schema)
    for columns, said in [
        ("acb", "in another order than the first chunk: column 1 is 'c', expected 'b'"),
        ("abd", "has other features than the first chunk: column 2 is 'd', expected 'c'"),
    ]:
        with pytest.raises(ValueError, match=f"View 'text' .*{said}"):
            like_first(pd.DataFrame(np.ones((1, 3)), columns=list(columns)))


def test_names_a_batch_lacks_are_taken_from_the_first():
    assert like_first().schema == FIRST.schema
    with pytest.raises(ValueError, match="column 1 \\(feature 'b'\\)"):
        like_first(np.array([[0.0, -1.0, 0.0]]))


NAMES = st.lists(st.sampled_from("abcdefghijkl"), unique=True)


@given(st.lists(NAMES, max_size=6))
def test_names_are_appended_in_the_order_in_which_they_come(batches):
    words, expected = Vocabulary(), []
    for names in batches:
        places, new = words.places(names)
        assert new == [name for name in names if name not in expected]
        words, expected = words.grown(new), [*expected, *new]
        assert [words[j] for j in places.tolist()] == names
        assert words == tuple(expected)
        assert list(words) == expected
        assert words.array.tolist() == expected
        assert words.known_places([*expected, "?"]).tolist() == [*range(len(expected)), -1]
    assert hash(words) == hash(tuple(expected))


@given(NAMES, NAMES, NAMES)
def test_two_that_go_on_from_one_know_nothing_of_each_other(first, one, other):
    words = Vocabulary(first)
    a = words.grown(words.places(one)[1])
    b = words.grown(words.places(other)[1])
    assert list(words) == first
    assert list(a) == [*first, *(name for name in one if name not in first)]
    assert list(b) == [*first, *(name for name in other if name not in first)]
    for each in (words, a, b):
        assert copy.deepcopy(each) == each == pickle.loads(pickle.dumps(each))
        assert all((name in each) == (name in tuple(each)) for name in "abcdefghijkl")


def test_what_is_not_there_is_not_found():
    words = Vocabulary(["a", "b"])
    words.grown(["c"])
    assert "c" not in words
    with pytest.raises(IndexError):
        words[2]
    with pytest.raises(ValueError, match="twice"):
        Vocabulary(["a", "a"])


def test_a_view_is_no_part_of_the_names_of_its_features():
    names = np.array(["text__cat", "text__dog"], dtype=object)
    assert own_names("text", names).tolist() == ["cat", "dog"]
