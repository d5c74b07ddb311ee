"""Runs that get signals, find other data when they go on, or meet each other."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reliability import calls
from reliability.attempts import Done, Outcome, command, first_wrong, ran, tried
from reliability.crashes import begun
from reliability.rows_at_hand import (
    content,
    differing,
    leftovers,
    place,
    results,
    select,
    views,
    write,
)

SIGNALS = [(one,) for one in (signal.SIGINT, signal.SIGTERM)] + [
    (one, other)
    for one in (signal.SIGINT, signal.SIGTERM)
    for other in (signal.SIGINT, signal.SIGTERM)
]


def signalled(numbers: range, seed: int) -> Iterator[Outcome]:
    """Send SIGINT or SIGTERM, once or twice, at any time; one sentence, and it goes on."""
    with place() as here:
        for number, turn, scenario in begun(here, numbers, 6):
            rng = np.random.default_rng([seed, number, 2])
            sent = SIGNALS[turn % len(SIGNALS)]

            def attempt(scenario=scenario, rng=rng, sent=sent) -> str:  # type: ignore[no-untyped-def]
                out = scenario.fresh()
                job = command(*scenario.arguments(out))
                for i, each in enumerate(sent):
                    least, longest = (0.001, 0.05) if i else (0.02, 1.1 * scenario.seconds)
                    if not job.ends_within(least + rng.random() * longest):
                        job.send(each)
                done = job.finish()
                return first_wrong(
                    lambda: _ended_by_signal(done, sent),
                    lambda: scenario.between(out),
                    # A second one ends at once, like a kill; what is left is swept by the next.
                    lambda: leftovers(out.parent, ready=True) if len(sent) == 1 else "",
                    lambda: scenario.goes_on(out),
                )

            names = "+".join(each.name for each in sent)
            yield tried(f"{number}: {names} {scenario.kind} {scenario.name}", attempt)


def _ended_by_signal(done: Done, sent: tuple[signal.Signals, ...]) -> str:
    # Ending by the very signal, silently, is what any program may do.
    if not done.err and not done.late and (-done.code in sent or done.code in (130, 143)):
        return ""
    if done.code not in (0, 130, 143):
        return f"code {done.code}: {done.wrong or done.err[-300:]}"
    return done.wrong


def pairs(numbers: range, seed: int) -> Iterator[Outcome]:
    """Start two commands that write to the same place: one goes on, the other is told."""
    with place() as here:
        data = write(here / "folder", views())
        alone = here / "alone" / "out"
        alone.parent.mkdir()
        assert ran(*select(data, alone, "--write-data")).code == 0
        expected = results(alone)
        whole = content(data)
        for number in numbers:
            rng = np.random.default_rng([seed, number, 3])
            kind = ("select", "resume", "data", "convert")[number % 4]
            folder = here / str(number)
            folder.mkdir()
            yield tried(
                f"{number}: two of {kind}",
                partial(_pair, kind, data, folder, rng, expected, whole),
            )
            shutil.rmtree(folder)


def _pair(kind, data, folder, rng, expected, whole) -> str:  # type: ignore[no-untyped-def]
    out = folder / ("out" if kind != "convert" else "rows")
    options = {"resume": ["--resume"], "data": ["--write-data"]}.get(kind, [])
    arguments = ("convert", data, "-o", out) if kind == "convert" else select(data, out, *options)
    times = folder / "one.times", folder / "other.times"
    one = command(*arguments, before=_keep_times(times[0]))
    alone = one.ends_within(rng.random() * (0.1 if kind == "convert" else 0.3))
    # Half of the time one stands still, wherever it is, while the other does all it can.
    still = rng.random() < 0.5 and not alone
    if still:
        one.send(signal.SIGSTOP)
    other = command(*arguments, before=_keep_times(times[1]))
    ends = [other.finish()]
    if still:
        one.send(signal.SIGCONT)
    ends.append(one.finish())
    if wrong := "; ".join(end.wrong for end in ends if end.wrong):
        return wrong
    fine = [end for end in ends if end.code == 0]
    if not fine:
        return f"none of two went on: {[(end.code, end.err) for end in ends]}"
    if len(fine) == 2 and _overlap(*map(_span, times)):
        return "two of two wrote at once"
    for path in times:
        path.unlink(missing_ok=True)
    if kind == "convert":
        found = "" if content(out) == whole else "not all rows"
    else:
        wanted = {k: v for k, v in expected.items() if k != "data" or kind == "data"}
        wanted["run.json"] = (out / "run.json").read_bytes()
        found = differing(results(out), wanted)
    return found or leftovers(folder)


def _keep_times(path: Path) -> Callable[[], None]:
    """Return what makes a process keep when it put something in its place."""

    def begin() -> None:
        place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def act(kind: str, args: tuple[Any, ...]) -> None:
            if kind in ("replace", "link"):
                os.writev(place, [f"{time.monotonic()}\n".encode()])

        calls.watch(act)

    return begin


def _span(path: Path) -> tuple[float, float]:
    times = [float(line) for line in path.read_text().split()]
    return (times[0], times[-1]) if times else (0.0, 0.0)


def _overlap(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return max(a[0], b[0]) < min(a[1], b[1])
