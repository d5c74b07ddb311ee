import hashlib

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import OMVFS
from paper.twins import make_twin

# Rows, features and classes of the paper's table.
PAPER = {
    "cnn": (2_107, {996, 35_719}, 7),
    "fox": (1_523, {996, 27_072}, 4),
    "youtube": (95_343, {2_000, 94_012}, 31),
    "reuters": (111_740, {21_531, 24_893}, 6),
}
# Nonzeros of a row, of each view, as drawn.
NONZEROS = {"cnn": (425, 148), "fox": (455, 149), "youtube": (13, 96), "reuters": (62, 63)}


@pytest.mark.parametrize("name", PAPER)
def test_a_twin_has_the_features_and_classes_of_the_paper(name):
    _, widths, n_classes = PAPER[name]
    twin = make_twin(name, 1_500)
    assert {X.shape for X in twin.views.values()} == {(1_500, width) for width in widths}
    assert twin.n_classes == n_classes
    assert sorted(set(twin.labels.tolist())) == list(range(n_classes))


@pytest.mark.parametrize("name", ["cnn", "fox"])
def test_a_twin_has_the_rows_of_the_paper(name):
    twin = make_twin(name)
    assert len(twin.labels) == PAPER[name][0]
    assert all(X.shape[0] == PAPER[name][0] for X in twin.views.values())


@pytest.mark.parametrize("name", ["youtube", "reuters"])
def test_a_large_twin_has_the_rows_of_the_paper(name):
    assert len(make_twin(name, n_words=(2, 2)).labels) == PAPER[name][0]


@pytest.mark.parametrize("name", PAPER)
def test_a_twin_says_that_it_is_one(name):
    twin = make_twin(name, 10)
    assert twin.name == f"{name}-twin"
    assert f"a twin of the paper's {name} set" in twin.description
    assert twin.description.endswith("the shape of that set, not its data.")
    other = make_twin(name, 10, n_classes=3)
    assert other.description.endswith("another shape, not its data.")


@pytest.mark.parametrize("name", PAPER)
def test_rows_are_sparse_of_unit_norm_and_about_as_long_as_declared(name):
    twin = make_twin(name, 400)
    for X, nonzeros in zip(twin.views.values(), NONZEROS[name], strict=True):
        assert isinstance(X, sp.csr_array)
        assert X.indices.dtype == X.indptr.dtype == np.int32
        assert X.has_sorted_indices
        np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1)
        assert (X.data > 0).all()
        assert X.nnz / 400 == pytest.approx(nonzeros, rel=0.05)


@pytest.mark.parametrize(
    ("name", "digest"), [("reuters", "9117a6727240bdbd"), ("youtube", "763117b6f6fd06fd")]
)
def test_a_twin_stays_the_same_over_versions(name, digest):
    twin, found = make_twin(name, 200), hashlib.sha256()
    for X in twin.views.values():
        found.update(X.indices.tobytes() + X.indptr.tobytes())
    found.update(twin.labels.astype(np.int64).tobytes())
    assert found.hexdigest()[:16] == digest


def test_the_same_seed_gives_the_same_bits_and_another_others():
    a, b, c = (make_twin("fox", 50, random_state=seed) for seed in (1, 1, 2))
    for name, X in a.views.items():
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(X, part), getattr(b.views[name], part))
        assert X.nnz != c.views[name].nnz
    np.testing.assert_array_equal(a.labels, b.labels)


def test_chunks_of_other_seeds_have_the_same_classes():
    options = {"n_features": (300, 200), "n_words": (20, 20), "n_classes": 4}
    first, second = (make_twin("reuters", 600, random_state=seed, **options) for seed in (0, 1))
    model = OMVFS(4, random_state=0).fit(first.views)
    table = np.zeros((4, 4))
    np.add.at(table, (second.labels, model.predict(second.views)), 1)
    assert table.max(axis=1).sum() / 600 > 0.9


def test_sizes_can_be_changed():
    twin = make_twin(
        "reuters", 100, n_features=(50, 60, 70), n_words=(3, 4, 5), n_classes=2, random_state=3
    )
    assert [X.shape for X in twin.views.values()] == [(100, 50), (100, 60), (100, 70)]
    assert set(twin.labels.tolist()) == {0, 1}
    assert [len(chunk.labels) for chunk in twin.chunks(40)] == [40, 40, 20]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "bbc"}, "expected one of"),
        ({"n_features": (5, 6, 7)}, "of the same length"),
        ({"n_samples": 0}, "n_samples must be at least 1"),
        ({"n_classes": 0}, "n_classes must be at least 1"),
        ({"n_words": (0, 5)}, "n_words must be at least 1"),
    ],
)
def test_nonsense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_twin(**{"name": "fox", "n_samples": 10, **options})
