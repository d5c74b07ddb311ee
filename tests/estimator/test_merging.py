"""Fits of parts of a stream merge to one of all rows, the same bits in whatever order and tree."""

import copy
import tracemalloc
from dataclasses import replace
from functools import reduce

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import omvfs
from omvfs import OMVFS, Views
from omvfs.fitted import key_of_rows
from omvfs.model.statistics import Statistics
from streams import lacking, learned, presence, two_views
from support import fingerprint

QUICK = {"n_init": 2, "max_iter": 3, "random_state": 0, "batch_size": 10}


def fitted(views, n_clusters=3, **params):
    return OMVFS(n_clusters, **{**QUICK, **params}).fit(views)


def cut(views, sizes):
    views = views if isinstance(views, Views) else Views(views)
    return [views[end - n : end] for n, end in zip(sizes, np.cumsum(sizes), strict=True)]


def parts_of(views, sizes, **params):
    return [fitted(part, **params) for part in cut(views, sizes)]


def uneven(views, sizes):
    """Views of which the second is ever larger, from part to part."""
    by = np.repeat(10.0 ** np.arange(len(sizes)), sizes).astype(views["image"].dtype)
    image = views["image"]
    scaled = sp.csr_array(sp.diags_array(by) @ image) if sp.issparse(image) else image.T * by
    return {"text": views["text"], "image": scaled if sp.issparse(image) else scaled.T}


def some_views(seed, sizes, kind="dense", dtype=np.float64):
    views = two_views(seed, sum(sizes), dtype)
    if kind == "negative":
        views["image"] -= np.random.default_rng(seed).random(views["image"].shape)
    return {name: sp.csr_array(X) for name, X in views.items()} if kind == "sparse" else views


SETTINGS = [
    {},
    {"half_life": 20.0},
    {"scale_columns": True},
    {"sample_size": 0},
    {"n_clusters": "auto"},
    {"view_weight": "auto", "sample_size": 100},
    {"sample_size": 200, "graph": "none"},
    {"view_weight": {"text": 1.0, "image": 5.0}, "scale_columns": True},
    {"prepare": {"text": ["tfidf", "l2"], "image": "scale"}, "half_life": 20.0},
]
every_part = st.lists(st.integers(1, 40), min_size=2, max_size=5)


