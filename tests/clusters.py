"""Clusters for tests: in this process, or schedulers and workers as processes of their own."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

QUICK = {"random_state": 0, "batch_size": 10, "sample_size": 12, "prepare": None}
# Of `omvfs select`.
OPTIONS = ("-k", "4", "-n", "5", "--batch-size", "50")
_ADDRESS = re.compile(r"(tcp://127\.0\.0\.1:\d+)")


@contextmanager
def inside(n_workers):
    """Give the client of a cluster of so many workers, which are threads of this process."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


class Process:
    """A program of the cluster, that can be killed."""

    def __init__(self, *command):
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
        # No thread need read it.
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as it lives)
        self._job = subprocess.Popen(
            [sys.executable, "-m", *command],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            # A nanny and its worker are ended together.
            start_new_session=True,
        )

    def says(self, pattern, seconds=120):
        """Wait until it has said something, and return it."""
        end, text = time.monotonic() + seconds, ""
        while time.monotonic() < end:
            alive = self.alive
            text = os.pread(self._said.fileno(), 1 << 20, 0).decode()
            if found := re.search(pattern, text):
                return found
            if not alive:
                break
            time.sleep(0.05)
        raise TimeoutError(f"{pattern} is not in: {text}")

    @property
    def alive(self):
        return self._job.poll() is None

    def kill(self):
        """Kill it and its children, at once."""
        if self.alive:
            os.killpg(self._job.pid, signal.SIGKILL)
        self._job.wait(60)
        self._said.close()


class Cluster:
    """A scheduler and workers, each a process of its own, on this machine only."""

    def __init__(self, n_workers=2):
        self.scheduler = Process(
            "distributed.cli.dask_scheduler",
            *("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"),
        )
        self.address = self.scheduler.says(_ADDRESS)[1]
        self.workers = []
        for _ in range(n_workers):
            self.add_worker()
        for worker in self.workers:
            worker.says("Registered to")

    def add_worker(self):
        self.workers.append(
            Process(
                "distributed.cli.dask_worker",
                self.address,
                *("--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard"),
                *("--memory-limit", "0", "--death-timeout", "30", "--no-nanny"),
            )
        )

    def close(self):
        for each in (*self.workers, self.scheduler):
            each.kill()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def saved_parts(folder, parts):
    """Write the rows of each part to a file, and return the paths."""
    import numpy as np

    paths = []
    for i, rows in enumerate(parts):
        paths.append(Path(folder) / f"part-{i}.npy")
        np.save(paths[-1], rows)
    return paths
