"""Runs the matrix of faults: ``python -m reliability`` for all, ``--short`` for a few of each.

Every attempt has a number, by which it can be done again: ``--only killed --at 17``.
"""

import argparse
import contextlib
import gc
import importlib
import io
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from omvfs.cli.commands import run_app
from reliability import (
    checkpoints,
    crashes,
    files,
    learning,
    runs,
    shortages,
    workers,
)
from reliability.attempts import Outcome
from reliability.rows_at_hand import place, select, views, write

# Of one job of attempts; the machine may be busy.
PATIENCE = 900
SHOWN = 5
# Where the table of the matrix stands on its page.
BEGIN, END = "<!-- table of the matrix -->", "<!-- end of the table -->"
# What is imported late.
LATE = ("h5py", "pyarrow.csv", "pyarrow.feather", "pyarrow.parquet", "pyarrow.dataset", "fsspec")


@dataclass(frozen=True)
class Row:
    """A family of attempts.

    Attributes
    ----------
    attempts : callable
        From a range of numbers and a seed, yields an outcome for each.
    full : int
        How many attempts there are.
    job : int
        How many of them a process does before another takes over.
    short : range
        Numbers of the few in the short form.
    """

    attempts: Callable[[range, int], Iterator[Outcome]]
    full: int
    job: int
    short: range

    @property
    def title(self) -> str:
        """What is done, in a line."""
        return (self.attempts.__doc__ or "").strip().splitlines()[0]


ROWS = {
    "killed": Row(crashes.killed, 100, 10, range(7, 9)),
    "killed workers": Row(workers.killed, 6, 6, range(0)),
    "signals": Row(runs.signalled, 60, 10, range(0, 4, 3)),
    "failing calls": Row(shortages.failing_calls, 160, 20, range(3, 6, 2)),
    "full disk": Row(shortages.full_disk, 60, 10, range(10, 12)),
    "little memory": Row(shortages.little_memory, 40, 10, range(1, 2)),
    "few handles": Row(shortages.few_handles, 48, 12, range(13, 18, 4)),
    "pairs of runs": Row(runs.pairs, 20, 5, range(1)),
    "damaged files": Row(files.damaged, 2_000, 250, range(1_003, 1_990, 41)),
    "hostile checkpoints": Row(checkpoints.hostile, 1_000, 250, range(20)),
    "interrupts": Row(learning.interrupted, 800, 200, range(400)),
}


@dataclass
class Tally:
    """What came of the attempts of a row, and the seconds they computed."""

    attempts: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


def work(name: str, numbers: range, seed: int) -> None:
    """Do some attempts, and print a line of JSON for each."""
    for outcome in ROWS[name].attempts(numbers, seed):
        sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()
    sys.stdout.write(json.dumps(computed()) + "\n")


def in_process(name: str, numbers: range, seed: int, tally: Tally) -> None:
    """Do some attempts in a process of their own; what it does not come to has failed."""
    span = ["--only", name, "--at", str(numbers.start), "--count", str(len(numbers))]
    job = [sys.executable, "-W", "ignore", "-m", "reliability", "--work", *span]
    try:
        done = subprocess.run(
            [*job, "--seed", str(seed)], capture_output=True, text=True, timeout=PATIENCE
        )
        lines, end = done.stdout.splitlines(), f"ended with {done.returncode}: {done.stderr[-500:]}"
    except subprocess.TimeoutExpired as late:
        lines, end = (late.stdout or b"").decode().splitlines(), f"no end in {PATIENCE} s"
    told = [json.loads(line) for line in lines]
    outcomes = [each for each in told if isinstance(each, list)]
    tally.attempts += len(numbers)
    tally.failures += [f"{label}: {wrong}" for label, wrong in outcomes if wrong]
    lost = numbers[len(outcomes) :]
    tally.failures += [f"{number}: not done, {end}" for number in lost]
    tally.seconds += sum(each for each in told if isinstance(each, float))


def matrix(names: list[str], short: bool, seed: int, jobs: int) -> dict[str, Tally]:
    """Do all attempts of some rows, and tell of each row as it ends."""
    tallies = {name: Tally() for name in names}
    with ThreadPoolExecutor(jobs) as pool:
        under_way = {
            name: [
                pool.submit(in_process, name, numbers, seed, tallies[name])
                for numbers in spans(name, short)
            ]
            for name in names
        }
        for name, futures in under_way.items():
            for future in futures:
                future.result()
            tell(name, tallies[name])
    return tallies


