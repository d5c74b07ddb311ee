"""Views have the say that the rows decide: one that tells nothing has none, and is still ranked."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import omvfs
from omvfs import OMVFS, OMVFSPaper, Views
from omvfs.evaluation import normalized_mutual_information
from omvfs.model.constrained.view_weights import UNHEARD
from streams import cut, learned
from support import fingerprint

QUICK = {"n_init": 3, "max_iter": 5, "random_state": 0, "batch_size": 60, "view_weight": "auto"}
# Of forgetting, scaling, preparing, graphs and rules, all that a stream may be learned by.
WAYS = [
    {},
    {"half_life": 200.0},
    {"scale_columns": True},
    {"scale_columns": True, "half_life": 150.0},
    {"graph": "none"},
    {"graph": "gaussian"},
    {"sample_size": 200},
    {"view_weight": {"text": "auto", "image": "auto", "noise": "auto"}},
    {"prepare": ["tfidf", "l2"]},
    {"criterion": "signal"},
    {"criterion": "information"},
    {"negative": "shift"},
]
every_way = pytest.mark.parametrize("params", WAYS, ids=str)


def with_noise(seed=0, n=480, noisy=True):
    """Return two views of three kinds of rows, a third of noise, and the kinds."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n)
    text, image = (np.hstack([np.eye(3)[kinds], rng.random((n, 6))]) for _ in range(2))
    views = {"text": text, "image": image}
    if noisy:
        views["noise"] = rng.lognormal(0, 1.5, (n, 9))
    return views, kinds


def fitted(rows, **params):
    return OMVFS(3, **{**QUICK, **params}).fit(rows)


@every_way
def test_every_way_to_learn_finds_the_view_that_tells_nothing(params):
    rows, _ = with_noise()
    model = fitted(rows, **params)
    assert model.view_weights_ == {"text": 1.0, "image": 1.0, "noise": UNHEARD}
    assert np.isfinite(model.scores_).all()
    assert (model.view_scores_["noise"] > 0).any()
    assert set(model.predict(rows)) <= set(range(3))
    assert 0 <= model.explained_share(rows) <= 1
    assert model.explain("noise", 0).rank >= 1


@every_way
def test_rows_may_lack_views(params):
    views, _ = with_noise()
    rng = np.random.default_rng(1)
    present = {name: rng.random(480) < 0.8 for name in ("image", "noise")}
    rows = Views(views, present=present)
    model = fitted(rows, **params)
    assert model.view_weights_["text"] == model.view_weights_["image"] == 1.0
    assert model.view_weights_["noise"] == UNHEARD
    assert np.isfinite(model.scores_).all()
    only = Views(
        {name: X[:20] for name, X in views.items()},
        present={"text": np.zeros(20, bool), "image": np.zeros(20, bool)},
    )
    assert len(set(model.predict(only))) > 1  # placed by the noise, as there is nothing else


def test_clusters_are_those_that_views_have_in_common():
    rng = np.random.default_rng(0)
    kinds, other_kinds = rng.integers(0, 3, (2, 480))
    own = np.hstack([0.5 * np.eye(3)[kinds], np.zeros((480, 6))])
    rows = {name: own + rng.random((480, 9)) for name in ("a", "b")}
    heard = fitted(rows)
    # A view that tells of other kinds, and loudly.
    rows["other"] = np.eye(3)[other_kinds] + 0.1 * rng.random((480, 3))
    auto, balanced = fitted(rows), fitted(rows, view_weight="balanced")
    found = [normalized_mutual_information(kinds, m.labels_) for m in (heard, auto, balanced)]
    assert found[1] >= found[0] - 0.01
    assert found[2] < 0.5 < found[1]
    # It is ranked by what it tells of the kinds: nothing.
    assert max(auto.view_scores_["other"]) < 0.1 * max(balanced.view_scores_["other"])


