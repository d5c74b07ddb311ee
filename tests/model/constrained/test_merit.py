"""Good clusters are told from bad ones without classes."""

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.datasets import make_planted
from omvfs.model.arrays import unit_rows
from omvfs.model.constrained.recluster import evenness, foretold, merit
from omvfs.model.graph.neighbours import normalised_neighbours
from omvfs.model.indicator import Indicator


@pytest.fixture(scope="module")
def planted():
    found = make_planted(
        400, n_features=(200, 100), n_informative=(60, 40), n_classes=4, random_state=0
    )
    X = [unit_rows(block.astype(float)) for block in found.views.values()]
    return X, found.labels


def clusters(labels, n_clusters=4):
    return Indicator(np.asarray(labels), np.ones(len(labels)), n_clusters)


def spoilt(labels, share, seed=0):
    """Return labels of which a share is drawn anew."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(labels)) < share, rng.permutation(labels), labels)


@pytest.mark.parametrize("with_graph", [True, False])
def test_the_more_rows_are_astray_the_less_the_merit(planted, with_graph):
    X, labels = planted
    graphs = normalised_neighbours(X, 10) if with_graph else []
    merits = [merit(clusters(spoilt(labels, s)), X, graphs, [1.0, 1.0]) for s in (0, 0.2, 0.5, 1)]
    assert merits == sorted(merits, reverse=True)
    assert merits[-1] < 0.2 * merits[0]


def test_merit_does_not_ask_what_clusters_are_called(planted):
    X, labels = planted
    graphs = normalised_neighbours(X, 10)
    renamed = np.array([2, 0, 3, 1])[labels]
    ours, theirs = (merit(clusters(each), X, graphs, [1.0, 2.0]) for each in (labels, renamed))
    assert ours == pytest.approx(theirs)


def test_what_tells_clusters_foretells_them_and_noise_does_not(planted):
    X, labels = planted
    assert foretold(X[0], clusters(labels)) > 0.6
    noise = unit_rows(np.random.default_rng(0).random(X[0].shape))
    assert foretold(noise, clusters(labels)) < 0.1


def test_rows_are_foretold_by_others_only():
    # Every row by itself: whoever learned from the row it foretells would know its cluster.
    labels = np.random.default_rng(1).integers(0, 2, 200)
    assert foretold(np.eye(200), clusters(labels, 2)) == 0


def test_dense_and_sparse_rows_foretell_alike(planted):
    X, labels = planted
    U = clusters(labels)
    assert foretold(X[0].toarray(), U) == pytest.approx(foretold(sp.csr_array(X[0]), U))


def test_one_cluster_for_all_rows_has_no_merit(planted):
    X, labels = planted
    assert merit(clusters(np.zeros_like(labels)), X, [], []) == 0


def test_evenness_is_that_of_the_shares():
    assert evenness(clusters([0, 1, 2, 3])) == 1
    assert evenness(clusters([0, 0, 0, 0])) == 0
    assert 0 < evenness(clusters([0, 0, 0, 1])) < evenness(clusters([0, 0, 1, 1])) == 0.5


def test_clusters_that_take_turns_are_foretold_as_well():
    labels = np.arange(40) % 2
    X = np.eye(2)[labels]
    assert (
        foretold(X, clusters(labels, 2))
        == foretold(np.sort(X, axis=0), clusters(np.sort(labels), 2))
        == 1
    )


def test_a_view_of_no_weight_has_no_say_in_merit(planted):
    X, labels = planted
    good, noise = normalised_neighbours([X[0], np.random.default_rng(0).random((400, 5))], 10)
    alone = merit(clusters(labels), X, [good], [1.0])
    assert merit(clusters(labels), X, [good, noise], [2.0, 0.0]) == pytest.approx(alone)
    assert merit(clusters(labels), X, [good, noise], [1.0, 1.0]) < 0.9 * alone


def test_where_neighbours_agree_with_no_clusters_the_rest_decides(planted):
    X, labels = planted
    # A star: the same row is next to all others.
    hub = np.zeros((400, 400))
    hub[0, 1:] = hub[1:, 0] = 1 / np.sqrt(399)
    graphs = [sp.csr_array(hub)] * 2
    good, bad = (merit(clusters(spoilt(labels, s)), X, graphs, [1.0, 1.0]) for s in (0, 0.5))
    assert good > bad > 0
