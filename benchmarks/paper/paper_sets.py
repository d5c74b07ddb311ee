"""The paper's four sets by their short names."""

from collections.abc import Callable

from omvfs.datasets._downloads import Needed, PathLike
from omvfs.datasets._fetched import Fetched
from omvfs.datasets.reuters import REUTERS, fetch_reuters_multilingual
from omvfs.datasets.web_news import CNN, FOX, fetch_cnn, fetch_fox
from omvfs.datasets.youtube_games import YOUTUBE, fetch_youtube_games

_SETS: dict[str, tuple[Needed, Callable[..., Fetched]]] = {
    "fox": (FOX, fetch_fox),
    "cnn": (CNN, fetch_cnn),
    "reuters": (REUTERS, fetch_reuters_multilingual),
    "youtube": (YOUTUBE, fetch_youtube_games),
}


def is_fetched(name: str, data_home: PathLike | None = None) -> bool:
    """Tell whether the files of one of the paper's sets are on this disk.

    Parameters
    ----------
    name : str
        Such as ``reuters``; of any other name the answer is no.
    data_home : path, default=None
        See `get_data_home`.

    Examples
    --------
    >>> is_fetched("reuters", "nowhere"), is_fetched("iris")
    (False, False)
    """
    return name in _SETS and _SETS[name][0].there(data_home)


def load_fetched(name: str, data_home: PathLike | None = None) -> Fetched:
    """Load one of the paper's sets, as the paper has it, from files on this disk only."""
    return _SETS[name][1](data_home=data_home, download_if_missing=False)
