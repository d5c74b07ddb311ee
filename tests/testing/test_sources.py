"""A source that breaks any one of its promises is told which."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from omvfs.data.schema import Schema
from omvfs.formats import ArraySource, Chunk, IteratorSource, SideBySide
from omvfs.testing import check_source

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


class OtherSizes(Changed):
    def _chunks(self, batch_size, cursor):
        yield Chunk(0, self._views[:2], {"row": 2})
        yield Chunk(2, self._views[2:], {"row": 11})


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


class OtherSchema(Changed):
    schema = Schema(("x",), (2,), (("a", "b"),))


class OtherLength(Changed):
    n_rows = 12

    def _to_the_end(self, chunks, row):
        return chunks


class NeverTheSame(Changed):
    number = count()

    @property
    def identity(self):
        return {"number": next(self.number)}


class NotPlain(Changed):
    identity = {"shape": X.shape}  # noqa: RUF012


class ClosedOnce(Changed):
    closed = False

    def close(self):
        assert not self.closed, "closed twice"
        self.closed = True


BROKEN = {
    "chunks of": OtherSizes,
    "other rows of view 'x' from": FromTheStart,
    "expected an error that says 'cursor'": AnyCursor,
    "expected an error that says 'batch_size'": AnySize,
    "other rows of view 'x' in chunks of": OneBuffer,
    "the schema of the source is": OtherSchema,
    "n_rows=12 of 11 rows": OtherLength,
    "Got the identity": NeverTheSame,
    "an identity that JSON does not keep": NotPlain,
    "closed twice": ClosedOnce,
    "expected the row 3 in it": lambda: of_chunks(cursor=lambda chunk: {"row": chunk.start}),
    "a cursor that JSON": lambda: of_chunks(cursor=lambda c: {"row": np.int64(c.cursor["row"])}),
    "chunks that start at": lambda: of_chunks(start=lambda chunk: chunk.start + 1),
    "keys of 3 rows": lambda: of_chunks(keys=lambda chunk: np.zeros(1)),
    "for Views": lambda: of_chunks(views=lambda chunk: chunk.views["x"]),
    "Got a source of 3 rows": lambda: ArraySource({"x": X[:3]}),
}


@pytest.mark.parametrize(("sentence", "make"), BROKEN.items(), ids=BROKEN.keys())
def test_a_broken_promise_is_told(sentence, make):
    with pytest.raises(AssertionError, match=sentence):
        check_source(make)


SOUND = {
    "arrays": Changed,
    "an iterator": lambda: IteratorSource(lambda: iter([{"x": X[:4]}, {"x": X[4:]}])),
    "several": lambda: SideBySide({"a": Changed(), "b": ArraySource({"y": X})}),
}


@pytest.mark.parametrize("make", SOUND.values(), ids=SOUND.keys())
def test_a_sound_source_passes(make):
    check_source(make)
