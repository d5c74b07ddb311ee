"""An engine over the plan is thin: it asks parts wherever they are, and comes to the same bits."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS
from omvfs.fitted import key_of_rows
from omvfs.model.constrained.merging import in_pairs
from omvfs.parts import Card, Plan, in_time, merge_parts
from streams import two_views
from support import fingerprint


def part(seed, n, dtype=np.float64, **params):
    given = {"n_init": 2, "max_iter": 3, "random_state": 0, "batch_size": 10, "sample_size": 12}
    return OMVFS(3, **{**given, **params}).fit(two_views(seed, n, dtype)).as_parts()[0]


def planned(parts, **how):
    names = [str(i) for i in range(len(parts))]
    return Plan.of((each.brief for each in parts), names, **how)


def sent(thing):
    """Return what arrives of a thing that is sent to another machine."""
    return pickle.loads(pickle.dumps(thing))


@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=7),
    own=st.sampled_from(
        [
            {},
            {"half_life": 20.0},
            {"scale_columns": True},
            {"sample_size": 0},
            {"prepare": ("tfidf", "l2")},
            {"prepare": {"text": "scale"}, "half_life": 20.0},
        ]
    ),
    in_order=st.booleans(),
    chance=st.randoms(use_true_random=False),
)
@settings(max_examples=12, deadline=None)
def test_asked_elsewhere_in_any_order_parts_give_the_same_bits(sizes, own, in_order, chance):
    parts = [part(seed, n, **own) for seed, n in enumerate(sizes)]
    plan = planned(parts, in_order=in_order)
    expected, history = merge_parts(plan, parts.__getitem__)

    def asked(work):
        """Ask every part by itself; the answers come whenever they do."""
        numbers = list(range(len(parts)))
        chance.shuffle(numbers)
        answers = {i: sent(work(i, sent(parts[i]))) for i in numbers}
        return sent(in_pairs(answers[i] for i in plan.order))

    plan = sent(plan)
    sample = asked(plan.sample)
    common = sent(plan.common(sample, sent(plan.known(parts[plan.lead]))))
    total = asked(lambda i, each: plan.sums(i, each, common))
    assert fingerprint(plan.merged(common, total)) == fingerprint(expected)
    assert fingerprint(total.history) == fingerprint(history)


def test_what_travels_is_no_larger_than_a_part():
    wide = OMVFS(4, n_init=2, random_state=0, sample_size=5, batch_size=10)
    X = np.random.default_rng(0).random((3, 20, 5000))
    parts = [wide.fit(rows).as_parts()[0] for rows in X]
    plan = planned(parts)
    samples = [plan.sample(i, each) for i, each in enumerate(parts)]
    common = plan.common(in_pairs(samples), plan.known(parts[0]))
    total = in_pairs(plan.sums(i, each, common) for i, each in enumerate(parts))
    size = len(pickle.dumps(parts[0]))
    for message in (*samples, in_pairs(samples), common, total):
        assert len(pickle.dumps(message)) < 1.05 * size


def test_a_part_is_known_by_its_rows_on_every_machine():
    one = part(0, 50)
    state = one.known.state
    views = tuple(
        replace(view, B=view.B * (1 + 1e-15), masses=view.masses + 1e-12)
        for view in state.statistics.views
    )
    rounded = replace(state, statistics=replace(state.statistics, views=views))
    assert key_of_rows(rounded) == key_of_rows(state) == one.brief.card.key
    assert part(1, 50).brief.card.key != one.brief.card.key
    # Without a sample the last rows tell.
    keys = {part(seed, 50, sample_size=0).brief.card.key for seed in range(3)}
    assert len(keys) == 3


@pytest.mark.parametrize(
    ("groups", "later"),
    [
        ([[0], [0], [0]], [2, 1, 0]),
        ([[0, 0], [0]], [1, 1, 0]),
        ([[0], [0, 0]], [2, 0, 0]),
        ([[1, 0], [1, 0]], [3, 2, 1, 0]),
    ],
    ids=str,
)
def test_parts_of_a_group_are_older_by_all_that_came_after_it(groups, later):
    cards = [[Card(b"", 1, 1.0, n) for n in group] for group in groups]
    assert [card.later for card in in_time(cards)] == later
