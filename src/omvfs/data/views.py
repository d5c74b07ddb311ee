"""The data of one batch, as named views."""

from collections.abc import Container, Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache, reduce
from operator import add
from types import EllipsisType, MappingProxyType
from typing import Any, NoReturn, Self, TypeAlias, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import (
    Block,
    BoolArray,
    blanked,
    frame_of,
    given_presence,
    hstack,
    modalities_of,
    read_block,
    shown,
    spread,
    take_rows,
    tidy_block,
    vstack,
)
from omvfs.data.schema import (
    Names,
    NewFeatures,
    Schema,
    Vocabulary,
    as_names,
    check_view_names,
    listed,
    unknown_features,
)
from omvfs.model.columns import place_columns

RowKey: TypeAlias = slice | int | Sequence[int] | Sequence[bool] | np.ndarray[Any, Any]


def holds_views(X: Any) -> bool:
    """Tell a collection of views from one 2-D X."""
    if sp.issparse(X):  # first: a DOK matrix is a dict
        return False
    if isinstance(X, Mapping) or modalities_of(X) is not None:
        return True
    if not isinstance(X, list | tuple):
        return False
    is_block = [len(getattr(element, "shape", ())) == 2 for element in X]
    if any(is_block) and not all(is_block):
        odd = is_block.index(False)
        raise ValueError(
            f"View 'view_{odd}' has no 2-D shape (got {type(X[odd]).__name__}); expected one of "
            "every element in a list of views. Reshape it, or leave it out."
        )
    return bool(is_block) and all(is_block)


def has_rows(X: Any) -> bool:
    """Tell whether a batch has rows, as far as it tells; one that is no batch is for others."""
    if isinstance(X, Mapping) and not sp.issparse(X):
        return not X or has_rows(next(iter(X.values())))
    if isinstance(X, list | tuple):
        return bool(X) and (not holds_views(X) or has_rows(X[0]))
    shape = getattr(X, "shape", ())
    return not shape or shape[0] != 0


def named_blocks(blocks: Any) -> dict[str, Any]:
    """Name the blocks, the way they are given or by their place."""
    blocks = blocks if (own := modalities_of(blocks)) is None else own
    if sp.issparse(blocks) or not isinstance(blocks, Mapping | list | tuple):
        raise TypeError(
            f"Got {type(blocks).__name__}; expected a dict or list of 2-D blocks. "
            "Use as_views(X, views=...) to split one 2-D X."
        )
    if not blocks:
        raise ValueError("Got no views; expected at least one 2-D block.")
    if not isinstance(blocks, Mapping):
        return {f"view_{i}": block for i, block in enumerate(blocks)}
    check_view_names(blocks)
    return dict(blocks)


def fitting(blocks: dict[str, Block], may_be_empty: Container[str] = ()) -> dict[str, Block]:
    """Return blocks in their common dtype, if their shapes agree."""
    check_shapes({name: block.shape for name, block in blocks.items()}, may_be_empty)
    dtype = np.result_type(*(block.dtype for block in blocks.values()))
    return {name: block.astype(dtype, copy=False) for name, block in blocks.items()}


def check_shapes(shapes: Mapping[str, tuple[int, int]], may_be_empty: Container[str] = ()) -> None:
    """Refuse views of different numbers of rows, and those of no features or of too many."""
    if len({n_rows for n_rows, _ in shapes.values()}) > 1:
        counts = ", ".join(f"{view!r}: {n_rows:,}" for view, (n_rows, _) in shapes.items())
        raise ValueError(
            f"The views have different numbers of rows ({counts}); expected the same in every "
            "view. Row i of each view must describe the same object."
        )
    for view, (_, width) in shapes.items():
        if not width and view not in may_be_empty:
            raise ValueError(f"View {view!r} has 0 features; expected at least 1. Leave it out.")
        if width >= 1 << 31:
            raise ValueError(
                f"View {view!r} has {width:,} features; expected fewer than 2^31. Number them "
                "without gaps, or hash them."
            )


