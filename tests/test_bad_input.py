"""Bad input is a clear error, and the model is bit for bit what it was."""

import functools
import re
import warnings
from collections import deque

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import omvfs.model.constrained.step
import omvfs.model.paper.step
from omvfs import OMVFS, Views
from omvfs.model.stream import reservoir
from support import counts, dense, fingerprint

SOLVERS = {"constrained": OMVFS, "paper": functools.partial(OMVFS.as_published, max_iter=20)}
every_solver = pytest.mark.parametrize("make", SOLVERS.values(), ids=SOLVERS.keys())


def good(seed, n_rows=15, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return {
        "text": sp.csr_array(counts(rng, n_rows, 8, dtype)),
        "image": counts(rng, n_rows, 5, dtype) + dtype(0.01),
    }


def everything(model):
    """Return every bit of a model but its parameters and the time it took."""
    return {name: fingerprint(value) for name, value in sorted(vars(model).items())}


def result(model):
    """Return every bit of what was learned, whatever the type of the indices."""
    state = model._fitted.state
    return fingerprint(
        [state.statistics.masses, state.statistics.B, state.V, model.scores_, model.labels_]
    )


def with_value(view, row, column, value):
    def change(chunk):
        block = dense(chunk[view]).copy()
        block[row, column] = value
        return {**chunk, view: sp.csr_array(block) if view == "text" else block}

    return change


def with_block(view, block):
    return lambda chunk: {**chunk, view: block}


def with_indices(index, at=0):
    def change(chunk):
        X = chunk["text"]
        indices = X.indices.copy()
        indices[at] = index
        broken = sp.csr_array(X.shape)
        broken.data, broken.indices, broken.indptr = X.data, indices, X.indptr
        return {**chunk, "text": broken}

    return change


def with_indptr(chunk):
    X = chunk["text"]
    indptr = X.indptr.copy()
    indptr[3] = indptr[-1] + 5
    broken = sp.csr_array(X.shape)
    broken.data, broken.indices, broken.indptr = X.data, X.indices, indptr
    return {**chunk, "text": broken}


def renamed(chunk):
    return {"words": chunk["text"], "image": chunk["image"]}


# What is wrong, the error, and what its message must name.
BAD = {
    "NaN, dense": (with_value("image", 3, 2, np.nan), ValueError, "NaN.*'image', row 3, column 2"),
    "NaN, sparse": (with_value("text", 4, 6, np.nan), ValueError, "NaN.*'text', row 4, column 6"),
    "infinity": (with_value("image", 1, 0, np.inf), ValueError, "infinity.*'image', row 1, col"),
    "infinity, sparse": (with_value("text", 1, 0, np.inf), ValueError, "infinity.*'text', row 1"),
    "negative": (
        with_value("image", 2, 4, -0.5),
        ValueError,
        "'image' holds -0.5 at row 2, column 4.*clip.*shift",
    ),
    "negative, sparse": (
        with_value("text", 0, 7, -2.0),
        ValueError,
        "'text' holds -2 at row 0, column 7.*clip.*shift",
    ),
    "square overflows": (
        with_value("image", 0, 1, 1e200),
        ValueError,
        r"too large.*'image' holds 1e\+200 at row 0, column 1.*Scale",
    ),
    "square overflows, sparse": (
        with_value("text", 5, 1, 1e200),
        ValueError,
        r"too large.*'text' holds 1e\+200 at row 5, column 1.*Scale",
    ),
    "rows differ": (
        with_block("image", np.ones((3, 5))),
        ValueError,
        "numbers of rows.*'text': 15, 'image': 3",
    ),
    "view missing": (lambda chunk: {"text": chunk["text"]}, ValueError, "missing: 'image'"),
    "view renamed": (renamed, ValueError, "missing: 'text'; unknown: 'words'"),
    "view added": (with_block("sound", np.ones((15, 2))), ValueError, "unknown: 'sound'"),
    "no views": (lambda chunk: {}, ValueError, "at least one"),
    "features dropped": (
        lambda chunk: {**chunk, "image": chunk["image"][:, :4]},
        ValueError,
        "'image' has 4 features; the first chunk had 5",
    ),
    "features added": (
        with_block("text", np.ones((15, 9))),
        ValueError,
        "'text' has 9 features; the first chunk had 8",
    ),
    "no features": (with_block("image", np.ones((15, 0))), ValueError, "'image' has 0 features"),
    "no rows": (lambda chunk: {v: X[:0] for v, X in chunk.items()}, ValueError, "0 rows"),
    "objects": (
        with_block("image", np.array([[{}] * 5] * 15, dtype=object)),
        (TypeError, ValueError),
        "'image'",
    ),
    "strings": (
        with_block("image", np.array([["a"] * 5] * 15)),
        (TypeError, ValueError),
        "'image'",
    ),
    "complex": (with_block("image", np.ones((15, 5), complex)), (TypeError, ValueError), "'image'"),
    "1-D": (with_block("image", np.ones(15)), ValueError, "'image'.*1D"),
    "3-D": (with_block("image", np.ones((15, 5, 1))), ValueError, "'image'.*(dim|3D)"),
    "None": (with_block("image", None), (TypeError, ValueError), "'image'"),
    "index out of range": (with_indices(8), ValueError, "'text'.*corrupt"),
    "index far out of range": (with_indices(2**30), ValueError, "'text'.*corrupt"),
    "negative index": (with_indices(-1), ValueError, "'text'.*corrupt"),
    "bad indptr": (with_indptr, ValueError, "'text'.*corrupt"),
    "one array": (lambda chunk: np.ones((15, 13)), ValueError, "'X'"),
    "a string": (lambda chunk: "rows", (TypeError, ValueError), "."),
}
# Faults that only a second chunk can have.
LATER = {
    name
    for name in BAD
    if name.startswith(("view", "features", "one array"))  # what differs from the first chunk
}


@pytest.mark.parametrize("fault", BAD)
@every_solver
def test_a_failed_partial_fit_changes_nothing(make, fault):
    spoil, error, message = BAD[fault]
    model, untroubled = (make(3, random_state=0) for _ in range(2))
    for other in (model, untroubled):
        other.partial_fit(good(0)).partial_fit(good(1))
    before = everything(model)
    chunk = spoil(good(2))
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        model.partial_fit(chunk)
    assert everything(model) == before
    # Neither does a trace of it show later, such as in the random numbers.
    for seed in (3, 4):
        model.partial_fit(good(seed))
        untroubled.partial_fit(good(seed))
    assert everything(model) == everything(untroubled)


@pytest.mark.parametrize("fault", sorted(set(BAD) - LATER))
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_failed_first_call_leaves_nothing_behind(method, fault):
    spoil, error, message = BAD[fault]
    model, untroubled = (OMVFS(3, random_state=0) for _ in range(2))
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        getattr(model, method)(spoil(good(0)))
    assert everything(model) == everything(untroubled)
    with pytest.raises(NotFittedError):
        model.predict(good(0))
    assert everything(model.partial_fit(good(1))) == everything(untroubled.partial_fit(good(1)))


@pytest.mark.parametrize("fault", sorted(set(BAD) - LATER))
def test_a_failed_fit_leaves_the_earlier_fit(fault):
    spoil, error, message = BAD[fault]
    model = OMVFS(3, random_state=0).fit(good(0))
    before = everything(model)
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        model.fit(spoil(good(1)))
    assert everything(model) == before


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("method", ["predict", "explained_share", "score", "transform"])
def test_bad_rows_are_refused_by_every_method(method, fault):
    if method in ("score", "transform") and "negative" in fault and "index" not in fault:
        pytest.skip("columns can be taken whatever their sign")
    spoil, error, message = BAD[fault]
    model = OMVFS(3, random_state=0).fit(good(0))
    before = everything(model)
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        getattr(model, method)(spoil(good(1)))
    assert everything(model) == before


@every_solver
@pytest.mark.parametrize("method", ["partial_fit", "predict", "explained_share"])
@pytest.mark.parametrize("value", [1e25, 1e100])
def test_doubles_that_singles_cannot_hold_are_refused(make, method, value):
    # Learned in single precision; the square is finite as a double, but not as a single.
    model = make(3, random_state=0).partial_fit(good(0, dtype=np.float32))
    before = everything(model)
    chunk = with_value("image", 2, 3, value)(good(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a warning alone is not enough
        with pytest.raises(ValueError, match=r"'image'.*row 2, column 3"):
            getattr(model, method)(chunk)
    assert everything(model) == before


@every_solver
def test_values_that_overflow_only_together_with_others_do_not_poison_the_model(make):
    # Each chunk is fine by itself; what they add up to is too large for single precision.
    model = make(2, random_state=0)
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
    state = model._fitted.state
    for array in (state.statistics.masses, *state.statistics.B, *model.V_.values(), model.scores_):
        assert np.isfinite(array).all()
    assert model.V_["X"].any()


def test_column_names_that_changed_are_refused():
    X = pd.DataFrame(good(0)["image"], columns=list("abcde"))
    for first, second in [(X, X[list("abced")]), ({"x": X}, {"x": X[list("abced")]})]:
        model = OMVFS(2, random_state=0).partial_fit(first)
        before = everything(model)
        with pytest.raises(ValueError, match=r"(?i)feature"):
            model.partial_fit(second)
        assert everything(model) == before


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"start_U": np.ones((14, 3))}, r"start_U of shape \(14, 3\).*\(15, 3\)"),
        ({"start_U": np.ones((15, 2))}, r"start_U of shape \(15, 2\).*\(15, 3\)"),
        ({"start_U": -np.ones((15, 3))}, "start_U.*nonnegative"),
        ({"start_U": np.full((15, 3), np.nan)}, "start_U"),
        ({"start_U": "somewhere"}, "start_U"),
        ({"start_V": {"text": np.ones((8, 3))}}, "start_V.*'text'.*'image'"),
        (
            {"start_V": {"text": np.ones((8, 3)), "image": np.ones((5, 2))}},
            r"start_V of shape \(5, 2\) for view 'image'.*\(5, 3\)",
        ),
        (
            {"start_V": {"text": np.ones((8, 3)), "image": np.full((5, 3), np.inf)}},
            "start_V.*'image'",
        ),
        ({"start_V": [np.ones((8, 3)), np.ones((5, 3))]}, "start_V"),
        ({"start_V": np.ones((8, 3))}, "start_V"),
    ],
)
@every_solver
def test_bad_starts_are_refused(make, start, message):
    model = make(3, random_state=0)
    for seed in range(2):
        before = everything(model)
        with pytest.raises((TypeError, ValueError), match=message):
            model.partial_fit(good(seed), **start)
        assert everything(model) == before
        model.partial_fit(good(seed))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, FloatingPointError])