def spans(name: str, short: bool) -> list[range]:
    """Return the numbers of a row's attempts, a job each."""
    row = ROWS[name]
    if short:
        return [row.short]
    return [range(at, min(at + row.job, row.full)) for at in range(0, row.full, row.job)]


def here(names: list[str], short: bool, seed: int) -> dict[str, Tally]:
    """Do the attempts in this process, one after the other."""
    tallies = {}
    for name in names:
        tally, before = Tally(), computed()
        for numbers in spans(name, short):
            for label, wrong in ROWS[name].attempts(numbers, seed):
                tally.attempts += 1
                tally.failures += [f"{label}: {wrong}"] * bool(wrong)
        tally.seconds = computed() - before
        tallies[name] = tally
        tell(name, tally)
    return tallies


def computed() -> float:
    """Return the seconds that this process and those it has waited for have computed."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def tell(name: str, tally: Tally) -> None:
    """Print what came of a row."""
    failed = len(tally.failures)
    sys.stdout.write(
        f"{name:24s} {tally.attempts:7,d} attempts {tally.attempts - failed:7,d} survived "
        f"{failed:6,d} failed {tally.seconds:7.0f} s\n"
    )
    for failure in tally.failures[:SHOWN]:
        sys.stdout.write("    " + " ".join(failure.split())[:400] + "\n")
    sys.stdout.flush()


def table(tallies: Mapping[str, Tally]) -> str:
    """Return the table of some rows' tallies."""
    lines = ["| row | what is done | attempts | survived | failed |", "|---|---|---:|---:|---:|"]
    counted = {name: (each.attempts, len(each.failures)) for name, each in tallies.items()}
    titles = {name: ROWS[name].title for name in counted}
    counted["all"] = tuple(map(sum, zip(*counted.values(), strict=True)))  # type: ignore[assignment]
    for name, (done, failed) in counted.items():
        title = titles.get(name, "")
        lines.append(f"| {name} | {title} | {done:,} | {done - failed:,} | {failed:,} |")
    return "\n".join(lines)


def write_table(path: Path, tallies: Mapping[str, Tally]) -> None:
    """Replace the table on a page, between its two marks."""
    text = path.read_text(encoding="utf-8")
    found = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if len(found.findall(text)) != 1:
        raise ValueError(f"{path} has no one place for the table: {BEGIN} ... {END}.")
    new = f"{BEGIN}\n{table(tallies)}\n{END}"
    path.write_text(found.sub(lambda _: new, text), encoding="utf-8")


def warm() -> None:
    """Import what is imported late, and run once what looks at the machine when it first runs."""
    for name in LATE:
        importlib.import_module(name)
    # Nothing that starts threads of a library, which a fork would not have.
    with place() as here, contextlib.redirect_stdout(io.StringIO()):
        data = write(here / "folder", views())
        code = run_app([str(each) for each in select(data, here / "out", "--write-data")])
    assert code == 0
    gc.collect()
    gc.freeze()


def main() -> int:
    """Do what the arguments ask for; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="reliability", description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a few attempts of every row")
    parser.add_argument("--only", action="append", choices=ROWS, help="this row; repeat")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at", type=int, help="number of the first attempt, of one row")
    parser.add_argument("--count", type=int, default=1, help="how many, from --at")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--write", type=Path, help="page to write the table to")
    parser.add_argument("--failures", type=Path, help="file to write all failures to")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    names = asked.only or list(ROWS)
    if asked.at is not None or asked.short:
        warm()
    if asked.work:
        work(names[0], range(asked.at, asked.at + asked.count), asked.seed)
        return 0
    if asked.at is not None:
        numbers = range(asked.at, asked.at + asked.count)
        outcomes = list(ROWS[names[0]].attempts(numbers, asked.seed))
        for label, wrong in outcomes:
            sys.stdout.write(f"{label}: {wrong or 'survived'}\n")
        return any(wrong for _, wrong in outcomes)
    run = here if asked.short else matrix
    tallies = run(names, asked.short, asked.seed, *[asked.jobs] * (run is matrix))
    if asked.failures:
        lines = [f"{name} {each}\n" for name, tally in tallies.items() for each in tally.failures]
        asked.failures.write_text("".join(lines), encoding="utf-8")
    if asked.write:
        write_table(asked.write, tallies)
    return any(tally.failures for tally in tallies.values())


if __name__ == "__main__":
    sys.exit(main())
