"""What every batch of a stream has in common: the views, their widths, their features."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from omvfs.wording import Clause, Sentence, Setting

NewFeatures: TypeAlias = Literal["error", "grow"]
_FIRST, _EVERY = Clause("first chunk", "the first chunk"), Clause("every chunk", "every chunk")
_OR_ANEW = Clause("or start anew", ", or call fit() to start anew")


@dataclass(frozen=True)
class Schema:
    """What every batch of a stream has in common.

    Parameters
    ----------
    names : tuple of str
        View names, in order.
    widths : tuple of int
        Number of features of each view.
    feature_names : tuple of (tuple of str, Vocabulary, or None)
        Feature names of each view, None where unknown; a `Vocabulary` where they become more.
    """

    names: tuple[str, ...]
    widths: tuple[int, ...]
    feature_names: tuple[Sequence[str] | None, ...]

    def check(self, batch: "Schema", grows: bool = False) -> None:
        """Refuse a batch that has other views or other features; their order may differ.

        Parameters
        ----------
        batch : Schema
            The schema of a later batch. Where either knows no feature names, widths decide.
        grows : bool, default=False
            Whether features that have names may be any.
        """
        self._check_names(batch)
        widths = dict(zip(batch.names, batch.widths, strict=True))
        features = dict(zip(batch.names, batch.feature_names, strict=True))
        for view, width, names in zip(self.names, self.widths, self.feature_names, strict=True):
            if grows:
                if names is None or features[view] is None:
                    _check_nameless(view, widths[view], width)
                continue
            _check_width(view, widths[view], width)
            _check_features(view, features[view], names)

    def number_of(self, view: str) -> int:
        """Return which view a name is of, from 0.

        Examples
        --------
        >>> Schema(("text", "image"), (3, 2), (None, None)).number_of("image")
        1
        """
        if view not in self.names:
            raise ValueError(f"Got view {view!r}; the views are {listed(self.names)}.")
        return self.names.index(view)

    def names_of(self, view: str) -> tuple[str, ...]:
        """Return the names of the features of a view; without names, their numbers from 0.

        Examples
        --------
        >>> Schema(("text", "image"), (3, 2), (None, ("red", "blue"))).names_of("text")
        ('0', '1', '2')
        """
        v = self.number_of(view)
        names = self.feature_names[v]
        return tuple(map(str, range(self.widths[v]))) if names is None else tuple(names)

    def _check_names(self, batch: "Schema") -> None:
        missing = [name for name in self.names if name not in batch.names]
        unknown = [name for name in batch.names if name not in self.names]
        if missing or unknown:
            raise ValueError(
                Sentence(
                    f"Got views {listed(batch.names)}; ",
                    _FIRST,
                    f" had {listed(self.names)}; missing: {listed(missing)}; unknown: "
                    f"{listed(unknown)}. Give ",
                    _EVERY,
                    " the same views by the same names",
                    _OR_ANEW,
                    ".",
                )
            )


def _check_width(view: str, got: int, expected: int) -> None:
    if got != expected:
        raise ValueError(
            Sentence(
                f"View {view!r} has {got:,} features; ",
                _FIRST,
                f" had {expected:,}. Give ",
                _EVERY,
                " the same features",
                _OR_ANEW,
                ".",
            )
        )


def _check_nameless(view: str, got: int, expected: int) -> None:
    if got != expected:
        raise ValueError(
            Sentence(
                f"View {view!r} has {got:,} features, some chunk of it without names; before it "
                f"had {expected:,}. Features without names cannot be told from others, so that the "
                "view cannot grow. Name them in ",
                _EVERY,
                ": a data frame, rows by name, or Views(..., feature_names=...).",
            )
        )


def unknown_features(view: str, new: Sequence[str]) -> Sentence:
    """Return what there is to say of features that are not known, where none may come."""
    return Sentence(
        f"View {view!r} has {len(new):,} features that ",
        _FIRST,
        f" had not, such as {new[0]!r}. Leave them out, or take them in: ",
        Setting("new_features", "grow"),
        ".",
    )


def _check_features(view: str, got: Sequence[str] | None, expected: Sequence[str] | None) -> None:
    if got is None or expected is None or got == expected:
        return
    what = "its features in another order" if set(got) == set(expected) else "other features"
    column = next(i for i, name in enumerate(got) if name != expected[i])
    raise ValueError(
        Sentence(
            f"View {view!r} has {what} than ",
            _FIRST,
            f": column {column} is {got[column]!r}, expected {expected[column]!r}. Give ",
            _EVERY,
            " the same columns in the same order",
            _OR_ANEW,
            ".",
        )
    )


def listed(names: Iterable[Any]) -> str:
    """Names as an error tells them."""
    return ", ".join(repr(name) for name in names) or "none"
