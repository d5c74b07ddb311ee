"""Starts that are given to `partial_fit` are taken, or refused."""

import numpy as np
import pytest

from faults import every_solver, everything, good
from omvfs import OMVFS
from support import clustered


def test_the_constrained_solver_starts_where_it_is_told():
    X, labels = clustered(np.random.default_rng(0), 60, 12)
    wanted = (labels + 1) % 3  # other numbers than it would give
    U = np.eye(3)[wanted]
    by_u = OMVFS(3, random_state=0).partial_fit(X, start_U=U)
    np.testing.assert_array_equal(by_u.window_labels_, wanted)
    V = {"X": X.T @ U}
    by_v = OMVFS(3, random_state=0).partial_fit(X, start_V=V)
    np.testing.assert_array_equal(by_v.window_labels_, wanted)
    both = OMVFS(3, random_state=0).partial_fit(X, start_U=U, start_V=V)
    np.testing.assert_array_equal(both.window_labels_, wanted)
    later = both.partial_fit(X, start_U=U)
    np.testing.assert_array_equal(later.predict(X), wanted)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"start_U": np.ones((14, 3))}, r"start_U of shape \(14, 3\).*\(15, 3\)"),
        ({"start_U": np.ones((15, 2))}, r"start_U of shape \(15, 2\).*\(15, 3\)"),
        ({"start_U": -np.ones((15, 3))}, "start_U.*nonnegative"),
        ({"start_U": np.full((15, 3), np.nan)}, "start_U"),
        ({"start_U": "somewhere"}, "start_U"),
        ({"start_V": {"text": np.ones((8, 3))}}, "start_V.*'text'.*'image'"),
        (
            {"start_V": {"text": np.ones((8, 3)), "image": np.ones((5, 2))}},
            r"start_V of shape \(5, 2\) for view 'image'.*\(5, 3\)",
        ),
        (
            {"start_V": {"text": np.ones((8, 3)), "image": np.full((5, 3), np.inf)}},
            "start_V.*'image'",
        ),
        ({"start_V": [np.ones((8, 3)), np.ones((5, 3))]}, "start_V"),
        ({"start_V": np.ones((8, 3))}, "start_V"),
    ],
)
@every_solver
def test_bad_starts_are_refused(make, start, message):
    model = make(3, random_state=0)
    for seed in range(2):
        before = everything(model)
        with pytest.raises((TypeError, ValueError), match=message):
            model.partial_fit(good(seed), **start)
        assert everything(model) == before
        model.partial_fit(good(seed))
