"""A selector or a source that breaks its contract is found out, and told what was expected."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.baselines import ColumnSum, RandomScore
from omvfs.data.schema import Schema
from omvfs.formats import ArraySource, IteratorSource, SideBySide
from omvfs.testing import check_selector, check_source


class RanksTheWorstFirst(ColumnSum):
    @property
    def view_ranking_(self):
        return {view: len(own) + 1 - own for view, own in super().view_ranking_.items()}


class SelectsOneMore(ColumnSum):
    @property
    def view_support_(self):
        support = super().view_support_
        for mask in support.values():
            mask[np.flatnonzero(~mask)[:1]] = True
        return support


class SupportsInOrderOfViews(ColumnSum):
    def get_support(self, indices=False):
        mask = np.concatenate(list(self.view_support_.values()))
        return np.flatnonzero(mask) if indices else mask


class MakesDense(ColumnSum):
    def transform(self, X):
        out = super().transform(X)
        return out.toarray() if sp.issparse(out) else out


class SpoilsItsInput(ColumnSum):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(X, np.ndarray) and X.flags.writeable and X.dtype == float:
            X[0] = 0
        return self


class HandsOutItsScores(RandomScore):
    @property
    def view_scores_(self):
        super().view_scores_  # noqa: B018 - asks for a fit
        return self._view_scores


class LooksAtY(ColumnSum):
    def fit(self, X, y=None):
        super().fit(X)
        return self if y is None else self.partial_fit(self._read_next(X)[:5])


class CountsBeforeItFails(ColumnSum):
    n_calls = 0

    def partial_fit(self, X, y=None):
        self.n_calls += 1
        return super().partial_fit(X)

    @property
    def n_samples_seen_(self):
        return 20 * self.n_calls - 10 if self.n_calls else super().n_samples_seen_


class LearnsTheLastChunkOnly(ColumnSum):
    def partial_fit(self, X, y=None):
        for name in ("_known", "schema_"):
            vars(self).pop(name, None)
        return super().partial_fit(X)


BROKEN_SELECTORS = {
    RanksTheWorstFirst: "not by score, the first better where they are equal",
    SelectsOneMore: r"n_features_per_view=4 selects \(5, 5\), not \(4, 4\)",
    SupportsInOrderOfViews: "not in the order of the columns of X",
    MakesDense: "transform gives .*ndarray",
    SpoilsItsInput: "changes its input",
    HandsOutItsScores: "Scores that are handed out reach into the model",
    LooksAtY: "fit depends on y",
    CountsBeforeItFails: "A chunk that was refused has been counted",
    LearnsTheLastChunkOnly: "partial_fit: a view missing is not refused",
}


@pytest.mark.parametrize("broken", BROKEN_SELECTORS)
def test_a_broken_selector_is_told_what_was_expected(broken):
    with pytest.raises(AssertionError, match=BROKEN_SELECTORS[broken]):
        check_selector(broken())


X = np.arange(1.0, 23.0).reshape(11, 2)


class Changed(ArraySource):
    """Rows with something about their chunks changed."""

    def __init__(self, change=lambda chunk: chunk):
        super().__init__({"x": X})
        self._change = change

    def _chunks(self, batch_size, cursor):
        return map(self._change, super()._chunks(batch_size, cursor))


def of_chunks(**changes):
    return Changed(lambda chunk: replace(chunk, **{k: f(chunk) for k, f in changes.items()}))


class FromTheStart(Changed):
    def _chunks(self, batch_size, cursor):
        for chunk in super()._chunks(batch_size, cursor):
            start = chunk.start - (cursor or {"row": 0})["row"]
            yield replace(chunk, views=self._views[start : start + len(chunk.views)])


class AnyCursor(Changed):
    def chunks(self, batch_size, cursor=None):
        cursor = cursor if cursor and type(cursor.get("row")) is int and cursor["row"] > 0 else None
        return super().chunks(batch_size, cursor)


class AnySize(Changed):
    def chunks(self, batch_size, cursor=None):
        return super().chunks(batch_size if batch_size in range(1, 99) else 1, cursor)


class OneBuffer(Changed):
    def _chunks(self, batch_size, cursor):
        buffer = np.zeros((batch_size, 2))
        for chunk in super()._chunks(batch_size, cursor):
            rows = buffer[: len(chunk.views)]
            rows[:] = chunk.views["x"]
            yield replace(chunk, views=ArraySource({"x": rows})._views)


class OtherLength(Changed):
    n_rows = 12

    def _to_the_end(self, chunks, row):
        return chunks


class NeverTheSame(Changed):
    number = count()

    @property
    def identity(self):
        return {"number": next(self.number)}


class ClosedOnce(Changed):
    closed = False

    def close(self):
        assert not self.closed, "closed twice"
        self.closed = True


BROKEN_SOURCES = {
    "other rows of view 'x' from": FromTheStart,
    r"chunks\(batch_size=3, cursor={}\) is not refused": AnyCursor,
    r"chunks\(batch_size=0, cursor=None\) is not refused": AnySize,
    "other rows of view 'x' in chunks of": OneBuffer,
    "the schema of the source is": type(
        "OtherSchema", (Changed,), {"schema": Schema(("x",), (2,), (("a", "b"),))}
    ),
    "n_rows=12 of 11 rows": OtherLength,
    "Got the identity": NeverTheSame,
    "an identity that JSON does not keep": type("NotPlain", (Changed,), {"identity": {"n": (2,)}}),
    "closed twice": ClosedOnce,
    "expected the row 3 in it": lambda: of_chunks(cursor=lambda chunk: {"row": chunk.start}),
    "a cursor that JSON": lambda: of_chunks(cursor=lambda c: {"row": np.int64(c.cursor["row"])}),
    "chunks that start at": lambda: of_chunks(start=lambda chunk: chunk.start + 1),
    "keys of 3 rows": lambda: of_chunks(keys=lambda chunk: np.zeros(1)),
    "for Views": lambda: of_chunks(views=lambda chunk: chunk.views["x"]),
    "Got a source of 3 rows": lambda: ArraySource({"x": X[:3]}),
}


@pytest.mark.parametrize(("sentence", "make"), BROKEN_SOURCES.items(), ids=BROKEN_SOURCES.keys())
def test_a_broken_promise_is_told(sentence, make):
    with pytest.raises(AssertionError, match=sentence):
        check_source(make)


def test_a_sound_source_passes():
    check_source(Changed)
    check_source(lambda: IteratorSource(lambda: iter([{"x": X[:4]}, {"x": X[4:]}])))
    check_source(lambda: SideBySide({"a": Changed(), "b": ArraySource({"y": X})}))
