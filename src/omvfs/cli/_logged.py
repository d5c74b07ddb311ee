"""What reading and writing have to tell while a command runs, said at the command line."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from omvfs.cli._messages import say
from omvfs.cli._wording import worded

_LOGGER = "omvfs.formats"


class _Said(logging.Handler):
    """Says what is logged, on standard error, in the words of the command line."""

    def __init__(self, options: Callable[[], Mapping[str, str]]) -> None:
        super().__init__(logging.INFO)
        self._options = options

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage() if record.args else record.msg
        say(worded(text, self._options), err=True)


@contextmanager
def saying_what_is_logged(options: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Say what formats log while the block runs.

    Parameters
    ----------
    options : callable
        Returns the option of every parameter that has one.
    """
    logger, handler = logging.getLogger(_LOGGER), _Said(options)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
