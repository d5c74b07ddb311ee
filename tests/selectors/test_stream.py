"""What a chunk changes is taken as a whole or not at all, however often that is interrupted."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from omvfs import OMVFS
from omvfs.baselines import FSDS, LaplacianScore
from omvfs.model.state import ChunkInfo, Update
from omvfs.selector import HISTORY, Journal
from support import counts, fingerprint


@dataclass(frozen=True)
class Count:
    """All that is known: a number, and a cell that is shared and written in place."""

    n_rows: int
    cell: list


class Interrupted(BaseException):
    """Neither an error nor anything that a program expects."""


class Fragile(Update):
    """An update of a shared cell, interrupted whenever a plan says so, before or after writing."""

    def __init__(self, known, info, was, now, plan):
        super().__init__(known, info)
        for name, value in {"was": was, "now": now, "plan": plan}.items():
            object.__setattr__(self, name, value)

    def _write(self, value):
        for write in (False, True):
            if self.plan and self.plan.pop(0):
                raise Interrupted
            if not write:
                self.known.cell[0] = value

    def commit(self):
        self._write(self.now)
        return self.known

    def rollback(self):
        self._write(self.was)


def info(n):
    return ChunkInfo(n, 0.0, 0.0, 0.0, 0.0, 1)


@given(plans=st.lists(st.lists(st.booleans(), max_size=8), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_whatever_interrupts_and_however_often_one_or_the_other_is_known(plans):
    cell = [0]
    journal, expected = Journal(Count(0, cell)), 0
    for plan in plans:
        known = known_at_last(journal)
        update = Fragile(Count(expected + 1, cell), info(1), expected, expected + 1, list(plan))
        assert known.n_rows == expected
        try:
            journal.take(update)
            expected += 1
        except Interrupted:
            pass
        # Who looks next may be interrupted too, and looks again.
        known = known_at_last(journal)
        assert known.n_rows == known.cell[0] == len(journal.history) == expected


def known_at_last(journal):
    for _ in range(20):
        try:
            return journal.known
        except Interrupted:
            continue
    raise AssertionError("never done with rolling back")


def test_the_history_keeps_the_last_chunks():
    journal = Journal(Count(0, [0]))
    for n in range(HISTORY + 3):
        journal.take(Update(Count(n, [0]), info(n)))
    assert len(journal.history) == HISTORY
    assert [each.n_rows for each in (journal.history[0], journal.history[-1])] == [3, HISTORY + 2]


@pytest.mark.parametrize("interruptions", [1, 2, 3])
@pytest.mark.parametrize("at", range(2))
def test_a_model_interrupted_again_while_it_rolls_back_is_as_it_was(at, interruptions):
    class Interrupting(np.ndarray):
        """Raises after it was written to, a few times on end, whichever array it is."""

        plan = ()

        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            if Interrupting.plan and Interrupting.plan.pop(0):
                raise KeyboardInterrupt("now")

    rng = np.random.default_rng(0)
    chunks = [{"a": counts(rng, 20, 6), "b": counts(rng, 20, 4)} for _ in range(3)]
    models = [OMVFS(2, random_state=0).partial_fit(chunks[0]) for _ in range(2)]
    model, untroubled = models
    before = fingerprint(model._journal)
    for view in model._fitted.state.statistics.views:
        object.__setattr__(view, "B", view.B.view(Interrupting))
    Interrupting.plan = [False] * at + [True] * interruptions
    with pytest.raises(KeyboardInterrupt, match="now"):
        model.partial_fit(chunks[1])
    for _ in range(interruptions):
        try:
            assert fingerprint(model._journal) == before
            break
        except KeyboardInterrupt:
            continue
    assert fingerprint(model._journal) == before
    for each in models:
        each.partial_fit(chunks[2])
    assert fingerprint(model._journal) == fingerprint(untroubled._journal)


@pytest.mark.parametrize("make", [OMVFS, FSDS])
def test_a_copy_learns_for_itself(make):
    rng = np.random.default_rng(0)
    model = make(2).partial_fit(counts(rng, 20, 6))
    before = fingerprint(model._journal)
    twin = copy.copy(model).partial_fit(counts(rng, 30, 6))
    assert (model.n_samples_seen_, twin.n_samples_seen_) == (20, 50)
    assert fingerprint(model._journal) == before


@pytest.mark.parametrize("make", [OMVFS, FSDS, LaplacianScore])
def test_a_fit_interrupted_at_its_end_is_none(monkeypatch, make):
    rng = np.random.default_rng(0)
    first, other = counts(rng, 20, 6), {"a": counts(rng, 20, 4), "b": counts(rng, 20, 3)}
    model = make(n_features_per_view=2).fit(first)
    before = {name: fingerprint(value) for name, value in vars(model).items()}
    genuine = type(model)._remember

    def interrupted(self, X, batch):
        genuine(self, X, batch)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model), "_remember", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(other)
    assert {name: fingerprint(value) for name, value in vars(model).items()} == before
    assert model.transform(first).shape == (20, 2)
    with pytest.raises(KeyboardInterrupt):
        (new := make()).fit(first)
    with pytest.raises(NotFittedError):
        new.transform(first)


def test_what_can_be_worked_out_is_when_it_is_asked_for_and_only_once():
    asked = []

    def origin():
        asked.append(1)
        if len(asked) == 1:
            raise Interrupted
        return Count(7, [7]), [info(7)]

    journal = Journal.of(origin)
    assert journal.origin is origin
    assert not asked
    with pytest.raises(Interrupted):
        journal.known  # noqa: B018
    assert journal.known.n_rows == 7
    assert list(journal.history) == [info(7)]
    assert len(asked) == 2
    # An update that does not come about leaves all as it was.
    with pytest.raises(Interrupted):
        journal.take(Fragile(Count(9, journal.known.cell), info(2), 7, 9, [True]))
    assert (journal.known.n_rows, journal.origin) == (7, origin)
    journal.take(Fragile(Count(9, journal.known.cell), info(2), 7, 9, []))
    assert (journal.known.n_rows, journal.origin) == (9, None)
    assert list(journal.history) == [info(7), info(2)]
