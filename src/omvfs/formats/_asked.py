"""What is asked of a file before it is read, and the features that a model knows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from omvfs.data.schema import NewFeatures, Schema, listed
from omvfs.formats._base import SourceError


@dataclass(frozen=True)
class Asked:
    """What is asked of every file: see `open_source`."""

    key: str | None = None
    drop: tuple[str, ...] = ()
    schema: Schema | None = None
    views: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    tokenize: tuple[str, ...] = ()
    layer: str | None = None
    new_features: NewFeatures = "error"

    def __post_init__(self) -> None:
        if twice := [name for name in self.keep if name in self.drop]:
            raise SourceError(
                f"Got {listed(twice)} to leave out and to keep; expected one of these."
            )


def split(views: Iterable[str], asked: Sequence[str] | None) -> tuple[list[str], tuple[str, ...]]:
    """Return the views to read, and those that are there besides.

    Parameters
    ----------
    views : iterable of str
        All that a file has.
    asked : sequence of str or None
        Which views to read; None for all. A file that has none of them is read as it is, as it may
        be needed for its keys.

    Examples
    --------
    >>> split(["text", "image"], ["image", "sound"]), split(["text", "image"], ["sound"])
    ((['image'], ('text',)), (['text', 'image'], ()))
    """
    views = list(views)
    read = [view for view in views if asked is None or view in asked] or views
    return read, tuple(view for view in views if view not in read)


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
