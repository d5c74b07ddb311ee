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
from omvfs.results import Curve, TooFewRowsError

# How much a report holds at most, whatever was learned from; what is left out, it says.
# Views, clusters, and pairs of them that are described in full.
VIEWS, CLUSTERS, IN_FULL = 24, 200, 240
# Features of all views, of one view, and of one view in the description of a cluster.
FEATURES, FEATURES_OF_VIEW, TELLING = 240, 200, 6
# Points of a line, changes of the stream, and example rows of a cluster.
POINTS, EVENTS, EXAMPLES = 160, 20, 3
# Characters of a name, of what is said of a run, and how many things are said of it.
LETTERS, COMMAND, LINES = 64, 2000, 20
# Of the rows of the sample, those that a resample draws.
_SHARE = 0.5
# Features that fewer rows have than this name a cluster: what most rows have says little.
_RARE = 0.5
# Of the first and the last fifth of the rows, so many are told apart, if so large a share moved.
_FIFTH, _SORTED = 20, 0.5
# Features that a cluster is named by, and clusters that a feature is said to stand for.
_IN_NAME, _STANDS_FOR = 3, 2
# What a change is owed to, mostly.
KINDS = {"shares": "other shares of clusters", "fit": "rows that fit the clusters otherwise"}


def summarise(
    selector: Any,
    known: FittedState,
    sizes: Mapping[str, int],
    n_resamples: int,
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
    sizes : mapping of str to int
        How many features are selected, by view.
    n_resamples : int
        How often rows are drawn to tell how much of the selection stays; 0 for not at all.
    examples : mapping of int to sequence of mapping, default=None
        Rows of clusters, by what they are called.
    run : mapping of str to object, default=None
        How it was made, if by a command.
    state : {"finished", "running", "stopped"}, default="finished"
        Where the run stands. Unless it is finished, what takes long is left out: how good the
        selection is, and how much of it stays.
    """
    schema = selector.schema_
    views = schema.names[:VIEWS]
    scores, notes = selector.view_scores_, selector.feature_notes()
    order = {view: np.argsort(-scores[view], kind="stable")[: sizes[view]] for view in views}
    later = "It is worked out when all rows are read."
    done = state == "finished"
    stability, unstable = _stability(selector, n_resamples) if done else (None, later)
    quality, unjudged = _quality(selector, views) if done else (None, later)
    return {
        "state": state,
        "rows": selector.n_samples_seen_,
        "n_clusters": selector.n_clusters_,
        "counted": selector.get_params().get("n_clusters") == "auto",
        "n_views": len(schema.names),
        "n_features": int(sum(schema.widths)),
        "n_selected": int(sum(sizes.values())),
        "verdict": verdict(selector) if done else "",
        "views": _views(selector, known, views, notes, sizes, quality),
        "columns": _columns(known),
        "agreement": _agreement(known, len(views)) if done else None,
        "clusters": _clusters(selector, views, notes, order, examples),
        "features": _features(selector, known, views, notes, order, scores, stability),
        "quality": quality,
        "unjudged": unjudged,
        "stability": _stable(stability, views),
        "unstable": unstable,
        "stream": _stream(selector) | {"order": in_order(selector, known)},
        "made": _made(selector, known, scores, run),
    }


def verdict(selector: Any) -> str:
    """Say how good the selection is and how many features would do; nothing if nobody can.

    Nor if views differ in the number of their features that are selected, but for those that have
    no more.

    Parameters
    ----------
    selector : OMVFS
    """
    sizes = [int(mask.sum()) for mask in selector.view_support_.values()]
    in_all = selector.n_features_to_select is not None
    asked = sum(sizes) if in_all else max(sizes)
    alike = [min(asked, width) for width in selector.schema_.widths]
    if sizes != alike and not in_all:
        return ""
    try:
        quality = selector.selection_quality_
    except TooFewRowsError:
        return ""
    enough, most = quality.levels_off_at, int(quality.sizes[-1])
    best, there = (f"{100 * quality.at(n):.0f} %" for n in (asked, enough))
    named = f"{asked:,} feature{'s' if asked > 1 else ''}"
    if asked > most:
        named = f"The best {most:,} of {named}"
    of = "in all" if in_all else "a view"
    sentence = f"{named} {of} reproduce{'s' if asked == 1 else ''} {best} of the clusters"
    if enough < min(asked, most):
        return f"{sentence}; {enough:,} would do for {there}."
    return f"{sentence}; {enough:,} would reproduce {there}." if enough > asked else f"{sentence}."


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


def _views(
    selector: Any,
    known: FittedState,
    views: Sequence[str],
    notes: Mapping[str, Any],
    sizes: Mapping[str, int],
    quality: Mapping[str, Any] | None,
) -> list[dict[str, Any]]:
    """Return what came in and what it contributes, view by view."""
    sample, weights = known.answers.state.sample, selector.view_weights_
    found = []
    for v, view in enumerate(views):
        shares, has = notes[view].share_of_rows, sample.present[:, v]
        lengths = squared_row_norms(known.answers.rows[v][np.flatnonzero(has)], np.float64)
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
                "alone": None if quality is None else quality["views"][v]["at_selected"],
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
    notes: Mapping[str, Any],
    order: Mapping[str, NDArray[np.intp]],
    examples: Mapping[int, Sequence[Mapping[str, Any]]] | None,
) -> list[dict[str, Any]]:
    """Return what clusters are about, the largest first."""
    n = max(1, min(TELLING, 4 * TELLING // len(views)))
    about = {view: _about(selector, view, max(n, _IN_NAME)) for view in views}
    naming = _naming(views, notes, order)
    shares, found = selector.cluster_shares_, []
    for place, k in enumerate(np.argsort(-shares, kind="stable")[:CLUSTERS].tolist()):
        best = sorted((each for view in naming for each in about[view][k]), key=lambda e: -e.part)
        own: dict[str, Any] = {
            "cluster": k,
            "name": [_called(each.view, each.feature) for each in best[:_IN_NAME]],
            "share": plain(shares[k]),
        }
        if place < min(48, IN_FULL // len(views)):
            own["views"] = [
                {"view": cut(view), "features": list(map(_telling, about[view][k][:n]))}
                for view in views
            ]
            rows = (examples or {}).get(k, ())[:EXAMPLES]
            own["examples"] = [{cut(a): cut(str(b)) for a, b in row.items()} for row in rows]
        found.append(own)
    return found


def _about(selector: Any, view: str, n: int) -> dict[int, list[Any]]:
    """Return what a view says of clusters: the features that their rows have more of than all.

    By few rows a feature may correlate with a cluster that has less of it than others.
    """
    found = selector.cluster_features(n=n, view=view)
    return {k: [each for each in own if each.strength > 1] for k, own in found.items()}


def _naming(
    views: Sequence[str], notes: Mapping[str, Any], order: Mapping[str, NDArray[np.intp]]
) -> list[str]:
    """Return the views that clusters are named by: those of words, if there are any."""
    shares = {view: np.median(notes[view].share_of_rows[order[view]]) for view in views}
    return [view for view in views if shares[view] < _RARE] or list(views)


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
    found = []
    shown = max(10, min(FEATURES_OF_VIEW, FEATURES // len(views)))
    for v, view in enumerate(views):
        names, own = selector.schema_.feature_names[v], notes[view]
        best = order[view][:shown]
        sums = known.answers.reclustered.views[v].on(best)
        mean = sums.S.sum(axis=1, keepdims=True) / max(sums.n.sum(), 1.0)
        mean = known.in_units(v, best, mean.T).T
        means = known.in_units(v, best, np.nan_to_num(means_by_cluster(sums)).T).T
        strengths = np.divide(means, mean, out=np.zeros_like(means), where=mean != 0)
        # The first of a view is what its others are compared with.
        top = float(scores[view][best[0]]) if len(best) else 0.0
        rows = []
        for i, j in enumerate(best.tolist()):
            shares, repeats = own.share_of_rows, int(own.repeats[j])
            score = float(scores[view][j])
            kept = None if stability is None else stability.views[view].frequencies[j]
            rows.append(
                {
                    "rank": i + 1,
                    "number": j,
                    "name": _feature(names, j),
                    "score": plain(score),
                    "of_best": plain(score / top) if top > 0 else None,
                    "clusters": _stands_for(int(own.cluster[j]), strengths[i]),
                    "share_of_rows": plain(shares[j]),
                    "repeats": None if repeats < 0 else _feature(names, repeats),
                    "repeats_number": None if repeats < 0 else repeats,
                    "kept": plain(kept),
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


def _feature(names: Sequence[str] | None, j: int) -> str | None:
    return None if names is None else cut(str(names[j]))


def _stands_for(lead: int, strengths: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return the clusters that a feature stands for, the one that it stands for most first."""
    if lead < 0:
        return []
    others = [k for k in np.argsort(-strengths, kind="stable").tolist() if k != lead]
    named = [lead, *(k for k in others if strengths[k] > 1)][:_STANDS_FOR]
    return [{"cluster": k, "strength": plain(strengths[k])} for k in named]


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


def _stability(selector: Any, n_resamples: int) -> tuple[Any, str]:
    """Return how much of the selection stays, or why nobody knows."""
    if not n_resamples:
        return None, "Not asked for."
    try:
        return selector.stability(n_resamples), ""
    except TooFewRowsError as error:
        return None, cut(str(error), COMMAND)


def _stable(found: Any, views: Sequence[str]) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "n_resamples": found.n_resamples,
        "share_of_rows": _SHARE,
        "index": [plain(each) for each in found.index],
        "views": [
            {
                "view": cut(view),
                "index": [plain(value) for value in found.views[view].index],
                "always": int(np.count_nonzero(found.views[view].frequencies == 1)),
                "ever": int(np.count_nonzero(found.views[view].frequencies)),
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
