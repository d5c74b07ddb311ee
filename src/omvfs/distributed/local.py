"""Workers on this machine, for as long as they are needed."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask

from distributed import Client, LocalCluster

# Dask has its workers give memory back to the system at once. Learning asks for as much again in
# the next chunk, and would take half as long again for that.
_AS_EVER = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}


@contextmanager
def local_workers(n_workers: int, **options: Any) -> Iterator[Any]:
    """Give the client of so many processes of one thread each, which listen to this machine only.

    Parameters
    ----------
    n_workers : int
    **options
        Of the client, such as ``timeout``.
    """
    with (
        dask.config.set(_AS_EVER),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            # No dashboard; what is served all the same is for this machine only.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, **options) as client,
    ):
        yield client
