"""Columns of a table that are called ``view__feature``."""

from collections.abc import Iterable, Mapping, Sequence

from omvfs.data.schema import Schema, listed, view_of
from omvfs.formats._base import DROP, KEEP, KEY, SourceError
from omvfs.wording import Sentence

_LONG = {"row", "feature", "value"}


def is_long(names: Iterable[str]) -> bool:
    """Tell whether a table with these columns has an entry a line.

    Examples
    --------
    >>> is_long(["row", "feature", "value"]), is_long(["view", "row", "feature", "value"])
    (True, True)
    >>> is_long(["row", "value"])
    False
    """
    return set(names) - {"view"} == _LONG


def columns_by_view(
    names: Sequence[str],
    view: str,
    where: str,
    schema: Schema | None = None,
    views: Sequence[str] | None = None,
) -> dict[str, list[str]]:
    """Return columns called ``view__feature`` by view; one view if none is called so.

    Parameters
    ----------
    names : sequence of str
        The columns.
    view : str
        Name of the view of columns that name none.
    where : str
        Of what, for errors.
    schema : Schema, default=None
        Views whose features, where it names them, are taken as it has them; other columns are left
        out.
    views : sequence of str, default=None
        Views that are asked for: if they are there, columns that name none do not matter.

    Examples
    --------
    >>> columns_by_view(["text__a", "image__x"], "rows", "x.csv")
    {'text': ['text__a'], 'image': ['image__x']}
    >>> columns_by_view(["a", "b"], "rows", "x.csv")
    {'rows': ['a', 'b']}
    >>> columns_by_view(["a", "b", "c"], "rows", "x.csv", Schema(("rows",), (2,), (("c", "a"),)))
    {'rows': ['c', 'a']}
    """
    called = {name: own for name in names if (own := view_of(name)) is not None}
    odd = [name for name in names if name not in called]
    asked = views is not None and not set(views).isdisjoint(called.values())
    if called and odd and schema is None and not asked:
        more = f" and {len(odd) - 5:,} more" if len(odd) > 5 else ""
        raise SourceError(
            Sentence(
                f"{where} has columns called 'view__feature' and others: {listed(odd[:5])}{more}. "
                "Leave those out by their names: ",
                DROP,
                "; or carry them along: ",
                KEEP,
                "; or name the key of the rows: ",
                KEY,
                ".",
            )
        )
    found: dict[str, list[str]] = {}
    for name in called or names:
        found.setdefault(called.get(name, view), []).append(name)
    if schema is not None:
        for own, features in zip(schema.names, schema.feature_names, strict=True):
            if own in found and features is not None:
                found[own] = _taken(found[own], own, features, where)
    return found


def _taken(names: Sequence[str], view: str, features: Sequence[str], where: str) -> list[str]:
    """Return the columns of some features, in their order."""
    places = {name.removeprefix(f"{view}__"): name for name in names}
    if missing := [feature for feature in features if feature not in places]:
        more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
        raise SourceError(
            f"{where} has no columns for the features {listed(missing[:5])}{more} of view "
            f"{view!r}; expected all {len(features):,} that the model knows."
        )
    return [places[feature] for feature in features]


def schema_of(columns: Mapping[str, Sequence[str]]) -> Schema:
    """Return the views that columns make, features without the name of their view.

    Examples
    --------
    >>> schema_of({"text": ["text__a", "text__b"]})
    Schema(names=('text',), widths=(2,), feature_names=(('a', 'b'),))
    """
    features = tuple(
        tuple(name.removeprefix(f"{view}__") for name in names) for view, names in columns.items()
    )
    return Schema(tuple(columns), tuple(map(len, features)), features)
