"""What a model holds does not grow with the stream."""

import numpy as np
import pytest

from omvfs.datasets import planted_stream
from streams import SOLVERS, taken
from support import nbytes


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", ["sparse", "dense", "views of one array"])
def test_memory_does_not_grow_with_the_stream(solver, form):
    if form == "sparse":
        stream = planted_stream(
            6000,
            batch_size=100,
            n_features=(60, 40),
            n_informative=(15, 10),
            row_length=20,
            random_state=0,
        )
        chunks = [chunk.views for chunk in stream]
    else:
        rows = np.random.default_rng(0).random((6000, 8))
        chunks = [rows[i : i + 100] for i in range(0, 6000, 100)]
        if form == "dense":
            chunks = [chunk.copy() for chunk in chunks]
    make = SOLVERS[solver]
    params = taken(make, sample_size=500, n_init=1, diversity=0.0)
    model = make(5, graph="none", max_iter=3, random_state=0, **params)
    held = []
    for chunk in chunks:
        model.partial_fit(chunk)
        held.append(nbytes(model._fitted.state))
    assert held[59] == pytest.approx(held[19], rel=0.05)
    if form != "sparse":
        assert held[59] < rows.nbytes / 2
