"""A planted stream that the core has learned from."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from omvfs.datasets import Planted, make_planted
from omvfs.model.arrays import Block
from omvfs.model.learning import Answers, Settings, State, step

Learn = Callable[..., Answers]


def learned(
    X: Sequence[Block], n_clusters: int, present: np.ndarray | None = None, batch_size: int = 500
) -> Answers:
    """Return what follows from rows by view, with a sample of 400 of them."""
    settings = Settings(n_clusters, sample_size=400)
    state = State.empty([X_v.shape[1] for X_v in X], settings)
    for start in range(0, X[0].shape[0], batch_size):
        rows = slice(start, start + batch_size)
        has = None if present is None else present[rows]
        state = step(state, [X_v[rows] for X_v in X], settings, has).commit()
    return Answers(replace(state, sample=state.sample.compact()), settings)


@pytest.fixture(scope="session")
def learn() -> Learn:
    """`learned`."""
    return learned


@pytest.fixture(scope="session")
def planted() -> Planted:
    """Rows of four classes, in two views of which few features are informative."""
    return make_planted(
        1500,
        n_features=(300, 100),
        n_informative=(40, 20),
        n_classes=4,
        row_length=40,
        random_state=0,
    )


@pytest.fixture(scope="session")
def answers(planted: Planted) -> Answers:
    """What follows from the planted rows."""
    return learned(list(planted.views.values()), 4)
