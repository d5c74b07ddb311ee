"""The parameters of OMVFS: how each is checked, what it decides, what the model makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, get_args

from omvfs.data.schema import NewFeatures, Remainder, Schema
from omvfs.model.constrained.recluster import ROWS_PER_CLUSTER
from omvfs.model.constrained.view_weights import FEWEST_ROWS
from omvfs.model.ranking.criteria import Named
from omvfs.model.ranking.request import Ranking
from omvfs.model.settings import AUTO, FEWEST_SAMPLED, Graph, Settings, Weight
from omvfs.parameters import Check, by_view, number, one_of, or_none, seed, select_size, whole
from omvfs.prepare import steps_of
from omvfs.selector import sizes_by_view
from omvfs.wording import Clause, Sentence, Setting

NegativeMode = Literal["error", "clip", "shift"]
Role = Literal["learns", "ranks", "reads", "tells", "seeds"]

# Every view has the same say.
BALANCED: Literal["balanced"] = "balanced"
# Features per view that are taken one after another when repetition is discounted.
_GREEDY_STEPS = 1000
# Starts and iterations at most: of more a call would hardly come to an end.
_MOST_STARTS, _MOST_ITERATIONS = 1000, 10_000


@dataclass(frozen=True)
class Parameter:
    """What there is to know of a parameter beside its default, which the signature tells.

    Attributes
    ----------
    check : callable
        Given the name and a value, returns it as the model takes it, or says what is wrong.
    role : {"learns", "ranks", "reads", "tells", "seeds"}
        What it decides: what is learned, how what was learned is ranked and selected, how one X
        splits into views, who is asked and told of changes of the stream, or where random choices
        begin. Those that rank, read or tell may change at any time; those that tell are not saved.
    per_view : bool
        Whether it may be a mapping with a value for each view.
    """

    check: Check
    role: Role
    per_view: bool = False


def _criterion(name: str, value: Any) -> Any:
    return value if callable(value) else one_of(name, value, get_args(Named))


def _n_clusters(name: str, value: Any) -> Any:
    if isinstance(value, str) and value == AUTO:
        return AUTO
    try:
        return whole(name, value, least=1)
    except ValueError:
        counts = Clause("numbers of clusters", f"a whole number of at least 1, or {AUTO!r}")
        raise ValueError(
            Sentence("Got ", Setting(name, value), "; expected ", counts, ".")
        ) from None


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
        weights = (
            f"{BALANCED!r}, {AUTO!r}, a weight above 0 for each view, or None to take them as they "
            "come"
        )
        raise ValueError(
            Sentence("Got ", Setting(name, value), "; expected ", Clause("weights", weights), ".")
        ) from None


def listener(name: str, value: Any) -> Any:
    """Return a callable that is told of events, or None; refuse anything else."""
    if value is None or callable(value):
        return value
    raise ValueError(
        Sentence(
            "Got ",
            Setting(name, value),
            "; expected ",
            Clause("listener", "a callable, or None for nobody"),
            ".",
        )
    )


def detector(name: str, value: Any) -> Any:
    """Return a detector, or None for the test of the library; refuse anything else.

    Examples
    --------
    >>> detector("drift_detector", 3)
    Traceback (most recent call last):
    ValueError: Got drift_detector=3; expected an object with update(x) and drift_detected, such \
as river's ADWIN(), or None.
    """
    if value is None or isinstance(value, type):
        sound = value is None
    else:
        sound = callable(getattr(value, "update", None)) and hasattr(value, "drift_detected")
    if sound:
        return value
    raise ValueError(
        Sentence(
            "Got ",
            Setting(name, value),
            "; expected ",
            Clause(
                "detector",
                "an object with update(x) and drift_detected, such as river's ADWIN(), or None",
            ),
            ".",
        )
    )


def check_watched(params: Any) -> None:
    """Refuse to notice changes where nothing can be noticed, or to tell what is not looked for.

    Parameters
    ----------
    params : mapping of str to object
        Parameters of the estimator by name, each checked by itself.

    Examples
    --------
    >>> check_watched({"detect_drift": True, "sample_size": 10})
    Traceback (most recent call last):
    ValueError: Got detect_drift=True with sample_size=10; expected a sample of at least 80 rows, \
half of which are the recent ones that a change is told by.
    """
    if not params["detect_drift"]:
        for name in ("on_drift", "drift_detector"):
            if params.get(name) is not None:
                raise ValueError(
                    Sentence(
                        f"Got {name} with ",
                        Setting("detect_drift", False),
                        ", by which it is never asked. Set ",
                        Setting("detect_drift", True),
                        f", or leave {name} out.",
                    )
                )
        return
    refused = {
        "sample_size": f"a sample of at least {FEWEST_SAMPLED} rows, half of which are the recent "
        "ones that a change is told by."
        if params["sample_size"] < FEWEST_SAMPLED
        else "",
        "n_clusters": "a number of clusters: what is measured by one number of them cannot be "
        "compared with another. Leave one of the two out."
        if params.get("n_clusters") == "auto"
        else "",
        "new_features": "one of them: what is measured by features of one time cannot be compared "
        "with others. Hash the features, or leave one out."
        if params.get("new_features") == "grow"
        else "",
    }
    for name, expected in refused.items():
        if expected:
            watched, other = Setting("detect_drift", True), Setting(name, params[name])
            raise ValueError(Sentence("Got ", watched, " with ", other, f"; expected {expected}"))


_nonnegative = partial(number, least=0.0)
_at_least_1 = partial(whole, least=1)

PARAMETERS = {
    "n_clusters": Parameter(_n_clusters, "learns"),
    "n_features_per_view": Parameter(_size, "ranks", per_view=True),
    "n_features_to_select": Parameter(or_none(select_size), "ranks"),
    # Checked against the columns of X.
    "views": Parameter(lambda name, value: value, "reads"),
    "remainder": Parameter(partial(one_of, allowed=get_args(Remainder)), "reads"),
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
    "max_features": Parameter(or_none(_at_least_1), "learns", per_view=True),
    "detect_drift": Parameter(partial(one_of, allowed=(True, False)), "learns"),
    "drift_detector": Parameter(detector, "tells"),
    "on_drift": Parameter(listener, "tells"),
    "random_state": Parameter(seed, "seeds"),
}


def checked(name: str, value: Any, views: Sequence[str] | None = None) -> Any:
    """Return a parameter as the model takes it: for every view, where it may be given by view.

    Parameters
    ----------
    name : str
    value : object
    views : sequence of str or None, default=None
        Names of the views in order, None if they are not known yet.

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


