"""What every batch of a stream has in common: the views, their widths, their features."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Names: TypeAlias = NDArray[np.object_]


def as_names(names: Iterable[str]) -> Names:
    """Object array of strings: numpy's fixed-width strings would cost the longest name each."""
    return np.array(list(names), dtype=object)


# "prefix", with what stands between, and of how many parts a view is: "prefix:_:2".
Columns: TypeAlias = str | Sequence[int] | Mapping[str, Any]


@cache
def by_prefix(views: str) -> tuple[re.Pattern[str], str]:
    """Return how columns are called that begin with their view: what they match, and an example.

    Examples
    --------
    >>> by_prefix("prefix")[1], by_prefix("prefix:_:2")[1]
    ('view__feature', 'view_part_feature')
    """
    asked = re.fullmatch("prefix(?::([^:]+)(?::([1-9]))?)?", views)
    if asked is None:
        raise ValueError(
            f"Got views={views!r}; expected 'prefix', 'prefix:_' or 'prefix:_:2' (what stands "
            "between, and of how many parts a view is), widths, or columns by view name."
        )
    sign, more = asked[1] or "__", int(asked[2] or 1) - 1
    pattern = f"(.+?(?:{re.escape(sign)}.+?){{{more}}}){re.escape(sign)}(.+)"
    return re.compile(pattern, re.DOTALL), sign.join(["view", *["part"] * more, "feature"])


def view_of(name: str, views: str = "prefix") -> str | None:
    """Return the view of a column that is called ``view__feature``, None if it is not.

    Examples
    --------
    >>> view_of("text__cat"), view_of("text__cat__s"), view_of("cat"), view_of("__cat")
    ('text', 'text', None, None)
    >>> view_of("Cells_Texture_Gabor_ER", "prefix:_:2"), view_of("Cells_Count", "prefix:_:2")
    ('Cells_Texture', None)
    """
    called = by_prefix(views)[0].fullmatch(name)
    return called[1] if called else None


def own_names(view: str, names: Names) -> Names:
    """Return names of features without that of their view, if all of them begin with it."""
    prefix = f"{view}__"
    # By order: if the first and the last begin with it, so do all between them.
    if len(names) and min(names) > prefix and max(names).startswith(prefix):
        return as_names([name.removeprefix(prefix) for name in names])
    return names


def check_view_names(views: Mapping[Any, Any]) -> None:
    """Refuse no views at all, and names that are not strings."""
    if not views or not all(isinstance(name, str) for name in views):
        raise TypeError(f"Got views {listed(views)}; expected at least one, each named by a str.")


# Control characters, ends of lines, what turns the direction of text, and half a surrogate pair.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
NewFeatures: TypeAlias = Literal["error", "grow"]


@dataclass(frozen=True)
class Schema:
    """What every batch of a stream has in common."""

    # View names, in order.
    names: tuple[str, ...]
    # Number of features of each view.
    widths: tuple[int, ...]
    # Feature names of each view, None where unknown; a `Vocabulary` where they become more.
    feature_names: tuple[Sequence[str] | None, ...]

    def check(self, batch: "Schema", grows: bool = False) -> None:
        """Refuse a batch that has other views or other features; their order may differ.

        Where either knows no feature names, widths decide. If it grows, named features may be any,
        and so may views.
        """
        if not grows:
            self.check_names(batch)
        widths = dict(zip(batch.names, batch.widths, strict=True))
        features = dict(zip(batch.names, batch.feature_names, strict=True))
        for view, width, names in zip(self.names, self.widths, self.feature_names, strict=True):
            if grows and (view not in widths or None not in (names, features[view])):
                continue
            if widths[view] != width:
                remedy = (
                    "Features without names cannot be told from others: name them in every chunk, "
                    "by a data frame, rows by name, or Views(..., feature_names=...)"
                    if grows
                    else "Give every chunk the same features, or call fit() to start anew"
                )
                raise ValueError(
                    f"View {view!r} has {widths[view]:,} features; the first chunk had {width:,}. "
                    f"{remedy}."
                )
            if not grows:
                _check_features(view, features[view], names)

    def number_of(self, view: str) -> int:
        """Return which view a name is of, from 0."""
        if view not in self.names:
            raise ValueError(f"Got view {view!r}; the views are {listed(self.names)}.")
        return self.names.index(view)

    def names_of(self, view: str) -> tuple[str, ...]:
        """Return the names of the features of a view; without names, their numbers from 0."""
        v = self.number_of(view)
        names = self.feature_names[v]
        return tuple(map(str, range(self.widths[v]))) if names is None else tuple(names)

    def check_names(self, batch: "Schema") -> None:
        """Refuse a batch that lacks views, or has others."""
        missing = [name for name in self.names if name not in batch.names]
        unknown = [name for name in batch.names if name not in self.names]
        if missing or unknown:
            raise ValueError(
                f"Got views {listed(batch.names)}; the first chunk had {listed(self.names)}; "
                f"missing: {listed(missing)}; unknown: {listed(unknown)}. Give every chunk the "
                "same views by the same names, or take those that come later in, and those that "
                "are not there for missing: new_features='grow' (--new-features grow)."
            )


