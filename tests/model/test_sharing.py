"""A way to share is taken only if it gains on all rows that it was not fitted to."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from omvfs.model.queries import best_proved

gains = arrays(float, st.tuples(st.integers(2, 6), st.integers(1, 3)), elements=st.floats(-1, 1))


@given(gains)
def test_what_is_taken_gains_each_time_and_none_that_does_gains_more(each):
    best = best_proved(each)
    proved = [
        v for v, own in enumerate(each.T) if min(own) > 0 and np.mean(own) > np.std(own, ddof=1)
    ]
    assert (best is None) == (not proved)
    assert best is None or best in proved
    assert all(each[:, best].mean() >= each[:, v].mean() for v in proved)


@given(gains)
def test_what_loses_once_is_not_taken(each):
    each[0] = -0.1
    assert best_proved(each) is None
