"""What the paper says of its figure on small sets, and what the rows say to it.

As in the paper, what it says of its own sets is judged by the best setting of each method; where no
grid was run, and on all other sets, by the fixed default.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paper.base import Claim, Row, Verdict
from paper.methods import OFFLINE, OURS, PAPER_OFFLINE, PRINTED, SINGLE_VIEW
from paper.rows import (
    ACC,
    NMI,
    best_of_grid,
    curve,
    defaults,
    is_twin,
    judged,
    mean,
    names,
    real,
    those,
)

# So near is close, in NMI or ACC; nearer than this is level; and so much more is dramatic.
CLOSE, LEVEL, DRAMATIC = 0.02, 0.01, 0.1
# What the paper draws.
DRAWN = (OURS, "MVUFS", *SINGLE_VIEW)
TWIN = "A twin has the shape of the paper's set, not its data: it can not confirm or refute this."


@dataclass(frozen=True)
class PaperSet:
    """One of the paper's sets, or its twin.

    Attributes
    ----------
    data : str
    kind : str
        How the settings were chosen.
    rows : list of dict
        A setting a method.
    """

    data: str
    kind: str
    rows: list[Row]

    def mean(self, method: str, metric: str = NMI) -> float:
        """Return a mean over p; NaN if the method was not run."""
        return mean(self.rows, metric, method=method)

    def told(self, *methods: str) -> str:
        """Return means of methods as text: NMI / ACC."""
        return ", ".join(f"{m} {self.mean(m):.3f} / {self.mean(m, ACC):.3f}" for m in methods)

    def has(self, *methods: str) -> bool:
        """Return whether all these were run."""
        return set(methods) <= set(names(self.rows, "method"))

    def best(self, methods: Sequence[str]) -> str:
        """Return the method with the highest mean NMI."""
        return max(methods, key=self.mean)


def small_claims(rows: Sequence[Row]) -> list[Claim]:
    """Return all claims for which there are rows."""
    fox, cnn = (_paper_set(rows, name) for name in ("fox", "cnn"))
    both = [each for each in (fox, cnn) if each is not None and each.has(*DRAWN)]
    claims = [_rises(both, defaults(rows)), _multi_view_ahead(both)] if both else []
    if fox is not None and fox.has(*DRAWN):
        claims += [_near_best_offline(fox), _ahead_of_laplacian(fox), _slow_start(fox)]
    if cnn is not None and cnn.has(*DRAWN):
        claims.append(_passes_mvufs(cnn))
    return claims + _over_sets(defaults(rows))


def _paper_set(rows: Sequence[Row], name: str) -> PaperSet | None:
    best = best_of_grid(rows)
    for data in (name, f"{name}-twin"):
        fixed = those(defaults(rows), data=data)
        if chosen := those(best, data=data):
            tuned = names(chosen, "method")
            rest = [row for row in fixed if row["method"] not in tuned]
            return PaperSet(data, "best of grid", chosen + rest)
        if fixed:
            return PaperSet(data, "fixed default", fixed)
    return None


def _seen(sets: Sequence[PaperSet], tell: Callable[[PaperSet], str]) -> str:
    return "; ".join(f"{each.data}, {each.kind}: {tell(each)}" for each in sets)


def _why(sets: Sequence[PaperSet], reason: str) -> str:
    """Return the reason, and what a twin is where one is among the sets."""
    return " ".join(filter(None, [reason, TWIN if any(is_twin(s.data) for s in sets) else ""]))


def _rises(sets: Sequence[PaperSet], fixed: Sequence[Row]) -> Claim:
    found = {each.data: _risen(each.rows) for each in sets}
    falling = [
        f"{each.data}: OMVFS has its best NMI at {best} features."
        for each in sets
        if (best := max(nmi := curve(each.rows, method=OURS), key=lambda p: nmi[p])) != max(nmi)
    ]
    others = [data for data in names(real(fixed), "data") if data not in found]
    if risen := [x for data in others for x in _risen(those(fixed, data=data))]:
        falling.append(f"On the {len(others)} other real sets {sum(risen)} of {len(risen)} do.")
    return Claim(
        "As the number of selected features increases, the performance increases in most cases.",
        _seen(
            sets,
            lambda each: (
                f"{sum(found[each.data])} of {len(found[each.data])} curves (5 methods, ACC and "
                "NMI) end higher than they begin"
            ),
        ),
        judged({data: 2 * sum(risen) > len(risen) for data, risen in found.items()}),
        _why(sets, " ".join(falling)),
    )


def _risen(rows: Sequence[Row]) -> list[bool]:
    """Return whether the curves of the methods that the paper draws end higher than they begin."""
    curves = [curve(rows, metric, method=m) for m in DRAWN for metric in (ACC, NMI)]
    return [found[max(found)] > found[min(found)] for found in curves if found]


def _multi_view_ahead(sets: Sequence[PaperSet]) -> Claim:
    def ahead(each: PaperSet, ours: str) -> bool:
        return all(
            min(each.mean(ours, metric), each.mean("MVUFS", metric))
            > max(each.mean(m, metric) for m in SINGLE_VIEW)
            for metric in (ACC, NMI)
        )

    printed = [each for each in sets if each.has(PRINTED)]
    reason = "; ".join(
        f"{each.data}: with the printed method ({each.told(PRINTED)}) in place of OMVFS it "
        f"{'holds too' if ahead(each, PRINTED) else 'does not hold'}"
        for each in printed
    )
    return Claim(
        "On both sets the multi-view methods, MVUFS and OMVFS, outperform those of one view.",
        _seen(sets, lambda each: each.told(OURS, "MVUFS", each.best(SINGLE_VIEW))) + " (NMI / ACC)",
        judged({each.data: ahead(each, OURS) for each in sets}),
        _why(sets, reason + ("." if reason else "")),
    )


def _near_best_offline(fox: PaperSet) -> Claim:
    rival = fox.best(PAPER_OFFLINE)
    gaps = [fox.mean(OURS, metric) - fox.mean(rival, metric) for metric in (NMI, ACC)]
    printed = fox.mean(PRINTED) - fox.mean(rival)
    return Claim(
        "FOX: OMVFS is very close to, and even better than, the best off-line method.",
        _seen([fox], lambda each: each.told(OURS, rival) + " (NMI / ACC)"),
        judged({fox.data: min(gaps) >= -CLOSE}),
        _why(
            [fox],
            f"Close: within {CLOSE}."
            + ("" if math.isnan(printed) else f" The printed method: {printed:+.3f} in NMI."),
        ),
    )


def _ahead_of_laplacian(fox: PaperSet) -> Claim:
    ahead = all(
        fox.mean(method, metric) > fox.mean("LapScore", metric)
        for method in ("FSDS", "EUFS")
        for metric in (ACC, NMI)
    )
    return Claim(
        "FOX: among the methods of one view, FSDS and EUFS are better than LapScore.",
        _seen([fox], lambda each: each.told(*SINGLE_VIEW) + " (NMI / ACC)"),
        judged({fox.data: ahead}),
        _why([fox], ""),
    )


def _slow_start(fox: PaperSet) -> Claim:
    found = curve(fox.rows, method="FSDS")
    first = min(found)
    later = [value for p, value in found.items() if p > 2 * first] or [math.nan]
    rise = sum(later) / len(later) - found[first]
    return Claim(
        "FOX: FSDS is low with 100 features only, and rises dramatically beyond 200.",
        _seen(
            [fox],
            lambda each: (
                f"NMI {found[first]:.3f} at {first}, {rise:+.3f} beyond {2 * first} on average"
            ),
        ),
        judged({fox.data: rise >= DRAMATIC}),
        _why([fox], f"Dramatic: by {DRAMATIC} or more."),
    )


def _passes_mvufs(cnn: PaperSet) -> Claim:
    ours, theirs = (curve(cnn.rows, method=method) for method in (OURS, "MVUFS"))
    gaps = {p: ours[p] - theirs[p] for p in ours}
    few = [gap for p, gap in gaps.items() if p < 300]
    many = [gap for p, gap in gaps.items() if p > 300]
    holds = all(abs(gap) <= CLOSE for gap in few) and all(gap > 0 for gap in many)
    return Claim(
        "CNN: OMVFS is like MVUFS below 300 features, and outperforms it beyond.",
        _seen(
            [cnn],
            lambda each: (
                "NMI of OMVFS less that of MVUFS: "
                + ", ".join(f"{p}: {gap:+.3f}" for p, gap in gaps.items())
            ),
        ),
        judged({cnn.data: holds}),
        _why([cnn], ""),
    )


def _over_sets(rows: Sequence[Row]) -> list[Claim]:
    """Return what is said of all real sets, in the fixed defaults; of twins if there are none."""
    own = real(rows) or list(rows)
    sets, methods = names(own, "data"), names(own, "method")
    if OURS not in methods:
        return []
    claims = []
    if set(SINGLE_VIEW) <= set(methods):
        behind = _behind(own, SINGLE_VIEW)
        claims.append(
            Claim(
                "OMVFS outperforms all methods of one view (FSDS, EUFS, LapScore).",
                _ahead_on(sets, behind),
                judged({data: data not in behind for data in sets}),
                "Mean NMI, fixed defaults, each set by itself.",
            )
        )
    if offline := [m for m in OFFLINE if all(those(own, data=x, method=m) for x in sets)]:
        claims.append(_level_with_offline(own, offline))
    if {PRINTED, "FSDS", "LapScore"} <= set(methods):
        behind = _behind(own, (PRINTED, "FSDS", "LapScore"))
        verdict = judged({data: data not in behind for data in sets})
        claims.append(
            Claim(
                "Our own bar: the default of OMVFS is ahead of the printed method, of FSDS and of "
                "LapScore on every real set.",
                _ahead_on(sets, behind),
                "better" if verdict == "reproduced" else verdict,
                "Mean NMI, fixed defaults, each set by itself.",
            )
        )
    return claims


def _behind(rows: Sequence[Row], rivals: Sequence[str]) -> dict[str, str]:
    """Return by set who is ahead of ours there, if anyone is."""
    found = {}
    for data in names(rows, "data"):
        ours = mean(rows, data=data, method=OURS)
        gaps = {rival: mean(rows, data=data, method=rival) - ours for rival in rivals}
        if ahead := [f"{rival} {gap:+.3f}" for rival, gap in gaps.items() if gap >= 0]:
            found[data] = ", ".join(ahead)
    return found


def _ahead_on(sets: Sequence[str], behind: dict[str, str]) -> str:
    told = f"ahead on {len(sets) - len(behind)} of {len(sets)} sets"
    return told + "".join(f"; {data}: {who}" for data, who in behind.items())


def _level_with_offline(rows: Sequence[Row], offline: Sequence[str]) -> Claim:
    sets = names(rows, "data")
    over = {
        method: sum(mean(rows, data=data, method=method) for data in sets) / len(sets)
        for method in (OURS, *offline)
    }
    rival = max(offline, key=lambda method: -1 if math.isnan(over[method]) else over[method])
    gap = over[OURS] - over[rival]
    verdict: Verdict = judged(dict.fromkeys(sets, gap >= -LEVEL))
    if verdict == "reproduced" and gap > LEVEL:
        verdict = "better"
    return Claim(
        "OMVFS gets close to, or is even better than, the most advanced off-line method.",
        f"mean NMI over {len(sets)} sets: OMVFS {over[OURS]:.3f}, {rival}, the best of "
        f"{len(offline)} off-line methods, {over[rival]:.3f}",
        verdict,
        f"Fixed defaults; level: within {LEVEL}.",
    )
