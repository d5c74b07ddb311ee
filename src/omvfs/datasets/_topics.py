"""Names for planted features that read as words and tell the truth."""

from omvfs.datasets._laws import IntArray

_TOPICS = (
    "sport",
    "music",
    "food",
    "travel",
    "film",
    "health",
    "money",
    "science",
    "nature",
    "law",
)


def topic(label: int) -> str:
    """Return what a class is about; -1 is about nothing.

    Parameters
    ----------
    label : int
        Of the class.

    Examples
    --------
    >>> topic(0), topic(-1), topic(12)
    ('sport', 'noise', 'topic12')
    """
    if label < 0:
        return "noise"
    return _TOPICS[label] if label < len(_TOPICS) else f"topic{label}"


def names_of_features(classes: IntArray) -> list[str]:
    """Return a name for every feature of a view: what its class is about, and its number.

    Parameters
    ----------
    classes : int array
        Class of every feature, -1 for noise.

    Examples
    --------
    >>> import numpy as np
    >>> names_of_features(np.array([2, -1]))
    ['food_0000', 'noise_0001']
    """
    return [f"{topic(label)}_{j:04d}" for j, label in enumerate(classes.tolist())]
