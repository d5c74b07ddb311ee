"""Checks of parameters, each with an error that says what was got and what was expected."""

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from omvfs.data.schema import listed

# Given a name and a value, returns the value as the program takes it, or says what is wrong.
Check = Callable[[str, Any], Any]

# Parameters of earlier versions, each with what to do instead.
GONE = {
    "max_features": "Bound the features of a view with prepare='hash:20' (--prepare hash:20), "
    "which puts them into 2**20 columns.",
    "drift_detector": "Pass detect_drift=True (--detect-drift) for the test of the library, or "
    "give history_ to a detector of your own.",
    "on_drift": "Look at history_[-1].drift after partial_fit: the event of that chunk, or None.",
    "remainder": "Leave the columns that are in no view out of X.",
    "diversity": "Repetition is always discounted; pass criterion='norm' to leave it out.",
    "recency": "Pass half_life to forget old rows.",
    "graph_weight": "Clusters are always filtered over the graph of neighbours.",
    "sparsity": "It did not select; OMVFSPaper has it.",
    "window": "Rows are kept in a sample of sample_size rows; OMVFSPaper has a window.",
    "graph": "A row has 20 neighbours by cosine; OMVFSPaper has the Gaussian graph.",
    "scale_columns": "Pass prepare='scale'.",
    "negative": "Values of any sign are taken as they come; OMVFSPaper needs nonnegative ones.",
    "n_neighbors": "A row has 20 neighbours; 10 and 40 select as well.",
    "n_init": "Clusters are averaged over several starts always.",
    "max_iter": "k-means runs until it settles.",
}


def check_not_gone(names: Iterable[str]) -> None:
    """Refuse parameters of earlier versions, with what to do instead.

    Examples
    --------
    >>> check_not_gone(["n_clusters", "remainder"])
    Traceback (most recent call last):
    ValueError: There is no parameter remainder any more. Leave the columns that are in no view \
out of X.
    """
    found = [
        f"There is no parameter {name} any more. {GONE[name]}" for name in names if name in GONE
    ]
    if found:
        raise ValueError("\n".join(found))


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """Return a parameter that must be one of some values, True not taken for 1."""
    for each in allowed:
        # No array, of which the comparison would be many; and True is not 1.
        alike = np.ndim(value) == 0 and isinstance(value, bool | np.bool_) == isinstance(each, bool)
        if alike and value == each:
            return each
    raise refusal(name, value, listed(allowed))


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return a parameter that must be a whole number of at least `least`, and at most `most`.

    Examples
    --------
    >>> whole("n_clusters", 0, least=1)
    Traceback (most recent call last):
    ValueError: Got n_clusters=0; expected a whole number of at least 1.
    """
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if is_whole and least <= int(value) and (most is None or int(value) <= most):
        return int(value)
    bounds = f"of at least {least}" + ("" if most is None else f" and at most {most:,}")
    raise refusal(name, value, f"a whole number {bounds}")


def number(
    name: str, value: Any, least: float, most: float = math.inf, above: bool = False
) -> float:
    """Return a parameter that must be a finite number of at least `least`, and at most `most`.

    With `above`, `least` itself is refused too.

    Examples
    --------
    >>> number("sparsity", 1, least=0.0)
    1.0
    >>> number("recency", 2, least=0.0, most=1.0)
    Traceback (most recent call last):
    ValueError: Got recency=2; expected a finite number of at least 0 and at most 1.
    """
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    try:
        given = float(value) if is_number else math.nan
    except OverflowError:  # a whole number beyond all floats
        given = math.inf
    if least <= given <= most and given < math.inf and not (above and given == least):
        return given
    bounds = f"{'above' if above else 'of at least'} {least:g}"
    bounds += f" and at most {most:g}" if most < math.inf else ""
    raise refusal(name, value, f"a finite number {bounds}")


# How many features to select may be said so, and so.
SIZES = "a whole number of at least 1, a share above 0.0 and at most 1.0"
ALL = "or None for all (-n all)"


def select_size(name: str, value: Any) -> int | float | None:
    """Return how many features to select: a number, a share of them, or None for all."""
    is_whole = isinstance(value, numbers.Integral)
    if value is None or (is_whole and value is not True and value >= 1):
        return None if value is None else int(value)
    if isinstance(value, numbers.Real) and not is_whole and 0 < float(value) <= 1:
        return float(value)
    raise refusal(name, value, f"{SIZES}, {ALL}")


def or_none(check: Check) -> Check:
    """Return a check that passes None too."""
    return lambda name, value: None if value is None else check(name, value)


def by_view(name: str, value: Any, check: Check, views: Sequence[str] | None) -> tuple[Any, ...]:
    """Return a parameter for every view: one value for all, or a mapping with one for each.

    Examples
    --------
    >>> by_view("size", {"image": 2, "text": None}, select_size, ["text", "image"])
    (None, 2)
    """
    if not isinstance(value, Mapping):
        return (check(name, value),) * (1 if views is None else len(views))
    if views is not None and set(value) != set(views):
        raise ValueError(
            f"Got {name} for views {listed(value)}; expected one for each of {listed(views)}, or "
            "one for all."
        )
    return tuple(check(f"{name}[{view!r}]", value[view]) for view in views or value)


def seed(name: str, value: Any) -> Any:
    """Return a parameter that scikit-learn takes as a `random_state`."""
    try:
        check_random_state(value)
    except (TypeError, ValueError) as error:
        seeds = "a whole number from 0 to 2**32 - 1, a RandomState or None"
        raise refusal(name, value, seeds) from error
    return value


def seed_of(random_state: Any) -> int:
    """Return a seed for NumPy's generators from a `random_state` as scikit-learn takes it."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def refusal(name: str, value: Any, expected: str) -> ValueError:
    """Return an error that says what a parameter is, and what was expected."""
    return ValueError(f"Got {name}={value!r}; expected {expected}.")
