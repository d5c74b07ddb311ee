"""Quality of selections: a run goes on from its file, which is sorted, and is shown from it."""

import math
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import picture
import quality
from digits import digits_views
from omvfs.evaluation import evaluate_selection
from paper.rows import mean, names, those
from quality_store import read, run

DOCS = Path(__file__).parents[2] / "docs"
SETS, OURS = quality.SETS, "omvfs"


@pytest.fixture
def done():
    return []


@pytest.fixture
def do(done, tmp_path):
    """Run a job that notes what it does, and finds the same wherever it is done."""

    def found(name, order, wanted, n_seeds):
        done.append((name, order, wanted, n_seeds))
        return [
            {"method": method, "clustering": clustering, "p": p, "NMI": order / 3, "ACC": 1.0}
            for method, clusterings in wanted.items()
            for clustering in clusterings
            for p in (20, 5, 10)
        ]

    def run_plan(orders, seeds, judges=lambda method: ["s", "t"], file="quality.csv"):
        return run(found, quality.plan(orders, seeds), judges, 1, tmp_path / file)

    return run_plan


def test_a_run_does_what_its_file_lacks(do, done, tmp_path):
    both = ["s", "t"]
    first = do({"x": 2}, {"a": 2}, judges=lambda method: ["s"])
    again = do({"x": 2, "y": 1}, {"b": 2, "a": 2})
    assert done[:2] == [("a", 0, {"x": ["s"]}, 2), ("a", 1, {"x": ["s"]}, 2)]
    assert done[2:] == [
        ("b", 0, {"x": both}, 2),
        ("a", 0, {"x": ["t"]}, 2),
        ("b", 0, {"y": both}, 2),
        ("a", 0, {"y": both}, 2),
        ("b", 1, {"x": both}, 2),
        ("a", 1, {"x": ["t"]}, 2),
    ]
    assert len(first) == 2 * 3
    assert len(again) == 2 * (2 + 1) * 2 * 3
    # What is there of other sets, orders and methods is kept, and not returned.
    assert len(do({"y": 1}, {"a": 2})) == 2 * 3
    assert len(read(tmp_path / "quality.csv")) == len(again)
    assert len(done) == 8


def few_digits(monkeypatch):
    """Let the set of digits be 60 rows, of which some features are judged."""
    views, y = digits_views()
    small = {view: X[:60] for view, X in views.blocks.items()}
    monkeypatch.setattr(quality, "digits_views", lambda: (SimpleNamespace(blocks=small), y[:60]))
    monkeypatch.setitem(quality.SIZES, "digits", (5, 10))


def test_a_job_is_the_mean_of_the_evaluations_of_its_seeds(monkeypatch):
    few_digits(monkeypatch)
    job = partial(quality.stream_job, "digits", 1, n_seeds=2, data=None)
    wanted = {OURS: ["multiview", "consensus"], "norm": ["stacked"]}
    rows = job(wanted | {"random": ["stacked"], quality.ALL: ["multiview"]})
    views, y = quality.views_of("digits", None)
    order = np.random.default_rng(1).permutation(len(y))
    stream = quality.Stream({view: X[order] for view, X in views.items()}, y[order], 1)
    single = {view: X.astype(np.float32) for view, X in stream.views.items()}
    judged = [row for row in rows if row["clustering"] != quality.CONSENSUS]
    assert names(judged, "method") == [OURS, "norm", "random", quality.ALL]
    for method in names(judged, "method"):
        own = those(judged, method=method)
        assert [r["p"] for r in own] == (["all"] if method == quality.ALL else [5, 10])
        expected = [
            evaluate_selection(
                single,
                stream.y,
                {"": stream.scores(method, seed)},
                None if method == quality.ALL else 5,
                seeds=[1000 + seed],
                clustering=own[0]["clustering"],
            )[0]["NMI geometric"]
            for seed in range(2)
        ]
        assert own[0]["NMI"] == pytest.approx(np.mean(expected), abs=1e-12), method
    (consensus,) = those(rows, clustering=quality.CONSENSUS)
    assert consensus["seconds"] > 0
    # One alone finds what it finds among others.
    assert job({"norm": ["stacked"]}) == those(rows, method="norm")


def test_the_picture_is_that_of_the_file():
    made = picture.draw(picture.means(read(DOCS / "quality.csv")))
    assert made == (DOCS / "quality.svg").read_text(encoding="utf-8")


def test_the_page_is_that_of_the_file():
    made = quality.whole_page(read(DOCS / "quality.csv"))
    # Which version was measured is no part of the file.
    shown = (DOCS / "quality.md").read_text(encoding="utf-8")
    assert made == re.sub(r"Measured with version \S+\.\n\n", "", shown)


def test_no_row_of_the_file_is_there_twice():
    rows = read(DOCS / "quality.csv")
    keys = ("set", "method", "clustering", "order", "p")
    assert len({tuple(row.get(key) for key in keys) for row in rows}) == len(rows)
    assert not math.isnan(mean(rows, "NMI"))