@pytest.mark.parametrize(
    ("make", "module", "name"),
    [
        (OMVFS, omvfs.model.constrained.step, "_terms"),
        (OMVFS, omvfs.model.constrained.step, "_votes"),
        (OMVFS, reservoir.Reservoir, "update"),
        (OMVFS.as_published, omvfs.model.paper.step, "smoothness"),
    ],
)
def test_an_interruption_anywhere_changes_nothing(monkeypatch, make, module, name, error):
    def interrupt(*args, **kwargs):
        raise error("now")

    model, untroubled = (make(3, random_state=0) for _ in range(2))
    for other in (model, untroubled):
        other.partial_fit(good(0))
    before = everything(model)
    with monkeypatch.context() as patch:
        patch.setattr(module, name, interrupt)
        with pytest.raises(error, match="now"):
            model.partial_fit(good(1))
    assert everything(model) == before
    assert everything(model.partial_fit(good(2))) == everything(untroubled.partial_fit(good(2)))


def test_an_interruption_while_reclustering_changes_nothing(monkeypatch):
    model = OMVFS(3, random_state=0)
    for seed in range(3):
        model.partial_fit(good(seed))
    before = everything(model)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt("now")

    with monkeypatch.context() as patch:
        patch.setattr(omvfs.model.constrained.step, "recluster", interrupt)
        with pytest.raises(KeyboardInterrupt, match="now"):
            model.partial_fit(good(3))
    assert everything(model) == before
    assert model.partial_fit(good(3)).history_[-1].reclustered


