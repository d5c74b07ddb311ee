"""Names of features of a view that may become more: a chunk appends what it brings."""

from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from omvfs.data.containers import Names, as_names


class _Shared:
    """Names and their places, to which all vocabularies that came of one append."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)
        self.places = {name: j for j, name in enumerate(self.names)}
        self.lock = Lock()


class Vocabulary(Sequence[str]):
    """Names of features in order, to which more can be appended.

    It never changes; one with more names shares what it has with the one before, so that to append
    costs what is new. It equals a tuple of the same names.

    Parameters
    ----------
    names : iterable of str, default=()
        Each once.

    Examples
    --------
    >>> words = Vocabulary(["ant", "bee"])
    >>> places, new = words.places(["cat", "ant"])
    >>> places, new
    (array([2, 0]), ['cat'])
    >>> words.grown(new), len(words)
    (Vocabulary('ant', 'bee', 'cat'), 2)
    """

    __slots__ = ("_array", "_n", "_shared")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._shared = _Shared(names)
        self._n = len(self._shared.names)
        self._array: Names | None = None
        if len(self._shared.places) < self._n:
            raise ValueError("Got a name twice; expected each once.")

    @classmethod
    def _of(cls, shared: _Shared, n: int) -> "Vocabulary":
        self = cls.__new__(cls)
        self._shared, self._n, self._array = shared, n, None
        return self

    def places(self, names: Sequence[str]) -> tuple[NDArray[np.intp], list[str]]:
        """Return where some names are, each of which is given once, and which of them are new.

        These have the places behind all that are known, in the order in which they are given.

        Parameters
        ----------
        names : sequence of str
        """
        given, n = list(names), self._n
        held = self._shared.names
        alike = min(len(given), n)
        # As a rule all is where it was, and to compare takes less than to look up.
        if given[:alike] == held[:alike]:
            return np.arange(len(given)), given[alike:]
        get = self._shared.places.get
        places = np.fromiter((get(name, n) for name in given), np.intp, len(given))
        # What others have appended, or what was appended in vain, is not known here.
        unknown = np.flatnonzero(places >= n)
        places[unknown] = n + np.arange(len(unknown))
        return places, [given[j] for j in unknown.tolist()]

    def known_places(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Return where some names are, -1 for those that are not known.

        Examples
        --------
        >>> Vocabulary(["ant", "bee"]).known_places(["cat", "bee"])
        array([-1,  1])
        """
        places, _ = self.places(names)
        places[places >= self._n] = -1
        return places

    def grown(self, new: Sequence[str]) -> "Vocabulary":
        """Return the vocabulary with names that it does not have behind its own.

        Parameters
        ----------
        new : sequence of str
            Each once.
        """
        if not new:
            return self
        n, added = self._n, list(new)
        shared = self._shared
        with shared.lock:
            if len(shared.names) == n:
                shared.places |= {name: n + j for j, name in enumerate(added)}
                shared.names += added
            elif shared.names[n : n + len(added)] != added:
                # Others have gone on from here, or tried to in vain: on with a copy.
                shared = _Shared([*shared.names[:n], *added])
        return self._of(shared, n + len(added))

    def kept(self, columns: NDArray[np.intp]) -> "Vocabulary":
        """Return a vocabulary of some of the names, in this order."""
        held = self._shared.names
        return Vocabulary([held[j] for j in columns.tolist()])

    @property
    def array(self) -> Names:
        """The names as an array, which is not to be written into."""
        if self._array is None:
            self._array = as_names(self)
        return self._array

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        if not -self._n <= index < self._n:
            raise IndexError(f"Got name number {index}; there are {self._n:,}.")
        return self._shared.names[index % self._n]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shared.names[: self._n])

    def __contains__(self, name: object) -> bool:
        return self._shared.places.get(name, self._n) < self._n  # type: ignore[call-overload,no-any-return]

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return where a name is.

        Parameters
        ----------
        value : str
        start, stop : int
            Looked for between these only.
        """
        found = self._shared.places.get(value, self._n)
        if not start <= found < min(self._n, self._n if stop is None else stop):
            raise ValueError(f"{value!r} is no name of this vocabulary.")
        return found

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vocabulary):
            if self._n != other._n:
                return False
            return self._shared is other._shared or list(self) == list(other)
        return isinstance(other, tuple) and len(other) == self._n and tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (list(self),)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:5])) if self._n < 100 else f"{self._n:,} names"
        return f"Vocabulary({shown}{', ...' if 5 < self._n < 100 else ''})"
