"""Quality of selections: a run goes on from its file, which is sorted, and is drawn from it."""

from argparse import Namespace
from pathlib import Path

import picture
import pytest
import quality

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def done():
    return []


@pytest.fixture
def job(done):
    """A job that notes what it does, and finds the same wherever it is done."""

    def found(name, order, methods):
        done.append((name, order, list(methods)))
        return [
            {"method": method, "p": p, "NMI": order / 3, "ACC": 1.0}
            for method in methods
            for p in (20, 5, quality.CONSENSUS, 10)
        ]

    return found


def test_a_run_does_what_its_file_lacks(job, done, tmp_path):
    args = Namespace(csv=tmp_path / "quality.csv", seeds=2, jobs=1)
    first = quality.run(job, ["a"], 2, ["x"], args)
    again = quality.run(job, ["b", "a"], 2, ["x", "y"], args)
    assert done[:2] == [("a", 0, ["x"]), ("a", 1, ["x"])]
    assert done[2:] == [
        ("b", 0, ["x", "y"]),
        ("b", 1, ["x", "y"]),
        ("a", 0, ["y"]),
        ("a", 1, ["y"]),
    ]
    assert len(first) == 2 * 4
    assert len(again) == 2 * 2 * 2 * 4
    # What is there of other sets, orders and methods is kept, and not returned.
    assert len(quality.run(job, ["a"], 1, ["y"], args)) == 4
    assert len(quality.read(args.csv)) == len(again)


def test_other_numbers_of_seeds_are_other_results(job, done, tmp_path):
    file = tmp_path / "quality.csv"
    for seeds in (2, 3):
        quality.run(job, ["a"], 1, ["x"], Namespace(csv=file, seeds=seeds, jobs=1))
    assert len(done) == 2
    assert [row["seeds"] for row in quality.read(file)] == [2] * 4 + [3] * 4


def test_the_file_does_not_depend_on_what_was_done_first(tmp_path, job):
    texts = []
    for sets in (["a", "b"], ["b", "a"]):
        file = tmp_path / f"{sets[0]}.csv"
        quality.run(job, sets, 2, ["x"], Namespace(csv=file, seeds=2, jobs=1))
        texts.append(file.read_text())
    assert texts[0] == texts[1]
    sizes = [row["p"] for row in quality.read(file)][:4]
    assert sizes == [5, 10, 20, quality.CONSENSUS]
    assert quality.read(file)[4]["NMI"] == 0.333333


def test_the_picture_is_that_of_the_file():
    made = picture.draw(picture.means(quality.read(DOCS / "quality.csv")))
    assert made == (DOCS / "quality.svg").read_text(encoding="utf-8")
