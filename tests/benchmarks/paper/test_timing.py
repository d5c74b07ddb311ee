"""A pass that stops on its way learns what one without stops learns."""

import numpy as np

from omvfs.baselines import FSDS, LaplacianScore
from omvfs.datasets import make_planted
from paper.timing import TimedPass


def test_a_pass_goes_on_where_it_stopped():
    views = make_planted(90, n_features=(40, 30), n_informative=(10, 8), random_state=0).views
    stopping, whole = FSDS(3), FSDS(3)
    passed = TimedPass(stopping, views, chunk=20)
    found = [passed.to(stop) for stop in (40, 90)]
    TimedPass(whole, views, chunk=20).to(90)
    assert [row["rows"] for row in found] == [40, 90]
    assert stopping.n_samples_seen_ == 90
    assert found[0]["seconds"] - found[0]["ranking"] <= found[1]["seconds"]
    np.testing.assert_array_equal(stopping.scores_, whole.scores_)


def test_an_offline_method_begins_anew():
    views = make_planted(90, n_features=(40, 30), n_informative=(10, 8), random_state=0).views
    seen = []

    class Offline(LaplacianScore):
        def fit(self, X, y=None):
            seen.append(len(next(iter(X.values())).indptr) - 1)
            return super().fit(X, y)

    passed = TimedPass(Offline(), views, chunk=20)
    for stop in (40, 90):
        passed.to(stop)
    assert seen == [40, 90]
