"""The objective is that of the equation."""

import numpy as np
import pytest

import criterion
from omvfs import OMVFS, OMVFSPaper
from paper.twins import make_twin


def test_the_objective_is_that_of_the_equation():
    twin = make_twin("reuters", 120, n_features=(60, 50), n_words=(9, 9), n_classes=3)
    chunks = [chunk.views for chunk in twin.chunks(60)]
    ours, paper = OMVFS(3, random_state=0), OMVFSPaper(3, random_state=0, max_iter=20)
    for chunk in chunks:
        ours.partial_fit(chunk)
        paper.partial_fit(chunk)
    found = criterion.compare({"omvfs": ours, "paper": paper}, chunks)
    assert list(found) == [
        "first chunk, one cluster U",
        "first chunk, best U",
        "last chunk, one cluster U",
        "last chunk, best U",
        "last chunk, own U",
    ]
    for how, both in found.items():
        for terms in both.values():
            parts = terms["reconstruction"] + terms["graph"] + terms["sparsity"]
            assert terms["objective"] == pytest.approx(parts)
            # Two views of 60 rows of norm 1.
            assert 0 < terms["reconstruction"] <= 120 + 1e-9 or "own" in how
            if "one cluster" in how:
                assert terms["gap"] < 1e-9
    for place in ("first", "last"):
        for who in ("omvfs", "paper"):
            best, one = (
                found[f"{place} chunk, {how} U"][who]["reconstruction"]
                for how in ("best", "one cluster")
            )
            assert best <= one + 1e-9


def test_the_terms_do_not_depend_on_how_long_u_is():
    rng = np.random.default_rng(0)
    X, U, V, L = [rng.random((6, 4))], rng.random((6, 2)), [rng.random((4, 2))], np.eye(6)
    a = criterion.terms(X, U, V, L)
    b = criterion.terms(X, U * [2.0, 5.0], [V[0] / [2.0, 5.0]], L)
    assert a == pytest.approx(b)
