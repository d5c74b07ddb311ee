"""Tables in long form: entries, empty rows, and what is no such table."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from omvfs.formats import SourceError, open_source
from omvfs.formats.tables import LongSource

entry = st.tuples(st.integers(0, 15), st.integers(0, 5), st.sampled_from([0.5, 1.0, -2.0]))


def frame(entries, names=("row", "feature", "value")):
    return pd.DataFrame(entries, columns=list(names))


@given(st.lists(entry, min_size=1, max_size=60), st.integers(1, 20))
def test_entries_are_those_of_a_matrix(tmp_path_factory, entries, batch_size):
    path = tmp_path_factory.mktemp("long") / "x.parquet"
    frame(sorted(entries)).to_parquet(path, index=False)
    rows, columns, values = map(np.array, zip(*entries, strict=True))
    expected = sp.coo_array((values, (rows, columns))).toarray()
    source = LongSource(path, "x")
    chunks = list(source.chunks(batch_size))
    got = np.vstack([chunk.views["x"].toarray() for chunk in chunks])
    np.testing.assert_array_equal(got, expected)
    assert source.n_rows == len(expected)
    for chunk in chunks:
        rest = [c.views["x"].toarray() for c in source.chunks(batch_size, chunk.cursor)]
        np.testing.assert_array_equal(
            np.vstack([np.zeros((0, expected.shape[1])), *rest]),
            expected[chunk.start + len(chunk.views) :],
        )


def test_features_with_names_come_in_the_order_they_appear(tmp_path):
    entries = [(0, "dog", 1), (0, "cat", 2), (3, "dog", 1)]
    frame(entries).to_csv(tmp_path / "text.csv", index=False)
    source = open_source(tmp_path / "text.csv")
    assert source.schema.feature_names == (("dog", "cat"),)
    (chunk,) = source.chunks(10)
    np.testing.assert_array_equal(chunk.views["text"].toarray(), [[1, 2], [0, 0], [0, 0], [1, 0]])


def test_several_views_have_features_of_their_own(tmp_path):
    entries = [(0, "dog", 1, "text"), (0, "red", 2, "image"), (1, "dog", 3, "image")]
    table = frame(entries, ("row", "feature", "value", "view"))
    table.astype({"view": "category", "feature": "category"}).to_parquet(tmp_path / "x.parquet")
    source = open_source(tmp_path / "x.parquet")
    assert source.schema.names == ("text", "image")
    assert source.schema.feature_names == (("dog",), ("red", "dog"))
    (chunk,) = source.chunks(10)
    np.testing.assert_array_equal(chunk.views["image"].toarray(), [[2, 0], [0, 3]])
    np.testing.assert_array_equal(chunk.views["text"].toarray(), [[1], [0]])


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([(1, 0, 1.0), (0, 0, 1.0)], "not sorted"),
        ([(-1, 0, 1.0)], "not sorted"),
        ([(0, -1, 1.0)], "from -1"),
        ([(0, 1 << 40, 1.0)], "expected numbers from 0"),
        ([(1 << 40, 1, 1.0)], "1 entries"),
        ([(0.5, 1, 1.0)], "column 'row'"),
        ([(0, 1.5, 1.0)], "column 'feature'"),
        ([(0, 1, "x")], "column 'value'"),
        ([(0, None, 1.0), (0, "a", 1.0)], "entries without"),
    ],
)
def test_what_is_no_such_table_is_told(tmp_path, entries, sentence):
    frame(entries).to_parquet(tmp_path / "x.parquet", index=False)
    with pytest.raises(SourceError, match=sentence):
        open_source(tmp_path / "x.parquet")


def test_no_entries_are_no_rows(tmp_path):
    table = frame([(0, 0, 1.0)]).iloc[:0]
    table.to_parquet(tmp_path / "x.parquet", index=False)
    with pytest.raises(SourceError, match="no rows"):
        open_source(tmp_path / "x.parquet")
