"""The parameters of OMVFS: how each is checked, what it decides, what the model makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from omvfs.data.schema import NewFeatures, Schema, listed
from omvfs.data.table import GIVEN, Kind
from omvfs.model.learning import Settings
from omvfs.parameters import (
    ALL,
    SIZES,
    Check,
    by_view,
    number,
    one_of,
    or_none,
    refusal,
    seed,
    select_size,
    whole,
)
from omvfs.prepare import steps_of

Role = Literal["learns", "ranks", "reads", "seeds"]
AUTO: Literal["auto"] = "auto"
CRITERIA = "separation", "coverage", "norm"


@dataclass(frozen=True)
class Parameter:
    """What there is to know of a parameter beside its default, which the signature tells."""

    check: Check
    # What it decides: what is learned, how what was learned is ranked and selected, how one X
    # splits into views, or where random choices begin. Those that rank or read may change any time.
    role: Role
    # Whether it may be a mapping with a value for each view.
    per_view: bool = False


def _criterion(name: str, value: Any) -> Any:
    return partial(_scored, value) if callable(value) else one_of(name, value, CRITERIA)


def _scored(criterion: Any, S: Any, Q: Any, n: Any) -> Any:
    """Return the scores by a criterion of the user's, which cannot reach into the model."""
    given = criterion(S.copy(), Q.copy(), n.copy())
    scores = np.asarray(given)
    expected = f"expected {len(S):,} finite numbers, for sums of shape {S.shape}"
    if scores.shape != (len(S),) or scores.dtype.kind not in "fiub":
        got = f"{type(given).__name__} of shape {scores.shape} and dtype {scores.dtype}"
        raise ValueError(f"Got criterion that gave {got}; {expected}.")
    if len(bad := np.flatnonzero(~np.isfinite(scores))):
        got = f"{scores[bad[0]]} for feature {bad[0]:,}"
        raise ValueError(f"Got criterion that gave {got}; {expected}.")
    return scores.astype(float)


def _or_auto(check: Check, expected: str) -> Check:
    """Return a check that passes "auto" too, and says what it expects."""

    def checked(name: str, value: Any) -> Any:
        if isinstance(value, str) and value == AUTO:
            return AUTO
        try:
            return check(name, value)
        except ValueError:
            raise refusal(name, value, expected) from None

    return checked


def _columns(name: str, value: Any) -> Any:
    if value is None or (isinstance(value, Mapping) and set(value.values()) <= {*get_args(Kind)}):
        return value
    raise refusal(name, value, f"{listed(GIVEN)} by column name, such as {{'zip': 'category'}}")


_at_least_1, _above_0 = partial(whole, least=1), partial(number, least=0.0, above=True)
_number_or_auto = _or_auto(_at_least_1, f"a whole number of at least 1, or {AUTO!r}")
_size = _or_auto(select_size, f"{SIZES}, {AUTO!r}, {ALL}")
_weight = _or_auto(_above_0, f"{AUTO!r}, or a weight above 0 for each view")

PARAMETERS = {
    "n_clusters": Parameter(_number_or_auto, "learns"),
    "n_features_per_view": Parameter(_size, "ranks", per_view=True),
    "n_features_to_select": Parameter(or_none(_size), "ranks"),
    # Checked against the columns of X.
    "views": Parameter(lambda name, value: value, "reads"),
    "columns": Parameter(_columns, "reads"),
    "prepare": Parameter(steps_of, "learns"),
    "criterion": Parameter(_criterion, "ranks"),
    "view_weight": Parameter(_weight, "learns", per_view=True),
    "sample_size": Parameter(_at_least_1, "learns"),
    "batch_size": Parameter(_at_least_1, "learns"),
    "half_life": Parameter(or_none(_above_0), "learns"),
    "new_features": Parameter(partial(one_of, allowed=get_args(NewFeatures)), "learns"),
    "detect_drift": Parameter(partial(one_of, allowed=(True, False)), "learns"),
    "random_state": Parameter(seed, "seeds"),
}


# Those that must stay as they are while a stream is learned from.
LEARNING = tuple(name for name, each in PARAMETERS.items() if each.role == "learns")


def checked(name: str, value: Any, views: Sequence[str] | None = None) -> Any:
    """Return a parameter as the model takes it: for every view, where it may be given by view.

    `views` are their names in order, None if they are not known yet.

    Examples
    --------
    >>> checked("view_weight", 1, ["text", "image"])
    (1.0, 1.0)
    >>> checked("half_life", 0)
    Traceback (most recent call last):
    ValueError: Got half_life=0; expected a finite number above 0.
    """
    own = PARAMETERS[name]
    return by_view(name, value, own.check, views) if own.per_view else own.check(name, value)


def check_all(params: Mapping[str, Any], views: Sequence[str] | None = None) -> None:
    """Check every parameter that is given, as `checked` does."""
    for name, value in params.items():
        checked(name, value, views)


def check_unchanged(learned: Any, asked: Any) -> None:
    """Refuse to go on under other settings than those under which was learned so far."""
    for each in fields(learned):
        was, now = getattr(learned, each.name), getattr(asked, each.name)
        if was != now:
            raise ValueError(
                f"Got {each.name}={plain(now)!r}, but what was learned so far is of "
                f"{each.name}={plain(was)!r}; expected the same for all rows. Set it back, or call "
                "fit() to start anew."
            )


def plain(value: Any) -> Any:
    """Return a setting as it may have been typed: once, if it is the same for all views."""
    return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value


def resolve(params: Mapping[str, Any], views: Sequence[str], seed: int) -> Settings:
    """Return what decides what is learned, checked."""
    weights = checked("view_weight", params["view_weight"], views)
    return Settings(
        n_clusters=checked("n_clusters", params["n_clusters"]),
        sample_size=checked("sample_size", params["sample_size"]),
        half_life=checked("half_life", params["half_life"]),
        view_weights=weights,
        detect_drift=checked("detect_drift", params["detect_drift"]),
        seed=seed,
    )


def total_of(asked: Any, schema: Schema) -> int:
    """Return how many features to select in all: of a share so many, and at most all there are.

    Examples
    --------
    >>> schema = Schema(("text", "image"), (80, 20), (None, None))
    >>> total_of(0.1, schema), total_of(500, schema)
    (10, 100)
    >>> total_of(1, schema)
    Traceback (most recent call last):
    ValueError: Got n_features_to_select=1 for 2 views; expected at least 2, one for each view.
    """
    size, n = checked("n_features_to_select", asked), len(schema.widths)
    every = sum(schema.widths)
    if isinstance(size, float):
        return max(n, round(size * every))
    if size < n:
        raise ValueError(
            f"Got n_features_to_select={size} for {n} views; expected at least {n}, one for each "
            "view."
        )
    return int(min(size, every))
