"""Fits of parts of a stream merge to one of all rows, the same bits in whatever order and tree."""

import copy
import tracemalloc
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
from omvfs.datasets import make_planted
from omvfs.model.sums import ViewSums
from streams import lacking, learned, presence, two_views
from support import fingerprint

# Steps are given: of parts as small as these, the first rows tell different ones.
QUICK = {"random_state": 0, "batch_size": 10, "prepare": None}


def fitted(views, n_clusters=3, **params):
    # By itself a part may have fewer rows than there are clusters.
    return OMVFS(n_clusters, **{**QUICK, **params}).fit_batches([views])


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
    {"sample_size": 1},
    {"n_clusters": "auto"},
    {"view_weight": 1.0, "sample_size": 100},
    {"sample_size": 200},
    {"view_weight": {"text": 1.0, "image": 5.0}, "prepare": "scale"},
    {"prepare": {"text": ["tfidf", "l2"], "image": "scale"}, "half_life": 20.0},
    {"detect_drift": True},
]
every_part = st.lists(st.integers(1, 40), min_size=2, max_size=4)


@pytest.mark.parametrize("own", SETTINGS, ids=str)
@given(
    seed=st.integers(0, 1000),
    sizes=every_part,
    kind=st.sampled_from(["dense", "sparse", "negative", "lacking"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    even=st.booleans(),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=1, deadline=None)
def test_any_order_and_any_tree_give_the_same_bits(own, seed, sizes, kind, dtype, even, order):
    views = some_views(seed, sizes, kind, dtype)
    views = views if even else uneven(views, sizes)
    views = lacking(views, presence(seed, sum(sizes))) if kind == "lacking" else views
    parts = parts_of(views, sizes, **{"sample_size": 12, **own})
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
@example(seed=0, sizes=[30, 20, 10], own=SETTINGS[-2], half_life=30.0)
@settings(max_examples=3, deadline=None)
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
    with pytest.raises(ValueError, match="Got 2 to merge, none of which has learned"):
        omvfs.merge([new, new])


def test_what_is_no_list_of_estimators_is_refused(tmp_path):
    model = fitted(two_views(0, 30))
    for models in ("model.omvfs", b"model", tmp_path, model, {"a": model}, None, 3):
        with pytest.raises(TypeError, match=r"^Got \w+ to merge; .* Pass them as a list\.$"):
            omvfs.merge(models)


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
    views, present = two_views(0, 90), presence(0, 90)
    merged = omvfs.merge(parts_of(lacking(views, present), [40, 30, 20]))
    state = merged._known.state
    sample = state.sample.compact()
    assert len(sample) == 90
    for v, (view, X) in enumerate(zip(state.views, sample.pieces[0], strict=True)):
        has = sample.present[:, v]
        expected = ViewSums.from_rows(X[has], sample.labels[has], view.n_clusters)
        np.testing.assert_allclose(view.S, expected.S, atol=1e-12)
        np.testing.assert_allclose(view.Q, expected.Q)
        np.testing.assert_allclose(view.n, expected.n)
    rows = np.sort(sample.pieces[0][0].sum(axis=1))
    np.testing.assert_allclose(rows, np.sort(np.where(present[:, 0], views["text"].sum(axis=1), 0)))


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
    merged, side_by_side = omvfs.merge(parts, order=True), omvfs.merge(parts)

    def totals(*models):
        return sum(np.concatenate([view.Q for view in m._known.state.views]) for m in models)

    np.testing.assert_allclose(totals(merged), totals(whole))
    np.testing.assert_allclose(totals(side_by_side), totals(*parts))
    assert [info.n_rows for info in merged.history_] == [10] * 9

    def of_first_part(model):
        rows = np.vstack([piece[0] for piece in model._known.state.sample.compact().pieces])
        return (rows[:, np.newaxis] == views["text"][:40]).all(axis=2).any(axis=1).sum()

    # Old parts have few rows in the sample, as they have in the sums.
    assert of_first_part(merged) < of_first_part(side_by_side)


# What cannot be merged


def refused(match, model, other, error=ValueError):
    with pytest.raises(error, match=match):
        model.merge(other)


def test_other_parameters_that_learn_are_refused():
    views = two_views(0, 30)
    model = fitted(views)
    for match, params in (
        (r"with n_clusters=4, part 1 with n_clusters=3\. Learn", {"n_clusters": 4}),
        (r"with sample_size=500, part 1 with sample_size=2000", {"sample_size": 500}),
        (r"with half_life=9\.0, part 1 with half_life=None", {"half_life": 9}),
        (r"with view_weights=2\.0, part 1 with view_weights='auto'", {"view_weight": 2}),
        (
            r"with prepare=\{'text': \['tfidf', 'l2'\], 'image': \['l2'\]\}, part 1 with prepare=",
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


def test_sparse_and_dense_parts_go_together():
    a, b = cut(two_views(0, 60), [30, 30])
    sparse = Views({name: sp.csr_array(X) for name, X in b.blocks.items()})
    both = fitted(a).merge(fitted(b)), fitted(a).merge(fitted(sparse))
    np.testing.assert_allclose(both[0].scores_, both[1].scores_, rtol=1e-6)


def test_names_of_features_must_agree_where_they_are_known():
    X = two_views(0, 60)["text"]
    frame = pd.DataFrame(X, columns=[f"word{j}" for j in range(12)])
    known, unknown = fitted(frame[:30]), fitted(pd.DataFrame(X[30:]))
    for merged in (known.merge(unknown), unknown.merge(known)):
        assert list(OMVFS.from_bytes(merged.to_bytes()).feature_names_in_) == list(frame)
    other = fitted(frame.rename(columns={"word3": "other"}))
    refused("has other features in part 2 than in part 1: column 3 is 'other'", known, other)


def test_a_part_is_known_by_its_rows():
    def key(seed, **own):
        (part,) = fitted(two_views(seed, 50), **{"sample_size": 12, **own}).as_parts()
        return part.known.key

    # Whatever was made of them; not by sums, which no two machines round alike.
    assert key(0) == key(0, n_clusters=5, criterion="norm") != key(1)


def test_learning_on_changes_no_other_estimator():
    views = two_views(0, 100)
    a, b, c = parts_of(views, (40, 30, 30), sample_size=20)
    both = a.merge(b)
    before = learned(both.merge(c)), learned(a)
    copy.deepcopy(a).partial_fit(views)
    a.partial_fit(views)
    assert learned(both.merge(c)) == before[0]
    # Of one part that has seen rows, too.
    alone = b.merge(clone(b))
    kept = learned(b)
    alone.partial_fit(views)
    assert learned(b) == kept


def test_changes_after_a_merge_are_told_by_the_rows_of_all():
    data = make_planted(
        4000, n_features=(300, 200), n_informative=(60, 50), drift_at=(3000,), random_state=0
    )
    rows = Views(data.views)
    params = {"n_clusters": 4, "detect_drift": True, "random_state": 0}
    a, b = (OMVFS(**params).fit(rows[i : i + 400]) for i in (0, 400))
    model = a.merge(b)
    for start in range(800, 4000, 200):
        model.partial_fit(rows[start : start + 200])
    assert 3000 < model.drift_[0].row <= 3600
