"""The objective of both methods: U is orthogonal, and V is the best for it."""

import numpy as np
import pytest

from omvfs.datasets import make_planted
from omvfs.model.objective import orthogonality_gap
from paper.objective import compared, fitted, indicator, terms


@pytest.fixture(scope="module")
def rows():
    return make_planted(150, n_features=(60, 40), n_informative=(20, 15), random_state=0)


def test_no_other_v_has_a_lower_objective(rows):
    rng = np.random.default_rng(0)
    X = [X.toarray().astype(float) for X in rows.views.values()]
    U = indicator(rows.labels)
    assert orthogonality_gap(U) < 1e-12
    V = [fitted(X_v, U) for X_v in X]
    least = sum(terms(X, U, V))
    for size in (1e-3, 0.1):
        for _ in range(20):
            other = [np.maximum(0, V_v + size * rng.standard_normal(V_v.shape)) for V_v in V]
            assert sum(terms(X, U, other)) > least


def test_clusters_reach_a_lower_objective_than_the_printed_updates(rows):
    found = compared(list(rows.views.values()), rows.labels)
    ours, printed = (sum(found[name][:3]) for name in ("OMVFS", "OMVFSPaper"))
    assert ours < printed