@given(
    seed=st.integers(0, 1000),
    sizes=every_part,
    kind=st.sampled_from(["dense", "sparse", "negative", "lacking"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    own=st.sampled_from(SETTINGS),
    even=st.booleans(),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=15, deadline=None)
def test_any_order_and_any_tree_give_the_same_bits(seed, sizes, kind, dtype, own, even, order):
    negative = "shift" if kind == "negative" else "error"
    views = some_views(seed, sizes, kind, dtype)
    views = views if even else uneven(views, sizes)
    views = lacking(views, presence(seed, sum(sizes))) if kind == "lacking" else views
    parts = parts_of(views, sizes, **{"sample_size": 12, "negative": negative, **own})
    expected = learned(omvfs.merge(parts))
    parts = [OMVFS.from_bytes(part.to_bytes()) if order.random() < 0.3 else part for part in parts]
    while len(parts) > 1:
        order.shuffle(parts)
        some = [parts.pop() for _ in range(min(len(parts), order.choice([2, 2, 3])))]
        parts.append(some[0].merge(*some[1:]))
        if order.random() < 0.3:
            # What is asked in between changes nothing.
            assert len(parts[-1].scores_) == 19
    assert learned(parts[0]) == expected


@given(
    seed=st.integers(0, 1000),
    sizes=every_part,
    own=st.sampled_from(SETTINGS),
    half_life=st.sampled_from([None, 30.0]),
)
@example(seed=0, sizes=[1, 1], own={}, half_life=None)
@example(seed=0, sizes=[30, 20, 10], own=SETTINGS[-1], half_life=30.0)
@settings(max_examples=6, deadline=None)
def test_parts_that_follow_each_other_may_be_merged_in_any_grouping(seed, sizes, own, half_life):
    views = uneven(two_views(seed, sum(sizes)), sizes)
    parts = parts_of(views, sizes, **{"sample_size": 12, **own, "half_life": half_life})
    expected = learned(omvfs.merge(parts, order=True))
    from_left = reduce(lambda a, b: a.merge(b, order=True), parts)
    from_right = reduce(lambda a, b: b.merge(a, order=True), reversed(parts))
    assert learned(from_left) == learned(from_right) == expected


def test_those_that_have_seen_nothing_are_passed_over():
    a, b = parts_of(two_views(0, 60), [30, 30])
    new = clone(a)
    assert learned(new.merge(a, new, b)) == learned(a.merge(b))
    assert learned(new.merge(a)) == learned(a.merge()) == learned(omvfs.merge([a])) == learned(a)
    assert not hasattr(new.merge(new), "schema_")
    with pytest.raises(ValueError, match="Got no estimators to merge"):
        omvfs.merge([])


def test_files_give_the_bits_that_estimators_give(tmp_path):
    parts = parts_of(two_views(0, 90), [40, 30, 20], sample_size=12, half_life=60.0)
    paths = [tmp_path / f"{i}.omvfs" for i in range(3)]
    for part, path in zip(parts, paths, strict=True):
        part.save(path)
    assert learned(omvfs.merge(paths[::-1])) == learned(omvfs.merge(parts))
    assert learned(omvfs.merge(paths, order=True)) == learned(omvfs.merge(parts, order=True))
    assert learned(omvfs.merge([str(paths[1])])) == learned(parts[1])
    with pytest.raises(TypeError, match="Got estimators and files; expected one kind"):
        omvfs.merge([parts[0], paths[1]])
    # Merged, saved and loaded it learns on as if it had not been.
    for order in (False, True):
        merged = omvfs.merge(parts, order=order)
        merged.save(paths[0])
        loaded, chunk = OMVFS.load(paths[0]), two_views(1, 25)
        assert learned(loaded.partial_fit(chunk)) == learned(merged.partial_fit(chunk))
        # One that has learned on is one part.
        other = fitted(two_views(9, 40), sample_size=12, half_life=60.0)
        assert learned(merged.merge(other)) == learned(other.merge(loaded))


def test_memory_does_not_grow_with_the_number_of_files(tmp_path):
    rng, width, K = np.random.default_rng(0), 20_000, 5
    paths = [tmp_path / f"{i}.omvfs" for i in range(12)]
    for path in paths:
        X = sp.random_array((8, width), density=0.001, random_state=rng)
        fitted(sp.csr_array(X), K, sample_size=5).save(path)
    omvfs.merge(paths[:2])
    peaks = []
    for n in (3, 12):
        tracemalloc.start()
        omvfs.merge(paths[:n])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Of 9 more, three more sums are held.
    assert peaks[1] - peaks[0] < 5 * (width * K * 8)


def test_no_part_is_changed_and_none_changes_what_came_of_it():
    parts = parts_of(two_views(0, 90), [40, 30, 20], sample_size=12)
    before = [learned(part) for part in parts]
    merged, expected = omvfs.merge(parts), learned(omvfs.merge(copy.deepcopy(parts)))
    assert [learned(part) for part in parts] == before
    # Learning goes on as if nothing had been merged, and unknown to what was.
    chunk, twin = two_views(7, 25), copy.deepcopy(parts[0])
    assert learned(parts[0].partial_fit(chunk)) == learned(twin.partial_fit(chunk))
    assert learned(merged) == expected


def test_if_all_rows_are_in_the_sample_the_sums_are_theirs_in_the_common_clusters():
    views = two_views(0, 90)
    merged = omvfs.merge(parts_of(views, [40, 30, 20]))
    state = merged._known.state
    assert len(state.reservoir) == 90
    expected = Statistics.of_clusters(state.reservoir.blocks, state.reservoir.counted)
    for view, own in zip(state.statistics.views, expected.views, strict=True):
        np.testing.assert_allclose(view.B, own.B, rtol=1e-12)
        np.testing.assert_allclose(view.masses, own.masses, rtol=1e-12)
        np.testing.assert_allclose(view.weight_sums, own.weight_sums, rtol=1e-12)
    rows = np.sort(state.reservoir.blocks[0].sum(axis=1))
    np.testing.assert_allclose(rows, np.sort(views["text"].sum(axis=1)))


def test_what_was_counted_of_the_parts_is_what_one_pass_counts():
    sizes = [40, 30, 20]
    views = uneven(some_views(0, sizes), sizes)
    # What is counted after "tfidf" or "scale" hangs on the rows before.
    own = {"text": ["log1p", "tfidf", "l2"], "image": ["tfidf", "log1p"]}
    whole = fitted(views, prepare=own, sample_size=12)
    merged = omvfs.merge(parts_of(views, sizes, prepare=own, sample_size=12))
    assert fingerprint(merged._known.preparation) == fingerprint(whole._known.preparation)


def test_a_part_that_is_given_twice_is_refused(tmp_path):
    a, b, c = parts_of(two_views(0, 90), [40, 30, 20], sample_size=12)
    again = "part 3 has learned from rows that part 1 has learned from too: they would count twice"
    with pytest.raises(ValueError, match=again):
        omvfs.merge([a, b, a])
    # Also if it is inside of another, was copied, was sent, or has been in a file.
    too = "part 2 has learned from rows that part 1 has learned from too"
    refused(too, a.merge(b), c.merge(a))
    refused(too, a, copy.deepcopy(a))
    for name in ("a", "copy"):
        a.save(tmp_path / name)
    with pytest.raises(ValueError, match=r"copy has learned from rows that .*a has"):
        omvfs.merge([tmp_path / "a", tmp_path / "copy"])
    # And after the parts that it was merged with are held no more.
    both = OMVFS.from_bytes(a.merge(b).to_bytes())
    refused(too, both, b)
    refused(too, both.partial_fit(two_views(5, 9)), a)
    all_three = OMVFS.from_bytes(c.merge(both).to_bytes())
    for part in (a, b, c, both):
        refused(too, all_three, part)


def test_parts_in_order_fade_as_rows_of_one_stream_do():
    views, own = two_views(0, 90), {"half_life": 30.0, "sample_size": 30}
    parts, whole = parts_of(views, [40, 30, 20], **own), fitted(views, **own)
    merged = omvfs.merge(parts, order=True)._known.state.statistics
    assert merged.decayed_n_rows == pytest.approx(whole._known.state.statistics.decayed_n_rows)
    side_by_side = omvfs.merge(parts)._known.state.statistics
    alone = [part._known.state.statistics.decayed_n_rows for part in parts]
    assert side_by_side.decayed_n_rows == pytest.approx(sum(alone))
    # Old parts have few rows in the sample, as they have in the sums.
    assert merged.masses.sum() < side_by_side.masses.sum() < 3 * merged.masses.sum()


def test_the_last_rows_are_those_of_the_last_parts():
    views = two_views(0, 300)
    a, b, c = parts_of(views, [200, 60, 40], sample_size=100, window=3)
    merged = omvfs.merge([a, b, c], order=True)
    assert merged.window_labels_.shape == (30,)
    np.testing.assert_array_equal(merged._known.state.window.last(50)[0], views["text"][-50:])
    assert [info.n_rows for info in merged.history_] == [10] * 30
    # After parts that were side by side only what follows is recent.
    assert a.merge(b).merge(c, order=True)._known.state.window.n_rows == 40
    assert a.merge(b.merge(c), order=True).window_labels_.shape == (0,)


# What cannot be merged


def refused(match, model, other, error=ValueError):
    with pytest.raises(error, match=match):
        model.merge(other)


def test_other_parameters_that_learn_are_refused():
    views = two_views(0, 30)
    model = fitted(views)
    for match, params in (
        (r"with n_clusters=4, part 1 with n_clusters=3\. Learn", {"n_clusters": 4}),
        (r"with sparsity=0\.5, part 1 with sparsity=0\.1", {"sparsity": 0.5}),
        (r"with negative='shift', part 1 with negative='error'", {"negative": "shift"}),
        (r"with view_weight=None, part 1 with view_weight=1\.0", {"view_weight": None}),
        (
            r"with prepare=\['text:tfidf', 'text:l2', 'image:l2'\], part 1 with prepare=None",
            {"prepare": ["text:tfidf", "l2"]},
        ),
    ):
        refused(f"part 2 was learned {match}", model, fitted(views, **params))


def test_other_views_and_features_are_refused():
    views = two_views(0, 30)
    model, X = fitted(views), np.hstack(list(views.values()))
    for other, sentence in (
        ({"words": views["text"], "image": views["image"]}, "part 2 has views 'words', 'image'"),
        (dict(reversed(views.items())), "Merge parts of the same views in the same order"),
        ({**views, "text": views["text"][:, :5]}, "View 'text' has 5 features in part 2 and 12"),
        ({v: X.astype(np.float32) for v, X in views.items()}, "in float32, part 1 in float64"),
    ):
        refused(sentence, model, fitted(other))
    split = OMVFS(3, **QUICK, views={"text": slice(12), "image": slice(12, 19)}).fit(X)
    refused("part 2 was learned from one X of 19 columns, split into views", model, split)
    refused("part 2 was learned from views, part 1 from one X", fitted(X), fitted({"X": X}))
    refused("Got int as part 2; expected OMVFS", model, 7, TypeError)
    sparse = {**views, "image": sp.csr_array(views["image"])}
    negative = fitted(some_views(0, [30], "negative"), negative="shift")
    sentence = "View 'image' is sparse in part 2, and has negative values in others"
    refused(sentence, negative, fitted(sparse, negative="shift"))


def test_names_of_features_must_agree_where_they_are_known():
    X = two_views(0, 60)["text"]
    frame = pd.DataFrame(X, columns=[f"word{j}" for j in range(12)])
    known, unknown = fitted(frame[:30]), fitted(X[30:])
    for merged in (known.merge(unknown), unknown.merge(known)):
        assert list(OMVFS.from_bytes(merged.to_bytes()).feature_names_in_) == list(frame)
    other = fitted(frame.rename(columns={"word3": "other"}))
    refused("has other features in part 2 than in part 1: column 3 is 'other'", known, other)


def test_sums_that_overflow_are_told():
    X = np.full((4, 3), 1e153)
    parts = [fitted(X + i * 1e146, 1) for i in range(20)]
    with pytest.raises(ValueError, match=r"so large that .*sums over the stream overflow"):
        omvfs.merge(parts)


def test_a_part_is_known_by_its_rows_on_every_machine():
    def key(seed, **own):
        (part,) = fitted(two_views(seed, 50), **{"sample_size": 12, **own}).as_parts()
        return part.known.key, part.known.state

    one, state = key(0)
    views = tuple(
        replace(view, B=view.B * (1 + 1e-15), masses=view.masses + 1e-12)
        for view in state.statistics.views
    )
    rounded = replace(state, statistics=replace(state.statistics, views=views))
    assert key_of_rows(rounded) == key_of_rows(state) == one != key(1)[0]
    # Without a sample the last rows tell.
    assert key(0, sample_size=0)[0] != key(1, sample_size=0)[0]
