from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from omvfs.datasets import make_planted, planted_stream

EASY = {}
HARD = {"n_informative": (150, 60), "row_length": (25, 20), "concentration": 0.7}
SMALL = {"n_features": (90, 50), "n_informative": (30, 15), "row_length": (12, 7), "n_classes": 3}


def column_variance(X):
    return X.multiply(X).mean(axis=0) - X.mean(axis=0) ** 2


def contrast_of_labels(X, labels):
    sizes = np.bincount(labels)
    V = normalize(X.astype(np.float64)).T @ (np.eye(len(sizes))[labels] / np.sqrt(sizes))
    even = np.sqrt(sizes / sizes.sum())
    return np.linalg.norm(V - np.outer(V @ even, even), axis=1)


def recovered(score, informative):
    best = np.argsort(-score, kind="stable")[: informative.sum()]
    return informative[best].mean()


def assert_same(a, b):
    for name in a:
        np.testing.assert_array_equal(a[name].indptr, b[name].indptr)
        np.testing.assert_array_equal(a[name].indices, b[name].indices)
        np.testing.assert_array_equal(a[name].data, b[name].data)


def joined(chunks):
    chunks = list(chunks)
    views = {v: sp.vstack([c.views[v] for c in chunks], format="csr") for v in chunks[0].views}
    return views, np.concatenate([c.labels for c in chunks])


@pytest.mark.parametrize(
    ("options", "view", "variance_hint"),
    [
        (EASY, "view_0", 0.06),
        # Words that gather in one class vary more, and here they come most often: 0.58 in all.
        (EASY, "view_1", 0.09),
        (HARD, "view_0", 0.06),
        (HARD, "view_1", 0.06),
    ],
)
def test_column_sums_and_variances_do_not_tell_informative_from_noise(options, view, variance_hint):
    by_sum, by_variance, p_values, found = [], [], [], []
    for seed in range(8):
        planted = make_planted(**options, random_state=seed)
        X, informative = planted.views[view].astype(np.float64), planted.informative[view]
        sums = X.sum(axis=0)
        p_values.append(ks_2samp(sums[informative], sums[~informative]).pvalue)
        by_sum.append(roc_auc_score(informative, sums))
        by_variance.append(roc_auc_score(informative, column_variance(X)))
        found.append(recovered(sums, informative) - informative.mean())
    assert min(p_values) > 0.01
    assert abs(np.mean(by_sum) - 0.5) < 0.02
    assert abs(np.mean(by_variance) - 0.5) < variance_hint
    assert abs(np.mean(found)) < 0.03


@pytest.mark.parametrize("class_weights", [None, (5, 2, 1)])
def test_every_feature_keeps_its_base_frequency_over_all_rows(class_weights):
    # Same truth with and without classes: concentration 0 is the base law itself.
    options = {**SMALL, "class_weights": class_weights, "random_state": 1}
    flat, sharp = (make_planted(60_000, **options, concentration=c) for c in (0.0, 0.9))
    for view, X in sharp.views.items():
        base = flat.views[view].sum(axis=0)
        # The difference of two Poisson counts, in standard deviations.
        z = (X.sum(axis=0) - base) / np.sqrt(X.sum(axis=0) + base)
        informative = sharp.informative[view]
        assert np.mean(z[informative] ** 2) < 1.8
        assert np.mean(z[~informative] ** 2) < 1.8


def test_informative_words_gather_in_their_class_and_noise_does_not():
    planted = make_planted(20_000, **SMALL, concentration=0.9, random_state=0)
    for view, X in planted.views.items():
        of_class = np.stack([X[planted.labels == c].mean(axis=0) for c in range(3)])
        share = of_class / of_class.sum(axis=0)
        classes = planted.feature_class[view]
        words = np.flatnonzero(classes >= 0)
        np.testing.assert_array_equal(planted.informative[view], classes >= 0)
        np.testing.assert_array_equal(share[:, words].argmax(axis=0), classes[words])
        # Own class: 0.9 + 0.1 / 3 of the uses.
        assert np.median(share.max(axis=0)[words]) == pytest.approx(0.93, abs=0.03)
        assert np.abs(share[:, classes < 0] - 1 / 3).max() < 0.06


@pytest.mark.parametrize("batch_size", [1, 700, 2048, 5000, 10_000])
def test_stream_equals_make_planted_bit_for_bit(batch_size):
    n_rows = 40 if batch_size == 1 else 5000
    options = {
        **SMALL, "drift_at": (20,), "missing": (0.0, 0.2), "random_state": 5
    }  # fmt: skip
    planted = make_planted(n_rows, **options)
    stream = planted_stream(n_rows, batch_size=batch_size, **options)
    for _ in range(2):  # a stream can be read again
        chunks = list(stream)
        views, labels = joined(chunks)
        assert_same(views, planted.views)
        np.testing.assert_array_equal(labels, planted.labels)
        assert [c.start for c in chunks] == list(range(0, n_rows, batch_size))
    assert len(stream) == len(chunks)


