"""What a report says of clusters and of features."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.report.bounds import (
    CLUSTERS,
    EXAMPLES,
    FEW_POINTS,
    IN_FULL,
    cut,
    features_of_view,
    plain,
    spaced,
    telling_of_view,
)
from omvfs.selectors.rank_history import RankHistory

# Features that rows have less often than this name a cluster: what most rows have tells little by
# being there.
_RARE = 0.5
# Features that a cluster is named by, and clusters that a feature is said to stand for.
_IN_NAME, _STANDS_FOR = 3, 2


def clusters_of(
    selector: Any,
    views: Sequence[str],
    notes: Mapping[str, Any],
    order: Mapping[str, NDArray[np.intp]],
    examples: Mapping[int, Sequence[Mapping[str, Any]]] | None,
) -> list[dict[str, Any]]:
    """Return what clusters are about, the largest first.

    Parameters
    ----------
    selector : OMVFS
    views : sequence of str
        Those that are shown.
    notes : mapping of str to FeatureNotes
    order : mapping of str to int array
        Selected features by view, the best first.
    examples : mapping of int to sequence of mapping, or None
        Rows of clusters, by what they are called.
    """
    n = telling_of_view(len(views))
    about = {view: _about(selector, view, max(n, _IN_NAME)) for view in views}
    naming = _naming(views, notes, order)
    shares, recent = selector.cluster_shares_, selector.window_labels_
    K = selector.n_clusters_
    sizes = np.zeros(K) if shares is None else shares
    found = []
    for place, k in enumerate(np.argsort(-sizes, kind="stable")[:CLUSTERS].tolist()):
        best = sorted(
            (each for view in naming for each in about[view][k]),
            key=lambda each: -(each.strength if each.correlation is None else each.correlation),
        )
        own: dict[str, Any] = {
            "cluster": k,
            "name": [_called(each.view, each.feature) for each in best[:_IN_NAME]],
            "share": None if shares is None else plain(shares[k]),
            "share_of_last": plain(np.mean(recent == k)) if len(recent) else None,
            "n_last": len(recent),
        }
        if place < IN_FULL:
            own["views"] = [
                {"view": cut(view), "features": list(map(_telling, about[view][k][:n]))}
                for view in views
            ]
            rows = (examples or {}).get(k, ())[:EXAMPLES]
            own["examples"] = [{cut(a): cut(str(b)) for a, b in row.items()} for row in rows]
        found.append(own)
    return found


def features_of(
    selector: Any,
    known: Any,
    views: Sequence[str],
    notes: Mapping[str, Any],
    order: Mapping[str, NDArray[np.intp]],
    scores: Mapping[str, NDArray[Any]],
    stability: Any,
    history: RankHistory,
) -> list[dict[str, Any]]:
    """Return the best selected features of every view, and why they are.

    Parameters
    ----------
    selector : OMVFS
    known : FittedState
        What it has learned.
    views, notes, order
        As of `clusters_of`.
    scores : mapping of str to array
    stability : SelectionStability or None
    history : RankHistory
    """
    found = []
    for v, view in enumerate(views):
        names = selector.schema_.feature_names[v]
        best = order[view][: features_of_view(len(views))]
        strengths = known.queries.strengths(v, best)
        # The first of a view is what its others are compared with.
        top = float(scores[view][best[0]]) if len(best) else 0.0
        ranks = _ranks(history, view, best)
        own = notes[view]
        rows = []
        for i, j in enumerate(best.tolist()):
            shares, repeats = own.share_of_rows, int(own.repeats[j])
            score = float(scores[view][j])
            rows.append(
                {
                    "rank": i + 1,
                    "number": j,
                    "name": _feature(names, j),
                    "score": plain(score),
                    "of_best": plain(score / top) if top > 0 else None,
                    "clusters": _clusters(int(own.cluster[j]), strengths[i]),
                    "share_of_rows": None if shares is None else plain(shares[j]),
                    "repeats": None if repeats < 0 else _feature(names, repeats),
                    "repeats_number": None if repeats < 0 else repeats,
                    "kept": None
                    if stability is None
                    else plain(stability.views[view].frequencies[j]),
                    "ranks": None
                    if ranks is None or not ranks[:, i].any()
                    else ranks[:, i].tolist(),
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


def _about(selector: Any, view: str, n: int) -> dict[int, list[Any]]:
    """Return what a view says of clusters: the features that their rows have more of than all.

    By few rows a feature may correlate with a cluster that has less of it than others.
    """
    found = selector.cluster_features(n=n, view=view)
    return {k: [each for each in own if each.strength > 1] for k, own in found.items()}


def _ranks(history: RankHistory, view: str, best: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Return the ranks that features had along the stream, 0 where they were not noted."""
    T, n = history.top[view].shape
    if T < 2 or not n:
        return None
    return history.ranks(view, best)[spaced(T, FEW_POINTS)]


def _naming(
    views: Sequence[str], notes: Mapping[str, Any], order: Mapping[str, NDArray[np.intp]]
) -> list[str]:
    """Return the views that clusters are named by: those of words, if there are any."""
    rare = []
    for view in views:
        shares = notes[view].share_of_rows
        if shares is not None and np.median(shares[order[view]]) < _RARE:
            rare.append(view)
    return rare or list(views)


def _clusters(lead: int, strengths: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return the clusters that a feature stands for, the one that it stands for most first."""
    if lead < 0:
        return []
    others = [k for k in np.argsort(-strengths, kind="stable").tolist() if k != lead]
    named = [lead, *(k for k in others if strengths[k] > 1)][:_STANDS_FOR]
    return [{"cluster": k, "strength": plain(strengths[k])} for k in named]


def _telling(each: Any) -> dict[str, Any]:
    return {
        **_called(each.view, each.feature),
        "strength": plain(each.strength),
        "correlation": plain(each.correlation),
    }


def _called(view: str, feature: str | int) -> dict[str, Any]:
    """Return what a feature is called: by a name, or by its number in a view."""
    if isinstance(feature, str):
        return {"name": cut(feature)}
    return {"name": None, "view": cut(view), "number": feature}


def _feature(names: Sequence[str] | None, j: int) -> str | None:
    return None if names is None else cut(str(names[j]))
