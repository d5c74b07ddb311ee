"""A report, and the estimator that gives it."""

import html
import json
import os
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from omvfs.disk import replacing_text
from omvfs.fitted import FittedState
from omvfs.parameters import whole
from omvfs.report.page import check_can_be_made, page
from omvfs.report.summary import summarise
from omvfs.selector import Journal
from omvfs.threads import alone, on_one_thread

# How often rows are drawn to tell what is chance, and where views times clusters are many.
_DRAWS, _MANY = (5, 2), 1000


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
        """Return the page, less than 500 KB."""
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


class Reports:
    """Adds `report` to the estimator."""

    _journal: Journal[FittedState]
    _sizes: Any

    @alone
    @on_one_thread
    def report(
        self,
        n_resamples: int | None = None,
        *,
        examples: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
        run: Mapping[str, Any] | None = None,
    ) -> Report:
        """Return a page on what was learned: clusters, features, how far to trust them, and why.

        Needs jinja2: ``pip install omvfs[report]``.

        Parameters
        ----------
        n_resamples : int, default=None
            How often rows are drawn anew to tell how much of the selection is chance, as
            `stability` does if it is to be quick; the dearest part. By default 5 times, and 2 where
            views times clusters are more than 1,000, so that a report is made within 2 s of the
            ranking. 0 leaves it out.
        examples : mapping of int to sequence of mapping, default=None
            A few rows of each cluster by what they are called, such as
            ``{0: [{"title": "..."}]}``: rows have no names in here.
        run : mapping of str to object, default=None
            How it was made, if there is more to tell than parameters: shown as it is.

        Returns
        -------
        Report
            Shows itself in a notebook; else ``.open()``, ``.save("report.html")`` or ``.html()``.

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> from omvfs.datasets import make_planted
        >>> planted = make_planted(300, n_features=(300, 200), random_state=0)
        >>> OMVFS(5, n_features_per_view=20, random_state=0).fit(planted.views).report()
        <Report on 300 rows in 5 clusters; save(path), open() or html() shows it>
        """
        check_is_fitted(self)
        check_can_be_made()
        drawn = None if n_resamples is None else whole("n_resamples", n_resamples, least=0)
        known, sizes = self._journal.known, self._sizes()
        if drawn is None:
            drawn = _DRAWS[len(sizes) * known.queries.K > _MANY]
        return Report(summarise(self, known, sizes, drawn, examples, run))
