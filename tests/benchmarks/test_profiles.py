"""Planted plates: precision of replicates, and what thresholds leave."""

import doctest

import numpy as np
import pandas as pd
import pytest

import profiles


def test_examples():
    found = doctest.testmod(profiles)
    assert found.attempted
    assert not found.failed


def test_precision_of_replicates_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    X, compound = rng.normal(size=(20, 3)), np.repeat([0, 1, 2, -1], 5)
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = [
        metrics.average_precision_score(
            np.delete(compound, i) == compound[i], np.delete(Z @ Z[i], i)
        )
        for i in range(15)
    ]
    np.testing.assert_allclose(profiles.average_precision(X, compound), expected)


def test_of_two_columns_alike_the_one_more_like_all_goes():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    frame = pd.DataFrame({"a": a, "same": a + 0.1 * b, "b": b, "less": -a, "flat": 0.0})
    # What correlates negatively is left, as pycytominer leaves it.
    assert profiles.thresholds(frame) == ["a", "b", "less"]


def test_every_method_selects_of_planted_plates(monkeypatch):
    monkeypatch.setattr(profiles, "PLATES", 3)
    monkeypatch.setattr(profiles, "GROUPS", {"Texture": 10})
    monkeypatch.setattr(profiles, "SHAPES", 50)
    monkeypatch.setattr(profiles, "REFERENCE", "all features")
    few = {"all features", "OMVFS, by compartments", "the same, merged of a fit a plate"}
    monkeypatch.setattr(profiles, "METHODS", {n: profiles.METHODS[n] for n in few})
    draws = [profiles.measure(seed, 0.0) for seed in range(2)]
    assert draws[0]["all features"][2] == 300
    assert all(0.02 < precision < 1 for draw in draws for precision, *_ in draw.values())
    assert len(profiles.table([draws] * 3)) == 5
