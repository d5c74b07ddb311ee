"""Reads the next item in another thread while the one before is used."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

# Seconds between two looks whether to stop.
_PATIENCE = 0.1


def prefetch(
    items: Iterator[T], should_stop: Callable[[], bool] = lambda: False
) -> Iterator[T | None]:
    """Yield items, each fetched in another thread while the one before is used.

    Parameters
    ----------
    items : iterator
    should_stop : callable
        Asked while there is nothing to yield; if True, the last that is yielded is None.

    Examples
    --------
    >>> list(prefetch(iter([1, 2, 3])))
    [1, 2, 3]
    """
    fetched: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(1)
    enough = threading.Event()

    def put(item: tuple[T | None, BaseException | None]) -> bool:
        while not enough.is_set():
            try:
                fetched.put(item, timeout=_PATIENCE)
                return True
            except queue.Full:
                continue
        return False

    def fetch() -> None:
        try:
            for item in items:
                if not put((item, None)):
                    return
            put((None, StopIteration()))
        except BaseException as error:
            put((None, error))

    reader = threading.Thread(target=fetch, name="omvfs reader", daemon=True)
    reader.start()
    try:
        while True:
            try:
                item, error = fetched.get(timeout=_PATIENCE)
            except queue.Empty:
                if should_stop():
                    yield None
                    return
                continue
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        enough.set()
        # A reader that waits for another program may wait for ever.
        reader.join(timeout=1)