def check_judgeable(params: Mapping[str, Any], views: Sequence[str] | None = None) -> None:
    """Refuse to let the data decide what they never can: how many features, and of which views.

    Parameters
    ----------
    params : mapping of str to object
        Parameters of the estimator by name, each checked by itself.
    views : sequence of str or None, default=None
        Names of the views in order, None if they are not known yet.

    Examples
    --------
    >>> check_judgeable({"n_features_per_view": "auto", "n_clusters": 8, "sample_size": 0})
    Traceback (most recent call last):
    ValueError: Got n_features_per_view='auto' with sample_size=0; expected a number, or a sample \
of at least 80 rows, 10 for each cluster.
    """
    n_clusters = params["n_clusters"]
    least = ROWS_PER_CLUSTER * (1 if n_clusters == AUTO else n_clusters)
    each = f", {ROWS_PER_CLUSTER} for each cluster"
    total = params.get("n_features_to_select")
    if total is not None:
        asked = Setting("n_features_to_select", total)
        _check_sampled(params, asked, "a number for each view", least, each)
    elif AUTO in checked("n_features_per_view", params["n_features_per_view"], views):
        asked = Setting("n_features_per_view", AUTO)
        _check_sampled(params, asked, "a number", least, each)
    if AUTO in checked("view_weight", params.get("view_weight"), views):
        asked = Setting("view_weight", AUTO)
        if params.get("solver") == "paper":
            raise ValueError(
                Sentence(
                    "Got ",
                    asked,
                    " for OMVFSPaper, which keeps no rows that could decide it; expected "
                    "'balanced', a weight above 0 for each view, or None.",
                )
            )
        _check_sampled(params, asked, "weights", FEWEST_ROWS)


def _check_sampled(
    params: Mapping[str, Any], asked: Setting, instead: str, least: int, why: str = ""
) -> None:
    """Refuse what the rows of the sample are to decide, if it never has enough of them."""
    if params["sample_size"] < least:
        raise ValueError(
            Sentence(
                "Got ",
                asked,
                " with ",
                Setting("sample_size", params["sample_size"]),
                f"; expected {instead}, or a sample of at least {least:,} rows{why}.",
            )
        )


def check_countable(params: Mapping[str, Any]) -> None:
    """Refuse to let the data tell how many clusters there are where they never can.

    Parameters
    ----------
    params : mapping of str to object
        Parameters of the estimator by name, each checked by itself.

    Examples
    --------
    >>> check_countable({"n_clusters": "auto", "solver": "constrained", "sample_size": 0})
    Traceback (most recent call last):
    ValueError: Got n_clusters='auto' with sample_size=0; expected a number of clusters, or a \
sample of rows to tell it.
    """
    if params["n_clusters"] != AUTO:
        return
    got = Sentence("Got ", Setting("n_clusters", AUTO))
    if params.get("solver") == "paper":
        raise ValueError(
            Sentence(
                got,
                "; expected a number of clusters: OMVFSPaper keeps no rows that could tell it.",
            )
        )
    if not params["sample_size"]:
        raise ValueError(
            Sentence(
                got,
                " with ",
                Setting("sample_size", 0),
                "; expected a number of clusters, or a sample of rows to tell it.",
            )
        )


def check_unchanged(learned: Settings, asked: Settings) -> None:
    """Refuse to go on under other settings than those under which was learned so far.

    Parameters
    ----------
    learned, asked : Settings
    """
    for each in fields(Settings):
        was, now = getattr(learned, each.name), getattr(asked, each.name)
        if was != now:
            raise ValueError(
                Sentence(
                    "Got ",
                    Setting(each.name, plain(now)),
                    ", but what was learned so far is of ",
                    Setting(each.name, plain(was)),
                    "; expected the same for all rows. Set it back",
                    Clause("or start anew", ", or call fit() to start anew"),
                    ".",
                )
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
    """Return what decides what is learned, checked, and for every view its own.

    Parameters
    ----------
    params : mapping of str to object
        Parameters of the estimator by name, those of `Settings` among them.
    views : sequence of str
        Names of the views, in order.
    """
    names = [field.name for field in fields(Settings)]
    own = {name: checked(name, params[name], views) for name in names}
    return Settings(**own)


def total_of(asked: Any, schema: Schema) -> int:
    """Return how many features to select in all: of a share so many, and at most all there are.

    Parameters
    ----------
    asked : int or float
    schema : Schema
        Of the views.

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
            Sentence(
                "Got ",
                Setting("n_features_to_select", size),
                f" for {n} views; expected at least {n}, one for each view.",
            )
        )
    return int(min(size, every))


def resolve_ranking(params: Mapping[str, Any], schema: Schema) -> Ranking:
    """Return what decides how features are ranked, checked.

    Parameters
    ----------
    params : mapping of str to object
        Parameters of the estimator by name, those that rank among them.
    schema : Schema
        Of the views.
    """
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
