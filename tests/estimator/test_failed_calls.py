"""Bad input is a clear error, and the model is bit for bit what it was."""

import re
import warnings
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from faults import SOLVERS, every_solver, everything, good, with_value
from omvfs import OMVFS


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


# Every fault once, and every way to learn or to ask several times.
METHODS = ["predict", "explained_share", "score", "transform"]


@pytest.mark.parametrize(("fault", "make"), list(zip(BAD, cycle(SOLVERS.values()), strict=False)))
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


@pytest.mark.parametrize(
    ("fault", "method"),
    list(zip(sorted(set(BAD) - LATER), cycle(["fit", "partial_fit"]), strict=False)),
)
def test_a_failed_first_call_leaves_nothing_behind(method, fault):
    spoil, error, message = BAD[fault]
    model, untroubled = (OMVFS(3, random_state=0) for _ in range(2))
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        getattr(model, method)(spoil(good(0)))
    assert everything(model) == everything(untroubled)
    with pytest.raises(NotFittedError):
        model.predict(good(0))
    assert everything(model.partial_fit(good(1))) == everything(untroubled.partial_fit(good(1)))


@pytest.mark.parametrize("fault", ["NaN, dense", "square overflows", "rows differ", "None"])
def test_a_failed_fit_leaves_the_earlier_fit(fault):
    spoil, error, message = BAD[fault]
    model = OMVFS(3, random_state=0).fit(good(0))
    before = everything(model)
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        model.fit(spoil(good(1)))
    assert everything(model) == before


@pytest.mark.parametrize(("fault", "method"), list(zip(BAD, cycle(METHODS), strict=False)))
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
@pytest.mark.parametrize(("method", "value"), [("partial_fit", 1e25), ("predict", 1e100)])
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


def test_squares_that_overflow_are_refused_before_anything_is_learned():
    model = OMVFS(2, view_weight=None, random_state=0)
    with pytest.raises(ValueError, match="so large that squares of their sums"):
        model.partial_fit(np.full((4, 3), 1e78))
    assert not hasattr(model, "history_")


def test_column_names_that_changed_are_refused():
    X = pd.DataFrame(good(0)["image"], columns=list("abcde"))
    for first, second in [(X, X[list("abced")]), ({"x": X}, {"x": X[list("abced")]})]:
        model = OMVFS(2, random_state=0).partial_fit(first)
        before = everything(model)
        with pytest.raises(ValueError, match=r"(?i)feature"):
            model.partial_fit(second)
        assert everything(model) == before
