"""A table as views: its numbers, its categories, and each of its columns of text.

Every column has a kind, which its type and the first rows tell:

* number: what is a number, or is written as one;
* category: truth values, and texts of few words of which many are the same;
* text: texts of three words or more on average, of which a fifth or more differ; lists of words;
* date: dates and times, or texts like 2026-11-18;
* id: texts of fewer words that nearly all differ; whole numbers that only rise or only fall, or
  that are called so and are not few;
* constant: one value in all rows, or none.

Numbers are one view, ``numbers``. Categories are another, ``categories``, with features such as
``plan=pro``. Each column of text is a view of its own, whose features are words. Dates, ids and
constants are left out. A kind can be given instead: "parts" makes numbers of a date.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import Block, count_words, frame_of, is_missing
from omvfs.data.schema import as_names, listed
from omvfs.data.views import Views

Kind = Literal["number", "category", "text", "date", "id", "constant", "parts", "drop"]
# Those that a user may ask for.
GIVEN: tuple[Kind, ...] = ("number", "category", "text", "parts", "drop")
NUMBERS, CATEGORIES = "numbers", "categories"
# Rows by which kinds are told, and how few tell nothing of ids.
LOOKED_AT, _FEW = 10_000, 20
# Texts have so many words on average, and so large a share of them differ; of ids nearly all do.
_WORDS, _DIFFERENT, _ALL = 3, 0.2, 0.95
# Of whole numbers that are called ids, so many stand for categories.
_CATEGORIES = 50
_ID = re.compile(r"(?i:(^|[^a-z])(id|uuid|guid))$|[a-z]I[dD]$")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ].*)?|\d\d?[./]\d\d?[./]\d{4}( .*)?")
_PARTS = ("year", "month", "day", "weekday", "hour")


@dataclass(frozen=True)
class Column:
    """What is known of a column of a table.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "text", "date", "id", "constant", "parts", "drop"}
    missing : float
        Share of the rows looked at that have no value.
    distinct : int
        Different values among these rows.
    example : str
        The first value.
    """

    name: str
    kind: Kind
    missing: float = 0.0
    distinct: int = 0
    example: str = ""

    @property
    def becomes(self) -> str:
        """What becomes of it, in words."""
        if self.kind == "text":
            return f"view {self.name!r}: its words"
        if self.kind == "category":
            return f"view {CATEGORIES!r}: {self.name}=..."
        if self.kind in ("number", "parts"):
            return f"view {NUMBERS!r}"
        return "left out"


@dataclass(frozen=True)
class Table:
    """The columns of a table, and how they become views.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, 45, None], "plan": ["pro", "free", "pro"]})
    >>> table = Table.of(frame)
    >>> [(column.name, column.kind) for column in table.columns]
    [('age', 'number'), ('plan', 'category')]
    >>> table.views(frame)
    Views(3 rows; numbers: 1, categories: 2 sparse; float64)
    """

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, X: Any, given: Mapping[str, Kind] | None = None) -> "Table":
        """Return the columns of a table by its first rows; kinds may be given by name."""
        frame, given = frame_of(X), given or {}
        if frame is None:
            kind = type(X).__name__
            raise TypeError(f"Got columns= and {kind}; expected a frame, whose columns have names.")
        rows = frame.head(LOOKED_AT)
        if unknown := [name for name in given if name not in frame.columns]:
            raise ValueError(
                f"Got a kind of column {listed(unknown)}; the columns are {listed(frame.columns)}."
            )
        if odd := [name for name in frame.columns if not isinstance(name, str)]:
            raise TypeError(f"Got columns called {listed(odd[:5])}; expected names that are str.")
        found = [_looked_at(name, rows[name]) for name in frame.columns]
        table = cls(tuple(replace(own, kind=given.get(own.name, own.kind)) for own in found))
        if not any(column.kind in GIVEN[:4] for column in found) and not given:
            kinds = ", ".join(f"{column.name!r}: {column.kind}" for column in found)
            raise ValueError(
                f"No column of the table is a number, a category or a text ({kinds}). Say what "
                "they are: columns={'zip': 'category'} (--column zip=category)."
            )
        if taken := [name for name in table.named("text") if name in (NUMBERS, CATEGORIES)]:
            raise ValueError(f"Column {taken[0]!r} would be a view of that name. Rename it.")
        return table

    def named(self, *kinds: Kind) -> list[str]:
        """Return the names of the columns of some kinds."""
        return [column.name for column in self.columns if column.kind in kinds]

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """Kinds of all columns by their names."""
        return {column.name: column.kind for column in self.columns}

    def only(self, views: Sequence[str]) -> "Table":
        """Return the table with the columns of some views, the others left out."""
        own = {"number": NUMBERS, "parts": NUMBERS, "category": CATEGORIES}
        kept = (own.get(column.kind, column.name) in views for column in self.columns)
        pairs = zip(self.columns, kept, strict=True)
        return Table(tuple(c if keep else replace(c, kind="drop") for c, keep in pairs))

    def extended(self, X: Any) -> "Table":
        """Return the table with the columns that later rows have beside its own."""
        new = [name for name in frame_of(X).columns if name not in self.kinds]
        return Table((*self.columns, *Table.of(frame_of(X).select(new)).columns)) if new else self

    def views(self, X: Any) -> Views:
        """Return rows of the table as views; columns may come in any order.

        A number that is missing is NaN in the view of numbers. A category that is missing has no
        feature. A row without text lacks that view.
        """
        frame = frame_of(X)
        if frame is None:
            kind = type(X).__name__
            raise TypeError(f"Got {kind}; expected a frame with the columns of the table so far.")
        self._check(frame.columns)
        blocks: dict[str, Block] = {}
        names: dict[str, Any] = {}
        if numbers := dict(self._numbers(frame)):
            blocks[NUMBERS], names[NUMBERS] = np.column_stack([*numbers.values()]), [*numbers]
        if categories := self.named("category"):
            blocks[CATEGORIES], names[CATEGORIES] = _indicators(frame, categories)
        present = {}
        for name in self.named("text"):
            blocks[name], names[name], has = count_words(frame[name].to_list())
            if has is not None:
                present[name] = has
        grow = frozenset(blocks) - {NUMBERS}
        if len(present) == len(blocks):
            # Rows of no text at all are rows without words.
            some = np.any([*present.values()], axis=0)
            present = {view: has | ~some for view, has in present.items()}
            present = {view: has for view, has in present.items() if not has.all()}
        index = nw.maybe_get_index(frame)
        found = Views._of(blocks, {view: as_names(own) for view, own in names.items()}, index)
        gaps = frozenset([NUMBERS])
        return found._with(present=present, by_name=grow, grows=grow, gaps=gaps, table=self)

    def _check(self, columns: Sequence[str]) -> None:
        """Refuse rows that lack columns, or have others."""
        there = set(columns)
        used = self.named("number", "category", "text", "parts")
        lacking = [name for name in used if name not in there]
        new = [name for name in columns if name not in self.kinds]
        if lacking or new:
            told = [f"no columns {listed(lacking)}"] if lacking else []
            told += [f"columns that the first rows had not: {listed(new)}"] if new else []
            remedy = " Leave new ones out, or take them in: new_features='grow'." if new else ""
            raise ValueError(f"The table has {' and '.join(told)}.{remedy}")

    def _numbers(self, frame: Any) -> Iterable[tuple[str, NDArray[np.float64]]]:
        for column in self.columns:
            if column.kind == "number":
                yield column.name, _as_numbers(column.name, frame[column.name])
            elif column.kind == "parts":
                dates = _as_dates(column.name, frame[column.name])
                for part in _PARTS[:4] if dates.dtype == nw.Date else _PARTS:
                    name = f"{column.name}.{part}"
                    yield name, _as_numbers(name, getattr(dates.dt, part)())


def is_mixed(X: Any) -> bool:
    """Tell whether X is a frame with columns that are no numbers."""
    frame = frame_of(X)
    if frame is None or not frame.columns or not all(isinstance(c, str) for c in frame.columns):
        return False
    return not all(kind.is_numeric() or kind == nw.Boolean for kind in frame.schema.values())


def _looked_at(name: str, values: Any) -> Column:
    """Return what the first rows tell of a column."""
    n, kind = len(values), values.dtype
    if kind.is_numeric():
        array = _as_numbers(name, values)
        there = array[~np.isnan(array)]
        distinct = len(np.unique(there))
        example = f"{there[0]:g}" if len(there) else ""
        found: Kind = _kind_of_numbers(name, there, distinct)
    else:
        held = [value for value in values.to_list() if not is_missing(value)]
        lists = any(isinstance(value, list | tuple | np.ndarray) for value in held)
        texts = [" ".join(map(str, v)) if lists else str(v) for v in held]
        there, distinct = np.array(texts, object), len(set(texts))
        example = texts[0] if texts else ""
        if kind.is_temporal():
            found = "date"
        elif lists:
            found = "text"
        else:
            found = _kind_of_texts(texts, distinct)
    if not len(there) or (distinct == 1 and len(there) == n):
        found = "constant"
    return Column(name, found, 1 - len(there) / max(n, 1), distinct, example[:40])


def _kind_of_numbers(name: str, values: NDArray[np.float64], distinct: int) -> Kind:
    if not len(values) or not np.array_equal(values, np.floor(values)):
        return "number"
    steps = np.diff(values)
    if len(values) >= _FEW and ((steps > 0).all() or (steps < 0).all()):
        return "id"
    if not _ID.search(name):
        return "number"
    return "category" if distinct <= min(_CATEGORIES, len(values) // 2) else "id"


def _kind_of_texts(texts: Sequence[str], distinct: int) -> Kind:
    n = max(len(texts), 1)
    if all(text in ("True", "False") for text in texts):
        return "category"
    if all(_number(text) is not None for text in texts):
        return "number"
    if all(_DATE.fullmatch(text) for text in texts):
        return "date"
    words = sum(len(text.split()) for text in texts) / n
    if words >= _WORDS and distinct > _DIFFERENT * n:
        return "text"
    return "id" if n >= _FEW and distinct >= _ALL * n else "category"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _as_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """Return values as numbers, NaN where they are missing."""
    if values.dtype.is_numeric() or values.dtype == nw.Boolean:
        found = values.cast(nw.Float64).fill_null(float("nan")).to_numpy()
        return np.asarray(found, np.float64)
    held = [None if is_missing(value) else _number(str(value)) for value in values.to_list()]
    array = np.array([np.nan if value is None else value for value in held])
    for i, value in enumerate(values.to_list()):
        if held[i] is None and not is_missing(value):
            raise ValueError(
                f"Column {name!r} is of numbers in the first rows, and has {value!r} in row {i:,}. "
                f"Correct it; or say what it is: columns={{{name!r}: 'category'}} (--column "
                f"{name}=category)."
            )
    return array


def _as_dates(name: str, values: Any) -> Any:
    """Return values as dates, whether they are or are written so."""
    if values.dtype.is_temporal():
        return values
    try:
        return values.str.to_datetime()
    except Exception as error:  # each library has its own
        raise ValueError(
            f"Column {name!r} cannot be read as dates: {error}. Give it as dates, or leave it out: "
            f"columns={{{name!r}: 'drop'}} (--drop {name})."
        ) from error


def _indicators(frame: Any, columns: Sequence[str]) -> tuple[Block, list[str]]:
    """Return 1 for the category that a row has in each column, and what categories are called."""
    places: dict[tuple[str, str], int] = {}
    indices: list[int] = []
    ends = np.zeros(len(frame) + 1, np.int64)
    for name in columns:
        values = frame[name].to_list()
        own = [
            -1 if is_missing(v) else places.setdefault((name, _category(v)), len(places))
            for v in values
        ]
        indices.append(own)  # type: ignore[arg-type]
    table = np.array(indices).T
    has = table >= 0
    ends[1:] = np.cumsum(has.sum(axis=1))
    parts = np.ones(int(ends[-1])), table[has].astype(np.int32), ends
    block = sp.csr_array(parts, shape=(len(frame), len(places)))
    block.sort_indices()
    return block, [f"{name}={value}" for name, value in places]


def _category(value: Any) -> str:
    """Return what a category is called; whole numbers have no fraction, whatever their type."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value).strip()
