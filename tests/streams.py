"""Small streams, and all that a model has learned of them."""

import itertools
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import settings

from omvfs import Views, as_views
from support import counts, fingerprint

every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
few = settings(max_examples=25, deadline=None)

# Of clusters, forgetting, weights and the rest, all that a stream may be learned by.
WAYS = [
    {},
    {"n_clusters": "auto", "half_life": 20.0},
    {"n_clusters": "auto", "sample_size": 12},
    {"view_weight": 1.0, "prepare": "scale"},
    {"view_weight": {"text": 2.0, "image": "auto"}, "half_life": 15.0},
    {"sample_size": 1},
    {"sample_size": 30},
    {"prepare": ["tfidf", "l2"], "criterion": "norm"},
    {"detect_drift": True},
]


def two_views(seed, n_rows, dtype=np.float64, kind=np.asarray, widths=(12, 7), rest=0.2):
    """Return rows of three kinds; of features of other kinds they have the `rest`."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_rows)
    blocks = {}
    for name, width in zip(("text", "image"), widths, strict=True):
        own = np.arange(width) % 3 == labels[:, np.newaxis]
        X = (rest + own) * counts(rng, n_rows, width)
        blocks[name] = kind(X.astype(dtype))
    return blocks


def cut(views, *edges):
    """Cut views into chunks at rows."""
    views = as_views(views)
    ends = [0, *edges, len(views)]
    return [views[a:b] for a, b in itertools.pairwise(ends)]


def presence(seed, n, share=0.5):
    """Return which of n rows have which of two views; each has one at least."""
    rng = np.random.default_rng(seed)
    present = np.ones((n, 2), bool)
    rows = np.flatnonzero(rng.random(n) < share)
    present[rows, rng.integers(0, 2, len(rows))] = False
    return present


def lacking(views, present, kind=np.asarray):
    """Return views of which rows lack some, told by `present`."""
    made = {name: kind(X) for name, X in views.items()}
    return Views(made, present=dict(zip(views, present.T, strict=True)))


def learned(model):
    """Return everything learned, bit for bit, but for the time it took."""
    history = [{**asdict(info), "seconds": 0} for info in model.history_]
    return fingerprint(model._known), fingerprint(history)
