"""Batches as hypothesis makes them, and what is told of them."""

import itertools

import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st

from omvfs.data.read import as_views
from omvfs.data.views import Views
from support import KINDS, counts

quick = settings(max_examples=50, deadline=None)


def bits(block):
    parts = (block.data, block.indices, block.indptr) if sp.issparse(block) else (block,)
    return type(block), block.shape, *((part.dtype, part.tobytes()) for part in parts)


def assert_same(got: Views, expected: Views) -> None:
    assert got.schema == expected.schema
    for name in expected.names:
        assert bits(got[name]) == bits(expected[name])


def assert_sound(views: Views) -> None:
    for block in views.blocks.values():
        assert block.dtype == views.dtype
        if sp.issparse(block):
            assert type(block) in (sp.csr_array, sp.csr_matrix)
            fresh = type(block)((block.data, block.indices, block.indptr), shape=block.shape)
            assert fresh.has_canonical_format
            assert fresh.data.all()
        else:
            assert block.flags.c_contiguous


@st.composite
def batches(draw) -> Views:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows = draw(st.integers(1, 12))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    blocks = {
        f"{kind}_{i}": KINDS[kind](counts(rng, n_rows, draw(st.integers(1, 5)), dtype))
        for i, kind in enumerate(kinds)
    }
    return as_views(blocks)


@st.composite
def deliveries(draw) -> tuple[Views, list[Views]]:
    """A batch, and the same rows in several pieces."""
    views = draw(batches())
    edges = sorted(draw(st.sets(st.integers(1, len(views)))) | {0, len(views)})
    return views, [views[start:stop] for start, stop in itertools.pairwise(edges)]
