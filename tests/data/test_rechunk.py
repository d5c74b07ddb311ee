"""Any delivery of the same rows becomes the same chunks."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batches import assert_same, deliveries, quick
from omvfs.data.read import rechunk
from omvfs.data.views import Views


@quick
@given(deliveries(), st.integers(1, 14))
def test_rechunk_ignores_delivery(delivery, batch_size):
    views, pieces = delivery
    whole = list(rechunk([views], batch_size))
    parts = list(rechunk([dict(piece.blocks) for piece in pieces], batch_size))
    assert [len(chunk) for chunk in whole[:-1]] == [batch_size] * (len(whole) - 1)
    assert 1 <= len(whole[-1]) <= batch_size
    assert_same(Views.concat(whole), views)
    for got, expected in zip(parts, whole, strict=True):
        assert_same(got, expected)


def test_rechunk_lets_the_source_reuse_its_buffer():
    def source() -> Iterator[np.ndarray]:
        buffer = np.empty((2, 1))
        for start in range(0, 6, 2):
            buffer[:, 0] = start, start + 1
            yield buffer

    got = [chunk["X"].ravel().tolist() for chunk in rechunk(source(), 3)]
    assert got == [[0, 1, 2], [3, 4, 5]]


def test_rechunk_holds_every_batch_to_the_first():
    with pytest.raises(ValueError, match="View 'view_1' has 4 features; the first chunk had 3"):
        list(rechunk([[np.eye(3), np.eye(3)], [np.ones((1, 3)), np.ones((1, 4))]], 2))


def test_rechunk_passes_on_its_options():
    chunks = list(rechunk([np.array([[-1.0, 2.0, 3.0]])] * 3, 2, views=[1, 2], negative="clip"))
    assert [chunk["view_0"].tolist() for chunk in chunks] == [[[0], [0]], [[0]]]


@pytest.mark.parametrize(("batch_size", "error"), [(0, ValueError), (1.5, TypeError)])
def test_rechunk_refuses_a_bad_batch_size_at_once(batch_size, error):
    with pytest.raises(error):
        rechunk([], batch_size)
