"""How much of a selection stays under other rows and other seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omvfs.model.ranking.stability import StabilityIndex, stability_index


@dataclass(frozen=True, eq=False)
class ViewStability:
    """How much of the selection of one view stays.

    Attributes
    ----------
    index : StabilityIndex
        1 if every resample selects the same features, about 0 if they have no more in common than
        by chance; with its 95 % interval.
    frequencies : array of shape (D,)
        Of each feature, the share of the resamples in which it is selected.
    """

    index: StabilityIndex
    frequencies: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SelectionStability:
    """How much of the selection stays; shown as a table.

    Attributes
    ----------
    index : StabilityIndex
        Of the features of all views together.
    views : mapping of str to ViewStability
    n_resamples : int

    Examples
    --------
    >>> masks = {"text": np.array([[True, False, False], [True, True, False]])}
    >>> print(SelectionStability.of(masks))
         view  features  selected  stability  95 % interval  always  never
    all views         3       1.5       0.33   0.33 to 0.33       1      1
         text         3       1.5       0.33   0.33 to 0.33       1      1
    """

    index: StabilityIndex
    views: Mapping[str, ViewStability]
    n_resamples: int

    @classmethod
    def of(cls, selected: Mapping[str, NDArray[np.bool_]]) -> "SelectionStability":
        """Return it from selections.

        Parameters
        ----------
        selected : mapping of str to bool array of shape (n_resamples, D)
            By view, which features each resample selects.
        """
        views = {
            view: ViewStability(stability_index(masks), masks.mean(axis=0))
            for view, masks in selected.items()
        }
        together = np.hstack(list(selected.values()))
        return cls(stability_index(together), views, len(together))

    def __str__(self) -> str:
        whole = np.concatenate([own.frequencies for own in self.views.values()])
        parts = {"all views": ViewStability(self.index, whole), **self.views}
        heads = ["view", "features", "selected", "stability", "95 % interval", "always", "never"]
        lines = [heads, *([name, *_cells(own)] for name, own in parts.items())]
        return _aligned(lines)

    __repr__ = __str__


def _cells(own: ViewStability) -> list[str]:
    shares, (value, low, high) = own.frequencies, own.index
    return [
        f"{len(shares):,}",
        f"{shares.sum():,.1f}".removesuffix(".0"),
        f"{value:.2f}",
        f"{low:.2f} to {high:.2f}",
        f"{np.count_nonzero(shares == 1):,}",
        f"{np.count_nonzero(shares == 0):,}",
    ]


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ("  ".join(map(str.rjust, line, widths)) for line in lines)
    return "\n".join(rows)
