"""OMVFS: what must hold of the result, whatever the stream."""

import functools
import itertools
import pickle
from dataclasses import asdict, astuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from omvfs import OMVFS, Views, as_views, rechunk
from omvfs.datasets import make_planted, planted_stream
from omvfs.evaluation import clustering_accuracy
from omvfs.formats import ArraySource
from omvfs.persistence import checkpoint
from omvfs.pipeline import run
from oracle import NaivePaper
from support import KINDS, clustered, counts, dense, fingerprint, nbytes

SOLVERS = {"constrained": OMVFS, "paper": OMVFS.as_published}

every_solver = pytest.mark.parametrize("make", SOLVERS.values(), ids=SOLVERS.keys())
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
few = settings(max_examples=25, deadline=None)


def two_views(seed, n_rows, dtype=np.float64, kind=np.asarray, widths=(12, 7)):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_rows)
    blocks = {}
    for name, width in zip(("text", "image"), widths, strict=True):
        own = np.arange(width) % 3 == labels[:, np.newaxis]
        X = (0.2 + own) * counts(rng, n_rows, width)
        blocks[name] = kind(X.astype(dtype))
    return blocks


def cut(views, *edges):
    """Cut views into chunks at rows."""
    views = as_views(views)
    ends = [0, *edges, len(views)]
    return [views[a:b] for a, b in itertools.pairwise(ends)]


def learned(model):
    """Return everything learned, bit for bit, but for the time it took."""
    history = [{**asdict(info), "seconds": 0} for info in model.history_]
    return fingerprint(model._fitted), fingerprint(history)


# The criterion


def largest(V, masses, sums):
    """A criterion of one's own."""
    return V.max(axis=1)


class Power:
    """A criterion that cannot be hashed, equal to one of the same power."""

    __hash__ = None

    def __init__(self, power):
        self.power = power

    def __eq__(self, other):
        return isinstance(other, Power) and other.power == self.power

    def __call__(self, V, masses, sums):
        return np.linalg.norm(V, axis=1) ** self.power


def test_a_criterion_can_be_changed_after_fit():
    X = two_views(0, 60)
    model = OMVFS(3, criterion="contrast", random_state=0).fit(X)
    contrast = model.scores_
    model.set_params(criterion="norm")
    assert not np.allclose(model.scores_, contrast)
    np.testing.assert_array_equal(model.scores_, clone(model).fit(X).scores_)
    assert model.score(X) == pytest.approx(1)  # all features are selected


@every_dtype
def test_a_callable_is_a_criterion_like_those_with_a_name(dtype):
    X = two_views(0, 60, dtype)
    model = OMVFS(3, criterion="norm", random_state=0).fit(X)
    norms, states = model.scores_, learned(model)
    model.set_params(criterion=lambda V, masses, sums: np.linalg.norm(V, axis=1))
    np.testing.assert_allclose(model.scores_, norms, rtol=1e-5)
    whole = model.set_params(criterion=largest, diversity=0.0).scores_
    np.testing.assert_array_equal(whole, np.vstack(list(model.V_.values())).max(axis=1))
    assert learned(model) == states
    again = clone(model).fit(X)
    assert again.criterion is largest
    np.testing.assert_array_equal(again.scores_, whole)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).scores_, whole)


def test_a_callable_is_told_apart_from_one_that_differs():
    model = OMVFS(3, criterion=Power(1.0), diversity=0.0, random_state=0).fit(two_views(0, 60))
    first = model.scores_
    np.testing.assert_allclose(model.set_params(criterion=Power(2.0)).scores_, first**2)
    np.testing.assert_array_equal(model.set_params(criterion=Power(1.0)).scores_, first)


def test_a_callable_cannot_reach_into_the_model():
    def spoils(V, masses, sums):
        V[:], masses[:], sums[:] = 7, 7, 7
        return V[:, 0]

    model = OMVFS(3, random_state=0).fit(two_views(0, 60))
    before, V = learned(model), model.V_
    assert set(model.set_params(criterion=spoils, diversity=0.0).scores_) == {7}
    assert learned(model) == before
    for name in V:
        np.testing.assert_array_equal(model.V_[name], V[name])


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (lambda V: V, r"ndarray of shape \(12, 3\).*expected 12 .*\(12, 3\)"),
        (lambda V: np.ones(4), r"ndarray of shape \(4,\).*expected 12"),
        (lambda V: 1.0, r"float of shape \(\).*expected 12"),
        (lambda V: None, r"NoneType of shape \(\)"),
        (lambda V: ["a"] * len(V), r"list of shape \(12,\) and dtype <U1"),
        (lambda V: V.max(axis=1) + 1j, "dtype complex128"),
        (lambda V: np.where(np.arange(len(V)) == 5, np.nan, 1), "nan for feature 5; expected"),
        (lambda V: np.where(np.arange(len(V)) == 2, np.inf, 1), "inf for feature 2; expected"),
        (lambda V: np.arange(len(V)) - 1, "-1.0 for feature 0; expected"),
    ],
)
def test_scores_that_rank_nothing_are_refused(given, got):
    model = OMVFS(3, criterion=lambda V, masses, sums: given(V), random_state=0)
    model.fit(two_views(0, 60))
    with pytest.raises(ValueError, match=rf"Got criterion that gave .*{got}"):
        _ = model.scores_


