"""What a status holds: plain values, few however many features there are, and bounded in bytes."""

import json
import math
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omvfs import OMVFS
from omvfs.data.schema import Schema
from omvfs.model.stream.event import DriftEvent
from omvfs.selectors.glimpse import Glimpse

# What is in the folder of a run, by name; and of what kind the values in it are.
STATUS, FORMAT = "status.json", 1
# A status is never longer than this.
MOST_BYTES = 1 << 16
# How many are told of; the page says how many there are.
MOST_VIEWS, MOST_CLUSTERS, MOST_EVENTS = 20, 30, 8
PER_VIEW, PER_CLUSTER, PER_EVENT = 10, 5, 3
# Letters of a name; fewer if it would be too long by them.
_LETTERS = 100, 50, 25, 10
# Letters of a sentence on what went wrong.
_SENTENCE = 1000


def encoded(values: Mapping[str, Any]) -> bytes:
    r"""Return a status as JSON, of `MOST_BYTES` at most: long names are cut off.

    Examples
    --------
    >>> encoded({"name": "wörd\ud800", "rate": float("inf")}).decode()
    '{"name":"wörd\\ud800","rate":null}'
    >>> len(encoded({"names": ["\x00" * 10_000] * 400})) <= MOST_BYTES
    True
    """
    found = b""
    for letters in _LETTERS:
        plain = _plain(values, letters)
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Half a surrogate pair is no text; JSON has an escape for it.
        found = text.encode("utf-8", "backslashreplace")
        if len(found) <= MOST_BYTES:
            break
    return found


def _plain(value: Any, letters: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= letters else f"{value[: letters - 1]}…"
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {
            name: own[:_SENTENCE] if name == "message" else _plain(own, letters)
            for name, own in value.items()
        }
    return [_plain(each, letters) for each in value] if isinstance(value, list | tuple) else value


def _finite(text: str) -> float | None:
    """Return a number, None if it is too large for one."""
    value = float(text)
    return value if math.isfinite(value) else None


def read_status(path: Path) -> dict[str, Any] | None:
    """Return the status that a file holds; None if there is none, or it is none.

    Parameters
    ----------
    path : Path
        May hold anything.
    """
    try:
        # What is no file might keep its reader waiting.
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        found = json.loads(content, parse_constant=lambda _: None, parse_float=_finite)
    except (OSError, ValueError, RecursionError):
        return None
    if len(content) > MOST_BYTES or not isinstance(found, dict) or found.get("format") != FORMAT:
        return None
    return found


class Shown:
    """The views and clusters of a run as a status tells of them, with what moved since before.

    Attributes
    ----------
    values : dict of str to object
        To be put into the status.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._before: dict[str, dict[str, int]] = {}

    def glimpsed(self, selector: OMVFS) -> None:
        """Take what the sums tell at once.

        Parameters
        ----------
        selector : OMVFS
        """
        found: Glimpse = selector.glimpse(PER_VIEW)
        schema = selector.schema_
        self.take(schema, found.features, found.clusters, found.shares, found.n_rows, False)

    def ranked(self, selector: OMVFS, chosen: Mapping[str, Sequence[str]]) -> None:
        """Take what a run has come to.

        Parameters
        ----------
        selector : OMVFS
        chosen : mapping of str to sequence of str
            Names of the selected features by view, the best first.
        """
        about = selector.cluster_features(n=PER_CLUSTER)
        assert isinstance(about, dict)
        clusters = [[(each.view, each.feature) for each in own] for own in about.values()]
        shares = selector.cluster_shares_
        told = None if shares is None else shares.tolist()
        self.take(selector.schema_, chosen, clusters, told, selector.n_samples_seen_, True)

    def take(
        self,
        schema: Schema,
        features: Mapping[str, Sequence[str | int]],
        clusters: Sequence[Sequence[tuple[str, str | int]]],
        shares: Sequence[float] | None,
        n_rows: int,
        final: bool,
    ) -> None:
        """Take features by view, what clusters are about, and their shares if they are known.

        Parameters
        ----------
        schema : Schema
        features : mapping of str to sequence of (str or int)
            By view, the best first.
        clusters : sequence of sequence of (str, str or int)
            Views and features of each.
        shares : sequence of float, or None
        n_rows : int
            After which it is so.
        final : bool
            Whether it is what the run has come to.
        """
        places = {view: v for v, view in enumerate(schema.names[:MOST_VIEWS])}
        views = []
        for view, v in places.items():
            top = list(map(str, features[view][:PER_VIEW]))
            views.append(
                {"name": view, "features": schema.widths[v], "top": self._moved(view, top)}
            )
        order = sorted(range(len(clusters)), key=lambda k: -shares[k] if shares else k)
        self.values = {
            "n_views": len(schema.names),
            "views": views,
            "n_clusters": len(clusters),
            "clusters": [
                {
                    "number": k,
                    "share": None if shares is None else round(shares[k], 5),
                    "about": [[places.get(view), str(f)] for view, f in clusters[k][:PER_CLUSTER]],
                }
                for k in order[:MOST_CLUSTERS]
            ],
            "known_at": n_rows,
            "final": final,
        }

    def _moved(self, view: str, top: Sequence[str]) -> list[list[Any]]:
        """Return names with how many places they rose, None for those that are new."""
        before = self._before.get(view)
        self._before[view] = {name: i for i, name in enumerate(top)}
        if before is None:
            return [[name, 0] for name in top]
        return [[name, before[name] - i if name in before else None] for i, name in enumerate(top)]


def told_events(events: Sequence[DriftEvent], views: Sequence[str]) -> list[dict[str, Any]]:
    """Return the last changes of a stream as plain values, the last one first.

    Parameters
    ----------
    events : sequence of DriftEvent
    views : sequence of str
        Names of the views.
    """
    places = {view: v for v, view in enumerate(views[:MOST_VIEWS])}

    def flat(found: Mapping[str, Sequence[str | int]]) -> list[list[Any]]:
        pairs = [[places.get(view), str(f)] for view, own in found.items() for f in own[:PER_EVENT]]
        return pairs[:PER_EVENT]

    return [
        {
            "row": event.row,
            "since": event.since,
            "kind": event.kind,
            "distance": round(event.distance, 4),
            "came": flat(event.came),
            "went": flat(event.went),
        }
        for event in reversed(events[-MOST_EVENTS:])
    ]


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what tells whether a file was written anew; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
