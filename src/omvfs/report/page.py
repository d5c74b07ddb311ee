"""The page of a report: one file that asks for nothing, and lets nothing run but its own script."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from omvfs.report.bounds import IN_FULL, LETTERS, cut
from omvfs.report.drawing import chart, spark
from omvfs.report.sentences import KINDS
from omvfs.wording import shown

# Bytes of a page at most.
MOST_BYTES = 500_000
# By what a page is known as one of these.
TITLE = "<title>omvfs report: "


class Room(NamedTuple):
    """How much of what a summary says a page shows.

    Attributes
    ----------
    part : float
        Of the features of each view, and of the clusters that are told in full.
    letters : int
        Of a name.
    hidden : int
        Of a longer name, which are shown if one points at it.
    """

    part: float
    letters: int
    hidden: int


# The first that keeps a page small enough; names that are very long have less.
_ROOMS = Room(1, 48, LETTERS), Room(1, 32, 80), Room(0.5, 24, 0), Room(0.2, 16, 0), Room(0.1, 8, 0)


def check_can_be_made() -> None:
    """Refuse to begin without the package that makes pages."""
    try:
        import jinja2  # noqa: F401
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "A report needs jinja2: pip install 'omvfs[report]'", name=missing.name
        ) from missing


def page(summary: Mapping[str, Any]) -> str:
    """Return a page that shows a summary, of 500 KB at most.

    Parameters
    ----------
    summary : mapping of str to object
        As `omvfs.report.summary.summarise` returns it.
    """
    for room in _ROOMS:
        text = _rendered(summary, room)
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def _rendered(summary: Mapping[str, Any], room: Room) -> str:
    from markupsafe import Markup, escape

    @cache
    def name(text: str, letters: int = room.letters) -> Markup:
        """Return a name that keeps to itself, whatever is in it."""
        visible = shown(text) if text.strip() else f"“{shown(text)}”"
        short = cut(visible, min(letters, room.letters))
        if short == visible or not room.hidden:
            return Markup("<bdi>{}</bdi>").format(short)
        return Markup('<bdi title="{}">{}</bdi>').format(cut(visible, room.hidden), short)

    def feature(each: Mapping[str, Any]) -> Markup:
        if each["name"] is not None:
            return name(each["name"], 32)
        return Markup("{} #{}").format(name(each["view"], 16), each["number"])

    template, style, script = _parts()
    text: str = template.render(
        summary,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        name=name,
        feature=feature,
        text=lambda value: escape(shown(str(value))),
        plain_name=lambda own: " · ".join(map(_plainly, own["name"])),
        count=count,
        times=times,
        trend=trend,
        tint=tint,
        percent=percent,
        figure=figure,
        chart=chart,
        spark=spark,
        kinds=KINDS,
        share_shown=lambda n: max(1, round(n * room.part)),
        in_full=max(1, round(IN_FULL * room.part)),
    )
    return text


@cache
def _parts() -> tuple[Any, str, str]:
    """Return the template, the style and the script."""
    from jinja2 import Environment, StrictUndefined

    here = files("omvfs.report")
    template, style, script = (
        (here / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return made.from_string(template), style, script


def _policy(style: str, script: str) -> str:
    """Return what a browser may do for the page: apply its style, run its script, nothing else."""
    digests = {
        kind: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for kind, text in (("style", style), ("script", script))
    }
    allowed = [f"{kind}-src 'sha256-{own}'" for kind, own in digests.items()]
    return "; ".join(
        ["default-src 'none'", *allowed, "img-src data:", "base-uri 'none'", "form-action 'none'"]
    )


def _plainly(each: Mapping[str, Any]) -> str:
    """Return what a feature is called where there is no room for more than letters."""
    called = f"{each['view']} #{each['number']}" if each["name"] is None else each["name"]
    return cut(shown(called), 20)


def count(n: int, what: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def times(value: float | None) -> str:
    """Return how much more of something there is.

    Examples
    --------
    >>> times(1.04), times(3.42), times(12.3)
    ('1.04 ×', '3.4 ×', '12 ×')
    """
    if value is None:
        return ""
    return f"{value:.{0 if value >= 10 else 1 if value >= 2 else 2}f} ×"


def trend(ranks: Sequence[int]) -> str:
    """Return in words what a small line of ranks shows.

    Examples
    --------
    >>> trend([9, 3]), trend([0, 3]), trend([0, 0])
    ('From rank 9 to 3', 'Came, now rank 3', 'Not among the best')
    """
    if not ranks[-1]:
        return "Not among the best"
    return f"From rank {ranks[0]} to {ranks[-1]}" if ranks[0] else f"Came, now rank {ranks[-1]}"


def tint(value: float | None) -> int:
    """Return how dark a cell is for a correlation, from 0 to 4.

    Examples
    --------
    >>> [tint(each) for each in (None, -0.1, 0.04, 0.1, 0.3, 0.9)]
    [0, 0, 0, 1, 2, 4]
    """
    return 0 if value is None else sum(value >= least for least in (0.05, 0.2, 0.4, 0.6))


def percent(value: float | None) -> str:
    r"""Return a share as it is read.

    Examples
    --------
    >>> shares = 0.256, 0.0123, 0.0001, 0.0, None
    >>> [percent(each).replace("\u00a0", " ") for each in shares]
    ['26 %', '1.2 %', '< 0.1 %', '0 %', '–']
    """
    if value is None:
        return "–"
    # No line ends between a number and its sign.
    if value == 0 or abs(value) >= 0.0995:
        return f"{100 * value:.0f}\u00a0%"
    return f"{100 * value:.1f}\u00a0%" if value >= 0.001 else "<\u00a00.1\u00a0%"


def figure(value: float | None, digits: int = 3) -> str:
    """Return a number in a few digits.

    Examples
    --------
    >>> figure(0.48671), figure(None)
    ('0.487', '–')
    """
    return "–" if value is None else f"{value:.{digits}g}"