@given(st.integers(0, 100))
@settings(max_examples=5, deadline=None)
def test_views_that_are_all_heard_are_balanced_to_the_bit(seed):
    rows, _ = with_noise(seed, noisy=False)
    auto, balanced = fitted(rows), fitted(rows, view_weight="balanced")
    assert auto.view_weights_ == balanced.view_weights_ == {"text": 1.0, "image": 1.0}
    np.testing.assert_array_equal(auto.scores_, balanced.scores_)
    np.testing.assert_array_equal(auto.labels_, balanced.labels_)
    assert fingerprint(auto._fitted.state.statistics) == fingerprint(
        balanced._fitted.state.statistics
    )


def test_a_weight_that_is_given_stays():
    rows, _ = with_noise()
    weights = {"text": "auto", "image": "auto", "noise": 0.5}
    assert fitted(rows, view_weight=weights).view_weights_ == {
        **dict.fromkeys(rows, 1.0),
        "noise": 0.5,
    }
    assert fitted(rows, view_weight=None).view_weights_ == dict.fromkeys(rows)


def test_nothing_is_decided_before_there_are_rows_enough():
    rows, _ = with_noise()
    model = OMVFS(3, **QUICK)
    for chunk in cut(rows, 60):
        model.partial_fit(chunk)
        known = model._fitted.state.view_weights
        assert (known == ()) == (model.n_samples_seen_ <= 60)
    assert known == (1.0, 1.0, UNHEARD)
    few = OMVFS(3, **QUICK).partial_fit({name: X[:60] for name, X in rows.items()})
    assert set(few.view_weights_.values()) == {1.0}


@pytest.mark.parametrize("params", [{}, {"half_life": 200.0}, {"scale_columns": True}], ids=str)
def test_it_resumes_to_the_same_bits(params):
    rows, _ = with_noise()
    chunks = cut(rows, *range(60, 480, 60))
    whole, first = (OMVFS(3, **{**QUICK, **params}) for _ in range(2))
    for chunk in chunks:
        whole.partial_fit(chunk)
    for chunk in chunks[:5]:
        first.partial_fit(chunk)
    assert first._fitted.state.view_weights  # decided before it was saved
    again = OMVFS.from_bytes(first.to_bytes())
    for chunk in chunks[5:]:
        again.partial_fit(chunk)
    assert learned(again) == learned(whole)
    np.testing.assert_array_equal(again.scores_, whole.scores_)
    assert again.view_weights_ == whole.view_weights_


@given(st.permutations(range(3)))
@settings(max_examples=4, deadline=None)
def test_parts_decide_anew_together_in_any_order(order):
    rows, _ = with_noise()
    # None of them could decide by itself.
    parts = [fitted({name: X[i::6] for name, X in rows.items()}) for i in range(3)]
    assert all(set(part.view_weights_.values()) == {1.0} for part in parts)
    one, other = omvfs.merge(parts), omvfs.merge([parts[i] for i in order])
    assert one._fitted.state.view_weights == (1.0, 1.0, UNHEARD)
    np.testing.assert_array_equal(one.scores_, other.scores_)
    assert OMVFS.from_bytes(one.to_bytes()).view_weights_ == one.view_weights_


def test_what_cannot_be_decided_is_refused():
    rows, _ = with_noise(n=60)
    with pytest.raises(ValueError, match=r"view_weight='auto' with sample_size=99; .* 100 rows"):
        fitted(rows, sample_size=99)
    with pytest.raises(ValueError, match="for OMVFSPaper, which keeps no rows"):
        OMVFSPaper(3, view_weight="auto").fit(rows)
    with pytest.raises(ValueError, match="expected 'balanced', 'auto', a weight above 0"):
        fitted(rows, view_weight="by itself")


def test_sparse_and_dense_views_decide_alike():
    rows, _ = with_noise()
    sparse = {name: sp.csr_array(X) for name, X in rows.items()}
    assert fitted(sparse).view_weights_ == fitted(rows).view_weights_
