"""The terms of the objective are what they are called."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs.model import objective
from support import KINDS

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


@pytest.fixture
def factors():
    rng = np.random.default_rng(0)
    X = rng.random((7, 11)) * (rng.random((7, 11)) < 0.4)
    return X, rng.random((7, 3)), rng.random((11, 3))


@every_kind
@given(seed=st.integers(0, 2**32), n=st.integers(1, 8), d=st.integers(1, 8), k=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_reconstruction_is_the_squared_distance(kind, seed, n, d, k):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.5)
    U, V = rng.random((n, k)), rng.random((d, k))
    expected = np.linalg.norm(X - U @ V.T) ** 2
    assert objective.reconstruction(kind(X), U, V) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    # Of a perfect one, rounding leaves nothing below 0.
    assert 0 <= objective.reconstruction(kind(U @ V.T), U, V) < 1e-10


@every_kind
def test_smoothness_is_the_weighted_sum_of_squared_differences(factors, kind):
    _, U, _ = factors
    W = np.random.default_rng(1).random((7, 7))
    W = W + W.T
    expected = sum(
        W[i, j] / 2 * np.sum((U[i] - U[j]) ** 2) for i in range(len(U)) for j in range(len(U))
    )
    assert objective.smoothness(U, kind(np.diag(W.sum(axis=1)) - W)) == pytest.approx(expected)


def test_norms_are_those_of_numpy(factors):
    V = factors[2]
    np.testing.assert_allclose(objective.row_norms(V), np.linalg.norm(V, axis=1))
    assert objective.l21(V) == pytest.approx(sum(np.linalg.norm(row) for row in V))
    assert objective.row_norms(V.astype(np.float32)).dtype == np.float32
    # 1 + 1e-8 ten thousand times over is lost in single precision.
    X = np.full((100, 100), 1.0, dtype=np.float32)
    X[0, 0] = 4096.0
    assert objective.squared_norm(X) == 4096.0**2 + 9999
    # A partition, normalised, is orthogonal.
    U = np.eye(3)[[0, 1, 1, 2, 2, 2]] / np.sqrt([1, 2, 3])
    assert objective.orthogonality_gap(U) < 1e-15
    assert objective.orthogonality_gap(2 * U) == pytest.approx(np.linalg.norm(3 * np.eye(3)))
