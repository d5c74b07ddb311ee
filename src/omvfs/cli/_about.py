"""What there is to say of some rows: figures of every view, and what is wrong with them."""

import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs import SuspectColumnWarning
from omvfs.cli._messages import say
from omvfs.data.read import Suspect, find_suspects
from omvfs.data.views import Views
from omvfs.formats.opening import ROWS, read_input
from omvfs.formats.registry import is_table
from omvfs.model.arrays import Block, column_sums
from omvfs.model.objective import squared_norm

COLUMNS = (
    *("view", "features", "named", "kind", "rows without it", "nonzero", "negative"),
    *("empty columns", "share of ‖X‖²"),
)


def figures(views: Views) -> list[list[str]]:
    """Return a line of text for every view, as `COLUMNS` says.

    Parameters
    ----------
    views : Views

    Examples
    --------
    >>> figures(Views({"text": np.eye(2)}))
    [['text', '2', 'no', 'dense', '0', '50.00%', '0', '0', '100.0%']]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        energy = {name: squared_norm(X) for name, X in views.blocks.items()}
        total = sum(energy.values()) or 1.0
    return [
        [
            name,
            f"{X.shape[1]:,}",
            "no" if views.feature_names[name] is None else "yes",
            "sparse" if sp.issparse(X) else "dense",
            f"{np.count_nonzero(~views.has(name)):,}",
            f"{np.count_nonzero(_values(X)) / max(1, X.shape[0] * X.shape[1]):.2%}",
            f"{np.count_nonzero(_values(X) < 0):,}",
            f"{np.count_nonzero(column_sums(abs(X)) == 0):,}",
            f"{energy[name] / total:.1%}",
        ]
        for name, X in views.blocks.items()
    ]


def remarks(views: Views, inputs: Sequence[str]) -> list[str]:
    """Return sentences on what is wrong, each with its remedy.

    Parameters
    ----------
    views : Views
    inputs : sequence of str
        What they were read from.

    Examples
    --------
    >>> remarks(Views({"text": -np.eye(2)}), ["text.npy"])
    ["View 'text' has 2 negative values: choose --negative clip or --negative shift."]
    >>> remarks(Views({"text": np.eye(2)}), ["text.npy"])
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
        if empty := np.count_nonzero((sums == 0) & views.has(name)):
            found.append(f"View {name!r} has {empty:,} empty rows, which say nothing.")
        filled = sums[np.isfinite(sums) & (sums > 0)]
        if len(filled) and filled.max() > 100 * np.median(filled):
            found.append(
                f"View {name!r} has rows over 100 times as heavy as others: --prepare {name}:l2 "
                "gives each the same say."
            )
    return found + [remark(each, inputs) for each in find_suspects(views)]


def remark(suspect: Suspect, inputs: Sequence[str]) -> str:
    """Return a sentence on a column that is hardly a feature, with the option that mends it.

    Parameters
    ----------
    suspect : Suspect
    inputs : sequence of str
        What it was read from.

    Examples
    --------
    >>> remark(Suspect("rows", "id", "row number", 0.99), ["rows.csv"])
    "Column 'id' of view 'rows' counts the rows: its whole numbers only rise or only fall. \
Leave it out: --drop id."
    """
    column = _column_of_a_table(suspect, inputs)
    remedy = f"Leave it out: --drop {column}" if column else "Leave it out of the data"
    if suspect.kind == "dominant":
        steps = shlex.quote(f"{suspect.view}:scale")
        remedy += f", or bring columns to one scale: --prepare {steps}"
    return f"{suspect} {remedy}."


def _column_of_a_table(suspect: Suspect, inputs: Sequence[str]) -> str | None:
    """Return what a column is called in the table that it is in; None if it is in none."""
    if not isinstance(suspect.column, str):
        return None
    given = [read_input(each) for each in inputs]
    tables = [each for each in given if each.streamed or any(is_table(f.kind) for f in each.files)]
    if suspect.view in {ROWS, *(each.name for each in given)}:
        named = suspect.view in {ROWS, *(each.name for each in tables)}
        return shlex.quote(suspect.column) if named and tables else None
    return shlex.quote(f"{suspect.view}__{suspect.column}") if tables else None


@contextmanager
def remarked(inputs: Sequence[str]) -> Iterator[list[str]]:
    """Say what the library warns of as sentences, at once, and keep these to be said again.

    Parameters
    ----------
    inputs : sequence of str
        What is read.
    """
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", SuspectColumnWarning)
        otherwise = warnings.showwarning

        def show(message: Warning | str, *about: Any, **more: Any) -> None:
            if not isinstance(message, SuspectColumnWarning):
                otherwise(message, *about, **more)
                return
            for each in message.suspects:
                said.append(remark(each, inputs))
                say(said[-1], err=True)

        warnings.showwarning = show
        yield said


def _values(X: Block) -> Any:
    return np.asarray(X.data if sp.issparse(X) else X)
