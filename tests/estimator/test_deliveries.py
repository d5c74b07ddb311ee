"""Any delivery of the same rows gives the same bits, whatever is asked on the way."""

import functools

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS, OMVFSPaper, as_views, rechunk
from omvfs.baselines import FSDS
from streams import WAYS, cut, lacking, learned, presence, two_views
from support import KINDS, dense


@functools.cache
def fitted(kind, dtype):
    return learned(batched().fit(two_views(1, 90, dtype, KINDS[kind])))


def batched():
    return OMVFS(3, batch_size=20, sample_size=50, random_state=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@given(cuts=st.sets(st.integers(1, 89), max_size=8))
@settings(max_examples=3, deadline=None)
def test_any_delivery_through_rechunk_gives_the_bits_of_fit(kind, dtype, cuts):
    views = two_views(1, 90, dtype, KINDS[kind])
    model = batched()
    for chunk in rechunk(cut(views, *sorted(cuts)), 20):
        model.partial_fit(chunk)
    assert learned(model) == fitted(kind, dtype)
    assert model.transform(views).dtype == dtype


@pytest.mark.parametrize("kind", [sp.csr_array, np.asarray], ids=["sparse", "dense"])
def test_a_source_may_use_its_buffer_again(kind):
    X = dense(two_views(2, 80)["text"])
    X[X == 0] = 0.01  # equal sparsity everywhere, so that a CSR buffer can be filled again
    expected, model = (OMVFS(3, random_state=0) for _ in range(2))
    buffer = kind(X[:20].copy())
    values = buffer.data if sp.issparse(buffer) else buffer
    for start in range(0, 80, 20):
        rows = X[start : start + 20].copy()
        expected.partial_fit(kind(rows))
        values[:] = rows.ravel() if sp.issparse(buffer) else rows
        model.partial_fit(buffer)
        values[:] = 1e6  # what comes after the call must not matter
    assert learned(model) == learned(expected)


@pytest.mark.parametrize("way", range(len(WAYS)))
@given(st.integers(0, 50), st.booleans(), st.integers(1, 4))
@settings(max_examples=1, deadline=None)
def test_saved_anywhere_and_asked_meanwhile_it_goes_on_to_the_same_bits(way, seed, lacks, stop):
    views, params = two_views(seed, 100), WAYS[way]
    rows = lacking(views, presence(seed, 100)) if lacks else as_views(views)
    straight, stopped = (OMVFS(**{"n_clusters": 3, "random_state": 0, **params}) for _ in range(2))
    for i in range(5):
        chunk = rows[20 * i : 20 * i + 20]
        if i == stop:
            stopped = OMVFS.from_bytes(stopped.to_bytes())
            stopped.n_clusters_, stopped.scores_  # noqa: B018
        straight.partial_fit(chunk)
        stopped.partial_fit(chunk)
    assert learned(stopped) == learned(straight)
    np.testing.assert_array_equal(stopped.scores_, straight.scores_)
    np.testing.assert_array_equal(stopped.predict(rows), straight.predict(rows))
    # Whatever it is learned by, answers are finite and of the clusters there are.
    K = straight.n_clusters_
    assert np.isfinite(straight.scores_).all()
    assert set(straight.predict(rows)) <= set(range(K))
    assert np.isfinite(straight.score(rows))


@pytest.mark.parametrize("make", [OMVFS, OMVFSPaper])
def test_offline_is_one_chunk_with_all_rows(make):
    blocks = two_views(9, 40)
    fitted_once = make(3, batch_size=40, random_state=0).fit(blocks)
    one_call = make(3, batch_size=7, random_state=0).partial_fit(blocks)
    assert learned(fitted_once) == learned(one_call)
    assert [info.n_rows for info in one_call.history_] == [40]


# A model whose arrays joblib has mapped from a file, not to be written, learns as any other.


@pytest.mark.parametrize(
    "model",
    [OMVFS(3, half_life=200, random_state=0), FSDS(2)],
    ids=["OMVFS", "FSDS"],
)
def test_a_mapped_model_learns_and_answers_as_any_other(tmp_path, model):
    joblib.dump(model.partial_fit(two_views(0, 20)), tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    for seed in (1, 2):
        np.testing.assert_array_equal(mapped.scores_, model.scores_)
        for each in (mapped, model):
            each.partial_fit(two_views(seed, 20))
    np.testing.assert_array_equal(mapped.scores_, model.scores_)
    # What others may have mapped too is as it was.
    assert (tmp_path / "model").read_bytes() == content