def test_seeds():
    a, b, c = (make_planted(100, **SMALL, random_state=seed) for seed in (0, 0, 1))
    assert_same(a.views, b.views)
    assert (a.labels != c.labels).any()
    assert (a.informative["view_0"] != c.informative["view_0"]).any()
    unseeded = planted_stream(100, **SMALL)
    assert_same(joined(unseeded)[0], joined(unseeded)[0])


def test_a_shorter_stream_is_the_beginning_of_a_longer_one():
    short, long = (make_planted(n, **SMALL, random_state=2) for n in (1000, 3000))
    assert_same(short.views, {name: X[:1000] for name, X in long.views.items()})


def test_rows_are_canonical_counts_of_row_length_words():
    planted = make_planted(3000, **SMALL, random_state=0)
    for X, words in zip(planted.views.values(), (12, 7), strict=True):
        np.testing.assert_array_equal(X.sum(axis=1), words)
        X.check_format(full_check=True)
        assert X.has_canonical_format
        assert X.dtype == np.float32
        assert X.indices.dtype == X.indptr.dtype == np.int32
        assert (X.data >= 1).all()
    assert make_planted(10, **SMALL, dtype=np.float64).views["view_0"].dtype == np.float64


def test_drift_changes_every_word_and_keeps_every_frequency():
    planted = make_planted(
        30_000, **SMALL, drift_at=(10_000, 20_000), concentration=0.9, random_state=0
    )
    assert [(s.start, s.stop) for s in planted.segments] == [
        (0, 10_000), (10_000, 20_000), (20_000, 30_000)
    ]  # fmt: skip
    for view, X in planted.views.items():
        for before, after in pairwise(planted.segments):
            assert not (before.informative[view] & after.informative[view]).any()
        for segment in planted.segments:
            rows = slice(segment.start, segment.stop)
            score = contrast_of_labels(X[rows], planted.labels[rows])
            assert recovered(score, segment.informative[view]) > 0.9
        first, last = (X[s.start : s.stop].sum(axis=0) for s in planted.segments[::2])
        assert np.mean((first - last) ** 2 / (first + last)) < 1.8
        np.testing.assert_array_equal(
            planted.informative[view], planted.segments[-1].informative[view]
        )


def test_missing_empties_rows_and_leaves_the_others_alone():
    whole = make_planted(4000, **SMALL, random_state=0)
    holed = make_planted(4000, **SMALL, missing=(0.0, 0.3), random_state=0)
    assert_same({"view_0": holed.views["view_0"]}, {"view_0": whole.views["view_0"]})
    empty = holed.views["view_1"].sum(axis=1) == 0
    assert empty.mean() == pytest.approx(0.3, abs=0.03)
    assert_same({"": holed.views["view_1"][~empty]}, {"": whole.views["view_1"][~empty]})
    holed.views["view_1"].check_format(full_check=True)
    assert make_planted(50, **SMALL, missing=1.0).views["view_0"].nnz == 0


def test_names():
    planted = make_planted(10, **SMALL, view_names=("text", "image"), random_state=0)
    assert list(planted.views) == list(planted.informative) == ["text", "image"]
    names = planted.feature_names["image"]
    assert len(set(names)) == len(names) == 50
    told = [not name.startswith("noise") for name in names]
    np.testing.assert_array_equal(told, planted.informative["image"])
    topics = {
        (name.partition("_")[0], c)
        for name, c in zip(names, planted.feature_class["image"], strict=True)
    }
    assert len(topics) == len({topic for topic, _ in topics}) == len({c for _, c in topics})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_rows": 0}, "Got n_rows=0; expected a whole number of at least 1"),
        ({"n_features": (10, 10)}, "n_informative of view 'view_0'=30; .* at most 10"),
        ({"n_features": (50, 50), "drift_at": (5,)}, "n_informative of view .* at most 25"),
        ({"n_informative": (3,)}, "n_informative has 1 values; there are 2 views"),
        ({"concentration": 1.5}, "Got concentration=1.5; .* at most 1"),
        ({"missing": (0.1, 2)}, "Got missing of view 'view_1'=2; .* at most 1"),
        ({"row_length": (5, 0)}, "Got row_length of view 'view_1'=0"),
        ({"drift_at": (10, 5)}, "drift_at must be increasing rows"),
        ({"drift_at": (100,)}, "drift_at must be increasing rows"),
        ({"class_weights": (1, 0, 1)}, "class_weights must be 3 positive numbers"),
        ({"view_names": ("a", "a")}, "view_names must be 2 different names"),
    ],
)
def test_bad_arguments_say_what_is_wrong(options, message):
    with pytest.raises(ValueError, match=message):
        make_planted(**{"n_rows": 100, **SMALL, **options})
