"""What rows go through before they are learned from; what its steps count travels along."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import Negative
from omvfs.data.read import as_views
from omvfs.data.schema import listed
from omvfs.data.table import NUMBERS
from omvfs.data.views import Views
from omvfs.model.arrays import (
    Block,
    IntArray,
    column_sums,
    dense,
    scale_columns,
    squared_entries,
    unit_rows,
)

# Columns are numbered by 32 bits at most, and of a few there is no telling anything.
_FEWEST_BITS, _MOST_BITS = 4, 28
_HASH = re.compile(r"hash:([1-9][0-9]*)")


def hash_bits(step: str) -> int | None:
    """Return into how many columns, as a power of two, a step hashes; None if it does not.

    Examples
    --------
    >>> hash_bits("hash:20"), hash_bits("l2"), hash_bits("hash:99")
    (20, None, None)
    """
    found = _HASH.fullmatch(step)
    if found is None or not _FEWEST_BITS <= int(found[1]) <= _MOST_BITS:
        return None
    return int(found[1])


def buckets(names: Sequence[str], bits: int) -> NDArray[np.intp]:
    """Return the column of each name: crc32 of its UTF-8, its last bits.

    The same on every machine, and in every version of Python.

    Examples
    --------
    >>> buckets(["cat", "dog", "cat"], 20)
    array([934824, 801149, 934824])
    """
    # Names of files may hold what is no UTF-8.
    codes = (crc32(name.encode("utf-8", "surrogatepass")) for name in names)
    return np.fromiter(codes, np.intp, len(names)) & ((1 << bits) - 1)


def hashed(X: Block, names: Sequence[str], bits: int) -> Block:
    """Return rows with every feature in the one of 2**bits columns that its name has.

    Those of one column are added.
    """
    rows = sp.csr_array(X)
    places = buckets(names, bits).astype(np.int32)
    # What a table lacks counts as nothing.
    parts = np.nan_to_num(rows.data), places[rows.indices], rows.indptr.copy()
    made = sp.csr_array(parts, shape=(X.shape[0], 1 << bits))
    made.sum_duplicates()
    return made


def hashed_views(views: Views, bits: Sequence[int | None]) -> Views:
    """Return views, each hashed by so many bits, or as it is where these are None."""
    made = {}
    for (view, X), own in zip(views.blocks.items(), bits, strict=True):
        names = views.feature_names[view]
        if own is None:
            made[view] = X
        elif names is not None:
            made[view] = hashed(X, names.tolist(), own)
        elif X.shape[1] == 1 << own:
            made[view] = X if sp.issparse(X) else sp.csr_array(X)
        else:
            raise ValueError(
                f"View {view!r} has {X.shape[1]:,} features without names; hash:{own} goes by "
                "names. Give it as a data frame, as rows by name, or as Views(..., "
                "feature_names=...)."
            )
    return views.with_blocks(made, [v for v, own in zip(views.names, bits, strict=True) if own])


# By column: values that are there, their sum, and that of their squares.
_MOMENTS = ("count", "total", "squares")
_ROUNDING = 1e-12
AUTO = "auto"


# What a step has counted of one view, by name; replaced, never changed.
Counted: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Step:
    """One step of a preparation, of one view."""

    # From rows, and what was counted, to rows.
    apply: Callable[[Block, Counted], Block]
    # From rows, and what was counted before, to what is counted with them; None if the step looks
    # at no row but its own.
    count: Callable[[Block, Counted], Counted] | None = None
    # How what two parts of a stream have counted goes together, by name; neither order nor grouping
    # matter.
    merge: Mapping[str, Callable[[Any, Any], Any]] = field(default_factory=dict)
    # Whether a value hangs on the other columns of its row.
    whole_rows: bool = False


def l2(X: Block, counted: Counted) -> Block:
    """Bring every row to unit norm; zero rows stay zero."""
    return unit_rows(X)


def log1p(X: Block, counted: Counted) -> Block:
    """Take log(1 + x) of every value."""
    lowest = X.min() if X.shape[0] and X.shape[1] else 0
    if lowest <= -1:
        raise ValueError(f"log1p needs values above -1; got {lowest:g}.")
    return X.log1p() if sp.issparse(X) else np.log1p(X)


def tfidf(X: Block, counted: Counted) -> Block:
    """Weigh every column by log((1 + n) / (1 + df)) + 1, counted over all rows so far.

    n are rows, df those in which the column is not zero. A row is weighed by what is known when it
    comes, its own chunk included.
    """
    weights = np.log((1 + counted["n"]) / (1 + counted["df"])) + 1
    return scale_columns(X, weights.astype(X.dtype))


def count_rows_with(X: Block, counted: Counted) -> Counted:
    """Count rows, and of every column those in which it is not zero."""
    df = counted.get("df", np.zeros(X.shape[1], np.int64))
    n = counted.get("n", np.zeros(1, np.int64))
    return {"df": df + np.asarray((X != 0).sum(axis=0)).ravel(), "n": n + X.shape[0]}


def scale(X: Block, counted: Counted) -> Block:
    """Divide every column by its largest size over all rows so far."""
    largest = counted["largest"]
    # What is smaller still has no inverse.
    sound = largest >= np.finfo(largest.dtype).tiny
    return scale_columns(X, np.divide(1, largest, out=np.ones_like(largest), where=sound))


def largest_sizes(X: Block, counted: Counted) -> Counted:
    """Return the largest size of every column."""
    if not X.shape[0]:
        return {"largest": counted.get("largest", np.zeros(X.shape[1], X.dtype))}
    sizes = dense(abs(X).max(axis=0)).ravel()
    return {"largest": np.maximum(counted.get("largest", np.zeros_like(sizes)), sizes)}


def column_moments(X: Block, counted: Counted) -> Counted:
    """Sum the values of every column that are there, and their squares, and count them."""
    before = {name: counted.get(name, np.zeros(X.shape[1])) for name in _MOMENTS}
    if sp.issparse(X):
        there, squares = np.full(X.shape[1], X.shape[0]), squared_entries(X)
        own = there, column_sums(X), column_sums(squares)
    else:
        has = ~np.isnan(X)
        values = np.where(has, X, 0)
        own = has.sum(axis=0), values.sum(axis=0), squared_entries(values).sum(axis=0)
    return {name: before[name] + each for name, each in zip(_MOMENTS, own, strict=True)}


def standardize(X: Block, counted: Counted) -> Block:
    """Subtract the mean of every column over all rows so far, and divide by its deviation.

    A value that is missing becomes the mean. Columns of a sparse view keep their mean.
    """
    n = np.maximum(counted["count"], 1)
    mean = counted["total"] / n
    variance = counted["squares"] / n - mean**2
    # What may be rounding is no variance.
    sound = variance > _ROUNDING * counted["squares"] / n
    scale = np.divide(1, np.sqrt(np.where(sound, variance, 1)), where=sound, out=np.zeros_like(n))
    if sp.issparse(X):
        return scale_columns(X, np.where(sound, scale, 1).astype(X.dtype))
    return np.nan_to_num((X - mean) * scale).astype(X.dtype)


def fill(X: Block, counted: Counted) -> Block:
    """Put the mean of a column over all rows so far where a value is missing."""
    if sp.issparse(X):
        return X
    mean = counted["total"] / np.maximum(counted["count"], 1)
    return np.where(np.isnan(X), mean, X).astype(X.dtype)


def as_hashed(X: Block, counted: Counted) -> Block:
    """Leave rows as they are: they are hashed when they are read, as names are gone here."""
    return X


STEPS = {
    "l2": Step(l2, whole_rows=True),
    "log1p": Step(log1p),
    "tfidf": Step(tfidf, count_rows_with, {"df": np.add, "n": np.add}),
    "scale": Step(scale, largest_sizes, {"largest": np.maximum}),
    "standardize": Step(standardize, column_moments, dict.fromkeys(_MOMENTS, np.add)),
    "fill": Step(fill, column_moments, dict.fromkeys(_MOMENTS, np.add)),
}


def step_of(name: Any) -> Step | None:
    """Return a step by its name, None if there is none."""
    if isinstance(name, str) and hash_bits(name) is not None:
        return Step(as_hashed)
    return STEPS.get(name) if isinstance(name, str) else None


def steps_of(name: str, value: Any) -> tuple[tuple[str | None, str], ...]:
    """Return the steps that a parameter asks for, each with the view that it is for, None for all.

    Examples
    --------
    >>> steps_of("prepare", ["text:tfidf", "l2"])
    (('text', 'tfidf'), (None, 'l2'))
    >>> steps_of("prepare", {"text": ["tfidf", "l2"], "image": "l2"})
    (('text', 'tfidf'), ('text', 'l2'), ('image', 'l2'))
    """
    if _word(value) in (AUTO, "none"):
        return ()
    if isinstance(value, Mapping):
        pairs = [(view, step) for view, own in value.items() for step in _sequence(own)]
    else:
        pairs = [_with_view(step) for step in _sequence(value)]
    for view, step in pairs:
        if not isinstance(view, str | None) or step_of(step) is None:
            raise ValueError(
                f"Got {name}={value!r}; expected 'auto', {listed(STEPS)}, 'hash:20' for 2**20 "
                "columns (4 to 28), 'view:step' for one view, several of these in order, or steps "
                "by view name."
            )
    for i, (view, step) in enumerate(pairs):
        if hash_bits(step) is not None and any(
            None in (view, own) or own == view for own, _ in pairs[:i]
        ):
            raise ValueError(
                f"Got {name}={value!r}; expected {step!r}, by which names become columns, before "
                "all other steps."
            )
    return tuple(pairs)


def _word(value: Any) -> Any:
    """Return what is asked for in one word, typed alone or as one of several."""
    alone = isinstance(value, list | tuple) and len(value) == 1
    found = value[0] if alone else value
    return found if isinstance(found, str) else None


def _sequence(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def _with_view(step: Any) -> tuple[str | None, Any]:
    """Return the view that ``view:step`` is for, None if there is none, and the step."""
    if not isinstance(step, str):
        return None, step
    head, own = step, ""
    while True:
        head, colon, last = head.rpartition(":")
        own = f"{last}:{own}" if own else last
        # The name of a step may have a colon, and so may that of a view.
        if not colon or last != own or not last.isdigit():
            return (head if colon else None), own


def known_step(name: str) -> Step:
    """Return a step by its name, which is one."""
    step = step_of(name)
    assert step is not None
    return step


# What it counts for every column, and the rows it has seen.
_BY_COLUMN, _ROWS = ("df", "largest", *_MOMENTS), "n"


@dataclass(frozen=True)
class Preparation:
    """The steps that the rows of each view go through, and what they have counted.

    Examples
    --------
    >>> from omvfs.data.read import as_views
    >>> first = as_views({"text": np.array([[3.0, 4.0]])})
    >>> prepared, after = Preparation.of(["scale", "l2"], ["text"]).learn(first)
    >>> prepared["text"].round(3), after.counted[0][0]["largest"]
    (array([[0.707, 0.707]]), array([3., 4.]))
    >>> after.apply(as_views({"text": np.array([[6.0, 0.0]])}))["text"]
    array([[1., 0.]])
    """

    # Names of the steps of each view, in order.
    steps: tuple[tuple[str, ...], ...]
    # What each of them has counted in the rows so far.
    counted: tuple[tuple[Counted, ...], ...]

    @classmethod
    def of(cls, prepare: Any, views: Sequence[str]) -> "Preparation":
        """Return what the parameter asks for, of views in their order, before any row."""
        pairs = steps_of("prepare", prepare)
        if strange := {view: None for view, _ in pairs if view is not None and view not in views}:
            raise ValueError(
                f"Got prepare for view {listed(strange)}; the views are {listed(views)}."
            )
        steps = tuple(
            tuple(step for own, step in pairs if own is None or own == view) for view in views
        )
        return cls(steps, tuple(tuple({} for _ in own) for own in steps))

    def __bool__(self) -> bool:
        """Tell whether there is any step."""
        return any(self.steps)

    @property
    def hashes(self) -> bool:
        """Whether features of any view go by a hash of their names."""
        return any(own and hash_bits(own[0]) for own in self.steps)

    def with_views(
        self, order: Sequence[int | None], steps: Sequence[tuple[str, ...]]
    ) -> "Preparation":
        """Return the preparation of its views in an order; None is for one that is new.

        `steps` are those of all views in this order.
        """
        counted = (
            tuple({} for _ in own) if v is None else self.counted[v]
            for v, own in zip(order, steps, strict=True)
        )
        kept = (own if v is None else self.steps[v] for v, own in zip(order, steps, strict=True))
        return Preparation(tuple(kept), tuple(counted))

    def grow(self, widths: Sequence[int]) -> "Preparation":
        """Return the preparation with columns that no row had so far behind those there are."""
        return self._each_count(lambda a, D: np.pad(a, (0, D - len(a))), widths)

    def place(self, places: Sequence[IntArray], widths: Sequence[int]) -> "Preparation":
        """Return the preparation with its columns in certain places among others."""

        def among(a: NDArray[Any], given: tuple[IntArray, int]) -> NDArray[Any]:
            wide = np.zeros(given[1], a.dtype)
            wide[given[0]] = a
            return wide

        return self._each_count(among, list(zip(places, widths, strict=True)))

    def _each_count(
        self, work: Callable[[NDArray[Any], Any], NDArray[Any]], given: Sequence[Any]
    ) -> "Preparation":
        """Return the preparation with what is counted by column worked over, view by view."""
        counted = tuple(
            tuple(
                {name: work(a, own) if name in _BY_COLUMN else a for name, a in each.items()}
                for each in of_view
            )
            for of_view, own in zip(self.counted, given, strict=True)
        )
        return replace(self, counted=counted)

    def __add__(self, other: "Preparation") -> "Preparation":
        """Return what the same steps have counted in the rows of two parts of a stream."""
        if self.steps != other.steps:
            raise ValueError(f"Got steps {other.steps}; expected {self.steps}.")
        counted = tuple(
            tuple(
                {
                    name: work(one[name], another[name])
                    for name, work in known_step(step).merge.items()
                }
                # Of a view that a part lacks, it has counted nothing.
                if one and another
                else one or another
                for step, one, another in zip(*of_view, strict=True)
            )
            for of_view in zip(self.steps, self.counted, other.counted, strict=True)
        )
        return replace(self, counted=counted)

    def check_unchanged(self, prepare: Any, views: Sequence[str]) -> None:
        """Refuse to go on with other steps, as the parameter is now, than those so far."""
        if _word(prepare) == AUTO:
            return
        asked = Preparation.of(prepare, views).steps
        own = zip(asked, self.steps, strict=True)
        # What a table lacks is filled without being asked.
        if any(ask != own and ("fill", *ask) != own for ask, own in own):
            was = {view: list(own) for view, own in zip(views, self.steps, strict=True)}
            raise ValueError(
                f"Got prepare={prepare!r}, but the rows so far were prepared otherwise, by view: "
                f"{was}; expected the same for all rows. Set it back, or call fit() to start anew."
            )

    def asked_for(self, views: Sequence[str]) -> Any:
        """Return a parameter that asks for these steps, in few words.

        Examples
        --------
        >>> Preparation.of(["text:tfidf", "l2"], ["text", "image"]).asked_for(["text", "image"])
        ['text:tfidf', 'text:l2', 'image:l2']
        >>> Preparation.of({"text": "l2", "image": "l2"}, ["text", "image"]).asked_for("ti")
        ['l2']
        """
        if not self:
            return None
        if len(set(self.steps)) == 1:
            return list(self.steps[0])
        pairs = zip(views, self.steps, strict=True)
        return [f"{view}:{step}" for view, own in pairs for step in own]

    def learn(self, views: Views) -> tuple[Views, "Preparation"]:
        """Return rows prepared, they themselves counted, and the preparation after them."""
        return self._through(views, counts=True)

    def apply(self, views: Views) -> Views:
        """Return rows prepared by what was counted before."""
        return self._through(views, counts=False)[0]

    def _through(self, views: Views, counts: bool) -> tuple[Views, "Preparation"]:
        if not self:
            return views, self
        blocks: dict[str, Block] = {}
        after = []
        for (view, X), steps, counted in zip(
            views.blocks.items(), self.steps, self.counted, strict=True
        ):
            has = views.present.get(view)
            blocks[view], held = _taken_through(view, X, steps, counted, counts, has)
            after.append(held)
        # Large values may have become too large.
        prepared = as_views(views.replaced(blocks), negative="allow", missing="allow")
        return prepared, Preparation(self.steps, tuple(after))


@dataclass(frozen=True)
class Preparing:
    """How the rows of one view are prepared, by what was counted so far and nothing more."""

    # Its name.
    view: str
    steps: tuple[str, ...]
    counted: tuple[Counted, ...]
    # Precision in which rows are prepared: one of 'float32', 'float64'.
    dtype: str
    # What happens to negative values before: one of 'error', 'clip', 'allow'.
    negative: Negative

    @property
    def needs_all(self) -> bool:
        """Whether a value hangs on columns other than its own."""
        return any(known_step(step).whole_rows for step in self.steps)

    def on(self, columns: IntArray) -> "Preparing":
        """Return the preparation of some columns, in their order."""
        own = tuple(
            {name: a[columns] if name in _BY_COLUMN else a for name, a in counted.items()}
            for counted in self.counted
        )
        return replace(self, counted=own)

    def apply(self, X: Block) -> Block:
        """Return rows prepared."""
        own = as_views({self.view: X}, negative=self.negative)[self.view]
        with np.errstate(over="ignore"):
            own = own.astype(self.dtype, copy=False)
        X, _ = _taken_through(self.view, own, self.steps, self.counted, counts=False)
        return as_views({self.view: X}, negative="allow")[self.view]

    def fits(self, width: int) -> bool:
        """Tell whether its steps are known, and have counted so many columns."""
        steps = [step_of(step) for step in self.steps]
        shapes = [{name: a.shape for name, a in own.items()} for own in self.counted]
        wanted = [
            {name: (1 if name == _ROWS else width,) for name in step.merge} if step else None
            for step in steps
        ]
        known = bool(steps) and all(steps) and self.dtype in ("float32", "float64")
        return known and shapes == wanted


def _taken_through(
    view: str,
    X: Block,
    steps: Sequence[str],
    counted: Sequence[Counted],
    counts: bool,
    has: NDArray[np.bool_] | None = None,
) -> tuple[Block, tuple[Counted, ...]]:
    """Return rows after some steps, and what these have counted, the rows with it if asked.

    Rows that lack the view are not counted.
    """
    held = []
    for step, own in zip(map(known_step, steps), counted, strict=True):
        if counts and step.count is not None:
            own = step.count(X if has is None else X[np.flatnonzero(has)], own)
        try:
            X = step.apply(X, own)
        except ValueError as error:
            raise ValueError(f"View {view!r}: {error}") from error
        held.append(own)
    return X, tuple(held)


def auto_steps(first: Views, prepare: Any) -> Any:
    """Return the steps of a preparation by what the first rows are; gaps are always filled.

    With "auto", the numbers of a table are standardized; other views stay as they are.
    """
    auto = _word(prepare) == AUTO
    if not auto and not first.gaps:
        return prepare
    asked = Preparation.of(prepare, first.names).steps
    steps: dict[str, tuple[str, ...]] = {}
    for view, own in zip(first.names, asked, strict=True):
        if auto and view in first.gaps and view == NUMBERS:
            own = ("standardize",)
        elif (
            view in first.gaps
            and not any(map(hash_bits, own))
            and own[:1] not in (("fill",), ("standardize",))
        ):
            own = ("fill", *own)
        steps[view] = own
    return steps


def bits_of(prepare: Any, views: Sequence[str]) -> tuple[int | None, ...]:
    """Return by how many bits the features of each view are hashed, None where they are not.

    Examples
    --------
    >>> bits_of(["text:hash:20", "l2"], ["text", "image"])
    (20, None)
    """
    found = (hash_bits(own[0]) if own else None for own in Preparation.of(prepare, views).steps)
    return tuple(found)
