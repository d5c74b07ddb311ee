"""The parameters of OMVFS: how each is checked, what it decides, what the model makes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, get_args

from omvfs.data.schema import NewFeatures, Schema
from omvfs.model.constrained.recluster import ROWS_PER_CLUSTER
from omvfs.model.constrained.view_weights import FEWEST_ROWS
from omvfs.model.ranking.criteria import Named
from omvfs.model.ranking.request import Ranking
from omvfs.model.settings import AUTO, FEWEST_SAMPLED, Graph, Settings, Weight
from omvfs.parameters import (
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
from omvfs.selector import sizes_by_view

NegativeMode = Literal["error", "clip", "shift"]
Role = Literal["learns", "ranks", "reads", "seeds"]

# Every view has the same say.
BALANCED: Literal["balanced"] = "balanced"
# Features per view that are taken one after another when repetition is discounted.
_GREEDY_STEPS = 1000
# Starts and iterations at most: of more a call would hardly come to an end.
_MOST_STARTS, _MOST_ITERATIONS = 1000, 10_000


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
    return value if callable(value) else one_of(name, value, get_args(Named))


def _n_clusters(name: str, value: Any) -> Any:
    if isinstance(value, str) and value == AUTO:
        return AUTO
    try:
        return whole(name, value, least=1)
    except ValueError:
        expected = f"a whole number of at least 1, or {AUTO!r}"
        raise refusal(name, value, expected) from None


def _size(name: str, value: Any) -> Any:
    if isinstance(value, str) and value == AUTO:
        return AUTO
    return select_size(name, value, also=f", {AUTO!r}")


def _weight(name: str, value: Any) -> Weight:
    if value is None or (isinstance(value, str) and value == BALANCED):
        return None if value is None else 1.0
    if isinstance(value, str) and value == AUTO:
        return AUTO
    try:
        return number(name, value, least=0.0, above=True)
    except ValueError:
        weights = f"{BALANCED!r}, {AUTO!r}, a weight above 0 for each view"
        raise refusal(name, value, f"{weights}, or None to take them as they come") from None


_nonnegative = partial(number, least=0.0)
_at_least_1 = partial(whole, least=1)

PARAMETERS = {
    "n_clusters": Parameter(_n_clusters, "learns"),
    "n_features_per_view": Parameter(_size, "ranks", per_view=True),
    "n_features_to_select": Parameter(or_none(select_size), "ranks"),
    # Checked against the columns of X.
    "views": Parameter(lambda name, value: value, "reads"),
    "prepare": Parameter(steps_of, "learns"),
    "solver": Parameter(partial(one_of, allowed=("constrained", "paper")), "learns"),
    "criterion": Parameter(_criterion, "ranks"),
    "diversity": Parameter(_nonnegative, "ranks"),
    "recency": Parameter(partial(number, least=0.0, most=1.0), "ranks"),
    "graph_weight": Parameter(_nonnegative, "learns", per_view=True),
    "sparsity": Parameter(_nonnegative, "learns", per_view=True),
    "orthogonality": Parameter(_nonnegative, "learns"),
    "batch_size": Parameter(_at_least_1, "learns"),
    "window": Parameter(or_none(_at_least_1), "learns"),
    "sample_size": Parameter(partial(whole, least=0), "learns"),
    "half_life": Parameter(or_none(partial(number, least=0.0, above=True)), "learns"),
    "graph": Parameter(partial(one_of, allowed=get_args(Graph)), "learns"),
    "n_neighbors": Parameter(_at_least_1, "learns"),
    "scale_columns": Parameter(partial(one_of, allowed=(True, False)), "learns"),
    "view_weight": Parameter(_weight, "learns", per_view=True),
    "negative": Parameter(partial(one_of, allowed=get_args(NegativeMode)), "learns"),
    "n_init": Parameter(partial(whole, least=1, most=_MOST_STARTS), "learns"),
    "max_iter": Parameter(partial(whole, least=1, most=_MOST_ITERATIONS), "learns"),
    "tol": Parameter(_nonnegative, "learns"),
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
    >>> checked("sparsity", 1, ["text", "image"])
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


def check_together(params: Mapping[str, Any], views: Sequence[str] | None = None) -> None:
    """Refuse parameters that do not go together, each of them checked by itself.

    Rows of the reservoir decide what is "auto", how many features of which view there are among
    `n_features_to_select`, and whether the stream has changed: there must be enough of them.

    Examples
    --------
    >>> check_together({"n_features_per_view": "auto", "n_clusters": 8, "sample_size": 0})
    Traceback (most recent call last):
    ValueError: Got n_features_per_view='auto' with sample_size=0; expected a number, or a sample \
