"""EUFS: its updates against the printed formulas, written out with every n × d array."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import laplacian
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from omvfs.datasets import make_planted
from omvfs.evaluation import clustering_accuracy
from omvfs.model.objective import orthogonality_gap
from omvfs.selector import rank
from paper import eufs
from paper.eufs import EUFS, Directions, orthonormal, shrink
from paper.graphs import neighbour_graph
from support import KINDS, clustered, counts, dense

seeds = st.integers(0, 2**32 - 1)

problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "shape": st.sampled_from([(9, 4), (6, 12), (12, 3), (20, 20)]),
        "n_clusters": st.integers(1, 3),
        "alpha": st.sampled_from([0.0, 0.03, 0.3]),
        "beta": st.sampled_from([0.0, 0.01, 0.3]),
        "mu": st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
        "kind": st.sampled_from(list(KINDS.values())),
    }
)


def draw(seed, shape, n_clusters, alpha, beta, mu, kind):
    rng = np.random.default_rng(seed)
    X = counts(rng, *shape)
    X[rng.integers(shape[0])] = 0
    X[:, rng.integers(shape[1])] = 0
    U = np.linalg.qr(rng.standard_normal((shape[0], n_clusters)))[0]
    L = laplacian(neighbour_graph(X, 3, "cosine", None))
    return X, Directions(kind(X), L, U, alpha, beta, mu)


def naive_shrink(M, t):
    out = np.zeros_like(M)
    for i, row in enumerate(M):
        length = np.sqrt(np.sum(row**2))
        if length > t:
            out[i] = (1 - t / length) * row
    return out


def all_of_e(admm):
    return (1 / admm.kept - 1)[:, np.newaxis] * admm.G


@given(problem=problems)
@settings(max_examples=60, deadline=None)
def test_every_update_is_the_printed_one(problem):
    X, admm = draw(**problem)
    alpha, beta, L = admm.alpha, admm.beta, dense(admm.L)
    Y1, Y2 = np.zeros_like(admm.U), np.zeros_like(X)
    for _ in range(25):
        mu, U, V = admm.mu, admm.U, admm.V
        same = {"rtol": 1e-6, "atol": 1e-6 * (1 + 1 / mu)}
        admm.update_e()
        E = naive_shrink(X - U @ V.T + Y2 / mu, 1 / mu)
        np.testing.assert_allclose(all_of_e(admm), E, **same)
        admm.update_v()
        V = naive_shrink((X - E + Y2 / mu).T @ U, alpha / mu)
        np.testing.assert_allclose(admm.V, V, **same)
        admm.update_z()
        Z = np.maximum(U - Y1 / mu - beta / mu * (L @ U), 0)
        np.testing.assert_allclose(admm.Z, Z, **same)
        admm.update_u()
        N = Y1 / mu + Z - beta / mu * (L @ Z) + (X - E + Y2 / mu) @ V
        # U is not unique if N lacks a direction; what it attains is.
        best = np.sum(np.linalg.svd(N, compute_uv=False))
        np.testing.assert_allclose(np.sum(N * admm.U), best, rtol=1e-6, atol=1e-6 * (1 + 1 / mu))
        assert orthogonality_gap(admm.U) < 1e-12
        gaps = (
            np.linalg.norm(Z - admm.U) / np.linalg.norm(admm.U),
            np.linalg.norm(X - admm.U @ V.T - E) / np.linalg.norm(X) if X.any() else 0,
        )
        np.testing.assert_allclose(admm.gap(), max(gaps), rtol=1e-5, atol=1e-5)
        admm.update_multipliers()
        Y1 += mu * (Z - admm.U)
        Y2 += mu * (X - admm.U @ admm.V.T - E)
        np.testing.assert_allclose(admm.Y1, Y1, rtol=1e-6, atol=1e-6)
        Y1 = admm.Y1.copy()
        assert admm.mu == pytest.approx(1.1 * mu)


def test_sparsity_empties_rows_of_v():
    X, _ = clustered(np.random.default_rng(0), 60, 20)
    kept = [
        np.count_nonzero(EUFS(3, sparsity=sparsity, random_state=0).fit(X).scores_)
        for sparsity in (0.0, 1.5, 100.0)
    ]
    assert kept[0] == 20
    assert kept[0] > kept[1] > 0 == kept[2]


def test_from_a_random_start_the_clusters_and_their_features_are_found(monkeypatch):
    seed = 0
    planted = make_planted(600, n_features=(200,), n_informative=(20,), random_state=seed)
    truth, X = planted.informative["view_0"], normalize(planted.views["view_0"])
    chance = np.eye(5)[np.random.default_rng(seed).integers(5, size=600)]
    monkeypatch.setattr(eufs, "indicator", lambda X, n_clusters, rng: chance)
    selector = EUFS(5, random_state=0).fit(X)
    (U,) = selector.embeddings_.values()
    assert clustering_accuracy(planted.labels, chance.argmax(axis=1)) < 0.3
    assert clustering_accuracy(planted.labels, U.argmax(axis=1)) > 0.9
    assert truth[selector.ranking_ <= truth.sum()].mean() >= 0.3
    assert truth[rank(np.linalg.norm(X.T @ chance, axis=1)) <= truth.sum()].mean() <= 0.1


def test_too_few_iterations_are_told():
    X, _ = clustered(np.random.default_rng(0), 60, 12)
    with pytest.warns(ConvergenceWarning, match="max_iter=3 iterations for view 'X'"):
        EUFS(5, max_iter=3, random_state=0).fit(X)


@given(problem=problems)
@settings(max_examples=15, deadline=None)
def test_u_is_orthonormal_at_the_end(problem):
    X, _ = draw(**problem)
    params = {"sparsity": problem["alpha"], "graph_weight": problem["beta"]}
    selector = EUFS(problem["n_clusters"], penalty=problem["mu"], random_state=0, **params)
    (U,) = selector.fit(problem["kind"](X)).embeddings_.values()
    assert orthogonality_gap(U) <= 1e-6


@given(problem=problems, n_before=st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_every_update_is_best_for_the_others_as_they_are(problem, n_before):
    X, admm = draw(**problem)
    rng = np.random.default_rng(problem["seed"])
    E, Y2 = np.zeros_like(X), np.zeros_like(X)
    admm.Z = np.maximum(admm.U, 0)  # the U drawn, unlike that of k-means, has negative entries
    L, K = dense(admm.L), admm.U.shape[1]

    def lagrangian(E, U, V, Z):
        of_z, of_x = Z - U, X - U @ V.T - E
        return (
            np.sum(np.linalg.norm(E, axis=1))
            + admm.alpha * np.sum(np.linalg.norm(V, axis=1))
            + admm.beta * np.trace(Z.T @ L @ U)
            + np.sum(admm.Y1 * of_z)
            + np.sum(Y2 * of_x)
            + admm.mu / 2 * (np.sum(of_z**2) + np.sum(of_x**2))
        )

    def others(now):
        for size in (1e-3, 0.1, 3.0):
            noise = {name: size * rng.standard_normal(M.shape) for name, M in now.items()}
            yield "E", now["E"] + noise["E"]
            yield "V", now["V"] + noise["V"]
            yield "Z", np.maximum(now["Z"] + noise["Z"], 0)
            yield "U", np.linalg.qr(now["U"] + noise["U"])[0]
            yield "U", now["U"] @ np.linalg.qr(rng.standard_normal((K, K)))[0]

    for _ in range(n_before):
        admm.update_e()
        E = all_of_e(admm)
        admm.update_v()
        admm.update_z()
        admm.update_u()
        Y2 = Y2 + admm.mu * (X - admm.U @ admm.V.T - E)
        admm.update_multipliers()
    for name in "EVZU":
        before = lagrangian(E, admm.U, admm.V, admm.Z)
        getattr(admm, f"update_{name.lower()}")()
        E = all_of_e(admm) if name == "E" else E
        now = {"E": E, "U": admm.U, "V": admm.V, "Z": admm.Z}
        value = lagrangian(**now)
        slack = 1e-7 * (1 + abs(value) + 1 / admm.mu)
        assert value <= before + slack
        for changed, M in others(now):
            if changed == name:
                assert value <= lagrangian(**{**now, changed: M}) + slack


@given(seed=seeds, t=st.sampled_from([0.0, 0.5, 2.0, 100.0]))
def test_no_other_rows_beat_shorter_ones(seed, t):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((6, 3))

    def value(Y):
        return np.sum((Y - M) ** 2) / 2 + t * np.linalg.norm(Y, axis=1).sum()

    found = shrink(M, t)
    for step in (1e-4, 0.1, 1.0):
        assert value(found) <= value(found + step * rng.standard_normal(M.shape)) + 1e-12


@given(seed=seeds, rank=st.integers(0, 3))
def test_no_other_orthonormal_columns_are_nearer(seed, rank):
    rng = np.random.default_rng(seed)
    N = rng.standard_normal((8, rank)) @ rng.standard_normal((rank, 3))
    found = orthonormal(N, np.eye(8)[:, :3])
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-9)
    for _ in range(20):
        other = np.linalg.qr(rng.standard_normal((8, 3)))[0]
        assert np.sum(found * N) >= np.sum(other * N) - 1e-6
