"""Correlations of features over a sample of rows."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, column_sums, squared_entries

# Correlations this near to 1 or −1 are that, up to rounding.
PERFECT = 1e-12
# Features that are looked at at once, beside so many others: what is held of a large view.
_AT_ONCE, _BESIDE = 2048, 256
# Products of pairs that meet are written out if they are this share of all pairs at most, and pairs
# looked at at once.
_SELDOM, _PAIRS = 0.1, 2**24


class Correlations:
    """Correlations of the features of some rows, of any two of them that are asked for.

    Constant columns correlate with nothing.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, D)

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [2.0, 4.0, 0.0]])
    >>> Correlations(rows).between(np.array([0]), np.array([1, 2])).round(3)
    array([[1., 0.]])
    """

    def __init__(self, rows: Block) -> None:
        n, self.dtype = rows.shape[0], rows.dtype
        means = column_sums(rows) / n
        variances = column_sums(squared_entries(rows)) / n - means**2
        # Rounding leaves a constant column a variance of about this.
        varied = variances > 1e-12 * np.maximum(means**2, np.finfo(float).tiny)
        deviations = np.sqrt(np.maximum(variances, 0))
        zeros = np.zeros(len(varied))
        self._scales = np.divide(1, deviations * np.sqrt(n), out=zeros, where=varied)
        # In units of the columns, once these have length 1.
        self._means = means * self._scales
        if sp.issparse(rows):
            # Features by rows.
            self._rows = rows.T.tocsr().astype(np.float64)
            self._rows.data *= np.repeat(self._scales, np.diff(self._rows.indptr))
        else:
            self._rows = rows

    def between(self, some: IntArray, others: IntArray) -> Array:
        """Return the correlations of some features with others, up to rounding.

        Returns
        -------
        array of shape (len(some), len(others))
        """
        columns = self._centred(others)
        if some is others:
            # Of columns with themselves BLAS works out one half.
            return columns.T @ columns
        return self._beside(some, columns)

    def strongest(self, some: IntArray, others: IntArray) -> tuple[IntArray, NDArray[np.float64]]:
        """Return with which of the others each feature correlates most, and how much.

        Of those with which it correlates alike, and of those with which it does so perfectly up to
        rounding, the first.

        Parameters
        ----------
        some : int array of shape (m,)
        others : int array
            At least one.

        Returns
        -------
        which : int array of shape (m,)
            Places in `others`.
        correlations : array of shape (m,)

        Examples
        --------
        >>> rows = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 0.6], [2.0, 4.0, 0.1]])
        >>> which, r = Correlations(rows).strongest(np.array([0]), np.array([2, 1]))
        >>> which, r.round(3)
        (array([1]), array([1.]))
        """
        if not self._seldom_meet(some, others):
            return self._strongest_of_all(some, others)
        which, r = np.empty(len(some), np.intp), np.empty(len(some))
        size = max(1, _PAIRS // len(others))
        for start in range(0, len(some), size):
            part = slice(start, start + size)
            which[part], r[part] = self._strongest_of_those_met(some[part], others)
        return which, r

    def _seldom_meet(self, some: IntArray, others: IntArray) -> bool:
        """Tell whether few pairs of features have entries in the same row."""
        if not sp.issparse(self._rows):
            return False
        n = self._rows.shape[1]
        own, their = (np.bincount(self._rows[each].indices, minlength=n) for each in (some, others))
        return float(own @ their) <= _SELDOM * len(some) * len(others)

    def _strongest_of_all(
        self, some: IntArray, others: IntArray
    ) -> tuple[IntArray, NDArray[np.float64]]:
        which, r = np.zeros(len(some), np.intp), np.zeros(len(some))
        best = np.full(len(some), -1.0)
        for beside in range(0, len(others), _BESIDE):
            columns = self._centred(others[beside : beside + _BESIDE])
            for start in range(0, len(some), _AT_ONCE):
                found = self._beside(some[start : start + _AT_ONCE], columns)
                squares = _squares(found)
                largest = squares.argmax(axis=1)
                rows = np.arange(len(found))
                better = np.flatnonzero(squares[rows, largest] > best[start : start + _AT_ONCE])
                those, largest = better + start, largest[better]
                best[those], r[those] = squares[better, largest], found[better, largest]
                which[those] = largest + beside
        return which, r

    def _strongest_of_those_met(
        self, some: IntArray, others: IntArray
    ) -> tuple[IntArray, NDArray[np.float64]]:
        """Look at pairs of features that have entries in the same row, and at one other a feature.

        Two that never meet correlate by minus the product of their means. So of those that a
        feature never meets, the one of the largest mean counts.
        """
        products = (self._rows[some] @ self._rows[others].T).tocsr()
        counts = np.diff(products.indptr)
        own, their = self._means[some] * self._rows.shape[1], self._means[others]
        pairs = products.data - np.repeat(own, counts) * their[products.indices]
        squares, best = _squares(pairs), np.full(len(some), -1.0)
        meets = np.flatnonzero(counts)
        if len(meets):
            best[meets] = np.maximum.reduceat(squares, products.indptr[meets])
        of = np.repeat(np.arange(len(some)), counts)
        largest = np.flatnonzero(squares == best[of])
        # The first of them is written last.
        largest = largest[np.argsort(-products.indices[largest], kind="stable")]
        which, r = np.zeros(len(some), np.intp), np.zeros(len(some))
        which[of[largest]], r[of[largest]] = products.indices[largest], pairs[largest]
        widest = int(np.square(their).argmax())
        apart = -own * their[widest]
        more = _squares(apart)
        wins = (more > best) | ((more == best) & (widest < which))
        has_met = np.zeros(len(some), bool)
        has_met[of[products.indices == widest]] = True
        which[wins], r[wins] = widest, apart[wins]
        # Those that do meet the one of the largest mean, which would win: any other may.
        unclear = np.flatnonzero((wins & has_met) | (np.maximum(best, more) == 1))
        which[unclear], r[unclear] = self._strongest_of_all(some[unclear], others)
        return which, r

    def _beside(self, features: IntArray, columns: Array) -> Array:
        """Return correlations of features with those that are columns."""
        # One of both centred is enough.
        rows = self._rows[features] if sp.issparse(self._rows) else self._centred(features).T
        r: Array = rows @ columns
        return r

    def _centred(self, features: IntArray) -> Array:
        """Return features as columns of mean 0 and length 1."""
        means = self._means[features]
        if not sp.issparse(self._rows):
            centred: Array = self._rows[:, features] * self._scales[features] - means
            return centred
        X = self._rows[features]
        centred = np.full((X.shape[1], len(features)), -means)
        centred[X.indices, np.repeat(np.arange(len(features)), np.diff(X.indptr))] += X.data
        return centred


def _squares(r: Array) -> Array:
    squares = np.square(r)
    squares[squares > 1 - PERFECT] = 1
    return squares
