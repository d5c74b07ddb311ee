"""The loop: every row once, whatever happens on the way."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import OMVFS
from omvfs.codec import CheckpointError
from omvfs.formats import ArraySource, IteratorSource, open_source
from omvfs.pipeline import _differences, prefetch, run
from support import counts, fingerprint


def rows(n=230):
    rng = np.random.default_rng(2)
    return {"text": sp.csr_array(counts(rng, n, 15)), "image": counts(rng, n, 6)}


def selector(**params):
    return OMVFS(**{"n_clusters": 3, "batch_size": 20, "random_state": 0, **params})


@pytest.mark.parametrize("prepare", [(), ("tfidf", "l2")])
def test_stopped_anywhere_and_resumed_a_run_ends_in_the_same_bits(tmp_path, prepare):
    whole = run(ArraySource(rows()), selector(prepare=prepare))
    fitted = selector(prepare=prepare).fit(rows())
    assert fingerprint(whole.selector._known) == fingerprint(fitted._known)
    # Before, at and after a checkpoint that is due, and at the last chunk.
    for stop_after in (1, 4, 5, 11):
        path, left = tmp_path / str(stop_after), [stop_after]

        def should_stop(left=left):
            left[0] -= 1
            return left[0] == 0

        model, common = selector(prepare=prepare), {"save_to": path, "save_every": 4}
        first = run(ArraySource(rows()), model, should_stop=should_stop, **common)
        assert not first.finished
        assert first.selector.n_samples_seen_ == 20 * stop_after
        second = run(ArraySource(rows()), selector(prepare=prepare), resume=True, **common)
        assert second.finished
        assert fingerprint(second.selector._known) == fingerprint(whole.selector._known)
        assert OMVFS.load(path).n_samples_seen_ == 230
        again = run(ArraySource(rows()), selector(prepare=prepare), resume=True, **common)
        assert fingerprint(again.selector._known) == fingerprint(whole.selector._known)


def test_listeners_hear_of_every_chunk(tmp_path):
    heard = []
    run(
        ArraySource(rows()),
        selector(),
        listeners=(heard.append,),
        save_to=tmp_path / "model",
        save_every=5,
    )
    assert [status.n_rows for status in heard] == [*range(20, 230, 20), 230]
    assert [status.saved for status in heard].count(True) == 2
    assert {status.total for status in heard} == {230}


def test_a_model_that_no_run_has_left_is_not_gone_on_with(tmp_path):
    path = tmp_path / "model"
    selector().fit(rows()).save(path)
    with pytest.raises(CheckpointError, match="no cursor"):
        run(ArraySource(rows()), selector(), save_to=path, resume=True)


def test_equal_parameters_are_a_continuation(tmp_path):
    path, weights = tmp_path / "model", {"text": 1.0, "image": 2.0}
    first = selector(n_clusters=np.int64(3), view_weight=weights, random_state=np.int64(0))
    run(ArraySource(rows()), first, save_to=path)
    turned = dict(reversed(weights.items()))
    for given in ({"n_clusters": 3}, {"n_clusters": np.int32(3), "view_weight": turned}):
        again = selector(**{"view_weight": weights, **given})
        assert run(ArraySource(rows()), again, save_to=path, resume=True).finished
    state = np.random.RandomState(0)
    run(ArraySource(rows()), selector(random_state=state), save_to=path)
    run(ArraySource(rows()), selector(random_state=state), save_to=path, resume=True)


def test_other_data_are_no_continuation(tmp_path):
    path, other = tmp_path / "model", {"text": np.ones((230, 15)), "image": np.ones((230, 7))}
    run(ArraySource(rows()), selector(), save_to=path)
    with pytest.raises(CheckpointError, match=r"other data: .*image.*6, now 7\. Go on"):
        run(ArraySource(other), selector(), save_to=path, resume=True)
    with pytest.raises(CheckpointError, match="other data"):
        run(IteratorSource(lambda: iter([rows()])), selector(), save_to=path, resume=True)


def test_an_error_says_where_its_chunk_begins(tmp_path):
    path, X = tmp_path / "image.npy", rows()["image"]
    X[53, 4] = np.nan
    np.save(path, X)
    # Rows are looked at when they are read.
    with pytest.raises(ValueError, match=r"^In the chunk that begins at row 40: .*NaN") as caught:
        run(open_source(path), selector())
    assert type(caught.value) is ValueError
    X[3, 4] = np.nan
    np.save(path, X)
    with pytest.raises(ValueError, match=r"^(?!In the chunk).*NaN"):
        run(open_source(path), selector())


def test_an_error_of_the_source_comes_through_and_keeps_the_last_checkpoint(tmp_path):
    def batches():
        yield {name: X[:100] for name, X in rows().items()}
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        run(IteratorSource(batches), selector(), save_to=tmp_path / "model", save_every=2)
    assert OMVFS.load(tmp_path / "model").n_samples_seen_ == 80
    assert not [t for t in threading.enumerate() if t.name == "omvfs reader"]


def test_items_are_fetched_in_order_and_differences_named_by_their_place():
    assert list(prefetch(iter([1, 2, 3]))) == [1, 2, 3]
    kept, now = ({"a": {"kind": kind, "n": 1}} for kind in ("csv", "npy"))
    assert _differences(kept, now) == "a.kind='csv', now 'npy'"
    assert _differences({"views": {"text": 7}}, {"views": {"text": 9}}, ["text"]) == ""
