"""Kill workers, clients and schedulers at random moments of a run, and see what comes of it.

    PYTHONPATH=src:tests python -m kills --worker 20 --client 5 --scheduler 5

Scheduler, workers and the command are processes of their own, killed by SIGKILL. Each run must come
to the bits of an undisturbed one, at once or after --resume, or end with a sentence within 30
seconds.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from clusters import OPTIONS, Cluster, saved_parts
from omvfs import OMVFS
from omvfs.cli.commands import run_app
from omvfs.distributed.dask import fit
from omvfs.distributed.steps import ClusterError
from streams import learned
from support import counts

PATIENCE = 30
LIMIT = 600


def model(out):
    return learned(OMVFS.load(out / "model.omvfs"))


def tell(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Forked:
    """A command in a child of this process, which has imported all that it needs."""

    def __init__(self, out, arguments):
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as it lives)
        self._code = None
        self._pid = os.fork()
        if self._pid == 0:
            code = 99
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(self._said.fileno(), 2)
                code = run_app(arguments)
                sys.stderr.flush()
            finally:
                os._exit(code)

    def kill(self):
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)
        self.ended(60)

    def ended(self, seconds):
        """Return its exit code and what it has said."""
        end = time.monotonic() + seconds
        while self._code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                raise TimeoutError(f"It has not ended after {seconds} s.")
            else:
                time.sleep(0.02)
        return self._code, os.pread(self._said.fileno(), 1 << 20, 0).decode()


class Trials:
    """Runs over the same parts, each disturbed in another way."""

    def __init__(self, n_parts, rows, width, seed):
        self.home = Path(tempfile.mkdtemp(prefix="omvfs-kills-"))
        (self.home / "p").mkdir()
        rng = np.random.default_rng(0)
        saved_parts(self.home / "p", [counts(rng, rows, width) for _ in range(n_parts)])
        self.chance, self.n_runs, self._cluster = random.Random(seed), 0, None
        times = []
        for _ in range(2):
            began = time.monotonic()
            command, out = self.started(self.cluster)
            assert command.ended(LIMIT) == (0, "")
            times.append(time.monotonic() - began)
        self.seconds = min(times)
        self.expected = model(out)

    @property
    def cluster(self):
        """A scheduler with two workers that are alive."""
        if self._cluster is None or not self._cluster.scheduler.alive:
            self._cluster = Cluster(2)
        for worker in list(self._cluster.workers):
            if not worker.alive:
                self._cluster.workers.remove(worker)
                self._cluster.add_worker()
                self._cluster.workers[-1].says("Registered to")
        return self._cluster

    def close(self):
        if self._cluster is not None:
            self._cluster.close()
        shutil.rmtree(self.home)

    def started(self, cluster, out=None, *options):
        self.n_runs += 1
        out = out or self.home / f"out{self.n_runs}"
        given = ["select", str(self.home / "p" / "*.npy"), *OPTIONS, "-o", str(out)]
        where = ["--scheduler", cluster.address] if cluster else []
        return Forked(out, [*given, *where, *options]), out

    def wait(self):
        """Let some of a run pass, as long as an undisturbed one takes at most."""
        time.sleep(self.chance.uniform(0, self.seconds))

    def worker(self):
        cluster = self.cluster
        command, out = self.started(cluster)
        self.wait()
        self.chance.choice(cluster.workers).kill()
        code, said = command.ended(LIMIT)
        assert (code, said) == (0, ""), (code, said)
        assert model(out) == self.expected
        return "same bits"

    def client(self):
        command, out = self.started(self.cluster)
        self.wait()
        command.kill()
        n_kept = len(list((out / "parts").glob("*.omvfs"))) if out.exists() else 0
        begun = (out / "parts").exists() or (out / "model.omvfs").exists()
        again, _ = self.started(self.cluster, out, *(["--resume"] if begun else []))
        code, said = again.ended(LIMIT)
        assert (code, said) == (0, ""), (code, said)
        assert model(out) == self.expected
        return f"same bits after a resume from {n_kept} parts"

    def scheduler(self):
        cluster = self.cluster
        command, out = self.started(cluster)
        self.wait()
        cluster.scheduler.kill()
        began = time.monotonic()
        code, said = command.ended(PATIENCE + 5)
        seconds = time.monotonic() - began
        cluster.close()
        if code == 0:
            assert model(out) == self.expected
            return "had ended before: same bits"
        assert (code, said.count("\n")) == (1, 1), (code, said)
        assert seconds <= PATIENCE, seconds
        again, _ = self.started(self.cluster, out, *(["--resume"] if out.exists() else []))
        assert again.ended(LIMIT) == (0, "")
        assert model(out) == self.expected
        return f"error after {seconds:.1f} s, same bits after a resume"

    def local(self):
        """`--workers 2` starts processes of this machine, and ends them."""
        command, out = self.started(None, None, "--workers", "2")
        assert command.ended(LIMIT) == (0, "")
        assert model(out) == self.expected
        return "same bits"

    def memory(self):
        """A worker that lacks memory is told of."""
        import dask
        import dask.array as da

        from distributed import Client, LocalCluster

        own = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
        X = da.ones((4, 3), chunks=(2, 3)).map_blocks(greedy, meta=np.ones((0, 3)))
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 0}),
            LocalCluster(**own, memory_limit="500MB", host="127.0.0.1", silence_logs=50) as cluster,
            Client(cluster) as client,
        ):
            said = r"partition \d: 1 worker.* died of it.*lack memory"
            with pytest.raises(ClusterError, match=said):
                fit(OMVFS(2, random_state=0), X, client)
        return "told of"


def greedy(X):
    held = []
    for _ in range(300):
        held.append(np.ones(2_000_000))
        time.sleep(0.02)
    return X


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, n in (
        ("workers", 20),
        ("clients", 5),
        ("schedulers", 5),
        ("locals", 1),
        ("memorys", 1),
    ):
        parser.add_argument(f"--{name}", type=int, default=n)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--width", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    trials = Trials(args.parts, args.rows, args.width, args.seed)
    tell(f"undisturbed: {trials.seconds:.1f} s")
    failed = 0
    for kind in ("worker", "client", "scheduler", "local", "memory"):
        wanted = getattr(args, kind)
        for i in range(wanted):
            try:
                found = getattr(trials, kind)()
            except (AssertionError, TimeoutError) as error:
                failed, found = failed + 1, f"FAILED: {error!r:.2000}"
            tell(f"{kind} {i + 1} of {wanted}: {found}")
    trials.close()
    tell(f"{failed} failed")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