@pytest.mark.parametrize("at", range(2))
def test_an_interruption_while_a_chunk_is_committed_changes_nothing(monkeypatch, at):
    class Interrupting(np.ndarray):
        """Raises when it is written to for the n-th time, whichever array it is."""

        left = at

        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            Interrupting.left -= 1
            if Interrupting.left == -1:
                raise KeyboardInterrupt("now")

    model = OMVFS(3, random_state=0).partial_fit(good(0))
    before = everything(model)
    for view in model._fitted.state.statistics.views:
        object.__setattr__(view, "B", view.B.view(Interrupting))
    with pytest.raises(KeyboardInterrupt, match="now"):
        model.partial_fit(good(1))
    assert everything(model) == before


# Unusual, and welcome


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
        assert model.n_rows_seen_ == n_rows + 20
        assert np.isfinite(model.scores_).all()
        # As printed, V once zero is zero for ever.
        assert model.scores_.any() or (model.solver, when, value) == ("paper", "first", 0)


@every_solver
def test_a_stream_of_nothing_but_zeros_ranks_by_place(make):
    model = make(3, batch_size=5, random_state=0).fit(Views([np.zeros((20, 4)), np.zeros((20, 2))]))
    assert not model.scores_.any()
    np.testing.assert_array_equal(model.ranking_, [1, 2, 3, 4, 1, 2])
    zeros = [np.zeros((3, 4)), np.zeros((3, 2))]
    assert model.explained_share(zeros) == model.score(zeros) == 0


