"""What rows go through before they are learned from; what its steps count travels along."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import Negative
from omvfs.data.read import as_views
from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.model.arrays import (
    Block,
    IntArray,
    column_sums,
    scale_columns,
    squared_row_norms,
    unit_rows,
)

# Columns are numbered by 32 bits at most, and of a few there is no telling anything.
_FEWEST_BITS, _MOST_BITS = 4, 28
_HASH = re.compile(r"hash:([1-9][0-9]*)")


def hash_bits(step: str) -> int | None:
    """Return into how many columns, as a power of two, a step hashes; None if it does not."""
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


AUTO = "auto"
# By column: values that are there, their mean, and the sum of their squares about it.
_MOMENTS = ("count", "mean", "about_mean")
# A deviation this small beside the mean may be rounding.
_ROUNDING = 1e-13
# What differs by more is unlike.
_TENFOLD = 10


# What a step has counted of one view, by name; replaced, never changed.
Counted: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Step:
    """One step of a preparation, of one view."""

    # From rows, and what was counted, to rows.
    apply: Callable[[Block, Counted], Block]
    # From rows to what is counted of them; None if the step looks at no row but its own.
    count: Callable[[Block], Counted] | None = None
    # From what two parts of a stream have counted to that of both, and the names of what it is.
    add: Callable[[Counted, Counted], Counted] | None = None
    names: tuple[str, ...] = ()
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


def rows_with(X: Block) -> Counted:
    """Count rows, and of every column those in which it is not zero."""
    return {"df": np.asarray((X != 0).sum(axis=0)).ravel(), "n": np.array([X.shape[0]])}


def sums(one: Counted, other: Counted) -> Counted:
    """Return the sums of what two parts have counted."""
    return {name: one[name] + other[name] for name in one}


def moments(X: Block) -> Counted:
    """Return how many values each column has, their mean, and their squares about it, summed."""
    n = np.full(X.shape[1], float(X.shape[0]))
    if sp.issparse(X):
        mean = column_sums(X) / np.maximum(n, 1)
        about = np.square(X.data - mean[X.indices], dtype=np.float64)
        zeros = n - np.bincount(X.indices, minlength=X.shape[1])
        squares = np.bincount(X.indices, about, X.shape[1]) + zeros * mean**2
    else:
        mean = column_sums(X) / np.maximum(n, 1)
        if np.isnan(mean).any():
            n -= np.isnan(X).sum(axis=0)
            mean = np.nansum(X, axis=0, dtype=np.float64) / np.maximum(n, 1)
            X = np.where(np.isnan(X), mean, X)
        away = X - mean
        squares = np.einsum("ij,ij->j", away, away)
    return dict(zip(_MOMENTS, (n, mean, squares), strict=True))


def pooled(one: Counted, other: Counted) -> Counted:
    """Return the moments of the values of two parts, without the loss of digits that sums have."""
    n = one["count"] + other["count"]
    share = other["count"] / np.maximum(n, 1)
    step = other["mean"] - one["mean"]
    squares = one["about_mean"] + other["about_mean"] + step**2 * share * one["count"]
    return dict(zip(_MOMENTS, (n, one["mean"] + share * step, squares), strict=True))


def deviations(counted: Counted) -> NDArray[np.float64]:
    """Return the standard deviation of every column, 0 where it may be rounding."""
    found = np.sqrt(counted["about_mean"] / np.maximum(counted["count"], 1))
    return np.where(found > _ROUNDING * np.abs(counted["mean"]), found, 0)


def units(step: str, counted: Counted, sparse: bool) -> tuple[Any, NDArray[np.float64]]:
    """Return what "scale" or "standardize" subtracts from each column, and what it divides by."""
    sizes, mean = deviations(counted), counted["mean"]
    away = mean
    if step == "scale":
        sizes = np.where(sizes > 0, sizes, np.abs(mean) / _TENFOLD)
        away = np.sign(mean) * np.maximum(np.abs(mean) - _TENFOLD * sizes, 0)
    # What is smaller still has no inverse.
    return 0 if sparse else away, np.where(sizes >= np.finfo(np.float64).tiny, sizes, 1)


def scale(X: Block, counted: Counted, step: str = "scale") -> Block:
    """Divide every column by its deviation over all rows so far; zeros stay zero.

    In a dense view a mean of more than ten deviations counts as ten: it would move from chunk to
    chunk, as these become known.
    """
    away, sizes = units(step, counted, sp.issparse(X))
    return scale_columns(X if sp.issparse(X) else X - away, 1 / sizes).astype(X.dtype)


def standardize(X: Block, counted: Counted) -> Block:
    """Subtract the mean of every column over all rows so far, and divide by its deviation.

    A value that is missing becomes the mean. Columns of a sparse view keep their mean.
    """
    return scale(fill(X, counted), counted, "standardize")


def fill(X: Block, counted: Counted) -> Block:
    """Put the mean of a column over all rows so far where a value is missing."""
    if sp.issparse(X) or not np.isnan(X.sum()):
        return X
    return np.where(np.isnan(X), counted["mean"], X).astype(X.dtype)


STEPS = {
    "l2": Step(l2, whole_rows=True),
    "log1p": Step(log1p),
    "tfidf": Step(tfidf, rows_with, sums, ("df", "n")),
    "scale": Step(scale, moments, pooled, _MOMENTS),
    "standardize": Step(standardize, moments, pooled, _MOMENTS),
    "fill": Step(fill, moments, pooled, _MOMENTS),
}
# First steps after which nothing is missing.
FILLS = ("fill",), ("standardize",)


def step_of(name: Any) -> Step | None:
    """Return a step by its name, None if there is none."""
    if isinstance(name, str) and hash_bits(name) is not None:
        return Step(lambda X, counted: X)  # rows are hashed when they are read, with their names
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


def is_auto(prepare: Any) -> bool:
    """Tell whether the steps are to be told by the first rows."""
    return bool(_word(prepare) == AUTO)


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


def check_views(prepare: Any, views: Sequence[str]) -> None:
    """Refuse steps of views that there are not, where none comes later."""
    asked = dict.fromkeys(view for view, _ in steps_of("prepare", prepare) if view is not None)
    if strange := [view for view in asked if view not in views]:
        raise ValueError(f"Got prepare for view {listed(strange)}; the views are {listed(views)}.")


# Norms this near to 1 are 1; rows with fewer values that are not zero are words or counts.
_UNIT, _FULL = 1e-3, 0.5
# Deviations are those of most columns, by percentiles; of fewer rows nothing is told.
_MOST, FEWEST = (5, 95), 5
# What it counts for every column, and the rows it has seen.
_BY_COLUMN, _ROWS = ("df", *_MOMENTS), "n"


@dataclass(frozen=True)
class Preparation:
    """The steps that the rows of each view go through, and what they have counted."""

    # Names of the steps of each view, in order.
    steps: tuple[tuple[str, ...], ...]
    # What each of them has counted in the rows so far.
    counted: tuple[tuple[Counted, ...], ...]

    @classmethod
    def of(cls, prepare: Any, views: Sequence[str]) -> "Preparation":
        """Return what the parameter asks for, of views in their order, before any row."""
        pairs = steps_of("prepare", prepare)
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
                # Of a view that a part lacks, it has counted nothing.
                _added(known_step(step), one, another)
                for step, one, another in zip(*of_view, strict=True)
            )
            for of_view in zip(self.steps, self.counted, other.counted, strict=True)
        )
        return replace(self, counted=counted)

    def check_unchanged(self, prepare: Any, views: Sequence[str]) -> None:
        """Refuse to go on with other steps, as the parameter is now, than those so far."""
        if not is_auto(prepare) and not self._is_asked_for(prepare, views):
            was = {view: list(own) for view, own in zip(views, self.steps, strict=True)}
            raise ValueError(
                f"Got prepare={prepare!r}, but the rows so far were prepared otherwise, by view: "
                f"{was}; expected the same for all rows. Set it back, or call fit() to start anew."
            )

    def _is_asked_for(self, prepare: Any, views: Sequence[str]) -> bool:
        """Tell whether a parameter asks for these steps; gaps are filled without being asked."""
        pairs = zip(Preparation.of(prepare, views).steps, self.steps, strict=True)
        return all(own in (asked, ("fill", *asked)) for asked, own in pairs)

    def given_back(self, prepare: Any, views: Sequence[str]) -> "Preparation":
        """Return what rows go through before they are given back: the steps that are asked for.

        Else values stay as they are, but for those that a table lacks.
        """
        if self._is_asked_for(prepare, views):
            return self
        fills = [own[:1] in FILLS for own in self.steps]  # they count the same
        steps = tuple(("fill",) if own else () for own in fills)
        counted = (held[: int(own)] for own, held in zip(fills, self.counted, strict=True))
        return Preparation(steps, tuple(counted))

    def without(self, *steps: str) -> "Preparation":
        """Return the preparation without some steps."""
        kept = [
            [pair for pair in zip(own, held, strict=True) if pair[0] not in steps]
            for own, held in zip(self.steps, self.counted, strict=True)
        ]
        names = tuple(tuple(step for step, _ in own) for own in kept)
        return Preparation(names, tuple(tuple(held for _, held in own) for own in kept))

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
        if self.negative != "allow":
            X = as_views({self.view: X}, negative=self.negative)[self.view]
        with np.errstate(over="ignore"):
            X = X.astype(self.dtype, copy=False)
        X, _ = _taken_through(self.view, X, self.steps, self.counted, counts=False)
        return as_views({self.view: X}, negative="allow")[self.view]

    def fits(self, width: int) -> bool:
        """Tell whether its steps are known, and have counted so many columns."""
        steps = [step_of(step) for step in self.steps]
        shapes = [{name: a.shape for name, a in own.items()} for own in self.counted]
        wanted = [
            {name: (1 if name == _ROWS else width,) for name in step.names} if step else None
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
            own = _added(step, own, step.count(X if has is None else X[np.flatnonzero(has)]))
        try:
            X = step.apply(X, own)
        except ValueError as error:
            raise ValueError(f"View {view!r}: {error}") from error
        held.append(own)
    return X, tuple(held)


def _added(step: Step, one: Counted, other: Counted) -> Counted:
    """Return what a step has counted in two parts, of which one may have counted nothing."""
    return step.add(one, other) if step.add and one and other else one or other


def auto_steps(first: Views, prepare: Any) -> Any:
    """Return the steps of a preparation, with "auto" by what the first rows are.

    Gaps of tables are filled in any case.
    """
    auto = is_auto(prepare)
    if not auto and not first.gaps:
        return prepare
    asked = Preparation.of(prepare, first.names).steps
    steps: dict[str, tuple[str, ...]] = {}
    for view, own in zip(first.names, asked, strict=True):
        X, has = first[view], first.present.get(view)
        if auto and first.table is not None and view in first.gaps and len(first.names) > 1:
            # Beside categories and texts, each column has a unit and a zero of its own.
            own = ("standardize",)
        elif auto:
            rows = X if has is None else X[np.flatnonzero(has)]
            own = _steps_by(rows, view in first.grows, view in first.gaps)
        filled = any(map(hash_bits, own)) or own[:1] in FILLS
        steps[view] = own if filled or view not in first.gaps else ("fill", *own)
    return steps


def _steps_by(X: Block, words: bool, frame: bool) -> tuple[str, ...]:
    """Return the steps that rows need by what they are: unit rows, words or counts, or numbers.

    Words and counts, which are mostly zero, become rows of unit norm, those that are whole numbers
    above 1 after a logarithm. Other columns are scaled if their deviations are unlike, and
    standardized in a frame, where each has a zero of its own too.
    """
    norms = np.sqrt(squared_row_norms(X if sp.issparse(X) else np.nan_to_num(X), np.float64))
    if not words and (np.abs(norms[norms > 0] - 1) <= _UNIT).all():
        return ()
    values = X.data if sp.issparse(X) else X[~np.isnan(X)]
    few = np.count_nonzero(values) < _FULL * X.shape[0] * X.shape[1]
    if words or (few and (values >= 0).all()):
        counts = (values > 1).any() and (values == np.floor(values)).all()
        return ("log1p", "l2") if counts else ("l2",)
    found = deviations(moments(X))
    found = found[found > 0]
    if X.shape[0] < FEWEST or not len(found):
        return ()
    low, high = np.percentile(found, _MOST)
    if high <= _TENFOLD * low:
        return ()
    return ("standardize",) if frame else ("scale",)


def bits_of(prepare: Any, views: Sequence[str]) -> tuple[int | None, ...]:
    """Return by how many bits the features of each view are hashed, None where they are not."""
    found = (hash_bits(own[0]) if own else None for own in Preparation.of(prepare, views).steps)
    return tuple(found)
