"""FSDS: the sketch keeps its promise, and the weights are those of the paper."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from omvfs.baselines.fsds import FSDS
from omvfs.datasets import make_planted
from omvfs.selector import rank
from support import KINDS, ODD, clustered, counts

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def plain_fsds(X, n_clusters, size, exponent=3):
    """Return sketch and weights after one chunk, as the paper writes them."""
    U, s, _ = np.linalg.svd(X.T, full_matrices=False)
    s = np.sqrt(np.maximum(s[:size] ** 2 - (s[size - 1] ** 2 if size <= len(s) else 0), 0))
    U = U[:, : len(s)]
    ridge = 2**exponent * s[n_clusters - 1]
    x = U[:, :n_clusters] * s[:n_clusters] / (s[:n_clusters] ** 2 + ridge)
    return U * s, np.abs(x).max(axis=1)


def streamed(X, sizes, **params):
    selector = FSDS(**params)
    stops = np.cumsum(sizes)
    for start, stop in zip(stops - sizes, stops, strict=True):
        selector.partial_fit(X[start:stop])
    return selector


@every_kind
@pytest.mark.parametrize(
    ("n", "d", "size"),
    [
        (30, 20, 8),  # more rows than features
        (20, 60, 8),  # fewer
        (60, 90, 8),  # so many that not all eigenvectors are found
        (90, 60, 8),
        (6, 40, 8),  # fewer rows than directions: nothing is taken off
    ],
)
def test_one_chunk_has_the_closed_form(kind, n, d, size):
    X = counts(np.random.default_rng(n), n, d)
    B, weights = plain_fsds(X, 4, size)
    selector = FSDS(4, sketch_size=size).partial_fit(kind(X))
    (sketch,) = selector.sketches_.values()
    np.testing.assert_allclose(sketch @ sketch.T, B @ B.T, atol=1e-10)
    np.testing.assert_allclose(selector.scores_, weights, rtol=1e-8, atol=1e-15)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(list(KINDS.values())),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 40),
    size=st.integers(2, 9),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    rank=st.integers(0, 5),
)
def test_a_sketch_is_within_its_bound_of_all_rows(kind, dtype, seed, d, size, sizes, rank):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = counts(rng, n, d, dtype)
    if rank:  # few directions, and rows and features that are zero
        X = (X[:, :rank] @ counts(rng, min(rank, d), d, dtype)).astype(dtype)
    (B,) = streamed(kind(X), sizes, sketch_size=size).sketches_.values()
    X = X.astype(np.float64)
    lost = np.linalg.eigvalsh(X.T @ X - B @ B.T)
    energy = np.sum(X**2)
    assert B.shape[1] < size
    assert -1e-10 * energy <= lost[0]
    assert lost[-1] <= energy / size * (1 + 1e-10)
    # Its columns are the directions of the paper: orthogonal, the longest first.
    inner = B.T @ B
    lengths = np.sqrt(np.diag(inner))
    np.testing.assert_allclose(inner, np.diag(lengths**2), atol=1e-10 * energy)
    assert (np.diff(lengths) <= 1e-6 * np.sqrt(energy)).all()


def test_a_planted_subspace_is_found():
    rng = np.random.default_rng(0)
    truth = rng.permutation(400) < 40
    X = rng.standard_normal((2000, 400))
    # The same variance for all features: a column by itself says nothing.
    X[:, truth] = rng.standard_normal((2000, 4)) @ normalize(rng.standard_normal((4, 40)), axis=0)
    scores = FSDS(4).fit(X).scores_
    assert truth[rank(scores) <= 40].mean() > 0.9  # chance: 0.1
    assert truth[rank(X.var(axis=0)) <= 40].mean() < 0.5


def test_planted_features_are_found_far_above_chance():
    data = make_planted(400, n_features=(150, 100), n_informative=(15, 10), random_state=0)
    model = FSDS(5).fit({name: normalize(X.astype(float)) for name, X in data.views.items()})
    for view, truth in data.informative.items():
        assert truth[model.view_ranking_[view] <= truth.sum()].mean() >= 0.7  # chance: 0.1


def test_kind_and_precision_change_no_more_than_rounding():
    rng = np.random.default_rng(0)
    views = {"a": clustered(rng, 40, 12)[0], "b": counts(rng, 40, 60)}
    views = {name: X.astype(np.float32).astype(np.float64) for name, X in views.items()}
    expected = FSDS(3).fit(views).scores_
    atol = 1e-5 * np.abs(expected).max()
    for kind in KINDS.values():
        scores = FSDS(3).fit({v: kind(X.astype(np.float32)) for v, X in views.items()}).scores_
        assert scores.dtype == np.float64
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_several_chunks_are_the_recursion_as_printed(kind):
    X = counts(np.random.default_rng(4), 60, 25)
    B = np.zeros((25, 0))
    for start in range(0, 60, 20):
        U, s, _ = np.linalg.svd(np.hstack([B, X[start : start + 20].T]), full_matrices=False)
        B = U[:, :6] * np.sqrt(np.maximum(s[:6] ** 2 - s[5] ** 2, 0))
    (sketch,) = streamed(kind(X), [20, 20, 20], sketch_size=6).sketches_.values()
    np.testing.assert_allclose(sketch @ sketch.T, B @ B.T, atol=1e-10)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    d=st.integers(1, 12),
    n_clusters=st.integers(1, 12),
    size=st.none() | st.integers(2, 12),
    kind=st.sampled_from(["zero", "identity", "ones", "one column", "one row", "duplicates"]),
)
def test_degenerate_rows_give_finite_weights(seed, n, d, n_clusters, size, kind):
    rng = np.random.default_rng(seed)
    X = {
        "zero": np.zeros((n, d)),
        "identity": np.eye(n, d),  # all singular values equal
        "ones": np.ones((n, d)),
        "one column": np.outer(rng.random(n), np.eye(d)[d // 2]),
        "one row": np.outer(np.eye(n)[n // 2], rng.random(d)),
        "duplicates": np.tile(rng.random(d), (n, 1)),
    }[kind]
    selector = FSDS(n_clusters, sketch_size=size)
    for chunk in (X, np.zeros((2, d)), X):
        scores = selector.partial_fit(chunk).scores_
        assert np.isfinite(scores).all()
        assert (scores >= 0).all()
        assert (scores[~X.any(axis=0)] == 0).all()
    if kind == "identity" and size is not None and size <= min(n, d):
        assert not scores.any()  # all directions are alike: no more than rounding tells them apart


@pytest.mark.parametrize("X", ODD.values(), ids=ODD.keys())
def test_odd_views_give_finite_scores(X):
    for kind in (np.asarray, sp.csr_array):
        assert np.isfinite(FSDS(8).fit({"a": kind(X), "b": kind(X)}).scores_).all()


@pytest.mark.parametrize(
    ("name", "values"),
    [("n_clusters", (0, 2.0)), ("sketch_size", (1, 1.5)), ("ridge_exponent", (-1, np.nan))],
)
def test_a_bad_parameter_is_refused_before_anything_is_learned(name, values):
    for value in values:
        model = FSDS(**{name: value})
        with pytest.raises(ValueError, match=name):
            model.fit({"a": np.eye(4), "b": np.eye(4)})
        assert not [each for each in vars(model) if each.endswith("_")]
