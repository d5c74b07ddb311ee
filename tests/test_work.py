"""What a chunk costs, counted in work: it must not grow with what the chunk does not have."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import OMVFS
from omvfs.model import queries
from omvfs.model.constrained import directions, recluster, step
from omvfs.model.ranking import request

N, WORDS = 60, 5


class Counting(np.ndarray):
    """Counts the bytes that are read and written by index."""

    bytes = 0

    def __getitem__(self, key):
        part = super().__getitem__(key)
        Counting.bytes += part.nbytes
        return part

    def take(self, *args, **kwargs):
        part = np.asarray(super().take(*args, **kwargs))
        Counting.bytes += part.nbytes
        return part

    def __setitem__(self, key, value):
        Counting.bytes += value.nbytes
        super().__setitem__(key, value)


def chunk(seed, width, n_words=400):
    """Rows with a few of the same features, however many there are."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(N), WORDS)
    columns = rng.integers(n_words, size=len(rows)) * (width // n_words)
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(N, width))


def begun(width, **params):
    model = OMVFS(3, random_state=0, n_init=2, **params)
    for seed in range(6):
        model.partial_fit(chunk(seed, width))
    return model


def bytes_of_a_chunk(width):
    model = begun(width)
    for view in model._known.state.statistics.views:
        # No operation of statistics lets an array be exchanged.
        object.__setattr__(view, "B", view.B.view(Counting))
    Counting.bytes = 0
    model.partial_fit(chunk(6, width))
    return Counting.bytes


def test_a_chunk_reads_and_writes_the_totals_of_its_own_features():
    few, many = bytes_of_a_chunk(1_000), bytes_of_a_chunk(1_000_000)
    assert few == many
    touched = len(np.unique(chunk(6, 1_000).indices))
    # B of 3 clusters in double precision: read once, written once.
    assert few == 2 * touched * 3 * 8


def counting(own, name, calls):
    """Return a function that does what another does, and notes that it was called."""

    def counted(*args, **kwargs):
        calls.append(name)
        return own(*args, **kwargs)

    return counted


def test_a_chunk_costs_one_product_with_v_and_no_reclustering(monkeypatch):
    model, calls = begun(1_000), []
    for name in ("project", "recluster", "solve", "fresh_start"):
        module = directions if name == "project" else step
        monkeypatch.setattr(module, name, counting(getattr(module, name), name, calls))
    model.partial_fit(chunk(6, 1_000))
    assert calls == ["project"]


def test_reclustering_on_the_way_is_rare(monkeypatch):
    times = []
    genuine = step.recluster

    def counted(state, settings, on_the_way=False, **given):
        times.append((state.statistics.n_rows, on_the_way))
        return genuine(state, settings, on_the_way, **given)

    for module in (step, recluster):
        monkeypatch.setattr(module, "recluster", counted)
    model = OMVFS(3, random_state=0, n_init=2)
    for seed in range(70):
        model.partial_fit(chunk(seed, 1_000))
    # Grown fourfold, and again, and with the reservoir full.
    assert times == [(4 * N, True), (16 * N, True), (34 * N, True)]
    for _ in range(2):
        assert len(model.view_scores_) == len(model.V_) == 1
    assert times[3:] == [(70 * N, False)]


@pytest.mark.parametrize("graph_weight", [0.0, 3.0])
def test_a_chunk_allocates_next_to_nothing_for_features_that_it_lacks(graph_weight):
    peaks = []
    for width in (10_000, 1_000_000):
        model, rows = begun(width, graph_weight=graph_weight), chunk(6, width)
        tracemalloc.start()
        model.partial_fit(rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # A mark and a place for every feature, while they are looked up: far from B's 24 bytes.
    assert peaks[1] - peaks[0] < 8 * 990_000


def test_what_is_asked_again_is_not_worked_out_again(monkeypatch):
    model, calls = begun(400), []
    parts = (recluster, "clustered"), (queries, "relevances"), (request, "find_repetition")
    for module, name in parts:
        monkeypatch.setattr(module, name, counting(getattr(module, name), name, calls))
    first = model.scores_
    assert {name for _, name in parts} == set(calls)
    calls.clear()
    model.set_params(n_features_per_view=3)
    model.get_support()
    # No row of this stream differs from those before.
    for params in ({"criterion": "separation"}, {"recency": 0.9}, {"n_features_per_view": 400}):
        model.set_params(**params)
        np.testing.assert_array_equal(model.scores_, first)
    model.set_params(criterion="signal")
    assert not np.array_equal(model.scores_, first)
    assert not calls
