"""The steps that engines run come to the bits of `omvfs.merge`, whatever runs first."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omvfs
from omvfs import OMVFS, OMVFSPaper
from omvfs.distributed import steps
from omvfs.formats import ArraySource
from omvfs.model.constrained.merging import in_pairs
from omvfs.parts import Plan
from streams import learned, two_views

QUICK = {"n_init": 2, "max_iter": 3, "random_state": 0, "batch_size": 10, "sample_size": 12}


class Text(str):
    def __add__(self, other):
        return Text(f"({self}{other})")


@given(n=st.integers(1, 70))
def test_levels_are_pairs_of_neighbours(n):
    items = [Text(f"{i} ") for i in range(n)]
    assert steps.in_levels(items, lambda a, b: a + b) == in_pairs(items)


def engine(selector, parts, chance):
    """Run the steps as an engine would that has no order, and sends all by pickle."""

    def sent(work, *given):
        return pickle.loads(pickle.dumps(work))(*pickle.loads(pickle.dumps(given)))

    def asked(work, n):
        numbers = list(range(n))
        chance.shuffle(numbers)
        found = {i: work(i) for i in numbers}
        return [found[i] for i in range(n)]

    copy = steps.worker_copy(selector)
    states = asked(lambda i: sent(steps.fit_part, copy, [parts[i]], f"part {i}"), len(parts))
    states = [state for state in states if state is not None]
    names = [str(i) for i in range(len(states))]
    plan = Plan.of((sent(steps.brief_of, state) for state in states), names)
    if len(states) == 1:
        return steps.model_of(selector, states[0])

    def total(work):
        found = asked(work, len(states))
        return steps.in_levels([found[i] for i in plan.order], lambda a, b: sent(steps.added, a, b))

    sample = total(lambda i: sent(steps.sample_of, plan, i, states[i]))
    known = sent(steps.known_of, plan, states[plan.lead])
    common = sent(steps.common_of, plan, sample, known)
    sums = total(lambda i: sent(steps.sums_of, plan, i, states[i], common))
    return steps.model_of(selector, sent(steps.merged_of, plan, common, sums, states[0]))


@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any),
    own=st.sampled_from([{}, {"half_life": 20.0}, {"negative": "shift"}]),
    chance=st.randoms(use_true_random=False),
)
@settings(max_examples=12, deadline=None)
def test_an_engine_comes_to_the_bits_of_merge(sizes, own, chance):
    parts = [two_views(seed, n) for seed, n in enumerate(sizes)]
    selector = OMVFS(3, **QUICK, **own)
    one_by_one = [OMVFS(3, **QUICK, **own).fit(part) for part in parts if len(part["text"])]
    assert learned(engine(selector, parts, chance)) == learned(omvfs.merge(one_by_one))
    assert not hasattr(selector, "schema_")


@given(
    seed=st.integers(0, 1000),
    sizes=st.lists(st.integers(0, 30), max_size=6),
    plain=st.booleans(),
)
@settings(max_examples=20, deadline=None)
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
    with pytest.raises(ValueError, match="Negative values"):
        model.fit_batches([rows, -rows])
    assert learned(model) == before
    new = OMVFS(3, **QUICK)
    with pytest.raises(ValueError, match="has 3 features"):
        new.fit_batches([rows, rows[:, :3]])
    assert not hasattr(new, "schema_")


def test_a_source_is_learned_from_as_by_the_loop():
    views = two_views(0, 35)
    state = steps.fit_source(OMVFS(3, **QUICK), ArraySource(views), "part 1")
    expected = OMVFS(3, **QUICK).fit(views)
    assert learned(OMVFS.from_bytes(state)) == learned(expected)
    none = {view: X[:0] for view, X in views.items()}
    assert steps.fit_part(OMVFS(3, **QUICK), [none], "part 1") is None


def test_errors_name_the_part():
    with pytest.raises(ValueError, match=r"^partition 4: Negative values"):
        steps.fit_part(OMVFS(3, **QUICK), [[[1.0, -1.0]]], "partition 4")
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
