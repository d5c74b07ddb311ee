"""Checks of parameters, each with an error that says what was got and what was expected."""

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from omvfs.data.schema import listed


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """Return a parameter that must be one of some values, True not taken for 1.

    Examples
    --------
    >>> one_of("solver", "paper", ("constrained", "paper"))
    'paper'
    """
    for each in allowed:
        # No array, of which the comparison would be many; and True is not 1.
        alike = np.ndim(value) == 0 and isinstance(value, bool | np.bool_) == isinstance(each, bool)
        if alike and value == each:
            return each
    raise ValueError(f"Got {name}={value!r}; expected {listed(allowed)}.")


def whole(name: str, value: Any, least: int) -> int:
    """Return a parameter that must be a whole number of at least `least`.

    Examples
    --------
    >>> whole("n_clusters", 0, least=1)
    Traceback (most recent call last):
    ValueError: Got n_clusters=0; expected a whole number of at least 1.
    """
    if type(value) is bool or not isinstance(value, numbers.Integral) or int(value) < least:
        raise ValueError(f"Got {name}={value!r}; expected a whole number of at least {least}.")
    return int(value)


def number(name: str, value: Any, least: float, most: float | None = None) -> float:
    """Return a parameter that must be a finite number of at least `least`, and at most `most`.

    Examples
    --------
    >>> number("sparsity", 1, least=0.0)
    1.0
    >>> number("recency", 2, least=0.0, most=1.0)
    Traceback (most recent call last):
    ValueError: Got recency=2; expected a finite number of at least 0 and at most 1.
    """
    good = isinstance(value, numbers.Real) and not isinstance(value, bool)
    good = good and least <= float(value) < float("inf")
    if not good or (most is not None and float(value) > most):
        bounds = f"at least {least:g}" + ("" if most is None else f" and at most {most:g}")
        raise ValueError(f"Got {name}={value!r}; expected a finite number of {bounds}.")
    return float(value)


def by_view(name: str, value: Any, views: Sequence[str]) -> tuple[float, ...]:
    """Return a parameter for every view: one number for all, or a mapping with one for each.

    Examples
    --------
    >>> by_view("sparsity", {"image": 2, "text": 1}, ["text", "image"])
    (1.0, 2.0)
    """
    if not isinstance(value, Mapping):
        return (number(name, value, least=0.0),) * len(views)
    if set(value) != set(views):
        raise ValueError(
            f"Got {name} for views {listed(value)}; expected one for each of {listed(views)}, or "
            "one number for all."
        )
    return tuple(number(f"{name}[{view!r}]", value[view], least=0.0) for view in views)


def seed_of(random_state: Any) -> int:
    """Return a seed for NumPy's generators from a `random_state` as scikit-learn takes it.

    Examples
    --------
    >>> seed_of(0) == seed_of(0) != seed_of(1)
    True
    """
    return int(check_random_state(random_state).randint(2**31 - 1))
