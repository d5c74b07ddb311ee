"""A call that fails or is interrupted leaves the model bit for bit as it was."""

import copy
import re
import warnings
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import omvfs
from faults import SOLVERS, every_solver, everything, good, with_value
from interrupts import interrupted_at, n_lines
from omvfs import OMVFS, OMVFSPaper, selector
from omvfs.baselines import FSDS, MCFS
from support import fingerprint


def with_block(view, block):
    return lambda chunk: {**chunk, view: block}


def corrupt(part, at, value):
    def change(chunk):
        broken = chunk["text"].copy()
        getattr(broken, part)[at] = value
        return {**chunk, "text": broken}

    return change


def renamed(chunk):
    return {"words": chunk["text"], "image": chunk["image"]}


# What is wrong, and what the message must name.
BAD = {
    "NaN, dense": (with_value("image", 3, 2, np.nan), "NaN.*'image', row 3, column 2"),
    "NaN, sparse": (with_value("text", 4, 6, np.nan), "NaN.*'text', row 4, column 6"),
    "infinity": (with_value("image", 1, 0, np.inf), "infinity.*'image', row 1, col"),
    "negative": (with_value("image", 2, 4, -0.5), "'image' holds -0.5 at row 2, column 4.*clip"),
    "negative, sparse": (with_value("text", 0, 7, -2.0), "'text' holds -2 at row 0, .*clip.*shift"),
    "square overflows": (
        with_value("image", 0, 1, 1e200),
        r"too large.*'image' holds 1e\+200 at row 0, column 1.*Scale",
    ),
    "square overflows, sparse": (
        with_value("text", 5, 1, 1e200),
        r"too large.*'text' holds 1e\+200 at row 5, column 1.*Scale",
    ),
    "rows differ": (with_block("image", np.ones((3, 5))), "of rows.*'text': 15, 'image': 3"),
    "view missing": (lambda chunk: {"text": chunk["text"]}, "missing: 'image'"),
    "view renamed": (renamed, "missing: 'text'; unknown: 'words'"),
    "view added": (with_block("sound", np.ones((15, 2))), "unknown: 'sound'"),
    "no views": (lambda chunk: {}, "at least one"),
    "features dropped": (
        with_block("image", np.ones((15, 4))),
        "'image' has 4 features; the first chunk had 5",
    ),
    "no features": (with_block("image", np.ones((15, 0))), "'image' has 0 features"),
    "no rows": (lambda chunk: {v: X[:0] for v, X in chunk.items()}, "0 rows"),
    "1-D": (with_block("image", np.ones(15)), "'image'.*1D"),
    "3-D": (with_block("image", np.ones((15, 5, 1))), "'image'.*(dim|3D)"),
    "index out of range": (corrupt("indices", 0, 8), "'text'.*corrupt"),
    "bad indptr": (corrupt("indptr", 3, 10**6), "'text'.*corrupt"),
    "one array": (lambda chunk: np.ones((15, 13)), "'X'"),
    "type: objects": (with_block("image", np.array([[{}] * 5] * 15, dtype=object)), "'image'"),
    "type: strings": (with_block("image", np.array([["a"] * 5] * 15)), "'image'"),
    "type: complex": (with_block("image", np.ones((15, 5), complex)), "'image'"),
    "type: None": (with_block("image", None), "'image'"),
    "type: a string": (lambda chunk: "rows", "."),
}

# Faults that only a second chunk can have.
LATER = {name for name in BAD if name.startswith(("view", "features", "one array"))}


@pytest.mark.parametrize(("fault", "make"), list(zip(BAD, cycle(SOLVERS.values()), strict=False)))
def test_rows_with_a_fault_are_refused_by_every_method_and_change_nothing(make, fault):
    spoil, message = BAD[fault]
    error = (TypeError, ValueError) if fault.startswith("type") else ValueError

    def refused(method, chunk):
        with pytest.raises(error, match=re.compile(message, re.DOTALL)):
            getattr(model, method)(chunk)

    model, untroubled = (make(3, random_state=0) for _ in range(2))
    learn = ["partial_fit"] if fault in LATER else ["fit", "partial_fit"]
    if fault not in LATER:
        for method in learn:
            refused(method, spoil(good(0)))
        assert everything(model) == everything(untroubled)
        with pytest.raises(NotFittedError):
            model.predict(good(0))
    for each in (model, untroubled):
        each.partial_fit(good(0)).partial_fit(good(1))
    before = everything(model)
    assert before == everything(untroubled)
    ask = ["predict", "explained_share"]
    if not fault.startswith("negative,") and fault != "negative":
        ask += ["score", "transform"]  # columns can be taken whatever their sign
    for method in learn + ask:
        refused(method, spoil(good(2)))
        assert everything(model) == before
    # Neither does a trace of it show later, such as in the random numbers.
    for each in (model, untroubled):
        each.partial_fit(good(3))
    assert everything(model) == everything(untroubled)


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
    state = model._known.state
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


