"""Quality of selections: judged as it is said, resumed from its file, and shown from it."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import quality

DOCS = Path(__file__).parents[2] / "docs"


def rows_of_kinds(seed=0, n=120):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    blocks = {}
    for view, width in (("text", 40), ("image", 25)):
        tells = np.arange(width) % 3 == y[:, None]
        own = np.arange(width) < 12
        blocks[view] = quality.normalize(rng.random((n, width)) + 3 * (tells & own))
    return {"text": sp.csr_array(blocks["text"]), "image": blocks["image"]}, y


def test_features_that_tell_are_better_by_every_judge():
    views, y = rows_of_kinds()
    best = {view: np.arange(X.shape[1]) + 1 for view, X in views.items()}
    worst = {view: ranks[::-1] for view, ranks in best.items()}
    good, poor = (quality.judged(views, ranks, y, 0.2) for ranks in (best, worst))
    for judge in quality.JUDGES:
        assert good[judge] > poor[judge] + 0.3


def test_the_nearest_rows_vote_without_the_row_itself():
    views, y = rows_of_kinds(1, n=60)
    ranks = {view: np.arange(X.shape[1]) + 1 for view, X in views.items()}
    X = [views[v][:, : quality.size(views[v].shape[1], 0.2)] for v in views]
    X = [quality.normalize(each.toarray() if sp.issparse(each) else each) for each in X]
    X = quality.normalize(np.hstack(X))
    right = []
    for i in range(60):
        near = sorted((j for j in range(60) if j != i), key=lambda j, i=i: -(X[i] @ X[j]))[:5]
        votes = [sum(1 + 1e-3 * (X[i] @ X[j]) for j in near if y[j] == k) for k in range(3)]
        right.append(int(np.argmax(votes)) == y[i])
    found = quality.judged(views, ranks, y, 0.2)
    assert found["5-NN"] == pytest.approx(np.mean(right))
    by_class = [np.mean(np.array(right)[y == k]) for k in range(3)]
    assert found["balanced"] == pytest.approx(np.mean(by_class))


def test_a_run_does_what_its_file_lacks_and_tells_what_took_too_long(tmp_path):
    views, y = rows_of_kinds()
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        np.save(folder / "labels.npy", y)
        sp.save_npz(folder / "view_0_text.npz", sp.csr_array(views["text"]))
        np.save(folder / "view_1_image.npy", views["image"])
    given = SimpleNamespace(
        csv=tmp_path / "found.csv", data=tmp_path, sets=["one"], methods=["variance"], minutes=2
    )
    first = quality.run(given)
    assert {(row["set"], row["method"]) for row in first} == {("one", "variance")}
    assert [float(row["share"]) for row in first] == list(quality.SHARES)
    given.sets, given.methods = ["one", "two"], ["variance", "random"]
    rows = quality.run(given)
    assert len(rows) == 2 * len(quality.SHARES) * (1 + quality.N_RANDOM)
    assert [row for row in rows if (row["set"], row["method"]) == ("one", "variance")] == first
    given.methods, given.minutes = ["OMVFS"], 0
    rows = quality.run(given)
    assert [row["limit"] for row in rows if row["method"] == "OMVFS"] == ["0", "0"]
    assert ("one", "OMVFS") not in quality.means(rows, "5-NN")
    given.minutes = 2
    assert ("one", "OMVFS") in quality.means(quality.run(given), "5-NN")


def test_the_page_and_the_picture_are_those_of_the_file(tmp_path):
    rows = quality.load(DOCS / "quality.csv")
    shown = (DOCS / "quality.md").read_text(encoding="utf-8")
    commit = re.search(r"Measured at commit (\w+)\.", shown)[1]
    assert quality.page(rows, commit) == shown
    quality.picture(rows, tmp_path / "made.svg")
    made = (tmp_path / "made.svg").read_text(encoding="utf-8")
    assert made == (DOCS / "quality.svg").read_text(encoding="utf-8")


def test_tests_of_all_sets_are_those_of_scipy():
    rng = np.random.default_rng(0)
    sets, methods = [f"s{i}" for i in range(12)], ["OMVFS", "a", "b"]
    value = {(n, m): rng.random() + (m == "OMVFS") for n in sets for m in methods}
    whole, by_method = quality.friedman(value, sets, methods)
    assert whole < 0.01
    assert by_method["OMVFS"][0] == 1
    assert np.isnan(by_method["OMVFS"][1])
    alone = [
        quality.stats.wilcoxon(*([value[n, m] for n in sets] for m in ("OMVFS", other))).pvalue
        for other in ("a", "b")
    ]
    corrected = [by_method[m][1] for m in ("a", "b")]
    assert sorted(corrected) == pytest.approx(
        sorted([2 * min(alone), max(2 * min(alone), max(alone))])
    )
