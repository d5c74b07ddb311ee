"""The rows of the matrix."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reliability import (
    checkpoints,
    crashes,
    files,
    intruders,
    learning,
    names,
    numerics,
    power,
    runs,
    shortages,
)
from reliability.attempts import Outcome


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
    "signals": Row(runs.signalled, 60, 10, range(0, 4, 3)),
    "failing calls": Row(shortages.failing_calls, 160, 20, range(3, 6, 2)),
    "power loss": Row(power.power_loss, 120, 20, range(24, 28, 2)),
    "full disk": Row(shortages.full_disk, 60, 10, range(10, 12)),
    "little memory": Row(shortages.little_memory, 40, 10, range(1, 2)),
    "few handles": Row(shortages.few_handles, 48, 12, range(13, 18, 4)),
    "changed inputs": Row(runs.changed, 104, 26, range(0, 40, 37)),
    "pairs of runs": Row(runs.pairs, 20, 5, range(1)),
    "loads beside a run": Row(runs.readers, 10, 5, range(1)),
    "damaged files": Row(files.damaged, 2_000, 250, range(1_003, 1_990, 41)),
    "files of others": Row(intruders.intruders, 102, 51, range(0, 7, 3)),
    "hostile checkpoints": Row(checkpoints.hostile, 1_000, 250, range(40)),
    "hostile names": Row(names.hostile_names, 84, 21, range(5, 8, 2)),
    "numerics": Row(numerics.extremes, 200, 100, range(10)),
    "interrupts": Row(learning.interrupted, 800, 200, range(48)),
}
