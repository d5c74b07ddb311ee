"""What a masked array hides is not used."""

import numpy as np
import pytest

from omvfs import OMVFS
from omvfs.data.read import as_views
from omvfs.data.views import Views

HIDDEN = np.ma.masked_array(np.ones((4, 3)), np.arange(12).reshape(4, 3) == 7)


FORMS = {
    "an array": (HIDDEN, "X"),
    "in a dict": ({"a": np.ones((4, 2)), "b": HIDDEN}, "b"),
    "in a list": ([np.ones((4, 2)), HIDDEN], "view_1"),
    "integers": (HIDDEN.astype(int), "X"),
    "a structure of subclasses": (HIDDEN.view(type("Own", (np.ma.MaskedArray,), {})), "X"),
}


@pytest.mark.parametrize(("X", "view"), FORMS.values(), ids=FORMS.keys())
def test_masked_values_are_refused_with_the_remedy(X, view):
    message = rf"View '{view}' has masked values, 1 of .*X\.filled\(0\)"
    for read in (as_views, OMVFS(2).fit, OMVFS(2).partial_fit):
        with pytest.raises(ValueError, match=message):
            read(X)
    if isinstance(X, dict):
        with pytest.raises(ValueError, match=message):
            Views(X)


def test_a_masked_array_that_hides_nothing_is_an_array():
    X = np.ma.masked_array(np.eye(3), False)
    for each in (X, {"a": X}):
        (block,) = as_views(each).blocks.values()
        assert type(block) is np.ndarray
        np.testing.assert_array_equal(block, np.eye(3))


def test_masked_starts_are_refused():
    model, X = OMVFS(3, random_state=0), np.ones((4, 3))
    for start in ({"start_U": HIDDEN}, {"start_V": {"X": HIDDEN[:3]}}):
        with pytest.raises(ValueError, match=r"masked.*filled"):
            model.partial_fit(X, **start)
    assert not hasattr(model, "schema_")
