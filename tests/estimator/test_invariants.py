"""What holds after every chunk."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from omvfs import OMVFS
from support import counts, nbytes

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


@given(
    kinds=st.lists(chunk_kinds, min_size=1, max_size=5),
    seed=st.integers(0, 1000),
    sparse=st.booleans(),
    n_clusters=st.integers(1, 5),
    sample_size=st.sampled_from([1, 15, 2000]),
    half_life=st.sampled_from([None, 20]),
)
@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_what_must_hold_after_every_chunk(kinds, seed, sparse, n_clusters, **params):
    rng = np.random.default_rng(seed)
    model, chunks = OMVFS(n_clusters, prepare=None, random_state=0, **params), []
    for kind in kinds:
        blocks = [chunk_of(kind, rng, 6), chunk_of(kind, rng, 4)]
        if kind == "gaps":
            blocks[1] = blocks[1][::-1].copy()  # other empty rows in the other view
        chunks.append(blocks)
        model.partial_fit([sp.csr_array(X) if sparse else X for X in blocks])
        state, sizes = model._known.state, [len(X) for X, _ in chunks]
        assert len(model.history_) == len(sizes)
        info = model.history_[-1]
        assert info.n_rows == sizes[-1]
        assert -1e-9 <= info.fit <= 2 + 1e-9
        assert model.n_samples_seen_ == state.n_rows == sum(sizes)
        # No more rows than count.
        most = (
            params["sample_size"] if params["half_life"] is None else min(params["sample_size"], 29)
        )
        assert len(state.sample) == min(most, sum(sizes))
        # What a row counts once those after it have come, however they were cut into chunks.
        half_life = params["half_life"] or np.inf
        weights = 0.5 ** (np.arange(sum(sizes))[::-1] / half_life)
        for v, view in enumerate(state.views):
            X = np.vstack([each[v] for each in chunks])
            # Whatever was clustered anew, sums over the clusters are those of all rows.
            assert view.n.sum() == pytest.approx(weights.sum())
            np.testing.assert_allclose(view.S.sum(axis=1), weights @ X, atol=1e-9)
            np.testing.assert_allclose(view.Q, weights @ X**2, atol=1e-9)
            np.testing.assert_allclose(view.norms, (view.S**2).sum(axis=0), atol=1e-6)
    assert np.isfinite(model.scores_).all()
    assert (model.scores_ >= 0).all()
    assert model.cluster_shares_.sum() == pytest.approx(1)
    assert set(model.predict(chunks[-1])) <= set(range(model.n_clusters_))


def test_rows_fade_alike_however_they_are_cut_into_chunks():
    rows = counts(np.random.default_rng(0), 80, 6)
    found = []
    for size in (80, 20, 7):
        # The sample is clustered on the way.
        model = OMVFS(3, half_life=20, sample_size=25, random_state=0)
        for start in range(0, 80, size):
            model.partial_fit(rows[start : start + size])
        assert any(info.reclustered for info in model.history_)
        found.append(model._known.state.views[0])
    for view in found:
        assert view.n.sum() == pytest.approx((0.5 ** (np.arange(80) / 20)).sum())
        np.testing.assert_allclose(view.S.sum(axis=1), found[0].S.sum(axis=1))
        np.testing.assert_allclose(view.Q, found[0].Q)


@pytest.mark.parametrize("kind", [sp.csr_array, np.asarray], ids=["sparse", "views of one array"])
def test_memory_does_not_grow_with_the_stream(kind):
    rows, held = counts(np.random.default_rng(0), 6000, 8), []
    model = OMVFS(5, sample_size=300, random_state=0)
    for start in range(0, 6000, 100):
        model.partial_fit(kind(rows[start : start + 100]))
        held.append(nbytes(model._known.state))
    # The sample has room for half as many rows again.
    assert max(held[30:]) <= 1.05 * max(held[:30])
    assert max(held) < rows.nbytes / 2
