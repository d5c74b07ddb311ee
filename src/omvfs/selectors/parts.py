"""Parts of a stream that were learned from apart, and whether they fit each other."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.data.schema import Schema, listed
from omvfs.model.settings import Settings
from omvfs.model.state import ChunkInfo
from omvfs.selectors.fitted import FittedState
from omvfs.selectors.growing import Growth
from omvfs.selectors.settings import plain
from omvfs.wording import Clause, Sentence, Setting


@dataclass(frozen=True)
class Reading:
    """How an estimator reads its rows, beside their schema.

    Attributes
    ----------
    plain : bool
        Whether rows come as one X that is not split.
    n_features : int
        Columns of X, or features of all views.
    columns : bytes or None
        Which column of X is which feature, as 8-byte numbers; None where rows come as views.
    """

    plain: bool
    n_features: int
    columns: bytes | None

    def __str__(self) -> str:
        if self.columns is not None:
            return f"one X of {self.n_features:,} columns, split into views"
        return "one X that is not split" if self.plain else "views"


@dataclass(frozen=True)
class Form:
    """What parts must have in common, but for names that one knows and the other does not.

    Attributes
    ----------
    schema : Schema
    reading : Reading
    settings : Settings
    params : mapping of str to object
        Parameters that decide what is learned beside `settings`; `prepare` in few words.
    dtype : dtype
        Of what was learned.
    """

    schema: Schema
    reading: Reading
    settings: Settings
    params: Mapping[str, Any]
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Card:
    """What a part is known by among others.

    Attributes
    ----------
    key : bytes
        Of its rows.
    n_rows : int
        Rows that it was learned from.
    weight : float
        Rows, as far as they are not forgotten.
    later : int
        Rows of other parts that came after it.
    of_parts : tuple of bytes
        Keys of the parts that were merged to it before.
    """

    key: bytes
    n_rows: int
    weight: float
    later: int = 0
    of_parts: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Brief:
    """What must be known of every part before one of them is merged.

    Attributes
    ----------
    form : Form
    card : Card
    raised : tuple of array of shape (D_v,), or None
        By how much columns are raised.
    sparse : tuple of bool
        Which views it holds sparse rows of.
    growth : Growth or None
        Of its features, if they come later.
    """

    form: Form
    card: Card
    raised: tuple[NDArray[np.float64], ...] | None
    sparse: tuple[bool, ...]
    growth: Growth | None = None


@dataclass(frozen=True)
class Part:
    """What an estimator has learned from a part of a stream.

    Attributes
    ----------
    known : FittedState
        What was learned; nobody writes into it any more.
    history : tuple of ChunkInfo
        What happened in its chunks.
    reading : Reading
    params : mapping of str to object
        Parameters that decide what is learned, beside the settings.
    later : int
        Rows of other parts that came after it.
    """

    known: FittedState
    history: tuple[ChunkInfo, ...]
    reading: Reading
    params: Mapping[str, Any]
    later: int = 0

    def __deepcopy__(self, memo: Any) -> "Part":
        return self

    @property
    def n_rows(self) -> int:
        """Rows that it was learned from."""
        return self.known.n_rows

    @property
    def brief(self) -> Brief:
        """What must be known of it before it is merged."""
        known, statistics = self.known, self.known.state.statistics
        form = Form(known.schema, self.reading, known.settings, self.params, statistics.dtype)
        card = Card(known.key, self.n_rows, statistics.decayed_n_rows, self.later, known.of_parts)
        sparse = tuple(map(known.holds_sparse, range(len(known.schema.names))))
        return Brief(form, card, known.raised, sparse, known.growth)


def check_mergeable(form: Form, name: str) -> None:
    """Refuse a part that can be merged with no other.

    Parameters
    ----------
    form : Form
    name : str
        What errors call the part.
    """
    if form.settings.solver != "constrained":
        raise ValueError(
            f"{name} is an OMVFSPaper, which keeps no rows by which the clusters of one part could "
            "be found again in another. Merge what OMVFS has learned."
        )


def check_alike(ours: Form, first: str, theirs: Form, other: str) -> None:
    """Refuse two parts that cannot be merged.

    Parameters
    ----------
    ours, theirs : Form
    first, other : str
        What errors call them.
    """
    grows = ours.params.get("new_features") == theirs.params.get("new_features") == "grow"
    _check_views(ours.schema, first, theirs.schema, other, grows)
    expected, got = ({**each.params, **asdict(each.settings)} for each in (ours, theirs))
    for name, value in expected.items():
        if got[name] != value:
            raise ValueError(
                Sentence(
                    f"{other} was learned with ",
                    Setting(name, plain(got[name])),
                    f", {first} with ",
                    Setting(name, plain(value)),
                    ". Learn from all parts with the same parameters; only the seed and those that "
                    "rank may differ.",
                )
            )
    # Where features come later, how many there are says nothing.
    alike = replace(theirs.reading, n_features=ours.reading.n_features)
    if (alike if grows else theirs.reading) != ours.reading:
        raise ValueError(
            f"{other} was learned from {theirs.reading}, {first} from {ours.reading}. Give the "
            "rows of all parts in the same form."
        )
    if theirs.dtype != ours.dtype:
        raise ValueError(
            f"{other} was learned in {theirs.dtype}, {first} in {ours.dtype}. Give the rows of all "
            "parts in the same precision."
        )


def _check_views(ours: Schema, first: str, theirs: Schema, other: str, grows: bool = False) -> None:
    if theirs.names != ours.names:
        raise ValueError(
            Sentence(
                f"{other} has views {listed(theirs.names)}; {first} has {listed(ours.names)}. "
                "Merge parts of the same views in the same order",
                Clause("names of views", ""),
                ".",
            )
        )
    for v, view in enumerate(ours.names):
        if grows and None not in (theirs.feature_names[v], ours.feature_names[v]):
            continue
        if grows and (theirs.feature_names[v] is None) != (ours.feature_names[v] is None):
            raise ValueError(
                f"View {view!r} has names of features in one of {first} and {other}, and none in "
                "the other. Give the rows of all parts in the same form."
            )
        if theirs.widths[v] != ours.widths[v]:
            raise ValueError(
                f"View {view!r} has {theirs.widths[v]:,} features in {other} and "
                f"{ours.widths[v]:,} in {first}. Merge parts of the same features."
            )
        got, expected = theirs.feature_names[v], ours.feature_names[v]
        if got is not None and expected is not None and got != expected:
            column = next(j for j, name in enumerate(got) if name != expected[j])
            raise ValueError(
                f"View {view!r} has other features in {other} than in {first}: column {column} is "
                f"{got[column]!r}, expected {expected[column]!r}. Merge parts of the same features "
                "in the same order."
            )
