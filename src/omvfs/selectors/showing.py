"""How an estimator shows itself in a notebook: its parameters, and what it knows already."""

import html
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import estimator_html_repr

from omvfs.constraints import checked
from omvfs.data.schema import Schema
from omvfs.fitted import FittedState
from omvfs.model.settings import AUTO
from omvfs.selector import Journal, sizes_by_view
from omvfs.threads import alone

# Views and features of a view that are shown, and characters of a name.
_VIEWS, _FEATURES, _LONGEST = 20, 5, 40
_showing: ContextVar[bool] = ContextVar("_showing", default=False)


class ShowsLearned:
    """Adds a table of what was learned to what scikit-learn shows of an estimator.

    It never raises, and works nothing out: what is not known yet is not told.
    """

    _journal: Journal[FittedState]
    _ranking: Any
    n_features_per_view: Any
    n_features_to_select: Any

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns of `transform`: those of one X, or ``view__feature``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of one 2-D X; must agree with those seen in fit, if any.
        """
        if _showing.get():  # scikit-learn would show them, if it could
            raise AttributeError("Features are not ranked to be shown.")
        return super().get_feature_names_out(input_features)  # type: ignore[misc]

    def _html_repr(self) -> str:
        before = _showing.set(True)
        try:
            shown: str = estimator_html_repr(self)
        except Exception:
            shown = f"<pre>{html.escape(type(self).__name__)}</pre>"
        finally:
            _showing.reset(before)
        try:
            return shown + self._learned_table()
        except Exception:
            return shown

    # scikit-learn before 1.7 does not ask for the above.
    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        plain, asked = {"text/plain": repr(self)}, get_config()["display"] == "diagram"
        return plain | ({"text/html": self._html_repr()} if asked else {})

    @alone
    def _learned_table(self) -> str:
        """Return what was learned as an HTML table; nothing if nothing was."""
        journal = getattr(self, "_journal", None)
        known = None if journal is None else journal.worked_out
        if known is None:
            return ""
        schema, scores = known.schema, self._known_scores(known)
        sizes = self._known_sizes(schema)
        heads = "view", "features", "selected", "best features"
        lines = [_row("th", heads)]
        for v, view in enumerate(schema.names[:_VIEWS]):
            best = "not ranked yet" if scores is None else _best(schema, v, scores[v])
            cells = _cut(view), f"{schema.widths[v]:,}", sizes[v], best
            lines.append(_row("td", cells))
        if len(schema.names) > _VIEWS:
            lines.append(_row("td", [f"and {len(schema.names) - _VIEWS:,} more", "", "", ""]))
        K = known.state.n_clusters
        asked = known.settings.n_clusters == AUTO
        clusters = f"{K:,} clusters{' so far' if asked else ''}"
        head = f"Learned from {known.n_rows:,} rows, {clusters}"
        return f"<table><caption>{head}</caption>{''.join(lines)}</table>"

    def _known_sizes(self, schema: Schema) -> list[str]:
        """Return how many features of each view are selected, as far as nobody has to look."""
        if (total := getattr(self, "n_features_to_select", None)) is not None:
            return [f"of {total} in all"] * len(schema.names)
        asked = checked("n_features_per_view", self.n_features_per_view, schema.names)
        plain: list[Any] = [None if own == AUTO else own for own in asked]
        sizes = sizes_by_view(dict(zip(schema.names, plain, strict=True)), schema).values()
        pairs = zip(asked, sizes, strict=True)
        return [AUTO if own == AUTO else f"{size:,}" for own, size in pairs]

    def _known_scores(self, known: FittedState) -> list[Any] | None:
        """Return the scores of the features by view, if they were asked for before."""
        if "queries" not in vars(known):
            return None
        return known.queries.known_scores(self._ranking)


def _best(schema: Schema, v: int, scores: Any) -> str:
    best = np.argsort(-scores, kind="stable")[:_FEATURES].tolist()
    names = schema.feature_names[v]
    return ", ".join(_cut(str(j) if names is None else names[j]) for j in best)


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _row(kind: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{kind}>{html.escape(cell)}</{kind}>' for cell in cells)}</tr>"
