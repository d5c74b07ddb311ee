"""A short stream for the solver: settings, chunks of clear clusters, states along the way."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.model.constrained import step
from omvfs.model.settings import Settings
from omvfs.model.state import State
from support import clustered

SETTINGS = Settings(
    n_clusters=3,
    solver="constrained",
    graph="neighbors",
    graph_weight=(1.0, 0.5),
    sparsity=(0.1, 0.2),
    orthogonality=0.0,
    n_neighbors=5,
    window=2,
    sample_size=1000,
    half_life=None,
    scale_columns=False,
    view_weight=(1.0, 1.0),
    n_init=2,
    max_iter=10,
    tol=0.0,
)
kinds = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def begin(settings, dtype=np.float64, widths=(9, 6)):
    rng = np.random.default_rng(0)
    return State.empty(list(widths), np.dtype(dtype), settings, rng, raises=True)


def chunk(seed, n, kind=np.asarray, dtype=np.float64, widths=(9, 6)):
    rng = np.random.default_rng(seed)
    return [kind(clustered(rng, n, width)[0].astype(dtype)) for width in widths]


def learned(state, X, settings, **starts):
    """Return what is known after a chunk, and what happened in it; the state stays as it was."""
    update = step.step(state, X, settings, **starts)
    if update.patch is None:
        return update.known, update.info
    whole = update.known.statistics.copy()
    whole.put(update.patch.columns, update.patch.after)
    return replace(update.known, statistics=whole), update.info


def states(settings, sizes, kind=np.asarray, dtype=np.float64):
    state = begin(settings, dtype)
    for seed, n in enumerate(sizes):
        state, info = learned(state, chunk(seed, n, kind, dtype), settings)
        yield state, info
