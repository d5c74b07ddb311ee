"""What can be asked of named blocks of one batch."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from omvfs.data.blocks import Block
from omvfs.data.containers import Names
from omvfs.data.lacking import BoolArray
from omvfs.data.schema import Schema


class NamedBlocks:
    """Blocks of one batch by the names of their views: what they are called, and how large."""

    _blocks: dict[str, Block]
    _feature_names: dict[str, Names | None]
    _index: Any
    # By view that rows lack, which rows have it.
    _present: dict[str, BoolArray]
    # Views whose rows came by the names of their features.
    _by_name: frozenset[str]

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

    def has(self, view: str) -> BoolArray:
        """Return which rows have a view.

        Parameters
        ----------
        view : str
        """
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
