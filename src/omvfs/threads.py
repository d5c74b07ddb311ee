"""BLAS and OpenMP have one thread while there is work.

The products here are many and small. Threads that share a small product mostly wait for each other,
and on a busy machine for their turn; and sums would round by how many share them.
"""

import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

P = ParamSpec("P")
R = TypeVar("R")


@cache
def _libraries() -> list[Any]:
    """Find the libraries of BLAS and OpenMP once: those of scikit-learn are loaded by then."""
    return list(ThreadpoolController().lib_controllers)


def _set_threads(library: Any, n: int) -> None:
    """Set the number of threads of a library, whichever thread has done so before."""
    # threadpoolctl lets no other thread than the first set it, unless that one gives it up.
    give_up = getattr(library, "clear_controlling_thread", lambda force: None)
    give_up(force=True)
    library.set_num_threads(n)
    give_up(force=True)


class _Call:
    """A call under way."""


class _Limit:
    """One thread for BLAS as long as anyone is inside; the setting is that of the process."""

    def __init__(self) -> None:
        self._changing: Any = threading.RLock()
        # Weak: whoever was interrupted on the way out is gone all the same.
        self._inside: WeakSet[_Call] = WeakSet()
        self._users: list[tuple[Any, int]] = []

    def enter(self, call: _Call) -> None:
        with self._changing:
            self._inside.add(call)
            if not self._users:
                self._users = [(library, library.num_threads) for library in _libraries()]
                for library, _ in self._users:
                    _set_threads(library, 1)

    def leave(self, call: _Call) -> None:
        while self._changing._is_owned():  # interrupted just before it was released
            self._changing.release()
        with self._changing:
            if all(other is call for other in self._inside):
                for library, n in self._users:
                    _set_threads(library, n)
                self._users = []
            self._inside.discard(call)

    def has_left(self, call: _Call) -> bool:
        return call not in self._inside and not self._changing._is_owned()


_limit = _Limit()


def on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function during which BLAS has one thread; the user's setting is back afterwards.

    The setting is that of the process. Of calls that overlap, nested or in other threads, the first
    sets it, and the last sets it back.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> @on_one_thread
    ... def threads():
    ...     return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
    >>> threads()
    {1}
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        call = _Call()
        try:
            try:
                _limit.enter(call)
                return function(*args, **kwargs)
            finally:
                _limit.leave(call)
        finally:
            if not _limit.has_left(call):  # interrupted; done again, it does no harm
                _limit.leave(call)

    return limited


def _forget() -> None:
    """Forget, in a process that was forked, the calls of threads that it has not."""
    global _limit
    _limit = _Limit()


os.register_at_fork(after_in_child=_forget)
