"""Runs that are killed, and go on: the same bits in the end, and at no time anything half."""

import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reliability import calls
from reliability.attempts import Done, Outcome, command, first_wrong, ran, tried
from reliability.rows_at_hand import (
    NAMES,
    RESULTS,
    content,
    data_of,
    differing,
    leftovers,
    place,
    results,
    select,
    views,
    write,
)

STRIDE = 31  # between scenarios; a prime, and no divisor of their number
# What is written with; reading changes nothing.
MOMENTS = ("open", *calls.WRITES)


class Scenario:
    """A command over some rows: what it leaves if nothing happens, and how to judge what is left.

    Parameters
    ----------
    here : Path
        Folder of its own.
    name : str
        Of the rows.
    wider : int
        How many times as many features it has as usual.
    """

    kind = "select"

    def __init__(self, here: Path, name: str, wider: int = 1) -> None:
        self.here, self.name, self.runs = here, name, 0
        here.mkdir()
        self.data = write(here / name, views(wider=wider))
        self.expected: dict[str, Any] = {}
        self.n_calls, self.seconds = 0, 0.0

    def begin(self) -> None:
        """Run once, undisturbed, and keep what it leaves."""
        out, number = self.fresh(), self.here / "calls"
        job = command(*self.arguments(out), before=calls.count(MOMENTS, number))
        done = job.finish()
        assert done.code == 0, done.err
        self.expected = self.found(out)
        self.n_calls, self.seconds = int(number.read_text()), done.computed

    def fresh(self) -> Path:
        """Return where to write next."""
        self.runs += 1
        folder = self.here / str(self.runs)
        folder.mkdir()
        return folder / "out"

    def arguments(self, out: Path, again: bool = False) -> tuple[Any, ...]:
        """Return what to run; again after an interruption."""
        return select(self.data, out, *["--resume"] * again)

    def found(self, out: Path) -> dict[str, Any]:
        """Return what is there, in a form that compares."""
        return results(out)

    def between(self, out: Path) -> str:
        """Say what is half, after an interruption."""
        found = self.found(out) if out.exists() else {}
        torn = [name for name in RESULTS if found.get(name, b"") not in self.allowed(name)]
        return f"half written: {torn}" if torn else ""

    def allowed(self, name: str) -> tuple[Any, ...]:
        """Return what a result may be after an interruption."""
        return b"", self.expected[name]

    def goes_on(self, out: Path) -> str:
        """Say what is wrong with the end, after running on."""
        done = ran(*self.arguments(out, again=True))
        if done.code:
            return f"does not go on: {done.code} {done.err.strip()[-300:]}"
        return first_wrong(
            lambda: done.wrong,
            lambda: differing(self.found(out), self.expected),
            lambda: leftovers(out.parent),
        )


class Again(Scenario):
    """A finished run that is asked for other numbers of features: the ranking is replaced."""

    kind = "select again"

    def begin(self) -> None:
        """Keep what is before, too."""
        self.before = results(self.fresh())
        super().begin()

    def fresh(self) -> Path:
        """Return where a finished run is."""
        out = super().fresh()
        assert ran(*select(self.data, out, n=2)).code == 0
        return out

    def arguments(self, out: Path, again: bool = False) -> tuple[Any, ...]:
        """Return what to run."""
        return select(self.data, out, "--resume")

    def allowed(self, name: str) -> tuple[Any, ...]:
        """Return the old or the new."""
        return self.before[name], self.expected[name]


class WithData(Scenario):
    """A run that writes the selected features too."""

    kind = "select --write-data"

    def arguments(self, out: Path, again: bool = False) -> tuple[Any, ...]:
        """Return what to run."""
        return select(self.data, out, "--write-data", *["--resume"] * again)

    def between(self, out: Path) -> str:
        """What stands under the name of the data is all of it."""
        return super().between(out) or part_of_data(out / "data", self.expected["data"])

    def goes_on(self, out: Path) -> str:
        """Data that is whole already may be told to be there."""
        whole = (out / "data").exists() and part_of_data(out / "data", self.expected["data"]) == ""
        wrong = super().goes_on(out)
        if wrong and whole and "is there already" in wrong:
            return differing(self.found(out), self.expected)
        return wrong


def part_of_data(folder: Path, expected: Any) -> str:
    """Say what is not whole in what was written, empty if nothing is."""
    if not folder.exists() or not [each for each in folder.iterdir() if each.name[0] != "."]:
        return ""
    found = data_of(folder)
    return "" if found == expected else f"{folder.name} is not whole: {str(found)[:200]}"


