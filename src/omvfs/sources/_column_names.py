"""Columns of a table that are called ``view__feature``."""

from collections.abc import Mapping, Sequence

from omvfs._schema import Schema


def columns_by_view(names: Sequence[str], view: str) -> dict[str, list[str]]:
    """Return columns called ``view__feature`` by view; one view if not all are called so.

    Examples
    --------
    >>> columns_by_view(["text__a", "image__x"], "rows")
    {'text': ['text__a'], 'image': ['image__x']}
    >>> columns_by_view(["a", "image__x"], "rows")
    {'rows': ['a', 'image__x']}
    """
    if not names or not all("__" in name.strip("_") for name in names):
        return {view: list(names)}
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.partition("__")[0], []).append(name)
    return found


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
