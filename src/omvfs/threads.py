"""BLAS on one thread: the products here are many and small.

Threads that share a small product mostly wait for each other, and on a busy machine for their turn.
"""

import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

P = ParamSpec("P")
R = TypeVar("R")

# Held by the one call that has set the limit, and sets it back.
_limiting = threading.Lock()


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries of BLAS once: NumPy's and SciPy's are loaded by then."""
    return ThreadpoolController()


def on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function during which BLAS has one thread; the user's setting is back afterwards.

    The setting is that of the process. Of calls that overlap, nested or in other threads, the first
    sees to it, so that whoever comes last cannot leave anything but what the user had; one that is
    still running when the first is done goes on with the user's setting.

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
        if not _limiting.acquire(blocking=False):
            return function(*args, **kwargs)
        try:
            with _libraries().limit(limits=1, user_api="blas"):
                return function(*args, **kwargs)
        finally:
            _limiting.release()

    return limited
