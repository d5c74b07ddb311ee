"""How far features agree on which rows are alike, against chance; and whether they do at all."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.model.arrays import (
    Block,
    IntArray,
    column_sums,
    dense,
    significant,
    squared_entries,
    unit_rows,
)

FloatArray = NDArray[np.float64]
# Rows that are compared, each with each, at most.
_MOST_ROWS = 1000
# With fewer, nothing is left of a likeness when means are taken from it.
_FEWEST_ROWS = 4
# How often the features of one view alone are halved.
_SPLITS = 2
# Of a squared norm of 1, what rounding may leave.
_NOTHING = 1e-9
# Rows by which a view is tested for structure, and if they do not tell, at most; and columns of
# which there are too few to take a direction from.
_TESTED_ROWS, _FEW_COLUMNS = (500, 2000), 4
# Standard deviations beyond which a correlation is no chance: the likeness of rows by a few columns
# has long tails. Noise of five kinds reached 7, real views began at 14 (docs/method.md).
EVIDENCE = 8.0


def concordance(
    X: Sequence[Block], chosen: Sequence[IntArray], present: NDArray[np.bool_] | None = None
) -> float:
    """Return how far rows alike by chosen features of a view are alike by all of the others.

    Likeness of rows is what `likeness` makes of it, and the answer the correlation of two of them:
    by the chosen features of a view, and by all features of the other views; mean over the views.
    It is an estimate without bias of what is 0 if the views have nothing to do with each other
    (the bias-corrected correlation of distances of Székely and Rizzo, also known as the unbiased
    kernel alignment). So neither many features nor many clusters are better by themselves.

    One view alone is divided into two, each with half of the features, some times over. Of more
    than 1,000 rows, so many are drawn; `present` tells which rows have which views, by default all,
    and rows are compared that have a view and another. It is 1 at most; 0 of fewer than four rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kinds = np.eye(3)[rng.integers(0, 3, 200)]
    >>> X = [np.hstack([kinds, np.ones((200, 3))]) + rng.random((200, 6)) for _ in range(2)]
    >>> good, poor = np.array([0, 1, 2]), np.array([3, 4, 5])
    >>> round(concordance(X, [good, good]), 1), round(concordance(X, [poor, poor]), 1)
    (0.7, 0.0)
    """
    n = X[0].shape[0]
    if n < _FEWEST_ROWS:
        return 0.0
    if n > _MOST_ROWS:
        drawn = np.sort(np.random.default_rng(0).permutation(n)[:_MOST_ROWS])
        X, present = [X_v[drawn] for X_v in X], None if present is None else present[drawn]
    if len(X) > 1:
        if present is None or present.all():
            return _across(X, chosen)
        return _across_some(X, chosen, present)
    found = []
    for two, halves in _halved(X[0]):
        of_each = [np.flatnonzero(np.isin(half, chosen[0])) for half in halves]
        found.append(_across(two, of_each))
    return float(np.mean(found))


def structured(X: Sequence[Block], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which views tell anything of the rows, and do not hold noise.

    One does if a random half of its features and the other half agree on which rows are alike, or
    if it agrees with another view: by `likeness_correlation`, which has a mean of 0 and a standard
    deviation of √(2 / n(n − 3)) where they have nothing to do with each other. All do where nothing
    is `testable`; beside others, a view of too few rows does not.

    Parameters
    ----------
    X : sequence of array or CSR matrix of shape (n, D_v)
    present : bool array of shape (n, n_views)
        Which rows have which views.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kinds = np.eye(3)[rng.integers(0, 3, 200)]
    >>> X = [np.hstack([kinds, kinds]) + rng.random((200, 6)), rng.random((200, 6))]
    >>> structured(X, np.ones((200, 2), bool)).tolist()
    [True, False]
    """
    found = np.zeros(len(X), bool)
    if not testable(X, present):
        return ~found
    for n in _TESTED_ROWS:
        for v in np.flatnonzero(~found).tolist():
            found[v] = own_evidence(X[v], present[:, v], n) >= EVIDENCE
        for v in np.flatnonzero(~found).tolist() if len(X) > 1 else ():
            found[v] = shared_evidence(X, present, v, n) >= EVIDENCE
    return found


def testable(X: Sequence[Block], present: NDArray[np.bool_]) -> bool:
    """Tell whether there are rows and features enough to tell structure from noise."""
    enough = len(X) > 1 or X[0].shape[1] >= _FEW_COLUMNS
    return enough and bool(present.sum(axis=0).max(initial=0) >= _FEWEST_ROWS)


def own_evidence(X: Block, has: NDArray[np.bool_], n: int = _TESTED_ROWS[-1]) -> float:
    """Return how far halves of the features of a view agree, in standard deviations of chance."""
    rows = _tested(has, n)
    if len(rows) < _FEWEST_ROWS or X.shape[1] < 2:
        return 0.0
    found = [likeness_correlation(*map(likeness, two)) for two, _ in _halved(X[rows])]
    return _evidence(float(np.mean(found)), len(rows))


def shared_evidence(
    X: Sequence[Block], present: NDArray[np.bool_], v: int, n: int = _TESTED_ROWS[-1]
) -> float:
    """Return how far a view agrees with the others, in standard deviations of chance."""
    rows = _tested(present[:, v] & np.delete(present, v, axis=1).any(axis=1), n)
    if len(rows) < _FEWEST_ROWS:
        return 0.0
    theirs = np.sum([likeness(X[w][rows]) for w in range(len(X)) if w != v], axis=0)
    return _evidence(likeness_correlation(likeness(X[v][rows]), theirs), len(rows))


