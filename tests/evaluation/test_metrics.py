"""Agreement of clusters with classes."""

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from omvfs.evaluation import clustering_accuracy, normalized_mutual_information

METHODS = ["max", "geometric", "arithmetic", "min"]
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=14)


def brute_force_accuracy(true, pred):
    """Try every naming of the clusters; names beyond the classes stand for none."""
    clusters = sorted(set(pred))
    names = [*set(true), *(object() for _ in clusters)]
    return max(
        sum(
            dict(zip(clusters, naming, strict=True))[p] == t
            for t, p in zip(true, pred, strict=True)
        )
        for naming in permutations(names, len(clusters))
    ) / len(true)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=10))
@settings(max_examples=40, deadline=None)
def test_accuracy_is_that_of_the_best_naming(rows):
    true, pred = zip(*rows, strict=True)
    expected = brute_force_accuracy(true, pred)
    assert clustering_accuracy(true, pred) == pytest.approx(expected)
    assert clustering_accuracy(pred, true) == pytest.approx(expected)


@pytest.mark.parametrize("mean", METHODS)
@given(pairs)
@settings(max_examples=40, deadline=None)
def test_nmi_is_mutual_information_over_a_mean_of_entropies(mean, rows):
    true, pred = zip(*rows, strict=True)
    got = normalized_mutual_information(true, pred, mean)
    theirs = normalized_mutual_info_score(true, pred, average_method=mean)
    assert got == pytest.approx(theirs, abs=1e-12)
    assert 0 <= got <= 1


@given(pairs, st.permutations(range(5)))
@settings(max_examples=40, deadline=None)
def test_names_do_not_matter(rows, names):
    true, pred = zip(*rows, strict=True)
    renamed = [names[p] for p in pred]
    for measure in (clustering_accuracy, normalized_mutual_information):
        assert measure(true, pred) == pytest.approx(measure(true, renamed))
        assert measure(true, true) == pytest.approx(1)


@pytest.mark.parametrize(
    "form",
    [
        lambda labels: [f"class {label}" for label in labels],
        lambda labels: np.array([f"class {label}" for label in labels], dtype=object),
        lambda labels: labels.astype(float) - 7.5,
        lambda labels: labels.astype(np.uint8),
        lambda labels: tuple(labels.tolist()),
        lambda labels: pd.Series(labels, index=labels + 9),
        lambda labels: pd.Series(labels.astype(str)).astype("category"),
        lambda labels: pl.Series(labels),
    ],
)
def test_labels_may_be_of_any_kind(form):
    rng = np.random.default_rng(0)
    true, pred = rng.integers(3, size=30), rng.integers(4, size=30)
    for measure in (clustering_accuracy, normalized_mutual_information):
        assert measure(form(true), pred) == measure(true, form(pred)) == measure(true, pred)
    assert clustering_accuracy(true == 1, ["yes" if t == 1 else "no" for t in true]) == 1


@pytest.mark.parametrize(
    ("true", "pred", "kind", "message"),
    [
        ([0, 1, 1], [0, 1], ValueError, "3 labels_true and 2 labels_pred"),
        ([], [], ValueError, r"labels_true of shape \(0,\)"),
        ([0, 1], [[0], [1]], ValueError, r"labels_pred of shape \(2, 1\)"),
        ([0, np.nan], [0, 1], ValueError, "labels_true that are not finite"),
        ([0, 1], np.array([0, "a"], dtype=object), TypeError, "labels_pred of kinds int, str"),
    ],
)
def test_errors_name_what_was_got(true, pred, kind, message):
    for measure in (clustering_accuracy, normalized_mutual_information):
        with pytest.raises(kind, match=message):
            measure(true, pred)


def test_an_unknown_mean_is_refused_and_the_larger_entropy_is_the_default():
    with pytest.raises(ValueError, match="average_method='sqrt'"):
        normalized_mutual_information([0, 1], [0, 1], "sqrt")
    assert normalized_mutual_information([0, 0, 1, 1], [0, 1, 2, 3]) == pytest.approx(0.5)
