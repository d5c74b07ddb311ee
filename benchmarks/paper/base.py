"""What an experiment is: tasks that are done one by one, and what is told of their rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

Row: TypeAlias = dict[str, Any]
Verdict: TypeAlias = Literal[
    "reproduced", "better", "not reproduced", "not in the paper", "not judged"
]


@dataclass(frozen=True)
class Place:
    """Where the data is, and how much is to be done.

    Attributes
    ----------
    data : Path or None
        Folder with a folder a set, as `load_folder` reads them; None if there is none.
    data_home : Path or None
        Where `paper.published` keeps the paper's sets; None for `$OMVFS_DATA` or ``~/omvfs_data``.
    quick : bool
        Little effort: a look in minutes, not figures to quote.
    """

    data: Path | None = None
    data_home: Path | None = None
    quick: bool = False


@dataclass(frozen=True)
class Task:
    """A part of an experiment that is done in one go, and kept.

    Attributes
    ----------
    do : callable
        A function of a module: ``do(place, **what)`` returns a list of rows of plain values.
    what : dict
        Plain values that describe the task: the same description, the same rows.
    """

    do: Callable[..., list[Row]]
    what: Row


@dataclass(frozen=True)
class Claim:
    """Something the paper says, or that is worth saying beside it, and what was seen.

    Attributes
    ----------
    paper : str
        What the paper says.
    seen : str
        What the rows say, with figures.
    verdict : {"reproduced", "better", "not reproduced", "not in the paper", "not judged"}
        Not judged: only a twin of the data it is about is at hand.
    why : str
        The reason, as far as it is known.
    """

    paper: str
    seen: str
    verdict: Verdict
    why: str = ""


class Experiment(ABC):
    """One table or figure of the paper, or one beside it.

    A subclass says what is to be done, and what its rows tell. It computes nothing by itself.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    # Of tasks that measure time, one is done at a time.
    timed: ClassVar[bool] = False

    @abstractmethod
    def tasks(self, place: Place) -> Sequence[Task]:
        """Return what is to be done."""

    @abstractmethod
    def section(self, rows: Sequence[Row]) -> str:
        """Return what the rows say, as Markdown: what was done, and tables."""

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Return matplotlib figures by name; none by default."""
        return {}

    def claims(self, rows: Sequence[Row]) -> Sequence[Claim]:
        """Return what the paper says beside what was seen; nothing by default."""
        return ()
