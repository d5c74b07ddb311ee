"""What is hardly a feature is warned of, once, where the library is called."""

import warnings

import numpy as np
import pandas as pd
import pytest

from omvfs import OMVFS, SuspectColumnWarning
from support import clustered


def frame(n=60):
    X, _ = clustered(np.random.default_rng(0), n, 12)
    return pd.DataFrame(X, columns=list("abcdefghijkl"))


def model(**params):
    return OMVFS(**{"n_clusters": 3, "batch_size": 30, "random_state": 0, **params})


def test_a_row_number_is_warned_of_by_name_and_where_fit_was_called():
    X = frame()
    X.insert(2, "id", np.arange(60.0))
    with pytest.warns(SuspectColumnWarning, match=r"'id' of view 'X' counts the rows") as told:
        model().fit(X)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert [each.column for each in told[0].message.suspects] == ["id"]


def test_a_dominant_column_is_warned_of_unless_columns_are_brought_to_one_scale():
    X = frame()
    X["c"] *= 100
    with pytest.warns(SuspectColumnWarning, match=r"'c' of view 'X' holds 99.*prepare='scale'"):
        model().fit(X)
    model(prepare="scale").fit(X)
    model(scale_columns=True).fit(X)


def test_a_column_that_is_large_in_all_rows_alike_is_not_warned_of():
    X = frame()
    X["c"] += 1000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model().fit(X)
        model(negative="shift").fit(X - 2000)


def test_a_stream_is_warned_of_in_its_first_chunk_only():
    X = frame(90)
    X["id"] = np.arange(90.0)
    fitted = model()
    with pytest.warns(SuspectColumnWarning):
        fitted.partial_fit(X[:30])
    fitted.partial_fit(X[30:60])
    fitted.predict(X), fitted.transform(X), fitted.ranking_
    with pytest.warns(SuspectColumnWarning):
        fitted.fit(X)


def test_a_warning_that_is_an_error_leaves_the_model_as_it_was():
    X = frame()
    X["id"] = np.arange(60.0)
    fresh = model(random_state=np.random.RandomState(0))
    for learn in (fresh.fit, fresh.partial_fit):
        with pytest.raises(SuspectColumnWarning):
            learn(X)
        assert not hasattr(fresh, "schema_")
    expected = model(random_state=np.random.RandomState(0)).fit(frame())
    np.testing.assert_array_equal(fresh.fit(frame()).scores_, expected.scores_)
