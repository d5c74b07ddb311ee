"""Features that come later: the model is that of a stream which knew all names from the start."""

import copy
from itertools import cycle, permutations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

import omvfs
from faults import everything
from omvfs import OMVFS, OMVFSPaper, Views
from omvfs.prepare import buckets

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
    state = model._fitted.state
    yield from (view.B for view in state.statistics.views)
    yield state.B_sq_norms
    yield from (X.toarray() if sp.issparse(X) else X for X in state.reservoir.blocks)
    yield model.scores_
    yield from model.V_.values()
    yield model.window_labels_


OPTIONS = {
    "plain": {},
    "forgetting": {"half_life": 60.0},
    "prepared": {"prepare": ["text:tfidf", "l2"]},
    "columns of unit norm, forgetting": {"scale_columns": True, "half_life": 60.0},
    "without a sample": {"sample_size": 0},
    "as they come": {"view_weight": None, "graph": "none"},
    "clipped": {"negative": "clip"},
}


@pytest.mark.parametrize(
    ("options", "lacking"),
    list(zip(OPTIONS.values(), cycle([0.0, 0.3]), strict=False)),
    ids=OPTIONS,
)
@settings(max_examples=1, deadline=None)
@given(seed=st.integers(0, 10**6))
@example(seed=4)  # sums over columns depended on their number in the last digit
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


def test_frames_with_more_columns_are_matched_by_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((120, 12)), columns=list("abcdefghijkl"))
    parts = [frame.iloc[:40, :6], frame.iloc[40:80, [5, 4, 7, 6, 0]], frame.iloc[80:, ::-1]]
    model = OMVFS(2, new_features="grow", random_state=0)
    for part in parts:
        model.partial_fit({"X": part})
    order = [*"abcdef", "h", "g", *"lkji"]
    assert model.schema_.feature_names == (tuple(order),)
    whole = [part.reindex(columns=order, fill_value=0.0) for part in parts]
    oracle = learned([{"X": part} for part in whole], n_clusters=2, sample_size=2000)
    np.testing.assert_allclose(model.scores_, oracle.scores_, rtol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, 1e200])
def test_a_chunk_that_fails_leaves_nothing(bad):
    chunks = stream(1)
    model, oracle = grown(chunks[:3]), grown(chunks[:3])
    worse = copy.deepcopy(chunks[3])
    worse["text"][-1] = {"never": 1.0, "own1": bad, "again": 2.0}
    before = everything(model)
    with pytest.raises(ValueError, match="text"):
        model.partial_fit(worse)
    assert everything(model) == before
    assert "never" not in model.schema_.feature_names[0]
    for chunk in chunks[3:]:
        model.partial_fit(chunk)
        oracle.partial_fit(chunk)
    assert_same(model, oracle)


STEPS = ["text:tfidf", "l2"]
# Every pair of settings.
PAIRS = [
    (OMVFS, 0.0, None, False, "error"),
    (OMVFS, 0.0, STEPS, True, "shift"),
    (OMVFS, 0.3, STEPS, False, "shift"),
    (OMVFSPaper, 0.0, STEPS, False, "error"),
    (OMVFSPaper, 0.3, None, True, "error"),
    (OMVFSPaper, 0.3, None, False, "shift"),
]


@pytest.mark.parametrize(("solver", "lacking", "prepare", "fading", "negative"), PAIRS)
def test_every_pair_of_settings_learns_and_resumes(solver, lacking, prepare, fading, negative):
    params = {"half_life": 80.0, "scale_columns": True} if fading else {}
    small = {"max_iter": 5} if solver is OMVFSPaper else {"sample_size": 60, "n_init": 2}
    params |= {"prepare": prepare, "negative": negative, **small}
    model = solver(K, new_features="grow", random_state=0, **params)
    chunks = stream(6, n_chunks=4, n=25, lacking=lacking)
    if negative == "shift":
        for i, chunk in enumerate(chunks):
            chunk["image"] = chunk["image"] - 0.1 * i
    for chunk in chunks[:2]:
        model.partial_fit(chunk)
    loaded = solver.from_bytes(model.to_bytes())
    for chunk in chunks[2:]:
        model.partial_fit(chunk)
        loaded.partial_fit(chunk)
    assert np.isfinite(model.scores_).all()
    assert model.schema_.feature_names[0] == tuple(names_of(chunks))
    np.testing.assert_array_equal(model.scores_, loaded.scores_)


