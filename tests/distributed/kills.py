"""Kill workers, clients and schedulers at random moments of a run, and see what comes of it.

    PYTHONPATH=src:tests:tests/distributed python -m kills --workers 20 --clients 5 --schedulers 5

Scheduler, workers and the command are processes of their own, killed by SIGKILL. Each run must come
to the bits of an undisturbed one, at once or after --resume, or end with a sentence within 30
seconds.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from clusters import Cluster, Command, saved_parts

from omvfs import OMVFS
from streams import learned
from support import counts

PATIENCE = 30
LIMIT = 600


def model(out):
    return learned(OMVFS.load(out / "model.omvfs"))


def tell(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Trials:
    """Runs over the same parts, each disturbed in another way."""

    def __init__(self, n_parts, rows, width, seed):
        self.home = Path(tempfile.mkdtemp(prefix="omvfs-kills-"))
        (self.home / "p").mkdir()
        rng = np.random.default_rng(0)
        saved_parts(self.home / "p", [counts(rng, rows, width) for _ in range(n_parts)])
        self.chance, self.n_runs = random.Random(seed), 0
        with Cluster(2) as cluster:
            command, out = self.started(cluster)
            began = time.monotonic()
            assert command.ended(LIMIT) == (0, "")
            self.seconds = time.monotonic() - began
        self.expected = model(out)

    def started(self, cluster, out=None, *options):
        self.n_runs += 1
        out = out or self.home / f"out{self.n_runs}"
        return Command(self.home, out, "--scheduler", cluster.address, *options), out

    def wait(self):
        """Let some of a run pass, as long as an undisturbed one takes at most."""
        time.sleep(self.chance.uniform(0, self.seconds))

    def worker(self):
        with Cluster(2) as cluster:
            command, out = self.started(cluster)
            self.wait()
            self.chance.choice(cluster.workers).kill()
            code, said = command.ended(LIMIT)
        assert code == 0, (code, said)
        assert model(out) == self.expected
        return "same bits"

    def client(self):
        with Cluster(2) as cluster:
            command, out = self.started(cluster)
            self.wait()
            command.kill()
            n_kept = len(list((out / "parts").glob("*.omvfs"))) if out.exists() else 0
            begun = (out / "parts").exists() or (out / "model.omvfs").exists()
            again, _ = self.started(cluster, out, *(["--resume"] if begun else []))
            code, said = again.ended(LIMIT)
        assert code == 0, (code, said)
        assert model(out) == self.expected
        return f"same bits after resume of {n_kept} parts"

    def scheduler(self):
        with Cluster(2) as cluster:
            command, out = self.started(cluster)
            self.wait()
            cluster.scheduler.kill()
            began = time.monotonic()
            code, said = command.ended(PATIENCE + 5)
            seconds = time.monotonic() - began
        if code == 0:
            assert model(out) == self.expected
            return "had ended before: same bits"
        assert (code, said.count("\n")) == (1, 1), (code, said)
        assert seconds <= PATIENCE, seconds
        with Cluster(2) as cluster:
            again, _ = self.started(cluster, out, *(["--resume"] if out.exists() else []))
            assert again.ended(LIMIT) == (0, "")
        assert model(out) == self.expected
        return f"error after {seconds:.1f} s, same bits after resume"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, n in (("workers", 20), ("clients", 5), ("schedulers", 5)):
        parser.add_argument(f"--{name}", type=int, default=n)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--width", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    trials = Trials(args.parts, args.rows, args.width, args.seed)
    tell(f"undisturbed: {trials.seconds:.1f} s")
    failed = 0
    for kind in ("worker", "client", "scheduler"):
        wanted = getattr(args, f"{kind}s")
        for i in range(wanted):
            try:
                found = getattr(trials, kind)()
            except (AssertionError, subprocess.TimeoutExpired, TimeoutError) as error:
                failed, found = failed + 1, f"FAILED: {error!r:.2000}"
            tell(f"{kind} {i + 1} of {wanted}: {found}")
    tell(f"{failed} failed")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
