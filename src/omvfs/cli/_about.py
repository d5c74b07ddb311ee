"""What there is to say of some rows: figures of every view, and what is wrong with them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs.data.views import Views
from omvfs.model.arrays import Block, column_sums

COLUMNS = ("view", "features", "named", "kind", "nonzero", "negative", "empty columns")


def figures(views: Views) -> list[list[str]]:
    """Return a line of text for every view, as `COLUMNS` says.

    Parameters
    ----------
    views : Views

    Examples
    --------
    >>> figures(Views({"text": np.eye(2)}))
    [['text', '2', 'no', 'dense', '50.00%', '0', '0']]
    """
    return [
        [
            name,
            f"{X.shape[1]:,}",
            "no" if views.feature_names[name] is None else "yes",
            "sparse" if sp.issparse(X) else "dense",
            f"{np.count_nonzero(_values(X)) / max(1, X.shape[0] * X.shape[1]):.2%}",
            f"{np.count_nonzero(_values(X) < 0):,}",
            f"{np.count_nonzero(column_sums(abs(X)) == 0):,}",
        ]
        for name, X in views.blocks.items()
    ]


def remarks(views: Views) -> list[str]:
    """Return sentences on what is wrong, each with its remedy.

    Parameters
    ----------
    views : Views

    Examples
    --------
    >>> remarks(Views({"text": -np.eye(2)}))
    ["View 'text' has 2 negative values: choose --negative clip or --negative shift."]
    >>> remarks(Views({"text": np.eye(2)}))
    []
    """
    found = []
    for name, X in views.blocks.items():
        values = _values(X)
        if strange := np.count_nonzero(~np.isfinite(values)):
            found.append(
                f"View {name!r} has {strange:,} values that are missing or not finite: fill or "
                "drop them."
            )
        if negative := np.count_nonzero(values < 0):
            found.append(
                f"View {name!r} has {negative:,} negative values: choose --negative clip or "
                "--negative shift."
            )
        sums = np.asarray(abs(X).sum(axis=1)).ravel()
        if empty := np.count_nonzero(sums == 0):
            found.append(f"View {name!r} has {empty:,} empty rows, which say nothing.")
        filled = sums[np.isfinite(sums) & (sums > 0)]
        if len(filled) and filled.max() > 100 * np.median(filled):
            found.append(
                f"View {name!r} has rows over 100 times as heavy as others: --prepare {name}:l2 "
                "gives each the same say."
            )
    return found


def _values(X: Block) -> Any:
    return np.asarray(X.data if sp.issparse(X) else X)
