"""A checkpoint made to do harm, its checksum right, is refused; the thousand are in test-faults."""

import json

import numpy as np
import pytest

from omvfs import OMVFS, codec
from omvfs.codec import CheckpointError
from reliability import checkpoints


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    path, known = tmp_path_factory.mktemp("known") / "model", []
    for model in checkpoints.models():
        model.save(path)
        known.append(codec.read(path))
    return known


def loads(path, arrays, tree):
    """Tell whether a checkpoint is taken; one that is refused is named."""
    checkpoints.written(path, arrays, json.dumps(tree))
    try:
        return OMVFS.load(path).n_samples_seen_ > 0
    except CheckpointError as error:
        assert str(path) in str(error)  # noqa: PT017 (others are taken)
        return False


def test_what_was_not_changed_is_taken_and_most_of_what_was_is_refused(known, tmp_path):
    path, taken = tmp_path / "model", 0
    for number in range(90):
        arrays, tree = known[number % len(known)]
        if number < len(known):
            assert loads(path, arrays, tree)
        rng = np.random.default_rng(number)
        taken += loads(path, *checkpoints.spoilt(arrays, tree, rng))
    assert 0 < taken < 45


def test_a_mask_of_150_000_000_columns_is_refused(known, tmp_path):
    arrays, tree = known[3]
    learned = [*tree["learned"][:4], 150_000_000, None]
    assert not loads(tmp_path / "model", arrays, {**tree, "learned": learned})
