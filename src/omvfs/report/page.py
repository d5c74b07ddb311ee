"""The page of a report: one file that asks for nothing, and lets nothing run but its own script."""

import base64
import hashlib
import html
import json
import math
import os
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from omvfs.data.schema import shown
from omvfs.disk import replacing_text
from omvfs.report.summary import KINDS, summarise
from omvfs.results import cut, two_digits
from omvfs.results import percent as share
from omvfs.threads import on_one_thread

# By what a page is known as one of these.
TITLE = "omvfs report: "
# Seconds after which the page of a run that goes on loads itself again.
RELOAD = 3
# Letters of a name where it leads; elsewhere there are fewer.
_LETTERS = 48
# A picture, and what is left free for its labels.
WIDTH, HEIGHT = 320, 150
LEFT, RIGHT, TOP, BOTTOM = 34, 12, 10, 22


class Report:
    """What was learned, for people to read: a page that is one file and asks for nothing.

    In a notebook it shows itself.

    Parameters
    ----------
    summary : mapping of str to object
        What it says, as `omvfs.report.summary.summarise` returns it.

    Attributes
    ----------
    summary : mapping of str to object
        Plain values, as ``report.json`` holds them.
    """

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self.summary = summary

    def __repr__(self) -> str:
        rows, K = self.summary["rows"], self.summary["n_clusters"]
        return f"<Report on {rows:,} rows in {K:,} clusters; save(path), open() or html() shows it>"

    def html(self) -> str:
        """Return the page."""
        return page(self.summary)

    def json(self) -> str:
        """Return what it says, for programs to read."""
        return json.dumps(self.summary, indent=1) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, and what it says beside it, for programs.

        Parameters
        ----------
        path : path
            Such as ``report.html``; then ``report.json`` is written too. What is there is replaced.
        """
        path = Path(path)
        beside = path.with_suffix(".json")
        if beside == path:
            raise ValueError(f"Got {str(path)!r}; expected the name of a page, as report.html.")
        texts = {path: self.html(), beside: self.json()}
        for each, text in texts.items():
            with replacing_text(each) as file:
                file.write(text)

    def open(self) -> Path:
        """Write the page to a temporary folder, show it in a browser, and return where it is."""
        path = Path(tempfile.mkdtemp(prefix="omvfs-")) / "report.html"
        self.save(path)
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        # In a frame of its own: neither the notebook's styles nor its scripts meet those of the
        # page, and its policy holds.
        return (
            '<iframe title="omvfs report" sandbox="allow-scripts" width="100%" height="720" '
            f'style="border:0" srcdoc="{html.escape(self.html())}"></iframe>'
        )


@on_one_thread
def report_on(
    selector: Any,
    name: str | None = None,
    *,
    examples: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
    run: Mapping[str, Any] | None = None,
    state: str = "finished",
) -> Report:
    """Return a report on what an OMVFS has learned; see `OMVFS.report`.

    Parameters
    ----------
    selector : OMVFS
    name : str, default=None
    examples : mapping of int to sequence of mapping, default=None
    run : mapping of str to object, default=None
        As for `OMVFS.report`.
    state : {"finished", "running", "stopped"}, default="finished"
        Where the run stands. The page of one that is running loads itself again and again; unless
        it is finished, what takes long to work out is left out.
    """
    check_is_fitted(selector)
    check_can_be_made()
    return Report(summarise(selector, selector._known, name, examples, run, state))


def check_can_be_made() -> None:
    """Refuse to begin without the package that makes pages."""
    try:
        import jinja2  # noqa: F401
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "A report needs jinja2: pip install 'omvfs[report]'", name=missing.name
        ) from missing


def page(summary: Mapping[str, Any]) -> str:
    """Return a page that shows a summary.

    Parameters
    ----------
    summary : mapping of str to object
        As `omvfs.report.summary.summarise` returns it.
    """
    from markupsafe import Markup, escape

    @cache
    def name(text: str, letters: int = _LETTERS) -> Markup:
        """Return a name that keeps to itself, whatever is in it; the whole of it where it leads."""
        visible = shown(text) if text.strip() else f"“{shown(text)}”"
        short = cut(visible, letters)
        if short == visible or letters < _LETTERS:
            return Markup("<bdi>{}</bdi>").format(short)
        return Markup('<bdi title="{}">{}</bdi>').format(cut(visible), short)

    def feature(each: Mapping[str, Any], letters: int = 28) -> Markup:
        if each["name"] is not None:
            return name(each["name"], letters)
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
        # Not `name`, which shows one.
        title=summary["name"],
        two_digits=two_digits,
        count=count,
        times=times,
        tint=tint,
        percent=percent,
        figure=figure,
        chart=chart,
        kinds=KINDS,
        reload=RELOAD,
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


def tint(value: float | None) -> int:
    """Return how dark a cell is for a correlation, from 0 to 4.

    Examples
    --------
    >>> [tint(each) for each in (None, -0.1, 0.04, 0.1, 0.3, 0.9)]
    [0, 0, 0, 1, 2, 4]
    """
    return 0 if value is None else sum(value >= least for least in (0.05, 0.2, 0.4, 0.6))


def percent(value: float | None) -> str:
    r"""Return a share as it is read, with no line end between a number and its sign.

    Examples
    --------
    >>> percent(0.256).replace("\u00a0", " "), percent(None)
    ('26 %', '–')
    """
    return "–" if value is None else share(value).replace(" ", "\u00a0")


def figure(value: float | None, digits: int = 3) -> str:
    """Return a number in a few digits.

    Examples
    --------
    >>> figure(0.48671), figure(None)
    ('0.487', '–')
    """
    return "–" if value is None else f"{value:.{digits}g}"


def chart(
    x: Sequence[float],
    y: Sequence[float | None],
    spread: Sequence[float | None] | None = None,
    *,
    high: float | None = None,
    log: bool = False,
    marks: Sequence[float] = (),
) -> dict[str, Any]:
    """Return a line from 0 up, the band of its spread, marks along it, and labels of both axes.

    Parameters
    ----------
    x : sequence of float
        Rising.
    y : sequence of (float or None)
        Where None, the line has a gap.
    spread : sequence of (float or None), default=None
        How far the band goes to both sides.
    high : float, default=None
        Where the picture ends above; by default where the line is highest.
    log : bool, default=False
        Whether x is on a scale of ratios.
    marks : sequence of float
        Places along x.

    Examples
    --------
    >>> drawn = chart([1, 2, 3], [0.0, 0.5, 1.0], high=1, marks=[2])
    >>> drawn["line"], drawn["marks"]
    ('M34 128L171 69L308 10', [171.0])
    >>> drawn["y_labels"]
    [(128, '0'), (69.0, '0.5'), (10, '1')]
    """
    scale = math.log if log else float
    known = [each for each in y if each is not None]
    top = high if high is not None else max(known, default=0.0)
    top = top if top > 0 else 1.0
    start, end = scale(x[0]), scale(x[-1])
    span, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(value: float) -> float:
        part = (scale(value) - start) / (end - start) if end > start else 0.5
        return round(LEFT + span * min(max(part, 0.0), 1.0), 1)

    def down(value: float) -> float:
        return round(TOP + tall * (1 - min(max(value / top, 0.0), 1.0)), 1)

    band = ""
    if spread is not None and len(known) == len(y):
        sides = [(across(a), b or 0.0, s or 0.0) for a, b, s in zip(x, y, spread, strict=True)]
        there = [f"{a:g} {down(b + s):g}" for a, b, s in sides]
        back = [f"{a:g} {down(b - s):g}" for a, b, s in reversed(sides)]
        band = f"M{'L'.join(there + back)}Z"
    places = sorted({0, len(x) // 2, len(x) - 1})
    return {
        "line": _path(
            (across(a), None if b is None else down(b)) for a, b in zip(x, y, strict=True)
        ),
        "band": band,
        "marks": [across(each) for each in marks],
        "x_labels": [(across(x[i]), brief(x[i])) for i in places],
        "y_labels": [
            (HEIGHT - BOTTOM, "0"),
            (TOP + tall / 2, brief(top / 2)),
            (TOP, brief(top)),
        ],
    }


def brief(value: float) -> str:
    """Return a number in a few letters.

    Examples
    --------
    >>> brief(50_000), brief(1_523), brief(0.25), brief(2_500_000), brief(200)
    ('50k', '1.5k', '0.25', '2.5M', '200')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.{3 if value / size >= 10 else 2}g}{letter}"
    return f"{value:.3g}"


def _path(points: Any) -> str:
    """Return points as a path; one that is alone is a dot."""
    runs: list[list[str]] = [[]]
    for across, down in points:
        if down is None:
            runs.append([])
        else:
            runs[-1].append(f"{across:g} {down:g}")
    return "".join(f"M{'L'.join(run)}" + ("h0" if len(run) == 1 else "") for run in runs if run)
