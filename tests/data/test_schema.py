"""Later batches are held to the first."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from batches import assert_same, batches, quick
from omvfs.data.read import as_views
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


def test_a_changed_number_of_features_is_refused():
    first = as_views({"text": sp.csr_array((2, 21_531))})
    with pytest.raises(
        ValueError, match=r"View 'text' has 20,999 features; the first chunk had 21,531. Give"
    ):
        as_views({"text": sp.csr_array((2, 20_999))}, like=first.schema)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "c", "b"], "in another order than the first chunk: column 1 is 'c', expected 'b'"),
        (["a", "b", "d"], "has other features than the first chunk: column 2 is 'd', expected 'c'"),
    ],
)
def test_changed_feature_names_are_refused(columns, message):
    with pytest.raises(ValueError, match=f"View 'text' .*{message}"):
        like_first(pd.DataFrame(np.ones((1, 3)), columns=columns))


def test_names_a_batch_lacks_are_taken_from_the_first():
    assert like_first().schema == FIRST.schema
    with pytest.raises(ValueError, match="column 1 \\(feature 'b'\\)"):
        like_first(np.array([[0.0, -1.0, 0.0]]))
