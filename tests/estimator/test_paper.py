"""OMVFSPaper, the printed method: against its oracle, along a stream, and when calls fail."""

import copy
import pickle
import re
import warnings
from dataclasses import astuple

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from faults import everything, good, with_value
from omvfs import OMVFSPaper, rechunk
from oracle import NaivePaper
from streams import cut, few, lacking, learned, presence, two_views
from support import KINDS, clustered, counts, dense, fingerprint, nbytes


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
        np.testing.assert_allclose(state.indicator(), naive.U_window, rtol=0, atol=1e-10)
        np.testing.assert_allclose(state.history[0].A, naive.A, rtol=0, atol=1e-10)
        for v, name in enumerate(blocks):
            np.testing.assert_allclose(model.V_[name], naive.V[v], rtol=0, atol=1e-10)
            np.testing.assert_allclose(state.history[v].B, naive.B[v], rtol=0, atol=1e-10)


def test_orthogonality_is_reported_as_it_is():
    model = OMVFSPaper(3, random_state=0, orthogonality=1.0).fit(two_views(0, 30))
    U = model._known.state.indicator()
    gap = np.linalg.norm(U.T @ U - np.eye(3))
    assert gap > 0
    assert model.history_[-1].orthogonality_error == pytest.approx(gap)


@given(seed=st.integers(0, 1000), random=st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_permuting_views_columns_and_starts_permutes_the_result(seed, random):
    blocks = two_views(seed, 25)
    rng = np.random.default_rng(seed)
    V = {name: rng.random((X.shape[1], 3)) for name, X in blocks.items()}
    U = rng.random((25, 3))
    orders = {name: random.sample(range(X.shape[1]), X.shape[1]) for name, X in blocks.items()}
    names = random.sample(list(blocks), 2)
    model, permuted = (OMVFSPaper(3, tol=0.0, max_iter=50) for _ in range(2))
    model.partial_fit(blocks, start_U=U, start_V=V)
    permuted.partial_fit(
        {name: blocks[name][:, orders[name]] for name in names},
        start_U=U,
        start_V={name: V[name][orders[name]] for name in names},
    )
    for name, order in orders.items():
        expected = model.view_scores_[name][order]
        np.testing.assert_allclose(permuted.view_scores_[name], expected, rtol=1e-8, atol=1e-8)
        gaps = np.abs(np.subtract.outer(expected, expected))
        np.fill_diagonal(gaps, np.inf)
        distinct = gaps.min(axis=1) > 1e-7
        np.testing.assert_array_equal(
            permuted.view_ranking_[name][distinct], model.view_ranking_[name][order][distinct]
        )


@given(
    kinds=st.lists(st.sampled_from(["rows", "one", "zero", "gaps"]), min_size=1, max_size=6),
    seed=st.integers(0, 1000),
    sparse=st.booleans(),
    n_clusters=st.integers(1, 5),
    window=st.sampled_from([1, 2, None]),
    sparsity=st.sampled_from([0.0, 0.1, 1e4]),
    graph=st.sampled_from(["gaussian", "none"]),
    half_life=st.sampled_from([None, 20]),
)
@few
def test_what_must_hold_after_every_chunk(kinds, seed, sparse, n_clusters, **params):
    rng, sizes = np.random.default_rng(seed), []
    model = OMVFSPaper(n_clusters, max_iter=20, random_state=0, **params)
    for kind in kinds:
        blocks = [counts(rng, 1 if kind == "one" else 12, width) for width in (6, 4)]
        if kind in ("zero", "gaps"):
            blocks[0][:: 1 if kind == "zero" else 2] = 0
            blocks[1][1 if kind == "gaps" else 0 :: 2] = 0
        sizes.append(len(blocks[0]))
        model.partial_fit([sp.csr_array(X) if sparse else X for X in blocks])
        state = model._known.state
        in_window = sizes if params["window"] is None else sizes[-params["window"] :]
        U = state.indicator()
        assert U.shape == (sum(in_window), n_clusters)
        assert model.window_labels_.shape == (sum(in_window),)
        assert model.n_samples_seen_ == sum(sizes)
        sums = [a for view in state.history for a in (view.A, view.B)]
        for array in (U, *sums, *model.V_.values(), model.scores_):
            assert np.isfinite(array).all()
            assert (array >= 0).all()
        for view in state.history:
            np.testing.assert_allclose(view.A, view.A.T, rtol=1e-12)
        info = model.history_[-1]
        assert len(model.history_) == len(sizes)
        assert info.n_rows == sizes[-1]
        assert info.n_iter == model.n_iter_ >= 1
        numbers = [value for value in astuple(info) if value is not None]
        assert all(np.isfinite(value) and value >= -1e-9 for value in numbers)
        assert info.objective == pytest.approx(info.reconstruction + info.graph + info.sparsity)


@pytest.mark.parametrize("kind", [sp.csr_array, np.asarray], ids=["sparse", "views of one array"])
def test_memory_does_not_grow_with_the_stream(kind):
    rows, held = counts(np.random.default_rng(0), 3000, 8), []
    model = OMVFSPaper(5, graph="none", max_iter=3, random_state=0)
    for start in range(0, 3000, 100):
        model.partial_fit(kind(rows[start : start + 100]))
        held.append(nbytes(model._known.state))
    assert held[-1] == pytest.approx(held[9], rel=0.05)
    assert held[-1] < rows.nbytes / 2


def test_scores_are_norms_of_v_or_what_a_callable_gives():
    X = two_views(0, 40)
    model = OMVFSPaper(3, max_iter=5, random_state=0).fit(X)
    for name, V in model.V_.items():
        np.testing.assert_allclose(model.view_scores_[name], np.linalg.norm(V, axis=1), rtol=1e-9)
    before = learned(model)
    model.set_params(criterion=lambda V, masses, sums: V.max(axis=1) * masses.sum() + sums.sum())
    for v, (name, V) in enumerate(model.V_.items()):
        own = model._known.state.history[v]
        expected = V.max(axis=1) * np.trace(own.A) + own.U_sums.sum()
        np.testing.assert_allclose(model.view_scores_[name], expected)
    assert learned(model) == before
    for bad, said in (
        (lambda V, masses, sums: -V[:, 0] - 1, "for feature 0; expected 12 finite scores"),
        (lambda V, masses, sums: V, r"ndarray of shape \(12, 3\)"),
        ("balanced", "Got criterion='balanced'; expected 'norm'"),
    ):
        with pytest.raises(ValueError, match=said):
            _ = model.set_params(criterion=bad).scores_


# Chunks


@pytest.mark.parametrize(
    ("kind", "dtype"), [("dense", np.float64), ("csr_array", np.float32)], ids=str
)
@given(cuts=st.sets(st.integers(1, 89), max_size=8))
@settings(max_examples=4, deadline=None)
def test_any_delivery_through_rechunk_gives_the_bits_of_fit(kind, dtype, cuts):
    views = two_views(1, 90, dtype, KINDS[kind])
    whole, model = (OMVFSPaper(3, batch_size=20, max_iter=20, random_state=0) for _ in range(2))
    for chunk in rechunk(cut(views, *sorted(cuts)), 20):
        model.partial_fit(chunk)
    assert learned(model) == learned(whole.fit(views))
    assert {V_v.dtype for V_v in model.V_.values()} == {np.dtype(dtype)}
    assert {view.B.dtype for view in model._known.state.history} == {np.dtype(dtype)}
    assert model.transform(views).dtype == dtype


def test_a_source_may_use_its_buffer_again():
    X = dense(two_views(2, 80)["text"])
    expected, model = (OMVFSPaper(3, random_state=0) for _ in range(2))
    buffer = X[:20].copy()
    for start in range(0, 80, 20):
        expected.partial_fit(X[start : start + 20].copy())
        buffer[:] = X[start : start + 20]
        model.partial_fit(buffer)
        buffer[:] = 1e6  # what comes after the call must not matter
    assert learned(model) == learned(expected)


def test_a_mapped_pickled_or_copied_model_learns_as_any_other(tmp_path):
    model = OMVFSPaper(3, max_iter=20, random_state=0).partial_fit(two_views(0, 20))
    joblib.dump(model, tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    others = [
        joblib.load(tmp_path / "model", mmap_mode="r"),
        pickle.loads(pickle.dumps(model)),
        copy.copy(model),
    ]
    for seed in (1, 2):
        model.partial_fit(two_views(seed, 20))
        for each in others:
            each.partial_fit(two_views(seed, 20))
            np.testing.assert_array_equal(each.scores_, model.scores_)
    assert (tmp_path / "model").read_bytes() == content


def test_the_bits_do_not_depend_on_the_threads_of_blas():
    rng, found = np.random.default_rng(0), []
    X = {"a": rng.random((300, 700)), "b": rng.random((300, 400))}
    for n in (1, 2, 4):
        with threadpool_limits(n, user_api="blas"):
            model = OMVFSPaper(4, max_iter=5, random_state=0, batch_size=150).fit(X)
            found.append((fingerprint(model._known), fingerprint(model.view_scores_)))
    assert found[0] == found[1] == found[2]


def test_empty_short_and_single_row_chunks_are_allowed():
    rows = counts(np.random.default_rng(0), 20, 6)
    for n_rows, value, kind in ((1, 0.0, sp.csr_array), (2, 1.0, np.asarray), (15, 0.0, np.array)):
        odd = np.full((n_rows, 6), value)
        for chunks in ((odd, rows), (rows, odd)):
            model = OMVFSPaper(5, random_state=0)
            for chunk in chunks:
                model.partial_fit(kind(chunk))
            assert model.n_samples_seen_ == n_rows + 20
            assert np.isfinite(model.scores_).all()
            # As printed, V once zero is zero for ever.
            assert model.scores_.any() or (chunks[0] is odd and value == 0)


def test_older_rows_fade():
    chunks = [two_views(seed, 20) for seed in range(4)]
    model = OMVFSPaper(3, half_life=20, window=None, max_iter=5, random_state=0)
    U = []
    for t, chunk in enumerate(chunks):
        model.partial_fit(chunk)
        U.append(model._known.state.window[-1].U)
        fade = [0.5 ** (t - i) for i in range(t + 1)]
        for v, name in enumerate(chunk):
            own = model._known.state.history[v]
            A = sum(f * U_i.T @ U_i for f, U_i in zip(fade, U, strict=True))
            B = sum(f * X[name].T @ U_i for f, X, U_i in zip(fade, chunks, U, strict=False))
            np.testing.assert_allclose(own.A, A)
            np.testing.assert_allclose(own.B, B)


def test_each_view_is_fitted_to_the_rows_that_have_it():
    views, present = two_views(0, 40), presence(0, 40)
    rows = lacking(views, present)
    model = OMVFSPaper(3, random_state=0, batch_size=40, max_iter=5).fit(rows)
    found, U = model._known.state.history, model._known.state.indicator()
    for v, X in enumerate(views.values()):
        has = present[:, v]
        np.testing.assert_allclose(found[v].A, U[has].T @ U[has], atol=1e-9)
        np.testing.assert_allclose(found[v].B, X[has].T @ U[has], atol=1e-9)
    assert np.isfinite(model.scores_).all()
    with pytest.raises(ValueError, match="start_U or start_V with rows that lack views"):
        model.partial_fit(rows, start_U=np.ones((40, 3)))


# What rows go through


def test_the_units_of_balanced_views_change_nothing():
    # Powers of 2 scale every number without rounding.
    for params in ({}, {"half_life": 60.0}):
        blocks = two_views(5, 60)
        other = {"text": blocks["text"] * 2.0**9, "image": blocks["image"] / 2.0**20}
        one, two = (
            OMVFSPaper(
                3, batch_size=20, max_iter=10, view_weight="balanced", random_state=0, **params
            ).fit(each)
            for each in (blocks, other)
        )
        for name, V in one.V_.items():
            np.testing.assert_array_equal(two.V_[name], V)
    blocks = {name: normalize(X) for name, X in two_views(3, 80).items()}
    one, two = (
        OMVFSPaper(3, view_weight=each, max_iter=10, random_state=0).fit(blocks)
        for each in ("balanced", None)
    )
    assert learned(one)[0][:2] == learned(two)[0][:2]
    np.testing.assert_array_equal(one.scores_, two.scores_)


def test_a_weight_is_a_view_multiplied_by_its_root():
    blocks = two_views(4, 60)
    weights = {"text": 4.0, "image": 0.25}
    squares = {name: np.square(X).sum(axis=1) for name, X in blocks.items()}
    by_hand = {
        name: X * np.sqrt(weights[name] / squares[name][squares[name] > 0].mean())
        for name, X in blocks.items()
    }
    params = {"batch_size": 60, "max_iter": 10, "random_state": 0}
    weighed = OMVFSPaper(3, view_weight=weights, **params).fit(blocks)
    plain = OMVFSPaper(3, **params).fit(by_hand)
    np.testing.assert_allclose(weighed.scores_, plain.scores_, rtol=1e-9)


def test_rows_are_prepared_before_they_are_learned_from():
    X = two_views(0, 60)
    by_hand = {name: normalize(block) for name, block in X.items()}
    model = OMVFSPaper(3, prepare="l2", max_iter=5, batch_size=20, random_state=0).fit(X)
    plain = OMVFSPaper(3, max_iter=5, batch_size=20, random_state=0).fit(by_hand)
    np.testing.assert_allclose(model.scores_, plain.scores_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(X), plain.transform(by_hand))
    np.testing.assert_allclose(model.selection().transform(X), plain.transform(by_hand))
    with pytest.raises(ValueError, match="prepared otherwise"):
        model.set_params(prepare="log1p").partial_fit(X)


# Negative values


def signed(seed, n_rows):
    """Rows of either sign whose lowest values are all in the first ten rows."""
    rng = np.random.default_rng(seed)
    X = clustered(rng, n_rows, 12)[0] - 0.3
    X[:10] -= 0.2
    X[rng.integers(10, size=12), np.arange(12)] = X.min() - 0.1 * np.arange(12)
    return X


def test_columns_are_raised_or_clipped():
    X = signed(1, 60)
    params = {"batch_size": 20, "random_state": 0, "max_iter": 20}
    shift = OMVFSPaper(3, negative="shift", **params).fit(X)
    plain = OMVFSPaper(3, **params).fit(X + np.maximum(0, -X.min(axis=0)))
    np.testing.assert_allclose(shift.scores_, plain.scores_, rtol=0)
    np.testing.assert_array_equal(shift.ranking_, plain.ranking_)
    np.testing.assert_array_equal(shift.transform(X), X[:, shift.get_support()])
    clip = OMVFSPaper(3, negative="clip", **params).fit(X)
    plain.fit(np.maximum(X, 0))
    np.testing.assert_array_equal(clip.scores_, plain.scores_)
    with pytest.raises(ValueError, match="'shift' after the first chunk"):
        clip.set_params(negative="shift").partial_fit(X)


def test_every_sum_stays_exact_when_a_new_minimum_comes_later():
    rng, U, chunks = np.random.default_rng(0), [], []
    model = OMVFSPaper(2, negative="shift", window=None, max_iter=5, random_state=0)
    for t in range(4):
        chunks.append(counts(rng, 6, 5) - 0.2 * t)
        model.partial_fit(chunks[-1])
        U.append(model._known.state.indicator()[-6:])
        rows = np.vstack(chunks) + np.maximum(0, -np.vstack(chunks).min(axis=0))
        own = model._known.state.history[0]
        np.testing.assert_allclose(own.B, rows.T @ np.vstack(U), rtol=1e-10)
        np.testing.assert_allclose(own.sums, rows.sum(axis=0), rtol=1e-10, atol=1e-12)
        assert own.energy == pytest.approx((rows**2).sum())
        np.testing.assert_allclose(model._known.state.rows()[0], rows, atol=1e-12)


def test_sparse_negative_values_cannot_be_raised():
    chunk = with_value("text", 3, 1, -1.0)(good(0))
    for before in (0, 1):
        model = OMVFSPaper(3, negative="shift", max_iter=5, random_state=0)
        for seed in range(before):
            model.partial_fit(good(seed))
        known = everything(model)
        with pytest.raises(ValueError, match=r"'text' is sparse.*dense.*clip"):
            model.partial_fit(chunk)
        assert everything(model) == known


# Calls that fail change nothing

BAD = {
    "NaN": (with_value("image", 3, 2, np.nan), "NaN.*'image', row 3, column 2"),
    "negative": (with_value("text", 0, 7, -2.0), "'text' holds -2 at row 0, .*clip.*shift"),
    "square overflows": (with_value("image", 0, 1, 1e200), r"too large.*'image' holds 1e\+200"),
    "no rows": (lambda chunk: {v: X[:0] for v, X in chunk.items()}, "0 rows"),
    "other view": (lambda chunk: {"words": chunk["text"], "image": chunk["image"]}, "'words'"),
}


@pytest.mark.parametrize("fault", BAD)
def test_rows_with_a_fault_are_refused_and_change_nothing(fault):
    spoil, message = BAD[fault]
    model, untroubled = (OMVFSPaper(3, max_iter=20, random_state=0) for _ in range(2))

    def refused(chunk, method):
        before = everything(model)
        with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
            getattr(model, method)(chunk)
        assert everything(model) == before

    if fault != "other view":
        for method in ("fit", "partial_fit"):
            refused(spoil(good(0)), method)
        assert everything(model) == everything(untroubled)
        with pytest.raises(NotFittedError):
            model.transform(good(0))
    for each in (model, untroubled):
        each.partial_fit(good(0)).partial_fit(good(1))
    for method in ("partial_fit", *([] if fault == "negative" else ["score", "transform"])):
        refused(spoil(good(2)), method)
    # Neither does a trace of it show later, such as in the random numbers.
    for each in (model, untroubled):
        each.partial_fit(good(3))
    assert everything(model) == everything(untroubled)


def test_values_that_overflow_only_together_with_others_do_not_poison_the_model():
    # Each chunk is fine by itself; what they add up to is too large for single precision.
    model = OMVFSPaper(2, max_iter=20, random_state=0)
    chunk = np.full((2, 2), 9e18, np.float32)
    before = everything(model)
    for _ in range(6):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a warning alone is not enough
                model.partial_fit(chunk)
        except ValueError:
            assert everything(model) == before
            break
        before = everything(model)
    state = model._known.state
    for array in (state.history[0].A, state.history[0].B, model.V_["X"], model.scores_):
        assert np.isfinite(array).all()
    assert model.V_["X"].any()


def test_a_refused_first_chunk_draws_nothing():
    rng = np.random.RandomState(7)
    before = fingerprint(rng.get_state())
    model = OMVFSPaper(2, prepare="log1p", negative="shift", max_iter=3, random_state=rng)
    for method in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match="log1p needs values above -1"):
            method(np.full((4, 3), -2.0))
        assert fingerprint(rng.get_state()) == before
    model.partial_fit(np.eye(4))
    assert fingerprint(rng.get_state()) != before


def test_bad_starts_are_refused_and_change_nothing():
    text, image = np.ones((8, 3)), np.ones((5, 3))
    model = OMVFSPaper(3, random_state=0)
    for seed in range(2):
        before = everything(model)
        for start, message in (
            ({"start_U": np.ones((14, 3))}, r"start_U of shape \(14, 3\).*\(15, 3\)"),
            ({"start_U": -np.ones((15, 3))}, "start_U.*nonnegative"),
            ({"start_U": np.full((15, 3), np.nan)}, "start_U"),
            ({"start_U": "somewhere"}, "start_U"),
            ({"start_V": {"text": text}}, "start_V.*'text'.*'image'"),
            (
                {"start_V": {"text": text, "image": image[:, :2]}},
                r"start_V of shape \(5, 2\) for view 'image'.*\(5, 3\)",
            ),
            ({"start_V": {"text": text, "image": np.inf * image}}, "start_V.*'image'"),
            ({"start_V": [text, image]}, "start_V"),
            ({"start_U": np.ma.masked_less(np.zeros((15, 3)), 1)}, "start_U has masked.*filled"),
        ):
            with pytest.raises((TypeError, ValueError), match=message):
                model.partial_fit(good(seed), **start)
        assert everything(model) == before
        model.partial_fit(good(seed))


# Parameters

BAD_PARAMETERS = {
    "n_clusters": [0, -1, 2.5, "auto", None, True],
    "n_features_per_view": [0, 1.5, "auto", {"text": 3}],
    "criterion": ["separation", None, 3],
    "graph_weight": [-1.0, np.nan, "1", None, {"text": 1.0}],
    "sparsity": [-1.0, np.inf, {"a": 1.0, "b": 2.0}],
    "orthogonality": [-1.0, np.nan, np.inf, "1", None],
    "batch_size": [0, -5, 2.5, "10", None, True],
    "window": [0, -1, 1.5, "2", True],
    "half_life": [0, -1, np.nan, "2"],
    "graph": ["neighbors", None, 3],
    "view_weight": ["auto", 0, -1, np.nan, True, {"text": 1}],
    "negative": ["drop", "allow", None],
    "prepare": ["l3", 5, "hash:20"],
    "max_iter": [0, -1, 2.5, "5"],
    "tol": [-1e-3, np.nan, "1", None],
    "random_state": ["seed", -1],
}


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_a_bad_parameter_is_named(name):
    for value in BAD_PARAMETERS[name]:
        model = OMVFSPaper(**{"n_clusters": 3, name: value})
        before = everything(model)
        for method in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match=name):
                method(good(0))
        assert everything(model) == before
