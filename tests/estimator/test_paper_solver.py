"""The printed method, step by step."""

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import OMVFSPaper
from oracle import NaivePaper
from streams import two_views
from support import counts


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("window", [1, 2, 3, None])
@pytest.mark.parametrize("gamma", [0.0, 1.0, 1e7])
def test_the_paper_solver_equals_the_printed_rules(kind, window, gamma):
    alpha, beta = {"text": 0.3, "image": 0.1}, {"text": 0.2, "image": 0.5}
    rng = np.random.default_rng(8)
    model = OMVFSPaper(
        3,
        graph_weight=alpha,
        sparsity=beta,
        orthogonality=gamma,
        window=window,
        max_iter=25,
        tol=0.0,
    )
    naive = NaivePaper(3, [0.3, 0.1], [0.2, 0.5], gamma, window=window, max_iter=25)
    V0 = {"text": rng.random((8, 3)), "image": rng.random((5, 3))}
    sizes = [6, 1, 5, 4, 6]
    for t, n in enumerate(sizes):
        blocks = {"text": counts(rng, n, 8), "image": counts(rng, n, 5)}
        blocks["image"][:, 3] = 0  # a feature that never occurs
        if t == 2:
            blocks["text"][1] = 0  # an empty row
        U0 = rng.random((n, 3))
        naive.partial_fit(list(blocks.values()), U0, list(V0.values()))
        model.partial_fit(
            {name: kind(X) for name, X in blocks.items()},
            start_U=U0,
            start_V=V0 if t == 0 else None,
        )
        state = model._known.state
        assert model.n_iter_ == 25
        held = sizes[: t + 1] if window is None else sizes[max(0, t + 1 - window) : t + 1]
        assert len(model.window_labels_) == sum(held)
        np.testing.assert_allclose(state.window.indicator(), naive.U_window, rtol=0, atol=1e-10)
        np.testing.assert_allclose(state.statistics.masses, naive.A, rtol=0, atol=1e-10)
        for v, name in enumerate(blocks):
            np.testing.assert_allclose(model.V_[name], naive.V[v], rtol=0, atol=1e-10)
            np.testing.assert_allclose(state.statistics.B[v], naive.B[v], rtol=0, atol=1e-10)


def test_orthogonality_is_reported_as_it_is():
    model = OMVFSPaper(3, random_state=0, orthogonality=1.0).fit(two_views(0, 30))
    U = model._known.state.window.indicator()
    gap = np.linalg.norm(U.T @ U - np.eye(3))
    assert gap > 0
    assert model.history_[-1].orthogonality_error == pytest.approx(gap)
