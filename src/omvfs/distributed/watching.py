"""Wait for what a cluster works out, and not for what will never come."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from distributed.comm import CommClosedError

from distributed import KilledWorker
from omvfs.distributed.errors import ClusterError

# Seconds: between looks at what is done; between looks at the cluster; that it may be without any
# worker; that an answer may take.
_TICK, _LOOK, PATIENCE, _ANSWER = 0.02, 2.0, 25.0, 10.0


def done(
    client: Any, futures: Mapping[Any, str], should_stop: Callable[[], bool] = lambda: False
) -> Iterator[Any]:
    """Yield futures as they are done, well or not; refuse to wait if nobody is left to do them.

    Parameters
    ----------
    client : Client
    futures : mapping of Future to str
        What errors call each.
    should_stop : callable
        Asked now and then; if True, nothing more is waited for.

    Raises
    ------
    ClusterError
        If the scheduler is gone, or there is no worker for a while.
    """
    left, alive = dict(futures), _Alive(client)
    while left and not should_stop():
        found = [future for future in left if future.status != "pending"]
        for future in found:
            if future.status in ("cancelled", "lost"):
                raise _gone(client, left[future])
            del left[future]
            yield future
        if left and not found:
            alive.look()
            time.sleep(_TICK)


def result_of(future: Any, name: str) -> Any:
    """Return what a future has come to, or raise what went wrong.

    Parameters
    ----------
    future : Future
        That is done.
    name : str
        What errors call it.
    """
    try:
        return future.result(timeout=_ANSWER)
    except KilledWorker as error:
        raise killed(error, name) from error
    except CommClosedError as error:
        # Done, and not handed over: what comes to be known of it is another error than when it is
        # lost before.
        raise _gone(future.client, name) from error
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"A worker has no {error.name}: install omvfs there as here, of the same version."
        ) from error
    except TimeoutError as error:
        if future.status == "error":
            raise
        raise ClusterError(f"The cluster does not hand over {name}.") from error


def _gone(client: Any, name: str) -> ClusterError:
    """Return the error of something that a scheduler has taken along."""
    return ClusterError(
        f"The scheduler{_at(client)} is gone, and with it {name}. Start it again, and begin or "
        "resume."
    )


def killed(error: Any, name: str) -> ClusterError:
    """Return the error of something that nobody has lived to finish."""
    n = error.allowed_failures + 1
    return ClusterError(
        f"{name}: {n} worker{'s have' if n > 1 else ' has'} died of it, the last one "
        f"{error.last_worker.address}; most often they lack memory. Give workers more of it, or "
        "give them less at a time: smaller parts, fewer threads a worker, a smaller batch."
    )


def check_alive(client: Any) -> None:
    """Refuse a client that has no scheduler any more.

    Parameters
    ----------
    client : Client
    """
    if client.status != "running":
        raise ClusterError(f"The scheduler{_at(client)} is gone: the client is {client.status}.")


class _Alive:
    """Looks now and then whether anybody works."""

    def __init__(self, client: Any) -> None:
        self._client, self._seen = client, time.monotonic()
        self._next = self._seen + _LOOK

    def look(self) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _LOOK
        why = self._why_nobody()
        if not why:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > PATIENCE:
            raise ClusterError(f"{why} for {PATIENCE:.0f} seconds. Start workers, and resume.")

    def _why_nobody(self) -> str:
        """Return why nobody works, nothing if somebody does."""
        client = self._client
        if client.status != "running":
            return f"The scheduler{_at(client)} has not answered"
        try:
            about = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=_ANSWER)
        except (OSError, TimeoutError):
            return f"The scheduler{_at(client)} has not answered"
        workers = about["workers"].values()
        if not workers:
            return f"The scheduler{_at(client)} has had no workers"
        if any(each.get("status", "running") == "running" for each in workers):
            return ""
        if any(each.get("metrics", {}).get("executing") for each in workers):
            return ""
        return "No worker has had memory left to begin anything"


def _at(client: Any) -> str:
    address = getattr(getattr(client, "scheduler", None), "address", "")
    return f" at {address}" if address else ""
