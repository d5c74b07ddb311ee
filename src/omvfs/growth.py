"""Features that come later, and which of them are forgotten where there may not be more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.data.schema import Schema, Vocabulary
from omvfs.data.views import Views
from omvfs.model.arrays import IntArray, column_sums
from omvfs.model.settings import Settings
from omvfs.model.statistics import Statistics
from omvfs.wording import Sentence, Setting

# Features that came within so many rows have half of the places before others: of one that one row
# in a hundred has, ten rows have come by then.
PROTECTED_ROWS = 1000
# What is forgotten at once of a view that is full, so that it is not done for every chunk.
_SHARE = 0.25


@dataclass(frozen=True)
class Growth:
    """What is known of the features of views that grow, beside their names.

    Attributes
    ----------
    most : tuple of (int, or None)
        Features that each view may have at most; None for any number.
    born : tuple of int array
        Of each view that has a most, how many rows had been seen when each feature came; empty for
        others.
    forgotten : tuple of int
        Features of each view that were forgotten, or never taken in.
    """

    most: tuple[int | None, ...]
    born: tuple[NDArray[np.int64], ...]
    forgotten: tuple[int, ...]

    @classmethod
    def of(cls, most: Sequence[int | None]) -> "Growth":
        """Return what is known before the first chunk."""
        return cls(tuple(most), (np.zeros(0, np.int64),) * len(most), (0,) * len(most))


@dataclass(frozen=True)
class Change:
    """What a chunk changes of the features that there are.

    Attributes
    ----------
    schema : Schema
        After it.
    growth : Growth
    kept : tuple of (int array, or None)
        Columns of each view that stay, in rising order; None for all.
    places : dict of str to int array
        Of each view that grows, where the columns of the chunk go, negative for those that are
        left out.
    """

    schema: Schema
    growth: Growth
    kept: tuple[IntArray | None, ...]
    places: Mapping[str, IntArray] = field(default_factory=dict)


def begun(first: Schema) -> Schema:
    """Return a schema whose named features are all yet to come."""
    grows = [names is not None for names in first.feature_names]
    return Schema(
        first.names,
        tuple(0 if own else D for own, D in zip(grows, first.widths, strict=True)),
        tuple(Vocabulary() if own else None for own in grows),
    )


def change_for(
    chunk: Views, schema: Schema, growth: Growth, known: Statistics, settings: Settings
) -> Change:
    """Return what a chunk changes of the features that there are.

    A view that would have more than it may is without the least useful of those it has, a quarter
    of what it may have at once. How useful a feature is, is what it has left in the clusters,
    Σ_k B_jk, a row since it came, both as far as they are not forgotten, and `PROTECTED_ROWS` rows
    before. Half of the places go by that alone; of the other half, those that came within the last
    `PROTECTED_ROWS` rows have the first. If a chunk brings more than half of what a view may have,
    as many are taken in, those of the largest sums in it.

    Parameters
    ----------
    chunk : Views
    schema : Schema
        Of the features so far.
    growth : Growth
    known : Statistics
        What they have left.
    settings : Settings
    """
    vocabularies = list(schema.feature_names)
    born, forgotten = list(growth.born), list(growth.forgotten)
    places: dict[str, IntArray] = {}
    held: list[IntArray | None] = [None] * len(schema.names)
    names_of = chunk.feature_names
    for v, view in enumerate(schema.names):
        words, names, most = vocabularies[v], names_of[view], growth.most[v]
        if not isinstance(words, Vocabulary) or names is None:
            continue
        given = names.tolist()
        places[view], new = words.places(given)
        if most is not None and len(words) + len(new) > most:
            taken = _taken_in(chunk, view, given, new, most)
            forgotten[v] += len(new) - len(taken)
            room = min(most - len(taken), int((1 - _SHARE) * most))
            if len(words) > room:
                held[v] = own = _least_useless(v, born[v], known, settings, room)
                forgotten[v] += len(words) - room
                words, born[v] = words.kept(own), born[v][own]
            words = words.grown(taken)
            places[view] = words.known_places(given)
            new = taken
        else:
            words = words.grown(new)
        vocabularies[v] = words
        if most is not None:
            came = np.full(len(new), known.n_rows, np.int64)
            born[v] = np.concatenate([born[v], came])
        if not len(words):
            raise ValueError(
                f"View {view!r} has no features in the first chunk; expected at least one. Begin "
                "with rows that have some, or leave the view out."
            )
    widths = tuple(
        len(words) if isinstance(words, Vocabulary) else D
        for words, D in zip(vocabularies, schema.widths, strict=True)
    )
    return Change(
        Schema(schema.names, widths, tuple(vocabularies)),
        replace(growth, born=tuple(born), forgotten=tuple(forgotten)),
        tuple(held),
        places,
    )


def within(
    schema: Schema, growth: Growth, known: Statistics, settings: Settings
) -> tuple[tuple[IntArray | None, ...], Growth]:
    """Return which columns of each view stay so that none has more than it may, None for all.

    Parameters
    ----------
    schema : Schema
    growth : Growth
    known : Statistics
    settings : Settings
    """
    kept: list[IntArray | None] = [None] * len(schema.names)
    born, forgotten = list(growth.born), list(growth.forgotten)
    for v, (most, D) in enumerate(zip(growth.most, schema.widths, strict=True)):
        if most is not None and schema.feature_names[v] is not None and most < D:
            kept[v] = own = _least_useless(v, born[v], known, settings, most)
            born[v] = born[v][own]
            forgotten[v] += D - most
    return tuple(kept), replace(growth, born=tuple(born), forgotten=tuple(forgotten))


def _least_useless(
    v: int, born: NDArray[np.int64], known: Statistics, settings: Settings, n: int
) -> IntArray:
    """Return which n features of a view stay, in rising order."""
    rows = known.n_rows - born
    left = known.views[v].B.sum(axis=1, dtype=np.float64)
    return _most_useful(left, _faded(rows, settings.half_life), rows, n)


def _taken_in(
    chunk: Views, view: str, given: Sequence[str], new: Sequence[str], most: int
) -> list[str]:
    """Return which of the new features of a chunk are taken in, in their order."""
    room = max(1, most // 2)
    if len(new) <= room:
        return list(new)
    place = {name: j for j, name in enumerate(given)}
    columns = np.array([place[name] for name in new], np.intp)
    sums = column_sums(abs(chunk[view]))[columns]
    best = np.sort(np.argsort(-sums, kind="stable")[:room])
    return [new[j] for j in best.tolist()]


def _most_useful(
    left: NDArray[np.float64], ages: NDArray[np.float64], rows: NDArray[np.int64], n: int
) -> IntArray:
    """Return the n features that are of most use, or young, in rising order.

    Half of them by their use alone: words that come once and never again must not crowd out all
    others while they are young.

    Examples
    --------
    >>> left, rows = np.array([8.0, 1.0, 9.0, 1.0]), np.array([4000, 4000, 2000, 10])
    >>> _most_useful(left, rows.astype(float), rows, 2)
    array([2, 3])
    """
    # As if nothing had been left for some rows before: what came once, just now, proves little.
    use = left / (ages + PROTECTED_ROWS)
    order = np.argsort(-use, kind="stable")
    first, others = order[: n - n // 2], order[n - n // 2 :]
    young = np.argsort(rows[others] > PROTECTED_ROWS, kind="stable")
    return np.sort(np.concatenate([first, others[young[: n // 2]]]))


def _faded(rows: NDArray[np.int64], half_life: float | None) -> NDArray[np.float64]:
    """Return how many of some last rows are not forgotten.

    Examples
    --------
    >>> _faded(np.array([100, 10**9]), None), _faded(np.array([10**9]), 100.0).round()
    (array([1.e+02, 1.e+09]), array([144.]))
    """
    if half_life is None:
        return rows.astype(np.float64)
    share = np.log(2) / half_life
    left: NDArray[np.float64] = -np.expm1(-share * rows) / share
    return left


def check_growing(params: Mapping[str, Any]) -> None:
    """Refuse parameters that do not go together with views that grow.

    Parameters
    ----------
    params : mapping of str to object
        Parameters of the estimator by name.

    Examples
    --------
    >>> check_growing({"max_features": 100, "new_features": "error", "negative": "error"})
    Traceback (most recent call last):
    ValueError: Got max_features=100 with new_features='error'; expected new_features='grow': only
    views that grow can forget features.
    """
    most = params["max_features"]
    given = most.values() if isinstance(most, Mapping) else [most]
    if all(each is None for each in given):
        return
    got = Sentence("Got ", Setting("max_features", most), " with ")
    if params["new_features"] != "grow":
        raise ValueError(
            Sentence(
                got,
                Setting("new_features", params["new_features"]),
                "; expected ",
                Setting("new_features", "grow"),
                ": only views that grow can forget features.",
            )
        )
    if params["negative"] == "shift":
        raise ValueError(
            Sentence(
                got,
                Setting("negative", "shift"),
                "; expected another, such as ",
                Setting("negative", "clip"),
                ": all columns that are raised have large sums, and nothing tells which to forget.",
            )
        )
