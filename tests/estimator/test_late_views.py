"""Views that come later are views that the rows before them lacked."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import normalized_mutual_info_score

from omvfs import OMVFS, merge


def two_views(n=900, seed=0):
    """Return a view without names and one with, of three groups, and the group of each row."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    blocks = [rng.normal(size=(n, 12)), rng.normal(size=(n, 20))]
    for block in blocks:
        block[:, :5] += 2 * rng.normal(size=(3, 5))[group]
    return blocks[0], pd.DataFrame(blocks[1], columns=[f"b{j}" for j in range(20)]), group


def learned(chunks, **params):
    model = OMVFS(3, new_features="grow", prepare=None, random_state=0, **params)
    for X in chunks:
        model.partial_fit(X)
    return model


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("sample_size", [2000, 300])
def test_a_late_view_is_one_that_rows_lacked(named, sample_size):
    a, b, group = two_views()
    b = b if named else b.to_numpy()
    parts = [slice(start, start + 150) for start in range(0, 900, 150)]
    gone = {2, 4}  # chunks without the second view, once it has come
    has = [i >= 2 and i not in gone for i in range(6)]
    late = [
        {"a": a[p], "b": b[p]} if own else {"a": a[p]} for p, own in zip(parts, has, strict=True)
    ]
    lacking = [
        {"a": a[p], "b": b[p] if own else b[p] * np.nan} for p, own in zip(parts, has, strict=True)
    ]
    model, expected = (learned(each, sample_size=sample_size) for each in (late, lacking))
    assert model.schema_.names == ("a", "b")
    if sample_size == 2000:
        for view in ("a", "b"):
            np.testing.assert_allclose(model.view_scores_[view], expected.view_scores_[view])
    assert normalized_mutual_info_score(group, model.predict({"a": a, "b": b})) > 0.9
    assert normalized_mutual_info_score(group, model.predict({"a": a})) > 0.8
    assert set(np.argsort(model.view_ranking_["b"])[:5]) == set(range(5))


def test_the_order_of_merged_parts_does_not_matter_if_they_have_other_views():
    a, b, group = two_views()
    chunks = [{"a": a[:300]}, {"a": a[300:600], "b": b[300:600]}, {"b": b[600:], "a": a[600:]}]
    models = [learned([X], detect_drift=True) for X in chunks]
    merged = [merge([models[i] for i in order]) for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0))]
    assert len({model.to_bytes() for model in merged}) == 1
    assert set(merged[0].schema_.names) == {"a", "b"}
    assert normalized_mutual_info_score(group, merged[0].predict({"a": a, "b": b})) > 0.9
    again = OMVFS.from_bytes(merged[0].to_bytes()).partial_fit({"a": a[:50], "c": a[:50, :3]})
    assert "c" in again.schema_.names


def test_views_come_later_only_where_that_is_asked_for():
    a, b, _ = two_views(300)
    model = OMVFS(3, random_state=0).partial_fit({"a": a})
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"unknown: 'b'.*new_features='grow'"):
        model.partial_fit({"a": a, "b": b})
    texts = OMVFS(3, random_state=0).partial_fit({"a": a, "t": ["some words"] * 300})
    with pytest.raises(ValueError, match=r"missing: 't'.*new_features='grow'"):
        texts.partial_fit({"a": a})
    assert model.to_bytes() == before


def test_tables_may_have_columns_that_come_later():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=600)
    plan, words = np.array(["x", "y", "z"])[group], [f"w{k} u{k} z{i}" for i, k in enumerate(group)]
    early = pd.DataFrame({"plan": plan, "age": rng.normal(3 * group, 0.3)})
    late = early.assign(region="north", comment=words, height=rng.normal(size=600))
    model = OMVFS(3, new_features="grow", random_state=0)
    model.partial_fit(early[:200]).partial_fit(late[200:400]).partial_fit(early[["age"]][400:])
    assert model.schema_.names == ("numbers", "categories", "comment")
    assert model.schema_.names_of("numbers") == ("age", "height")
    assert "region=north" in model.schema_.names_of("categories")
    assert normalized_mutual_info_score(group, model.predict(late)) > 0.9


def test_frames_among_views_are_tables():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=600)
    meta = pd.DataFrame({"plan": np.array(["x", "y", "z"])[group], "age": rng.normal(group, 0.3)})
    notes = pd.DataFrame({"note": [f"w{k} u{k} v{k} z{i}" for i, k in enumerate(group)]})
    image = rng.normal(size=(600, 8)) + np.eye(3, 8)[group] * 3
    one = OMVFS(3, random_state=0).fit({"meta": meta, "image": image})
    assert one.schema_.names == ("numbers", "categories", "image")
    assert [(c.source, c.view) for c in one.table_.columns] == [
        ("meta", "categories"),
        ("meta", "numbers"),
    ]
    X = {"meta": meta, "notes": notes}
    two = OMVFS(3, columns={"age": "drop"}, random_state=0)
    batches = [{name: frame[s : s + 150] for name, frame in X.items()} for s in range(0, 600, 150)]
    two.fit_batches(batches)
    assert two.schema_.names == ("meta.categories", "notes.note")
    assert normalized_mutual_info_score(group, two.predict(X)) > 0.9
    with pytest.raises(ValueError, match="kind of column 'zip'"):
        OMVFS(columns={"zip": "category"}).fit(X)
