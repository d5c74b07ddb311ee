"""Which columns of a view are selected, by their places and by their names."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.data.blocks import take_columns
from omvfs.data.containers import Names
from omvfs.data.views import Block
from omvfs.model.columns import place_columns


@dataclass(frozen=True)
class Chosen:
    """The selected features of a view.

    Attributes
    ----------
    view : str
    width : int
        Features of the view, or of the one 2-D X that holds it.
    columns : int array
        Which of them are selected, in rising order.
    names : tuple of str, or None
        Their names; None if they have none.
    may_lack : bool, default=False
        Whether rows may lack some of them, which are zero then: of a view whose features come one
        by one.
    """

    view: str
    width: int
    columns: NDArray[np.intp]
    names: tuple[str, ...] | None
    may_lack: bool = False

    def of(self, block: Block, names: Names | None, by_name: bool = False) -> Block:
        """Return the selected columns of a block, by their names where both have some.

        Parameters
        ----------
        block : Block
        names : array of str, or None
            Of its columns.
        by_name : bool, default=False
            Whether its rows are mappings, which may lack features.
        """
        if (by_name or self.may_lack) and not self._stand_still(names):
            wanted = {name: j for j, name in enumerate(self.names or ())}
            own = [] if names is None else names.tolist()
            places = np.array([wanted.get(name, -1) for name in own], np.intp)
            return place_columns(block, places, len(wanted))
        return take_columns(block, self.places(names, block.shape[1]))

    def places(self, names: Names | None, width: int, by_name: bool = False) -> NDArray[np.intp]:
        """Return which columns of some are selected, by their names where both have some.

        Parameters
        ----------
        names : array of str, or None
            Of the columns.
        width : int
            How many there are.
        by_name : bool, default=False
            Whether some of them may lack.
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
        if by_name or self.may_lack:
            place = {name: j for j, name in enumerate(names)}
            return np.array([place[name] for name in self.names if name in place], np.intp)
        return self._looked_up(names)

    def _stand_still(self, names: Names | None) -> bool:
        """Tell whether all is where it was, as a rule: to look up every name takes longer."""
        if names is None or self.names is None:
            return True
        return len(names) == self.width and tuple(names[self.columns]) == self.names

    def _looked_up(self, names: Names) -> NDArray[np.intp]:
        place = {name: j for j, name in enumerate(names)}
        if missing := [name for name in self.names or () if name not in place]:
            raise ValueError(
                f"View {self.view!r} lacks {len(missing):,} of the {len(self.columns):,} features "
                f"that are needed, such as {missing[0]!r}. Pass all of them."
            )
        return np.array([place[name] for name in self.names or ()], np.intp)

    def plain(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        held = {"view": self.view, "width": self.width, "columns": self.columns.tolist()}
        return {**held, "names": self.names, **({"may_lack": True} if self.may_lack else {})}
