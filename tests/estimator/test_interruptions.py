"""A call that is interrupted, wherever it is, changes nothing."""

import numpy as np
import pytest

from faults import everything, good
from omvfs import OMVFS
from omvfs.model.constrained import step as constrained_step
from omvfs.model.paper import step as paper_step
from omvfs.model.stream import reservoir


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, FloatingPointError])
@pytest.mark.parametrize(
    ("make", "module", "name"),
    [
        (OMVFS, constrained_step, "_terms"),
        (OMVFS, constrained_step, "_votes"),
        (OMVFS, reservoir.Reservoir, "update"),
        (OMVFS.as_published, paper_step, "smoothness"),
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
    state = model._fitted.state
    for view in state.statistics.views:
        object.__setattr__(view, "B", view.B.view(Interrupting))
    with pytest.raises(KeyboardInterrupt, match="now"):
        model.partial_fit(good(1))
    assert everything(model) == before
