"""A table as views: its numbers, its categories, and each of its columns of text.

Every column has a kind, which its type and the first rows tell:

* number: what is a number or a duration, or is written as one, also as ``1,234`` or ``45 %``;
* category: truth values, what its type says are categories, and texts of few words of which many
  are the same;
* text: texts of three words or more on average, of which a fifth or more differ; lists of words;
* vector: lists of numbers, as many in every row;
* date: dates and times, or texts like 2026-11-18, 18.11.2026 or 11/18/2026;
* id: texts of fewer words that nearly all differ; whole numbers that only rise or only fall, that
  are beyond 2^53, or that are called so and are not few;
* constant: one value in all rows, or none.

Numbers are one view, ``numbers``. Categories are another, ``categories``, with features such as
``plan=pro``. Each column of text is a view of its own, whose features are words, and each column of
vectors is a view too. Dates, ids and constants are left out. A kind can be given instead: "parts"
makes numbers of a date.

Where there are several tables, views are called after theirs: ``customers.numbers``.
"""

import datetime as dt
import re
import warnings
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

Kind = Literal["number", "category", "text", "vector", "date", "id", "constant", "parts", "drop"]
# Kinds that a user may ask for, and kinds that have features.
GIVEN: tuple[Kind, ...] = ("number", "category", "text", "parts", "drop")
USED: tuple[Kind, ...] = ("number", "category", "text", "vector", "parts")
NUMBERS, CATEGORIES = "numbers", "categories"
# Rows that tell the kinds of columns. Fewer than the second number tell nothing of ids.
LOOKED_AT, _FEW = 10_000, 20
# Texts have so many words on average, and so large a share of them differ; of ids nearly all do.
_WORDS, _DIFFERENT, _ALL = 3, 0.2, 0.95
# Of whole numbers that are called ids, so many stand for categories.
_CATEGORIES = 50
# Beyond it, not all whole numbers are different as float64.
_WHOLE = 2**53
_ID = re.compile(r"(?i:(^|[^a-z])(id|uuid|guid))$|[a-z]I[dD]$")
_PARTS = ("year", "month", "day", "weekday", "hour")
# How dates are written, the likeliest first. Times may follow, after a space or a T.
_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y")
_TIME = re.compile(r"(?<=\d)[T ]+(?=\d\d?:)")
_THOUSANDS = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?")


@dataclass(frozen=True)
class Column:
    """What is known of a column of a table."""

    name: str
    kind: Kind
    # Of the rows looked at: share of those without value, different values, and the first one.
    missing: float = 0.0
    distinct: int = 0
    example: str = ""
    # How dates are written, as `strptime` has it; the value of a constant; the length of vectors.
    form: str = ""
    # Of which of several inputs it is; empty if there is but one.
    source: str = ""
    # With what the name of its view begins.
    prefix: str = ""

    @property
    def view(self) -> str:
        """The view of its features; empty if it has none."""
        if self.kind not in USED:
            return ""
        own = {"number": NUMBERS, "parts": NUMBERS, "category": CATEGORIES}
        return f"{self.prefix}{own.get(self.kind, self.name)}"

    def as_varying(self) -> "Column":
        """Return the column, if it is a constant as the number or the category that it has."""
        kind: Kind = "category" if _number(self.form) is None else "number"
        return replace(self, kind=kind, form="") if self.kind == "constant" else self

    @property
    def becomes(self) -> str:
        """What becomes of it, in words."""
        more = {"text": ": its words", "category": f": {self.name}=...", "parts": ": its parts"}
        return f"view {self.view!r}{more.get(self.kind, '')}" if self.view else "left out"


