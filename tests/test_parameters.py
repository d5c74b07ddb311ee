"""Checks of parameters."""

import numpy as np
import pytest

from omvfs.parameters import one_of


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
