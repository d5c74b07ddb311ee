"""Any table goes in: what is found in it, whatever holds it and however it comes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import normalized_mutual_info_score

from data.test_table import every_frame
from omvfs import OMVFS, merge
from omvfs.cli.commands import run_app
from omvfs.data.table import Table
from omvfs.selection import Selection
from tables import found, tickets


@every_frame
def test_a_table_goes_in_as_it_is(make):
    frame, group = tickets()
    model = OMVFS(3, random_state=0).fit(make(frame))
    assert normalized_mutual_info_score(group, model.labels_) > 0.85
    assert min(found(model).values()) >= 0.9
    assert model.prepared_ == {
        "numbers": ("standardize",),
        "categories": ("l2",),
        "message": ("log1p", "l2"),
    }
    assert model.table_.kinds["plan"] == "category"
    same = OMVFS(3, random_state=0).fit(frame)
    for view, scores in same.view_scores_.items():
        np.testing.assert_array_equal(model.view_scores_[view], scores)


def test_later_chunks_bring_categories_and_words_and_other_orders_of_columns():
    frame, group = tickets(900)
    late = frame["plan"].where(frame.index < 300, frame["plan"].replace("team", "enterprise"))
    frame = frame.assign(plan=late)
    model = OMVFS(3, random_state=0)
    for start in range(0, 900, 150):
        chunk = frame[start : start + 150]
        model.partial_fit(chunk[chunk.columns[:: 1 if start else -1]])
    names = model.schema_.names_of("categories")
    assert {"plan=team", "plan=enterprise"} <= set(names)
    assert found(model)["message"] >= 0.9
    assert normalized_mutual_info_score(group, model.predict(frame)) > 0.85
    assert model.transform(frame[:10]).shape[0] == 10


@pytest.mark.parametrize("asked", ["auto", {"numbers": "standardize"}], ids=str)
def test_a_table_is_standardized_and_filled_by_what_came_so_far(asked):
    frame, _ = tickets(400, gaps=0.3)
    model = OMVFS(3, prepare=asked, batch_size=400, random_state=0).fit(frame)
    numbers = frame[["amount", "minutes", "noise_a", "noise_b"]]
    learned = ((numbers - numbers.mean()) / numbers.std(ddof=0)).fillna(0)
    np.testing.assert_allclose(model._known.prepared(model._read_next(frame))["numbers"], learned)
    # What was not asked for is not done to what is given back, but that gaps are filled.
    expected = numbers.fillna(numbers.mean()) if asked == "auto" else learned
    model.set_params(n_features_per_view=None)
    for kept in (model.transform(frame)[:, :4], model.selection().transform(frame)[:, :4]):
        np.testing.assert_allclose(kept.toarray(), expected, atol=1e-8)


def test_means_of_standardized_numbers_are_in_their_units():
    frame, _ = tickets(600, gaps=0)
    model = OMVFS(3, batch_size=600, random_state=0).fit(frame)
    told = model.explain("numbers", "amount")
    labels = model.labels_
    assert told.mean == pytest.approx(frame["amount"].mean())
    means = [frame["amount"][labels == k].mean() for k in range(3)]
    np.testing.assert_allclose(told.means, means, rtol=0.05)
    stands = [own for k in range(3) for own in model.cluster_features(k, view="numbers")]
    (amount,) = [own for own in stands if own.feature == "amount"]
    assert amount.strength == pytest.approx(max(means) / frame["amount"].mean(), rel=0.05)


def test_seconds_since_1970_keep_their_digits():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=400)
    noise = rng.normal(size=(400, 3))
    at, plan = 1.7e9 + 50 * group + rng.normal(size=400), np.where(group, "pro", "free")
    frame = pd.DataFrame({"at": at, "plan": plan})
    frame[["a", "b", "c"]] = noise
    for parts in ([frame], [frame[:100], frame[100:]]):
        models = [OMVFS(2, batch_size=50, random_state=0).fit(part) for part in parts]
        model = merge(models)
        (counted,) = model._known.preparation.counted[0]
        deviation = np.sqrt(counted["about_mean"] / counted["count"])
        np.testing.assert_allclose(deviation, frame[["at", "a", "b", "c"]].std(ddof=0), rtol=1e-6)
        assert model.top_features("numbers", 1) == ["at"]


def test_frames_of_numbers_may_have_gaps_and_arrays_may_not():
    X = np.random.default_rng(0).random((60, 4))
    X[5, 2] = np.nan
    model = OMVFS(2, random_state=0).fit(pd.DataFrame(X, columns=list("abcd")))
    assert model.prepared_ == {"X": ("fill",)}
    filled = np.where(np.isnan(X), np.nanmean(X[:60, 2]), X)
    same = OMVFS(2, batch_size=60, random_state=0).fit(filled)
    whole = OMVFS(2, batch_size=60, random_state=0).fit(pd.DataFrame(X, columns=list("abcd")))
    np.testing.assert_allclose(whole.scores_, same.scores_)
    with pytest.raises(ValueError, match="NaN"):
        OMVFS(2).fit(X)


def test_a_failed_chunk_changes_nothing_and_new_columns_name_their_remedy():
    frame, _ = tickets(300)
    model = OMVFS(3, random_state=0).partial_fit(frame[:150])
    before = model.to_bytes()
    later = frame[150:]
    for bad, sentence in (
        (later.drop(columns="amount"), "no columns 'amount'"),
        (later.assign(region="north"), "'region'.*new_features='grow'"),
        (later.assign(amount="unknown"), "'amount' is of numbers.*'unknown' in row 0"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.partial_fit(bad)
        assert model.to_bytes() == before
    grown = OMVFS(3, new_features="grow", random_state=0).partial_fit(frame[:150])
    grown.partial_fit(later.assign(region=np.where(later.index % 2, "north", "south")))
    assert "region=north" in grown.schema_.names_of("categories")


def test_a_saved_model_goes_on_and_parts_merge(tmp_path):
    frame, group = tickets(800)
    a, b = (OMVFS(3, random_state=0).fit(half) for half in (frame[:400], frame[400:]))
    a.save(tmp_path / "a")
    loaded = OMVFS.load(tmp_path / "a")
    assert loaded.table_ == a.table_
    both = loaded.partial_fit(frame[400:]), a.partial_fit(frame[400:])
    for view, scores in both[0].view_scores_.items():
        np.testing.assert_array_equal(scores, both[1].view_scores_[view])
    merged = merge([OMVFS(3, random_state=0).fit(frame[:400]), b])
    assert normalized_mutual_info_score(group, merged.predict(frame)) > 0.85
    other = OMVFS(3, columns={"country": "drop"}, random_state=0).fit(frame[400:])
    with pytest.raises(ValueError, match=r"differ in columns and their kinds: \('country'"):
        merge([a, other])


def test_a_list_of_texts_goes_in_alone_and_beside_an_array():
    frame, group = tickets(400, gaps=0)
    texts = frame["message"].tolist()
    model = OMVFS(3, random_state=0)
    for start in range(0, 400, 100):
        model.partial_fit(texts[start : start + 100])
    assert normalized_mutual_info_score(group, model.predict(texts)) > 0.7
    image = np.random.default_rng(0).random((400, 5)) + np.eye(3)[group][:, [0, 1, 2, 0, 1]]
    both = OMVFS(3, random_state=0).fit({"text": texts, "image": image})
    assert normalized_mutual_info_score(group, both.labels_) > 0.85


def test_rows_without_any_category_or_word_are_taken_later():
    frame, _ = tickets(300)
    model = OMVFS(3, random_state=0).fit(frame)
    bare = frame[:4].assign(plan=None, country=None, is_new=None, message=None)
    assert model.predict(bare).shape == (4,)
    model.partial_fit(bare)
    assert model.n_samples_seen_ == 304
    with pytest.raises(TypeError, match="Got ndarray; expected a frame with the columns"):
        model.predict(frame.to_numpy())


def test_frames_of_numbers_are_hashed():
    X = pd.DataFrame(np.random.default_rng(0).random((60, 4)), columns=list("abcd"))
    X.iloc[3, 1] = np.nan
    model = OMVFS(2, prepare="hash:6", random_state=0).fit(X)
    assert model.schema_.widths == (64,)
    assert np.isfinite(model.scores_).all()


def test_a_selection_of_a_table_goes_by_its_columns(tmp_path):
    frame, _ = tickets(300)
    model = OMVFS(3, n_features_per_view=3, random_state=0).fit(frame)
    frozen = model.selection()
    frozen.save(tmp_path / "selection.omvfs")
    for each in (frozen, Selection.load(tmp_path / "selection.omvfs")):
        given = frame[frame.columns[::-1]]
        np.testing.assert_array_equal(
            each.transform(given).toarray(), model.transform(frame).toarray()
        )
        assert each.select(frame).columns.tolist() == [
            name
            for name in frame.columns
            if name in {"plan", "message", *model.top_features("numbers", 3)}
        ]
        for lacking in ("amount", "message"):
            with pytest.raises(ValueError, match=f"The table has no columns '{lacking}'"):
                each.transform(frame.drop(columns=lacking))
    hashed = OMVFS(3, prepare="hash:8", random_state=0).fit(frame)
    np.testing.assert_array_equal(
        hashed.selection().transform(frame).toarray(), hashed.transform(frame).toarray()
    )


def test_numbers_of_a_column_that_a_file_lacks_are_missing(tmp_path, capsys):
    frame, _ = tickets(300, gaps=0)
    model = OMVFS(3, random_state=0).fit(frame)
    model.save(tmp_path / "model.omvfs")
    frame.drop(columns="minutes").to_csv(tmp_path / "less.csv", index=False)
    run = ["transform", str(tmp_path / "model.omvfs"), str(tmp_path / "less.csv")]
    assert run_app([*run, "-o", str(tmp_path / "out.csv")]) == 0
    assert "less.csv lacks columns of the table: 'minutes'" in capsys.readouterr().err
    written = pd.read_csv(tmp_path / "out.csv")
    (minutes,) = {*written["numbers__minutes"].round(6)}
    assert minutes == pytest.approx(frame["minutes"].mean())


def test_parts_of_a_table_have_the_same_columns_unless_these_may_grow():
    frame, _ = tickets(300)
    parts = [frame.assign(n=np.arange(300) % 7 / 3), frame[::-1].assign(k=np.arange(300) % 9 / 7)]
    models = [OMVFS(3, random_state=0).fit(part) for part in parts]
    with pytest.raises(ValueError, match=r"differ in columns and their kinds: \('k', 'number'\)"):
        merge(models)
    grown = merge([OMVFS(3, new_features="grow", random_state=0).fit(part) for part in parts])
    assert {"n", "k"} <= set(grown.schema_.names_of("numbers"))
    assert grown.transform(parts[0]).shape[0] == 300


def test_a_constant_of_each_part_that_differs_is_no_constant_of_all():
    frame, _ = tickets(300)
    parts = [frame.assign(region=name, year=year) for name, year in (("eu", 2025), ("us", 2026))]
    for order in (parts, parts[::-1]):
        kinds = Table.of_parts(map(Table.of, order)).kinds
        assert (kinds["region"], kinds["year"]) == ("category", "number")
        assert kinds["source"] == "constant"
