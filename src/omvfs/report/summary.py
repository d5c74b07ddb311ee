"""What a report says, as plain values: all that is worked out, so that the page shows it only."""

import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray

from omvfs.fitted import FittedState, digest
from omvfs.report.bounds import VIEWS, cut, plain
from omvfs.report.features import clusters_of, features_of
from omvfs.report.sentences import verdict
from omvfs.report.stream import stream_of
from omvfs.results import Curve, TooFewRowsError

# Of the rows of the reservoir, those that a resample draws.
_SHARE = 0.5
# Characters of what is told of a run, and how many things at most.
_COMMAND, _LINES = 2000, 20


def summarise(
    selector: Any,
    known: FittedState,
    sizes: Mapping[str, int],
    n_resamples: int,
    examples: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    run: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what a report says, as values that JSON can hold, as many whatever was learned from.

    Parameters
    ----------
    selector : OMVFS
        One that has learned.
    known : FittedState
        What it has learned.
    sizes : mapping of str to int
        How many features are selected, by view.
    n_resamples : int
        How often rows are drawn to tell how much of the selection stays; 0 for not at all.
    examples : mapping of int to sequence of mapping, default=None
        Rows of clusters, by what they are called.
    run : mapping of str to object, default=None
        How it was made, if by a command.
    """
    schema = selector.schema_
    views = schema.names[:VIEWS]
    scores, notes = selector.view_scores_, selector.feature_notes()
    order = {view: np.argsort(-scores[view], kind="stable")[: sizes[view]] for view in views}
    stability, unstable = _stability(selector, n_resamples)
    quality, unjudged = _quality(selector, views)
    history = selector.rank_history_
    return {
        "rows": selector.n_samples_seen_,
        "n_clusters": selector.n_clusters_,
        "counted": selector.get_params().get("n_clusters") == "auto",
        "n_views": len(schema.names),
        "n_features": int(sum(schema.widths)),
        "n_selected": int(sum(sizes.values())),
        "verdict": verdict(selector),
        "views": _views(selector, known, views, notes, sizes, quality),
        "agreement": _agreement(known, len(views)),
        "clusters": clusters_of(selector, views, notes, order, examples),
        "features": features_of(selector, known, views, notes, order, scores, stability, history),
        "quality": quality,
        "unjudged": unjudged,
        "stability": _stable(stability, views, n_resamples),
        "unstable": unstable,
        "stream": stream_of(selector, history, views),
        "made": _made(selector, known, scores, run),
    }


def _views(
    selector: Any,
    known: FittedState,
    views: Sequence[str],
    notes: Mapping[str, Any],
    sizes: Mapping[str, int],
    quality: Mapping[str, Any] | None,
) -> list[dict[str, Any]]:
    """Return what came in and what it contributes, view by view."""
    statistics = known.state.statistics
    weights, lost = selector.view_weights_, selector.n_features_forgotten_
    found = []
    for v, view in enumerate(views):
        own, shares = statistics.views[v], notes[view].share_of_rows
        rows = own.decayed_n_rows
        found.append(
            {
                "view": cut(view),
                "n_features": selector.schema_.widths[v],
                "named": selector.schema_.feature_names[v] is not None,
                "n_selected": sizes[view],
                "n_forgotten": lost[view],
                "nonzero": None if shares is None else plain(np.mean(shares)),
                "has_view": plain(rows / statistics.decayed_n_rows)
                if statistics.decayed_n_rows
                else None,
                "empty": plain(1 - own.filled_rows / rows) if rows else None,
                "weight": plain(weights[view]),
                "alone": None if quality is None else quality["views"][v]["at_selected"],
            }
        )
    return found


def _agreement(known: FittedState, n: int) -> list[list[float | None]] | None:
    """Return how far views agree on which rows are alike, each with each."""
    found = known.queries.view_agreement(n) if n > 1 else None
    return None if found is None else [[plain(each) for each in row] for row in found.tolist()]


def _quality(selector: Any, views: Sequence[str]) -> tuple[dict[str, Any] | None, str]:
    """Return how much of the clusters features reproduce by their number, or why nobody knows."""
    try:
        quality = selector.selection_quality_
    except TooFewRowsError as error:
        return None, cut(str(error))
    support = {view: int(mask.sum()) for view, mask in selector.view_support_.items()}
    in_all = getattr(selector, "n_features_to_select", None) is not None
    together = sum if in_all else max
    widths = dict(zip(selector.schema_.names, selector.schema_.widths, strict=True))
    return {
        "in_all": in_all,
        **_curve(quality, together(support.values()), together(widths.values())),
        "views": [
            {"view": cut(view), **_curve(quality.views[view], support[view], widths[view])}
            for view in views
        ],
    }, ""


def _curve(curve: Curve, chosen: int, most: int) -> dict[str, Any]:
    """Return a curve, what was chosen on it, and whether it levels off before all there are."""
    return {
        "sizes": curve.sizes.tolist(),
        "agreement": [plain(each) for each in curve.agreement],
        "spread": [plain(each) for each in curve.spread],
        "enough": curve.levels_off_at,
        "levels_off": bool(curve.levels_off_at < curve.sizes[-1] or curve.sizes[-1] >= most),
        "at_enough": plain(curve.at(curve.levels_off_at)),
        "selected": chosen,
        "at_selected": plain(curve.at(chosen)),
    }


def _stability(selector: Any, n_resamples: int) -> tuple[Any, str]:
    """Return how much of the selection stays, or why nobody knows."""
    if not n_resamples:
        return None, "Not asked for."
    try:
        return selector.stability(n_resamples, share=_SHARE, quick=True), ""
    except TooFewRowsError as error:
        return None, cut(str(error))


def _stable(found: Any, views: Sequence[str], n_resamples: int) -> dict[str, Any] | None:
    if found is None:
        return None
    own = {view: found.views[view] for view in views}
    return {
        "n_resamples": n_resamples,
        "share_of_rows": _SHARE,
        "index": [plain(each) for each in found.index],
        "views": [
            {
                "view": cut(view),
                "index": [plain(value) for value in each.index],
                "always": int(np.count_nonzero(each.frequencies == 1)),
                "ever": int(np.count_nonzero(each.frequencies)),
            }
            for view, each in own.items()
        ],
    }


def _made(
    selector: Any,
    known: FittedState,
    scores: Mapping[str, NDArray[Any]],
    run: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return how it was made: by what parameters and versions, and what to know it by."""
    default = type(selector)().get_params()
    params = selector.get_params()
    return {
        "estimator": type(selector).__name__,
        "parameters": {
            name: {"value": cut(repr(value)), "set": repr(value) != repr(default[name])}
            for name, value in params.items()
        },
        "versions": versions(),
        "rows_digest": known.key.hex(),
        "ranking_digest": digest(scores.values()).hex(),
        "run": _told(run),
    }


def _told(run: Mapping[str, Any] | None) -> dict[str, str]:
    """Return what is told of a run, a line each."""
    lines = {} if run is None else {str(name): _line(each) for name, each in run.items()}
    return {cut(name): cut(line, _COMMAND) for name, line in list(lines.items())[:_LINES]}


def _line(told: Any) -> str:
    """Return a value of any kind as one line.

    Examples
    --------
    >>> _line(["a", "b"]), _line({"numpy": "2.0"}), _line(3)
    ('a, b', 'numpy 2.0', '3')
    """
    if isinstance(told, Mapping):
        return ", ".join(f"{name} {_line(each)}" for name, each in told.items())
    return ", ".join(map(_line, told)) if isinstance(told, list | tuple) else str(told)


def versions() -> dict[str, str]:
    """Return the versions of what a ranking is made with."""
    # Of the package, which is there by now; it is above all rooms, and not for them to import.
    own: str = sys.modules["omvfs"].__version__
    return {
        "omvfs": own,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
