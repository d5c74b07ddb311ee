"""Whatever dies, nothing hangs: the same bits come of it, or a clear error soon.

Kills of workers, clients and schedulers at random moments: `python -m kills`.
"""

import os
import threading
import time

import numpy as np
import pytest

from clusters import OPTIONS, Cluster, Command, inside, saved_parts
from omvfs import OMVFS
from omvfs.cli.commands import run_app
from omvfs.distributed import dask as watching
from streams import learned
from support import counts

pytest.importorskip("distributed")

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")

N_PARTS, ROWS, WIDTH = 16, 200, 30


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Parts that take a while, and what comes of them."""
    home = tmp_path_factory.mktemp("faults")
    rng = np.random.default_rng(0)
    (home / "p").mkdir()
    saved_parts(home / "p", [counts(rng, ROWS, WIDTH) for _ in range(N_PARTS)])
    with inside(2) as client:
        given = ["select", str(home / "p" / "*.npy"), *OPTIONS, "-o", str(home / "out")]
        assert run_app([*given, "--scheduler", client.scheduler.address]) == 0
    return home, learned(OMVFS.load(home / "out" / "model.omvfs"))


def test_what_is_done_and_not_handed_over_is_told_of_as_lost():
    """A scheduler may die between the two; how soon the client sees that is left to chance."""
    from types import SimpleNamespace

    from distributed.comm import CommClosedError

    from omvfs.distributed.dask import result_of
    from omvfs.distributed.steps import ClusterError

    def result(timeout):
        raise CommClosedError("in <TCP (closed) ConnectionPool.gather>: Stream is closed")

    client = SimpleNamespace(scheduler=SimpleNamespace(address="tcp://127.0.0.1:1"))
    future = SimpleNamespace(client=client, status="finished", result=result)
    with pytest.raises(ClusterError, match=r"The scheduler at tcp://127.0.0.1:1 is gone.* part 3"):
        result_of(future, "part 3")


@pytest.mark.slow
def test_a_scheduler_that_is_killed_is_told_of_within_30_seconds(data, tmp_path):
    home, expected = data
    out = tmp_path / "out"
    with Cluster(n_workers=1) as cluster:
        command = Command(home, out, "--scheduler", cluster.address)
        command.after_parts(1)
        # So that the run does not end before.
        cluster.workers[0].pause()
        assert len(list((out / "parts").glob("*.omvfs"))) < N_PARTS
        cluster.scheduler.kill()
        code, said = command.ended(30)
    assert code == 1
    assert f"The scheduler at {cluster.address} is gone" in said
    assert f"Finished parts are in {out / 'parts'}: go on with --resume." in said
    assert said.count("\n") == 1
    with inside(2) as client:
        given = ["select", str(home / "p" / "*.npy"), *OPTIONS, "-o", str(out), "--resume"]
        assert run_app([*given, "--scheduler", client.scheduler.address]) == 0
    assert learned(OMVFS.load(out / "model.omvfs")) == expected


@pytest.mark.slow
def test_workers_that_lack_memory_are_told_of():
    import dask
    import dask.array as da

    from distributed import Client, LocalCluster
    from omvfs.distributed.dask import fit
    from omvfs.distributed.steps import ClusterError

    def greedy(X):
        held = []
        for _ in range(300):
            held.append(np.ones(2_000_000))
            time.sleep(0.02)
        return X

    X = da.ones((4, 3), chunks=(2, 3)).map_blocks(greedy, meta=np.ones((0, 3)))
    own = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(**own, memory_limit="500MB", host="127.0.0.1", silence_logs=50) as cluster,
        Client(cluster) as client,
        pytest.raises(ClusterError, match=r"partition \d: 1 worker.* died of it.*lack memory"),
    ):
        fit(OMVFS(2, random_state=0), X, client)


def test_without_workers_nobody_waits_for_ever(monkeypatch):
    import dask.array as da

    from omvfs.distributed.dask import fit
    from omvfs.distributed.steps import ClusterError

    monkeypatch.setattr(watching, "PATIENCE", 1.0)
    monkeypatch.setattr(watching, "_LOOK", 0.2)
    with (
        inside(0) as client,
        pytest.raises(ClusterError, match="has had no running workers for 1 seconds"),
    ):
        fit(OMVFS(2), da.ones((4, 3)), client)


def test_workers_that_are_paused_for_ever_are_not_waited_for(monkeypatch):
    import dask.array as da
    from distributed.core import Status

    from omvfs.distributed.dask import fit
    from omvfs.distributed.steps import ClusterError

    monkeypatch.setattr(watching, "PATIENCE", 1.0)
    monkeypatch.setattr(watching, "_LOOK", 0.2)
    with inside(1) as client:
        worker = client.cluster.workers[0]
        worker.status = Status.paused
        with pytest.raises(ClusterError, match="all are paused for lack of memory"):
            fit(OMVFS(2), da.ones((4, 3)), client)
        worker.status = Status.running
        # One that comes to itself in time is waited for.
        worker.status = Status.paused
        timer = threading.Timer(0.3, lambda: setattr(worker, "status", Status.running))
        timer.start()
        assert fit(OMVFS(2), da.random.random((9, 3)), client).n_samples_seen_ == 9
        timer.join()
