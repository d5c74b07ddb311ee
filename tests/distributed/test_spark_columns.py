"""Columns of Arrow are read as the rows they hold, however they are delivered."""

import decimal
import itertools

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS
from omvfs.distributed import spark as on_spark
from omvfs.distributed.spark import Layout, ViewColumns, layout_of
from support import dense

VECTOR = pa.struct(
    {
        "type": pa.int8(),
        "size": pa.int32(),
        "indices": pa.list_(pa.int32()),
        "values": pa.list_(pa.float64()),
    }
)
MAP = pa.map_(pa.string(), pa.float64())
WORDS = ("cat", "dog", "emu")
LAYOUT = Layout(
    {
        "v": ViewColumns("vector", ("v",)),
        "a": ViewColumns("array", ("a",)),
        "m": ViewColumns("map", ("m",), WORDS),
        "n": ViewColumns("number", ("n1", "n2"), ("1", "2")),
    }
)


def vector(x, is_sparse):
    if not is_sparse:
        return {"type": 1, "values": x}
    found = [j for j, each in enumerate(x) if each]
    return {"type": 0, "size": len(x), "indices": found, "values": [x[j] for j in found]}


def batch_of(X, is_sparse):
    """Return rows of three features in every kind of column."""
    return pa.record_batch(
        {
            "v": pa.array(map(vector, X, is_sparse), VECTOR),
            "a": pa.array(X, pa.list_(pa.float64())),
            "m": pa.array([[*zip(WORDS, x, strict=True), ("yak", 9.0)] for x in X], MAP),
            "n1": pa.array([x[0] for x in X], pa.float64()),
            "n2": pa.array([x[1] for x in X], pa.float64()),
        }
    )


@given(
    X=st.lists(st.lists(st.sampled_from([0.0, 0.25, 3.0]), min_size=3, max_size=3), min_size=1),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_rows_are_read_as_they_are_however_they_are_delivered(X, data):
    is_sparse = data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X)))
    edges = sorted(data.draw(st.lists(st.integers(0, len(X)), max_size=4)))
    whole = batch_of(X, is_sparse)
    ends = [(a, b) for a, b in itertools.pairwise([0, *edges, len(X)]) if b > a]
    read = list(LAYOUT.read(whole.slice(a, b - a) for a, b in ends))
    assert [len(batch) for batch in read] == [b - a for a, b in ends]
    for view in ("v", "a", "m"):
        np.testing.assert_array_equal(np.vstack([dense(batch[view]) for batch in read]), X)
    numbers = np.vstack([batch["n"] for batch in read])
    np.testing.assert_array_equal(numbers, np.array(X)[:, :2])
    for (a, b), batch in zip(ends, read, strict=True):
        assert sp.issparse(batch["v"]) == any(is_sparse[a:b])
        assert sp.issparse(batch["m"])
        # As scipy makes them of rows: what is kept of them has the same bits.
        for block in (batch["v"], batch["m"]):
            if sp.issparse(block):
                assert (block.indices.dtype, block.indptr.dtype) == (np.int32, np.int32)
        assert not sp.issparse(batch["a"])
    assert read[0].schema.feature_names == (None, None, WORDS, ("1", "2"))


def test_numbers_of_all_types_are_one_table():
    layout = layout_of([("a", "decimal(4,2)"), ("b", "boolean"), ("c", "tinyint")])
    numbers = pa.array([decimal.Decimal("1.25")], pa.decimal128(4, 2))
    rows = pa.record_batch({"a": numbers, "b": [True], "c": pa.array([3], pa.int8())})
    (table,) = layout.read([rows])
    assert table.to_pylist() == [{"a": 1.25, "b": 1.0, "c": 3.0}]
    single = pa.record_batch({"a": pa.array([[1.0]], pa.list_(pa.float32()))})
    (batch,) = layout_of([("a", "array<float>")]).read([single])
    assert batch.dtype == np.float32


def test_what_is_wrong_is_named_with_its_column_and_row():
    rows = batch_of([[1.0, 0.0, 2.0]] * 4, [False] * 4)
    for name, bad, said in [
        *((name, None, f"Column '{name}' is null at row 2; expected") for name in ("v", "m", "n1")),
        ("v", {"type": 1, "values": [1.0, None, 2.0]}, "Column 'v' holds a null at row 2;"),
        ("a", [None, 1.0, 2.0], "Column 'a' holds a null at row 2;"),
        ("m", [("cat", None)], "Column 'm' holds a null at row 2;"),
        ("a", [1.0], "View 'a' has 1 features at row 2 of column 'a', 3 at row 0. Give every"),
        ("v", vector([1.0] * 9, True), "View 'v' has 9 features at row 2"),
        (
            "v",
            {"type": 0, "size": 3, "indices": [1, 2], "values": [1.0]},
            "Column 'v' holds a vector of other numbers of indices and values at row 2.",
        ),
        (
            "v",
            {"type": 0, "size": 3, "indices": [7], "values": [1.0]},
            "View 'v': the CSR matrix of shape",
        ),
    ]:
        place = rows.schema.get_field_index(name)
        values = rows.column(place).to_pylist()
        values[2] = bad
        wrong = rows.set_column(place, name, pa.array(values, rows.schema.field(name).type))
        with pytest.raises(ValueError, match=said):
            list(LAYOUT.read([wrong]))


