"""What holds after every chunk."""

from dataclasses import astuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS
from streams import SOLVERS, every_solver, taken, two_views
from support import clustered, counts, nbytes

chunk_kinds = st.sampled_from(["rows", "rows", "rows", "few", "one", "zero", "gaps", "same"])


def chunk_of(kind, rng, width):
    n = {"few": 2, "one": 1}.get(kind, 12)
    X = counts(rng, n, width)
    if kind == "zero":
        X[:] = 0
    if kind == "gaps":
        X[::2] = 0
    if kind == "same":
        X[:] = X[0]
    return X


@every_solver
@given(
    kinds=st.lists(chunk_kinds, min_size=1, max_size=7),
    seed=st.integers(0, 1000),
    sparse=st.booleans(),
    n_clusters=st.integers(1, 5),
    window=st.sampled_from([1, 2, None]),
    sparsity=st.sampled_from([0.0, 0.1, 3.0, 1e4]),
    graph=st.sampled_from(["neighbors", "gaussian", "none"]),
    sample_size=st.sampled_from([1, 15, 2000]),
    half_life=st.sampled_from([None, 20]),
    scale_columns=st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_what_must_hold_after_every_chunk(make, kinds, seed, sparse, n_clusters, **params):
    rng = np.random.default_rng(seed)
    model = make(n_clusters, max_iter=20, random_state=0, **taken(make, **params))
    sizes = []
    for kind in kinds:
        blocks = [chunk_of(kind, rng, 6), chunk_of(kind, rng, 4)]
        if kind == "gaps":
            blocks[1] = blocks[1][::-1].copy()  # other empty rows in the other view
        sizes.append(len(blocks[0]))
        model.partial_fit([sp.csr_array(X) if sparse else X for X in blocks])
        state = model._known.state
        in_window = sizes if params["window"] is None else sizes[-params["window"] :]

        U = state.window.indicator()
        assert U.shape == (sum(in_window), n_clusters)
        assert model.window_labels_.shape == (sum(in_window),)
        assert model.n_samples_seen_ == sum(sizes)
        for array in (
            U,
            state.statistics.masses,
            *state.statistics.B,
            *model.V_.values(),
            model.scores_,
        ):
            assert np.isfinite(array).all()
            assert (array >= 0).all()
        assert state.statistics.masses.shape == (n_clusters,)
        assert (np.count_nonzero(U, axis=1) <= 1).all()
        assert model.history_[-1].orthogonality_error <= 1e-10
        assert len(state.reservoir) == min(params["sample_size"], sum(sizes))

        assert len(model.history_) == len(sizes)
        info = model.history_[-1]
        assert info.n_rows == sizes[-1]
        assert info.n_iter == model.n_iter_ >= 1
        numbers = [value for value in astuple(info) if value is not None]
        assert all(np.isfinite(value) and value >= -1e-9 for value in numbers)
        assert info.objective == pytest.approx(info.reconstruction + info.graph + info.sparsity)


def test_large_sparsity_gives_exact_zeros():
    X = clustered(np.random.default_rng(0), 90, 30)[0].astype(np.float32)
    X[:, 10] *= 0.01  # hardly there
    nonzero = []
    for sparsity in (0.0, 1.0, 1e6):
        V = OMVFS(3, batch_size=30, sparsity=sparsity, random_state=0).fit(X).V_["X"]
        nonzero.append(V.any(axis=1).sum())
    assert nonzero == [30, 29, 0]


@pytest.mark.parametrize("graph", ["neighbors", "gaussian", "none"])
def test_history_tells_the_objective_of_one_chunk(graph):
    blocks = two_views(0, 40)
    params = {"graph": graph, "sparsity": 0.3, "view_weight": None, "random_state": 0}
    model = OMVFS(3, sample_size=0, **params).partial_fit(blocks)
    state = model._known.state
    U = state.window.indicator() / np.sqrt(
        np.where(state.statistics.masses > 0, state.statistics.masses, 1)
    )
    info = model.history_[-1]
    fit = sum(np.sum((X - U @ model.V_[name].T) ** 2) for name, X in blocks.items())
    sizes = sum(0.3 * np.linalg.norm(V, axis=1).sum() for V in model.V_.values())
    assert info.sparsity == pytest.approx(sizes)
    assert info.reconstruction <= fit * (1 + 1e-12)  # of the best weights for this V
    assert info.reconstruction == pytest.approx(fit, rel=0.02)
    assert (info.graph > 0) == (graph != "none")
    # With a memory, on which the clusters are settled later, the fit is enough to begin with.
    assert OMVFS(3, graph=graph, random_state=0).partial_fit(blocks).history_[-1].graph == 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [sp.csr_array, np.asarray], ids=["sparse", "views of one array"])
def test_memory_does_not_grow_with_the_stream(solver, kind):
    rows, make, held = counts(np.random.default_rng(0), 3000, 8), SOLVERS[solver], []
    params = taken(make, sample_size=300, n_init=1, diversity=0.0)
    model = make(5, graph="none", max_iter=3, random_state=0, **params)
    for start in range(0, 3000, 100):
        model.partial_fit(kind(rows[start : start + 100]))
        held.append(nbytes(model._known.state))
    assert held[-1] == pytest.approx(held[9], rel=0.05)
    assert held[-1] < rows.nbytes / 2
