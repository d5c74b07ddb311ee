"""What tells whether the rows of a source are those that were read before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import Block
from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.formats import Chunk, Cursor, Source, SourceError
from omvfs.wording import BEGIN_ANEW, Clause, Sentence


@dataclass(frozen=True)
class Digest:
    """Checksums of all rows so far, a few a view: the same however the rows are cut into chunks.

    They find what was changed by accident, not what was made to have the same ones.

    Attributes
    ----------
    sums : mapping of str to tuple of int
        Of the values of a dense view; of values, columns and lengths of the rows of a sparse one.

    Examples
    --------
    >>> whole = Digest().after(Views({"text": np.eye(3)}))
    >>> whole == Digest().after(Views({"text": np.eye(1, 3)})).after(Views({"text": np.eye(3)[1:]}))
    True
    """

    sums: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def after(self, views: Views) -> "Digest":
        """Return the digest of these rows after those before.

        Parameters
        ----------
        views : Views
        """
        present, names = views.present, views.feature_names
        sums = {}
        for view, X in views.blocks.items():
            own = names[view] if view in views.by_name else None
            sums[view] = self._after(view, X, present.get(view), own)
        return Digest(sums)

    def _after(
        self, view: str, X: Block, has: NDArray[np.bool_] | None, names: Any = None
    ) -> tuple[int, ...]:
        parts = _parts(X if names is None else _by_codes(X, names), has)
        before = self.sums.get(view, (0,) * len(parts))
        # A view that was dense and is not any more will differ, as it should.
        pairs = zip(parts, before, strict=False)
        return tuple(crc32(np.ascontiguousarray(part).data, old) for part, old in pairs)

    def differences(self, other: "Digest") -> list[str]:
        """Return the views in which another digest differs."""
        return [v for v in {**self.sums, **other.sums} if self.sums.get(v) != other.sums.get(v)]

    @property
    def plain(self) -> dict[str, list[int]]:
        """As JSON can hold it."""
        return {view: list(sums) for view, sums in self.sums.items()}

    @classmethod
    def of(cls, plain: Any) -> "Digest | None":
        """Return the digest that some plain values are; None if they are none."""
        if not isinstance(plain, dict) or not plain:
            return None
        numbers = [each for sums in plain.values() if isinstance(sums, list) for each in sums]
        if not all(isinstance(sums, list) for sums in plain.values()):
            return None
        if not all(type(each) is int and 0 <= each < 1 << 32 for each in numbers):
            return None
        return cls({view: tuple(sums) for view, sums in plain.items()})


def chunks_with_digests(
    source: Source, batch_size: int, cursor: Cursor | None, before: Digest
) -> Iterator[tuple[Chunk, Digest]]:
    """Yield chunks, each with the digest of all rows up to its last.

    The rows before the cursor are read again first: they must be those of the digest.

    Parameters
    ----------
    source : Source
    batch_size : int
        Rows of a chunk.
    cursor : dict or None
        Where to go on.
    before : Digest
        Of the rows before.
    """
    chunks = source.chunks(batch_size, cursor)
    if cursor is not None:
        chunks = _after_the_same(source, batch_size, int(cursor["row"]), before)
    for chunk in chunks:
        before = before.after(chunk.views)
        yield chunk, before


def _after_the_same(
    source: Source, batch_size: int, n_rows: int, before: Digest
) -> Iterator[Chunk]:
    """Return the chunks after some rows, which must be those of a digest."""
    seen, n_seen, place = Digest(), 0, None
    chunks = source.chunks(batch_size)
    # As many whole chunks as there are, then the rest of the rows: a stream can be read once only.
    n_whole, rest = divmod(n_rows, batch_size)
    for chunk in islice(chunks, n_whole):
        seen, n_seen, place = seen.after(chunk.views), n_seen + len(chunk.views), chunk.cursor
    if rest and n_seen == n_whole * batch_size:
        for chunk in islice(source.chunks(rest, place), 1):
            seen, n_seen, place = seen.after(chunk.views), n_seen + len(chunk.views), chunk.cursor
        chunks = source.chunks(batch_size, place)
    if different := before.differences(seen):
        where = f"among the first {n_rows:,}, in view {listed(different)}"
        if n_seen < n_rows:
            where = f"{n_seen:,}; expected at least {n_rows:,}"
        raise SourceError(
            Sentence(
                f"{source.name} has other rows than the run has learned from: {where}. Go on with "
                "the same input; or ",
                Clause(BEGIN_ANEW.key, "begin anew: resume=False"),
                "; or keep the results elsewhere: ",
                Clause("save_to", "save_to"),
                ".",
            )
        )
    return chunks


def _by_codes(X: Any, names: Any) -> Any:
    """Return rows by name with a code of every name in the place of its column.

    Which columns there are, and in which order, depends on how rows are cut into chunks.
    """
    codes = np.fromiter(
        (crc32(name.encode("utf-8", "surrogatepass")) for name in names), np.int64, len(names)
    )
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((X.data, codes[X.indices], rows))
    parts = X.data[order], codes[X.indices][order], X.indptr
    return sp.csr_array(parts, shape=(X.shape[0], 1 << 32))


def _parts(X: Any, has: NDArray[np.bool_] | None) -> list[NDArray[Any]]:
    """Return what a block is made of, row after row; a row that lacks the view is not an empty one.

    Parameters
    ----------
    X : array or CSR matrix
    has : bool array of shape (n,), or None
        Which rows have the view.
    """
    if not sp.issparse(X):
        values = np.asarray(X, np.float64)
        return [values if has is None else np.where(has[:, np.newaxis], values, np.nan)]
    kind = np.int32 if X.shape[1] < 1 << 31 else np.int64
    lengths = np.diff(X.indptr).astype(np.int64, copy=False)
    if has is not None:
        lengths = np.where(has, lengths, -1)
    return [X.data.astype(np.float64, copy=False), X.indices.astype(kind, copy=False), lengths]
