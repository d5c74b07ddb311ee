"""What is asked of a file before it is read, and the features that a model knows."""

from dataclasses import dataclass

from omvfs.data.schema import Schema
from omvfs.formats._base import SourceError


@dataclass(frozen=True)
class Asked:
    """What is asked of every file: see `open_source`."""

    key: str | None = None
    drop: tuple[str, ...] = ()
    schema: Schema | None = None


def known_width(schema: Schema | None, view: str) -> int | None:
    """Return how many features a view must have, None if that is not known.

    Examples
    --------
    >>> known_width(Schema(("text",), (3,), (None,)), "text")
    3
    """
    if schema is None or view not in schema.names:
        return None
    return schema.widths[schema.names.index(view)]


def known_places(schema: Schema | None, view: str, where: str) -> dict[str, int] | None:
    """Return the column of every feature of a view by its name, None if that is not known.

    Parameters
    ----------
    schema : Schema or None
    view : str
    where : str
        Of the rows, which have features by name, for errors.

    Examples
    --------
    >>> known_places(Schema(("text",), (2,), (("cat", "dog"),)), "text", "x.jsonl")
    {'cat': 0, 'dog': 1}
    """
    if schema is None or view not in schema.names:
        return None
    names = schema.feature_names[schema.names.index(view)]
    if names is None:
        raise SourceError(
            f"View {view!r} of {where} has features by name; the model knows them by number only. "
            "Give rows in the format that it was trained on."
        )
    return {name: j for j, name in enumerate(names)}
