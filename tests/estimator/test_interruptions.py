"""A call that is interrupted, wherever it is, changes nothing, or all that it was to change."""

import numpy as np
import pytest

import omvfs
from faults import everything, good
from interrupts import interrupted_at, n_lines
from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import FSDS, MCFS
from omvfs.evaluation import MultiViewSphericalKMeans
from omvfs.model.constrained import step as constrained_step
from omvfs.model.paper import updates as paper_step
from omvfs.model.stream import reservoir
from support import fingerprint

LIBRARY = omvfs.__path__[0]


@pytest.mark.parametrize(
    ("make", "module", "name", "error"),
    [
        (OMVFS, constrained_step, "_terms", KeyboardInterrupt),
        (OMVFS, constrained_step, "_votes", MemoryError),
        (OMVFS, reservoir.Reservoir, "update", FloatingPointError),
        (OMVFSPaper, paper_step, "smoothness", KeyboardInterrupt),
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
        patch.setattr(constrained_step, "recluster", interrupt)
        with pytest.raises(KeyboardInterrupt, match="now"):
            model.partial_fit(good(3))
    assert everything(model) == before
    assert model.partial_fit(good(3)).history_[-1].reclustered


def other_views(seed):
    return {"sound": good(seed)["image"], "text": good(seed)["text"]}


quick = {"n_init": 2, "max_iter": 2, "batch_size": 10}
# What is called, and of which model, given a random state.
CALLS = {
    "first chunk": (lambda rng: OMVFS(3, random_state=rng, **quick), "partial_fit", good(0)),
    "first chunk, paper": (
        lambda rng: OMVFSPaper(3, random_state=rng, max_iter=2, batch_size=10),
        "partial_fit",
        good(0),
    ),
    "first chunk, one array": (
        lambda rng: OMVFS(3, views=[2, 3], random_state=rng, **quick),
        "partial_fit",
        good(0)["image"],
    ),
    "second chunk": (
        lambda rng: OMVFS(3, random_state=rng, **quick).partial_fit(good(0)),
        "partial_fit",
        good(1),
    ),
    "clustered anew": (
        lambda rng: OMVFS(3, random_state=rng, sample_size=20, **quick).partial_fit(good(0)),
        "partial_fit",
        good(1),
    ),
    "faded": (
        lambda rng: OMVFS(3, random_state=rng, half_life=20, **quick).partial_fit(good(0)),
        "partial_fit",
        good(1),
    ),
    "other views": (
        lambda rng: OMVFS(3, random_state=rng, **quick).partial_fit(good(0)),
        "fit",
        other_views(1),
    ),
    "one array after views": (
        lambda rng: OMVFS(3, random_state=rng, **quick).partial_fit(good(0)),
        "fit",
        good(1)["image"],
    ),
    "FSDS": (lambda rng: FSDS(2, batch_size=10).partial_fit(good(0)), "partial_fit", good(1)),
    "FSDS, other views": (lambda rng: FSDS(2, batch_size=10).fit(good(0)), "fit", other_views(1)),
    "clusters": (
        lambda rng: MultiViewSphericalKMeans(2, n_init=2, random_state=rng),
        "fit",
        good(0),
    ),
    "offline": (lambda rng: MCFS(2, random_state=rng), "fit", good(0)),
}


def spread(n, most=8):
    """Return numbers from 1 to n: some of them evenly spaced, and the last ones all."""
    return sorted({*range(1, n + 1, max(1, n // most)), *range(max(1, n - 10), n + 1)})


@pytest.mark.parametrize(("make", "method", "X"), CALLS.values(), ids=CALLS.keys())
def test_interrupted_at_any_line_all_is_as_before_or_as_after(make, method, X):
    def known(model, rng):
        held = {name: each for name, each in everything(model).items() if name != "random_state"}
        return held, fingerprint(rng.get_state())

    def fresh():
        rng = np.random.RandomState(0)
        model = make(rng)
        return model, rng, lambda: getattr(model, method)(X)

    model, rng, call = fresh()
    before = known(model, rng)
    total = n_lines(call, LIBRARY)
    possible = before, known(model, rng)
    assert possible[0] != possible[1]
    for at in spread(total):
        model, rng, call = fresh()
        assert interrupted_at(at, call, LIBRARY)
        assert known(model, rng) in possible, f"half a state when interrupted at line {at}"


def test_a_refused_first_chunk_draws_nothing():
    rng = np.random.RandomState(7)
    before = fingerprint(rng.get_state())
    model = OMVFS(2, view_weight=None, random_state=rng)
    for method in (model.partial_fit, model.fit):
        # Too large only once they are squared and added up.
        with pytest.raises(ValueError, match="so large"):
            method(np.full((4, 3), 1e78))
        assert fingerprint(rng.get_state()) == before
    model.partial_fit(np.eye(4))
    assert fingerprint(rng.get_state()) != before
