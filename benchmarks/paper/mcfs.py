"""Multi-cluster feature selection: few features that together tell the clusters of a graph."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from omvfs.model.arrays import Array, Block, column_sums
from omvfs.parameters import whole
from paper.graphs import (
    FloatArray,
    GraphSelector,
    degrees,
    in_double,
    smoothness,
    spectrum,
)


@dataclass(eq=False, repr=False, kw_only=True)
class MCFS(GraphSelector):
    """Multi-cluster feature selection (Cai, Zhang, He 2010).

    The eigenvectors y of L y = λ D y with the smallest λ, but the trivial one, unfold the clusters
    of a graph of the rows. Each is regressed on the features under a lasso penalty, by least angle
    regression, until a given number of coefficients is not zero. The score of a feature is the
    largest size of its coefficients over the eigenvectors.

    Of our choice: eigenvectors of unit norm, so that each has the same say; an intercept; of the
    eigenvectors with λ = 0 in a graph of several components, those that set the heaviest component
    against the others, the next against the lighter ones, and so on; rows that are joined with none
    left out. A feature without any coefficient has a score between -1 and 0, the higher the nearer
    it came to having one, and a constant one -2.

    Parameters
    ----------
    Those of `GraphSelector`, and

    n_clusters : int, default=8
        Eigenvectors. The paper takes the number of clusters.
    n_nonzero : int, default=100
        Coefficients of each regression that are not zero, at most. The paper takes the number of
        features to select.
    random_state : int, RandomState instance or None, default=None
        Where the search for eigenvectors starts. It decides nothing but their rounding, unless
        eigenvalues coincide.

    Examples
    --------
    >>> X = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 9.0], [8.0, 5.0, 1.0], [9.0, 5.0, 9.0]])
    >>> chain = np.array([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> MCFS(1, n_nonzero=1, graph=chain).fit(X).ranking_
    array([1, 3, 2])
    """

    n_clusters: int = field(default=8, kw_only=False)
    n_nonzero: int = 100
    random_state: Any = None

    def _check_params(self) -> None:
        super()._check_params()
        whole("n_nonzero", self.n_nonzero, least=1)

    def _score_on(self, W: sp.csr_array, X: Block, rng: np.random.Generator) -> FloatArray:
        degree = degrees(W)
        varies = smoothness(X, W)[2] > 0
        joined = np.flatnonzero(degree > 0)
        Y = spectrum(W, self.n_clusters, rng)[1][joined] / np.sqrt(degree[joined, np.newaxis])
        scores = np.where(varies, -1.0, -2.0)
        if not Y.size or not varies.any():
            return scores
        Y -= Y.mean(axis=0)
        Y /= np.linalg.norm(Y, axis=0)
        columns = _Columns(in_double(X)[joined][:, varies])
        for c in columns.products(Y).T:
            coefficients, left, penalty = lars(c, columns.gram, self.n_nonzero)
            near = np.minimum(np.abs(left) / penalty, 1) - 1 if penalty > 0 else -1.0
            found = np.where(coefficients != 0, np.abs(coefficients), near)
            scores[varies] = np.maximum(scores[varies], found)
        return scores


def lars(
    c: Array, gram: Callable[[FloatArray], Array], n_nonzero: int
) -> tuple[FloatArray, FloatArray, float]:
    """Follow the lasso from no coefficients until as many as wanted are not zero.

    Minimises ‖y − Xw‖² / 2 + penalty ‖w‖₁ for a falling penalty, by least angle regression with the
    lasso's modification. X enters by products only, and is never held as a dense matrix. Columns
    that depend on those already in are passed over.

    Parameters
    ----------
    c : array of shape (d,)
        Xᵀy.
    gram : callable
        Returns XᵀXw of an array w of shape (d,).
    n_nonzero : int
        Coefficients that are not zero, at most.

    Returns
    -------
    coefficients : array of shape (d,)
        Where the next column would enter, or at the end of the path.
    left : array of shape (d,)
        Xᵀ(y − Xw).
    penalty : float
        The penalty there: the size of `left` where coefficients are not zero.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> lars(X.T @ [3.0, 1.0, 0.0], (X.T @ X).__matmul__, 1)
    (array([2., 0.]), array([1., 1.]), 1.0)
    """
    path = _Path(c, gram, min(n_nonzero, len(c)))
    end = 1e-10 * path.penalty
    entering: int | None = int(np.abs(c).argmax())
    # A column enters, leaves or is passed over each time; rounding might have some do so forever.
    for _ in range(20 * path.room + len(c)):
        if path.penalty <= end:
            break
        if entering is not None:
            path.enter(entering)
        full = len(path.columns) == path.room
        entering = path.walk()
        if full and entering is not None:
            break
    return path.coefficients, path.left, path.penalty if path.penalty > end else 0.0


class _Path:
    """Where least angle regression stands."""

    def __init__(self, c: Array, gram: Callable[[FloatArray], Array], room: int) -> None:
        self.left: FloatArray = np.array(c, np.float64)
        self.coefficients = np.zeros(len(c))
        self.penalty = float(np.abs(self.left).max())
        self.columns: list[int] = []  # not zero, in the order of the matrices below
        self.room = room
        self._passed = np.zeros(len(c), bool)  # those in, and those that depend on them
        self._gram = gram
        self._products = np.zeros((room, room))  # of `columns` with each other
        self._factor = np.zeros((room, room))  # Cholesky's, of these products

    def enter(self, j: int) -> None:
        """Let a column in, unless it depends on those that are."""
        m, products = len(self.columns), self._spread([j], 1.0)
        self._passed[j] = True
        across, size = products[self.columns], products[j]
        # scipy before 1.14 does not solve for nothing.
        below = solve_triangular(self._factor[:m, :m], across, lower=True) if m else across
        rest = size - below @ below
        if rest > 1e-9 * size:
            self._products[m, :m] = self._products[:m, m] = across
            self._products[m, m] = size
            self._factor[m, :m], self._factor[m, m] = below, np.sqrt(rest)
            self.columns.append(j)

    def walk(self) -> int | None:
        """Lower the penalty until a column would enter, and return it, or until one has left."""
        m, columns = len(self.columns), self.columns
        factor, signs = self._factor[:m, :m], np.sign(self.left[columns])
        half = solve_triangular(factor, signs, lower=True)
        step = solve_triangular(factor, half, lower=True, trans="T")
        slope = self._spread(columns, step)
        lengths = self._lengths_to_enter(slope)
        entering = int(lengths.argmin())
        length = min(float(lengths[entering]), self.penalty)
        before = self.coefficients[columns]
        inward = np.flatnonzero(before * step < 0)
        to_leave = -before[inward] / step[inward]
        leaves = bool(len(inward)) and float(to_leave.min()) < length
        length = float(to_leave.min()) if leaves else length
        self.coefficients[columns] = before + length * step
        self.left -= length * slope
        self.penalty -= length
        if not leaves:
            return entering
        self._leave(int(inward[to_leave.argmin()]))
        return None

    def _lengths_to_enter(self, slope: FloatArray) -> FloatArray:
        """Return how far to go until each column that is not in is as correlated as those in."""
        lengths = np.full(len(slope), np.inf)
        for sign in (1, -1):
            approach = 1 - sign * slope
            # A column that just left is as correlated still, but falls behind: no approach.
            meets = ~self._passed & (approach > 1e-12)
            distance = (self.penalty - sign * self.left[meets]) / approach[meets]
            lengths[meets] = np.minimum(lengths[meets], np.maximum(distance, 0))
        return lengths

    def _spread(self, columns: list[int], values: Any) -> FloatArray:
        """Return XᵀXw of the w that has these values in these columns."""
        w = np.zeros(len(self.left))
        w[columns] = values
        return np.asarray(self._gram(w))

    def _leave(self, place: int) -> None:
        self.coefficients[self.columns.pop(place)] = 0
        m = len(self.columns)
        kept = np.delete(np.arange(m + 1), place)
        self._products[:m, :m] = self._products[np.ix_(kept, kept)]
        self._factor[:m, :m] = np.linalg.cholesky(self._products[:m, :m])
        # What depended on it may enter now.
        self._passed[:] = False
        self._passed[self.columns] = True


class _Columns:
    """The columns of X less their means, as far as products know them; sparse X stays sparse."""

    def __init__(self, X: Block) -> None:
        self._n = X.shape[0]
        mean = column_sums(X) / self._n
        if sp.issparse(X):
            self._rows = X.T.tocsr()
            # A column without a zero can be centred as it is. The others vary so much by their
            # zeros that their means may as well be taken off the products.
            counts = np.diff(self._rows.indptr)
            full = counts == self._n
            self._rows.data -= np.repeat(np.where(full, mean, 0), counts)
            self._mean = np.where(full, 0, mean)
        else:
            self._rows = (X - mean).T
            self._mean = np.zeros_like(mean)

    def products(self, Y: FloatArray) -> FloatArray:
        """Return the products of all columns with those of Y, which are centred."""
        return np.asarray(self._rows @ Y)

    def gram(self, w: FloatArray) -> FloatArray:
        """Return the products of all columns with their combination by w."""
        combined = self._rows.T @ w
        return np.asarray(self._rows @ combined - self._n * (self._mean @ w) * self._mean)
