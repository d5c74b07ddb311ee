"""What errors of the library say, in the words of the command line."""

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from omvfs.wording import Clause, Sentence, Setting

SIZES = "a whole number of at least 1, a share such as 0.1, auto, all, or text=200,image=50"
IN_ALL = "a whole number of at least 1, or a share such as 0.1"
COUNTS = "a whole number of at least 1, or auto"
# What has other words here; other clauses name an option.
_CLAUSES = {
    "begin anew": "begin anew with --overwrite",
    "drop": "--drop NAME",
    "every chunk": "all rows",
    "first chunk": "the rows learned from",
    "keep": "--keep NAME",
    "key": "--key NAME",
    "known words": "select --vocabulary VIEW=FILE names them before",
    "names of views": ": a run over text=FILE calls its view text, whatever the file is called",
    "numbers of clusters": COUNTS,
    "or start anew": "",
    "other variables": "Leave others out: --drop NAME",
    "other views": "--view NAME for every other",
    "save_to": "-o",
    "seeds": "a whole number from 0 to 2**32 - 1",
    "sizes": SIZES,
    "steps": "repeated for more steps, in order",
    "tokenize": "--tokenize VIEW",
    "variables": "",
    "weights": '"balanced", "auto", or a weight above 0 for each view',
}


def worded(text: str, options: Callable[[], Mapping[str, str]]) -> str:
    """Return a text as it is said at the command line.

    Parameters
    ----------
    text : str or Sentence
    options : callable
        Returns the option of every parameter that has one.

    Examples
    --------
    >>> said = Sentence("Pass ", Setting("negative", "clip"), " or ", Setting("window", 1), ".")
    >>> worded(said, lambda: {"negative": "--negative"})
    'Pass --negative clip or window = 1 in [parameters].'
    """
    if not isinstance(text, Sentence):
        return text
    known = options()

    def words(part: Setting | Clause) -> str:
        if isinstance(part, Clause):
            return _CLAUSES.get(part.key, known.get(part.key, part.text))
        if part.name not in known:
            key = part.name if part.view is None else f"{part.name}.{part.view}"
            return f"{key} = {json.dumps(part.value, default=repr)} in [parameters]"
        value = part.value if part.view is None else {part.view: part.value}
        if isinstance(value, bool):
            return known[part.name] if value else f"no {known[part.name]}"
        if part.name == "prepare" and not value:
            return f"{known[part.name]} none"
        return f"{known[part.name]} {typed(value)}"

    return text.said(words)


def typed(value: Any) -> str:
    """Return a value as it is typed.

    Examples
    --------
    >>> typed({"text": 200, "image": None}), typed("a b"), typed(["l2"])
    ('text=200,image=all', "'a b'", 'l2')
    """
    if isinstance(value, Mapping):
        return ",".join(f"{view}={typed(each)}" for view, each in value.items())
    if isinstance(value, list | tuple):
        return ",".join(map(typed, value)) or "none"
    return "all" if value is None else shlex.quote(str(value))
