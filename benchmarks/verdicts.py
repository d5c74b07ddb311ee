"""A bar on figures: met, missed, or not measured."""

from dataclasses import dataclass, replace

from paper.timing import spread

MET, MISSED, UNKNOWN = "met", "**missed**", "not measured"


@dataclass(frozen=True)
class Bar:
    """A bar, what was seen, the verdict, the spread of what was seen, and the same by wall time."""

    what: str
    seen: str
    verdict: str
    spread: str = ""
    wall: str = ""

    def telling(self, other):
        """Return this verdict, with what another bar has seen."""
        return replace(other, what=self.what, verdict=self.verdict)

    def with_wall(self, text):
        """Return the bar with something else told beside it."""
        return replace(self, wall=text)


def judged(what, seen, least=None, most=None, need=None, wall=None):
    """Return a bar on figures by name, each of which must be reached, or `need` of them.

    A figure that is missing makes the verdict "not measured", unless others are missed already. Of
    several runs, as a list, the median is judged, and the spread told; `wall` has the same by
    wall time, which is told only.
    """
    runs = {name: values for name, values in seen.items() if isinstance(values, list)}
    seen = {name: median(values) for name, values in seen.items()}
    fine = {
        name: (least is None or value >= least) and (most is None or value <= most)
        for name, value in seen.items()
        if value is not None
    }
    need = len(seen) if need is None else need
    text = named(seen)
    verdict = UNKNOWN
    if sum(fine.values()) >= need:
        verdict = MET
    elif len(seen) - list(fine.values()).count(False) < need:
        verdict = MISSED
    between = "; ".join(
        f"{name} {shown(min(values))} to {shown(max(values))}".strip()
        for name, values in runs.items()
    )
    told = {name: median(values) for name, values in (wall or {}).items() if values is not None}
    return Bar(what, text, verdict, between, named(told))


def named(figures):
    """Return figures with their names."""
    return "; ".join(f"{name} {shown(value)}".strip() for name, value in figures.items())


def median(values):
    """Return the median of runs; of a figure, the figure."""
    return spread(values)[0] if isinstance(values, list) else values


def shown(value):
    """Return a figure, or that there is none."""
    return "–" if value is None else f"{value:,.3g}"
