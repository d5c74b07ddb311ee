"""BLAS has one thread while a selector works, and the user's number of them before and after."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from interrupts import interrupted_at
from omvfs import OMVFS, fitted, threads
from omvfs.baselines import FSDS
from omvfs.model import clustering
from omvfs.threads import on_one_thread
from support import fingerprint


def blas():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture
def users():
    """The user's number of threads."""
    with threadpool_limits(2, user_api="blas"):
        yield {2}


def test_learning_and_asking_have_one_thread_and_give_back_the_users(monkeypatch, users):
    X, seen = np.random.default_rng(0).random((40, 6)), []

    def watched(genuine):
        def call(*args, **kwargs):
            seen.append(blas())
            return genuine(*args, **kwargs)

        return call

    after = watched(fitted.FittedState.after)
    monkeypatch.setattr(fitted.FittedState, "after", after)
    for learn in ("fit", "partial_fit"):
        model = getattr(OMVFS(2, batch_size=20, random_state=0), learn)(X)
        assert blas() == users
    assert set(map(frozenset, seen)) == {frozenset({1})}
    # Whatever is asked first has the sample clustered anew.
    monkeypatch.setattr(clustering, "k_means", watched(clustering.k_means))
    for ask in (
        lambda model: model.view_scores_,
        lambda model: model.n_clusters_,
        lambda model: model.view_weights_,
        lambda model: model.cluster_shares_,
        lambda model: model.predict(X),
        lambda model: model.explain("X", 0),
        lambda model: model.cluster_features(),
        lambda model: model.feature_notes(),
        lambda model: model.selection_quality_,
        lambda model: model.stability(4),
        lambda model: model.verdict(),
        lambda model: model.to_frame(),
    ):
        seen.clear()
        ask(OMVFS.from_bytes(model.to_bytes()))
        assert set(map(frozenset, seen)) == {frozenset({1})}
        assert blas() == users


def test_a_failed_call_gives_back_the_users(users):
    model = OMVFS(2, random_state=0).fit(np.eye(5))
    for call in (model.fit, model.partial_fit, model.predict, FSDS(2).fit):
        with pytest.raises(ValueError, match="NaN"):
            call(np.full((3, 5), np.nan))
        assert blas() == users


def test_calls_that_overlap_have_one_thread_and_leave_what_the_user_had(users):
    inside = threading.Barrier(3, timeout=30)
    leave = [threading.Event() for _ in range(2)]

    @on_one_thread
    def work(i):
        inside.wait()
        leave[i].wait(30)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    inside.wait()
    for i in range(2):
        # The last of them has one thread to its end.
        assert blas() == {1}
        leave[i].set()
        threads[i].join(30)
    assert blas() == users


def test_an_interruption_anywhere_gives_back_the_users(users):
    @on_one_thread
    def work():
        pass

    n_lines = 0
    while interrupted_at(n_lines + 1, work, threads.__file__):
        n_lines += 1
        assert blas() == users
        # Nor do others wait for what was interrupted.
        other = threading.Thread(target=work, daemon=True)
        other.start()
        other.join(5)
        assert not other.is_alive()
        assert blas() == users
    assert n_lines > 20


def test_the_bits_do_not_depend_on_the_threads_of_blas():
    rng, found = np.random.default_rng(0), []
    X = {"a": rng.random((300, 700)), "b": rng.random((300, 400))}
    for n in (1, 2, 4):
        with threadpool_limits(n, user_api="blas"):
            model = OMVFS(4, random_state=0, batch_size=150).fit(X)
            found.append((fingerprint(model._known), fingerprint(model.view_scores_)))
    assert found[0] == found[1] == found[2]
