"""The best features along the stream, by the names of views and features, and the clusters."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from omvfs.data.schema import Schema, listed
from omvfs.fitted import FittedState
from omvfs.model.scoring import snapshot
from omvfs.model.stream.snapshots import Snapshots, overlap
from omvfs.selector import Frame, Journal, as_frame
from omvfs.threads import alone, on_one_thread


@dataclass(frozen=True, eq=False)
class RankHistory:
    """The best features along the stream, as ranked on the way.

    By what the sums over all rows told then: repetition is not discounted, and clusters are those
    of then. So ranks are not those of `ranking_`, to which all effort goes.

    Attributes
    ----------
    n_rows : int array of shape (T,)
        Rows seen at each snapshot, at most 99; the last is of all rows so far.
    top : mapping of str to int array of shape (T, n)
        By view, columns of the best features at each snapshot, the best first. At most 100 of a
        view, fewer of more than 20 views. −1 for none: fewer features told anything, or the one
        that was there is forgotten since.
    names : mapping of str to (mapping of int to str)
        By view, the names of all these features.

    Examples
    --------
    >>> top = {"text": np.array([[4, 2, -1], [2, 7, 4]])}
    >>> history = RankHistory(np.array([200, 900]), top, {"text": {2: "ant", 4: "bee", 7: "cow"}})
    >>> history.ranks("text", [2, 7])
    array([[2, 0],
           [1, 2]])
    >>> history.overlap().round(2)
    array([0.67])
    """

    n_rows: NDArray[np.int64]
    top: Mapping[str, NDArray[np.intp]]
    names: Mapping[str, Mapping[int, str]]

    @classmethod
    def of(cls, snapshots: Snapshots, schema: Schema) -> "RankHistory":
        """Return it from snapshots, at least one.

        Parameters
        ----------
        snapshots : Snapshots
        schema : Schema
            What views and features are called.
        """
        tops = np.stack([each.top for each in snapshots.taken]).astype(np.intp)
        top, names = {}, {}
        for v, (view, known) in enumerate(zip(schema.names, schema.feature_names, strict=True)):
            own = tops[:, v]
            n = int(np.flatnonzero((own >= 0).any(axis=0)).max(initial=-1)) + 1
            top[view] = own[:, :n]
            found = np.unique(own[own >= 0]).tolist()
            names[view] = {j: str(j) if known is None else known[j] for j in found}
        n_rows = np.array([each.n_rows for each in snapshots.taken], np.int64)
        return cls(n_rows, top, names)

    def ranks(self, view: str, features: ArrayLike) -> NDArray[np.intp]:
        """Return the ranks of some features at each snapshot.

        Parameters
        ----------
        view : str
            Name of the view.
        features : array-like of int of shape (n,)
            Columns of the view.

        Returns
        -------
        int array of shape (T, n)
            1 is the best; 0 for a feature that was not among the best then.
        """
        top, asked = self._of(view)[:, np.newaxis, :], np.asarray(features)[:, np.newaxis]
        ranks = np.zeros((len(top), len(asked)), np.intp)
        at, which, places = np.nonzero((top == asked) & (top >= 0))
        ranks[at, which] = places + 1
        return ranks

    def overlap(self, view: str | None = None) -> NDArray[np.float64]:
        """Return what share of the best features were among the best one snapshot before.

        Parameters
        ----------
        view : str, optional
            Of this view; by default of all views together.

        Returns
        -------
        array of shape (T − 1,)
            NaN where no feature is among the best.
        """
        tops = list(self.top.values()) if view is None else [self._of(view)]
        n = max(own.shape[1] for own in tops)
        wide = [np.pad(own, ((0, 0), (0, n - own.shape[1])), constant_values=-1) for own in tops]
        by_time = np.stack(wide, axis=1)
        return np.array([overlap(*pair) for pair in pairwise(by_time)], np.float64)

    def to_frame(self, backend: Frame = "pandas") -> Any:
        """Return a frame: a row for each feature of each snapshot, the best first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Which library makes the frame; it must be installed.

        Returns
        -------
        frame
            Columns ``n_rows``, ``view``, ``rank``, ``feature`` (its number in the view), ``name``.
        """
        columns: dict[str, list[Any]] = {
            name: [] for name in ("n_rows", "view", "rank", "feature", "name")
        }
        for t, n_rows in enumerate(self.n_rows.tolist()):
            for view, own in self.top.items():
                for rank in np.flatnonzero(own[t] >= 0).tolist():
                    j = int(own[t, rank])
                    row = n_rows, view, rank + 1, j, self.names[view][j]
                    for column, value in zip(columns.values(), row, strict=True):
                        column.append(value)
        return as_frame(columns, backend)

    def _of(self, view: str) -> NDArray[np.intp]:
        if view not in self.top:
            raise ValueError(f"Got view {view!r}; expected one of {listed(self.top)}.")
        return self.top[view]


@dataclass(frozen=True, eq=False)
class ShareHistory:
    """The shares of clusters along the stream, of rows as they were placed when they came.

    When clusters are made anew, each new one gets the number of an old one, so that as many of the
    sampled rows as can be keep their number, and so when something is asked: number k along the
    stream is as far as that goes cluster k of now. Where there were more or fewer clusters than
    before (``n_clusters="auto"``), numbers close up, or new ones come behind.

    Attributes
    ----------
    n_rows : int array of shape (T,)
        Rows seen at each moment, those of `RankHistory`.
    shares : array of shape (T, K)
        Of the rows since the moment before, the share of each cluster. NaN for clusters that there
        were not, and where nobody knows: of more than 500 clusters, and of rows before a merge.

    Examples
    --------
    >>> from omvfs import OMVFS
    >>> rows = [[3, 1, 0, 0, 1], [2, 1, 0, 0, 1], [0, 0, 3, 0, 1], [0, 0, 3, 1, 1]] * 10
    >>> model = OMVFS(2, random_state=0).partial_fit({"text": rows})
    >>> model = model.partial_fit({"text": rows[:2] * 10})
    >>> model.share_history_.n_rows.tolist(), model.share_history_.shares.tolist()
    ([60], [[0.3333333432674408, 0.6666666865348816]])
    """

    n_rows: NDArray[np.int64]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, snapshots: Snapshots, n_rows: int) -> "ShareHistory":
        """Return it from snapshots, and of now.

        Parameters
        ----------
        snapshots : Snapshots
        n_rows : int
            Rows seen.
        """
        found = [(each.n_rows, each.shares) for each in snapshots.taken]
        if not found or found[-1][0] < n_rows:
            found.append((n_rows, snapshots.shares))
        shares = np.full((len(found), max(len(own) for _, own in found)), np.nan)
        for row, (_, own) in zip(shares, found, strict=True):
            row[: len(own)] = own
        return cls(np.array([n for n, _ in found], np.int64), shares)


class RemembersRanks:
    """Adds `rank_history_` and `share_history_` to the estimator."""

    _journal: Journal[FittedState]

    @property
    @alone
    @on_one_thread
    def rank_history_(self) -> RankHistory:
        """The best features along the stream, as ranked on the way."""
        check_is_fitted(self)
        fitted = self._journal.known
        snapshots = fitted.state.snapshots
        if not snapshots.taken or snapshots.taken[-1].n_rows < fitted.n_rows:
            now = snapshot(fitted.state, fitted.settings)
            snapshots = replace(snapshots, taken=(*snapshots.taken, now))
        return RankHistory.of(snapshots, fitted.schema)

    @property
    @alone
    def share_history_(self) -> ShareHistory:
        """The shares of clusters along the stream, of rows as they were placed when they came."""
        check_is_fitted(self)
        fitted = self._journal.known
        return ShareHistory.of(fitted.state.snapshots, fitted.n_rows)
