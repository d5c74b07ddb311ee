"""How good clusters are, as far as rows can tell without classes."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Block, near_largest, unit_rows
from omvfs.model.graph.term import agreement
from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.partitions import entropy, every_other, shared_information
from omvfs.model.presence import Presence, can_judge, of_those

# Neighbours that share clusters no further than this tell nothing of them: those of rows that are
# all much alike are a few that stand in the midst.
_NOTHING = 0.05


def merit(
    U: Indicator,
    X: Sequence[Block],
    graphs: Sequence[sp.csr_array],
    weights: Sequence[float],
    present: Presence = None,
    heard: Sequence[float] = (),
) -> float:
    """Return how good clusters are: four things that good ones have, multiplied.

    What they explain, how evenly they share the rows, how well each view alone foretells them for
    other rows, and, with a graph, how far neighbours share them. Each by itself is a poor guide:
    the first likes small clusters of near duplicates, the second any even cut, the third few and
    plain ones, the last those of one view.

    Parameters
    ----------
    U : Indicator
        Clusters, with weights in units of their directions.
    X : sequence of array or CSR matrix of shape (n, D_v)
        The rows, of unit norm in each view.
    graphs : sequence of csr_array
        Ŵ_v of each view; none without a graph.
    weights : sequence of float
        α_v of each view, by which it has a say in how far neighbours agree.
    present : array of shape (n, n_views), optional
        Which rows have which views; by default all. What a view foretells is told by those that
        have it and another.
    heard : sequence of float
        What each view weighs in how well views foretell clusters; by default all the same.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> good, bad = (
    ...     Indicator(np.array(labels), np.ones(4), 2) for labels in ([0, 0, 1, 1], [0, 0, 0, 1])
    ... )
    >>> merit(good, [X], [], []) > merit(bad, [X], [], [])
    True
    """
    found = float(U.masses.sum()) * evenness(U)
    rows = [can_judge(present, v) for v in range(len(X))]
    known = [
        foretold(of_those(X_v, own), U if own is None else U.take(own))
        for X_v, own in zip(X, rows, strict=True)
    ]
    found *= float(np.average(known, weights=heard) if len(set(heard)) > 1 else np.mean(known))
    if graphs:
        agree = float(np.average([agreement(W, U) for W in graphs], weights=weights))
        found *= max(agree, _NOTHING)
    return found


def evenness(U: Indicator) -> float:
    """Return the entropy of the shares of the clusters, 1 if all are alike.

    Examples
    --------
    >>> evenness(Indicator(np.array([0, 0, 1, 1]), np.ones(4), 2))
    1.0
    """
    shares = np.bincount(U.labels, minlength=U.n_clusters) / max(1, len(U.labels))
    return entropy(shares) / float(np.log(max(2, U.n_clusters)))


def foretold(X: Block, U: Indicator) -> float:
    """Return how much of the clusters of one half of the rows the other half foretells.

    A row is foretold to be in the cluster whose rows of the other half have the mean nearest to it
    by cosine; a half has every other row of each cluster, whatever the order of the clusters.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, D)
        The rows in one view, of unit norm.
    U : Indicator

    Returns
    -------
    float
        Normalised mutual information of clusters and what is foretold, mean of both halves.
    """
    even = every_other(U.labels, U.n_clusters)
    found = []
    for known, asked in ((even, ~even), (~even, even)):
        rows = X[known]
        means = transposed_product(
            rows, Indicator(U.labels[known], np.ones(rows.shape[0], rows.dtype), U.n_clusters)
        )
        P = np.asarray(X[asked] @ unit_rows(np.ascontiguousarray(means.T)).T)
        found.append(shared_information(U.labels[asked], near_largest(P).argmax(axis=1)))
    return float(np.mean(found))
