"""What a report says of the stream: what was learned when, and what changed on the way."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from omvfs.report.bounds import ALONG, CHANGED, EVENTS, POINTS, cut, plain, spaced
from omvfs.selectors.rank_history import RankHistory, ShareHistory


def stream_of(selector: Any, history: RankHistory, views: Sequence[str]) -> dict[str, Any]:
    """Return what happened along the stream.

    Parameters
    ----------
    selector : OMVFS
    history : RankHistory
    views : sequence of str
        Those that are shown.
    """
    infos = list(selector.history_)
    n_rows = sum(each.n_rows for each in infos)
    # Of a stream of more chunks than are remembered, the last.
    before = selector.n_samples_seen_ - n_rows
    ends = [before + n for n in accumulate(each.n_rows for each in infos)]
    seconds = sum(each.seconds for each in infos)
    events = selector.drift_ if getattr(selector, "detect_drift", False) else None
    return {
        "n_chunks": len(infos),
        "rows_of_chunks": n_rows,
        "seconds": plain(seconds),
        "n_reclustered": sum(each.reclustered for each in infos),
        "objective": _objective(infos, ends),
        "events": None if events is None else list(map(_event, events[-EVENTS:])),
        "n_events": None if events is None else len(events),
        "overlap": _overlap(history, views),
        "shares": _shares(selector.share_history_, selector.n_clusters_),
    }


def _objective(infos: Sequence[Any], ends: Sequence[int]) -> dict[str, Any]:
    """Return the objective a row, the mean over the chunks that a point of the line stands for."""
    cuts = [0, *(i + 1 for i in spaced(len(infos), POINTS))]
    found = []
    for a, b in pairwise(cuts):
        some = infos[a:b]
        found.append(plain(sum(e.objective for e in some) / max(1, sum(e.n_rows for e in some))))
    return {"rows": [ends[b - 1] for b in cuts[1:]], "per_row": found}


def _event(event: Any) -> dict[str, Any]:
    return {
        "row": event.row,
        "since": event.since,
        "kind": event.kind,
        "distance": plain(event.distance),
        "came": _changed(event.came),
        "went": _changed(event.went),
    }


def _changed(found: Any) -> list[dict[str, Any]]:
    """Return the features that came or went, as far as there are any, by view."""
    return [
        {"view": cut(view), "features": [cut(str(each)) for each in own[:CHANGED]]}
        for view, own in found.items()
        if own
    ][:CHANGED]


def _shares(history: ShareHistory, n_clusters: int) -> dict[str, Any] | None:
    """Return the shares of the largest clusters along the stream; None if there is no line."""
    known = np.flatnonzero(~np.isnan(history.shares).all(axis=1))
    if len(known) < 2:
        return None
    n_rows, shares = history.n_rows[known], history.shares[known, :n_clusters]
    # By the rows that they had of those whose clusters are known.
    lengths = np.diff(history.n_rows, prepend=0)[known]
    counts = np.nansum(shares * lengths[:, np.newaxis], axis=0)
    largest = np.argsort(-counts, kind="stable")[:ALONG].tolist()
    return {
        "rows": n_rows.tolist(),
        "clusters": [
            {"cluster": k, "shares": [plain(each) for each in shares[:, k]]} for k in largest
        ],
    }


def _overlap(history: RankHistory, views: Sequence[str]) -> dict[str, Any] | None:
    """Return how many of the best features of now were among the best before, by view."""
    if len(history.n_rows) < 2:
        return None
    places, found = spaced(len(history.n_rows), POINTS), []
    for view in views:
        now = history.top[view][-1]
        now = now[now >= 0]
        shares: list[float | None] = [None] * len(history.n_rows)
        if len(now):
            shares = (history.ranks(view, now) > 0).mean(axis=1).tolist()
        found.append({"view": cut(view), "shares": [plain(shares[i]) for i in places]})
    return {"rows": [int(history.n_rows[i]) for i in places], "views": found}
