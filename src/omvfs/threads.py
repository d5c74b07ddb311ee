"""BLAS has one thread while there is work.

The products here are many and small. Threads that share a small product mostly wait for each other,
and on a busy machine for their turn; and sums would round by how many share them.
"""

import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

P = ParamSpec("P")
R = TypeVar("R")


@cache
def _libraries() -> list[Any]:
    """Find the libraries of BLAS once: NumPy's and SciPy's are loaded by then."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(library: Any, n: int) -> None:
    """Set the number of threads of a library, whichever thread has done so before."""
    # threadpoolctl lets no other thread than the first set it, unless that one gives it up.
    give_up = getattr(library, "clear_controlling_thread", lambda force: None)
    give_up(force=True)
    library.set_num_threads(n)
    give_up(force=True)


class _Limit:
    """One thread for BLAS as long as any call is inside; the setting is that of the process."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._n_inside = 0
        self._before: list[tuple[Any, int]] = []

    def enter(self) -> None:
        with self._changing:
            if not self._n_inside:
                self._before = [(library, library.num_threads) for library in _libraries()]
                for library, _ in self._before:
                    _set_threads(library, 1)
            self._n_inside += 1

    def leave(self) -> None:
        with self._changing:
            self._n_inside -= 1
            if not self._n_inside:
                for library, n in self._before:
                    _set_threads(library, n)


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
        limit = _limit
        limit.enter()
        try:
            return function(*args, **kwargs)
        finally:
            limit.leave()

    return limited


def _forget() -> None:
    """Forget, in a process that was forked, the calls of threads that it has not."""
    global _limit
    _limit = _Limit()


os.register_at_fork(after_in_child=_forget)
