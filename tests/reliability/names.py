"""Names that are made to be taken for something else."""

import csv
import json
import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from omvfs import Views
from omvfs.formats import open_writer
from reliability.attempts import Outcome, command, first_wrong, ran, tried
from reliability.rows_at_hand import place, select

NAMES = (
    "[/]",
    "[red]x[/red]",
    "[link=file:///etc]x[/link]",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "..",
    ".",
    "../../up",
    "a/b",
    "C:\\x",
    "nul\0l",
    "line\nline",
    "a\r\nb",
    "",
    " ",
    "x" * 300,
    "x" * 100_000,
    "\udcff",
    "\u202egnp.exe",
    "é",
    "e\u0301",
    "😀",
    "{0}{x}%s%n",
    "$HOME`id`",
    "--out",
    "a,b\"c';d",
    "__class__",
    "a__b__c",
    "row",
    "value",
    "1e999",
    "nan",
    "\ufeffx",
    "*",
    "~",
    "view=x",
)
KINDS = (
    "folder",
    "rows.csv",
    "rows.jsonl",
    "rows.parquet",
    "rows.feather",
    "rows.h5mu",
    "rows.mat",
)
RAW = ("rows.csv", "rows.jsonl", "folder")
PLACES = ("feature", "view", "typed", "raw bytes")
N = 24
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def hostile_names(numbers: range, seed: int) -> Iterator[Outcome]:
    """Name views and features by markup, escapes, formulas, paths and bytes that are no text."""
    every = [(place, kind) for place in PLACES for kind in (RAW if place == "raw bytes" else KINDS)]
    for number in numbers:
        name = NAMES[number % len(NAMES)]
        where, kind = every[(number * 7 + number // len(NAMES)) % len(every)]
        label = f"{number}: {where} {name[:30]!r} in {kind}"
        yield tried(label, lambda n=name, w=where, k=kind: _named(n, w, k))


def _named(name: str, where: str, kind: str) -> str:
    with place() as here:
        rng = np.random.default_rng(0)
        (here / "data").mkdir()
        path = here / "data" / kind
        text, image = rng.random((N, 5)), rng.random((N, 4))
        view = name if where == "view" else "text"
        names = ["a", "b", name if where == "feature" else "c", "d", "e"]
        given: Any = path
        if where == "raw bytes":
            _raw(path, name.encode(errors="surrogateescape") + b"\xff\xe9", text)
        else:
            try:
                rows = Views({view: text, "image": image}).named({view: names})
                with open_writer(path) as writer:
                    writer.append(rows)
            except (ValueError, OSError) as error:
                # Refused where it comes in, in a sentence.
                return "" if str(error) else f"refused without a word: {error!r}"
        if where == "typed":
            np.save(here / "data" / "x.npy", text)
            given = f"{name}={here / 'data' / 'x.npy'}"
        if "\0" in os.fspath(given):
            return ""
        return first_wrong(
            lambda: _on_a_terminal("info", given),
            lambda: _selected(here, given, name),
            lambda: _quiet(ran("convert", given, "-o", here / "out.csv")),
            lambda: _quiet(ran("convert", given, "-o", here / "converted")),
            lambda: _nothing_else(here),
        )


def _raw(path: Path, name: bytes, text: Any) -> None:
    """Write a file whose names are bytes that are no text."""
    name = name.replace(b"\n", b" ").replace(b"\r", b" ").replace(b",", b" ").replace(b'"', b" ")
    if path.name == "folder":
        path.mkdir()
        np.save(path / "view_0_text.npy", text)
        lines = [b"a", b"b", name, b"d", b"e"]
        (path / "features_0_text.txt").write_bytes(b"\n".join(lines) + b"\n")
    elif path.suffix == ".csv":
        lines = [b",".join([b"a", b"b", name])]
        lines += [b",".join(b"%g" % each for each in row[:3]) for row in text]
        path.write_bytes(b"\n".join(lines) + b"\n")
    else:
        name = name.replace(b"\\", b" ").translate(None, bytes(range(32)))
        lines = [b'{"t": {"a": %g, "%b": %g}}' % (row[0], name, row[1]) for row in text]
        path.write_bytes(b"\n".join(lines) + b"\n")


def _quiet(done: Any) -> str:
    """Say what a command has said that a terminal would obey."""
    if done.wrong:
        return done.wrong
    said = done.out + done.err
    odd = {c for c in said if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160}
    return f"says {sorted(odd)!r}" if odd else ""


def _selected(here: Path, given: Any, name: str) -> str:
    done = ran(*select(given, here / "out"))
    if done.code or _quiet(done):
        return _quiet(done)
    with (here / "out" / "ranking.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    cells = [row[key] for row in table for key in ("view", "name", "repeats")]
    formulas = [cell for cell in cells if cell.startswith(FORMULA)]
    json.loads((here / "out" / "ranking.json").read_text(encoding="utf-8"))
    return f"a formula in ranking.csv: {formulas[0][:30]!r}" if formulas else ""


def _nothing_else(here: Path) -> str:
    mine = {"data", "out", "out.csv", "converted", "fault.toml"}
    others = sorted({each.name for each in here.iterdir()} - mine)
    around = sorted(each.name for each in here.parent.glob("up*"))
    return f"written elsewhere: {others + around}" if others or around else ""


def _on_a_terminal(*arguments: Any) -> str:
    """Run a command whose output is a terminal, and say what it does to it."""
    leader, terminal = pty.openpty()
    os.set_blocking(leader, False)

    def before() -> None:
        os.environ |= {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200"}
        os.dup2(terminal, 1)
        sys.stdout = sys.__stdout__ = open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115

    job, shown = command(*arguments, before=before), b""
    over = False
    while not over:
        over = job.ends_within(0.01)
        try:
            while part := os.read(leader, 65536):
                shown += part
        except (BlockingIOError, OSError):
            pass
    done = job.finish()
    for each in (leader, terminal):
        os.close(each)
    text = shown.decode(errors="replace").replace("\r\n", "\n")
    return _quiet(done._replace(out=text))
