"""What a command was told to read, by its options."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import typer

from omvfs.data.schema import NewFeatures, Schema, listed
from omvfs.formats import Appended, SideBySide, Source


@dataclass(frozen=True)
class Reading:
    """What a command was told to read, by the names of its options."""

    inputs: Sequence[str]
    view: Sequence[str] | None = None
    key: str | None = None
    join: str | None = None
    drop: Sequence[str] | None = None
    keep: Sequence[str] | None = None
    tokenize: Sequence[str] | None = None
    layer: str | None = None
    vocabulary: Sequence[str] | None = None

    @classmethod
    def of(cls, context: typer.Context) -> "Reading":
        """Return what the options of a command say.

        Parameters
        ----------
        context : typer.Context
            Of the command.
        """
        named = {each.name for each in fields(cls)}
        return cls(**{name: given for name, given in context.params.items() if name in named})

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked for beside the inputs, to be told of a run."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: given for name, given in own.items() if given and name != "inputs"}

    @property
    def names_rows(self) -> bool:
        """Whether rows can be read again, and have something to be called by."""
        again = not any(each.rpartition("=")[2] == "-" for each in self.inputs)
        return again and bool(self.key or self.keep)

    def options(
        self, schema: Schema | None = None, new_features: NewFeatures = "error"
    ) -> dict[str, Any]:
        """Return them as `open_source` has them.

        Parameters
        ----------
        schema : Schema, default=None
            What a model has learned.
        new_features : {"error", "grow"}, default="error"
            Whether words may be read as they come.
        """
        return {
            "views": self.view or None,
            "key": self.key,
            "join": self.join or "outer",
            "drop": tuple(self.drop or ()),
            "keep": tuple(self.keep or ()),
            "tokenize": tuple(self.tokenize or ()),
            "layer": self.layer,
            "schema": schema or (known_words(self.vocabulary) if self.vocabulary else None),
            "new_features": new_features,
        }

    def check(self, source: Source) -> None:
        """Refuse words of views that are not there.

        Parameters
        ----------
        source : Source
            What was opened.
        """
        known = known_words(self.vocabulary or ()).names
        if unknown := [view for view in known if view not in source.schema.names]:
            raise typer.BadParameter(
                f"Got words of {listed(unknown)}; the views are {listed(source.schema.names)}.",
                param_hint="--vocabulary",
            )


def known_words(given: Sequence[str]) -> Schema:
    """Return the views whose words are known, from files of a word a line.

    Parameters
    ----------
    given : sequence of str
        Of the form ``view=file``.
    """
    found: dict[str, tuple[str, ...]] = {}
    for each in given:
        view, sign, path = each.partition("=")
        if not sign or not view or view in found:
            raise typer.BadParameter(
                f"Got {each!r}; expected VIEW=FILE, once for every view.", param_hint="--vocabulary"
            )
        try:
            words = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise typer.BadParameter(
                f"{path} cannot be read: {error}", param_hint="--vocabulary"
            ) from error
        # In the order of the file; blank lines, and words that come again, are none.
        found[view] = tuple(dict.fromkeys(word for word in words if word.strip()))
        if not found[view]:
            raise typer.BadParameter(f"{path} has no words.", param_hint="--vocabulary")
    return Schema(tuple(found), tuple(map(len, found.values())), tuple(found.values()))


def of_parts(inputs: Sequence[str], source: Source) -> str:
    """Tell that files which were given one by one are parts of one table; nothing if they are not.

    Parameters
    ----------
    inputs : sequence of str
        What was opened.
    source : Source
    """
    parts = list(source.parts.values()) if isinstance(source, SideBySide) else []
    if len(parts) == len(inputs) or not parts or not isinstance(parts[0], Appended):
        return ""
    return (
        f"{len(inputs):,} files of the same columns: their rows are read one after another. Name "
        "files that are views side by side: view=FILE."
    )
