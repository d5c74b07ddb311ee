"""What is learned from parts comes to the bits of `omvfs.merge`, whichever part is done first."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import omvfs
from omvfs import OMVFS, OMVFSPaper
from omvfs.distributed import shards, steps
from omvfs.formats import open_source
from streams import learned, two_views
from tables import found, tickets

QUICK = {"random_state": 0, "batch_size": 10, "sample_size": 12, "prepare": None}


@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any),
    own=st.sampled_from([{}, {"half_life": 20.0}, {"prepare": "scale"}]),
    chance=st.randoms(use_true_random=False),
)
@settings(max_examples=6, deadline=None)
def test_parts_in_any_order_come_to_the_bits_of_merge(sizes, own, chance):
    parts = [two_views(seed, n) for seed, n in enumerate(sizes)]
    selector = OMVFS(3, **{**QUICK, **own})
    sent = pickle.dumps(steps.worker_copy(selector))
    names = [f"part {i}" for i in range(len(parts))]
    states = [
        (i, steps.fit_part(pickle.loads(sent), [part], names[i])) for i, part in enumerate(parts)
    ]
    chance.shuffle(states)
    one_by_one = [
        OMVFS(3, **{**QUICK, **own}).fit_batches([part]) for part in parts if len(part["text"])
    ]
    model = steps.merge_states(selector, states, names)
    assert learned(model) == learned(omvfs.merge(one_by_one))
    assert not hasattr(selector, "schema_")


@given(
    seed=st.integers(0, 1000),
    sizes=st.lists(st.integers(0, 30), max_size=6),
    plain=st.booleans(),
    prepare=st.sampled_from([None, "auto", "l2"]),
)
@example(seed=0, sizes=[3, 2, 30], plain=False, prepare="l2")
@settings(max_examples=8, deadline=None)
def test_batches_of_any_sizes_are_learned_from_as_all_at_once(seed, sizes, plain, prepare):
    views = two_views(seed, sum(sizes))
    whole = np.hstack(list(views.values())) if plain else views
    ends = np.cumsum([0, *sizes])

    def rows(a, b):
        return whole[a:b] if plain else {view: X[a:b] for view, X in whole.items()}

    split = {**QUICK, "prepare": prepare, **({"views": [12, 7]} if plain else {})}
    batches = (rows(a, b) for a, b in itertools.pairwise(ends))
    model = OMVFS(3, **split).fit_batches(batches)
    assert hasattr(model, "schema_") == bool(sum(sizes))
    if sum(sizes):
        expected = OMVFS(3, **split).fit_batches([whole])
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


def test_all_parts_go_by_what_the_first_rows_tell(tmp_path):
    rng = np.random.default_rng(0)
    few = {"text": rng.poisson(0.2, (40, 6)) * 1.0, "image": rng.normal(size=(40, 5)) + 9}
    # By itself it would tell other steps, and has no rows at first.
    other = {"text": rng.random((30, 6)) + 1, "image": few["image"][:30] * 10.0 ** np.arange(5)}
    parts = [{view: X[:0] for view, X in few.items()}, few, other]
    selector = OMVFS(3, random_state=0)
    with pytest.raises(ValueError, match=r"prepare=.*Pass it to all parts, as the first of them"):
        omvfs.merge([OMVFS(3, random_state=0).fit(part) for part in parts[1:]])
    model = steps.settled(selector, (steps.settled_by(selector, [part]) for part in parts))
    assert model.prepare == {"text": ["log1p", "l2"], "image": []}
    states = [(i, steps.fit_part(model, [part], f"part {i}")) for i, part in enumerate(parts)]
    merged = steps.merge_states(selector, states, ["a", "b", "c"])
    assert merged.prepared_ == {"text": ("log1p", "l2"), "image": ()}
    # The parameter is as it was asked for, and learning goes on.
    assert merged.prepare == "auto"
    assert merged.partial_fit(other).n_samples_seen_ == 100
    rows = tmp_path / "rows"
    rows.mkdir()
    for i, part in enumerate(parts[1:]):
        np.save(rows / f"part-{i}.npy", np.hstack(list(part.values())))
    kept, files = shards.Kept(tmp_path / "kept"), shards.parts_of([f"{rows}/part-*.npy"])
    outcome = shards.run_parts(shards.one_by_one, selector, files, kept)
    (own,) = outcome.selector.prepared_.values()
    first = OMVFS(3, random_state=0).fit(np.load(rows / "part-0.npy"))
    assert (own,) == tuple(first.prepared_.values()) != ()


def test_parts_of_a_table_have_the_columns_of_all(tmp_path):
    frame, _ = tickets(600)
    # What is an id or a number by itself may be a text in another part.
    frame["note"] = [f"n{i}" if i < 300 else f"see ticket {i} there" for i in range(600)]
    paths = [tmp_path / f"part-{i}.csv" for i in range(3)]
    for i, path in enumerate(paths):
        frame[200 * i : 200 * i + 200].to_csv(path, index=False)
    parts = shards.parts_of([str(path) for path in paths])
    outcome = shards.run_parts(
        shards.one_by_one, OMVFS(3, random_state=0), parts, shards.Kept(tmp_path / "kept")
    )
    with open_source(*map(str, paths)) as source:
        model = OMVFS(3, random_state=0).fit_batches(chunk.views for chunk in source.chunks(200))
    assert outcome.selector.table_.kinds == model.table_.kinds
    assert outcome.selector.schema_.names == model.schema_.names
    assert min(found(outcome.selector).values()) >= 0.9
    delayed = [frame[:200], frame[200:400], frame[400:]]
    selector = steps.settled(OMVFS(3), [OMVFS(3).settled(delayed[0])])
    states = [(i, steps.fit_part(selector, [part], str(i))) for i, part in enumerate(delayed)]
    assert min(found(steps.merge_states(OMVFS(3), states, "abc")).values()) >= 0.9


def test_parts_that_may_have_new_views_go_by_the_first_rows_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    parts = [{"a": X[:3]}, {"a": X[:30] * 10.0 ** np.arange(6)}, {"a": X[30:], "b": X[:30]}]
    selector = OMVFS(3, new_features="grow", random_state=0)
    # Three rows tell nothing.
    model = steps.settled(selector, (steps.settled_by(selector, [part]) for part in parts))
    assert model.prepare == {"a": ["scale"]}
    states = [(i, steps.fit_part(model, [part], f"part {i}")) for i, part in enumerate(parts)]
    merged = steps.merge_states(selector, states, ["x", "y", "z"])
    assert merged.prepared_ == {"a": ("scale",), "b": ()}