@dataclass(frozen=True)
class Table:
    """The columns of a table, or of several beside each other, and how they become views.

    Attributes
    ----------
    columns : tuple of Column
    n_rows : int
        Rows that were looked at.

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
    n_rows: int = 0

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
        if not len(rows):
            raise ValueError("The table has no rows; expected at least one.")
        found = tuple(_looked_at(name, rows[name], given.get(name)) for name in frame.columns)
        table = cls(found, len(rows))
        if not table.named(*USED):
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

    @property
    def view_names(self) -> tuple[str, ...]:
        """Names of its views: numbers, categories, then one for each column of text or vectors."""
        some = [column for column in self.columns if column.view]
        some.sort(key=lambda own: (own.kind not in ("number", "parts"), own.kind != "category"))
        return tuple(dict.fromkeys(column.view for column in some))

    def columns_of(self, features: Mapping[str, Sequence[str]]) -> set[str]:
        """Return the columns that some features come from, which are given by view."""
        kept = set()
        for column in self.columns:
            names = features.get(column.view, ())
            if column.kind in ("category", "parts"):
                begins = f"{column.name}{'=' if column.kind == 'category' else '.'}"
                names = [column.name for name in names if name.startswith(begins)]
            if names and (column.kind != "number" or column.name in names):
                kept.add(column.name)
        return kept

    def only(self, views: Sequence[str]) -> "Table":
        """Return the table with the columns of some views, the others left out."""
        kept = (
            c if c.view in views or not c.view else replace(c, kind="drop") for c in self.columns
        )
        return replace(self, columns=tuple(kept))

    def under(self, source: str, prefix: str = "") -> "Table":
        """Return the table as one of several inputs, called by its name."""
        columns = (replace(column, source=source, prefix=prefix) for column in self.columns)
        return replace(self, columns=tuple(columns))

    def of_source(self, source: str, names: Iterable[str]) -> "Table | None":
        """Return the columns of one of several inputs: that of its name, else one of its columns.

        None if there is none.
        """
        by_source: dict[str, list[Column]] = {}
        for column in self.columns:
            by_source.setdefault(column.source, []).append(column)
        for each in (source, *by_source):
            own = replace(self, columns=tuple(by_source.get(each, ())))
            if own.columns and (each in ("", source) or {*own.named(*USED)} <= {*names}):
                return own
        return None

    def __add__(self, other: "Table") -> "Table":
        """Return the columns of two tables that stand beside each other."""
        return Table((*self.columns, *other.columns), max(self.n_rows, other.n_rows))

    @staticmethod
    def of_parts(tables: Iterable["Table"]) -> "Table":
        """Return one table of which several are parts: each column as most rows tell of it.

        A column is a constant only if it is in all parts.
        """
        found: dict[tuple[str, str], Column] = {}
        most = sorted(tables, key=lambda table: -table.n_rows)
        for column in (column for table in most for column in table.columns):
            known = found.setdefault((column.source, column.name), column)
            if known.kind == column.kind == "constant" and "" not in (known.form, column.form):
                if known.form != column.form:
                    found[column.source, column.name] = column.as_varying()
            elif known.kind == "constant" and (column.kind != "constant" or not known.form):
                found[column.source, column.name] = column
        return Table(tuple(found.values()), most[0].n_rows)

    def extended(self, X: Any) -> "Table":
        """Return the table with the columns that later rows have beside its own.

        These were missing so far, so that none of them is a constant.
        """
        frame = frame_of(X)
        new = [name for name in frame.columns if name not in self.kinds]
        columns = [_looked_at(name, frame[name]) for name in new]
        added = (own.as_varying() for own in columns if own.distinct)
        return replace(self, columns=(*self.columns, *added))

    def views(self, X: Any, start: int = 0, may_lack: bool = False) -> Views:
        """Return rows of the table as views; columns may come in any order.

        A number that is missing is NaN in the view of numbers. A category that is missing has no
        feature. A row without text lacks that view. Errors count the `start` rows before these,
        too. Rows that `may_lack` columns have no values there, and may have others.
        """
        frame = frame_of(X)
        if frame is None:
            kind = type(X).__name__
            raise TypeError(f"Got {kind}; expected a frame with the columns of the table so far.")
        self._check(frame.columns, may_lack)
        there = set(frame.columns)
        columns = tuple(column for column in self.columns if column.name in there)
        blocks: dict[str, Block] = {}
        names: dict[str, Any] = {}
        present, grow, gaps = {}, set(), set()
        for view in replace(self, columns=columns).view_names:
            own = [column for column in columns if column.view == view]
            kind = own[0].kind
            if kind in ("number", "parts"):
                numbers: dict[str, NDArray[np.float64]] = {}
                for each in (each for each in self.columns if each.view == view):
                    if each in own:
                        numbers |= dict(_numbers(each, frame, start))
                    elif each.kind == "number":
                        numbers[each.name] = np.full(len(frame), np.nan)
                blocks[view], names[view] = np.column_stack([*numbers.values()]), [*numbers]
                gaps.add(view)
                continue
            if kind == "category":
                blocks[view], names[view] = _indicators(frame, [each.name for each in own])
                grow.add(view)
                continue
            values = frame[own[0].name].to_list()
            if kind == "text":
                blocks[view], names[view], has = count_words(values)
                grow.add(view)
            else:
                blocks[view], has = _vectors(own[0], values, start)
            if has is not None:
                present[view] = has
        _tell_of_constants(columns, frame)
        if not blocks:
            raise ValueError(f"The table has none of the columns {listed(self.named(*USED))}.")
        if len(present) == len(blocks):
            # Rows of no text at all are rows without words.
            some = np.any([*present.values()], axis=0)
            present = {view: has | ~some for view, has in present.items()}
            present = {view: has for view, has in present.items() if not has.all()}
        index = nw.maybe_get_index(frame)
        called = {view: as_names(names[view]) if view in names else None for view in blocks}
        growing = frozenset(grow)
        return Views._of(blocks, called, index)._with(
            present=present, by_name=growing, grows=growing, gaps=frozenset(gaps), table=self
        )

    def _check(self, columns: Sequence[str], may_lack: bool) -> None:
        """Refuse rows that lack columns, or have others."""
        there = set(columns)
        lacking = [name for name in self.named(*USED) if name not in there]
        new = [name for name in columns if name not in self.kinds]
        if (lacking or new) and not may_lack:
            told = [f"no columns {listed(lacking)}"] if lacking else []
            told += [f"columns that the first rows had not: {listed(new)}"] if new else []
            remedy = " Leave new ones out, or take them in: new_features='grow'." if new else ""
            raise ValueError(f"The table has {' and '.join(told)}.{remedy}")


def is_mixed(X: Any) -> bool:
    """Tell whether X is a frame with columns that are no numbers."""
    try:
        frame = frame_of(X)
        schema = {} if frame is None else frame.schema
    except (TypeError, ValueError):
        return False  # lazy frames and columns of one name, which are refused where they are read
    named = bool(schema) and all(isinstance(name, str) for name in schema)
    # Sparse columns of pandas have a type that narwhals does not know.
    plain = nw.Boolean, nw.Unknown
    return named and not all(kind.is_numeric() or kind in plain for kind in schema.values())


def _looked_at(name: str, values: Any, given: Kind | None = None) -> Column:
    """Return what the first rows tell of a column."""
    n, kind, form = len(values), values.dtype, ""
    held = [value for value in values.to_list() if not is_missing(value)]
    if kind.is_numeric() or kind == nw.Duration:
        array = _as_numbers(name, values)
        there = array[~np.isnan(array)]
        distinct = len(set(held))
        example = f"{there[0]:g}" if len(there) else ""
        found: Kind = _kind_of_numbers(name, there, distinct) if kind.is_numeric() else "number"
    else:
        lists = any(isinstance(value, list | tuple | np.ndarray) for value in held)
        texts = [" ".join(map(str, v)) if lists else str(v) for v in held]
        distinct, example = len(set(texts)), texts[0] if texts else ""
        if lists and (width := _width(held)):
            found, form = "vector", str(width)
        elif lists:
            found = "text"
        elif kind.is_temporal():
            found = "date"
        elif kind in (nw.Categorical, nw.Enum):
            found = "category"
        else:
            found = _kind_of_texts(texts, distinct)
        if not kind.is_temporal() and "date" in (found, "date" if given == "parts" else ""):
            form = _form_of(texts)
    if not held or (distinct == 1 and len(held) == n):
        found, form = "constant", str(held[0]) if held else ""
    return Column(name, given or found, 1 - len(held) / max(n, 1), distinct, example[:40], form)


def _kind_of_numbers(name: str, values: NDArray[np.float64], distinct: int) -> Kind:
    if not len(values) or not np.array_equal(values, np.floor(values)):
        return "number"
    steps = np.diff(values)
    if len(values) >= _FEW and ((steps > 0).all() or (steps < 0).all()):
        return "id"
    if np.abs(values).max() >= _WHOLE:
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
    if _form_of(texts):
        return "date"
    words = sum(len(text.split()) for text in texts) / n
    if words >= _WORDS and distinct > _DIFFERENT * n:
        return "text"
    return "id" if n >= _FEW and distinct >= _ALL * n else "category"


def _number(text: str) -> float | None:
    """Return the number that a text is, None if it is none; codes such as 0123 are none."""
    bare = text.strip().strip("€$£% ").strip()
    if _THOUSANDS.fullmatch(bare):
        whole = bare.lstrip("+-").partition(".")[0]
        return None if len(whole) > 1 and whole[0] == "0" else float(bare.replace(",", ""))
    try:
        return None if "_" in bare else float(bare)
    except ValueError:
        return None


def _width(held: Sequence[Any]) -> int:
    """Return how many numbers there are in each of some lists; 0 if they are of something else."""
    widths = {len(value) if np.ndim(value) == 1 else 0 for value in held}
    return widths.pop() if len(widths) == 1 and np.asarray(held[:_FEW]).dtype.kind in "fiu" else 0


def _as_numbers(name: str, values: Any, start: int = 0) -> NDArray[np.float64]:
    """Return values as numbers, NaN where they are missing; of a duration, its seconds."""
    if values.dtype == nw.Duration:
        values = values.dt.total_microseconds().cast(nw.Float64) / 1e6
    if values.dtype.is_numeric() or values.dtype == nw.Boolean:
        found = values.cast(nw.Float64).fill_null(float("nan")).to_numpy()
        return np.asarray(found, np.float64)
    held = values.to_list()
    array = [None if is_missing(value) else _number(str(value)) for value in held]
    for i, value in enumerate(held):
        if array[i] is None and not is_missing(value):
            raise _of_another_kind(name, "numbers", value, start + i, "category")
    return np.array([np.nan if value is None else value for value in array])


def _of_another_kind(name: str, kind: str, value: Any, row: int, remedy: str) -> ValueError:
    """Return the error of a value that is not what its column was in the first rows."""
    return ValueError(
        f"Column {name!r} is of {kind} in the first rows, and has {value!r} in row {row:,}. "
        f"Correct it; or say what it is: columns={{{name!r}: {remedy!r}}} (--column "
        f"{name}={remedy})."
    )


def _numbers(column: Column, frame: Any, start: int) -> Iterable[tuple[str, NDArray[np.float64]]]:
    """Yield the numbers of a column by name: one, or of a date its parts."""
    values = frame[column.name]
    if column.kind == "number":
        yield column.name, _as_numbers(column.name, values, start)
    elif values.dtype in (nw.Date, nw.Datetime):
        for part in _PARTS[:4] if values.dtype == nw.Date else _PARTS:
            yield f"{column.name}.{part}", _as_numbers(column.name, getattr(values.dt, part)())
    else:
        table = np.full((len(frame), len(_PARTS)), np.nan)
        for i, value in enumerate(values.to_list()):
            if not is_missing(value):
                try:
                    at = _date(str(value), column.form)
                except ValueError:
                    raise _of_another_kind(
                        column.name, f"dates like {column.form}", value, start + i, "drop"
                    ) from None
                table[i] = at.year, at.month, at.day, at.isoweekday(), at.hour
        for j in range(5 if column.form.endswith("%H") else 4):
            yield f"{column.name}.{_PARTS[j]}", table[:, j]


def _date(text: str, form: str) -> dt.datetime:
    """Return the date and the time that a text is, or refuse it."""
    date, *time = _TIME.split(text.strip(), maxsplit=1)
    at = dt.datetime.strptime(date, form.removesuffix(" %H"))
    clock = dt.time.fromisoformat(time[0].strip().zfill(5)) if time else dt.time()
    return dt.datetime.combine(at, clock.replace(tzinfo=None))


def _form_of(texts: Sequence[str]) -> str:
    """Return how all of some texts are written as dates; nothing if they are no dates."""
    for form in _DATES:
        try:
            for text in texts:
                _date(text, form)
        except ValueError:
            continue
        return f"{form} %H" if any(map(_TIME.search, texts)) else form
    return ""


def _vectors(
    column: Column, values: Sequence[Any], start: int
) -> tuple[Block, NDArray[np.bool_] | None]:
    """Return lists of numbers as rows, and which there are; None if all."""
    has = np.array([not is_missing(value) for value in values])
    block = np.zeros((len(values), int(column.form)))
    for i in np.flatnonzero(has).tolist():
        try:
            block[i] = values[i]
        except (TypeError, ValueError):
            what = f"{column.form} numbers"
            raise _of_another_kind(column.name, what, values[i], start + i, "drop") from None
    return block, None if has.all() else has


def _indicators(frame: Any, columns: Sequence[str]) -> tuple[Block, list[str]]:
    """Return 1 for the category that a row has in each column, and what categories are called."""
    places: dict[str, int] = {}
    rows = np.full((len(frame), len(columns)), -1)
    for j, name in enumerate(columns):
        rows[:, j] = [
            -1 if is_missing(v) else places.setdefault(f"{name}={_category(v)}", len(places))
            for v in frame[name].to_list()
        ]
    has = rows >= 0
    ends = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    parts = np.ones(int(ends[-1])), rows[has].astype(np.int32), ends
    block = sp.csr_array(parts, shape=(len(frame), len(places)))
    block.sum_duplicates()
    return block, [*places]


def _category(value: Any) -> str:
    """Return what a category is called; whole numbers have no fraction, whatever their type."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value).strip()


def _tell_of_constants(columns: Sequence[Column], frame: Any) -> None:
    """Warn of columns that had one value in the first rows, and have others now."""
    for name, form in ((own.name, own.form) for own in columns if own.kind == "constant"):
        values = {str(value) for value in frame[name].unique().to_list() if not is_missing(value)}
        # What was read as a number may be 1.0 now and 1 then.
        if values - {form} and (
            {*map(_number, values)} != {_number(form)} or None in map(_number, values)
        ):
            warnings.warn(
                f"Column {name!r} has one value in the first rows, or none, and others later: it "
                f"is left out. To take it in, say what it is: columns={{{name!r}: 'category'}} "
                f"(--column {name}=category).",
                stacklevel=3,
            )
