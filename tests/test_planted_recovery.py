"""Planted features are found, where column sums and variances know nothing of them."""

import numpy as np
from sklearn.preprocessing import normalize

from omvfs import OMVFS
from omvfs.datasets import make_planted, planted_stream
from support import dense, recovered


def test_planted_features_are_recovered():
    data = make_planted(random_state=0)
    model = OMVFS(5, random_state=0).fit(data.views)
    assert {view: truth.sum() for view, truth in data.informative.items()} == {
        "view_0": 200,
        "view_1": 100,
    }
    found = recovered(data, model.view_scores_)
    sums = recovered(data, {view: np.ravel(X.sum(axis=0)) for view, X in data.views.items()})
    spread = recovered(data, {view: dense(X).var(axis=0) for view, X in data.views.items()})
    for view in data.views:
        assert found[view] >= 0.85
        assert found[view] > sums[view] + 0.5
        assert found[view] > spread[view] + 0.5


def test_a_long_stream_is_not_spoilt_by_its_first_chunk():
    # What tells the classes apart is too faint for a first chunk; most rows are soon gone.
    stream = planted_stream(
        16_000,
        n_features=(20_000, 5_000),
        n_informative=(1_000, 500),
        n_classes=10,
        row_length=(100, 50),
        random_state=0,
    )
    selector = OMVFS(10, random_state=0)
    for chunk in stream:
        selector.partial_fit({view: normalize(X) for view, X in chunk.views.items()})
    found = recovered(stream, selector.view_scores_)
    assert found["view_0"] > 0.9
    assert found["view_1"] > 0.98
