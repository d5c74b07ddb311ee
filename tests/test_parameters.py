"""Checks of parameters."""

import numpy as np
import pytest

from omvfs.parameters import number, one_of


@pytest.mark.parametrize(
    ("value", "allowed"), [(np.int64(2), (1, 2)), (np.str_("heat"), ("heat",)), (True, (1, True))]
)
def test_a_value_may_be_of_any_kind_that_is_equal(value, allowed):
    found = one_of("style", value, allowed)
    assert found == value
    assert type(found) in (int, str, bool)


@pytest.mark.parametrize("value", [True, 3, "1", None, np.array([1, 2]), [1], np.nan])
def test_what_is_not_among_the_values_is_refused(value):
    with pytest.raises(ValueError, match="Got style="):
        one_of("style", value, (1, 2))


@pytest.mark.parametrize("value", [10**400, float("inf"), float("nan"), True, "1", None])
def test_no_finite_number_is_refused_with_what_was_got(value):
    with pytest.raises(ValueError, match=r"Got x=.*; expected a finite number of at least 0"):
        number("x", value, least=0.0)
