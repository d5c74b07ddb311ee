"""Power that fails: what a disk may hold then, by a model of writes that are not synced.

A command is run once, and what stands on the disk is written down before every call that changes
it. If power fails at some call, then

- the names in a folder are those of any moment since the folder was last synced, in order, and a
  folder that was synced is there itself;
- the bytes of a file are those of its last sync, if it has not changed since; else none, some, all,
  or zeros in place of the last of them, whatever its name is.

Each such state is laid out and judged like what a kill leaves: the old or the new, whole; and once
the command has said that it is done, the new.
"""

import hashlib
import io
import os
import pickle
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reliability import calls
from reliability.attempts import Outcome, command, first_wrong, tried
from reliability.crashes import Scenario, begun
from reliability.rows_at_hand import differing, place

CHANGES = ("write", "fsync", "replace", "link", "unlink", "mkdir", "close")
# Path from the root to number and contents of a file; None for those of a folder.
Tree = dict[str, tuple[int, str | None]]


@dataclass(frozen=True)
class Event:
    """What stood there before a call, and what the call syncs, by its number."""

    before: Tree
    synced: int | None


class Recorder:
    """Writes down, in its own process, all that happens below a folder."""

    def __init__(self, root: Path, kept: Path) -> None:
        self.root, self.kept = root, kept
        self.events: list[Event] = []
        self.contents: dict[str, bytes] = {}
        self._open, self._busy = io.open, False
        # Open for as long as this lasts, so that no other file is given their numbers.
        self._held: dict[int, int] = {}

    def __call__(self) -> None:
        """Begin."""
        calls.watch(self.act)

    def act(self, kind: str, args: tuple[Any, ...]) -> None:
        """Write down a call."""
        if kind not in CHANGES or self._busy:
            return
        self._busy = True
        try:
            synced = os.fstat(args[0]).st_ino if kind == "fsync" else None
            tree = self.tree()
            # Of what changes nothing nothing new is to be learned.
            if synced is not None or not self.events or self.events[-1].before != tree:
                self.events.append(Event(tree, synced))
                with self._open(self.kept, "wb") as file:
                    pickle.dump((self.events, self.contents), file)
        finally:
            self._busy = False

    def tree(self) -> Tree:
        """Return what stands below the root now."""
        found: Tree = {".": (os.stat(self.root).st_ino, None)}
        for folder, folders, files in os.walk(self.root):
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                about, content = os.lstat(path), None
                if about.st_ino not in self._held:
                    self._held[about.st_ino] = os.open(path, os.O_RDONLY)
                if stat.S_ISREG(about.st_mode):
                    with self._open(path, "rb") as file:
                        content = self._known(file.read())
                found[os.path.relpath(path, self.root)] = about.st_ino, content
        return found

    def _known(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self.contents[digest] = content
        return digest


@dataclass
class Record:
    """All that happened, and what the disk may hold if power fails within."""

    events: list[Event]
    contents: dict[str, bytes]

    def left(self, at: int, rng: np.random.Generator) -> dict[str, bytes | None]:
        """Return what may be there if power fails just before an event, None for a folder."""
        synced_at, durable = self._synced(at)
        now = self.events[at].before
        contents = dict(now.values())
        # Names of one moment, but for folders that were synced after it.
        moment = int(rng.integers(at + 1))
        found: dict[str, bytes | None] = {}
        built: set[int] = set()

        def build(folder: int, path: str) -> None:
            built.add(folder)
            found[path] = None
            tree = self.events[max(moment, synced_at.get(folder, 0))].before
            home = next((p for p, (n, _) in tree.items() if n == folder), None)
            for there, (number, seen) in tree.items():
                if there == "." or (os.path.dirname(there) or ".") != home:
                    continue
                name = os.path.normpath(os.path.join(path, os.path.basename(there)))
                if seen is None:
                    build(number, name)
                else:
                    content = contents.get(number) or seen
                    found[name] = self._torn(content, durable.get(number), rng)

        build(now["."][0], ".")
        for path, (number, seen) in now.items():
            if seen is None and number in synced_at and number not in built:
                build(number, path)
        return found

    def _synced(self, at: int) -> tuple[dict[int, int], dict[int, str]]:
        """Return when folders were last synced, and what of files was, both by their numbers."""
        folders: dict[int, int] = {}
        files = {n: content for n, content in self.events[0].before.values() if content is not None}
        for i, event in enumerate(self.events[:at]):
            there = dict(event.before.values())
            if event.synced in there:
                content = there[event.synced]
                if content is None:
                    folders[event.synced] = i
                else:
                    files[event.synced] = content
        return folders, files

    def _torn(self, content: str, durable: str | None, rng: np.random.Generator) -> bytes:
        whole = self.contents[content]
        if content == durable:
            return whole
        cut = int(rng.integers(len(whole) + 1))
        torn = [b"", whole[:cut], whole[:cut] + bytes(len(whole) - cut), whole]
        if durable is not None:
            torn.append(self.contents[durable])
        return torn[int(rng.integers(len(torn)))]


def recorded(scenario: Scenario) -> Record:
    """Run a scenario once, writing down what happens."""
    out, kept = scenario.fresh(), scenario.here / "record"
    recorder = Recorder(out.parent, kept)
    done = command(*scenario.arguments(out), before=recorder).finish()
    assert done.code == 0, done.err
    events, contents = pickle.loads(kept.read_bytes())
    # The end, after which nothing is left to be written.
    recorder.contents = contents
    return Record([*events, Event(recorder.tree(), None)], contents)


def lay_out(found: dict[str, bytes | None], folder: Path) -> None:
    """Put files where they are to be found."""
    for path in sorted(found, key=lambda path: path.count(os.sep)):
        content = found[path]
        place = folder / path
        # A name whose folder is not there any more is not there either.
        if place.parent.is_dir() or path == ".":
            place.mkdir(exist_ok=True) if content is None else place.write_bytes(content)


def power_loss(numbers: range, seed: int) -> Iterator[Outcome]:
    """Lose power at any call, with any of the writes that were not synced: old or new, whole."""
    with place() as here:
        record, of = None, None
        for number, _, scenario in begun(here, numbers, 12):
            if of is not scenario:
                record, of = recorded(scenario), scenario
            assert record is not None
            rng = np.random.default_rng([seed, number, 7])
            n = len(record.events)
            # The end is a moment like others, and more is promised of it.
            at = n - 1 if rng.random() < 0.2 else int(rng.integers(n))
            name = f"{number}: before call {at} of {n}, {scenario.kind} {scenario.name}"
            yield tried(name, lambda s=scenario, r=record, a=at, g=rng: _lost(s, r, a, g))


def _lost(scenario: Scenario, record: Record, at: int, rng: np.random.Generator) -> str:
    out = scenario.fresh()
    shutil.rmtree(out.parent)
    lay_out(record.left(at, rng), out.parent)
    over = at == len(record.events) - 1
    return first_wrong(
        lambda: scenario.between(out),
        lambda: _not_durable(scenario, out) if over else "",
        lambda: scenario.goes_on(out),
    )


def _not_durable(scenario: Scenario, out: Path) -> str:
    lost = differing(scenario.found(out), scenario.expected)
    return f"was said to be done, and is {lost}" if lost else ""
