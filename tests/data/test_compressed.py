"""Three arrays are a sparse matrix only if they are one in every respect."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from aside import run_aside
from omvfs.data.blocks import check_compressed

# Pointers that pass scipy's own check of all contents, and what comes of all that read them.
EVADING = """
import numpy as np, scipy.sparse as sp
from omvfs.data.read import as_views
from omvfs.data.views import Views

for ends in ([0, 2**30, 2**30, 2**30, 0], [0, 2**31 - 1, -(2**31), -1, 4],
             [0, 2**63 - 1, -(2**63), -1, 4]):
    dtype = np.int32 if max(ends) < 2**31 else np.int64
    indptr, indices = np.array(ends, dtype), np.arange(4, dtype=dtype)
    tries = {}
    for kind in ("csr_array", "csr_matrix", "csc_array", "bsr_array"):
        X = getattr(sp, kind)(np.eye(4))
        X.indptr, X.indices = indptr, indices
        tries[kind], tries["view, " + kind] = lambda X=X: as_views(X), lambda X=X: Views({"t": X})
    for name, read in tries.items():
        print(ends, name, end=": ", flush=True)
        try:
            print("taken", read())
        except ValueError as error:
            print("refused")
"""


def test_what_evades_the_check_of_scipy_is_refused_before_it_crashes():
    printed = run_aside(EVADING).splitlines()
    assert len(printed) == 24
    assert [line for line in printed if not line.endswith("refused")] == []


def naive(data, indices, indptr, shape):
    """Tell the same of lists, number by number."""
    n, width = shape
    return (
        len(indptr) == n + 1
        and indptr[0] == 0
        and indptr[-1] == len(data) == len(indices)
        and all(a <= b for a, b in itertools.pairwise(indptr))
        and all(0 <= j < width for j in indices)
    )


extremes = st.sampled_from([-(2**31), -1, 0, 1, 2, 3, 4, 2**31 - 1])


@given(
    st.lists(extremes, min_size=1, max_size=6),
    st.lists(st.integers(-1, 3), max_size=4),
    st.integers(0, 4),
    st.tuples(st.integers(0, 5), st.integers(0, 4)),
)
@settings(max_examples=500, deadline=None)
def test_sound_is_what_is_sound_number_by_number(indptr, indices, n_values, shape):
    parts = np.ones(n_values), np.array(indices, np.int32), np.array(indptr, np.int32)
    if naive(parts[0].tolist(), indices, indptr, shape):
        check_compressed(*parts, shape)
        sp.csr_array(parts, shape=shape).toarray()
    else:
        with pytest.raises(ValueError, match=r"\w"):
            check_compressed(*parts, shape)


@pytest.mark.parametrize("part", [1, 2])
@pytest.mark.parametrize("change", [lambda a: a.astype(float), lambda a: a[:, np.newaxis]])
def test_places_are_lists_of_whole_numbers(part, change):
    parts = [np.ones(2), np.array([0, 1]), np.array([0, 1, 2])]
    check_compressed(*parts, (2, 2))
    parts[part] = change(parts[part])
    with pytest.raises(ValueError, match="whole numbers"):
        check_compressed(*parts, (2, 2))
