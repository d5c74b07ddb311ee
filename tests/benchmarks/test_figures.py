"""Every figure that the README quotes is in a committed file of results, as it is shown.

To quote a figure, add the words around it to `PROSE`, with the file and the key that hold it. What
is no result, or has no file, is named too: a figure that is in none of these makes the test fail.
"""

import ast
import csv
import json
import re
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import quality
from page import page
from paper import EXPERIMENTS, write_page
from paper.page import sections_of

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
QUALITY = "docs/quality.csv"


@cache
def rows_of(file):
    """Return the rows of a file, all values as text."""
    with (ROOT / file).open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def from_csv(file, column, over=np.mean, **where):
    """Return a column's mean, or else, over the rows that have these values, as text."""
    rows = [row for row in rows_of(file) if where.items() <= row.items()]
    return float(over([float(row[column]) for row in rows]))


@cache
def from_json(file, *keys):
    """Return what stands under these keys, one below the other."""
    found = json.loads((ROOT / file).read_text(encoding="utf-8"))
    for key in keys:
        found = found[key]
    return found


def of_quality(method, judge="stacked", sets=(*quality.DEVELOPMENT, *quality.HELD_BACK)):
    """Return the mean over shares, seeds and sets."""
    value = quality.means(quality.load(ROOT / QUALITY), judge)
    return float(np.mean([value[name, method] for name in sets]))


def of_votes(method):
    """Return how many of a hundred rows the nearest ones put into their class."""
    return 100 * of_quality(method, "5-NN")


@dataclass(frozen=True)
class Quote:
    """A figure in running text.

    The pattern has the words around it, and one group that is the figure; `value` returns it from
    a file. It may differ by half a `step`, by default one of the last digit shown.
    """

    pattern: str
    value: object
    step: float | None = None


# How to add one, with docs/results/runtime.csv as an example:
#   Quote(r"FSDS takes (\S+) s", lambda: from_csv("docs/results/runtime.csv", "seconds", np.median,
#                                                 against="rows", method="FSDS", rows="100000"))
PROSE = [
    Quote(r"random (\d+) %", partial(of_votes, "random")),
    Quote(r"random (\S+); all", partial(of_quality, "random")),
    Quote(r"an NMI of (\S+) with the classes", partial(of_quality, "OMVFS")),
    Quote(r"column sum (\S+), variance \S+, FSDS \S+, random", partial(of_quality, "column sum")),
    Quote(r"variance (\S+), FSDS \S+, random", partial(of_quality, "variance")),
    Quote(r"FSDS (\S+), random", partial(of_quality, "FSDS")),
    Quote(r"all features (0\.\d+)", partial(of_quality, "all features")),
    Quote(r"right class in (\d+) % of cases", partial(of_votes, "OMVFS")),
    Quote(r"column sum (\d+) %, random", partial(of_votes, "column sum")),
    Quote(r"all features (\d+) %", partial(of_votes, "all features")),
    Quote(r"was chosen by: (\S+)", partial(of_quality, "OMVFS", sets=quality.HELD_BACK)),
    *(
        Quote(rf"{start}{name} (0\.\d+){end}", partial(of_quality, name, sets=quality.HELD_BACK))
        for start, name, end in (
            (r"\(", "column sum", r", variance \S+, FSDS \S+\)"),
            ("", "variance", r", FSDS \S+\)"),
            ("", "FSDS", r"\)"),
        )
    ),
]
# Figures that a command prints, and no file holds.
PRINTED = {
    r"finds 100 % of the\s+planted words; column sum finds 5 %, variance 7 %": "make demo",
}
# What is set, not found.
SETTINGS = [
    r"Python 3\.11 or newer",
    r"on 21 real sets",
    r"mean of 21 real data sets",
    r"2 to 20 % of the features selected",
    r"the 5 nearest rows",
    r"On the 6 sets",
    r"p below \.01",
    r"BSD-3-Clause",
]

NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)?"
# Outside the section of figures: only what looks like a result.
RESULT = rf"[+-]?\d[\d,]*\.\d+|{NUMBER}(?=\s*(?:%|×|times\b|rows per second))"


def agrees(text, value, step=None):
    """Tell whether a figure as it is shown is a value, rounded."""
    return abs(float(text.replace(",", "")) - value) <= (step or last_digit(text)) / 2 + 1e-9


def last_digit(text):
    """Return what one more in the last digit of a figure is worth."""
    return 10.0 ** -len(text.partition(".")[2])


def wrong_prose(text, quotes):
    """Return what is wrong in running text."""
    wrong = []
    for quote in quotes:
        found = re.findall(quote.pattern, text)
        if not found:
            wrong.append(f"{quote.pattern!r} is quoted no more: take it off the list")
        value = quote.value()
        wrong += [
            f"{quote.pattern!r}: {each}, the file says {value:.6g}"
            for each in found
            if not agrees(each, value, quote.step)
        ]
    return wrong


def without_source(text):
    """Return the figures of a README that no list in this file names."""
    text = re.sub(r"(?s:```.*?```)|`[^`]*`|\]\([^)]*\)|(?m:^    .*$)", "", text)
    # Patterns may share words: all are found before any is taken out.
    patterns = [*(quote.pattern for quote in PROSE), *PRINTED, *SETTINGS]
    named = [found.span() for pattern in patterns for found in re.finditer(pattern, text)]
    kept = np.ones(len(text), bool)
    for start, end in named:
        kept[start:end] = False
    text = "".join(letter if own else " " for letter, own in zip(text, kept, strict=True))
    before, after = text.split("## Figures\n")
    return re.findall(RESULT, before) + re.findall(NUMBER, after)


def problems(text):
    return wrong_prose(text, PROSE) + without_source(text)


def test_the_figures_of_the_readme_are_those_of_the_results():
    assert problems(README.read_text()) == []


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [("NMI of 0.4", "NMI of 0.5", "says 0.44"), ("in 82 %", "in 92 %", "the file says 81.9")],
)
def test_an_altered_figure_is_found(before, after, wrong):
    (found,) = problems(README.read_text().replace(before, after))
    assert wrong in found


def test_the_page_of_performance_is_made_of_its_results():
    if from_json("docs/performance.json").get("format") != 2:
        pytest.skip("docs/performance.json is of an older format: make bench.")
    made = page(from_json("docs/performance.json", "results"))
    text = (ROOT / "docs" / "performance.md").read_text()
    assert re.sub(r"Measured with earlier code.*\n\n", "", text) == made


def value(text):
    """Return what a cell of a file of rows holds; an empty one nothing."""
    try:
        return ast.literal_eval(text) if text else None
    except (ValueError, SyntaxError):
        return text


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_page_of_the_experiments_says_what_their_rows_say(name):
    file = f"docs/results/{name}.csv"
    if not (ROOT / file).exists():
        pytest.skip("There are no results of this experiment: make experiments.")
    rows = [{key: value(text) for key, text in row.items()} for row in rows_of(file)]
    made = EXPERIMENTS[name].section(rows)
    shown = sections_of((ROOT / "docs" / "results.md").read_text())[name]
    shown = re.sub(r"\n\d+ of its results are of an earlier version of the code\.\n", "", shown)
    said = "\n".join(shown.splitlines()[-len(made.splitlines()) :])
    assert re.sub(NUMBER, "0", said) == re.sub(NUMBER, "0", made)
    # The rows are rounded: a last digit may differ by one.
    for shown, found in zip(re.findall(NUMBER, said), re.findall(NUMBER, made), strict=True):
        assert agrees(shown, float(found.replace(",", "")), 2 * last_digit(shown)), made


def test_the_page_of_the_experiments_can_be_written_again(tmp_path):
    written = (ROOT / "docs" / "results.md").read_text()
    (tmp_path / "results.md").write_text(written)
    write_page(tmp_path / "results", tmp_path / "results.md")
    assert (tmp_path / "results.md").read_text() == written
