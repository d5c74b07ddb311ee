"""What is left of a feature's score after better ones that it repeats."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.model.arrays import Array, Block, IntArray, column_sums, significant, squared_entries

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


# Features among which the next ones are looked for.
_POOL = 512


@dataclass(frozen=True)
class Repetition:
    """Scores of the features of a view, and which better feature each repeats most.

    Attributes
    ----------
    own : array of shape (D,)
        Scores of the features by themselves.
    scores : array of shape (D,)
        What is left of them; see `find_repetition`.
    repeated : int array of shape (D,)
        Of the features taken before it, the one that each correlates with most; −1 if it correlates
        with none, if its own score is 0, and if nothing was discounted.
    correlations : array of shape (D,)
        With that feature; 0 where there is none.
    """

    own: Array
    scores: Array
    repeated: IntArray
    correlations: NDArray[np.float64]

    @property
    def left(self) -> NDArray[np.float64]:
        """What part of each feature's own score is left; all of one that has none."""
        return np.divide(self.scores, self.own, out=np.ones(len(self.own)), where=self.own > 0)

    @classmethod
    def none(cls, scores: Array) -> "Repetition":
        """Return scores of which nothing is discounted."""
        n = len(scores)
        return cls(scores, scores, np.full(n, -1, np.intp), np.zeros(n))


def find_repetition(
    scores: Array, rows: Block, strength: float, n_steps: int, rest: bool = True
) -> Repetition:
    """Return scores in which a feature that repeats a better one counts for less, and what repeats.

    Features are taken one after another by score × (1 − r²)^strength, where r is the largest
    correlation with a feature taken before. A feature's new score is what it was worth when taken,
    which never rises from one to the next; features not taken in `n_steps` keep what they are worth
    at the end. So sorting by the new score gives the order of taking.

    With a strength of 0 nothing is discounted, and what repeats what is found all the same.

    Parameters
    ----------
    scores : array of shape (D,)
        Nonnegative scores of the features by themselves.
    rows : array or CSR matrix of shape (n, D)
        Rows on which to correlate features.
    strength : float
        Exponent; 0 leaves the scores as they are.
    n_steps : int
        Features to take.
    rest : bool, default=True
        Whether to find what features that are not taken repeat. Without it their scores are as
        they were when last looked at: behind those that are taken, and no more is known of them.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0], [2.0, 4.0, 1.0]])
    >>> found = find_repetition(np.array([3.0, 2.0, 1.0]), rows, 2.0, n_steps=3)
    >>> found.scores.round(3), found.repeated, found.correlations.round(3)
    (array([3., 0., 1.]), array([-1,  0, -1]), array([0., 1., 0.]))
    """
    worth = np.asarray(scores, dtype=np.float64).copy()
    if rows.shape[0] < 3:
        return Repetition.none(worth)
    taking = _Taking(worth, Correlations(rows), strength)
    taking.take(n_steps)
    if rest:
        taking.look(np.flatnonzero(taking.value >= 0))
    final = np.where(taking.value >= 0, taking.value, taking.final)
    return Repetition(worth, final, taking.repeated, np.clip(taking.r, -1, 1))


class _Taking:
    """Features taken one after another, each the one that is worth most beside those before it.

    What a feature is worth only falls, so what it was worth when last looked at is a bound. The
    features of the largest bounds are a pool: they are looked at, and those that come before all
    outside whatever these are worth are taken by their correlations with each other alone.

    Parameters
    ----------
    worth : array of shape (D,)
    correlations : Correlations
    strength : float
    """

    def __init__(
        self, worth: NDArray[np.float64], correlations: Correlations, strength: float
    ) -> None:
        D = len(worth)
        self._worth, self._correlations, self._strength = worth, correlations, strength
        # What features were worth when last looked at; below 0 if they are taken, or worth nothing.
        self.value, self.final = np.where(worth > 0, worth, -1), worth.copy()
        self.repeated, self.r = np.full(D, -1, np.intp), np.zeros(D)
        self._left, self._taken = np.ones(D), np.empty(0, np.intp)
        # How many were taken when a feature was last looked at.
        self._seen = np.zeros(D, np.intp)

    def take(self, n_steps: int) -> None:
        """Take so many features, if there are."""
        missing = min(n_steps, int(np.count_nonzero(self.value >= 0)))
        while missing > 0:
            pool = _best(self.value, _POOL)
            self.look(pool)
            values, self.value[pool] = self.value[pool], -1
            outside = int(self.value.argmax())
            self.value[pool], bound = values, self.value[outside]
            able = (values > bound) | ((values == bound) & (pool < outside))
            missing -= self._take_of(np.sort(pool[able]), bound, outside, missing)

    def _take_of(self, able: IntArray, bound: float, outside: int, most: int) -> int:
        """Take features while they are worth more than any other may be; return how many."""
        r = self._correlations.between(able, able)
        own = _not_repeated(r)
        value, left, worth = self.value[able], self._left[able], self._worth[able]
        repeated, with_it = self.repeated[able], self.r[able]
        taken: list[int] = []
        while len(taken) < min(most, len(able)):
            i = int(value.argmax())
            if value[i] < bound or (value[i] == bound and able[i] > outside):
                break
            taken.append(i)
            self.final[able[i]], value[i] = value[i], -1
            less = np.flatnonzero((own[i] < left) & (value >= 0))
            left[less], repeated[less], with_it[less] = own[i, less], able[i], r[i, less]
            value[less] = self._left_of(worth[less], own[i, less])
        self.value[able], self._left[able] = value, left
        self.repeated[able], self.r[able] = repeated, with_it
        self._taken = np.append(self._taken, able[taken])
        self._seen[able] = len(self._taken)
        return len(taken)

    def _left_of(self, worth: Array, own: Array) -> NDArray[np.float64]:
        """Return what is left of features; of equal ones, rounding must not choose."""
        return significant(worth * own**self._strength, self._correlations.dtype)

    def look(self, features: IntArray) -> None:
        """Find what features are worth beside all that were taken."""
        seen = self._seen[features]
        for since in np.unique(seen[seen < len(self._taken)]):
            those, taken = features[seen == since], self._taken[since:]
            which, r = self._correlations.strongest(those, taken)
            own = _not_repeated(r)
            less = np.flatnonzero(own < self._left[those])
            those, own = those[less], own[less]
            self._left[those], self.r[those] = own, r[less]
            self.repeated[those] = taken[which[less]]
            self.value[those] = self._left_of(self._worth[those], own)
        self._seen[features] = len(self._taken)


def _not_repeated(r: Array) -> Array:
    """Return 1 − r²; rounding leaves a perfect repetition a little, which a root would magnify."""
    own: Array = 1 - np.square(r)
    own[own < PERFECT] = 0
    return own


def _best(value: Array, n: int) -> IntArray:
    """Return where the n largest values are, those below 0 left out; of equal ones the first."""
    least = np.partition(value, -n)[-n] if n < len(value) else 0.0
    some = np.flatnonzero(value >= max(0.0, least))
    return some[np.argsort(-value[some], kind="stable")[:n]]
