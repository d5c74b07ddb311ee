"""Workers, clients and schedulers of Dask that are killed: the same bits, at once or resumed."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from clusters import OPTIONS, Cluster, saved_parts
from omvfs import OMVFS
from reliability.attempts import Job, Outcome, command, tried
from reliability.rows_at_hand import place
from streams import learned
from support import counts

KINDS = ("worker", "client", "scheduler")
# Seconds of an undisturbed run at most, and until a scheduler that is gone is told of.
LIMIT, TOLD = 120, 30


class Trials:
    """Runs over the same parts with two workers, each disturbed in another way."""

    def __init__(self, here: Path) -> None:
        self.here, self.cluster, self.runs = here, Cluster(2), 0
        (here / "p").mkdir()
        saved_parts(here / "p", [counts(np.random.default_rng(i), 200, 60) for i in range(10)])
        started = time.monotonic()
        self.expected = self._ended(*self.begun())
        self.seconds = time.monotonic() - started

    def begun(self, out: Path | None = None) -> tuple[Job, Path]:
        """Begin a run, or go on with one."""
        self.runs += 1
        if not self.cluster.scheduler.alive:
            self.cluster.close()
            self.cluster = Cluster(2)
        resume = ["--resume"] if out is not None and out.exists() else []
        out = out or self.here / str(self.runs)
        rows = "select", str(self.here / "p" / "*.npy"), *OPTIONS, "-o", out
        return command(*rows, "--scheduler", self.cluster.address, *resume), out

    def _ended(self, job: Job, out: Path) -> Any:
        """Return what a run has learned."""
        done = job.finish(LIMIT)
        assert (done.code, done.err) == (0, ""), done
        return learned(OMVFS.load(out / "model.omvfs"))

    def disturbed(self, kind: str, after: float) -> str:
        """Kill something after a share of a run; say what is wrong with what comes of it."""
        job, out = self.begun()
        time.sleep(after * self.seconds)
        if kind == "worker":
            self.cluster.workers.pop(0).kill()
            self.cluster.add_worker()
        elif kind == "client":
            job.send(signal.SIGKILL)
            job.finish()
            job, out = self.begun(out)
        else:
            self.cluster.scheduler.kill()
            done = job.finish(TOLD)
            if done.code and (done.code != 1 or done.err.count("\n") != 1):
                return f"ended with {done.code}: {done.err}"
            job, out = self.begun(out)
        return "" if self._ended(job, out) == self.expected else "other bits"


def killed(numbers: range, seed: int) -> Iterator[Outcome]:
    """Kill workers, clients and schedulers of Dask at any time: same bits, at once or resumed."""
    if not numbers:
        return
    with place() as here:
        trials = Trials(here)
        try:
            for number in numbers:
                kind = KINDS[number % len(KINDS)]
                after = float(np.random.default_rng([seed, number, 12]).random())
                label = f"{number}: {kind} after {after:.0%} of a run"
                yield tried(label, lambda k=kind, a=after: trials.disturbed(k, a))
        finally:
            trials.cluster.close()