class Writes(Scenario):
    """A command that writes rows: convert, or transform."""

    kind = "convert"

    def __init__(self, here: Path, name: str, wider: int = 1, target: str = "all") -> None:
        super().__init__(here, name, wider)
        self.target = target

    def fresh(self) -> Path:
        """Return where to write next."""
        return super().fresh().with_name(self.target)

    def arguments(self, out: Path, again: bool = False) -> tuple[Any, ...]:
        """Return what to run, the same each time."""
        return "convert", self.data, "-o", out

    def found(self, out: Path) -> dict[str, Any]:
        """Return the rows."""
        return {"rows": content(out)} if out.exists() else {}

    def between(self, out: Path) -> str:
        """What `info` accepts is whole."""
        done = ran("info", out)
        if done.code:
            return done.wrong
        return differing(self.found(out), self.expected)

    def goes_on(self, out: Path) -> str:
        """Rows that are whole already may be told to be there."""
        done = ran(*self.arguments(out))
        whole = done.code == 0 or ("already" in done.err and self.between(out) == "")
        return first_wrong(
            lambda: "" if whole else f"does not go on: {done.code} {done.err.strip()[-300:]}",
            lambda: done.wrong,
            lambda: differing(self.found(out), self.expected),
            # One that is refused has not begun, and sweeps nothing.
            lambda: "" if done.code else leftovers(out.parent),
        )


class Transforms(Writes):
    """The selected features of some rows, in the format they come in."""

    kind = "transform"

    def __init__(self, here: Path, name: str, wider: int = 1) -> None:
        super().__init__(here, name, wider, "reduced")
        assert ran(*select(self.data, here / "model")).code == 0

    def arguments(self, out: Path, again: bool = False) -> tuple[Any, ...]:
        """Return what to run."""
        return "transform", self.here / "model" / "model.omvfs", self.data, "-o", out

    def found(self, out: Path) -> dict[str, Any]:
        """Return the rows."""
        return {"rows": data_of(out)} if out.exists() else {}

    def between(self, out: Path) -> str:
        """What stands there is all of it."""
        return part_of_data(out, self.expected["rows"])


def scenarios() -> list[Callable[..., Scenario]]:
    """Return the makers of all scenarios, each given a folder; of a kind in turn."""
    several = [name for name in NAMES if name.partition(".")[0] in ("rows", "folder")]
    makers: list[Callable[..., Scenario]] = []
    for i, name in enumerate(NAMES):
        makers += [
            partial(Scenario, name=name),
            partial(Writes, name=name, target=several[(i + 3) % len(several)]),
            partial(Again, name=name),
            partial(Transforms, name=name),
            partial(WithData, name=name),
            partial(Writes, name=name),
        ]
    return makers


def begun(
    here: Path, numbers: range, in_a_row: int, wider: int = 1
) -> Iterator[tuple[int, int, Scenario]]:
    """Yield a number, which time it is its scenario's turn, and the scenario, begun."""
    makers, before, scenario = scenarios(), -1, None
    for number in numbers:
        if scenario is None or number // in_a_row != before:
            before = number // in_a_row
            # Far from the one before, so that few scenarios are of many kinds and formats.
            which = before * STRIDE % len(makers)
            scenario = makers[which](here / str(number), wider=wider)
            scenario.begin()
        turn = before // len(makers) * in_a_row + number % in_a_row
        yield number, turn, scenario


def killed(numbers: range, seed: int) -> Iterator[Outcome]:
    """Kill commands with SIGKILL, at any time or in a call that writes, and let them go on."""
    with place() as here:
        for number, turn, scenario in begun(here, numbers, 3):
            rng = np.random.default_rng([seed, number, 1])
            label = f"{number}: {scenario.kind} {scenario.name}"

            def attempt(scenario=scenario, rng=rng, turn=turn) -> str:  # type: ignore[no-untyped-def]
                out = scenario.fresh()
                done = _killed_once(scenario, out, rng, turn)
                if done.code != -signal.SIGKILL:
                    return first_wrong(lambda: done.wrong, lambda: scenario.goes_on(out))
                return first_wrong(lambda: scenario.between(out), lambda: scenario.goes_on(out))

            yield tried(label, attempt)


def _killed_once(scenario: Scenario, out: Path, rng: np.random.Generator, turn: int) -> Done:
    if turn % 3:
        # Late calls are those that put things in their places.
        back = int(rng.integers(scenario.n_calls) * rng.random())
        return ran(*scenario.arguments(out), before=calls.kill(MOMENTS, scenario.n_calls - back))
    job = command(*scenario.arguments(out))
    if not job.ends_within(rng.random() * scenario.seconds):
        job.send(signal.SIGKILL)
    return job.finish()