def test_a_callable_is_not_saved(tmp_path):
    model = OMVFS(3, criterion=largest, random_state=0).fit(two_views(0, 60))
    with pytest.raises(TypeError, match=r"criterion=<function largest.*set_params\(criterion="):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="criterion=<function largest"):
        run(ArraySource(two_views(0, 60)), clone(model), save_to=tmp_path / "model")
    assert run(ArraySource(two_views(0, 60)), clone(model)).selector.scores_.any()
    model.set_params(criterion="norm").save(tmp_path / "model")
    again = OMVFS.load(tmp_path / "model").set_params(criterion=largest)
    np.testing.assert_array_equal(again.scores_, model.set_params(criterion=largest).scores_)


def test_a_model_with_parameters_of_before_says_what_to_do(tmp_path):
    path = tmp_path / "model"
    OMVFS(3, random_state=0).fit(two_views(0, 60)).save(path)
    arrays, meta = checkpoint.read(path)
    params = meta["estimator"]["params"]
    params["score"] = params.pop("criterion")
    checkpoint.write(path, arrays, meta)
    with pytest.raises(checkpoint.CheckpointError, match=r"parameters 'score'.*learn anew"):
        OMVFS.load(path)


def test_grid_search_tries_criteria_by_the_explained_share():
    grid = {"criterion": ["norm", largest], "n_clusters": [1, 3]}
    search = GridSearchCV(
        OMVFS(random_state=0),
        grid,
        scoring=OMVFS.explained_share,
        cv=KFold(2),
        error_score="raise",
    )
    search.fit(as_views(two_views(0, 60)))
    assert search.best_params_["n_clusters"] == 3  # three clusters explain more than one
    assert search.best_estimator_.criterion in grid["criterion"]


@given(seed=st.integers(0, 1000), n_clusters=st.integers(1, 5), rank_one=st.booleans())
@few
def test_the_explained_share_is_between_0_and_1(seed, n_clusters, rank_one):
    rng = np.random.default_rng(seed)
    X = counts(rng, 20, 6)
    if rank_one:
        X = rng.random((20, 1)) @ rng.random((1, 6))
    model = OMVFS(n_clusters, sparsity=0.0, random_state=0).fit(X)
    assert 0 <= model.explained_share(X) <= 1
    if rank_one:
        assert model.explained_share(X) == pytest.approx(1)
    assert model.explained_share(np.zeros((2, 6))) == 0


def test_as_published_is_the_printed_method_and_can_be_changed():
    params = OMVFS.as_published(4, sparsity=0.5).get_params()
    assert params["n_clusters"] == 4
    assert params["solver"] == "paper"
    assert params["graph"] == "gaussian"
    assert params["criterion"] == "norm"
    assert params["diversity"] == 0
    assert params["orthogonality"] == 1e7
    assert params["max_iter"] == 200
    assert params["sparsity"] == 0.5


# Any delivery gives the same bits


@functools.cache
def fitted(solver, kind, dtype):
    return learned(batched(solver).fit(two_views(1, 90, dtype, KINDS[kind])))


def batched(solver):
    return SOLVERS[solver](3, batch_size=20, memory=50, max_iter=20, random_state=0)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
@every_dtype
@given(cuts=st.sets(st.integers(1, 89), max_size=8))
@settings(max_examples=6, deadline=None)
def test_any_delivery_through_rechunk_gives_the_bits_of_fit(solver, kind, dtype, cuts):
    views = two_views(1, 90, dtype, KINDS[kind])
    model = batched(solver)
    for chunk in rechunk(cut(views, *sorted(cuts)), 20):
        model.partial_fit(chunk)
    assert learned(model) == fitted(solver, kind, dtype)
    state = model._fitted.state
    assert {V_v.dtype for V_v in model.V_.values()} == {np.dtype(dtype)}
    assert {B_v.dtype for B_v in state.statistics.B} == {np.dtype(dtype)}
    assert model.transform(views).dtype == dtype


