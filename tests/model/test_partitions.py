"""Comparing two ways to divide the same rows."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from omvfs.model.partitions import shared_information

pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


@given(pairs)
@example([(1, 0), (1, 0), (1, 0), (1, 0), (1, 1), (1, 2)])  # 4/6 + 1/6 + 1/6 is not 1 in floats
def test_it_is_the_normalised_mutual_information(rows):
    a, b = np.array(rows).T
    expected = normalized_mutual_info_score(a, b, average_method="geometric")
    if min(len(set(a)), len(set(b))) < 2:
        expected = 0.0
    assert shared_information(a, b) == pytest.approx(expected, abs=1e-12)


@given(pairs, st.permutations(range(5)))
def test_it_does_not_ask_what_parts_are_called_or_which_comes_first(rows, names):
    a, b = np.array(rows).T
    renamed = np.array(names)[b]
    assert shared_information(a, renamed) == pytest.approx(shared_information(b, a), abs=1e-12)


def test_no_rows_share_nothing():
    nothing = np.zeros(0, int)
    assert shared_information(nothing, nothing) == 0
