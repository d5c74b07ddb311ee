"""Features that come later: the model is that of a stream which knew all names from the start."""

import copy
from itertools import cycle, permutations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import omvfs
from faults import everything
from omvfs import OMVFS, Views
from omvfs.prepare import buckets
from support import dense

K = 3
BUCKETS = [934824, 1016166, 0]


def stream(seed, n_chunks=6, n=40, lacking=0.0, first=12):
    """Return chunks of rows by name whose vocabulary doubles, beside a view of numbers."""
    rng = np.random.default_rng(seed)
    chunks = []
    for i in range(n_chunks):
        labels = rng.integers(0, K, n)
        words = np.minimum(rng.zipf(1.4, (n, 6)) - 1, (first << i) - 1)
        own = K * rng.integers(0, 4 << i, (n, 3)) + labels[:, np.newaxis]
        rows = [
            {f"w{j}": float(1 + j % 3) for j in common} | {f"own{j}": 2.0 for j in mine}
            for common, mine in zip(words.tolist(), own.tolist(), strict=True)
        ]
        rows = [
            None if gone else row for row, gone in zip(rows, rng.random(n) < lacking, strict=True)
        ]
        image = rng.random((n, 4)) + np.eye(K, 4)[labels]
        chunks.append({"text": rows, "image": image})
    return chunks


def names_of(chunks):
    return list(dict.fromkeys(w for chunk in chunks for row in chunk["text"] for w in row or ()))


def known(chunk, names):
    """Return a chunk with all names."""
    place = {name: j for j, name in enumerate(names)}
    X = np.zeros((len(chunk["text"]), len(names)))
    for i, row in enumerate(chunk["text"]):
        for name, value in (row or {}).items():
            X[i, place[name]] = value
    has = np.array([row is not None for row in chunk["text"]])
    return Views(
        {"text": sp.csr_array(X), "image": chunk["image"]},
        feature_names={"text": names},
        present={"text": has},
    )


def learned(chunks, **params):
    model = OMVFS(**{"n_clusters": K, "sample_size": 90, "random_state": 0} | params)
    for chunk in chunks:
        model.partial_fit(chunk)
    return model


def grown(chunks, **params):
    return learned(chunks, new_features="grow", **params)


def assert_same(a, b):
    """Both have learned the same, to the bit."""
    assert a.schema_ == b.schema_
    for one, other in zip(pieces(a), pieces(b), strict=True):
        np.testing.assert_array_equal(one, other)


def pieces(model):
    state = model._known.answers.state
    for view in state.views:
        yield from (view.S, view.Q, view.n)
    yield from map(dense, state.sample.pieces[0])
    yield model.scores_


OPTIONS = {
    "plain": {},
    "forgetting": {"half_life": 60.0},
    "prepared": {"prepare": ["text:tfidf", "l2"]},
    "a small sample": {"sample_size": 12},
    "watched": {"detect_drift": True},
}


@pytest.mark.parametrize(
    ("options", "lacking"),
    list(zip(OPTIONS.values(), cycle([0.0, 0.3]), strict=False)),
    ids=OPTIONS,
)
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_in_the_same_order_it_is_the_same_model(options, lacking, seed):
    chunks = stream(seed, lacking=lacking)
    names = names_of(chunks)
    wide = [known(chunk, names) for chunk in chunks]
    grows = grown(chunks, **options)
    oracle = learned(wide, **options)
    assert_same(grows, oracle)
    new = stream(seed + 1)[0]
    # Words that nobody knows are passed over.
    kept = [{w: x for w, x in row.items() if w in names} for row in new["text"]]
    expected = oracle.predict(known({**new, "text": kept}, names))
    np.testing.assert_array_equal(grows.predict(new), expected)


def test_a_chunk_that_fails_leaves_nothing():
    chunks = stream(1)
    model, oracle = grown(chunks[:3]), grown(chunks[:3])
    worse = copy.deepcopy(chunks[3])
    worse["text"][-1] = {"never": 1.0, "own1": np.nan, "again": 2.0}
    before = everything(model)
    with pytest.raises(ValueError, match="text"):
        model.partial_fit(worse)
    assert everything(model) == before
    assert "never" not in model.schema_.feature_names[0]
    for chunk in chunks[3:]:
        model.partial_fit(chunk)
        oracle.partial_fit(chunk)
    assert_same(model, oracle)


def test_saved_or_copied_it_goes_on_to_the_same_bits():
    chunks = stream(6, n_chunks=4, n=25, lacking=0.3)
    for i, chunk in enumerate(chunks):
        chunk["image"] = chunk["image"] - 0.1 * i
    params = {"prepare": ["text:tfidf", "l2"], "half_life": 80.0}
    model = OMVFS(K, new_features="grow", random_state=0, **params)
    for chunk in chunks[:2]:
        model.partial_fit(chunk)
    others = OMVFS.from_bytes(model.to_bytes()), copy.copy(model)
    for chunk in chunks[2:]:
        model.partial_fit(chunk)
    for other in others:
        # What another has learned meanwhile is not known to it.
        assert other.schema_.feature_names[0] == tuple(names_of(chunks[:2]))
        for chunk in chunks[2:]:
            other.partial_fit(chunk)
        assert other.schema_.feature_names[0] == tuple(names_of(chunks))
        np.testing.assert_array_equal(model.scores_, other.scores_)


