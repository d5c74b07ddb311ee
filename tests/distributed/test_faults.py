"""Whatever dies, nothing hangs: the same bits come of it, or a clear error soon.

Kills of workers, clients and schedulers at random moments: `make test-faults`.
"""

import threading

import pytest

from clusters import inside
from omvfs import OMVFS

pytest.importorskip("distributed")
import dask.array as da

from omvfs.distributed import dask as on_dask
from omvfs.distributed.steps import ClusterError


def test_what_is_done_and_not_handed_over_is_told_of_as_lost():
    """A scheduler may die between the two; how soon the client sees that is left to chance."""
    from types import SimpleNamespace

    from distributed.comm import CommClosedError

    def result(timeout):
        raise CommClosedError("in <TCP (closed) ConnectionPool.gather>: Stream is closed")

    client = SimpleNamespace(scheduler=SimpleNamespace(address="tcp://127.0.0.1:1"))
    future = SimpleNamespace(client=client, status="finished", result=result)
    with pytest.raises(ClusterError, match=r"The scheduler at tcp://127.0.0.1:1 is gone.* part 3"):
        on_dask.result_of(future, "part 3")


def test_without_workers_nobody_waits_for_ever(monkeypatch):

    monkeypatch.setattr(on_dask, "PATIENCE", 1.0)
    monkeypatch.setattr(on_dask, "_LOOK", 0.2)
    with (
        inside(0) as client,
        pytest.raises(ClusterError, match="has had no running workers for 1 seconds"),
    ):
        on_dask.fit(OMVFS(2), da.ones((4, 3)), client)


def test_workers_that_are_paused_for_ever_are_not_waited_for(monkeypatch):
    from distributed.core import Status

    monkeypatch.setattr(on_dask, "PATIENCE", 1.0)
    monkeypatch.setattr(on_dask, "_LOOK", 0.2)
    with inside(1) as client:
        worker = client.cluster.workers[0]
        worker.status = Status.paused
        with pytest.raises(ClusterError, match="all are paused for lack of memory"):
            on_dask.fit(OMVFS(2), da.ones((4, 3)), client)
        worker.status = Status.running
        # One that comes to itself in time is waited for.
        worker.status = Status.paused
        timer = threading.Timer(0.3, lambda: setattr(worker, "status", Status.running))
        timer.start()
        assert on_dask.fit(OMVFS(2), da.random.random((9, 3)), client).n_samples_seen_ == 9
        timer.join()


def test_a_client_without_a_scheduler_is_refused():
    with inside(1) as client:
        pass
    with pytest.raises(ClusterError, match="is gone: the client is closed"):
        on_dask.fit(OMVFS(2), da.ones((4, 3)), client)