# Negative values with negative="shift"


def test_sparse_negative_values_cannot_be_shifted():
    chunk = with_value("text", 3, 1, -1.0)(good(0))
    for before in (0, 1):
        model = OMVFS(3, negative="shift", random_state=0)
        for seed in range(before):
            model.partial_fit(good(seed))
        known = everything(model)
        with pytest.raises(ValueError, match=r"'text' is sparse.*dense.*clip"):
            model.partial_fit(chunk)
        assert everything(model) == known


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_a_view_that_was_sparse_and_turns_negative_is_raised_or_refused(kind):
    X = counts(np.random.default_rng(0), 30, 5)
    model = OMVFS(2, negative="shift", random_state=0).partial_fit(kind(X))
    expected = OMVFS(2, negative="shift", random_state=0).partial_fit(X)
    before = everything(model)
    try:
        model.partial_fit(X - 0.2)
    except ValueError as error:
        assert "'X'" in str(error)  # noqa: PT017 - either way is right
        assert everything(model) == before
    else:
        expected.partial_fit(X - 0.2)
        np.testing.assert_allclose(model.scores_, expected.scores_)
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("method", ["predict", "explained_share"])
def test_sparse_rows_of_a_raised_view_are_read_or_refused(kind, method):
    X = counts(np.random.default_rng(0), 30, 5)
    model = OMVFS(2, negative="shift", random_state=0).fit(X - 0.2)
    try:
        got = getattr(model, method)(kind(X))
    except ValueError as error:
        assert "'X'" in str(error)  # noqa: PT017 - either way is right
    else:
        np.testing.assert_allclose(got, getattr(model, method)(X))


# Parameters

BAD_PARAMETERS = [
    ("n_clusters", [0, -1, 2.0, "3", None, True, np.nan]),
    ("solver", ["newton", None, 1]),
    ("criterion", ["best", None, 0]),
    ("diversity", [-0.1, np.nan, np.inf, "2", None, True]),
    ("recency", [-0.1, 1.1, np.nan, np.inf, "2", None, True]),
    ("graph_weight", [-1.0, np.nan, np.inf, "1", None, {"text": 1.0}, {"a": 1.0, "b": 2.0}]),
    ("graph_weight", [{"text": -1.0, "image": 1.0}, {"text": "x", "image": 1.0}]),
    ("sparsity", [-1.0, np.nan, np.inf, "1", None, {"text": 1.0}, {"a": 1.0, "b": 2.0}]),
    ("orthogonality", [-1.0, np.nan, np.inf, "1", None]),
    ("batch_size", [0, -5, 2.5, "10", None, True]),
    ("window", [0, -1, 1.5, "2", True]),
    ("memory", [-1, 1.5, "2", None]),
    ("forgetting", [0.0, -0.5, 1.1, np.nan, "1", None]),
    ("graph", ["dense", None, 3]),
    ("n_neighbors", [0, -1, 2.5, None]),
    ("scale_columns", ["no", None, 2]),
    ("negative", ["drop", "allow", None]),
    ("n_init", [0, 1.5, None]),
    ("max_iter", [0, -1, 2.5, "5"]),
    ("tol", [-1e-3, np.nan, "1", None]),
    ("random_state", ["seed", -1]),
    ("views", [[8, 5]]),  # the data comes as views already
]


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in BAD_PARAMETERS for value in values],
    ids=lambda value: repr(value),
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_bad_parameter_is_named(method, name, value):
    model = OMVFS(**{"n_clusters": 3, name: value})
    before = everything(model)
    pattern = "seed|random_state|Seed" if name == "random_state" else name
    with pytest.raises((TypeError, ValueError), match=pattern):
        getattr(model, method)(good(0))
    assert everything(model) == before


def test_parameters_are_not_touched_before_fit():
    value = {"text": 1, "image": 2}
    model = OMVFS("three", sparsity=value)
    assert model.n_clusters == "three"
    assert model.sparsity is value


def test_numpy_numbers_are_numbers():
    params = {"n_clusters": np.int64(3), "sparsity": np.float32(0.5), "forgetting": np.float64(0.9)}
    model = OMVFS(**params, random_state=np.int32(0)).fit(good(0))
    assert isinstance(model.history_, deque)


def test_squares_that_overflow_are_refused_before_anything_is_learned():
    model = OMVFS(2, random_state=0)
    with pytest.raises(ValueError, match="so large that squares of their sums"):
        model.partial_fit(np.full((4, 3), 1e78))
    assert not hasattr(model, "history_")
