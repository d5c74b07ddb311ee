"""The data of one batch, as named views."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import EllipsisType
from typing import Any, Self, overload

import numpy as np

from omvfs.data.blocks import (
    Block,
    hstack,
    take_rows,
    tidy_block,
    vstack,
)
from omvfs.data.collections import (
    RowKey,
    fitting,
    given_names,
    row_key,
)
from omvfs.data.containers import Names, as_names
from omvfs.data.lacking import (
    BoolArray,
    blanked,
    given_presence,
    shown,
    spread,
)
from omvfs.data.named_blocks import NamedBlocks
from omvfs.data.reading import read_blocks
from omvfs.data.rows import aligned, joined
from omvfs.data.schema import NewFeatures, Schema, listed, unknown_features
from omvfs.data.vocabulary import Vocabulary
from omvfs.model.columns import place_columns

__all__ = ["Block", "Schema", "Views", "hstack"]

# How much is known of the values of a Views, each level holding the one before.
READ, FINITE, NONNEGATIVE = range(3)


class Views(NamedBlocks):
    """Named, row-sliceable blocks of one batch, rows aligned across views.

    Structure is checked on construction (2-D, equal rows, sound sparse indices); values are
    checked by `as_views`, which every estimator calls.

    Parameters
    ----------
    blocks : mapping of str to 2-D block, sequence of 2-D blocks, or MuData
        Arrays, sparse matrices of any format, data frames, AnnData, xarray's DataArray; kinds may
        differ between views. Blocks in a sequence are named ``view_0``, ``view_1``, ... Rows that
        have labels are put in the order of the first view that has any.
    feature_names : mapping of str to sequence of str, default=None
        Feature names by view. Views not mentioned keep the column names of their frame, if any.
    index : pandas.Index, default=None
        Labels of the rows, which are taken as they stand; by default those of the blocks.
    present : mapping of str to boolean array of shape (n_rows,), default=None
        By view which rows have it; all, if a view is not mentioned. What a block holds in rows that
        lack the view is not looked at. Rows of NaN throughout lack a dense view without being
        mentioned.

    Notes
    -----
    Blocks are C-ordered arrays or canonical CSR (``csr_array`` and ``csr_matrix`` each stay what
    they are) of one dtype: ``numpy.result_type`` over the views, where float32 and float64 count
    as they are and all else as float64. Memory is shared with the caller where the layout allows.

    Indexing with a view's name gives its block; with rows (slice, integers, boolean mask), a
    `Views` of these rows. So ``train_test_split`` and ``GridSearchCV`` split a `Views` by rows.

    Examples
    --------
    >>> import numpy as np
    >>> views = Views({"text": np.eye(3), "image": np.ones((3, 2))})
    >>> views
    Views(3 rows; text: 3, image: 2; float64)
    >>> views.shape
    (3, 5)
    >>> views["image"].shape
    (3, 2)
    >>> views[1:]
    Views(2 rows; text: 3, image: 2; float64)
    """

    _blocks: dict[str, Block]
    _feature_names: dict[str, Names | None]
    _known: int
    _index: Any
    # By view that rows lack, which rows have it.
    _present: dict[str, BoolArray]
    # Views whose rows are mappings: which features there are, and in which order, says nothing.
    _by_name: frozenset[str]

    def __init__(
        self,
        blocks: Mapping[str, Any] | Sequence[Any],
        *,
        feature_names: Mapping[str, Sequence[str]] | None = None,
        index: Any = None,
        present: Mapping[str, Any] | None = None,
    ) -> None:
        self._blocks, names, self._index, own, self._by_name = read_blocks(blocks, index)
        self._feature_names = {**names, **given_names(feature_names or {}, self.widths)}
        self._known, self._present = READ, own
        if present is not None:
            self._present = {**own, **given_presence(present, self.names, self.n_rows)}
            for view, has in self._present.items():
                self._blocks[view] = blanked(self._blocks[view], has)

    @classmethod
    def _of(
        cls,
        blocks: dict[str, Block],
        feature_names: dict[str, Names | None],
        known: int,
        index: Any,
        present: dict[str, BoolArray],
        by_name: frozenset[str] = frozenset(),
    ) -> Self:
        """Put together what has been checked already."""
        self = cls.__new__(cls)
        self._blocks, self._feature_names, self._known = blocks, feature_names, known
        self._index, self._present, self._by_name = index, present, by_name
        return self

    def named(self, feature_names: Mapping[str, Sequence[str]]) -> Self:
        """Return the same blocks with other feature names.

        Parameters
        ----------
        feature_names : mapping of str to sequence of str
            Feature names by view. Views not mentioned keep those they have.

        Examples
        --------
        >>> Views({"text": [[1.0, 2.0]]}).named({"text": ["cat", "dog"]}).feature_names
        {'text': array(['cat', 'dog'], dtype=object)}
        """
        names = {**self._feature_names, **given_names(feature_names, self.widths)}
        return self._of(self._blocks, names, self._known, self._index, self._present)

    @classmethod
    def beside(cls, parts: Iterable["Views"]) -> Self:
        """Put the views of several batches of the same rows beside each other.

        They have been read, and are not read again.

        Parameters
        ----------
        parts : iterable of Views
            Batches of as many rows, each with views of its own.

        Examples
        --------
        >>> Views.beside([Views({"text": [[1.0]]}), Views({"image": np.ones((1, 2), "f")})])
        Views(1 rows; text: 1, image: 2; float64)
        """
        parts = _some(parts)
        names = [name for part in parts for name in part.names]
        if len(set(names)) < len(names):
            raise ValueError(f"Got views {listed(names)}; expected each of them once.")
        whose = {name: part for part in parts for name in part.names}
        indices = {name: part._index for name, part in whose.items()}
        blocks, index = aligned({name: part[name] for name, part in whose.items()}, indices)
        masks: dict[str, Any] = {
            view: has[:, None] for part in parts for view, has in part._present.items()
        }
        if masks:
            masks, _ = aligned(masks, indices)
        feature_names = {name: part._feature_names[name] for name, part in whose.items()}
        known = min(part._known for part in parts)
        present = {view: has[:, 0] for view, has in masks.items()}
        by_name = frozenset().union(*(part._by_name for part in parts))
        made = fitting(blocks, by_name)
        return cls._of(made, feature_names, known, index, present, by_name)

    def replaced(self, blocks: Mapping[str, Block]) -> Self:
        """Return other blocks in the place of these, of which they were worked out.

        Their structure is trusted; values that became zero are no entries any more.

        Parameters
        ----------
        blocks : mapping of str to Block
            Arrays of floats or CSR matrices for every view, with as many rows. Those of as many
            features as before keep their names.

        Examples
        --------
        >>> views = Views({"text": [[1.0, 2.0]]})
        >>> views.replaced({"text": views["text"] / 2})["text"]
        array([[0.5, 1. ]])
        """
        if set(blocks) != set(self.names):
            raise ValueError(f"Got views {listed(blocks)}; expected {listed(self.names)}.")
        made = fitting({name: tidy_block(X) for name, X in blocks.items()})
        names = {
            name: self._feature_names[name] if X.shape == self[name].shape else None
            for name, X in made.items()
        }
        new = self._of(made, names, READ, self._index, self._present)
        if len(new) != len(self):
            raise ValueError(f"Got {len(new):,} rows in the place of {len(self):,}.")
        return new

    @classmethod
    def concat(cls, parts: Iterable["Views"], new_features: NewFeatures = "error") -> "Views":
        """Put the rows of several batches below each other.

        Parameters
        ----------
        parts : iterable of Views
            Batches of the same schema.
        new_features : {"error", "grow"}, default="error"
            Refuse batches of other features, or match named ones by their names: all that any
            batch has, in the order in which they appear.

        Returns
        -------
        views : Views
            A view is sparse if it is sparse in any part.

        Examples
        --------
        >>> views = Views([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
        >>> Views.concat([views[:1], views[1:]])["view_0"]
        array([[1., 2.],
               [3., 4.],
               [5., 6.]])
        """
        first, *rest = _some(parts)
        if not rest:
            return first
        if new_features == "grow":
            first, *rest = _with_all_names([first, *rest])
        schema = first.schema
        alike = [first, *(matched(part, schema) for part in rest)]
        blocks = {name: vstack([part[name] for part in alike]) for name in first.names}
        lacking = [view for view in first.names if any(view in part._present for part in alike)]
        present = {view: np.concatenate([part.has(view) for part in alike]) for view in lacking}
        index = joined([part._index for part in alike])
        # The sum of squares may overflow though that of each part does not.
        return cls._of(blocks, first._feature_names, READ, index, present, first._by_name)

    def with_features(self, features: Mapping[str, Vocabulary]) -> Self:
        """Return the same rows with other features, matched by name.

        Those that are not here are zero, and those that are only here are gone. A view without
        names stays as it is.

        Parameters
        ----------
        features : mapping of str to Vocabulary
            By view; views not mentioned stay as they are.

        Examples
        --------
        >>> views = Views({"text": [{"cat": 2.0, "dog": 1.0}]})
        >>> views.with_features({"text": Vocabulary(["ant", "cat"])})["text"].toarray()
        array([[0., 2.]])
        """
        blocks, names = dict(self._blocks), dict(self._feature_names)
        for view, wanted in features.items():
            own = names[view]
            if own is not None:
                places = wanted.known_places(own.tolist())
                blocks[view] = place_columns(self[view], places, len(wanted))
                names[view] = wanted.array
        return self._of(blocks, names, self._known, self._index, self._present, self._by_name)

    def with_blocks(self, blocks: Mapping[str, Block], nameless: Sequence[str]) -> Self:
        """Return the same values in other columns.

        They are trusted to be what they were, or sums of it.

        Parameters
        ----------
        blocks : mapping of str to Block
            For every view, of as many rows.
        nameless : sequence of str
            Views whose columns have no names any more.
        """
        names = {
            view: None if view in nameless else own for view, own in self.feature_names.items()
        }
        by_name = self._by_name.difference(nameless)
        return self._of(dict(blocks), names, self._known, self._index, self._present, by_name)

    def _by_names_of(self, like: Schema) -> Self:
        """Return rows by name with the features of an earlier batch; it must have all of them."""
        known = dict(zip(like.names, like.feature_names, strict=True))
        wanted = {}
        for view in self._by_name & known.keys():
            names, expected = self._feature_names[view], known[view]
            if expected is None or names is None:
                continue
            wanted[view] = _vocabulary_of(tuple(expected))
            if new := wanted[view].places(names.tolist())[1]:
                raise ValueError(unknown_features(view, new))
        return self.with_features(wanted)

    def only(self, names: Iterable[str]) -> Self:
        """Return some of the views.

        Parameters
        ----------
        names : iterable of str

        Examples
        --------
        >>> Views({"text": [[1.0]], "image": [[2.0]]}).only(["image"])
        Views(1 rows; image: 1; float64)
        """
        names = list(names)
        blocks = {name: self[name] for name in names}
        own = {name: self._feature_names[name] for name in names}
        present = {view: has for view, has in self._present.items() if view in blocks}
        by_name = self._by_name & blocks.keys()
        return self._of(blocks, own, self._known, self._index, present, by_name)

    def spread(self, places: Any, n_rows: int) -> Self:
        """Return the rows in certain places among others, which lack all of these views.

        Parameters
        ----------
        places : int array
            A place for each row.
        n_rows : int
            How many rows there are then.

        Examples
        --------
        >>> Views({"text": [[1.0]]}).spread(np.array([1]), 2).present
        {'text': array([False,  True])}
        """
        if len(places) == n_rows and (np.diff(places) > 0).all():
            return self
        present = {}
        for view in self.names:
            present[view] = np.zeros(n_rows, bool)
            present[view][places] = self.has(view)
        blocks = {view: spread(X, places, n_rows) for view, X in self._blocks.items()}
        return self._of(blocks, self._feature_names, self._known, None, present, self._by_name)

    def shown(self) -> Self:
        """Return the same views as others see them: NaN in rows that lack one, if it is dense."""
        if not self._present:
            return self
        blocks = {view: shown(X, self._present.get(view)) for view, X in self._blocks.items()}
        return self._of(blocks, self._feature_names, READ, self._index, self._present)

    @overload
    def __getitem__(self, key: str) -> Block: ...

    @overload
    def __getitem__(self, key: RowKey | tuple[RowKey, EllipsisType]) -> Self: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._blocks:
                raise KeyError(f"no view {key!r}; the views are {listed(self.names)}")
            return self._blocks[key]
        rows = row_key(key)
        blocks = {name: take_rows(block, rows) for name, block in self._blocks.items()}
        index = None if self._index is None else self._index[rows]
        present = {}
        for view, has in self._present.items():
            if not (own := has[rows]).all():
                present[view] = own
        return self._of(blocks, self._feature_names, self._known, index, present, self._by_name)


def _some(parts: Iterable[Views]) -> list[Views]:
    parts = list(parts)
    if not parts:
        raise ValueError("Got no batches to put together; expected at least one.")
    return parts


def matched(batch: Views, like: Schema, new_features: NewFeatures = "error") -> Views:
    """Put a batch into the order of an earlier one, with the names known of either."""
    grows = new_features == "grow"
    if batch._by_name and not grows:
        batch = batch._by_names_of(like)
    like.check(batch.schema, grows)
    names = dict(batch._feature_names)
    for view, known in zip(like.names, like.feature_names, strict=True):
        if names[view] is None and known and not grows:
            names[view] = as_names(known)
    ordered = {view: batch[view] for view in like.names}
    own = {view: names[view] for view in ordered}
    return Views._of(ordered, own, batch._known, batch._index, batch._present, batch._by_name)


@lru_cache(maxsize=2)
def _vocabulary_of(names: tuple[str, ...]) -> Vocabulary:
    """Return names in which others can be looked up; of a stream they are the same again."""
    return Vocabulary(names)


def _with_all_names(parts: Sequence[Views]) -> list[Views]:
    """Return batches with the features that any of them has, where these have names."""
    for view in parts[0].names:
        found = [part._feature_names.get(view) for part in parts]
        own = [names.tolist() for names in found if names is not None]
        if len(own) < len(found):
            continue
        union = Vocabulary(own[0])
        for names in own[1:]:
            union = union.grown(union.places(names)[1])
        parts = [part.with_features({view: union}) for part in parts]
    return list(parts)