of at least 80 rows, 10 for each cluster.
    """
    n_clusters, sample_size = params["n_clusters"], params["sample_size"]
    paper = params.get("solver") == "paper"

    def needs_sample(asked: str, instead: str, least: int, why: str = "") -> None:
        if sample_size < least:
            raise ValueError(
                f"Got {asked} with sample_size={sample_size}; expected {instead}a sample of at "
                f"least {least:,} rows{why}."
            )

    if n_clusters == AUTO:
        if paper:
            raise ValueError(
                "Got n_clusters='auto'; expected a number of clusters: OMVFSPaper keeps no rows "
                "that could tell it."
            )
        needs_sample("n_clusters='auto'", "a number of clusters, or ", 1)
    least = ROWS_PER_CLUSTER * (1 if n_clusters == AUTO else n_clusters)
    each, total = f", {ROWS_PER_CLUSTER} for each cluster", params.get("n_features_to_select")
    if total is not None:
        asked = f"n_features_to_select={total!r}"
        needs_sample(asked, "a number for each view, or ", least, each)
    elif AUTO in checked("n_features_per_view", params["n_features_per_view"], views):
        needs_sample("n_features_per_view='auto'", "a number, or ", least, each)
    if AUTO in checked("view_weight", params.get("view_weight"), views):
        if paper:
            raise ValueError(
                "Got view_weight='auto' for OMVFSPaper, which keeps no rows that could decide it; "
                "expected 'balanced', a weight above 0 for each view, or None."
            )
        needs_sample("view_weight='auto'", "weights, or ", FEWEST_ROWS)
    if params.get("detect_drift"):
        _check_watched(params, needs_sample)


def _check_watched(params: Mapping[str, Any], needs_sample: Callable[..., None]) -> None:
    """Refuse to look for changes of the stream where they cannot be noticed."""
    watched = "detect_drift=True"
    why = ", half of which are the recent ones that a change is told by"
    needs_sample(watched, "", FEWEST_SAMPLED, why)
    if params["n_clusters"] == AUTO:
        raise ValueError(
            f"Got {watched} with n_clusters='auto'; expected a number of clusters: what is "
            "measured by one number of them cannot be compared with another. Leave one of the two "
            "out."
        )
    if params.get("new_features") == "grow":
        raise ValueError(
            f"Got {watched} with new_features='grow'; expected one of them: what is measured by "
            "features of one time cannot be compared with others. Hash the features with "
            "prepare='hash:20' (--prepare hash:20), or leave one out."
        )


def check_unchanged(learned: Settings, asked: Settings) -> None:
    """Refuse to go on under other settings than those under which was learned so far."""
    for each in fields(Settings):
        was, now = getattr(learned, each.name), getattr(asked, each.name)
        if was != now:
            raise ValueError(
                f"Got {each.name}={plain(now)!r}, but what was learned so far is of "
                f"{each.name}={plain(was)!r}; expected the same for all rows. Set it back, or call "
                "fit() to start anew."
            )


def plain(value: Any) -> Any:
    """Return a setting as it may have been typed: once, if it is the same for all views.

    Examples
    --------
    >>> plain((3.0, 3.0)), plain((3.0, 1.0))
    (3.0, (3.0, 1.0))
    """
    return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value


def resolve(params: Mapping[str, Any], views: Sequence[str]) -> Settings:
    """Return what decides what is learned, checked, and for every view its own."""
    names = [field.name for field in fields(Settings)]
    return Settings(**{name: checked(name, params[name], views) for name in names})


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


def resolve_ranking(params: Mapping[str, Any], schema: Schema) -> Ranking:
    """Return what decides how features are ranked, checked."""
    asked = checked("n_features_per_view", params["n_features_per_view"], schema.names)
    if params.get("n_features_to_select") is not None:
        asked = (1,) * len(schema.names)  # not looked at
    # What is enough is found among fewer features than are taken one after another in any case.
    given = dict(zip(schema.names, (1 if size == AUTO else size for size in asked), strict=True))
    sizes = sizes_by_view(given, schema).values()
    # Of a view that is kept whole the order changes nothing.
    most = max((n for n, width in zip(sizes, schema.widths, strict=True) if n < width), default=0)
    names = [field.name for field in fields(Ranking) if field.name in PARAMETERS]
    own = {name: checked(name, params[name]) for name in names}
    return Ranking(**own, n_steps=max(most, _GREEDY_STEPS))