@every_solver
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_a_source_may_use_its_buffer_again(make, kind):
    X = dense(two_views(2, 80)["text"])
    X[X == 0] = 0.01  # equal sparsity everywhere, so that a CSR buffer can be filled again
    expected, model = (make(3, random_state=0) for _ in range(2))
    buffer = kind(X[:20].copy())
    values = buffer.data if sp.issparse(buffer) else buffer
    for start in range(0, 80, 20):
        rows = X[start : start + 20].copy()
        expected.partial_fit(kind(rows))
        values[:] = rows.ravel() if sp.issparse(buffer) else rows
        model.partial_fit(buffer)
        values[:] = 1e6  # what comes after the call must not matter
    assert learned(model) == learned(expected)


@every_solver
def test_the_same_seed_gives_the_same_bits_and_partial_fit_continues_fit(make):
    views = as_views(two_views(3, 80))
    whole = make(3, batch_size=20, random_state=5).fit(views)
    assert learned(make(3, batch_size=20, random_state=5).fit(views)) == learned(whole)
    continued = make(3, batch_size=20, random_state=5).fit(views[:40])
    for chunk in rechunk([views[40:]], 20):
        continued.partial_fit(chunk)
    assert learned(continued) == learned(whole)
    resumed = make(3, batch_size=20, random_state=5).fit(views[:40])
    resumed = pickle.loads(pickle.dumps(resumed))
    for chunk in rechunk([views[40:]], 20):
        resumed.partial_fit(chunk)
    assert learned(resumed) == learned(whole)


@every_solver
def test_asking_does_not_change_the_model(make):
    views = as_views(two_views(3, 80))
    asked, silent = (make(3, batch_size=20, random_state=5) for _ in range(2))
    for chunk in rechunk([views], 20):
        silent.partial_fit(chunk)
        asked.partial_fit(chunk)
        _ = asked.scores_, asked.labels_, asked.V_, asked.predict(chunk)
        _ = asked.explained_share(chunk), asked.score(chunk)
    assert learned(asked) == learned(silent)


@every_solver
@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix"])
def test_sparse_and_dense_rows_give_the_same_ranking(make, kind):
    expected = make(3, batch_size=30, random_state=0).fit(two_views(4, 90))
    model = make(3, batch_size=30, random_state=0).fit(two_views(4, 90, kind=KINDS[kind]))
    np.testing.assert_allclose(model.scores_, expected.scores_, rtol=1e-8)
    np.testing.assert_array_equal(model.ranking_, expected.ranking_)


@pytest.mark.parametrize("first", ["dense", "sparse"])
def test_a_view_may_change_between_dense_and_sparse(first):
    X = two_views(4, 90)["text"]
    expected, model = (OMVFS(3, random_state=0) for _ in range(2))
    for i in range(3):
        rows = X[30 * i : 30 * i + 30]
        expected.partial_fit(rows)
        model.partial_fit(rows if (i % 2 == 0) == (first == "dense") else sp.csr_matrix(rows))
    np.testing.assert_allclose(model.scores_, expected.scores_, rtol=1e-8)


# Symmetries


def assert_scores_and_ranking(scores, ranking, expected_scores, expected_ranking):
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-8, atol=1e-8)
    gaps = np.abs(np.subtract.outer(expected_scores, expected_scores))
    np.fill_diagonal(gaps, np.inf)
    distinct = gaps.min(axis=1) > 1e-7
    np.testing.assert_array_equal(ranking[distinct], expected_ranking[distinct])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "params",
    [{}, {"graph": "gaussian"}, {"scale_columns": True}, {"criterion": "contrast"}],
    ids=["default", "gaussian", "scaled", "contrast"],
)
@given(seed=st.integers(0, 1000), random=st.randoms(use_true_random=False))
@settings(max_examples=8, deadline=None)
def test_permuting_views_and_columns_permutes_the_result(kind, params, seed, random):
    blocks = two_views(seed, 60, kind=kind)
    orders = {name: random.sample(range(X.shape[1]), X.shape[1]) for name, X in blocks.items()}
    names = random.sample(list(blocks), 2)
    model, permuted = (
        OMVFS(3, batch_size=20, random_state=0, **params).fit(X)
        for X in (blocks, {name: blocks[name][:, orders[name]] for name in names})
    )
    np.testing.assert_array_equal(permuted.labels_, model.labels_)
    for name in blocks:
        order = orders[name]
        assert_scores_and_ranking(
            permuted.view_scores_[name],
            permuted.view_ranking_[name],
            model.view_scores_[name][order],
            model.view_ranking_[name][order],
        )
        np.testing.assert_allclose(permuted.V_[name], model.V_[name][order], atol=1e-8)


