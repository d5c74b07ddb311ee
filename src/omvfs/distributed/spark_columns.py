"""Which columns of a DataFrame of Spark make which views, by their names and types."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from omvfs.data.containers import as_names
from omvfs.data.schema import listed
from omvfs.data.split import check_view_names, own_names, view_of
from omvfs.distributed.arrow_views import Kind, Layout, ViewColumns

# How views= tells them: columns by view name, a string for one that holds a whole view.
SparkViews: TypeAlias = Mapping[str, str | Sequence[str]] | Literal["prefix"]

_NUMBER = r"(?:boolean|tinyint|smallint|int|bigint|float|double|decimal\(\d+,\s*-?\d+\))"
_KINDS: dict[Kind, str] = {
    "number": _NUMBER,
    "array": f"array<{_NUMBER}>",
    "map": f"map<string,{_NUMBER}>",
    "vector": "vector",
}
_EXPECTED = (
    "expected numbers, array<double>, map<string,double> (amounts by word) or vectors of pyspark.ml"
)


def layout_of(
    types: Sequence[tuple[str, str]],
    views: SparkViews | None = None,
    feature_names: Mapping[str, Sequence[str]] | None = None,
) -> Layout:
    """Return which columns make which views, or say why they cannot.

    Parameters
    ----------
    types : sequence of (str, str)
        Names and types of all columns, as ``df.dtypes`` has them.
    views : "prefix", mapping of str to (str or sequence of str), or None
        Columns by view name. Without them every column that holds a whole view is one, and columns
        of numbers are by their names ``view__feature``; if there are columns of numbers only, they
        are one 2-D X, unless "prefix" is asked for.
    feature_names : mapping of str to sequence of str, or None
        Names of the features of vectors and arrays; the words of maps that count.

    Examples
    --------
    >>> layout_of([("id", "bigint"), ("tfidf", "vector")], {"text": "tfidf"}).columns
    ('tfidf',)
    >>> layout_of([("a__x", "double"), ("a__y", "int")], "prefix").views["a"].feature_names
    ('x', 'y')
    """
    ((most, n),) = Counter(name for name, _ in types).most_common(1) or [("", 0)]
    if n > 1:
        raise ValueError(f"Expected unique column names, got {most!r} {n} times. Rename them.")
    known = dict(types)
    if isinstance(views, str) and views != "prefix":
        raise ValueError(f"Got views={views!r}; expected 'prefix', or columns by view name.")
    if isinstance(views, Mapping):
        check_view_names(views)
        found = {view: _asked(view, asked, known) for view, asked in views.items()}
    else:
        kinds = {name: _kind_of(name, known) for name in known}
        if views is None and kinds and set(kinds.values()) == {"number"}:
            return Layout({"X": ViewColumns("number", tuple(kinds))}, of_one=True)
        found = _by_name(kinds)
    _check_once(found)
    return Layout({**found, **_with_names(found, feature_names or {})})


def quoted(name: str) -> str:
    """Return a name of a column as Spark takes it, whatever characters it has.

    Examples
    --------
    >>> quoted("a.b")
    '`a.b`'
    """
    return "`" + name.replace("`", "``") + "`"


def _asked(view: str, asked: str | Sequence[str], known: Mapping[str, str]) -> ViewColumns:
    columns = (asked,) if isinstance(asked, str) else tuple(asked)
    if not columns or not all(isinstance(name, str) for name in columns):
        raise TypeError(f"View {view!r} has columns {asked!r}; expected at least one name.")
    if unknown := [name for name in columns if name not in known]:
        raise ValueError(
            f"View {view!r} has columns that the DataFrame lacks: {listed(unknown)}. Correct "
            "views=."
        )
    kinds = [_kind_of(name, known) for name in columns]
    if len(columns) > 1 and set(kinds) != {"number"}:
        odd = next(name for name, kind in zip(columns, kinds, strict=True) if kind != "number")
        raise ValueError(
            f"View {view!r} has {len(columns):,} columns, of which {odd!r} is of type "
            f"{known[odd]}; expected numbers, or one column that holds the whole view. Correct "
            "views=."
        )
    if kinds[0] != "number":
        return ViewColumns(kinds[0], columns)
    return ViewColumns("number", columns, _without(view, columns))


def _by_name(kinds: Mapping[str, Kind]) -> dict[str, ViewColumns]:
    """Make a view of every column that holds one, and of numbers by what they are called."""
    numbers: dict[str, list[str]] = {}
    found: dict[str, ViewColumns | None] = {}
    for name, kind in kinds.items():
        if kind != "number":
            view, own = name, ViewColumns(kind, (name,))
        elif (view := view_of(name) or "") == "":
            raise ValueError(
                f"Column {name!r} is in no view: it holds one number a row, and is not called "
                '"view__feature". Tell the views, views={"view": [columns]}, or leave it out.'
            )
        else:
            own = None
            numbers.setdefault(view, []).append(name)
        if view in found and (own is not None or found[view] is not None):
            raise ValueError(
                f"View {view!r} is a column, and what other columns are called after. Tell the "
                'views, views={"view": [columns]}, or rename them.'
            )
        found[view] = own
    return {
        view: own or ViewColumns("number", tuple(numbers[view]), _without(view, numbers[view]))
        for view, own in found.items()
    }


def _without(view: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(own_names(view, as_names(names)))


def _kind_of(name: str, known: Mapping[str, str]) -> Kind:
    for kind, pattern in _KINDS.items():
        if re.fullmatch(pattern, known[name]):
            return kind
    raise TypeError(
        f"Column {name!r} is of type {known[name]}; {_EXPECTED}. Cast it, or leave it out: "
        'name the columns in views={"view": ...}.'
    )


def _check_once(found: Mapping[str, ViewColumns]) -> None:
    if not found:
        raise ValueError("Got no views; expected at least one column.")
    counted = Counter(name for own in found.values() for name in own.columns)
    ((most, n),) = counted.most_common(1)
    if n > 1:
        where = [view for view, own in found.items() if most in own.columns]
        raise ValueError(
            f"Column {most!r} is in views {listed(where)} at once, or twice in one; expected it in "
            "one. Correct views=."
        )


def _with_names(
    found: Mapping[str, ViewColumns], given: Mapping[str, Sequence[str]]
) -> dict[str, ViewColumns]:
    named = {}
    for view, names in given.items():
        if view not in found:
            raise ValueError(f"Got feature names of view {view!r}; the views are {listed(found)}.")
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"View {view!r} has feature names {names!r}; expected a list of str.")
        if not names or len(set(names)) < len(names):
            raise ValueError(
                f"View {view!r} has {len(names):,} feature names, {len(set(names)):,} of them "
                "different. Pass one name for each feature."
            )
        if found[view].kind == "number" and len(names) != len(found[view].columns):
            raise ValueError(
                f"View {view!r} has {len(found[view].columns):,} columns, but {len(names):,} "
                "feature names. Pass one name for each feature."
            )
        named[view] = ViewColumns(found[view].kind, found[view].columns, tuple(names))
    return named
