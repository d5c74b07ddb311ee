"""Streams in the shape of the paper's large sets: rows, features, nonzeros. Not those sets.

Rows have classes and Zipf frequencies, so that caches and clusters behave as with text.
"""

import numpy as np
import scipy.sparse as sp

SHAPES = {
    "reuters": {"rows": 111_740, "widths": (21_531, 24_893), "words": (80, 80), "clusters": 6},
    "youtube": {"rows": 95_343, "widths": (94_012, 2_000), "words": (15, 200), "clusters": 31},
}


def twin(name, n_rows=None, seed=0, widths=None, words=None, clusters=None):
    """Return the views of a twin, sparse, rows of unit norm, and its number of clusters."""
    shape = SHAPES[name]
    rng = np.random.default_rng(seed)
    n, K = n_rows or shape["rows"], clusters or shape["clusters"]
    labels = rng.integers(K, size=n)
    return {
        f"view_{v}": block(rng, labels, K, width, length)
        for v, (width, length) in enumerate(
            zip(widths or shape["widths"], words or shape["words"], strict=True)
        )
    }, K


def block(rng, labels, n_clusters, width, length):
    """Return rows of about `length` words, half of them from the words of their class."""
    n = len(labels)
    counts = np.maximum(1, rng.poisson(length, n))
    rows = np.repeat(np.arange(n), counts)
    # Zipf by inversion: the rank is exp(u log width).
    ranks = np.minimum(np.exp(rng.random(len(rows)) * np.log(width)), width).astype(np.int64) - 1
    own = rng.random(len(rows)) < 0.5
    # Words of a class: every K-th word, from one of its own on.
    inside = ranks // n_clusters * n_clusters + labels[rows]
    columns = np.where(own, np.minimum(inside, width - 1), ranks)
    X = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, width))
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    norms = np.sqrt(np.bincount(np.repeat(np.arange(n), np.diff(X.indptr)), X.data**2, n))
    X.data /= np.repeat(np.maximum(norms, 1e-12), np.diff(X.indptr))
    return X