def given_names(given: Mapping[str, Sequence[str]], widths: Mapping[str, int]) -> dict[str, Names]:
    """Check feature names against the widths of the views they are for."""
    for view, names in given.items():
        if view not in widths:
            raise ValueError(f"Got feature names of view {view!r}; the views are {listed(widths)}.")
        if isinstance(names, str) or not all(
            issubclass(kind, str) for kind in set(map(type, names))
        ):
            raise TypeError(f"View {view!r} has feature names {names!r}; expected a list of str.")
        width, n_names, n_different = widths[view], len(names), len(set(names))
        if not width == n_names == n_different:
            raise ValueError(
                f"View {view!r} has {width:,} features, but {n_names:,} feature names, "
                f"{n_different:,} of them different. Pass one name for each feature."
            )
    return {view: as_names(names) for view, names in given.items()}


def row_key(key: Any) -> Any:
    """Bring rows to ask for into a form that arrays and sparse matrices both take."""
    if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
        key = key[0]  # how scikit-learn asks for rows
    if isinstance(key, slice):
        return key
    # Any other tuple means rows and columns; asarray must not guess at it.
    rows = np.empty((0, 0)) if isinstance(key, tuple) else np.atleast_1d(np.asarray(key))
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iub"):
        raise TypeError(
            f"Got {key!r} as an index of Views; expected the name of a view, or rows as a slice, "
            "integers or a boolean mask. For columns see select_columns."
        )
    return rows if rows.size else rows.astype(np.intp)


_BY_PLACE = (
    "if row i of every view is the same object, pass views without labels: "
    "frame.reset_index(drop=True), adata.X"
)


def aligned(
    blocks: Mapping[str, Block], indices: Mapping[str, Any]
) -> tuple[dict[str, Block], Any]:
    """Put the rows of all views in the order of the first that has labels, and return these.

    Views without labels, or with those that pandas counts by default, go by the place of their
    rows.
    """
    labelled = {view: index for view, index in indices.items() if not _is_counted(index)}
    if not labelled:
        return dict(blocks), None
    (first, like), *others = labelled.items()
    orders = {view: _order(view, own, first, like) for view, own in others if not like.equals(own)}
    for view, index in indices.items():
        if view in labelled:
            continue
        if orders:
            raise ValueError(
                f"View {next(iter(orders))!r} has the rows of view {first!r} in another order by "
                f"their labels, and view {view!r} has no labels to tell its order. Put all of them "
                f"in one order before, such as by frame.loc[other.index]; or, {_BY_PLACE}."
            )
        same = index is not None and len(index) == len(like) and like.is_unique
        if not same or like.equals(index):
            continue
        has_all = (index.get_indexer(like) >= 0).all()
        if has_all or type(like).__name__ == "RangeIndex":
            other = "has these numbers in another order" if has_all else "has other numbers"
            raise ValueError(
                f"View {view!r} numbers its rows from 0, and view {first!r} {other}, beginning "
                f"with {like[0]}; whether they go together by number or by place is not told. Pass "
                f"frame.loc[other.index]; or, {_BY_PLACE}."
            )
    return {
        view: take_rows(block, orders[view]) if view in orders else block
        for view, block in blocks.items()
    }, like


def _is_counted(index: Any) -> bool:
    """Tell whether rows have no labels but those that pandas gives by default, 0, 1, ..."""
    if index is None:
        return True
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)


def _order(view: str, index: Any, first: str, like: Any) -> NDArray[np.intp]:
    """Return which rows to take for labels to be those of the first view."""
    for name, each in ((first, like), (view, index)):
        if not each.is_unique:
            twice = each[each.duplicated()].tolist()[0]
            raise ValueError(
                f"Views {first!r} and {view!r} have rows of other labels or in another order, and "
                f"{name!r} has the label {twice!r} more than once; expected "
                f"labels that tell which rows go together. Make them unique; or, {_BY_PLACE}."
            )
    order: NDArray[np.intp] = index.get_indexer(like)
    alone = [(first, view, like[order < 0]), (view, first, index[like.get_indexer(index) < 0])]
    for own, other, lacking in alone:
        if len(lacking):
            raise ValueError(
                f"Views {own!r} and {other!r} are of different rows by their labels: "
                f"{len(lacking):,} of {own!r} are not in {other!r}, such as "
                f"{lacking.tolist()[0]!r}; expected the same in every view. Keep the rows that all "
                f"have: frame.loc[common], adata[common]; or, {_BY_PLACE}."
            )
    return order


