"""How much a report holds, whatever was learned from; what is left out, it says."""

import math
from typing import Any

# Views, clusters, clusters that are told in full, and features of all views together.
VIEWS, CLUSTERS, IN_FULL, FEATURES = 24, 200, 48, 400
# Features of one view at most, and of one view that a cluster is told by.
FEATURES_OF_VIEW, TELLING = 200, 6
# Points of a line, and of a small one.
POINTS, FEW_POINTS = 160, 24
# Clusters whose shares are drawn along the stream: the largest.
ALONG = 8
# Changes of the stream, features that came or went with one, and example rows of a cluster.
EVENTS, CHANGED, EXAMPLES = 20, 5, 3
# Characters of a name, or of any other text.
LETTERS = 300


def features_of_view(n_views: int) -> int:
    """Return how many features of each view are shown.

    Examples
    --------
    >>> features_of_view(1), features_of_view(2), features_of_view(16)
    (200, 200, 25)
    """
    return max(10, min(FEATURES_OF_VIEW, FEATURES // n_views))


def telling_of_view(n_views: int) -> int:
    """Return by how many features of each view a cluster is told.

    Examples
    --------
    >>> telling_of_view(2), telling_of_view(16)
    (6, 1)
    """
    return max(1, min(TELLING, 4 * TELLING // n_views))


def cut(text: str, most: int = LETTERS) -> str:
    """Return the beginning of a text that is too long.

    Examples
    --------
    >>> cut("word", 4), cut("words", 4)
    ('word', 'wor…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def plain(value: Any) -> float | None:
    """Return a number in six digits, None for what is none.

    Examples
    --------
    >>> plain(2 / 3), plain(float("nan")), plain(None)
    (0.666667, None, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def spaced(n: int, most: int) -> list[int]:
    """Return so many of n places at most, the first and the last among them.

    Examples
    --------
    >>> spaced(5, 3), spaced(2, 9)
    ([0, 2, 4], [0, 1])
    """
    if n <= most:
        return list(range(n))
    return [round(i * (n - 1) / (most - 1)) for i in range(most)]
