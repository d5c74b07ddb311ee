"""The page of all experiments: what the paper says beside what was seen, then each in turn."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper.base import Claim, Experiment, Row


def table(rows: Sequence[Sequence[Any]], head: Sequence[str]) -> str:
    """Return a table as Markdown.

    Examples
    --------
    >>> print(table([["a", 1]], ["name", "n"]))
    | name | n |
    |---|---|
    | a | 1 |
    """
    lines = [head, ["---"] * len(head), *rows]
    text = [f"| {' | '.join(map(str, line))} |" for line in lines]
    text[1] = f"|{'---|' * len(head)}"
    return "\n".join(text)


def claims_table(claims: Sequence[Claim]) -> str:
    """Return claims as a table."""
    rows = [[each.paper, each.seen, f"**{each.verdict}**", each.why] for each in claims]
    return table(rows, ["the paper", "here", "", "why"])


def section(
    experiment: Experiment, rows: Sequence[Row], pictures: Sequence[str], quick: bool = False
) -> str:
    """Return all that is told of one experiment.

    Parameters
    ----------
    experiment : Experiment
    rows : sequence of dict
    pictures : sequence of str
        Paths from the page.
    quick : bool
        The rows are of a quick run: they are too few for verdicts on the paper's claims.
    """
    parts = [f"## {experiment.title}", f"`python benchmarks/paper {experiment.name}`"]
    if quick:
        parts.append("A quick run: a first look, too little for a verdict on what the paper says.")
    elif claims := experiment.claims(rows):
        parts.append(claims_table(claims))
    parts += [f"![{Path(path).stem}]({path})" for path in pictures]
    parts.append(experiment.section(rows))
    return "\n\n".join(parts) + "\n"


def page(sections: Sequence[str], introduction: str) -> str:
    """Return the page of the sections of several experiments."""
    return "\n".join(["# The paper's experiments\n", introduction, *sections])


def sections_of(text: str) -> dict[str, str]:
    r"""Return the sections of a page by the names of their experiments.

    Examples
    --------
    >>> one = "## One\n\n`python benchmarks/paper one`\n"
    >>> sections_of(page([one], "All.\n")) == {"one": one}
    True
    """
    found = {}
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        if name := re.search(r"^`python benchmarks/paper (\S+)`$", part, re.MULTILINE):
            found[name[1]] = part.rstrip("\n") + "\n"
    return found
