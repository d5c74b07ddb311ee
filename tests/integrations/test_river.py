"""The transformer of river learns what `partial_fit` does, and passes river's own checks."""

import random

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("river", reason="needs the extra river")

from river import compose, linear_model, naive_bayes, stream
from river.checks import yield_checks

from omvfs import OMVFS
from omvfs.integrations.river import Selector

FEW = {"sample_size": 100}


def words(n_rows, seed=0):
    """Return rows of two topics, whose words become more and more, in the order of their names."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n_rows):
        topic = "cats" if rng.random() < 0.5 else "cars"
        known = 10 + i // 5
        own = [f"{topic}{j}" for j in rng.integers(known, size=6)]
        every = [f"the{j}" for j in rng.integers(known, size=4)]
        counted = pd.Series(own + every).value_counts()
        rows.append({name: int(counted[name]) for name in sorted(counted.index)})
    return rows


def learned_by_chunks(rows, size, **params):
    model = OMVFS(2, n_features_per_view=5, new_features="grow", random_state=0, **FEW, **params)
    for start in range(0, len(rows) - size + 1, size):
        model.partial_fit(rows[start : start + size])
    return model


def test_it_is_partial_fit_on_the_same_chunks():
    rows = words(330)
    expected = learned_by_chunks(rows, 50)
    by_rows, by_frames = (
        Selector(2, 5, batch_size=50, seed=0, **FEW),
        Selector(2, 5, batch_size=50, seed=0, **FEW),
    )
    for x in rows:
        order = list(x)
        random.Random(0).shuffle(order)
        by_rows.learn_one({name: x[name] for name in order})
        # To ask on the way changes nothing.
        by_rows.transform_one(x)
    for start in range(0, 330, 110):
        by_frames.learn_many(pd.DataFrame(rows[start : start + 110]))
    for own in (by_rows, by_frames):
        assert own.model.schema_ == expected.schema_
        np.testing.assert_array_equal(own.model.scores_, expected.scores_)
        assert own.n_pending == 30
        assert own.model.n_samples_seen_ == 300
    assert len(expected.schema_.feature_names[0]) > 3 * len(words(1)[0])
    by_rows.learn_pending()
    assert (by_rows.n_pending, by_rows.model.n_samples_seen_) == (0, 330)
    expected.partial_fit(rows[300:])
    np.testing.assert_array_equal(by_rows.model.scores_, expected.scores_)


def test_features_are_of_views_by_their_prefix():
    rows = words(200)
    beside = [{f"sound{j % 3}": 1.0 + j % 2} for j in range(200)]
    selector = Selector(2, 2, batch_size=50, seed=0, views="prefix", **FEW)
    expected = OMVFS(2, n_features_per_view=2, new_features="grow", random_state=0, **FEW)
    own = [None if i % 7 == 3 else each for i, each in enumerate(beside)]
    for i, x in enumerate(rows):
        both = {f"text__{name}": value for name, value in x.items()}
        selector.learn_one(both | {f"image__{k}": v for k, v in (own[i] or {}).items()})
    for start in range(0, 200, 50):
        part = slice(start, start + 50)
        expected.partial_fit({"image": own[part], "text": rows[part]})
    assert selector.model.schema_.names == ("image", "text")
    np.testing.assert_array_equal(selector.model.scores_, expected.scores_)
    chosen = set(
        selector.transform_one({f"text__{name}": 1 for name in expected.schema_.names_of("text")})
    )
    assert chosen == {f"text__{name}" for name in expected.top_features("text", 2)}
    selector.learn_one({"cat": 1})
    with pytest.raises(ValueError, match="Got the feature 'cat'; expected view__feature"):
        selector.learn_pending()


def test_what_it_cannot_do_is_refused():
    for params, said in [
        ({"random_state": 0}, "Got random_state="),
        ({"n_features_per_view": 0}, "Got n_features_per_view="),
        ({"batch_size": 0}, "batch_size"),
        ({"prepare": "hash:10"}, r"prepare='hash:10'; expected no 'hash'"),
        ({"views": "suffix"}, "views='suffix'; expected 'prefix'"),
    ]:
        with pytest.raises((TypeError, ValueError), match=said):
            Selector(**params)


def test_all_features_pass_until_a_chunk_is_learned():
    selector = Selector(2, 1, batch_size=10, seed=0, **FEW)
    x = {"a": 1, 7: 2.5}
    assert selector.transform_one(x) == x
    for _ in range(10):
        selector.learn_one(x)
    # Names that are no texts go on as they are.
    assert len(selector.transform_one(x)) == 1
    assert set(selector.transform_one(x)) < set(x)


def test_a_chunk_that_is_refused_is_dropped_and_the_stream_goes_on():
    rows = words(150)
    selector = Selector(2, 5, batch_size=50, seed=0, **FEW)
    for x in rows[:100]:
        selector.learn_one(x)
    before = selector.model.scores_
    selector.learn_one({"cats1": float("nan")})
    with pytest.raises(ValueError, match="contains NaN"):
        selector.learn_pending()
    np.testing.assert_array_equal(selector.model.scores_, before)
    for x in rows[100:]:
        selector.learn_one(x)
    expected = learned_by_chunks(rows, 50)
    np.testing.assert_array_equal(selector.model.scores_, expected.scores_)


def test_it_stands_in_a_pipeline():
    model = compose.Pipeline(
        Selector(2, 0.4, batch_size=50, seed=0, **FEW), naive_bayes.MultinomialNB()
    )
    right = 0
    for i, x in enumerate(words(400)):
        y = any(name.startswith("cats") for name in x)
        right += i >= 200 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert right > 180
    twin = model.clone()
    assert twin["Selector"].model is not model["Selector"].model
    assert twin["Selector"].n_pending == 0
    union = Selector(2, 3, seed=0) + Selector(2, 3, seed=1) | linear_model.LinearRegression()
    X = np.random.default_rng(0).random((30, 4))
    for x, y in stream.iter_array(X, X[:, 0]):
        union.predict_one(x)
        union.learn_one(x, y)


CHECKS = list(yield_checks(Selector(**next(Selector._unit_test_params()))))


# The set that they use has a column of dates, of which it is right to warn.
@pytest.mark.filterwarnings("ignore::omvfs.SuspectColumnWarning")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_checks_of_river(check):
    (params,) = Selector._unit_test_params()
    model = Selector(**params)
    assert model._unit_test_skips() == set()
    check(model)
