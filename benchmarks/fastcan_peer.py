"""fastcan (PyPI, MIT) as a peer: an optional import, `pip install fastcan`.

It selects as its guide says where there are no labels: features whose canonical correlation with
the principal components of the view is largest, greedily. It needs the view dense.
"""

from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA

NAME = "fastcan"
# A view with more features is not made dense; a set that has one has no results.
MOST_FEATURES = 5_000
MISSING = "The method 'fastcan' needs the package fastcan, which is not here: pip install fastcan."


def is_here():
    return find_spec("fastcan") is not None


def can_select(views):
    """Return whether all views are narrow enough."""
    return all(X.shape[1] <= MOST_FEATURES for X in views.values())


def scores(views, n_components, n_features, seed):
    """Return scores by view: the best features in the order selected, 0 for all others.

    `n_components` principal components are the target: as many as there are clusters.
    """
    if not is_here():
        raise ModuleNotFoundError(MISSING)
    return {
        view: _of_view(X.toarray() if sp.issparse(X) else X, n_components, n_features, seed)
        for view, X in views.items()
    }


def _of_view(X, n_components, n_features, seed):
    from fastcan import FastCan

    target = PCA(min(n_components, *X.shape), random_state=seed).fit_transform(X)
    n = min(n_features, X.shape[1])
    while True:
        try:
            selected = FastCan(n, verbose=0).fit(X, target).indices_
            break
        except RuntimeError:  # It stops where all others depend on those selected.
            n -= max(1, n // 10)
    found = np.zeros(X.shape[1])
    found[selected] = np.arange(n, 0, -1)
    return found
