"""Rows that are objects with a value for every view, as blocks, and back."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import Schema, listed
from omvfs.formats._asked import Asked, known_places, known_width
from omvfs.formats._base import DROP, KEEP, TOKENIZE, SourceError
from omvfs.wording import Sentence

# A list of as many numbers as the view is wide, an object of features and values, tokens to count.
_KINDS = "numbers", "object", "tokens"
# One of the last two: which, no row has told yet.
_WORDS = "words"
_WORD = re.compile(r"\w\w+")


def tokens(text: str) -> list[str]:
    """Return the words of a text: lower-cased runs of two or more letters, digits or underscores.

    These are the words of scikit-learn's `CountVectorizer`.

    Examples
    --------
    >>> tokens("A naïve cat's 2nd try.")
    ['naïve', 'cat', '2nd', 'try']
    """
    return _WORD.findall(text.lower())


class Pick:
    """Takes from every row what is asked for, and knows what there was.

    Parameters
    ----------
    name : str
        Of where the rows come from, for errors.
    asked : Asked

    Attributes
    ----------
    dropped, kept : set of str
        What was asked to be left out, and to go along, and was there.
    other_views : dict of str to None
        Values that were there and not asked for, in order of appearance.

    Examples
    --------
    >>> pick = Pick("rows.jsonl", Asked(key="id", drop=("day",), keep=("class",)))
    >>> pick({"id": 7, "day": "Monday", "class": "cat", "text": ["a"]}, 1)
    ({'text': ['a']}, 7, {'class': 'cat'})
    """

    def __init__(self, name: str, asked: Asked) -> None:
        self._name, self._asked = name, asked
        self.dropped: set[str] = set()
        self.kept: set[str] = set()
        self.other_views: dict[str, None] = {}

    def __call__(
        self, row: dict[str, Any], number: int
    ) -> tuple[dict[str, Any], Any, dict[str, Any]]:
        """Return the views of a row, its key, and what goes along with it.

        Parameters
        ----------
        row : dict
            It is used up.
        number : int
            Of the row, from 1, for errors.
        """
        asked = self._asked
        for name in asked.drop:
            if name in row:
                del row[name]
                self.dropped.add(name)
        kept = {name: row.pop(name) for name in asked.keep if name in row}
        self.kept.update(kept)
        key = self._key(row, number)
        if asked.views is not None:
            self.other_views.update((view, None) for view in row if view not in asked.views)
            row = {view: value for view, value in row.items() if view in asked.views}
        for view in asked.tokenize:
            if isinstance(row.get(view), str):
                row[view] = tokens(row[view])
        # What is null is not there.
        return {view: value for view, value in row.items() if value is not None}, key, kept

    def _key(self, row: dict[str, Any], number: int) -> Any:
        name = self._asked.key
        if name is None:
            return None
        key = row.pop(name, None)
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise SourceError(
                f"Row {number:,} of {self._name} has the key {name!r}: {key!r}; expected a string "
                "or a whole number."
            )
        return key


class Shape:
    """What is known of the views of some rows: kinds, widths, features.

    Parameters
    ----------
    name : str
        Of where the rows come from, for errors.
    schema : Schema, default=None
        Views whose features, where they have names, are these: others are passed over.

    Examples
    --------
    >>> shape = Shape("rows.jsonl")
    >>> row = {"text": ["b", "a", "b"], "image": [0.5, 1]}
    >>> shape.see(row, 1)
    >>> shape.schema.names, shape.schema.feature_names
    (('text', 'image'), (('b', 'a'), None))
    >>> shape.blocks([row], 1)["image"]
    array([[0.5, 1. ]])
    """

    def __init__(self, name: str, schema: Schema | None = None) -> None:
        self._name, self._known = name, schema
        self.kinds: dict[str, str] = {}
        # Whether words are to be passed on as they are, and not to be remembered.
        self.grows = False
        self._places: dict[str, dict[str, int]] = {}
        self._widths: dict[str, int] = {}

    @property
    def schema(self) -> Schema:
        """Views, their widths and the names of their features, in order of appearance."""
        names = tuple(self.kinds)
        widths = tuple(self._widths.get(n) or max(1, len(self._places[n])) for n in names)
        features = tuple(
            tuple(self._places[n]) or None if n in self._places else None for n in names
        )
        return Schema(names, widths, features)

    def expect_known(self, views: Sequence[str] | None = None) -> bool:
        """Expect all views that are known to have names, though no row had them yet.

        Parameters
        ----------
        views : sequence of str, default=None
            Of these only.

        Returns
        -------
        bool
            Whether more rows will tell of no new feature.
        """
        if self._known is not None:
            for view, names in zip(self._known.names, self._known.feature_names, strict=True):
                wanted = views is None or view in views
                if names is not None and wanted and view not in self.kinds:
                    self.kinds[view] = _WORDS
                    self._places[view] = {name: j for j, name in enumerate(names)}
        return all(
            kind == "numbers" or known_width(self._known, view) is not None
            for view, kind in self.kinds.items()
        )

    def conform(self, schema: Schema) -> tuple[str, ...]:
        """Have the views of a schema, in its order, and its words beside those that were seen.

        Parameters
        ----------
        schema : Schema
            It has all that is known here.

        Returns
        -------
        tuple of str
            Views of numbers that are others here, or not here: nothing is changed then.
        """
        described = zip(schema.names, schema.widths, schema.feature_names, strict=True)
        kinds: dict[str, str] = {}
        words: dict[str, dict[str, int]] = {}
        lacking = []
        for view, width, names in described:
            kinds[view] = self.kinds.get(view, _WORDS if names else "numbers")
            if kinds[view] != "numbers":
                words[view] = {name: j for j, name in enumerate(names or ())}
            elif names or self._widths.get(view) != width:
                lacking.append(view)
        if not lacking:
            self.kinds = kinds
            self._places |= words
        return tuple(lacking)

    def see(self, row: Mapping[str, Any], number: int) -> None:
        """Learn what a row tells.

        Parameters
        ----------
        row : mapping of str to value of the view
        number : int
            Of the row, from 1, for errors.
        """
        for view, value in row.items():
            self._see(view, value, number)

    def blocks(self, rows: Sequence[Mapping[str, Any]], number: int) -> dict[str, Block]:
        """Return rows that were seen as a block a view.

        Parameters
        ----------
        rows : sequence of mapping
        number : int
            Of the first row, from 1, for errors.
        """
        schema = self.schema
        return {
            view: self._block(view, [row.get(view) for row in rows], number, width)
            for view, width in zip(schema.names, schema.widths, strict=True)
        }

    def by_name(self, rows: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
        """Return rows that were seen, views of words as mappings with the features of each row.

        Parameters
        ----------
        rows : sequence of mapping
        number : int
            Of the first row, from 1, for errors.

        Examples
        --------
        >>> shape = Shape("rows.jsonl")
        >>> shape.see({"text": ["a", "b", "a"]}, 1)
        >>> shape.by_name([{"text": ["a", "b", "a"]}, {}], 1)
        {'text': [{'a': 2.0, 'b': 1.0}, {}]}
        """
        found: dict[str, Any] = {}
        for view, kind in self.kinds.items():
            values = [row.get(view) for row in rows]
            if kind == "numbers" or known_width(self._known, view) is not None:
                width = self._widths.get(view) or len(self._places[view])
                found[view] = self._block(view, values, number, width)
                continue
            try:
                found[view] = [_counted(value) for value in values]
            except OverflowError as error:
                raise self._too_large(view, values, number) from error
        return found

    def known_names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the features of views whose words are all known."""
        return {
            view: tuple(places)
            for view, places in self._places.items()
            if known_width(self._known, view) is not None
        }

    def present(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.bool_]]:
        """Return by view that some rows lack, which rows have it.

        A row that has nothing of any view lacks none of those of words: it is an empty one.

        Parameters
        ----------
        rows : sequence of mapping

        Examples
        --------
        >>> shape = Shape("rows.jsonl")
        >>> rows = [{"text": ["a"], "tags": ["b"]}, {"text": []}, {}]
        >>> for number, row in enumerate(rows, 1):
        ...     shape.see(row, number)
        >>> shape.present(rows)
        {'tags': array([ True, False,  True])}
        """
        found = {}
        for view, kind in self.kinds.items():
            has = np.array([view in row or (not row and kind != "numbers") for row in rows])
            if not has.all():
                found[view] = has
        return found

    def _see(self, view: str, value: Any, number: int) -> None:
        kind = _kind(value)
        if kind == "a text":
            raise SourceError(
                Sentence(
                    f"View {view!r} is a text in row {number:,} of {self._name}; expected "
                    f"{listed(_KINDS)}. Take it for its words: ",
                    TOKENIZE,
                    "; or carry it along: ",
                    KEEP,
                    "; or leave it out: ",
                    DROP,
                    ".",
                )
            )
        if kind not in _KINDS:
            raise SourceError(
                Sentence(
                    f"View {view!r} is {kind} in row {number:,} of {self._name}; expected "
                    f"{listed(_KINDS)}: a list of numbers, features with values, or a list of "
                    "words. Leave it out: ",
                    DROP,
                    "; or carry it along: ",
                    KEEP,
                    ".",
                )
            )
        if self.kinds.get(view) == _WORDS and kind != "numbers":
            self.kinds[view] = kind
        known = self.kinds.setdefault(view, kind)
        if kind != known and value != []:
            raise SourceError(
                f"View {view!r} is {kind} in row {number:,} of {self._name}, and {known} before; "
                f"expected one of {listed(_KINDS)} throughout."
            )
        if known == "numbers":
            width = self._widths.setdefault(view, len(value))
            if len(value) != width:
                raise SourceError(
                    f"View {view!r} has {len(value):,} numbers in row {number:,} of {self._name}, "
                    f"and {width:,} before."
                )
        else:
            if view not in self._places:
                self._places[view] = known_places(self._known, view, self._name) or {}
            if known_width(self._known, view) is None and not self.grows:
                places = self._places[view]
                for feature in value:
                    places.setdefault(feature, len(places))

    def _block(self, view: str, values: list[Any], number: int, width: int) -> Block:
        try:
            return self._made(view, values, number, width)
        except OverflowError as error:
            raise self._too_large(view, values, number) from error

    def _too_large(self, view: str, values: list[Any], number: int) -> SourceError:
        row = number + next(i for i, value in enumerate(values) if _is_too_large(value))
        return SourceError(
            f"View {view!r} has a number of over 308 digits in row {row:,} of {self._name}; "
            "expected numbers that a double can hold."
        )

    def _made(self, view: str, values: list[Any], number: int, width: int) -> Block:
        if self.kinds[view] == "numbers":
            nothing = [0.0] * width
            whole = [nothing if value is None else value for value in values]
            return np.array(whole, np.float64).reshape(len(values), width)
        places = self._places[view]
        counted = [value if isinstance(value, dict) else Counter(value or ()) for value in values]
        if known_width(self._known, view) is not None:
            counted = [{f: x for f, x in row.items() if f in places} for row in counted]
        indptr = np.cumsum([0, *map(len, counted)])
        indices = [places[feature] for row in counted for feature in row]
        data = [float(each) for row in counted for each in row.values()]
        parts = np.array(data, np.float64), np.array(indices, np.int64), indptr
        return sp.csr_array(parts, shape=(len(values), width))