__all__ = ["Block", "Schema", "Views", "hstack"]

# How much is known of the values of a Views, each level holding the one before.
READ, FINITE, NONNEGATIVE = range(3)


class Views:
    """Named, row-sliceable blocks of one batch, rows aligned across views.

    Structure is checked on construction (2-D, equal rows, sound sparse indices); values are
    checked by `as_views`, which every estimator calls.

    Parameters
    ----------
    blocks : mapping of str to 2-D block, sequence of 2-D blocks, or MuData
        Arrays, sparse matrices of any format, data frames, AnnData; kinds may differ
        between views. Blocks in a sequence are named ``view_0``, ``view_1``, ... Rows that have
        labels are put in the order of the first view that has any.
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
    # Views to which later rows bring features: words and categories.
    _grows: frozenset[str]
    # Views in which NaN is a value that a table lacks; and the table, if they are of one.
    _gaps: frozenset[str]
    _table: Any

    def __init__(
        self,
        blocks: Mapping[str, Any] | Sequence[Any],
        *,
        feature_names: Mapping[str, Sequence[str]] | None = None,
        index: Any = None,
        present: Mapping[str, Any] | None = None,
    ) -> None:
        given = named_blocks(blocks)
        read = {name: read_block(X, name) for name, X in given.items()}
        found = {name: block for name, (block, _) in read.items()}
        rows = {name: labels.index for name, (_, labels) in read.items()}
        own = {name: each.present for name, (_, each) in read.items() if each.present is not None}
        if modalities_of(blocks) is not None:
            # The order of the whole goes first; cells may lack a modality.
            whole = blocks.obs_names  # type: ignore[union-attr]
            for name, labels in rows.items():
                # Rows of other labels are refused below.
                if len(labels) < len(whole) and whole.is_unique and labels.isin(whole).all():
                    places = whole.get_indexer(labels)
                    found[name] = spread(found[name], places, len(whole))
                    own[name], rows[name] = whole.isin(labels), whole
            rows = {"MuData": whole, **rows}
        if index is None:
            found, index = aligned(found, rows)
        self._by_name = frozenset(name for name, (_, each) in read.items() if each.by_name)
        self._grows = frozenset(name for name, (_, each) in read.items() if each.grows)
        frames = (name for name, X in given.items() if not isinstance(X, list | tuple | np.ndarray))
        self._gaps = frozenset(name for name in frames if frame_of(given[name]) is not None)
        self._table = None
        self._blocks, self._index, self._known = fitting(found, self._by_name), index, READ
        if index is not None and len(index) != self.n_rows:
            raise ValueError(f"Got an index of {len(index):,} labels for {self.n_rows:,} rows.")
        names = {name: each.names for name, (_, each) in read.items()}
        self._feature_names = {**names, **given_names(feature_names or {}, self.widths)}
        self._present = {**own, **given_presence(present or {}, self.names, self.n_rows)}
        if present is not None:
            for view, has in self._present.items():
                self._blocks[view] = blanked(self._blocks[view], has)

    @classmethod
    def _of(
        cls, blocks: dict[str, Block], feature_names: dict[str, Names | None], index: Any
    ) -> Self:
        """Put together blocks of the same rows that have been read already."""
        self = cls.__new__(cls)
        self._blocks, self._feature_names, self._index = blocks, feature_names, index
        self._known, self._present, self._table = READ, {}, None
        self._by_name = self._grows = self._gaps = frozenset()
        return self

    def _with(self, **changes: Any) -> Self:
        """Return a copy with other attributes, which have been checked already."""
        new = copy(self)
        vars(new).update({f"_{name}": value for name, value in changes.items()})
        return new

    @property
    def names(self) -> tuple[str, ...]:
        """View names, in order."""
        return tuple(self._blocks)

    @property
    def blocks(self) -> Mapping[str, Block]:
        """Blocks by view name, read-only."""
        return MappingProxyType(self._blocks)

    @property
    def feature_names(self) -> dict[str, Names | None]:
        """Feature names by view name, None where unknown."""
        return dict(self._feature_names)

    @property
    def index(self) -> Any:
        """Labels of the rows, an index of pandas; None where unknown."""
        return self._index

    @property
    def present(self) -> dict[str, BoolArray]:
        """Which rows have a view, by name, for those that some rows lack; as far as is known.

        `as_views` finds rows of NaN throughout.

        Examples
        --------
        >>> X = {"text": [[1.0], [2.0]], "image": [[3.0, 4.0], [np.nan, np.nan]]}
        >>> from omvfs import as_views
        >>> as_views(X, missing="allow").present
        {'image': array([ True, False])}
        """
        return dict(self._present)

    @property
    def presence(self) -> BoolArray | None:
        """Which rows have which views, rows by views; None if all have all."""
        if not self._present:
            return None
        return np.stack([self.has(view) for view in self.names], axis=1)

    @property
    def by_name(self) -> frozenset[str]:
        """Views whose rows are mappings: what features they have, and in what order, is chance."""
        return self._by_name

    @property
    def grows(self) -> frozenset[str]:
        """Views to which later rows bring features: words of texts, and categories."""
        return self._grows

    @property
    def gaps(self) -> frozenset[str]:
        """Views in which NaN is a number that a table lacks."""
        return self._gaps

    @property
    def table(self) -> Any:
        """The columns of the table that these are rows of, None if they are of none."""
        return self._table

    def has(self, view: str) -> BoolArray:
        """Return which rows have a view."""
        own = self._present.get(view)
        return np.ones(len(self), bool) if own is None else own

    @property
    def n_rows(self) -> int:
        """Number of rows, the same in every view."""
        return int(next(iter(self._blocks.values())).shape[0])

    @property
    def widths(self) -> dict[str, int]:
        """Number of features by view name."""
        return {name: int(block.shape[1]) for name, block in self._blocks.items()}

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of features over all views."""
        return self.n_rows, sum(self.widths.values())

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type, the same in every view."""
        dtype: np.dtype[Any] = next(iter(self._blocks.values())).dtype
        return dtype

    @property
    def schema(self) -> Schema:
        """What later batches must match."""
        names = self._feature_names.values()
        return Schema(
            names=self.names,
            widths=tuple(self.widths.values()),
            feature_names=tuple(None if each is None else tuple(each) for each in names),
        )

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "Views is not iterable: use .blocks.items() to go over the views, "
            "rechunk([views], batch_size) to go over the rows."
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(
            "Views is not one array: use views['name'] for one view, "
            "hstack(list(views.blocks.values())) for all of them side by side."
        )

    def __repr__(self) -> str:
        widths = ", ".join(
            f"{name}: {block.shape[1]}{' sparse' if sp.issparse(block) else ''}"
            for name, block in self._blocks.items()
        )
        lacking = "".join(
            f"; {np.count_nonzero(~has):,} without {view}" for view, has in self._present.items()
        )
        return f"Views({self.n_rows} rows{lacking}; {widths}; {self.dtype})"

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
        given = given_names(feature_names, self.widths)
        return self._with(feature_names={**self._feature_names, **given}, by_name=frozenset())

    @classmethod
    def beside(cls, parts: Iterable["Views"]) -> "Views":
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
        tables = [part._table for part in parts if part._table is not None]
        indices = {name: part._index for name, part in whose.items()}
        blocks, index = aligned({name: part[name] for name, part in whose.items()}, indices)
        masks: dict[str, Any] = {
            view: has[:, None] for part in parts for view, has in part._present.items()
        }
        if masks:
            masks, _ = aligned(masks, indices)
        by_name = frozenset().union(*(part._by_name for part in parts))
        return parts[0]._with(
            blocks=fitting(blocks, by_name),
            feature_names={name: part._feature_names[name] for name, part in whose.items()},
            known=min(part._known for part in parts),
            index=index,
            present={view: has[:, 0] for view, has in masks.items()},
            by_name=by_name,
            grows=frozenset().union(*(part._grows for part in parts)),
            gaps=frozenset().union(*(part._gaps for part in parts)),
            table=reduce(add, tables) if tables else None,
        )

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
        new = self._with(blocks=made, feature_names=names, known=READ, by_name=frozenset())
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
        blocks = {view: vstack(_held_alike(view, alike)) for view in first.names}
        lacking = [view for view in first.names if any(view in part._present for part in alike)]
        present = {view: np.concatenate([part.has(view) for part in alike]) for view in lacking}
        rows = [part._index for part in alike]
        index = None if any(each is None for each in rows) else rows[0].append(rows[1:])
        # The sum of squares may overflow though that of each part does not.
        return first._with(blocks=blocks, known=READ, index=index, present=present)

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
        return self._with(blocks=blocks, feature_names=names)

    def with_views_of(self, schema: Schema) -> Self:
        """Return the same rows with all views of a schema, which they lack if they are not here.

        Views that only they have are the last.

        Examples
        --------
        >>> both = Views({"text": [[1.0]], "image": [[2.0, 3.0]]})
        >>> Views({"text": [[1.0]]}).with_views_of(both.schema)
        Views(1 rows; 1 without image; text: 1, image: 2 sparse; float64)
        """
        if self.names == schema.names:
            return self
        views = zip(schema.names, schema.widths, schema.feature_names, strict=True)
        lacking = {v: (width, names) for v, width, names in views if v not in self._blocks}
        kind = self.dtype
        blocks = {v: sp.csr_array((len(self), D), dtype=kind) for v, (D, _) in lacking.items()}
        names = {v: None if own is None else as_names(own) for v, (_, own) in lacking.items()}
        blocks, names = {**self._blocks, **blocks}, {**self._feature_names, **names}
        order = dict.fromkeys([*schema.names, *blocks])
        return self._with(
            blocks={view: blocks[view] for view in order},
            feature_names={view: names[view] for view in order},
            present={**self._present, **{view: np.zeros(len(self), bool) for view in lacking}},
        )

    def with_gaps(self) -> Self:
        """Return the same views as those of a table: NaN is a number that it lacks."""
        return self._with(gaps=frozenset(self.names))

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
        return self._with(blocks=dict(blocks), feature_names=names, by_name=by_name)

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
        blocks = {name: self[name] for name in names}
        return self._with(
            blocks=blocks,
            feature_names={name: self._feature_names[name] for name in blocks},
            present={view: has for view, has in self._present.items() if view in blocks},
            by_name=self._by_name & blocks.keys(),
        )

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
        return self._with(blocks=blocks, index=None, present=present)

    def shown(self) -> Self:
        """Return the same views as others see them: NaN in rows that lack one, if it is dense."""
        if not self._present:
            return self
        blocks = {view: shown(X, self._present.get(view)) for view, X in self._blocks.items()}
        return self._with(blocks=blocks, known=READ)

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
        some = {view: has[rows] for view, has in self._present.items()}
        present = {view: has for view, has in some.items() if not has.all()}
        return self._with(blocks=blocks, index=index, present=present)


def _some(parts: Iterable[Views]) -> list[Views]:
    parts = list(parts)
    if not parts:
        raise ValueError("Got no batches to put together; expected at least one.")
    return parts


def _held_alike(view: str, parts: Sequence[Views]) -> list[Block]:
    """Return a view of several batches; one that no row of a batch has is dense if others are."""
    dense = any(not sp.issparse(part[view]) for part in parts)
    return [
        np.zeros(part[view].shape, part.dtype) if dense and not part.has(view).any() else part[view]
        for part in parts
    ]


def matched(batch: Views, like: Schema, new_features: NewFeatures = "error") -> Views:
    """Put a batch into the order of an earlier one, with the names known of either."""
    grows = new_features == "grow"
    if batch._by_name and not grows:
        batch = batch._by_names_of(like)
    like.check(batch.schema, grows)
    if grows:
        return batch.with_views_of(like)
    names = dict(batch._feature_names)
    for view, known in zip(like.names, like.feature_names, strict=True):
        if names[view] is None and known:
            names[view] = as_names(known)
    return batch._with(
        blocks={view: batch[view] for view in like.names},
        feature_names={view: names[view] for view in like.names},
    )


@lru_cache(maxsize=2)
def _vocabulary_of(names: tuple[str, ...]) -> Vocabulary:
    """Return names in which others can be looked up; of a stream they are the same again."""
    return Vocabulary(names)


def _with_all_names(parts: Sequence[Views]) -> list[Views]:
    """Return batches with the views and features that any of them has, where these have names."""
    for part in [*parts, parts[0]]:
        parts = [each.with_views_of(part.schema) for each in parts]
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
