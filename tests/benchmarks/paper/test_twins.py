"""Twins have the shape of the paper's sets, and say that they are twins."""

import hashlib

import numpy as np
import pytest
import scipy.sparse as sp

from paper.twins import make_twin

# Rows, features and classes of the paper's table, and nonzeros of a row of each view, as drawn.
PAPER = {
    "cnn": (2_107, (996, 35_719), 7, (425, 148)),
    "fox": (1_523, (996, 27_072), 4, (455, 149)),
    "youtube": (95_343, (94_012, 2_000), 31, (13, 96)),
    "reuters": (111_740, (21_531, 24_893), 6, (62, 63)),
}


@pytest.mark.parametrize("name", PAPER)
def test_a_twin_has_the_shape_of_the_papers_set(name):
    n_rows, widths, n_classes, nonzeros = PAPER[name]
    assert len(make_twin(name, n_words=(2, 2)).labels) == n_rows
    twin = make_twin(name, 400)
    assert twin.name == f"{name}-twin"
    assert twin.description.endswith("the shape of that set, not its data.")
    assert sorted(set(twin.labels.tolist())) == list(range(twin.n_classes)) == [*range(n_classes)]
    for X, width, expected in zip(twin.views.values(), widths, nonzeros, strict=True):
        assert isinstance(X, sp.csr_array)
        assert X.shape == (400, width)
        assert X.has_sorted_indices
        np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1)
        assert X.nnz / 400 == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("name", "digest"), [("reuters", "9117a6727240bdbd"), ("youtube", "763117b6f6fd06fd")]
)
def test_a_twin_stays_the_same_over_versions(name, digest):
    twin, found = make_twin(name, 200), hashlib.sha256()
    for X in twin.views.values():
        found.update(X.indices.tobytes() + X.indptr.tobytes())
    found.update(twin.labels.astype(np.int64).tobytes())
    assert found.hexdigest()[:16] == digest


def test_sizes_can_be_changed_within_reason():
    twin = make_twin("reuters", 100, n_features=(50, 60, 70), n_words=(3, 4, 5), n_classes=2)
    assert [X.shape for X in twin.views.values()] == [(100, 50), (100, 60), (100, 70)]
    assert twin.description.endswith("another shape, not its data.")
    assert [len(chunk.labels) for chunk in twin.chunks(40)] == [40, 40, 20]
    for options, message in (
        ({"name": "bbc"}, "expected one of"),
        ({"n_features": (5, 6, 7)}, "of the same length"),
        ({"n_samples": 0}, "Got n_samples=0"),
        ({"n_words": (0, 5)}, "Got n_words=0"),
    ):
        with pytest.raises(ValueError, match=message):
            make_twin(**{"name": "fox", "n_samples": 10, **options})
