"""The kinds of columns of a table, and the views that it becomes."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from omvfs import as_views
from omvfs.data.table import Table, is_mixed
from tables import tickets

FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
every_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
KINDS = {
    "ticket_id": "id",
    "customer_id": "id",
    "opened": "date",
    "plan": "category",
    "country": "category",
    "is_new": "category",
    "amount": "number",
    "minutes": "number",
    "noise_a": "number",
    "noise_b": "number",
    "message": "text",
    "source": "constant",
}


@every_frame
def test_every_column_has_a_kind_whatever_holds_the_table(make):
    frame, _ = tickets()
    table = Table.of(make(frame))
    assert table.kinds == KINDS
    amount = next(column for column in table.columns if column.name == "amount")
    assert amount.missing == pytest.approx(frame["amount"].isna().mean())
    assert amount.distinct == frame["amount"].nunique()


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("age", [31, 45, 28] * 10, "number"),
        ("age", ["31", "4.5", "1e3"] * 10, "number"),
        ("n", list(range(30)), "id"),
        ("n", [3, 1, 2] * 10, "number"),
        ("department_id", [3, 1, 2] * 10, "category"),
        ("userId", [i * 7919 % 1009 for i in range(300)], "id"),
        ("paid", [0, 1] * 15, "number"),
        ("day", ["2026-11-18", "2025-01-02"] * 10, "date"),
        ("day", ["18.11.2026", "1.2.2025 10:00"] * 10, "date"),
        ("day", ["11/18/2026", "1/2/2025"] * 10, "date"),
        ("day", ["18.11.2026", "1/2/2025"] * 10, "category"),
        ("price", ["1,234.50", "12"] * 10, "number"),
        ("share", ["45 %", "12.5%"] * 10, "number"),
        ("zip", ["01234", "10115"] * 10, "category"),
        ("n", [2**60 + i % 3 for i in range(30)], "id"),
        ("took", [dt.timedelta(seconds=1 + i % 7) for i in range(30)], "number"),
        ("size", pd.Categorical(["1", "2", "3"] * 10), "category"),
        ("embedding", [[0.5, 1.0], [1.0, 0.0], [0.0, 0.25]] * 10, "vector"),
        ("lists", [[0.5, 1.0], [1.0], [0.0, 0.25]] * 10, "text"),
        ("day", [dt.date(2026, 1, 1 + i) for i in range(20)], "date"),
        ("mail", [f"a{i}@example.org" for i in range(30)], "id"),
        ("answer", ["I fully agree with this", "not at all my view of it"] * 15, "category"),
        ("comment", [f"a comment of number {i}" for i in range(30)], "text"),
        ("tags", [["a", "b"], ["b"], ["c"]] * 10, "text"),
        ("ok", [True, False] * 10, "category"),
        ("same", ["x"] * 30, "constant"),
        ("nothing", [None] * 30, "constant"),
    ],
)
def test_a_column_is_what_its_type_and_its_values_tell(name, values, kind):
    frame = pd.DataFrame(
        {
            name: values,
            "other": range(len(values), 0, -1),
            "c": ["x", "y"] * (len(values) // 2) + ["x"] * (len(values) % 2),
        }
    )
    assert Table.of(frame).kinds[name] == kind


@every_frame
def test_a_table_becomes_views_with_gaps_as_they_are(make):
    frame, _ = tickets(60)
    views = as_views(make(frame), missing="allow", negative="allow")
    assert views.names == ("numbers", "categories", "message")
    numbers = ["amount", "minutes", "noise_a", "noise_b"]
    np.testing.assert_array_equal(views["numbers"], frame[numbers].to_numpy())
    names = views.feature_names
    assert names["numbers"].tolist() == numbers
    categories = pd.DataFrame(views["categories"].toarray(), columns=names["categories"])
    for name in ("plan", "country", "is_new"):
        own = categories.filter(like=f"{name}=")
        assert (own.sum(axis=1) == frame[name].notna()).all()
        for row, value in enumerate(frame[name]):
            assert pd.isna(value) or own.iloc[row][f"{name}={value}"] == 1
    words = pd.DataFrame(views["message"].toarray(), columns=names["message"])
    for row, text in enumerate(frame["message"]):
        counted = {} if text is None else pd.Series(text.split()).value_counts().to_dict()
        own = words.iloc[row]
        assert own[own > 0].to_dict() == counted
    assert views.has("message").tolist() == frame["message"].notna().tolist()
    assert views.grows == {"categories", "message"}


def test_kinds_can_be_given():
    frame, _ = tickets(60)
    given = {"customer_id": "category", "opened": "parts", "country": "drop", "noise_b": "drop"}
    table = Table.of(frame, given)
    views = table.views(frame)
    names = views.feature_names
    assert not any(name.startswith("country=") for name in names["categories"])
    assert f"customer_id={frame['customer_id'][0]}" in names["categories"]
    parts = ["year", "month", "day", "weekday", "hour"]
    assert names["numbers"].tolist()[:5] == [f"opened.{part}" for part in parts]
    assert views["numbers"][30, :5].tolist() == [2026, 1, 2, 5, 6]
    with pytest.raises(ValueError, match=r"column 'zip'; the columns are 'ticket_id'"):
        Table.of(frame, {"zip": "category"})


def test_rows_of_a_table_that_have_nothing_are_rows_without_words():
    frame = pd.DataFrame(
        {"a": ["one two three", None, "four five six"], "b": [None, None, "six seven eight"]}
    )
    views = as_views(frame, missing="allow", columns={"a": "text", "b": "text"})
    assert views.presence.tolist() == [[True, False], [True, True], [True, True]]
    mixed = pd.DataFrame({"n": [1.5, np.nan, 2.5], "a": ["one two three", None, None]})
    assert as_views(mixed, missing="allow", columns={"a": "text"}).presence[1].any()


def test_texts_are_a_view():
    texts = ["a cat and a dog", None, "the dog"]
    for X in (texts, pd.Series(texts), pl.Series(texts), np.array(texts, object)):
        views = as_views(X)
        assert views.feature_names["text"].tolist() == ["cat", "and", "dog", "the"]
        assert views["text"].toarray().tolist() == [[1, 1, 1, 0], [0] * 4, [0, 0, 1, 1]]
    beside = as_views({"text": texts, "image": np.ones((3, 2))}, missing="allow")
    assert beside.present["text"].tolist() == [True, False, True]


def test_frames_of_numbers_are_no_tables_of_several_kinds():
    assert not is_mixed(pd.DataFrame({"a": [1.0], "b": [True]}))
    assert is_mixed(pd.DataFrame({"a": [1.0], "b": ["x"]}))
    assert as_views(pd.DataFrame({"a": [1.0, 2.0]})).names == ("X",)


def test_all_columns_that_are_wrong_are_told_at_once():
    frame, _ = tickets(60)
    table = Table.of(frame)
    other = frame.drop(columns=["amount", "plan"]).assign(zip="x", city="y")
    with pytest.raises(ValueError, match=r"no columns 'plan', 'amount' and .*: 'zip', 'city'\."):
        table.views(other)
    wrong = frame.astype({"amount": object})
    wrong.loc[7, "amount"] = "n/a"
    with pytest.raises(ValueError, match=r"'amount' is of numbers .* 'n/a' in row 7\. .*--column"):
        table.views(wrong)
    with pytest.raises(ValueError, match=r"No column .*'a': date.*columns="):
        Table.of(pd.DataFrame({"a": ["2026-01-01", "2026-01-02"]}))
