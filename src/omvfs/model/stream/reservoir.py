"""A uniform sample of the rows seen so far, of bounded size.

The window only knows the last chunks. What must not depend on the luck of the first chunk, or needs
rows side by side, is worked out on this sample instead: it is clustered anew as the stream grows,
and features are compared with each other on it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray
from omvfs.model.columns import place_columns
from omvfs.model.indicator import Indicator
from omvfs.model.presence import Presence, below, take, tidy
from omvfs.model.stream.offset import raise_rows

T = TypeVar("T")


@dataclass(frozen=True)
class Rows:
    """Rows of one view, dense or sparse.

    To exchange a few rows of many costs no more than these if each is held by itself. Rows that are
    read from a file, or taken from others to be looked at, stay one block until one is exchanged.

    Attributes
    ----------
    width : int
        Number of features.
    held : tuple of list of array, or Block
        By row, its entries and where they are: all of a dense one but for zeros at its end, and
        None; the stored ones of a sparse one, and their columns. Or all rows in one block.

    Examples
    --------
    >>> rows = Rows.of(sp.csr_array([[0.0, 1.0], [2.0, 0.0]]))
    >>> rows.put([1, 2], np.array([[3.0, 4.0], [5.0, 6.0]])).block().toarray()
    array([[0., 1.],
           [3., 4.],
           [5., 6.]])
    >>> rows.take(np.array([1])).block().toarray()
    array([[2., 0.]])
    """

    width: int
    held: tuple[list[Array], list[IntArray] | None] | Block

    @classmethod
    def of(cls, X: Block, index: Iterable[int] | None = None) -> "Rows":
        """Return copies of some rows of a block, by default of all."""
        if index is None:
            return cls(X.shape[1], sp.csr_array(X, copy=True) if sp.issparse(X) else X.copy())
        return cls(X.shape[1], _one_by_one(X, index))

    def __len__(self) -> int:
        return len(self.held[0]) if isinstance(self.held, tuple) else int(self.held.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether rows are sparse."""
        if isinstance(self.held, tuple):
            return self.held[1] is not None
        return bool(sp.issparse(self.held))

    def put(self, places: Iterable[int], X: Block, index: Iterable[int] | None = None) -> "Rows":
        """Return the rows with some of a block in certain places, the next free ones included.

        Of two rows for one place the later stays. A view is sparse if any of its rows is.
        """
        index = range(X.shape[0]) if index is None else index
        if self.is_sparse != sp.issparse(X):
            rows = X[list(index)]
            return self._sparse().put(places, sp.csr_array(rows))
        (values, columns), (new, where) = self._by_row(), _one_by_one(X, index)
        order = list(places)
        put = _with(values, order, new)
        if columns is None or where is None:
            return Rows(self.width, (put, None))
        return Rows(self.width, (put, _with(columns, order, where)))

    def take(self, index: IntArray) -> "Rows":
        """Return some of the rows."""
        if not isinstance(self.held, tuple):
            return Rows(self.width, self.held[index])
        values, columns = self.held
        chosen = index.tolist()
        own = None if columns is None else [columns[i] for i in chosen]
        return Rows(self.width, ([values[i] for i in chosen], own))

    def below(self, other: "Rows") -> "Rows":
        """Return these rows and below them others of the same width; sparse if any of them is."""
        if self.is_sparse != other.is_sparse:
            return self._sparse().below(other._sparse())
        (values, columns), (more, where) = self._by_row(), other._by_row()
        both = None if columns is None or where is None else [*columns, *where]
        return Rows(self.width, ([*values, *more], both))

    def grow(self, width: int) -> "Rows":
        """Return the rows with empty columns behind those that are there."""
        if width < self.width:
            raise ValueError(f"Got {width:,} columns; expected at least the {self.width:,} so far.")
        if isinstance(self.held, tuple):
            return Rows(width, self.held)
        if self.is_sparse:
            parts = self.held.data, self.held.indices, self.held.indptr
            return Rows(width, sp.csr_array(parts, shape=(len(self), width)))
        return Rows(width, np.pad(self.held, ((0, 0), (0, width - self.width))))

    def place(self, places: IntArray, width: int) -> "Rows":
        """Return the rows with their columns in certain places among others, which are empty.

        Parameters
        ----------
        places : int array of shape (width,)
            Negative for a column that is left out.
        width : int
            Columns there are then.

        Examples
        --------
        >>> rows = Rows.of(np.array([[1.0, 2.0, 3.0]]))
        >>> rows.place(np.array([2, -1, 0]), 4).block()
        array([[3., 0., 1., 0.]])
        """
        if not len(self):
            return Rows(width, ([], [] if self.is_sparse else None))
        return Rows.of(place_columns(self.block(), places, width))

    def block(self) -> Block:
        """Return the rows as an array or a CSR matrix, which is not to be written to."""
        if not isinstance(self.held, tuple):
            return self.held
        values, columns = self.held
        n = len(values)
        if columns is None:
            if any(len(row) < self.width for row in values):
                whole = np.zeros((n, self.width), values[0].dtype)
                for into, row in zip(whole, values, strict=True):
                    into[: len(row)] = row
                return whole
            return np.array(values).reshape(n, self.width)
        if not n:
            return sp.csr_array((0, self.width))
        ends = np.zeros(n + 1, np.int64)
        np.cumsum([len(each) for each in values], out=ends[1:])
        entries = np.concatenate(values), np.concatenate(columns)
        return sp.csr_array((*entries, ends), shape=(n, self.width))

    def _by_row(self) -> tuple[list[Array], list[IntArray] | None]:
        if isinstance(self.held, tuple):
            return self.held
        return _one_by_one(self.held, range(len(self)))

    def _sparse(self) -> "Rows":
        return self if self.is_sparse else Rows.of(sp.csr_array(self.block()))


