"""Rows that are unusual, and welcome; columns that are suspect, and warned of."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from omvfs import OMVFS, SuspectColumnWarning
from streams import two_views
from support import clustered, counts


@pytest.mark.parametrize("when", ["first", "later"])
def test_empty_short_and_single_row_chunks_are_allowed(when):
    rows = counts(np.random.default_rng(0), 20, 6)
    for n_rows, value, kind in ((1, 0.0, sp.csr_array), (2, 1.0, np.asarray), (15, 0.0, np.array)):
        odd = np.full((n_rows, 6), value)
        model = OMVFS(5, random_state=0)
        for chunk in (odd, rows) if when == "first" else (rows, odd):
            model.partial_fit(kind(chunk))
        assert model.n_samples_seen_ == n_rows + 20
        assert np.isfinite(model.scores_).all()
        assert model.scores_.any()


@pytest.mark.parametrize(
    ("half_life", "sample_size", "dtype"),
    [(1e-300, 1, "f4"), (1e-300, 2000, "f8"), (0.3, 50, "f4")],
)
def test_what_is_forgotten_altogether_leaves_finite_answers(half_life, sample_size, dtype):
    model = OMVFS(3, half_life=half_life, sample_size=sample_size, random_state=0)
    for seed in range(4):
        model.partial_fit(two_views(seed, 20, dtype))
    assert np.isfinite(model.scores_).all()


def frame(n=60):
    X, _ = clustered(np.random.default_rng(0), n, 12)
    return pd.DataFrame(X, columns=list("abcdefghijkl"))


def model(**params):
    return OMVFS(**{"n_clusters": 3, "batch_size": 30, "random_state": 0, **params})


def test_row_numbers_and_dominant_columns_are_warned_of_by_name_where_fit_was_called():
    X = frame().assign(id=np.arange(60.0))
    with pytest.warns(SuspectColumnWarning, match=r"'id' of view 'X' counts the rows") as told:
        model().fit(X)
    assert [each.filename for each in told] == [__file__]
    assert [each.column for each in told[0].message.suspects] == ["id"]
    X = frame().assign(c=100 * frame()["c"])
    with pytest.warns(SuspectColumnWarning, match=r"'c' of view 'X' holds 99.*prepare='scale'"):
        model().fit(X)
    # Unless columns are brought to one scale.
    model(prepare="scale").fit(X)


def test_a_stream_is_warned_of_in_its_first_chunk_only():
    X = frame(90).assign(id=np.arange(90.0))
    fitted = model()
    with pytest.warns(SuspectColumnWarning):
        fitted.partial_fit(X[:30])
    fitted.partial_fit(X[30:60])
    fitted.predict(X), fitted.transform(X), fitted.ranking_
    with pytest.warns(SuspectColumnWarning):
        fitted.fit(X)


def test_a_warning_that_is_an_error_leaves_the_model_as_it_was():
    X = frame().assign(id=np.arange(60.0))
    fresh = model(random_state=np.random.RandomState(0))
    for learn in (fresh.fit, fresh.partial_fit):
        with pytest.raises(SuspectColumnWarning):
            learn(X)
        assert not hasattr(fresh, "schema_")
    expected = model(random_state=np.random.RandomState(0)).fit(frame())
    np.testing.assert_array_equal(fresh.fit(frame()).scores_, expected.scores_)
