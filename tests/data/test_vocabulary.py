"""Names that become more: what was known stays, whoever goes on from it."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omvfs.data.schema import Vocabulary

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
    with pytest.raises(ValueError, match="'c' is no name"):
        words.index("c")
    with pytest.raises(IndexError):
        words[2]
    with pytest.raises(ValueError, match="twice"):
        Vocabulary(["a", "a"])