TYPES = [
    ("id", "string"),
    ("when", "timestamp"),
    ("v", "vector"),
    ("a", "array<float>"),
    ("m", "map<string,bigint>"),
    ("t__x", "double"),
    ("t__y", "int"),
]


def test_columns_make_views_by_their_types_and_names():
    layout = layout_of(TYPES[2:])
    assert {view: (own.kind, own.columns) for view, own in layout.views.items()} == {
        "v": ("vector", ("v",)),
        "a": ("array", ("a",)),
        "m": ("map", ("m",)),
        "t": ("number", ("t__x", "t__y")),
    }
    assert layout.views["t"].feature_names == ("x", "y")
    assert layout_of(TYPES, {"all": ["t__y", "t__x"]}).columns == ("t__y", "t__x")
    assert layout_of(TYPES[5:]).of_one
    assert not layout_of(TYPES[5:], "prefix").of_one
    named = layout_of(TYPES, {"text": "v"}, {"text": ["cat", "dog"]})
    assert named.views["text"].feature_names == ("cat", "dog")


def test_columns_that_make_no_views_are_refused():
    for types, views, names, said in [
        (TYPES, None, None, "Column 'id' is of type string; expected numbers, array<double>, map"),
        (TYPES, {"a": "when"}, None, "Column 'when' is of type timestamp; expected numbers"),
        (TYPES, {"a": "b"}, None, "View 'a' has columns that the DataFrame lacks: 'b'."),
        (TYPES, {"a": ["t__x", "v"]}, None, "of which 'v' is of type vector; expected numbers"),
        (TYPES, {"a": "v", "b": "v"}, None, "Expected each column in one view, got 'v' 2 times"),
        (TYPES, {"a": ["t__x", "t__x"]}, None, "in one view, got 't__x' 2 times"),
        (TYPES, {"a": []}, None, "View 'a' has columns .*; expected at least one name"),
        (TYPES, {}, None, "Got views none; expected at least one"),
        (TYPES, "suffix", None, "Got views='suffix'; expected 'prefix', or columns by view name"),
        (TYPES, {"a": "v"}, {"b": ["x"]}, "Got feature names of view 'b'; the views are 'a'."),
        (TYPES, {"a": "v"}, {"a": ["x", "x"]}, "2 feature names, 1 of them different"),
        (TYPES, {"a": "v"}, {"a": "x"}, "has feature names 'x'; expected a list of str"),
        (TYPES, {"a": "t__x"}, {"a": ["x", "y"]}, "has 1 features, but 2 feature names"),
        ([("v", "vector"), ("n", "int")], None, None, "Column 'n' is in no view: it holds one"),
        ([("t", "vector"), ("t__x", "int")], None, None, "View 't' is a column, and what other"),
        ([("v", "vector"), ("v", "int")], None, None, "Expected unique column names, got 'v' 2"),
        ([], None, None, "Got views none; expected at least one"),
    ]:
        with pytest.raises((TypeError, ValueError), match=said):
            layout_of(types, views, names)


def learned_rows(rows, part=0):
    layout = layout_of([("a", "array<double>")])
    worker = OMVFS(2, random_state=0)
    batches = [pa.record_batch({"a": pa.array(rows, pa.list_(pa.float64()))})]
    return [
        row
        for batch in on_spark.learned(worker, layout, batches, part)
        for row in batch.to_pylist()
    ]


def test_a_partition_tells_what_it_has_learned_or_why_not():
    (row,) = learned_rows([[1.0, 2.0], [3.0, 0.0], [1.0, 1.0]], part=7)
    assert row["part"] == 7
    assert OMVFS.from_bytes(row["state"]).n_samples_seen_ == 3
    assert row["error"] is None
    assert learned_rows([]) == []
    (row,) = learned_rows([[1.0, 2.0], None], part=7)
    assert (row["kind"], row["state"]) == ("ValueError", None)
    assert row["error"].startswith("partition 7: Column 'a' is null at row 1;")