def _tested(has: NDArray[np.bool_], n: int) -> IntArray:
    """Return which of the rows that have a view are looked at."""
    return np.sort(np.random.default_rng(0).permutation(np.flatnonzero(has))[:n])


def _evidence(correlation: float, n: int) -> float:
    return float(correlation * np.sqrt(n * (n - 3) / 2))


def likeness(X: Block) -> NDArray[np.float64]:
    """Return how alike rows are beside what all have in common, 0 for a row itself.

    The cosine of what is left of two rows without their mean direction, and that of rows with many
    entries that are not 0: how many a row has makes none alike, nor that all have the frequent
    features. Of at most four columns nothing would be left: the cosine of two rows less the mean,
    of unit rows if some entries are 0. Rows that have nothing, or nothing else, are like no other.
    From the result, means of rows and columns are taken, so that sums of products with another
    likeness are without bias (U-centred).

    Returns
    -------
    array of shape (n, n)
        Symmetric; rows and columns sum to 0.

    Examples
    --------
    >>> likeness(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])).round(2)
    array([[ 0.  ,  1.33, -0.67, -0.67],
           [ 1.33,  0.  , -0.67, -0.67],
           [-0.67, -0.67,  0.  ,  1.33],
           [-0.67, -0.67,  1.33,  0.  ]])
    """
    few, X = X.shape[1] <= _FEW_COLUMNS, X.astype(np.float64)
    rows = unit_rows(X)
    if few:
        # Where there are zeros, lengths of rows tell which other features they have.
        whole = X.shape[1] == 1 or (X != 0).sum() == np.prod(X.shape)
        rows = dense(X if whole else rows)
        rows = unit_rows(rows - rows.mean(axis=0))
    cosines = dense(rows @ rows.T)
    has = np.diag(cosines) > 0
    if not few:
        cosines -= _in_common(cosines, X, has)
    left = np.diag(cosines)
    scales = np.where(has & (left > _NOTHING), left, np.inf) ** -0.5
    return _centred(cosines * np.outer(scales, scales))


def _in_common(cosines: NDArray[Any], X: Block, has: NDArray[np.bool_]) -> FloatArray:
    """Return what of the cosines is along the mean direction of rows, and along that of full ones.

    Of rows with zeros the full ones are alike, however their entries are scaled: they have the
    frequent features, and less of each.
    """
    directions = [has.astype(float)]
    lengths = np.log1p(np.asarray((X != 0).sum(axis=1)).ravel()[has])
    if len(lengths) and (varies := lengths.std()) > _NOTHING:
        directions.append(np.zeros(len(has)))
        directions[1][has] = (lengths - lengths.mean()) / varies
    along = cosines @ np.array(directions).T
    # Both are about √n long: what is far smaller than the other's part is rounding.
    inner = np.linalg.pinv(np.array(directions) @ along, rcond=_NOTHING, hermitian=True)
    return np.asarray(along @ inner @ along.T)


def likeness_correlation(K: NDArray[np.float64], L: NDArray[np.float64]) -> float:
    """Return the correlation of two likenesses of the same rows; 0 if one has nothing."""
    norms = float(np.linalg.norm(K) * np.linalg.norm(L))
    return float(np.sum(K * L)) / norms if norms > _NOTHING else 0.0


def _centred(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a symmetric matrix U-centred: its diagonal is 0, and every row sums to 0."""
    n = len(K)
    K = K - np.diag(np.diag(K))
    sums = K.sum(axis=0)
    K -= np.add.outer(sums, sums) / (n - 2) - sums.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(K, 0)
    return K


def _across(X: Sequence[Block], chosen: Sequence[IntArray]) -> float:
    """Return the mean correlation of likeness by chosen features with that by other views."""
    whole = [likeness(X_v) for X_v in X]
    total = np.sum(whole, axis=0)
    found = []
    for X_v, own, columns in zip(X, whole, chosen, strict=True):
        found.append(likeness_correlation(likeness(X_v[:, columns]), total - own))
    return float(np.mean(found))


def _across_some(
    X: Sequence[Block], chosen: Sequence[IntArray], present: NDArray[np.bool_]
) -> float:
    """Return what `_across` does, of each view over the rows that have it and another."""
    found = []
    for v, columns in enumerate(chosen):
        others = np.delete(present, v, axis=1)
        rows = np.flatnonzero(present[:, v] & others.any(axis=1))
        if len(rows) < _FEWEST_ROWS:
            continue
        ours = likeness(X[v][rows][:, columns])
        theirs = np.sum([likeness(X_w[rows]) for w, X_w in enumerate(X) if w != v], axis=0)
        found.append(likeness_correlation(ours, theirs))
    return float(np.mean(found)) if found else 0.0


def _halved(X: Block) -> Iterator[tuple[list[Block], list[IntArray]]]:
    """Yield random halves of the features of a view, and which these are.

    They are drawn by the place of a feature among all by size: in whatever order columns come,
    halves are the same.
    """
    order = np.argsort(-significant(column_sums(squared_entries(X))), kind="stable")
    rng = np.random.default_rng(0)
    for _ in range(_SPLITS):
        first = rng.permutation(len(order)) < len(order) // 2
        halves = [np.sort(order[first]), np.sort(order[~first])]
        yield [X[:, half] for half in halves], halves
