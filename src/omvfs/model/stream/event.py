"""What is told of a change of the stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from omvfs.model.stream.watch import Kind

# A feature by its name, or by its number where it has none.
Feature = str | int


@dataclass(frozen=True, slots=True)
class DriftEvent:
    """A change of the stream.

    Attributes
    ----------
    row : int
        Rows seen when it was noticed.
    chunk : int
        Number of the chunk in which it was, from 0.
    kind : {"shares", "meaning", "views"}
        What changed: how many rows are in which clusters; how well the clusters explain their rows,
        which is what words that change their meaning do; or how many rows have which views.
    since : int
        Rows seen when it began, as far as rows tell: a multiple of 200 before `row`.
    statistic, threshold : float
        How strongly rows since then differ from those before, and how strongly they would have to:
        the logarithm of a likelihood ratio.
    distance : float
        Share of the rows since then that would have to be elsewhere, between 0 and 1.
    came, went : mapping of str to tuple of str or int
        By view, a few features that matter to these rows and did not before, the other way round;
        those that changed most first. Names, or numbers of columns where there are none.
    """

    row: int
    chunk: int
    kind: Kind
    since: int
    statistic: float
    threshold: float
    distance: float
    came: Mapping[str, tuple[Feature, ...]]
    went: Mapping[str, tuple[Feature, ...]]

    def later(self, n_rows: int, n_chunks: int) -> "DriftEvent":
        """Return the event as it is in a stream that has so many rows and chunks before."""
        return replace(
            self, row=self.row + n_rows, chunk=self.chunk + n_chunks, since=self.since + n_rows
        )

    def named(self, names: Sequence[str], features: Sequence[Sequence[str] | None]) -> "DriftEvent":
        """Return the event with the names of views and features for their numbers.

        Parameters
        ----------
        names : sequence of str
            Of the views.
        features : sequence of (sequence of str or None)
            Names of their features, if they have any.
        """

        def named(found: Mapping[str, tuple[Feature, ...]]) -> dict[str, tuple[Feature, ...]]:
            pairs = zip(names, features, found.values(), strict=True)
            return {
                view: own if known is None else tuple(known[int(j)] for j in own)
                for view, known, own in pairs
            }

        return replace(self, came=named(self.came), went=named(self.went))