def unknown_features(view: str, new: Sequence[str]) -> str:
    """Return what there is to say of features that are not known, where none may come."""
    return (
        f"View {view!r} has {len(new):,} features that the first chunk had not, such as "
        f"{new[0]!r}. Leave them out, or take them in: new_features='grow' (--new-features grow)."
    )


def _check_features(view: str, got: Sequence[str] | None, expected: Sequence[str] | None) -> None:
    if got is None or expected is None or got == expected:
        return
    what = "its features in another order" if set(got) == set(expected) else "other features"
    column = next(i for i, name in enumerate(got) if name != expected[i])
    raise ValueError(
        f"View {view!r} has {what} than the first chunk: column {column} is {got[column]!r}, "
        f"expected {expected[column]!r}. Give every chunk the same columns in the same order, or "
        "call fit() to start anew."
    )


def listed(names: Iterable[Any]) -> str:
    """Names as an error tells them."""
    return ", ".join(repr(name) for name in names) or "none"


def some(names: Sequence[Any]) -> str:
    """Return the first of some names as an error tells them, and how many more there are."""
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return f"{listed(names[:5])}{more}"


class Vocabulary(Sequence[str]):
    """Names of features in order, to which more can be appended.

    It never changes; one with more names shares what it has with the one before, so that to append
    costs what is new. It equals a tuple of the same names, each of which is in it once.

    Examples
    --------
    >>> words = Vocabulary(["ant", "bee"])
    >>> places, new = words.places(["cat", "ant"])
    >>> places, new
    (array([2, 0]), ['cat'])
    >>> words.grown(new), len(words)
    (Vocabulary(3 names), 2)
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        # All vocabularies that came of one append to the same list; the first n are of this one.
        self._names = list(names)
        self._places = {name: j for j, name in enumerate(self._names)}
        self._n = len(self._names)
        if len(self._places) < self._n:
            raise ValueError("Got a name twice; expected each once.")

    def places(self, names: Sequence[str]) -> tuple[NDArray[np.intp], list[str]]:
        """Return where some names are, each of which is given once, and which of them are new.

        These have the places behind all that are known, in the order in which they are given.
        """
        given, n = list(names), self._n
        alike = min(len(given), n)
        # As a rule all is where it was, and to compare takes less than to look up.
        if given[:alike] == self._names[:alike]:
            return np.arange(len(given)), given[alike:]
        places = np.fromiter((self._places.get(name, n) for name in given), np.intp, len(given))
        # What others have appended, or what was appended in vain, is not known here.
        unknown = np.flatnonzero(places >= n)
        places[unknown] = n + np.arange(len(unknown))
        return places, [given[j] for j in unknown.tolist()]

    def known_places(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Return where some names are, -1 for those that are not known."""
        places, _ = self.places(names)
        places[places >= self._n] = -1
        return places

    def grown(self, new: Sequence[str]) -> "Vocabulary":
        """Return the vocabulary with new names, each once, behind its own."""
        added, n = list(new), self._n
        if len(self._names) > n and self._names[n : n + len(added)] != added:
            # Others have gone on from here, or tried to in vain: on with a copy.
            return Vocabulary([*self, *added])
        if len(self._names) == n:
            self._places |= {name: n + j for j, name in enumerate(added)}
            self._names += added
        more = Vocabulary()
        more._names, more._places, more._n = self._names, self._places, n + len(added)
        return more

    @cached_property
    def array(self) -> Names:
        """The names as an array, which is not to be written into."""
        return as_names(self)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        if not -self._n <= index < self._n:
            raise IndexError(f"Got name number {index}; there are {self._n:,}.")
        return self._names[index % self._n]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names[: self._n])

    def __contains__(self, name: Any) -> bool:
        return self._places.get(name, self._n) < self._n

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vocabulary) and self._n == other._n:
            return self._names is other._names or list(self) == list(other)
        return isinstance(other, tuple) and len(other) == self._n and tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (list(self),)

    def __repr__(self) -> str:
        return f"Vocabulary({self._n:,} names)"


def shown(text: str) -> str:
    r"""Return a text as a terminal or a page may show it, on one line, what is unseen escaped.

    Examples
    --------
    >>> print(shown("wörd\x1b[2J\n"))
    wörd\x1b[2J\n
    """
    return _UNSEEN.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)
