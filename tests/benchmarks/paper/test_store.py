"""Finished results on disk, by what they are of."""

import json

import numpy as np
import pytest

from omvfs.baselines import RandomScore
from paper.store import Store, plain


def test_a_result_is_on_disk_at_once(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    store.add({"b": 1, "a": [2]}, {"error": None})
    with Store(tmp_path / "store.jsonl") as other:
        assert other.get({"a": [2], "b": 1}) == {"error": None}
        assert other.get({"a": [2]}) is None
    store.close()


def test_parameters_are_described_by_plain_values():
    described = plain("estimator", RandomScore(random_state=np.int64(3)))
    assert described["random_state"] == 3
    assert described["class"].endswith(".RandomScore")
    assert json.loads(json.dumps(described)) == described
    assert plain("columns", {"a": slice(0, 3), "b": np.arange(2)}) == {
        "a": "slice(0, 3, None)",
        "b": [0, 1],
    }
    with pytest.raises(TypeError, match="random_state is of type RandomState"):
        plain("estimator", RandomScore(random_state=np.random.RandomState(0)))
