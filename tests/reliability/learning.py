"""Learning that is interrupted at any line."""

import copy
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import omvfs
from faults import everything, good
from interrupts import interrupted_at, n_lines
from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import FSDS, RandomScore
from reliability.attempts import Outcome, tried
from support import fingerprint

STRIDE, LAST = 7919, 40  # a prime; lines at the end
HOME = str(Path(omvfs.__file__).parent)


def _fitted(n: int, make: Callable[..., OMVFS] = OMVFS, **named: Any) -> OMVFS:
    model = make(3, random_state=0, **named)
    for seed in range(n):
        model.partial_fit(good(seed))
    return model


def _seeded() -> OMVFS:
    return OMVFS(3, random_state=np.random.RandomState(3))


def _other_views(model: OMVFS) -> OMVFS:
    return model.fit({"one": good(7)["image"], "other": good(7)["text"]})


Learn = Callable[[Any], Any]
# What is learned by whom.
CASES: dict[str, tuple[Callable[[], Any], Learn]] = {
    "first chunk, of a RandomState": (_seeded, lambda m: m.partial_fit(good(0))),
    "re-clustering": (lambda: _fitted(3), lambda m: m.partial_fit(good(3))),
    "fit": (lambda: OMVFS(3, batch_size=8, random_state=0), lambda m: m.fit(good(0))),
    "fit of other views": (lambda: _fitted(2), _other_views),
    "prepared": (
        lambda: _fitted(1, prepare=["tfidf", "scale"], half_life=50),
        lambda m: m.partial_fit(good(1)),
    ),
    "as published": (
        lambda: _fitted(1, OMVFSPaper, max_iter=3),
        lambda m: m.partial_fit(good(1)),
    ),
    "a sketch": (lambda: FSDS(2).partial_fit(good(0)), lambda m: m.partial_fit(good(1))),
    "all at once": (
        lambda: RandomScore(random_state=np.random.RandomState(3)),
        lambda m: m.fit(good(0)),
    ),
}


def state(model: Any) -> Any:
    """Return all that is learned, and where a generator that was passed stands."""
    passed = getattr(model, "random_state", None)
    if isinstance(passed, np.random.RandomState):
        passed = fingerprint(list(passed.get_state()))
    held = everything(model)
    held.pop("random_state", None)
    return held, passed


@cache
def _known(case: str) -> tuple[Any, int, tuple[Any, Any], tuple[Any, Any]]:
    """Return a model, how many lines its learning takes, and it before and after, and later."""
    make, learn = CASES[case]
    model = make()
    before, after = copy.deepcopy(model), copy.deepcopy(model)
    lines = n_lines(lambda: learn(after), HOME)
    states = state(before), state(after)
    learn(before)
    learn(after)
    return model, lines, states, (state(before), state(after))


def interrupted(numbers: range, seed: int) -> Iterator[Outcome]:
    """Interrupt learning at one of its lines: it is as before or as after, never half."""
    for number in numbers:
        turn, place = divmod(number, len(CASES))
        case = list(CASES)[place]
        lines = _known(case)[1]
        # The last lines, which assign what was learned, and then lines far from each other.
        n = lines - turn if turn < LAST else 1 + (turn * STRIDE + seed) % lines
        yield tried(f"{number}: line {n} of {lines}, {case}", lambda c=case, n=n: _once(c, n))


def _once(case: str, n: int) -> str:
    whole, _, states, later = _known(case)
    learn, model = CASES[case][1], copy.deepcopy(whole)
    if not interrupted_at(n, lambda: learn(model), HOME):
        return "not interrupted"
    found = state(model)
    if found not in states:
        parts = {k for k in {**found[0], **states[0][0]} if found[0].get(k) != states[0][0].get(k)}
        return f"half a state: {sorted(parts)} are not as before"
    learn(model)
    return "" if state(model) == later[states.index(found)] else "learns on otherwise"
