"""The table of the matrix on its page, between two marks."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reliability.registry import ROWS

BEGIN, END = "<!-- table of the matrix -->", "<!-- end of the table -->"


def table(tallies: Mapping[str, Any]) -> str:
    """Return the table of some rows' tallies."""
    lines = ["| row | what is done | attempts | survived | failed |", "|---|---|---:|---:|---:|"]
    totals = [0, 0, 0]
    for name, tally in tallies.items():
        failed = len(tally.failures)
        numbers = [tally.attempts, tally.attempts - failed, failed]
        totals = [a + b for a, b in zip(totals, numbers, strict=True)]
        lines.append(f"| {name} | {ROWS[name].title} | {_listed(numbers)} |")
    return "\n".join([*lines, f"| all | | {_listed(totals)} |"])


def _listed(numbers: list[int]) -> str:
    return " | ".join(f"{number:,}" for number in numbers)


def write(path: Path, tallies: Mapping[str, Any]) -> None:
    """Replace the table on a page."""
    text = path.read_text(encoding="utf-8")
    found = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if len(found.findall(text)) != 1:
        raise ValueError(f"{path} has no one place for the table: {BEGIN} ... {END}.")
    new = f"{BEGIN}\n{table(tallies)}\n{END}"
    path.write_text(found.sub(lambda _: new, text), encoding="utf-8")
