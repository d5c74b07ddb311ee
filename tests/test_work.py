"""What a chunk costs, counted in work: it must not grow with what the chunk does not have."""

import os
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import OMVFS
from omvfs.model import clustering, learning

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


def begun(width):
    model = OMVFS(3, sample_size=200, random_state=0)
    for seed in range(6):
        model.partial_fit(chunk(seed, width))
    return model


def bytes_of_a_chunk(width):
    model = begun(width)
    for view in model._known.state.views:
        # No operation of the sums lets an array be exchanged.
        object.__setattr__(view, "S", view.S.view(Counting))
    Counting.bytes = 0
    model.partial_fit(chunk(6, width))
    return Counting.bytes


def test_a_chunk_reads_and_writes_the_sums_of_its_own_features():
    few, many = bytes_of_a_chunk(1_000), bytes_of_a_chunk(1_000_000)
    assert few == many
    touched = len(np.unique(chunk(6, 1_000).indices))
    # S of 3 clusters in double precision, once to add to and once for a way back; then written.
    assert 2 * touched * 3 * 8 <= few <= 3 * touched * 3 * 8


def test_the_sample_is_clustered_anew_when_the_stream_has_grown_many_times():
    model = OMVFS(3, sample_size=200, random_state=0)
    for seed in range(70):
        model.partial_fit(chunk(seed, 400))
    rows = np.cumsum([info.n_rows for info in model.history_])
    anew = rows[[info.reclustered for info in model.history_]]
    # First when the sample is full.
    assert 0 <= anew[0] - 200 < N
    assert (anew[1:] >= 2 * anew[:-1]).all()


@pytest.fixture
def calls(monkeypatch):
    """Return a list with the name of every function called that clusters rows or compares them."""
    found = []

    def counting(name, own):
        def counted(*args, **kwargs):
            found.append(name)
            return own(*args, **kwargs)

        return counted

    for module, name in ((clustering, "k_means"), (learning, "embedded"), (learning, "repetition")):
        monkeypatch.setattr(module, name, counting(name, getattr(module, name)))
    return found


def test_a_chunk_costs_no_clustering(calls):
    model = begun(1_000)
    calls.clear()
    model.partial_fit(chunk(6, 1_000))
    assert not calls


def test_a_chunk_allocates_next_to_nothing_for_features_that_it_lacks():
    peaks = []
    for width in (10_000, 1_000_000):
        model, rows = begun(width), chunk(6, width)
        tracemalloc.start()
        model.partial_fit(rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # A mark and a place for every feature, while they are looked up; S alone has 24 bytes.
    assert peaks[1] - peaks[0] < 12 * 990_000


def test_a_steady_chunk_goes_through_few_modules_and_calls():
    model = begun(1_000)
    entered = []

    def profile(frame, event, arg):
        if event == "call" and os.sep + "omvfs" + os.sep in frame.f_code.co_filename:
            entered.append(frame.f_code.co_filename)

    sys.setprofile(profile)
    try:
        model.partial_fit(chunk(6, 1_000))
    finally:
        sys.setprofile(None)
    assert len(set(entered)) <= 15
    assert len(entered) <= 200


def test_what_is_asked_again_is_not_worked_out_again(calls):
    model = begun(400)
    calls.clear()
    first = model.scores_
    assert set(calls) == {"k_means", "embedded", "repetition"}
    calls.clear()
    for params in ({"n_features_per_view": 3}, {"criterion": "norm"}, {"criterion": "separation"}):
        model.set_params(**params)
        model.get_support()
    model.predict(chunk(7, 400))
    model.explain("X", 0)
    model.to_frame()
    np.testing.assert_array_equal(model.scores_, first)
    assert not calls
