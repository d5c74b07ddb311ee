"""What is learned from parts comes to the bits of `omvfs.merge`, whichever part is done first."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omvfs
from omvfs import OMVFS, OMVFSPaper
from omvfs.distributed import steps
from streams import learned, two_views

QUICK = {"random_state": 0, "batch_size": 10, "sample_size": 12}


@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any),
    own=st.sampled_from([{}, {"half_life": 20.0}, {"prepare": "scale"}]),
    chance=st.randoms(use_true_random=False),
)
@settings(max_examples=6, deadline=None)
def test_parts_in_any_order_come_to_the_bits_of_merge(sizes, own, chance):
    parts = [two_views(seed, n) for seed, n in enumerate(sizes)]
    selector = OMVFS(3, **QUICK, **own)
    sent = pickle.dumps(steps.worker_copy(selector))
    names = [f"part {i}" for i in range(len(parts))]
    states = [
        (i, steps.fit_part(pickle.loads(sent), [part], names[i])) for i, part in enumerate(parts)
    ]
    chance.shuffle(states)
    one_by_one = [OMVFS(3, **QUICK, **own).fit(part) for part in parts if len(part["text"])]
    model = steps.merge_states(selector, states, names)
    assert learned(model) == learned(omvfs.merge(one_by_one))
    assert not hasattr(selector, "schema_")


@given(
    seed=st.integers(0, 1000),
    sizes=st.lists(st.integers(0, 30), max_size=6),
    plain=st.booleans(),
)
@settings(max_examples=8, deadline=None)
def test_batches_of_any_sizes_are_learned_from_as_all_at_once(seed, sizes, plain):
    views = two_views(seed, sum(sizes))
    whole = np.hstack(list(views.values())) if plain else views
    ends = np.cumsum([0, *sizes])

    def rows(a, b):
        return whole[a:b] if plain else {view: X[a:b] for view, X in whole.items()}

    split = {"views": [12, 7]} if plain else {}
    batches = (rows(a, b) for a, b in itertools.pairwise(ends))
    model = OMVFS(3, **QUICK, **split).fit_batches(batches)
    assert hasattr(model, "schema_") == bool(sum(sizes))
    if sum(sizes):
        expected = OMVFS(3, **QUICK, **split).fit(whole)
        assert learned(model) == learned(expected)
        assert np.array_equal(model.transform(whole), expected.transform(whole))


def test_batches_that_fail_change_nothing():
    rows = np.random.default_rng(0).random((30, 4))
    model = OMVFS(3, **QUICK).fit(rows)
    before = learned(model)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit_batches([rows, np.where(rows > 0.9, np.nan, rows)])
    assert learned(model) == before
    new = OMVFS(3, **QUICK)
    with pytest.raises(ValueError, match="has 3 features"):
        new.fit_batches([rows, rows[:, :3]])
    assert not hasattr(new, "schema_")


def test_errors_name_the_part():
    with pytest.raises(ValueError, match=r"^partition 4: Input X contains NaN"):
        steps.fit_part(OMVFS(3, **QUICK), [[[1.0, np.nan]]], "partition 4")
    with pytest.raises(ValueError, match=r"^rows x: .*codec can't decode"), steps.naming("rows x"):
        b"\xff".decode()
    with pytest.raises(ValueError, match=r"^rows\.csv is damaged"), steps.naming("rows.csv"):
        raise ValueError("rows.csv is damaged.")


def test_what_cannot_be_merged_or_sent_is_refused_before_anything_is_read():
    with pytest.raises(TypeError, match="Got OMVFSPaper; expected OMVFS, whose fits merge"):
        steps.worker_copy(OMVFSPaper(3))
    with pytest.raises(ValueError, match="n_clusters"):
        steps.worker_copy(OMVFS(0))
    with pytest.raises(TypeError, match="callables, which cannot be saved"):
        steps.worker_copy(OMVFS(3, views={"a": len}))
    with pytest.raises(ValueError, match="Got no rows; expected some in at least one part"):
        steps.merge_states(OMVFS(3), [(0, None)], ["part 0"])
