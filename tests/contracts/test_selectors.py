"""Every selector keeps the contract; and what it must hold of it in rarer company."""

import numpy as np
import pytest

from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import BASELINES, MVUFS
from omvfs.testing import check_selector
from support import KINDS, counts, dense

SMALL = {"n_clusters": 3, "batch_size": 20, "random_state": 0}
# Iterations of MVUFS have iterations of their own.
MAX_ITER = {OMVFSPaper: 10, MVUFS: 1}


def small(estimator, **params):
    """Return an estimator for little data, and for a little time."""
    own = estimator.get_params()
    wanted = {**SMALL, "max_iter": MAX_ITER.get(type(estimator), 3)}
    return estimator.set_params(**{name: wanted[name] for name in wanted if name in own}, **params)


SELECTORS = {"OMVFS": OMVFS, "published": OMVFSPaper, **BASELINES}

# Little and random data: there is nothing to converge to.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("make", SELECTORS.values(), ids=SELECTORS.keys())
def test_the_contract_is_kept(make):
    check_selector(small(make()))


def test_there_are_baselines():
    assert {"EUFS", "LaplacianScore", "RandomScore"} < set(BASELINES)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_input_that_is_clipped_is_left_alone(kind):
    before = counts(np.random.default_rng(1), 40, 7)
    before[0, 0] = -1.0
    X = kind(before.copy())
    small(OMVFSPaper(negative="clip")).fit(X).transform(X)
    np.testing.assert_array_equal(dense(X), before)
