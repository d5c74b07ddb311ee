"""The sufficient statistics of a stream: all that its rows leave in sums, as one value.

Whatever is known of rows that are gone is a sum over rows, so that what two streams leave can be
added, what is old can fade, and what one chunk touches can be taken out and put back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import (
    Array,
    Block,
    IntArray,
    sums_by_label,
)
from omvfs.model.columns import Columns, put_rows
from omvfs.model.indicator import Indicator, transposed_product
from omvfs.model.presence import Presence, who_has
from omvfs.model.view_statistics import BY_COLUMN, ViewStatistics

# All that add up.
_ADDITIVE = "masses", "weight_sums", *BY_COLUMN, "decayed_n_rows", "energy", "filled_rows"


@dataclass(frozen=True)
class Statistics:
    """What the rows of a stream leave in sums.

    No operation but `put` changes an array. Where a sum is None it is left out of all of them, and
    stands for nothing beside one that is there.

    Attributes
    ----------
    views : tuple of ViewStatistics
    n_rows : int
        Rows seen; they do not fade.
    decayed_n_rows : float
        Rows, as far as they have not faded.

    Examples
    --------
    >>> U = Indicator(np.array([0, 1]), np.array([1.0, 2.0]), 2)
    >>> some = Statistics.empty([3], 2, np.dtype(float)).placed([np.eye(2, 3)], U)
    >>> both = some + some.decay(0.5)
    >>> both.views[0].B
    array([[1.5, 0. ],
           [0. , 3. ],
           [0. , 0. ]])
    >>> both.masses
    array([1.5, 6. ])
    """

    views: tuple[ViewStatistics, ...]
    n_rows: int = 0
    decayed_n_rows: float = 0.0

    @classmethod
    def empty(
        cls,
        widths: Sequence[int],
        n_clusters: int,
        dtype: np.dtype[Any],
        *,
        counts_columns: bool = False,
        diagonal: bool = True,
    ) -> "Statistics":
        """Return what no rows leave.

        Parameters
        ----------
        widths : sequence of int
            D_v of each view.
        n_clusters : int
        dtype : dtype
            Of B; all else is in double precision.
        counts_columns : bool
            Whether sums and squares of columns are asked for.
        diagonal : bool
            Whether the masses are those of an `Indicator`.
        """
        K = n_clusters
        shape = (K,) if diagonal else (K, K)
        return cls(
            tuple(
                ViewStatistics(
                    np.zeros(shape),
                    np.zeros(K),
                    np.zeros((D, K), dtype),
                    *((np.zeros(D), np.zeros(D)) if counts_columns else (None, None)),
                    n_features=D,
                )
                for D in widths
            )
        )

    @classmethod
    def of_clusters(
        cls,
        X: Sequence[Block],
        U: Indicator,
        keep: Array | None = None,
        present: Presence = None,
    ) -> "Statistics":
        """Return what rows leave in their clusters, neither they nor their columns counted.

        Parameters
        ----------
        X : sequence of array or CSR matrix of shape (n, D_v)
        U : Indicator
        keep : array of shape (n,), optional
            What forgetting has left of each row.
        present : array of shape (n, n_views), optional
            Which rows have which views; by default all.
        """
        masses, left = U.masses, U
        if keep is not None:
            masses = sums_by_label(U.labels, np.square(U.weights) * keep, U.n_clusters)
            left = Indicator(U.labels, U.weights * keep, U.n_clusters)
        of_views, sums = [masses] * len(X), [left.sums] * len(X)
        for v in range(len(X)):
            if (rows := who_has(present, v)) is not None:
                own = left.take(rows)
                squares = own.weights * U.weights[rows]
                of_views[v] = sums_by_label(own.labels, squares, own.n_clusters)
                sums[v] = own.sums
        return cls.of_products(of_views, sums, [transposed_product(X_v, left) for X_v in X])

    @classmethod
    def of_products(
        cls,
        masses: Sequence[NDArray[Any]],
        weight_sums: Sequence[NDArray[Any]],
        B: Sequence[Array],
    ) -> "Statistics":
        """Return UᵀU, the sums of U, and XᵀU of each view as statistics of rows not counted."""
        parts = zip(masses, weight_sums, B, strict=True)
        return cls(tuple(ViewStatistics(A, s, B_v, n_features=len(B_v)) for A, s, B_v in parts))

    @property
    def masses(self) -> NDArray[np.float64]:
        """Masses of the clusters: of each the largest, where rows lack views; else all are alike.

        Of clusters what matters is where they point; so this is as good as the masses of all rows,
        which nobody counts.
        """
        first, *others = (view.masses for view in self.views)
        return np.maximum.reduce([first, *others]) if others else first

    def completion(self) -> NDArray[np.float64] | None:
        """Return by what B of each view is to be multiplied, cluster by cluster; None if by 1.

        Then it is what it would be if rows that lack a view had, in it, what their cluster has:
        B + (A − A_v) B / A_v, A the common masses. So the lengths of a cluster's direction in
        views that few rows have and in others that all have can be compared.
        """
        own = [view.masses for view in self.views]
        if all(np.array_equal(own[0], each) for each in own[1:]):
            return None
        A, A_v = self.masses, np.stack(own)
        return np.divide(A, A_v, out=np.zeros_like(A_v), where=A_v > 0)

    @property
    def B(self) -> list[Array]:
        """Σ XᵀU of each view."""
        return [view.B for view in self.views]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of B."""
        return self.views[0].B.dtype

    def __add__(self, other: "Statistics") -> "Statistics":
        for one, another in zip(self.views, other.views, strict=True):
            one.check_fits(another)
        return replace(
            self._paired(other, _added, _ADDITIVE),
            n_rows=self.n_rows + other.n_rows,
            decayed_n_rows=self.decayed_n_rows + other.decayed_n_rows,
        )

    def without(self, other: "Statistics") -> "Statistics":
        """Return the sums over clusters without those of some rows; what is left is not negative.

        Columns stay counted, and so do the rows.
        """
        return self._paired(other, _less, ("masses", "weight_sums", "B"))

    def decay(self, rho: float) -> "Statistics":
        """Return the statistics with all rows so far faded by ρ."""
        if rho == 1:
            return self
        faded = self._each(lambda a: _of_dtype(rho * a, a), _ADDITIVE)
        # What fades may fade away.
        views = tuple(view.recounted() for view in faded.views)
        return replace(faded, views=views, decayed_n_rows=rho * self.decayed_n_rows)

    def relabel(self, moves: Array) -> "Statistics":
        """Return the statistics with the clusters moved.

        Parameters
        ----------
        moves : array of shape (K, K')
            What share of each cluster goes to which, of as many or another number; rows sum to 1.
        """
        moved = self._each(lambda a: a @ moves.astype(a.dtype, copy=False), ("weight_sums", "B"))
        return moved._each(lambda a: a @ moves if a.ndim == 1 else moves.T @ a @ moves, ("masses",))

    def cleared(self) -> "Statistics":
        """Return the statistics with columns and rows counted, and nothing in any cluster."""
        return self._each(np.zeros_like, ("masses", "weight_sums", "B"))

    def without_clusters(self) -> "Statistics":
        """Return the statistics with columns and rows counted, and no clusters at all."""
        none = np.zeros(0)
        return self._by_view(
            lambda view, D: replace(
                view, masses=none, weight_sums=none, B=np.zeros((D, 0), self.dtype)
            ),
            [len(view.B) for view in self.views],
        )

    def on(self, columns: Sequence[Columns]) -> "Statistics":
        """Return a copy of what is known on some columns of each view."""
        return self._by_view(ViewStatistics.on, columns)

    def put(self, columns: Sequence[Columns], part: "Statistics") -> None:
        """Put what is known on some columns back, into the arrays of these statistics.

        All that has no columns is left alone, see `sharing`.
        """
        for view, c, own in zip(self.views, columns, part.views, strict=True):
            for name in BY_COLUMN:
                if (whole := getattr(view, name)) is not None:
                    put_rows(whole, c, getattr(own, name))

    def sharing(self, part: "Statistics") -> "Statistics":
        """Return masses, weight sums and counts of a part, with the very arrays by column of these.

        After ``put`` of the part it is the whole of which the part is a part.
        """
        return replace(
            part,
            views=tuple(
                replace(own, **{name: getattr(view, name) for name in BY_COLUMN})
                for view, own in zip(self.views, part.views, strict=True)
            ),
        )

    def grow(self, widths: Sequence[int]) -> "Statistics":
        """Return the statistics with columns that no row had so far behind those that are there.

        Arrays by column may be shared with these: what is put into the new columns and is not to
        stay must be taken back, as `Update.rollback` does.
        """
        return self._by_view(ViewStatistics.grow, widths)

    def place(self, places: Sequence[IntArray], widths: Sequence[int]) -> "Statistics":
        """Return the statistics with their columns in certain places among others, empty so far.

        Parameters
        ----------
        places : sequence of int array of shape (D_v,)
        widths : sequence of int
            Columns of each view then.
        """
        return self._by_view(ViewStatistics.place, list(zip(places, widths, strict=True)))

    def shift(self, delta: Sequence[NDArray[np.float64]]) -> "Statistics":
        """Return what the rows would have left, under the same U, with their columns raised.

        Exact, as all are sums over rows: Σ (x + δ) u = B + δ Σ u. Columns must be counted.

        Parameters
        ----------
        delta : sequence of array of shape (D_v,)
        """
        return self._by_view(ViewStatistics.shift, delta)

    def copy(self) -> "Statistics":
        """Return statistics that share no array with these."""
        return self._each(np.copy, ("masses", "weight_sums", *BY_COLUMN))

    def freeze(self) -> None:
        """Let no one write into the arrays by column any more, as others hold them too."""
        for view in self.views:
            for name in BY_COLUMN:
                if (a := getattr(view, name)) is not None:
                    a.flags.writeable = False

    def writable(self) -> "Statistics":
        """Return these statistics, or copies where `put` could not write: frozen, or mapped."""
        held = [getattr(view, name) for view in self.views for name in BY_COLUMN]
        return self if all(a is None or a.flags.writeable for a in held) else self.copy()

    def counted(self, X: Sequence[Block], present: Presence = None) -> "Statistics":
        """Return the statistics with rows and, if asked for, their columns counted.

        Parameters
        ----------
        X : sequence of array or CSR matrix of shape (n, D_v)
        present : array of shape (n, n_views), optional
            Which rows have which views; by default all.
        """
        n = X[0].shape[0]
        own = [n] * len(X) if present is None else present.sum(axis=0).tolist()
        return replace(
            self._by_view(ViewStatistics.counted, list(zip(X, own, strict=True))),
            n_rows=self.n_rows + n,
            decayed_n_rows=self.decayed_n_rows + n,
        )

    def placed(
        self,
        X: Sequence[Block],
        U: Indicator,
        keep: Array | None = None,
        present: Presence = None,
    ) -> "Statistics":
        """Return the statistics with rows, counted before or not, added to their clusters."""
        return self + Statistics.of_clusters(X, U, keep, present)

    def _each(self, work: Callable[[Any], Any], names: Sequence[str]) -> "Statistics":
        return replace(self, views=tuple(view.with_each(work, names) for view in self.views))

    def _by_view(self, work: Callable[..., ViewStatistics], given: Sequence[Any]) -> "Statistics":
        pairs = zip(self.views, given, strict=True)
        return replace(self, views=tuple(work(view, own) for view, own in pairs))

    def _paired(
        self, other: "Statistics", work: Callable[[Any, Any], Any], names: Sequence[str]
    ) -> "Statistics":
        def paired(view: ViewStatistics, own: ViewStatistics) -> ViewStatistics:
            made = {n: work(getattr(view, n), getattr(own, n)) for n in names}
            both = replace(view, **made)
            return both if own.squares is None else both.recounted()

        return self._by_view(paired, other.views)


def _added(a: Any, b: Any) -> Any:
    return a if b is None else b if a is None else a + b


def _less(a: Any, b: Any) -> Any:
    left = a - b
    return np.maximum(left, 0, out=left)


def _of_dtype(a: Any, like: Any) -> Any:
    return a.astype(like.dtype, copy=False) if isinstance(like, np.ndarray) else a