def _counted(value: Any) -> dict[str, float]:
    """Return the features of a row by name: tokens are counted."""
    row = value if isinstance(value, dict) else Counter(value or ())
    return {name: float(each) for name, each in row.items()}


def _kind(value: Any) -> str:
    """Return what a view of a row is, or say that it is nothing."""
    if isinstance(value, dict) and all(_is_number(each) for each in value.values()):
        return "object"
    if isinstance(value, list) and value and all(_is_number(each) for each in value):
        return "numbers"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "tokens"
    if _is_number(value):
        return "a number"
    return "a text" if isinstance(value, str) else "something else"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_too_large(value: Any) -> bool:
    """Tell whether a view of a row has a whole number that no double comes near."""
    try:
        list(map(float, value.values() if isinstance(value, dict) else value))
    except OverflowError:
        return True
    return False


def is_text(name: str) -> bool:
    r"""Tell whether text can be written: lone surrogates stand for bytes that are no UTF-8.

    Examples
    --------
    >>> is_text("café"), is_text("caf\udce9")
    (True, False)
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def entries(X: Any, names: Any) -> list[dict[str, float]]:
    """Return the entries of every row by name of the feature, or its number from 0.

    Examples
    --------
    >>> entries(sp.csr_array([[0.0, 2.0]]), ["cat", "dog"])
    [{'dog': 2.0}]
    """
    names = [str(each) for each in (range(X.shape[1]) if names is None else names)]
    columns, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    return [
        {names[j]: x for j, x in zip(columns[a:b], values[a:b], strict=True)}
        for a, b in pairwise(ends)
    ]
