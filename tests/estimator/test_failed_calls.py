"""A call that fails or is interrupted leaves the model bit for bit as it was."""

import copy
import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from faults import everything, good, with_value
from omvfs import OMVFS, selector
from omvfs.baselines import FSDS
from support import fingerprint


def with_block(view, block):
    return lambda chunk: {**chunk, view: block}


def corrupt(chunk):
    broken = chunk["text"].copy()
    broken.indptr[3] = 10**6
    return {**chunk, "text": broken}


def renamed(chunk):
    return {"words": chunk["text"], "image": chunk["image"]}


# What is wrong, and what the message must name; tests/data has all that is refused.
BAD = {
    "NaN": (with_value("image", 3, 2, np.nan), "NaN.*'image', row 3, column 2"),
    "square overflows": (
        with_value("image", 0, 1, 1e200),
        r"too large.*'image' holds 1e\+200 at row 0, column 1.*Scale",
    ),
    "rows differ": (with_block("image", np.ones((3, 5))), "of rows.*'text': 15, 'image': 3"),
    "view renamed": (renamed, "missing: 'text'; unknown: 'words'"),
    "features dropped": (
        with_block("image", np.ones((15, 4))),
        "'image' has 4 features; the first chunk had 5",
    ),
    "no rows": (lambda chunk: {v: X[:0] for v, X in chunk.items()}, "0 rows"),
    "one array": (lambda chunk: np.ones((15, 13)), "'X'"),
    "corrupt": (corrupt, "'text'.*corrupt"),
    "type: strings": (with_block("image", np.array([["a"] * 5] * 15)), "'image'"),
}

# Faults that only a second chunk can have.
LATER = {name for name in BAD if name.startswith(("view", "features", "one array"))}


@pytest.mark.parametrize("fault", BAD)
def test_rows_with_a_fault_are_refused_by_every_method_and_change_nothing(fault):
    spoil, message = BAD[fault]
    error = (TypeError, ValueError) if fault.startswith("type") else ValueError

    def refused(method, chunk):
        with pytest.raises(error, match=re.compile(message, re.DOTALL)):
            getattr(model, method)(chunk)

    model, untroubled = (OMVFS(3, random_state=0) for _ in range(2))
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
    for method in (*learn, "predict", "score", "transform"):
        refused(method, spoil(good(2)))
        assert everything(model) == before
    # Neither does a trace of it show later, such as in the random numbers.
    for each in (model, untroubled):
        each.partial_fit(good(3))
    assert everything(model) == everything(untroubled)


def test_values_that_overflow_only_together_with_others_do_not_poison_the_model():
    # Each chunk is fine by itself; the squares of their sums are too large.
    model, rng = OMVFS(2, random_state=0), np.random.default_rng(0)
    chunk = 2e152 * rng.random((4, 3))
    while model.partial_fit(chunk)._known.state.views[0].norms.max() < 1e308:
        assert model.n_samples_seen_ < 1000
    before = everything(model)
    with pytest.raises(ValueError, match="so large that their sums over the stream overflow"):
        model.partial_fit(20 * chunk)
    assert everything(model) == before
    for view in model._known.state.views:
        assert all(np.isfinite(array).all() for array in (view.S, view.Q, view.norms))


@pytest.mark.parametrize("power", [-80, 200])
def test_values_beyond_single_precision_are_ranked_as_others(power):
    X = np.random.default_rng(0).random((40, 5))
    plain, other = (OMVFS(2, random_state=0).fit(c * X) for c in (1.0, 2.0**power))
    np.testing.assert_allclose(other.scores_, plain.scores_, rtol=1e-5)


def test_a_refused_first_chunk_draws_nothing():
    rng = np.random.RandomState(7)
    before = fingerprint(rng.get_state())
    model = OMVFS(2, random_state=rng)
    for method in (model.partial_fit, model.fit):
        # Too large only once they are added up.
        with pytest.raises(ValueError, match="so large that their sums"):
            method(np.full((4, 3), 2.5e153))
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
