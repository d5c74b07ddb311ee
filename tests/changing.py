"""Short streams that change, and an estimator that notices it."""

import numpy as np

from omvfs import OMVFS

# Rows before the first change, and between two: enough for a reference and a few buckets.
BEFORE, BETWEEN = 1600, 1600
WIDTHS = {"text": 12, "image": 9}


def changing_rows(rng, n, words=0, shares=(1 / 3, 1 / 3, 1 / 3), widths=WIDTHS):
    """Rows of three classes, each with every third feature, counted from `words` on in fours."""
    labels = rng.choice(3, n, p=shares)
    views = {}
    for view, width in widths.items():
        place = (np.arange(width) + words * (np.arange(width) // 3)) % 3
        own = place == labels[:, np.newaxis]
        X = rng.random((n, width)) * (0.05 + own) * (rng.random((n, width)) < 0.9)
        views[view] = X
    return views


def stacked(*parts):
    """Put rows below each other."""
    return {view: np.concatenate([part[view] for part in parts]) for view in parts[0]}


def stream(kind="meaning", seed=0, n_changes=1, after=BETWEEN):
    """Rows that change so often, in the meaning of features or in the shares of classes."""
    rng = np.random.default_rng(seed)
    laws = {
        "meaning": [{"words": i} for i in range(3)],
        "shares": [{}, {"shares": (0.8, 0.1, 0.1)}, {"shares": (0.1, 0.1, 0.8)}],
        "none": [{}, {}, {}],
    }[kind]
    sizes = [BEFORE, *(after,) * n_changes]
    return stacked(*(changing_rows(rng, n, **law) for n, law in zip(sizes, laws, strict=False)))


def watching(**params):
    """Return an estimator that notices changes."""
    own = {"n_clusters": 3, "detect_drift": True, "sample_size": 200, "random_state": 0}
    return OMVFS(**{**own, **params})


def chunks_of(views, size=100):
    """Yield rows in chunks."""
    n = len(next(iter(views.values())))
    for start in range(0, n, size):
        yield {view: X[start : start + size] for view, X in views.items()}
