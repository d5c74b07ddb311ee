"""Errors that read right wherever they are shown: what to set or do, for a place to put its way.

The library speaks Python: ``negative='clip'``. The command line has the same sentence say
``--negative clip``. A `Sentence` is a string as Python says it, and remembers which of its parts
name what can be set (`Setting`) or are for another place to say otherwise (`Clause`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self


@dataclass(frozen=True)
class Setting:
    """A parameter with a value.

    Attributes
    ----------
    name : str
    value : object
    view : str or None, default=None
        The view it is for, if it is for one only.

    Examples
    --------
    >>> print(Setting("negative", "clip"), Setting("sparsity", 1.0, "text"))
    negative='clip' sparsity['text']=1.0
    """

    name: str
    value: Any
    view: str | None = None

    def __str__(self) -> str:
        place = "" if self.view is None else f"[{self.view!r}]"
        return f"{self.name}{place}={self.value!r}"


@dataclass(frozen=True)
class Clause:
    """Some words that another place may have others for.

    Attributes
    ----------
    key : str
        By which it knows them.
    text : str
        As Python says them.
    """

    key: str
    text: str

    def __str__(self) -> str:
        return self.text


class Sentence(str):
    """A string as Python says it, of which some parts can be said in other words.

    Parameters
    ----------
    *parts : str, Setting, Clause or Sentence

    Examples
    --------
    >>> sentence = Sentence("Negative values. Pass ", Setting("negative", "clip"), ".")
    >>> print(sentence)
    Negative values. Pass negative='clip'.
    >>> sentence.said(lambda part: f"--{part.name} {part.value}")
    'Negative values. Pass --negative clip.'
    """

    parts: tuple[str | Setting | Clause, ...]

    def __new__(cls, *parts: str | Setting | Clause) -> Self:
        """Join the parts, those of sentences among them included."""
        sentence = super().__new__(cls, "".join(map(str, parts)))
        sentence.parts = tuple(
            part for each in parts for part in (each.parts if isinstance(each, cls) else (each,))
        )
        return sentence

    def said(self, words: Callable[[Setting | Clause], str]) -> str:
        """Return the sentence in the words of a place.

        Parameters
        ----------
        words : callable
            Returns what the place says for a part.
        """
        return "".join(part if isinstance(part, str) else words(part) for part in self.parts)

    def of_view(self, view: str) -> Sentence:
        """Return the sentence with its settings being those of one view."""
        return Sentence(
            *(
                replace(part, view=view) if isinstance(part, Setting) else part
                for part in self.parts
            )
        )

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        # Values may be anything; another process gets what can be read.
        return str, (str(self),)


def sentence_of(error: BaseException) -> Sentence:
    """Return what an error says, with the parts it was made of if it has them.

    Parameters
    ----------
    error : BaseException

    Examples
    --------
    >>> sentence_of(ValueError("Got nothing.")).parts
    ('Got nothing.',)
    """
    said = error.args[0] if len(error.args) == 1 else None
    return said if isinstance(said, Sentence) else Sentence(str(error))


# To go on with a run is not possible, or not wanted.
BEGIN_ANEW = Clause("begin anew", "begin anew")