def parts_of(seed, **options):
    chunks = stream(seed)
    return [grown(part, **options) for part in (chunks[:2], chunks[4:], chunks[2:4])]


@pytest.mark.parametrize("options", [{}, {"prepare": "tfidf"}], ids=str)
def test_parts_of_other_words_are_merged_by_name_in_any_order_and_tree(tmp_path, options):
    parts = parts_of(7, **options)
    first = parts[0].merge(*parts[1:])
    for a, b, c in list(permutations(parts))[::2]:
        assert_same(a.merge(b.merge(c)), first)
    for i, part in enumerate(parts):
        part.save(tmp_path / f"{i}.omvfs")
    assert_same(omvfs.merge([tmp_path / f"{i}.omvfs" for i in (2, 0, 1)]), first)
    assert set(first.schema_.feature_names[0]) == set(names_of(stream(7)))


@pytest.mark.parametrize("prepare", [None, ["text:hash:7", "l2"]])
def test_selections_go_by_name_and_stay_as_wide_as_they_are(tmp_path, prepare):
    chunks = stream(9)
    model = grown(chunks[:4], n_features_per_view=5, prepare=prepare)
    selection = model.selection()
    selection.save(tmp_path / "selection.json")
    new = chunks[5]
    chosen = model.transform(new)
    assert chosen.shape == (40, 5 + 4)
    for frozen in (selection, type(selection).load(tmp_path / "selection.json")):
        assert abs(frozen.transform(new) - chosen).max() == 0
    if prepare is None:
        names = np.array(model.schema_.feature_names[0])[model.view_support_["text"]]
        expected = [[(row or {}).get(name, 0.0) for name in names] for row in new["text"]]
        np.testing.assert_array_equal(chosen.toarray()[:, :5], expected)
    # Only words that nobody knows, or none at all.
    strange = {"text": [{"zebra": 1.0}, {}], "image": new["image"][:2]}
    assert not model.transform(strange).toarray()[:, :5].any() or prepare == ["text:hash:7", "l2"]
    assert len(model.predict(strange)) == 2
    assert np.isfinite(model.score(new))


def test_a_copy_does_not_know_what_another_learns():
    chunks = stream(5, lacking=0.2)
    half = grown(chunks[:3])
    other = copy.copy(half)
    half.partial_fit({"text": [{"elsewhere": 1.0}], "image": [[1.0, 0.0, 0.0, 0.0]]})
    for chunk in chunks[3:]:
        other.partial_fit(chunk)
    assert_same(other, grown(chunks))


def test_features_that_cannot_come_are_refused():
    rows = {"text": [{"a": 1.0, "b": 2.0}, {"b": 1.0}]}
    fixed, unnamed = learned([rows]), grown([{"image": np.ones((5, 3)) + np.eye(5, 3)}])
    for refusing, chunk, sentence in (
        (fixed, {"text": [{"c": 1.0}]}, "1 features that the first chunk had not, such as 'c'"),
        (
            unnamed,
            {"image": np.ones((5, 4))},
            "'image' has 4 features.*without names cannot",
        ),
        (
            grown([rows]),
            {"text": np.ones((5, 3))},
            "'text' has 3 features.*without names cannot",
        ),
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


def test_fit_and_batches_of_any_size_learn_the_same():
    chunks = stream(10)
    whole = {
        "text": [row for chunk in chunks for row in chunk["text"]],
        "image": np.concatenate([chunk["image"] for chunk in chunks]),
    }
    params = {"n_clusters": K, "batch_size": 50, "sample_size": 90, "random_state": 0}
    fitted = OMVFS(new_features="grow", **params).fit(whole)
    assert_same(OMVFS(new_features="grow", **params).fit_batches(chunks), fitted)
    assert len(fitted.labels_) == 240


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
