"""A state in memory: the bytes of a file, nothing of them taken on trust."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from omvfs import OMVFS, persistence
from omvfs.persistence import CheckpointError
from streams import every_solver, two_views
from support import fingerprint


@every_solver
def test_bytes_hold_what_a_file_does(tmp_path, make):
    model = make(2, random_state=0, max_iter=2).fit(two_views(0, 30))
    model.save(tmp_path / "model")
    state = model.to_bytes()
    arrays, meta = persistence.decoded(state)
    expected, same = persistence.read(tmp_path / "model")
    assert fingerprint(arrays) == fingerprint(dict(sorted(expected.items())))
    assert meta == same
    for each in (state, bytearray(state), memoryview(state)):
        again = OMVFS.from_bytes(each)
        assert type(again) is make
        assert fingerprint(again) == fingerprint(model)
        chunk = two_views(1, 20)
        expected = OMVFS.load(tmp_path / "model").partial_fit(chunk)
        assert fingerprint(again.partial_fit(chunk)) == fingerprint(expected)


def test_bytes_that_are_no_state_are_refused(monkeypatch):
    state = OMVFS(2, random_state=0).fit(two_views(1, 20)).to_bytes()
    rng = np.random.default_rng(0)
    flipped = bytearray(state)
    flipped[-1] ^= 1
    header = b'["a"]'
    listed = len(header).to_bytes(8, "little") + header
    cut = [state[: int(n)] for n in rng.integers(0, len(state), 10)]
    for wrong in (b"", b"x" * 100, state[1:], bytes(flipped), listed, *cut):
        with pytest.raises(CheckpointError, match=r"^The state "):
            OMVFS.from_bytes(wrong)
    with pytest.raises(TypeError, match="Got str; expected the bytes of a state"):
        OMVFS.from_bytes("model.omvfs")
    with pytest.raises(NotFittedError):
        OMVFS(2).to_bytes()
    monkeypatch.setattr(persistence, "VERSION", 99)
    later = OMVFS(2, random_state=0).fit(np.eye(4)).to_bytes()
    monkeypatch.undo()
    with pytest.raises(
        CheckpointError,
        match=r"written by omvfs .* in format 99, .*; fit again",
    ):
        OMVFS.from_bytes(later)
