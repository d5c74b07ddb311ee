"""Rows that are unusual, and welcome."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from faults import every_solver, everything, good
from omvfs import OMVFS, OMVFSPaper, Views
from streams import every_dtype, two_views
from support import counts, fingerprint


def result(model):
    """Return every bit of what was learned, whatever the type of the indices."""
    state = model._fitted.state
    return fingerprint(
        [state.statistics.masses, state.statistics.B, state.V, model.scores_, model.window_labels_]
    )


def permuted_indices(X):
    """The same matrix with the entries of every row in reverse, and one of them in two parts."""
    data, indices, indptr = [], [], [0]
    for i in range(X.shape[0]):
        row = X[[i]]
        data += [*row.data[::-1]]
        indices += [*row.indices[::-1]]
        if row.nnz:
            data[-1] /= 2
            data.append(data[-1])
            indices.append(indices[-1])
        indptr.append(len(data))
    return sp.csr_array((np.array(data), np.array(indices), np.array(indptr)), shape=X.shape)


def read_only(X):
    X = X.copy()
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        array.flags.writeable = False
    return X


UNUSUAL = {
    "unsorted and duplicate indices": {"text": permuted_indices},
    "read-only": {"text": read_only, "image": read_only},
    "Fortran order": {"image": np.asfortranarray},
    "every other row of a larger array": {"image": lambda X: np.repeat(X, 2, axis=0)[::2]},
    "CSC": {"text": sp.csc_array},
    "COO": {"text": sp.coo_array},
    "big-endian": {"image": lambda X: X.astype(">f8")},
    "objects that are numbers": {"image": lambda X: X.astype(object)},
    "a frame": {"image": pd.DataFrame},
}


@pytest.mark.parametrize("form", UNUSUAL)
@every_solver
def test_unusual_forms_of_the_same_numbers_give_the_same_bits(make, form):
    changes = UNUSUAL[form]
    plain, unusual = (make(3, random_state=0) for _ in range(2))
    for seed in range(3):
        chunk = good(seed)
        plain.partial_fit(chunk)
        unusual.partial_fit({v: changes.get(v, lambda X: X)(X) for v, X in chunk.items()})
        assert result(unusual) == result(plain)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool])
@every_solver
def test_whole_numbers_are_read_as_doubles(make, dtype):
    X = np.random.default_rng(0).integers(0, 2, (20, 6)).astype(dtype)
    model = make(2, random_state=0).fit(X)
    assert everything(model) == everything(make(2, random_state=0).fit(X.astype(float)))
    assert model.V_["X"].dtype == np.float64


@every_solver
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_rows", [1, 2, 15])
@pytest.mark.parametrize("when", ["first", "later"])
def test_empty_short_and_single_row_chunks_are_allowed(make, sparse, n_rows, when):
    for value in (0.0, 1.0):
        odd = np.full((n_rows, 6), value)
        rows = counts(np.random.default_rng(0), 20, 6)
        chunks = [odd, rows] if when == "first" else [rows, odd]
        model = make(5, random_state=0)
        for chunk in chunks:
            model.partial_fit(sp.csr_array(chunk) if sparse else chunk)
        assert model.n_samples_seen_ == n_rows + 20
        assert np.isfinite(model.scores_).all()
        # As printed, V once zero is zero for ever.
        assert model.scores_.any() or (type(model), when, value) == (OMVFSPaper, "first", 0)


@every_solver
def test_a_stream_of_nothing_but_zeros_ranks_by_place(make):
    model = make(3, batch_size=5, random_state=0).fit(Views([np.zeros((20, 4)), np.zeros((20, 2))]))
    assert not model.scores_.any()
    np.testing.assert_array_equal(model.ranking_, [1, 2, 3, 4, 1, 2])
    zeros = [np.zeros((3, 4)), np.zeros((3, 2))]
    assert model.explained_share(zeros) == model.score(zeros) == 0


@every_dtype
@pytest.mark.parametrize("sample_size", [0, 50, 2000])
@pytest.mark.parametrize("half_life", [1e-300, 0.02, 0.3])
def test_what_is_forgotten_altogether_leaves_finite_answers(half_life, sample_size, dtype):
    model = OMVFS(3, half_life=half_life, sample_size=sample_size, random_state=0)
    for seed in range(4):
        model.partial_fit(two_views(seed, 20, dtype))
    assert all(np.isfinite(V).all() for V in model.V_.values())
    assert np.isfinite(model.scores_).all()