def _one_by_one(X: Block, index: Iterable[int]) -> tuple[list[Array], list[IntArray] | None]:
    """Return copies of some rows of a block, each by itself: entries, and where they are."""
    if not sp.issparse(X):
        return [X[i].copy() for i in index], None
    ends = X.indptr.tolist()
    spans = [(ends[i], ends[i + 1]) for i in index]
    # Copies: a slice would keep the whole block alive.
    values = [X.data[start:stop].copy() for start, stop in spans]
    return values, [X.indices[start:stop].copy() for start, stop in spans]


def _with(held: list[T], places: Iterable[int], come: list[T]) -> list[T]:
    """Return a list with others in some places, or behind it."""
    held = list(held)
    for place, row in zip(places, come, strict=True):
        held[place : place + 1] = [row]
    return held


# Rows of which forgetting has left less have no say.
_FADED = 0.05
# Above the keys of all others.
_BEHIND = 1e9


@dataclass(frozen=True)
class Reservoir:
    """Rows kept from the stream, and how each was counted in the statistics.

    Attributes
    ----------
    capacity : int
        Most rows kept.
    counted : Indicator
        Cluster and weight under which each row stands in the statistics.
    shares : array of shape (n,)
        What forgetting has left of each row's part in them.
    rows : tuple of Rows
        The rows, per view; empty before the first chunk.
    keys : array of shape (n,), or None
        By which rows are drawn while reservoirs are merged, see `keyed`; of all rows of the stream
        the smallest are here. Gone as soon as that is not so.
    present : array of shape (n, n_views), or None
        Which rows have which views; None if all have all.
    """

    capacity: int
    counted: Indicator
    shares: Array
    rows: tuple[Rows, ...] = field(default=(), compare=False)
    keys: NDArray[np.float64] | None = None
    present: Presence = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The rows, per view, put together; empty before the first chunk."""
        return tuple(rows.block() for rows in self.rows)

    @classmethod
    def of(
        cls,
        capacity: int,
        counted: Indicator,
        shares: Array,
        blocks: Sequence[Block],
        present: Presence = None,
    ) -> "Reservoir":
        """Return a reservoir of the rows of blocks."""
        rows = tuple(Rows.of(X_v) for X_v in blocks)
        return cls(capacity, counted, shares, rows, present=present)

    @classmethod
    def empty(cls, capacity: int, n_clusters: int, dtype: np.dtype[Any]) -> "Reservoir":
        """Return a reservoir of no rows."""
        nothing = Indicator(np.zeros(0, np.intp), np.zeros(0, dtype), n_clusters)
        return cls(capacity, nothing, np.zeros(0, dtype))

    def __len__(self) -> int:
        return len(self.shares)

    @property
    def live(self) -> IntArray:
        """Which rows forgetting has left enough of."""
        return np.flatnonzero(self.shares > _FADED)

    def update(
        self,
        X: Sequence[Block],
        U: Indicator,
        n_before: int,
        horizon: float,
        rng: np.random.Generator,
        present: Presence = None,
    ) -> "Reservoir":
        """Return the reservoir after a chunk, every row of the stream being in it equally likely.

        With forgetting, recent rows are the likelier, as they are in the statistics.

        Parameters
        ----------
        X : sequence of array or CSR matrix
            Rows of the chunk, per view.
        U : Indicator
            How they were counted.
        n_before : int
            Rows of the stream before the chunk.
        horizon : float
            Rows of the stream, the chunk included, as far as they are not forgotten.
        rng : Generator
            Draws which rows go and come.
        present : array of shape (n, n_views), optional
            Which rows of the chunk have which views; by default all.

        Returns
        -------
        Reservoir
        """
        n = len(U.labels)
        places = _places(n, n_before, horizon, self.capacity, rng)
        taken = np.flatnonzero(places < self.capacity)
        if not len(taken):
            return self if self.keys is None else replace(self, keys=None)
        places, size = places[taken], min(self.capacity, n_before + n)
        labels, weights, shares = (
            np.concatenate([each, np.zeros(size - len(self), each.dtype)])
            for each in (self.counted.labels, self.counted.weights, self.shares)
        )
        # In the order of the stream, so that of two rows for one place the later stays.
        labels[places], weights[places], shares[places] = U.labels[taken], U.weights[taken], 1
        index, order = taken.tolist(), places.tolist()
        before = self.rows or tuple(Rows.of(X_v[:0]) for X_v in X)
        rows = tuple(held.put(order, X_v, index) for held, X_v in zip(before, X, strict=True))
        if present is not None or self.present is not None:
            held = below([(self.present, len(self)), (None, size - len(self))], len(X))
            held = np.ones((size, len(X)), bool) if held is None else held
            held[places] = True if present is None else present[taken]
            present = tidy(held)
        counted = Indicator(labels, weights, U.n_clusters)
        return Reservoir(self.capacity, counted, shares, rows, present=present)

    def decay(self, rho: float) -> "Reservoir":
        """Return the reservoir with its rows faded by ρ."""
        return self if rho == 1 else replace(self, shares=self.shares * rho, keys=None)

    def take(self, rows: IntArray) -> "Reservoir":
        """Return the reservoir of some of its rows."""
        taken = tuple(held.take(rows) for held in self.rows)
        return Reservoir(
            self.capacity,
            self.counted.take(rows),
            self.shares[rows],
            taken,
            present=take(self.present, rows),
        )

    def recount(self, rows: IntArray, U: Indicator) -> "Reservoir":
        """Return the reservoir with some of its rows counted anew.

        If in another number of clusters, then all of them but those that are forgotten.
        """
        counted = self.relabel(U.n_clusters).counted
        labels, weights = counted.labels.copy(), counted.weights.copy()
        labels[rows], weights[rows] = U.labels, U.weights
        return replace(self, counted=Indicator(labels, weights, U.n_clusters))

    def relabel(self, n_clusters: int) -> "Reservoir":
        """Return the reservoir with another number of clusters, its rows yet to be counted.

        Of rows that are forgotten nobody asks, so they may be in any.
        """
        counted = self.counted
        if n_clusters == counted.n_clusters:
            return self
        labels = np.minimum(counted.labels, n_clusters - 1)
        return replace(self, counted=Indicator(labels, counted.weights, n_clusters))

    def keyed(self, n_rows: float, rng: np.random.Generator) -> "Reservoir":
        """Return the reservoir with a random key for every row, ready to be merged.

        Had every row of the stream a key of its own, drawn from one distribution, the rows of the
        smallest keys would be a uniform sample. The keys of a sample of m of n rows are drawn as
        the m smallest of n would be; if they stand for fewer than m, for each a part of a row.
        Rows that forgetting has left too little of come behind all others.

        Parameters
        ----------
        n_rows : float
            Rows of the stream, as far as they are not forgotten, that these stand for.
        rng : Generator
            One of its own for each part of the stream: parts that are drawn alike are not merged.
            If it depends on the part alone, merging depends on nothing else.
        """
        live = self.live
        m = len(live)
        # Exponential keys: the gap above the i-th smallest is that of the n − i that are left.
        left = max(n_rows, m) - np.arange(m)
        drawn = np.cumsum(rng.standard_exponential(m) / left) * max(1.0, m / max(n_rows, _FADED))
        keys = _BEHIND * (1 + rng.random(len(self)))
        keys[live] = rng.permutation(drawn)
        return replace(self, keys=keys)

    def merge(self, other: "Reservoir") -> "Reservoir":
        """Return a uniform sample of the rows of two streams, in proportion to their lengths.

        The same rows in the same order, whatever is merged first.

        Parameters
        ----------
        other : Reservoir
            Of the same capacity and views; both `keyed`. Its clusters may be others, and more or
            fewer: the rows are yet to be counted in common ones.

        Examples
        --------
        >>> def part(values, n_rows, seed):
        ...     U = Indicator(np.zeros(len(values), np.intp), np.ones(len(values)), 1)
        ...     X = np.array(values, float)[:, np.newaxis]
        ...     held = Reservoir.of(3, U, np.ones(len(values)), [X])
        ...     return held.keyed(n_rows, np.random.default_rng(seed))
        >>> a, b = part([1, 2, 3], 300, 0), part([7, 8], 2, 1)
        >>> a.merge(b).blocks[0].ravel().tolist() == b.merge(a).blocks[0].ravel().tolist()
        True
        """
        if self.keys is None or other.keys is None:
            raise ValueError("Reservoirs are merged by their keys; got one without. Use keyed().")
        if self._form != other._form and len(self) and len(other):
            raise ValueError(
                f"Got reservoirs of capacity and widths {self._form} and {other._form}; expected "
                "the same."
            )
        if np.intersect1d(self.keys, other.keys).size:
            raise ValueError("Got reservoirs with keys of one generator; expected one for each.")
        parts = [each for each in (self, other) if len(each)]
        if len(parts) < 2:
            return self._by_keys() if len(self) else other._by_keys()
        both = Reservoir(
            self.capacity,
            Indicator(
                np.concatenate([each.counted.labels for each in parts]),
                np.concatenate([each.counted.weights for each in parts]),
                max(each.counted.n_clusters for each in parts),
            ),
            np.concatenate([each.shares for each in parts]),
            tuple(a.below(b) for a, b in zip(self.rows, other.rows, strict=True)),
            np.concatenate([self.keys, other.keys]),
            below([(each.present, len(each)) for each in parts], len(self.rows)),
        )
        return both._by_keys()

    def _by_keys(self) -> "Reservoir":
        """Return the rows of the smallest keys, as many as there is room for, in their order."""
        assert self.keys is not None
        first = np.argsort(self.keys, kind="stable")[: self.capacity]
        return replace(self.take(first), keys=self.keys[first])

    @property
    def _form(self) -> tuple[int, ...]:
        return self.capacity, *(rows.width for rows in self.rows)

    def grow(self, widths: Sequence[int]) -> "Reservoir":
        """Return the reservoir with columns that no row had so far behind those that are there."""
        if not self.rows:
            return self
        return replace(
            self, rows=tuple(held.grow(D) for held, D in zip(self.rows, widths, strict=True))
        )

    def place(self, places: Sequence[IntArray], widths: Sequence[int]) -> "Reservoir":
        """Return the reservoir with the columns of its rows in certain places, negative for none.

        Parameters
        ----------
        places : sequence of int array of shape (D_v,)
        widths : sequence of int
            Columns of each view then.
        """
        if not self.rows:
            return self
        parts = zip(self.rows, places, widths, strict=True)
        return replace(self, rows=tuple(held.place(own, D) for held, own, D in parts))

    def shift(self, delta: Sequence[NDArray[np.float64]]) -> "Reservoir":
        """Return the reservoir with the columns of its rows raised."""
        if not self.rows:
            return self
        raised = raise_rows(self.blocks, delta, self.present)
        return replace(self, rows=tuple(Rows.of(X_v) for X_v in raised))


def _places(
    n: int, n_before: int, horizon: float, capacity: int, rng: np.random.Generator
) -> IntArray:
    """Return the place each row goes to; places beyond the capacity mean that it is not kept.

    Row number t of the stream (from 0) goes to its own place while there is room, then to a random
    one of t + 1 places, or of as many as there are rows not forgotten: reservoir sampling.
    """
    number = n_before + np.arange(n)
    places = rng.integers(0, np.minimum(number, int(horizon)) + 1)
    return np.where(number < capacity, number, places)
