"""One model in several threads: no row is lost, and no answer is half one, half another."""

import copy
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from aside import run_aside
from faults import good
from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import FSDS
from support import fingerprint

quick = {"n_features_per_view": 3, "max_iter": 2, "random_state": 0}
MAKE = {
    "constrained": lambda: OMVFS(2, n_init=2, sample_size=100, **quick),
    "fading": lambda: OMVFS(2, n_init=2, half_life=200, **quick),
    "paper": lambda: OMVFSPaper(2, **quick),
    "FSDS": lambda: FSDS(2, n_features_per_view=3),
}
every_stream = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE.keys())


@pytest.fixture(autouse=True)
def threads_take_turns_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@every_stream
def test_learning_in_two_threads_loses_no_row(make):
    model, n_chunks = make(), 25

    def learn(thread):
        for i in range(n_chunks):
            model.partial_fit(good(100 * thread + i, n_rows=5))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(learn, range(2)))
    assert model.n_samples_seen_ == 2 * n_chunks * 5
    if hasattr(model, "history_"):
        assert [info.n_rows for info in model.history_] == [5] * 2 * n_chunks


# Each tells of one state, whatever goes on beside.
ASKED = {
    "scores": lambda model: model.view_scores_,
    "support": lambda model: model.get_support(),
    "names": lambda model: model.get_feature_names_out().tolist(),
    "transform": lambda model: model.transform(good(999)),
    "pickled": lambda model: pickle.loads(pickle.dumps(model)).view_scores_,
    "copied": lambda model: copy.deepcopy(model).view_scores_,
}


@pytest.mark.parametrize(
    ("stream", "asked"),
    [*(("constrained", asked) for asked in ASKED), *((stream, "scores") for stream in MAKE)],
)
def test_what_is_asked_beside_learning_was_true_at_some_time(stream, asked):
    chunks = [good(seed, n_rows=40) for seed in range(8)]
    make, ask = MAKE[stream], ASKED[asked]
    model, alone = make().partial_fit(chunks[0]), make().partial_fit(chunks[0])
    possible, answers, done = {fingerprint(ask(alone))}, [], threading.Event()
    for chunk in chunks[1:]:
        possible.add(fingerprint(ask(alone.partial_fit(chunk))))

    def learn():
        for chunk in chunks[1:]:
            model.partial_fit(chunk)
        done.set()

    def look():
        while not done.is_set():
            answers.append(fingerprint(ask(model)))

    with ThreadPoolExecutor(3) as pool:
        for job in [pool.submit(look), pool.submit(look), pool.submit(learn)]:
            job.result(60)
    assert set(answers) <= possible
    assert fingerprint(ask(model)) == fingerprint(ask(alone))


def test_what_is_saved_beside_learning_is_sound(tmp_path):
    model, done = MAKE["constrained"]().partial_fit(good(0)), threading.Event()

    def learn():
        for seed in range(1, 30):
            model.partial_fit(good(seed))
        done.set()

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(learn)
        while not done.is_set():
            model.save(tmp_path / "model")
            again = OMVFS.load(tmp_path / "model")
            assert len(again.history_) * 15 == again.n_samples_seen_
        job.result(60)


@pytest.mark.parametrize("twin_of", [clone, copy.copy, copy.deepcopy, lambda model: model])
def test_twins_do_not_wait_for_each_other(twin_of):
    inside, leave = threading.Event(), threading.Event()

    def criterion(V, masses, sums):
        inside.set()
        leave.wait(30)
        return V.sum(axis=1)

    model = OMVFS(2, criterion=criterion, sample_size=0, random_state=0)
    model.partial_fit(good(0))
    twin = twin_of(model).set_params(criterion=criterion)
    with ThreadPoolExecutor(2) as pool:
        try:
            pool.submit(lambda: model.view_scores_)
            assert inside.wait(30)
            learned = pool.submit(twin.partial_fit, good(1))
            if twin is model:
                with pytest.raises(TimeoutError):
                    learned.result(0.2)
            else:
                learned.result(30)
        finally:
            leave.set()
    assert twin.n_samples_seen_ in (15, 30)


def test_a_lock_of_one_process_is_none_of_the_next():
    # What forked while another thread was at work would wait for a thread that it has not.
    code = """
import os, threading, time
import numpy as np
from omvfs import OMVFS
inside = threading.Event()
def criterion(V, masses, sums):
    inside.set()
    time.sleep(1)
    return V.sum(axis=1)
model = OMVFS(2, criterion=criterion, sample_size=0, random_state=0).partial_fit(np.eye(4))
threading.Thread(target=lambda: model.view_scores_, daemon=True).start()
inside.wait()
child = os.fork()
if not child:
    model.partial_fit(np.eye(4))
    os._exit(model.n_samples_seen_)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_aside(code, seconds=30).split() == ["8"]


@pytest.mark.parametrize("make", [OMVFS, OMVFSPaper], ids=["constrained", "paper"])
def test_the_bits_do_not_depend_on_the_threads_of_blas(make):
    rng, found = np.random.default_rng(0), []
    X = {"a": rng.random((300, 700)), "b": rng.random((300, 400))}
    for n in (1, 2, 4):
        with threadpool_limits(n, user_api="blas"):
            model = make(4, max_iter=5, random_state=0, batch_size=150).fit(X)
            found.append((fingerprint(model._fitted), fingerprint(model.view_scores_)))
    assert found[0] == found[1] == found[2]