def ties(kind, rng, n_rows=60):
    """Rows of which many are equally near to one another, exactly but for rounding."""
    if kind == "counts":
        return rng.poisson(0.4, (n_rows, 12)).astype(float)
    if kind == "binary":
        return (rng.random((n_rows, 12)) < 0.25).astype(float)
    few = rng.random((2, 12))  # fewer directions than clusters
    return few[rng.integers(2, size=n_rows)] * rng.random((n_rows, 1))


@pytest.mark.parametrize("kind", ["counts", "binary", "few directions"])
@pytest.mark.parametrize("graph", ["neighbors", "none"])
def test_rounding_decides_no_ties(kind, graph):
    # Another order of the columns, or a sparse matrix, rounds in another way.
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, order = ties(kind, rng), rng.permutation(12)
        model, permuted, sparse = (
            OMVFS(4, batch_size=20, graph=graph, random_state=0).fit(rows)
            for rows in (X, X[:, order], sp.csr_array(X))
        )
        np.testing.assert_array_equal(permuted.labels_, model.labels_)
        np.testing.assert_allclose(permuted.scores_, model.scores_[order], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(sparse.scores_, model.scores_, rtol=1e-6, atol=1e-6)


def start_for(seed, blocks, n_clusters=3):
    rng = np.random.default_rng(seed)
    n = len(next(iter(blocks.values())))
    V = {name: rng.random((X.shape[1], n_clusters)) for name, X in blocks.items()}
    return rng.random((n, n_clusters)), V


@given(seed=st.integers(0, 1000), random=st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_permuting_given_starts_along_permutes_the_printed_method_too(seed, random):
    blocks = two_views(seed, 25)
    U, V = start_for(seed, blocks)
    orders = {name: random.sample(range(X.shape[1]), X.shape[1]) for name, X in blocks.items()}
    names = random.sample(list(blocks), 2)
    model = OMVFS.as_published(3, tol=0.0, max_iter=50)
    model.partial_fit(blocks, start_U=U, start_V=V)
    permuted = OMVFS.as_published(3, tol=0.0, max_iter=50)
    permuted.partial_fit(
        {name: blocks[name][:, orders[name]] for name in names},
        start_U=U,
        start_V={name: V[name][orders[name]] for name in names},
    )
    for name in blocks:
        assert_scores_and_ranking(
            permuted.view_scores_[name],
            permuted.view_ranking_[name],
            model.view_scores_[name][orders[name]],
            model.view_ranking_[name][orders[name]],
        )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("criterion", ["norm", "contrast", "information", "balanced"])
@pytest.mark.parametrize("power", [-40, -2, 2, 40])
@every_dtype
def test_scaling_x_and_sparsity_leaves_the_ranking(solver, criterion, power, dtype):
    # Powers of 4 scale every number, and the root of every number, without rounding.
    c = 4.0 ** (power / 2)
    blocks = two_views(7, 60, dtype)
    params = {"batch_size": 20, "criterion": criterion, "random_state": 0}
    if solver == "paper":  # its graph, penalty and starts have a scale of their own
        params |= {"graph": "none", "orthogonality": 0.0}
    model = SOLVERS[solver](3, sparsity=0.25, **params).fit(blocks)
    scaled = SOLVERS[solver](3, sparsity=0.25 * c, **params)
    for chunk in rechunk([{name: X * dtype(c) for name, X in blocks.items()}], 20):
        if solver == "paper" and not hasattr(scaled, "_journal"):
            # V takes the scale, so the same start means a scaled V.
            rng = np.random.default_rng(np.random.RandomState(0).randint(2**31 - 1))
            V = {name: c * rng.random((X.shape[1], 3)).astype(dtype) for name, X in blocks.items()}
            U = rng.random((20, 3)).astype(dtype)
            scaled.partial_fit(chunk, start_U=U, start_V=V)
            scaled._fitted.state.rng.bit_generator.state = rng.bit_generator.state
        else:
            scaled.partial_fit(chunk)
    np.testing.assert_array_equal(scaled.ranking_, model.ranking_)
    np.testing.assert_array_equal(scaled.labels_, model.labels_)
    for name in blocks:
        expected = c * model.V_[name]
        np.testing.assert_allclose(scaled.V_[name], expected, atol=1e-5 * expected.max())


@pytest.mark.parametrize(("dtype", "power"), [(np.float32, 50), (np.float64, 200)])
def test_large_and_small_numbers_are_clustered_alike(dtype, power):
    # Squares of single precision, fourth powers of double precision are far from overflow.
    X, labels = clustered(np.random.default_rng(0), 120, 30, dtype=np.float64)
    for sign in (-1, 1):
        rows = (X * 2.0 ** (sign * power)).astype(dtype)
        model = OMVFS(3, batch_size=40, sparsity=0.0, random_state=0).fit(rows)
        assert np.isfinite(model.scores_).all()
        assert model.scores_.any()
        assert clustering_accuracy(labels, model.predict(rows)) > 0.95


# The printed method, step by step


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("window", [1, 2, 3, None])
@pytest.mark.parametrize("gamma", [0.0, 1.0, 1e7])
def test_the_paper_solver_equals_the_printed_rules(kind, window, gamma):
    alpha, beta = {"text": 0.3, "image": 0.1}, {"text": 0.2, "image": 0.5}
    rng = np.random.default_rng(8)
    model = OMVFS.as_published(
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
        state = model._fitted.state
        assert model.n_iter_ == 25
        held = sizes[: t + 1] if window is None else sizes[max(0, t + 1 - window) : t + 1]
        assert len(model.labels_) == sum(held)
        np.testing.assert_allclose(state.window.indicator(), naive.U_window, rtol=0, atol=1e-10)
        np.testing.assert_allclose(state.statistics.masses, naive.A, rtol=0, atol=1e-10)
        for v, name in enumerate(blocks):
            np.testing.assert_allclose(model.V_[name], naive.V[v], rtol=0, atol=1e-10)
            np.testing.assert_allclose(state.statistics.B[v], naive.B[v], rtol=0, atol=1e-10)


@every_solver
def test_offline_is_one_chunk_with_all_rows(make):
    blocks = two_views(9, 40)
    fitted_once = make(3, batch_size=40, random_state=0).fit(blocks)
    one_call = make(3, batch_size=7, random_state=0).partial_fit(blocks)
    assert learned(fitted_once) == learned(one_call)
    assert [info.n_rows for info in one_call.history_] == [40]


def test_the_constrained_solver_starts_where_it_is_told():
    X, labels = clustered(np.random.default_rng(0), 60, 12)
    wanted = (labels + 1) % 3  # other numbers than it would give
    U = np.eye(3)[wanted]
    by_u = OMVFS(3, random_state=0).partial_fit(X, start_U=U)
    np.testing.assert_array_equal(by_u.labels_, wanted)
    V = {"X": X.T @ U}
    by_v = OMVFS(3, random_state=0).partial_fit(X, start_V=V)
    np.testing.assert_array_equal(by_v.labels_, wanted)
    both = OMVFS(3, random_state=0).partial_fit(X, start_U=U, start_V=V)
    np.testing.assert_array_equal(both.labels_, wanted)
    later = both.partial_fit(X, start_U=U)
    np.testing.assert_array_equal(later.predict(X), wanted)


# What holds after every chunk

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
    memory=st.sampled_from([1, 15, 2000]),
    forgetting=st.sampled_from([1.0, 0.5]),
    scale_columns=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_what_must_hold_after_every_chunk(make, kinds, seed, sparse, n_clusters, **params):
    rng = np.random.default_rng(seed)
    model = make(n_clusters, max_iter=20, random_state=0, **params)
    sizes = []
    for kind in kinds:
        blocks = [chunk_of(kind, rng, 6), chunk_of(kind, rng, 4)]
        if kind == "gaps":
            blocks[1] = blocks[1][::-1].copy()  # other empty rows in the other view
        sizes.append(len(blocks[0]))
        model.partial_fit([sp.csr_array(X) if sparse else X for X in blocks])
        state = model._fitted.state
        in_window = sizes if params["window"] is None else sizes[-params["window"] :]

        U = state.window.indicator()
        assert U.shape == (sum(in_window), n_clusters)
        assert model.labels_.shape == (sum(in_window),)
        assert model.n_rows_seen_ == sum(sizes)
        for array in (
            U,
            state.statistics.masses,
            *state.statistics.B,
            *model.V_.values(),
            model.scores_,
        ):
            assert np.isfinite(array).all()
            assert (array >= 0).all()
        if model.solver == "constrained":
            assert state.statistics.masses.shape == (n_clusters,)
            assert (np.count_nonzero(U, axis=1) <= 1).all()
            assert model.history_[-1].orthogonality_error <= 1e-10
        else:
            np.testing.assert_allclose(
                state.statistics.masses, state.statistics.masses.T, rtol=1e-12
            )
        assert len(state.reservoir) == (
            min(params["memory"], sum(sizes)) if model.solver == "constrained" else 0
        )

        assert len(model.history_) == len(sizes)
        info = model.history_[-1]
        assert info.n_rows == sizes[-1]
        assert info.n_iter == model.n_iter_ >= 1
        assert all(np.isfinite(value) and value >= -1e-9 for value in astuple(info))
        assert info.objective == pytest.approx(info.reconstruction + info.graph + info.sparsity)


@every_dtype
def test_large_sparsity_gives_exact_zeros(dtype):
    X = clustered(np.random.default_rng(0), 90, 30)[0].astype(dtype)
    X[:, 10] *= 0.01  # hardly there
    nonzero = []
    for sparsity in (0.0, 1.0, 1e6):
        V = OMVFS(3, batch_size=30, sparsity=sparsity, random_state=0).fit(X).V_["X"]
        nonzero.append(V.any(axis=1).sum())
    assert nonzero == [30, 29, 0]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_chunks_too_small_to_outweigh_the_sparsity_still_add_up(kind):
    # A row of unit norm with 30 words: each is below β/2, until a few such rows have been seen.
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=120)
    X = (np.arange(90) // 30 == labels[:, np.newaxis]) / np.sqrt(30)
    whole, row_by_row = (OMVFS(3, sparsity=0.4, diversity=0.0, random_state=0) for _ in range(2))
    assert whole.partial_fit(kind(X)).scores_.all()
    for i in range(len(X)):
        row_by_row.partial_fit(kind(X[i : i + 1]))
    assert row_by_row.scores_.any()
    assert clustering_accuracy(labels, row_by_row.predict(kind(X))) == 1


@every_solver
def test_a_memory_of_no_rows_is_allowed(make):
    model = make(3, memory=0, batch_size=20, random_state=0).fit(two_views(0, 80))
    assert len(model._fitted.state.reservoir) == 0
    assert model.scores_.any()


def test_orthogonality_is_reported_as_it_is():
    model = OMVFS.as_published(3, random_state=0, orthogonality=1.0).fit(two_views(0, 30))
    U = model._fitted.state.window.indicator()
    gap = np.linalg.norm(U.T @ U - np.eye(3))
    assert gap > 0
    assert model.history_[-1].orthogonality_error == pytest.approx(gap)


@pytest.mark.parametrize("graph", ["neighbors", "gaussian", "none"])
def test_history_tells_the_objective_of_one_chunk(graph):
    blocks = two_views(0, 40)
    model = OMVFS(3, graph=graph, sparsity=0.3, memory=0, random_state=0).partial_fit(blocks)
    state = model._fitted.state
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


# Memory


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", ["sparse", "dense", "views of one array"])
def test_memory_does_not_grow_with_the_stream(solver, form):
    if form == "sparse":
        stream = planted_stream(
            6000,
            batch_size=100,
            n_features=(60, 40),
            n_informative=(15, 10),
            row_length=20,
            random_state=0,
        )
        chunks = [chunk.views for chunk in stream]
    else:
        rows = np.random.default_rng(0).random((6000, 8))
        chunks = [rows[i : i + 100] for i in range(0, 6000, 100)]
        if form == "dense":
            chunks = [chunk.copy() for chunk in chunks]
    model = SOLVERS[solver](
        5, memory=500, graph="none", max_iter=3, n_init=1, diversity=0.0, random_state=0
    )
    held = []
    for chunk in chunks:
        model.partial_fit(chunk)
        held.append(nbytes(model._fitted.state))
    assert held[59] == pytest.approx(held[19], rel=0.05)
    if form != "sparse":
        assert held[59] < rows.nbytes / 2


# Negative values


def signed(seed, n_rows):
    """Rows of either sign whose lowest values are all in the first ten rows."""
    rng = np.random.default_rng(seed)
    X = clustered(rng, n_rows, 12)[0] - 0.3
    X[:10] -= 0.2
    X[rng.integers(10, size=12), np.arange(12)] = X.min() - 0.1 * np.arange(12)
    return X


def test_clip_is_fitting_on_the_positive_part():
    X = signed(0, 60)
    clip, plain = (OMVFS(3, batch_size=20, negative=n, random_state=0) for n in ("clip", "error"))
    clip.fit(X)
    plain.fit(np.maximum(X, 0))
    np.testing.assert_array_equal(clip.scores_, plain.scores_)
    np.testing.assert_array_equal(clip.predict(X), plain.predict(np.maximum(X, 0)))
    clipped = clone(clip).fit(sp.csr_array(X)).scores_
    np.testing.assert_array_equal(clipped, clone(plain).fit(sp.csr_array(np.maximum(X, 0))).scores_)
    np.testing.assert_array_equal(clip.transform(X), X[:, clip.get_support()])


@pytest.mark.parametrize("solver", SOLVERS)
@every_dtype
def test_shift_is_fitting_on_raised_columns_when_the_lowest_come_first(solver, dtype):
    X = signed(1, 60).astype(dtype)
    params = {"batch_size": 20, "random_state": 0}
    shift = SOLVERS[solver](3, negative="shift", **params).fit(X)
    plain = SOLVERS[solver](3, **params).fit(X + np.maximum(0, -X.min(axis=0)))
    np.testing.assert_allclose(
        shift.scores_, plain.scores_, rtol=1e-4 if dtype == np.float32 else 0
    )
    np.testing.assert_array_equal(shift.ranking_, plain.ranking_)
    np.testing.assert_array_equal(shift.transform(X), X[:, shift.get_support()])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("forgetting", [1.0, 0.7])
@given(seed=st.integers(0, 100))
@settings(max_examples=8, deadline=None)
def test_shift_keeps_every_sum_exact_when_a_new_minimum_comes_later(solver, forgetting, seed):
    rng = np.random.default_rng(seed)
    chunks = [counts(rng, 8, 5) - 0.1 * t for t in range(5)]  # a new minimum in every chunk
    model = SOLVERS[solver](
        2, negative="shift", forgetting=forgetting, window=2, memory=1000, random_state=0
    )
    for t, chunk in enumerate(chunks):
        model.partial_fit(chunk)
        state = model._fitted.state
        raised = np.maximum(0, -np.vstack(chunks[: t + 1]).min(axis=0))
        np.testing.assert_allclose(model._fitted.raised[0], raised)
        rows = [known + raised for known in chunks[: t + 1]]
        fade = [forgetting ** (t - i) for i in range(t + 1)]
        sums = sum(f * X.sum(axis=0) for f, X in zip(fade, rows, strict=True))
        squares = sum(f * (X**2).sum(axis=0) for f, X in zip(fade, rows, strict=True))
        np.testing.assert_allclose(state.statistics.views[0].sums, sums, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            state.statistics.views[0].squares, squares, rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(state.window.rows()[0], np.vstack(rows[-2:]), atol=1e-12)
        if solver == "constrained":  # the memory holds every row, and how it was counted
            held = state.reservoir
            np.testing.assert_allclose(held.blocks[0], np.vstack(rows), atol=1e-12)
            U = held.counted.dense() * held.shares[:, np.newaxis]
            np.testing.assert_allclose(
                state.statistics.B[0], np.vstack(rows).T @ U, rtol=1e-9, atol=1e-12
            )


@every_solver
def test_shift_raises_b_of_the_printed_method_exactly(make):
    rng = np.random.default_rng(0)
    model = make(2, negative="shift", window=None, max_iter=5, random_state=0)
    U, chunks = [], []
    for t in range(4):
        chunks.append(counts(rng, 6, 5) - 0.2 * t)
        model.partial_fit(chunks[-1])
        if make is not OMVFS:  # the constrained solver counts in other units, see above
            U.append(model._fitted.state.window.indicator()[-6:])
    if U:
        raised = np.maximum(0, -np.vstack(chunks).min(axis=0))
        B = sum((X + raised).T @ U_t for X, U_t in zip(chunks, U, strict=True))
        np.testing.assert_allclose(model._fitted.state.statistics.B[0], B, rtol=1e-10)


def test_values_below_any_seen_are_taken_as_the_lowest_seen_when_predicting():
    X = signed(2, 60)
    model = OMVFS(3, negative="shift", random_state=0).fit(X)
    low = X.copy()
    low[:, 0] = X[:, 0].min() - 5
    lowest = X.copy()
    lowest[:, 0] = X[:, 0].min()
    np.testing.assert_array_equal(model.predict(low), model.predict(lowest))


# Clusters and drift


def planted(**params):
    return make_planted(
        2000, n_features=(300, 200), n_informative=(40, 30), row_length=30, **params
    )


@every_dtype
def test_consensus_clusters_are_the_planted_classes(dtype):
    data = planted(random_state=0, dtype=dtype)
    model = OMVFS(5, random_state=0).fit(data.views)
    assert clustering_accuracy(data.labels, model.predict(data.views)) > 0.95
    assert clustering_accuracy(data.labels[-400:], model.labels_) > 0.95


def recovered(model, data):
    """Return the share of the planted features among as many of the best, over all views."""
    hits = sum(
        truth[np.argsort(model.view_ranking_[view])[: truth.sum()]].sum()
        for view, truth in data.informative.items()
    )
    return hits / sum(truth.sum() for truth in data.informative.values())


@pytest.mark.parametrize("seed", range(2))
def test_forgetting_follows_a_drift(seed):
    data = planted(drift_at=(1000,), random_state=seed)
    faithful = OMVFS(5, forgetting=1.0, random_state=0).fit(data.views)
    forgetful = OMVFS(5, forgetting=0.5, random_state=0).fit(data.views)
    assert recovered(forgetful, data) > 0.7
    assert recovered(forgetful, data) > recovered(faithful, data) + 0.2


def test_without_drift_forgetting_costs_little():
    data = planted(random_state=0)
    assert recovered(OMVFS(5, forgetting=0.9, random_state=0).fit(data.views), data) > 0.8


def test_a_feature_that_repeats_a_better_one_ranks_below_it():
    rng = np.random.default_rng(0)
    X, _ = clustered(rng, 100, 12)
    twin = np.hstack([X, X[:, :1]])
    alone = OMVFS(3, random_state=0, diversity=0.0).fit(twin)
    assert alone.scores_[0] == pytest.approx(alone.scores_[12])
    diverse = OMVFS(3, random_state=0, diversity=2.0).fit(twin)
    assert diverse.ranking_[12] == 13
    assert diverse.ranking_[0] < 13


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_column_scaling_takes_the_scale_out_of_the_result(scale):
    X, _ = clustered(np.random.default_rng(0), 80, 12)
    factors = np.linspace(1, scale, 12)
    params = {"scale_columns": True, "batch_size": 80, "diversity": 0.0, "random_state": 0}
    model = OMVFS(3, sparsity=0.0, **params).fit(X)
    scaled = OMVFS(3, sparsity=0.0, **params).fit(X * factors)
    np.testing.assert_allclose(scaled.scores_, model.scores_, rtol=1e-8)
    np.testing.assert_allclose(model._fitted.state.statistics.views[0].squares, (X**2).sum(axis=0))


@given(weights=st.tuples(st.floats(0, 5), st.floats(0, 5)))
@settings(max_examples=10, deadline=None)
def test_parameters_by_view_are_those_of_the_views(weights):
    assume(weights[0] != weights[1])
    by_view = dict(zip(("text", "image"), weights, strict=True))
    model = OMVFS(2, graph_weight=by_view, sparsity=by_view, random_state=0).fit(two_views(0, 20))
    assert model._fitted.settings.graph_weight == weights
    assert model._fitted.settings.sparsity == weights


@every_solver
def test_views_without_any_feature_in_common_with_the_rest_are_fine(make):
    blocks = two_views(0, 40)
    blocks["empty"] = np.zeros((40, 3))
    model = make(3, random_state=0, batch_size=20).fit(Views(blocks))
    assert not model.view_scores_["empty"].any()
    assert np.isfinite(model.scores_).all()


@pytest.mark.parametrize(("forgetting", "memory"), [(0.5, 2000), (0.7, 300)])
def test_settling_does_not_bring_back_what_was_forgotten(forgetting, memory):
    stream = make_planted(
        3000,
        n_features=(200,),
        n_informative=(60,),
        n_classes=2,
        row_length=30,
        drift_at=(1500,),
        random_state=0,
    )
    model = OMVFS(2, forgetting=forgetting, memory=memory, random_state=0)
    for chunk in stream.chunks(75):
        model.partial_fit(chunk.views)
    assert model._fitted.queries.state.reclustered_at > model._fitted.state.reclustered_at
    last = {view: X[-300:] for view, X in stream.views.items()}
    assert clustering_accuracy(stream.labels[-300:], model.predict(last)) > 0.9


def test_shifted_models_read_sparse_rows():
    X = counts(np.random.default_rng(0), 30, 5)
    model = OMVFS(2, negative="shift", random_state=0).fit({"a": sp.csr_array(X), "b": X - 0.2})
    rows = {"a": sp.csr_array(X), "b": sp.csr_array(X)}
    np.testing.assert_array_equal(model.predict(rows), model.predict({"a": X, "b": X}))


def test_shift_cannot_be_switched_on_later():
    X = counts(np.random.default_rng(0), 30, 5)
    model = OMVFS(2, random_state=0).fit(X).set_params(negative="shift")
    with pytest.raises(ValueError, match="'shift' after the first chunk"):
        model.partial_fit(-X)
    model.fit(-X)


def test_an_unknown_criterion_is_refused_after_fit_too():
    model = OMVFS(2, random_state=0).fit(counts(np.random.default_rng(0), 30, 5))
    with pytest.raises(ValueError, match="criterion='typo'"):
        _ = model.set_params(criterion="typo").scores_