# Interruptions: a call changes nothing, or all that it was to change.


def small(rng, **params):
    return OMVFS(3, random_state=rng, n_init=2, max_iter=2, batch_size=10, **params)


OTHER_VIEWS = {"sound": good(1)["image"], "text": good(1)["text"]}
# Of which model, given a random state, what is called.
CALLS = {
    "first chunk": (small, "partial_fit", good(0)),
    "first chunk, paper": (
        lambda rng: OMVFSPaper(3, random_state=rng, max_iter=2),
        "partial_fit",
        good(0),
    ),
    "second chunk": (lambda rng: small(rng).partial_fit(good(0)), "partial_fit", good(1)),
    "clustered anew": (
        lambda rng: small(rng, sample_size=20, half_life=20).partial_fit(good(0)),
        "partial_fit",
        good(1),
    ),
    "other views": (lambda rng: small(rng).partial_fit(good(0)), "fit", OTHER_VIEWS),
    "sketch": (lambda rng: FSDS(2).partial_fit(good(0)), "partial_fit", good(1)),
    "offline": (lambda rng: MCFS(2, random_state=rng), "fit", good(0)),
}


@pytest.mark.parametrize(("make", "method", "X"), CALLS.values(), ids=CALLS.keys())
def test_interrupted_at_any_line_all_is_as_before_or_as_after(make, method, X):
    library = omvfs.__path__[0]

    def known(model, rng):
        own = {name: each for name, each in everything(model).items() if name != "random_state"}
        return own, fingerprint(rng.get_state())

    def fresh():
        rng = np.random.RandomState(0)
        model = make(rng)
        return model, rng, lambda: getattr(model, method)(X)

    fresh()[2]()  # what is done once in a process is done
    model, rng, call = fresh()
    before = known(model, rng)
    total = n_lines(call, library)
    possible = before, known(model, rng)
    assert possible[0] != possible[1]
    # Lines that are evenly spaced, and the last ones, which assign what was learned.
    for at in {*range(1, total + 1, max(1, total // 6)), *range(max(1, total - 40), total + 1)}:
        model, rng, call = fresh()
        assert interrupted_at(at, call, library)
        assert known(model, rng) in possible, f"half a state when interrupted at line {at}"


def test_a_refused_first_chunk_draws_nothing():
    rng = np.random.RandomState(7)
    before = fingerprint(rng.get_state())
    model = OMVFS(2, view_weight=None, random_state=rng)
    for method in (model.partial_fit, model.fit):
        # Too large only once they are squared and added up.
        with pytest.raises(ValueError, match="so large that squares of their sums"):
            method(np.full((4, 3), 1e78))
        assert fingerprint(rng.get_state()) == before
        assert not hasattr(model, "history_")
    model.partial_fit(np.eye(4))
    assert fingerprint(rng.get_state()) != before


@pytest.mark.parametrize("make", [OMVFS, FSDS])
def test_a_copy_learns_for_itself(make):
    model = make(2).partial_fit(good(0))
    before = everything(model)
    twin = copy.copy(model).partial_fit(good(1))
    assert (model.n_samples_seen_, twin.n_samples_seen_) == (15, 30)
    assert everything(model) == before


def test_the_history_keeps_the_last_chunks(monkeypatch):
    monkeypatch.setattr(selector, "HISTORY", 3)
    model = OMVFS(2, random_state=0)
    for n in range(10, 15):
        model.partial_fit(good(n, n_rows=n))
    assert [info.n_rows for info in model.history_] == [12, 13, 14]