@pytest.mark.parametrize("options", [{}, {"prepare": "tfidf"}], ids=str)
def test_parts_of_other_words_are_merged_by_name_in_any_order_and_tree(tmp_path, options):
    chunks = stream(7)
    parts = [grown(own, **options) for own in (chunks[:2], chunks[4:], chunks[2:4])]
    first = parts[0].merge(*parts[1:])
    for a, b, c in list(permutations(parts))[::2]:
        assert_same(a.merge(b.merge(c)), first)
    for i, part in enumerate(parts):
        part.save(tmp_path / f"{i}.omvfs")
    assert_same(omvfs.merge([tmp_path / f"{i}.omvfs" for i in (2, 0, 1)]), first)
    assert set(first.schema_.feature_names[0]) == set(names_of(chunks))


def test_selections_go_by_name_and_stay_as_wide_as_they_are(tmp_path):
    chunks = stream(9)
    model, new = grown(chunks[:4], n_features_per_view=5), chunks[5]
    chosen, selection = model.transform(new), model.selection()
    assert chosen.shape == (40, 5 + 4)
    selection.save(tmp_path / "selection.omvfs")
    for frozen in (selection, type(selection).load(tmp_path / "selection.omvfs")):
        assert abs(frozen.transform(new) - chosen).max() == 0
    names = np.array(model.schema_.feature_names[0])[model.view_support_["text"]]
    expected = [[(row or {}).get(name, 0.0) for name in names] for row in new["text"]]
    np.testing.assert_array_equal(chosen.toarray()[:, :5], expected)
    # Only words that nobody knows, or none at all.
    strange = {"text": [{"zebra": 1.0}, {}], "image": new["image"][:2]}
    assert not model.transform(strange).toarray()[:, :5].any()
    assert len(model.predict(strange)) == 2


def test_features_that_cannot_come_are_refused():
    rows = {"text": [{"a": 1.0, "b": 2.0}, {"b": 1.0}]}
    fixed, unnamed = learned([rows]), grown([{"image": np.ones((5, 3)) + np.eye(5, 3)}])
    wide, unknown = {"text": np.ones((5, 3))}, {"image": np.ones((5, 4))}
    for refusing, chunk, sentence in (
        (fixed, {"text": [{"c": 1.0}]}, "1 features that the first chunk had not, such as 'c'"),
        (unnamed, unknown, "'image' has 4 features.*without names cannot"),
        (grown([rows]), wide, "'text' has 3 features.*without names cannot"),
        (grown([]), {"text": [{}, {}]}, "'text' has no features in the first chunk"),
    ):
        with pytest.raises(ValueError, match=sentence):
            refusing.partial_fit(chunk)
    # Those that are known may lack.
    for allowing in (fixed, grown([rows])):
        allowing.partial_fit({"text": [{"b": 1.0}, {}]}).partial_fit({"text": np.ones((5, 2))})
        assert allowing.n_features_in_ == 2
    with pytest.raises(ValueError, match="new_features"):
        fixed.merge(grown([rows]))


def test_what_does_not_go_together_is_refused():
    rows = [{"text": [{"a": 1.0}, {"b": 1.0}]}]
    for params, sentence in (
        ({"new_features": "maybe"}, "new_features='maybe'; expected 'error', 'grow'"),
        ({"prepare": ["l2", "hash:8"]}, "before all other steps"),
        ({"prepare": "hash:99"}, r"'hash:20' for 2\*\*20 columns \(4 to 28\)"),
    ):
        with pytest.raises(ValueError, match=sentence):
            learned(rows, **params)
    model = grown(rows).set_params(new_features="error")
    with pytest.raises(ValueError, match="expected the same for all rows"):
        model.partial_fit(rows[0])


def test_hashed_words_are_in_columns_by_their_names_alone():
    chunks = stream(13)
    names = names_of(chunks)
    columns = buckets(names, 8)

    def by_hand(chunk):
        wide = known(chunk, names)
        X = np.zeros((len(wide), 256))
        np.add.at(X.T, columns, wide["text"].toarray().T)
        return {"text": sp.csr_array(X), "image": chunk["image"]}

    hashed = learned(chunks, prepare={"text": ["hash:8", "l2"], "image": "l2"})
    expected = learned([by_hand(chunk) for chunk in chunks], prepare="l2")
    np.testing.assert_array_equal(hashed.scores_, expected.scores_)
    assert hashed.schema_.widths == (256, 4)
    # The same on every machine, from now on.
    assert buckets(["cat", "naïve", ""], 20).tolist() == BUCKETS
    with pytest.raises(ValueError, match="goes by names"):
        learned([{"text": np.ones((3, 5))}], prepare="hash:8")


def test_hashed_frames_may_come_in_batches_smaller_than_chunks():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.poisson(1.0, (90, 12)), columns=[f"w{j}" for j in range(12)]).astype(float)
    params = {"prepare": "hash:6", "batch_size": 30, "random_state": 0}
    whole = OMVFS(2, **params).fit(X)
    parts = OMVFS(2, **params).fit_batches([X[:7], X[7:12][X.columns[::-1]], X[12:]])
    np.testing.assert_array_equal(parts.scores_, whole.scores_)
