"""The grids of the methods."""

import pytest

from paper.methods import METHODS, grid, make


@pytest.mark.parametrize("method", METHODS)
def test_a_grid_has_settings_the_method_takes_and_not_its_default(method):
    default = make(method, 3, 0).get_params()
    for params in grid(method):
        assert make(method, 3, 0).set_params(**params).get_params() != default
