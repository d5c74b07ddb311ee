"""Rows as text, ``label index:value index:value ...``, and the sparse matrix that they make."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.formats import SourceError


class SparseLines:
    """Rows that are read line by line.

    Parameters
    ----------
    where : str
        What the lines are from, for errors.
    labels : tuple of str
        What a line may begin with.

    Attributes
    ----------
    labels : list of int
        Of each row, the place of its label in those that may be.

    Examples
    --------
    >>> rows = SparseLines("example", ("C15", "CCAT"))
    >>> rows.add(b"CCAT 2:0.5 7:1")
    >>> rows.add(b"C15")
    >>> rows.labels
    [1, 0]
    >>> rows.matrix(rows.indices()).toarray().tolist()
    [[0.5, 1.0], [0.0, 0.0]]
    """

    def __init__(self, where: str, labels: tuple[str, ...]) -> None:
        self._where = where
        self._known = {label.encode(): place for place, label in enumerate(labels)}
        self.labels: list[int] = []
        self._ends = [0]
        self._indices: list[NDArray[np.int64]] = []
        self._values: list[NDArray[np.float64]] = []

    def __len__(self) -> int:
        return len(self.labels)

    def add(self, line: bytes) -> None:
        """Read one more row."""
        label, *parts = line.replace(b":", b" : ").split()
        if label not in self._known:
            raise self._wrong(f"begins with {_short(label)}; expected {self._expected()}")
        if len(parts) % 3 or parts[1::3].count(b":") * 3 != len(parts):
            raise self._wrong("is not 'label index:value index:value ...'")
        try:
            indices = np.array(list(map(int, parts[::3])), np.int64)
            values = np.array(list(map(float, parts[2::3])), np.float64)
        except (ValueError, OverflowError) as error:
            raise self._wrong(f"is not 'label index:value index:value ...': {error}") from error
        if not np.isfinite(values).all():
            raise self._wrong("has a value that is not finite")
        self.labels.append(self._known[label])
        self._ends.append(self._ends[-1] + len(indices))
        self._indices.append(indices)
        self._values.append(values)

    def indices(self) -> NDArray[np.int64]:
        """Return the indices that occur, ascending."""
        return np.unique(self._joined_indices())

    def matrix(self, features: NDArray[np.int64]) -> sp.csr_array:
        """Return the rows, with a column for each of some indices, ascending, of which all are."""
        if not len(self):
            raise SourceError(f"{self._where} has no rows. Fetch it again.")
        indices = self._joined_indices()
        columns = np.searchsorted(features, indices)
        known = features.take(columns, mode="clip") == indices if len(features) else columns < 0
        if not known.all():
            bad = int(np.argmin(known))
            raise SourceError(
                f"Row {self._row_of(bad):,} of {self._where} has the index {indices[bad]:,}; "
                f"expected {features[0]:,} to {features[-1]:,}."
            )
        X = sp.csr_array(
            (np.concatenate(self._values), columns.astype(np.int32), np.array(self._ends)),
            shape=(len(self), len(features)),
        )
        X.sort_indices()
        same = np.flatnonzero(X.indices[1:] == X.indices[:-1]) + 1
        # The first index of a row may be the last of the row before.
        if len(same := np.setdiff1d(same, self._ends)):
            row = self._row_of(int(same[0]))
            raise SourceError(f"Row {row:,} of {self._where} has an index twice; expected once.")
        return X

    def _joined_indices(self) -> NDArray[np.int64]:
        return np.concatenate(self._indices) if self._indices else np.empty(0, np.int64)

    def _row_of(self, entry: int) -> int:
        """Return the row of an entry, counted from 1."""
        return int(np.searchsorted(self._ends, entry, side="right"))

    def _expected(self) -> str:
        known = [label.decode() for label in self._known]
        return f"one of {', '.join(known)}" if len(known) < 10 else f"{known[0]} to {known[-1]}"

    def _wrong(self, why: str) -> SourceError:
        return SourceError(f"Row {len(self) + 1:,} of {self._where} {why}. Fetch it again.")


def _short(token: bytes) -> str:
    text = token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 30 else text[:30] + "…")
