"""What a report says, as plain values: all that is worked out, so that the page only shows it."""

import math
import platform
import sys
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray

from omvfs.fitted import FittedState, digest
from omvfs.model.arrays import squared_row_norms
from omvfs.model.clustering import view_agreement
from omvfs.model.explanation import means_by_cluster
from omvfs.results import FEWEST, Curve, TooFewRowsError, cut

# How much a report holds at most, whatever was learned from; what is left out, it says.
# Views, clusters, and pairs of them that are described in full.
VIEWS, CLUSTERS, IN_FULL = 24, 200, 240
# Features of all views, of one view, and of one view in the description of a cluster.
FEATURES, FEATURES_OF_VIEW, TELLING = 240, 200, 6
# Points of a line, changes of the stream, and example rows of a cluster.
POINTS, EVENTS, EXAMPLES = 160, 20, 3
# Characters of a name, of what is said of a run, and how many things are said of it.
LETTERS, COMMAND, LINES = 64, 2000, 20
# Of the first and the last fifth of the rows, so many are told apart, if so large a share moved.
_FIFTH, _SORTED = 20, 0.5
# Features of a view that are named at first, and clusters whose means are drawn.
_BEST, BARS = 10, 40
# So many times as much of a feature has a cluster, at least, that is described by it.
_MORE = 1.05
# What a page on the way says of what is worked out at the end.
_LATER = "It is worked out when all rows are read."
# What a change is owed to, mostly.
KINDS = {"shares": "other shares of clusters", "fit": "rows that fit the clusters otherwise"}


def summarise(
    selector: Any,
    known: FittedState,
    name: str | None = None,
    examples: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    run: Mapping[str, Any] | None = None,
    state: str = "finished",
) -> dict[str, Any]:
    """Return what a report says, as values that JSON can hold, as many whatever was learned from.

    Parameters
    ----------
    selector : OMVFS
        One that has learned.
    known : FittedState
        What it has learned.
    name : str, default=None
        What the data are called.
    examples : mapping of int to sequence of mapping, default=None
        Rows of clusters, by what they are called.
    run : mapping of str to object, default=None
        How it was made, if by a command.
    state : {"finished", "running", "stopped"}, default="finished"
        Where the run stands. Unless it is finished, what takes long is left out: the verdict, how
        good the selection is, and how much of it stays.
    """
    schema, done = selector.schema_, state == "finished"
    views, sizes = schema.names[:VIEWS], selector._sizes()
    scores, notes = selector.view_scores_, selector.feature_notes()
    order = {view: np.argsort(-scores[view], kind="stable")[: sizes[view]] for view in views}
    verdict = selector.verdict() if done else None
    quality, why_not = _quality(selector, views) if done else (None, _LATER)
    stability = None if verdict is None else verdict.stability
    return {
        "state": state,
        "name": None if name is None else cut(name),
        "rows": selector.n_samples_seen_,
        "n_clusters": selector.n_clusters_,
        "counted": selector.get_params().get("n_clusters") == "auto",
        "n_views": len(schema.names),
        "n_features": int(sum(schema.widths)),
        "n_selected": int(sum(sizes.values())),
        "verdict": [] if verdict is None else verdict.sentences,
        "holds": None if verdict is None else verdict.holds,
        "best": [
            {
                "view": cut(view),
                "features": _names(selector, v, order[view][:_BEST]),
                "noise": verdict is not None and not verdict.views[view].holds,
            }
            for v, view in enumerate(views)
        ],
        "views": _views(selector, known, views, notes, sizes, verdict),
        "columns": _columns(known),
        "agreement": _agreement(known, len(views)) if done else None,
        "clusters": _clusters(selector, views, examples),
        "smallest": plain(min(1.0, FEWEST / max(len(known.answers.state.sample), 1))),
        "features": _features(selector, known, views, notes, order, scores, stability),
        "quality": quality,
        "unknown": why_not,
        "stability": _stable(stability, views),
        "stream": _stream(selector) | {"order": in_order(selector, known)},
        "made": _made(selector, known, scores, run),
    }


def _names(selector: Any, v: int, places: NDArray[np.intp]) -> list[str]:
    names = selector.schema_.feature_names[v]
    return [f"#{j}" if names is None else cut(names[j]) for j in places.tolist()]


def in_order(selector: Any, known: FittedState) -> str:
    """Say that the rows come as if sorted by their clusters; nothing if they do not.

    Nor of few rows, which may by chance, and if somebody has asked for changes or forgets rows.
    """
    sample, fifth = known.answers.state.sample, len(known.answers.state.sample) // 5
    if fifth < _FIFTH or selector.detect_drift or selector.half_life is not None:
        return ""
    labels = known.answers.clustering.labels[np.argsort(sample.arrived, kind="stable")]
    first, last = (
        np.bincount(part, minlength=labels.max() + 1) for part in (labels[:fifth], labels[-fifth:])
    )
    moved = np.abs(first - last).sum() / (2 * fifth)
    if moved <= _SORTED:
        return ""
    return (
        f"The rows come in an order: {moved:.0%} of the last rows would have to be in other "
        "clusters to be as the first ones. If it means nothing, shuffle them; if it is that of "
        "time, see detect_drift (--detect-drift) and half_life (--half-life)."
    )


