"""The selected features by themselves, frozen: what serving needs of a selector."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs import codec
from omvfs.data.blocks import (
    Block,
    are_mappings,
    column_names,
    frame_of,
    hstack,
    modalities_of,
    n_columns,
    take_columns,
    with_columns,
    with_columns_of_modalities,
)
from omvfs.data.read import as_views, select_columns
from omvfs.data.schema import Names, listed
from omvfs.data.table import Table
from omvfs.data.views import Views, holds_views, named_blocks
from omvfs.disk import PathLike
from omvfs.model.columns import place_columns
from omvfs.prepare import FILLS, Preparing, hash_bits, hashed


def is_views(X: Any) -> bool:
    """Tell whether X comes as views already, not as one 2-D block.

    Examples
    --------
    >>> is_views([[1.0, 2.0]]), is_views({"text": [[1.0, 2.0]]}), is_views([{"cat": 1.0}])
    (False, True, True)
    """
    return isinstance(X, Views) or holds_views(X) or are_mappings(X)


@dataclass(frozen=True)
class Chosen:
    """The selected features of a view."""

    view: str
    # Features of the view, or of the one 2-D X that holds it.
    width: int
    # Which of them are selected, in rising order.
    columns: NDArray[np.intp]
    # Their names; None if they have none.
    names: tuple[str, ...] | None
    # Whether rows may lack some of them, which are zero then: of a view whose features come one by
    # one.
    may_lack: bool = False
    # How rows are prepared first; None if they are not.
    preparing: Preparing | None = None
    # What the preparation needs, if that is more than these: all features of the view if rows are
    # brought to unit norm.
    needed: "Chosen | None" = None

    def prepared(self, every: "Chosen", preparing: Preparing) -> "Chosen":
        """Return the same of rows that are prepared first, as all features of the view are."""
        if preparing.needs_all:
            return replace(self, preparing=preparing, needed=every)
        return replace(self, preparing=preparing.on(np.searchsorted(every.columns, self.columns)))

    @property
    def hash_bits(self) -> int | None:
        """By how many bits features are hashed; None if they are not."""
        return None if self.preparing is None else hash_bits(self.preparing.steps[0])

    def of(self, block: Block, names: Names | None, by_name: bool = False) -> Block:
        """Return the selected columns of a block, prepared, by their names where both have some.

        With `by_name`, its rows are mappings, which may lack features.
        """
        if self.preparing is None:
            return self._found_in(block, names, by_name)
        if self.hash_bits is not None and names is not None:
            block, names = hashed(block, names.tolist(), self.hash_bits), None
        needed = self.needed or self
        rows = self.preparing.apply(needed._found_in(block, names, by_name))
        if self.needed is None:
            return rows
        return take_columns(rows, np.searchsorted(self.needed.columns, self.columns))

    def _found_in(self, block: Block, names: Names | None, by_name: bool) -> Block:
        if (by_name or self.may_lack) and not self._stand_still(names):
            wanted = {name: j for j, name in enumerate(self.names or ())}
            own = [] if names is None else names.tolist()
            places = np.array([wanted.get(name, -1) for name in own], np.intp)
            return place_columns(block, places, len(wanted))
        return take_columns(block, self.places(names, block.shape[1]))

    def places(self, names: Names | None, width: int, by_name: bool = False) -> NDArray[np.intp]:
        """Return which of so many columns are selected, by their names where both have some.

        With `by_name`, some of them may lack.
        """
        if names is None or self.names is None:
            if width != self.width:
                raise ValueError(
                    f"View {self.view!r} is to be taken from {self.width:,} columns; got "
                    f"{width:,}. Pass the columns that were fitted, or a frame with names."
                )
            return self.columns
        if self._stand_still(names):
            return self.columns
        place = {name: j for j, name in enumerate(names)}
        missing = [name for name in self.names if name not in place]
        if missing and not (by_name or self.may_lack):
            raise ValueError(
                f"View {self.view!r} lacks {len(missing):,} of the {len(self.columns):,} features "
                f"that are needed, such as {missing[0]!r}. Pass all of them."
            )
        return np.array([place[name] for name in self.names if name in place], np.intp)

    def _stand_still(self, names: Names | None) -> bool:
        """Tell whether all is where it was, as a rule: to look up every name takes longer."""
        if names is None or self.names is None:
            return True
        return len(names) == self.width and tuple(names[self.columns]) == self.names

    def is_sound(self) -> bool:
        """Tell whether its pieces fit each other: a file may have been made by anyone."""
        columns, needed = self.columns, self.needed or self
        rising = columns.ndim == 1 and len(columns) > 0 and bool((np.diff(columns) > 0).all())
        if not rising or not 0 <= columns[0] <= columns[-1] < self.width < 1 << 31:
            return False
        named = not self.may_lack if self.names is None else len(self.names) == len(columns)
        if self.preparing is None:
            return named and self.needed is None
        same = (needed.view, needed.width) == (self.view, self.width)
        held = self.needed is None or (self.needed.preparing is None and self.needed.is_sound())
        covered = held and same and set(columns) <= set(needed.columns)
        alone = self.needed is not None or not self.preparing.needs_all
        return named and covered and alone and self.preparing.fits(len(needed.columns))


_ONE = "X"


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """The selected features of every view, and nothing of what was learned.

    It is what `selection()` of a selector returns. It never changes, is small, and takes columns as
    they come, by name where they have names, by place where they have none.

    Parameters
    ----------
    chosen : sequence of Chosen
        A part for each view.
    of_one : bool
        Whether the views are parts of one 2-D X.
    names_out : sequence of str
        Names of the columns of `transform`.
    table : Table or None
        The columns of the table that the views are of.

    Examples
    --------
    >>> from omvfs.baselines import Variance
    >>> X = np.array([[1.0, 0.0, 3.0], [5.0, 1.0, 3.0]])
    >>> selection = Variance(n_features_per_view=1, views=[2, 1]).fit(X).selection()
    >>> selection, selection.transform(X).tolist()
    (Selection(view_0: 1 of 3, view_1: 1 of 3), [[1.0, 3.0], [5.0, 3.0]])
    """

    chosen: tuple[Chosen, ...]
    of_one: bool
    names_out: tuple[str, ...]
    table: Table | None = None

    @property
    def columns(self) -> dict[str, NDArray[np.intp]]:
        """Selected columns by view name, in the view, or in X if that was one."""
        return {each.view: each.columns.copy() for each in self.chosen}

    def get_feature_names_out(self) -> NDArray[Any]:
        """Return the names of the columns of `transform`."""
        return np.array(self.names_out, dtype=object)

    def transform(self, X: Any) -> Block:
        """Return the selected features: of one 2-D X its columns, of views one after another.

        Rows are prepared first, as the selector has them prepared.

        Parameters
        ----------
        X : anything `as_views` accepts
            As what was fitted: one 2-D X, or views by name.

        Returns
        -------
        array or CSR matrix
            Sparse if any view is.
        """
        if not self.of_one:
            return hstack(list(self.transform_views(X).values()))
        if any(each.preparing is not None for each in self.chosen):
            order = np.argsort(np.concatenate([each.columns for each in self.chosen]))
            return hstack(list(self.transform_views(X).values()))[:, order]
        return self._of_all_views().of(*self._one(X))

    def transform_views(self, X: Any) -> dict[str, Block]:
        """Return the selected features by view name, each in the kind it came.

        Parameters
        ----------
        X : anything `as_views` accepts
            As what was fitted: one 2-D X, or views by name.
        """
        if self.of_one:
            block, names = self._one(X)
            return {each.view: each.of(block, names) for each in self.chosen}
        self._check_kind(X)
        batch = self._read(X, new_features="grow", columns=self.table)
        self._check_names(batch.names)
        known = batch.feature_names
        return {
            each.view: each.of(batch[each.view], known[each.view], each.view in batch.by_name)
            for each in self.chosen
        }

    def select(self, X: Any) -> Any:
        """Return the selected columns of X as X holds them: the same kind, values as they are.

        Nothing of the values is read, checked or prepared.

        Parameters
        ----------
        X : array, sparse matrix, data frame, AnnData, or a dict or list of such by view, MuData
            As what was fitted: one 2-D X, or views by name. Frames are those of pandas, polars,
            pyarrow and others that narwhals knows, lazy ones too; rows keep their index.

        Returns
        -------
        object of the kind of X
            In the order of `get_feature_names_out`; without those that X lacks, if features may
            come later. Of a table, the columns of which any feature is selected, in its order.

        Examples
        --------
        >>> import pandas as pd
        >>> from omvfs.baselines import Variance
        >>> frame = pd.DataFrame({"a": [1, 5], "b": [0, 1]}, index=["x", "y"])
        >>> Variance(n_features_per_view=1).fit(frame).selection().select(frame)
           a
        x  1
        y  5
        """
        if any(each.hash_bits for each in self.chosen):
            raise ValueError("Features were hashed: no column of X is one of them. Use transform.")
        self._check_kind(X)
        if self.of_one:
            return _taken(X, self._of_all_views())
        if self.table is not None and not isinstance(X, Mapping):
            kept = self.table.columns_of({each.view: each.names or () for each in self.chosen})
            there = column_names(X)
            assert there is not None
            return with_columns(X, np.flatnonzero([name in kept for name in there]))
        own = {_ONE: X} if are_mappings(X) else X
        by_view = X.blocks if isinstance(X, Views) else named_blocks(own)
        self._check_names(by_view)
        if isinstance(X, Views):
            return self._kept_views(X)
        chosen = {each.view: each for each in self.chosen}
        if modalities_of(X) is not None:
            taken = {v: chosen[v].places(column_names(m), m.shape[1]) for v, m in by_view.items()}
            return with_columns_of_modalities(X, taken)
        taken = {view: _taken(own, chosen[view]) for view, own in by_view.items()}
        if are_mappings(X):
            return taken[_ONE]
        return taken if isinstance(X, Mapping) else list(taken.values())

    def _kept_views(self, X: Views) -> Views:
        found = {
            each.view: each.places(X.feature_names[each.view], X.widths[each.view])
            for each in self.chosen
        }
        names = {
            view: own[found[view]].tolist()
            for view, own in X.feature_names.items()
            if own is not None
        }
        blocks = select_columns(X, found)
        return Views(blocks, feature_names=names, index=X.index, present=X.present or None)

    def _of_all_views(self) -> Chosen:
        """Return what is selected of one 2-D X, of all views together."""
        columns = np.concatenate([each.columns for each in self.chosen])
        order = np.argsort(columns)
        names = [name for each in self.chosen for name in each.names or ()]
        named = tuple(names[i] for i in order) if names else None
        return Chosen(_ONE, self.chosen[0].width, columns[order], named)

    def _check_kind(self, X: Any) -> None:
        if self.of_one and is_views(X):
            raise ValueError("Got several views; expected one 2-D X, as was fitted.")
        if not self.of_one and not is_views(X) and (self.table is None or frame_of(X) is None):
            raise ValueError(f"Got one X; expected views {listed(self.columns)} by name.")

    def _check_names(self, views: Collection[str]) -> None:
        if set(views) != set(self.columns):
            raise ValueError(f"Got views {listed(views)}; expected {listed(self.columns)}.")

    def _one(self, X: Any) -> tuple[Block, Names | None]:
        self._check_kind(X)
        batch = self._read(X)
        return batch[_ONE], batch.feature_names[_ONE]

    def _read(self, X: Any, **how: Any) -> Views:
        """Return rows, with the gaps that are filled."""
        if self.table is not None and frame_of(X) is not None:
            X = self.table.views(X)
        fills = any(
            each.preparing and (each.preparing.steps[:1] in FILLS or each.hash_bits)
            for each in self.chosen
        )
        return as_views(X, negative="allow", missing="allow" if fills else "error", **how)

    def save(self, path: PathLike) -> None:
        """Write it to a small file, whole or not at all.

        Parameters
        ----------
        path : path
        """
        codec.write(path, self._content(), has_rows=False)

    @classmethod
    def load(cls, path: PathLike) -> "Selection":
        """Return what `save` wrote.

        Parameters
        ----------
        path : path

        Examples
        --------
        >>> import tempfile
        >>> from omvfs.baselines import Variance
        >>> X = {"text": [[1.0, 0.0], [5.0, 1.0]]}
        >>> path = tempfile.mkdtemp() + "/selection.omvfs"
        >>> Variance(n_features_per_view=1).fit(X).selection().save(path)
        >>> Selection.load(path)
        Selection(text: 1 of 2)
        """
        tensors, tree = codec.read(path)
        try:
            if "class" in tree:
                raise ValueError(f"it is a model; load it with {tree['class']}.load")
            decoder = codec.Decoder(tensors)
            found: Selection = decoder.value(tree["selection"], cls)
            decoder.end()
            if not found._is_sound():
                raise ValueError("its pieces do not fit each other")
        except codec.UNSOUND as error:
            raise codec.CheckpointError(
                f"{os.fspath(path)} holds no selection: {error}."
            ) from error
        return found

    def _content(self) -> bytes:
        encoder = codec.Encoder()
        tree = {"selection": encoder.node(self)}
        return codec.encoded(encoder.tensors, tree)

    def _is_sound(self) -> bool:
        names, sizes = {each.view for each in self.chosen}, {each.width for each in self.chosen}
        n_columns = sum(len(each.columns) for each in self.chosen)
        if not 0 < len(names) == len(self.chosen) or len(self.names_out) != n_columns:
            return False
        if self.of_one and (
            len(sizes) > 1 or len({each.names is None for each in self.chosen}) > 1
        ):
            return False
        return all(each.is_sound() for each in self.chosen)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selection) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self.names_out)

    def __repr__(self) -> str:
        parts = [f"{each.view}: {len(each.columns):,} of {each.width:,}" for each in self.chosen]
        return f"Selection({', '.join(parts)})"


def _taken(X: Any, chosen: Chosen) -> Any:
    return with_columns(X, chosen.places(column_names(X), n_columns(X), are_mappings(X)))