def preparation(steps: Mapping[str, Sequence[str]]) -> str:
    """Say what steps the rows of each view go through.

    Examples
    --------
    >>> preparation({"text": ("log1p", "l2"), "image": (), "sound": ("scale",)})
    'Steps before learning: text: log1p, l2; image: none; sound: scale (--prepare sets others).'
    """
    views = [f"{cut(view)}: {', '.join(own) or 'none'}" for view, own in steps.items()]
    more = f"; and those of {len(views) - VIEWS:,} more views" if len(views) > VIEWS else ""
    return f"Steps before learning: {'; '.join(views[:VIEWS])}{more} (--prepare sets others)."


def versions() -> dict[str, str]:
    """Return the versions of what a ranking is made with."""
    # The package is loaded by now; it is above all layers, and not for them to import.
    own: str = sys.modules["omvfs"].__version__
    return {
        "omvfs": own,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


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


def _views(
    selector: Any,
    known: FittedState,
    views: Sequence[str],
    notes: Mapping[str, Any],
    sizes: Mapping[str, int],
    verdict: Any,
) -> list[dict[str, Any]]:
    """Return what came in and what it contributes, view by view."""
    sample, weights = known.answers.state.sample, selector.view_weights_
    found = []
    for v, view in enumerate(views):
        shares, has = notes[view].share_of_rows, sample.present[:, v]
        lengths = squared_row_norms(known.answers.rows[v][np.flatnonzero(has)], np.float64)
        own = None if verdict is None else verdict.views[view]
        found.append(
            {
                "view": cut(view),
                "n_features": selector.schema_.widths[v],
                "named": selector.schema_.feature_names[v] is not None,
                "n_selected": sizes[view],
                "nonzero": plain(np.mean(shares)),
                "has_view": plain(np.mean(has)),
                "empty": plain(np.mean(lengths == 0)) if has.any() else None,
                "steps": ", ".join(known.preparation.steps[v]),
                "weight": plain(weights[view]),
                "agreement": None if own is None else plain(own.agreement),
                "noise": own is not None and not own.holds,
            }
        )
    return found


def _columns(known: FittedState) -> list[dict[str, Any]]:
    """Return what is known of the columns of a table, and what became of them."""
    columns = () if known.table is None else known.table.columns[:FEATURES]
    return [
        {
            "name": cut(own.name),
            "kind": own.kind,
            "missing": plain(own.missing),
            "distinct": own.distinct,
            "example": cut(own.example),
            "becomes": own.becomes,
        }
        for own in columns
    ]


def _agreement(known: FittedState, n: int) -> list[list[float | None]] | None:
    """Return how far views agree on which rows are alike, each with each."""
    if n < 2:
        return None
    found = view_agreement(known.answers.embedded[:n])
    return [[plain(each) for each in row] for row in found.tolist()]


def _clusters(
    selector: Any,
    views: Sequence[str],
    examples: Mapping[int, Sequence[Mapping[str, Any]]] | None,
) -> list[dict[str, Any]]:
    """Return what clusters are about, the largest first."""
    n = max(1, min(TELLING, 4 * TELLING // len(views)))
    about = {view: selector.cluster_features(n=n, view=view) for view in views}
    shares, names, found = selector.cluster_shares_, selector.cluster_names_, []
    for place, k in enumerate(np.argsort(-shares, kind="stable")[:CLUSTERS].tolist()):
        own: dict[str, Any] = {"cluster": k, "name": names[k], "share": plain(shares[k])}
        if place < min(48, IN_FULL // len(views)):
            # By few rows a feature may tell a cluster that has less of it than others.
            own["views"] = [
                {
                    "view": cut(view),
                    "features": [
                        _telling(each) for each in about[view][k] if each.strength > _MORE
                    ],
                }
                for view in views
            ]
            rows = (examples or {}).get(k, ())[:EXAMPLES]
            own["examples"] = [{cut(a): cut(str(b)) for a, b in row.items()} for row in rows]
        found.append(own)
    return found


def _telling(each: Any) -> dict[str, Any]:
    return {
        **_called(each.view, each.feature),
        "strength": plain(each.strength),
        "part": plain(each.part),
    }


def _called(view: str, feature: str | int) -> dict[str, Any]:
    """Return what a feature is called: by a name, or by its number in a view."""
    if isinstance(feature, str):
        return {"name": cut(feature)}
    return {"name": None, "view": cut(view), "number": feature}


def _features(
    selector: Any,
    known: FittedState,
    views: Sequence[str],
    notes: Mapping[str, Any],
    order: Mapping[str, NDArray[np.intp]],
    scores: Mapping[str, NDArray[Any]],
    stability: Any,
) -> list[dict[str, Any]]:
    """Return the best selected features of every view, and why they are."""
    found, called = [], selector.cluster_names_
    shown = max(10, min(FEATURES_OF_VIEW, FEATURES // len(views)))
    for v, view in enumerate(views):
        names, own, best = selector.schema_.feature_names[v], notes[view], order[view][:shown]
        bars = _bars(known, v, best)
        rows = []
        for i, j in enumerate(best.tolist()):
            repeats, often = int(own.repeats[j]) if own.is_repeat(j) else -1, None
            if stability is not None:
                often = plain(stability.views[view].frequencies[j])
            rows.append(
                {
                    "rank": i + 1,
                    "number": j,
                    "name": _feature(names, j),
                    "score": plain(scores[view][j]),
                    "explained": plain(own.explained[j]),
                    "cluster": None if own.cluster[j] < 0 else int(own.cluster[j]),
                    "tells": cut(own.tells(j, called), COMMAND),
                    "bars": bars[i],
                    "repeats": None if repeats < 0 else _feature(names, repeats),
                    "repeats_number": None if repeats < 0 else repeats,
                    "r": None if repeats < 0 else plain(own.r[j]),
                    "often": often,
                }
            )
        found.append(
            {
                "view": cut(view),
                "n_features": selector.schema_.widths[v],
                "n_selected": len(order[view]),
                "features": rows,
            }
        )
    return found


def _bars(known: FittedState, v: int, best: NDArray[np.intp]) -> list[list[float | None]]:
    """Return the means of some features by cluster, from 0, the least, to 1, the most."""
    means = np.nan_to_num(means_by_cluster(known.answers.reclustered.views[v].on(best)))
    if means.shape[1] > BARS:
        return [[] for _ in best]
    least = np.minimum(means.min(axis=1, initial=0), 0)[:, np.newaxis]
    span = means.max(axis=1, initial=0)[:, np.newaxis] - least
    parts = np.divide(means - least, span, out=np.zeros_like(means), where=span > 0)
    return [[plain(each) for each in row] for row in parts.round(3).tolist()]


def _feature(names: Sequence[str] | None, j: int) -> str | None:
    return None if names is None else cut(str(names[j]))


def _quality(selector: Any, views: Sequence[str]) -> tuple[dict[str, Any] | None, str]:
    """Return how much of the clusters features reproduce by their number, or why nobody knows."""
    try:
        quality = selector.selection_quality_
    except TooFewRowsError as error:
        return None, cut(str(error), COMMAND)
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


def _stable(found: Any, views: Sequence[str]) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "n_resamples": found.n_resamples,
        "stays": [plain(each) for each in found.stays],
        "as_one": plain(found.as_one),
        "clusters": plain(found.clusters),
        "views": [
            {
                "view": cut(view),
                "stays": [plain(value) for value in found.views[view].stays],
                "always": int(np.count_nonzero(found.views[view].frequencies == 1)),
                "ever": int(np.count_nonzero(found.views[view].frequencies)),
                "either": [
                    [cut(str(name)) for name in each[:TELLING]]
                    for each in found.views[view].either[:TELLING]
                ],
            }
            for view in views
        ],
    }


def _stream(selector: Any) -> dict[str, Any]:
    """Return what happened along the stream: chunks, fit, and changes."""
    infos = list(selector.history_)
    n_rows = sum(each.n_rows for each in infos)
    # Of a stream of more chunks than are remembered, the last.
    before = selector.n_samples_seen_ - n_rows
    ends = [before + n for n in accumulate(each.n_rows for each in infos)]
    events = selector.drift_ if getattr(selector, "detect_drift", False) else None
    return {
        "n_chunks": len(infos),
        "rows_of_chunks": n_rows,
        "seconds": plain(sum(each.seconds for each in infos)),
        "n_reclustered": sum(each.reclustered for each in infos),
        "fit": _fit(infos, ends),
        "events": None if events is None else list(map(_event, events[-EVENTS:])),
        "n_events": None if events is None else len(events),
    }


def _fit(infos: Sequence[Any], ends: Sequence[int]) -> dict[str, Any]:
    """Return how well rows fit, the mean over the chunks that a point of the line stands for."""
    n = min(len(infos), POINTS)
    cuts = [round(i * len(infos) / n) for i in range(n + 1)] if n else [0]
    found = []
    for a, b in pairwise(cuts):
        some = infos[a:b]
        whole = sum(e.fit * e.n_rows for e in some)
        found.append(plain(whole / max(1, sum(e.n_rows for e in some))))
    return {"rows": [ends[b - 1] for b in cuts[1:]], "fit": found}


def _event(event: Any) -> dict[str, Any]:
    return {
        "row": event.row,
        "since": event.since,
        "kind": event.kind,
        "distance": plain(event.distance),
    }


def _made(
    selector: Any,
    known: FittedState,
    scores: Mapping[str, NDArray[Any]],
    run: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return how it was made: by what parameters and versions, and what to know it by."""
    default = type(selector)().get_params()
    return {
        "estimator": type(selector).__name__,
        "parameters": {
            name: {"value": cut(repr(value), 300), "set": repr(value) != repr(default[name])}
            for name, value in selector.get_params().items()
        },
        "versions": versions(),
        "rows_digest": known.key.hex(),
        "ranking_digest": digest(scores.values()).hex(),
        "run": {
            cut(str(name)): cut(_line(each), COMMAND)
            for name, each in list((run or {}).items())[:LINES]
        },
    }


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
