"""What a report says is what the model says; it changes nothing, and ranks nothing again."""

import json
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from omvfs import OMVFS
from reported import QUICK, hostile_model, planted_model
from streams import two_views
from support import fingerprint


@pytest.fixture(scope="module")
def model():
    return planted_model(detect_drift=True, batch_size=75)


@pytest.fixture(scope="module")
def summary(model):
    return model.report("Planted").summary


def test_features_are_those_of_the_ranking(model, summary):
    table = model.to_frame()
    for view in summary["features"]:
        own = table[(table["view"] == view["view"]) & table["selected"]]
        assert view["n_selected"] == len(own) == 60
        rows = view["features"]
        assert [each["rank"] for each in rows] == own["rank"].tolist()
        assert [each["name"] for each in rows] == own["name"].tolist()
        assert [each["number"] for each in rows] == own["feature"].tolist()
        np.testing.assert_allclose([each["score"] for each in rows], own["score"], rtol=1e-5)
        np.testing.assert_allclose(
            [each["explained"] for each in rows], own["explained"], rtol=1e-5
        )
        for each, cluster, repeats in zip(rows, own["cluster"], own["repeats"], strict=True):
            why = model.explain(view["view"], each["name"])
            assert each["cluster"] == int(cluster) == why.cluster
            assert each["tells"] in why.why
            # The bars are means by cluster; of features that are not negative, from 0 to the most.
            expected = np.array(why.means) / max(why.means)
            np.testing.assert_allclose(each["bars"], expected, atol=2e-3)
            assert each["repeats"] == (repeats if isinstance(repeats, str) else None)


def test_clusters_are_the_largest_first_and_named_by_what_tells_them(model, summary):
    shares = [each["share"] for each in summary["clusters"]]
    assert shares == sorted(shares, reverse=True)
    np.testing.assert_allclose(sorted(shares), sorted(model.cluster_shares_), rtol=1e-5)
    for own in summary["clusters"]:
        assert own["name"] == model.cluster_names_[own["cluster"]]
        for view in own["views"]:
            told = model.cluster_features(own["cluster"], n=6, view=view["view"])
            clearly = [each.feature for each in told if each.strength > 1.05]
            assert [each["name"] for each in view["features"]] == clearly


def test_judgements_are_those_of_the_model(model, summary):
    quality, stability, verdict = model.selection_quality_, model.stability(), model.verdict()
    assert summary["name"] == "Planted"
    assert summary["verdict"] == verdict.sentences
    assert summary["holds"] is verdict.holds is True
    told = summary["quality"]
    np.testing.assert_allclose(told["agreement"], quality.agreement, rtol=1e-5)
    assert (told["enough"], told["selected"]) == (model.suggest_n_features(), 60)
    assert told["levels_off"]  # all features are judged
    assert summary["stability"]["n_resamples"] == 8
    np.testing.assert_allclose(summary["stability"]["stays"], stability.stays, rtol=1e-5)
    # One number, wherever it stands.
    assert f"{round(120 * stability.stays.share)} of 120 selected features are chosen again" in str(
        verdict
    )
    for view in summary["features"]:
        kept = [each["often"] for each in view["features"]]
        numbers = [each["number"] for each in view["features"]]
        expected = stability.views[view["view"]].frequencies[numbers]
        np.testing.assert_allclose(kept, expected, rtol=1e-5)
    assert [each["weight"] for each in summary["views"]] == list(model.view_weights_.values())
    agreement = np.array(summary["agreement"])
    np.testing.assert_array_equal(agreement, agreement.T)
    assert agreement[0, 1] > 0.1  # the classes are in both views


def test_the_stream_is_told_chunk_by_chunk(model, summary):
    told = summary["stream"]
    assert told["n_chunks"] == len(model.history_) == 8
    expected = [each.fit for each in model.history_]
    np.testing.assert_allclose(told["fit"]["fit"], expected, rtol=1e-5)
    assert told["fit"]["rows"] == list(range(75, 601, 75))
    assert told["events"] == []
    assert model.set_params(detect_drift=False).report().summary["stream"]["events"] is None
    model.set_params(detect_drift=True)


def test_a_report_changes_nothing_and_is_the_same_again():
    model = OMVFS(3, n_features_per_view=4, **QUICK).fit(two_views(0, 60))
    before = fingerprint(model)
    text = model.report().html()
    assert fingerprint(model) == before
    assert model.report().html() == text
    assert OMVFS.from_bytes(model.to_bytes()).report().html() == text


def models():
    rows = two_views(0, 60)
    first, second = (OMVFS(3, prepare="l2", **QUICK).fit(two_views(seed, 60)) for seed in (1, 2))
    return {
        "sample of one": OMVFS(3, sample_size=1, **QUICK).fit(rows),
        "one row": OMVFS(3, **QUICK).partial_fit({"a": np.ones((1, 4)), "b": np.ones((1, 2))}),
        "one view": OMVFS(3, **QUICK).fit(next(iter(rows.values()))),
        "one cluster": OMVFS(1, **QUICK).fit(rows),
        "in all": OMVFS(3, n_features_to_select=4, **QUICK).fit(rows),
        "all": OMVFS(3, n_features_per_view=None, **QUICK).fit(rows),
        "forgotten": OMVFS(3, half_life=1, **QUICK).fit(rows),
        "merged": OMVFS.merge(first, second),
        "counted": OMVFS("auto", **QUICK).fit(rows),
        "zeros": OMVFS(3, **QUICK).fit({"a": np.zeros((40, 3)), "b": np.zeros((40, 2))}),
        "growing": OMVFS(2, new_features="grow", **QUICK).fit({"a": [{"x": 1.0}, {"y": 2.0}] * 9}),
        "weighed": OMVFS(2, view_weight={"text": 1.0, "image": 0.5}, **QUICK).fit(rows),
    }


def test_there_is_a_report_of_any_model():
    for name, model in models().items():
        text = model.report().html()
        assert "How it was made" in text, name
        if name in ("sample of one", "one row"):
            for section in ("enough", "stability"):
                after = text.partition(f'id="{section}"')[2].partition("</section>")[0]
                assert "Not known." in after, name


def test_rows_are_shown_by_what_they_are_called(model):
    examples = {0: [{"key": f"page {i}", "title": "<b>News"} for i in range(9)]}
    text = model.report(examples=examples).html()
    assert text.count("<bdi>page ") == 3
    assert "&lt;b&gt;News" in text


def test_how_it_was_made_is_shown_as_text_whatever_is_in_it(model):
    harm = "<script>1</script>\x1b[2J\u202e"
    run = {"command": harm, harm: [harm, {harm: 1}], "long": "x" * 10**6}
    run |= {str(i): i for i in range(1000)}
    text = model.report(run=run).html()
    assert "<script>1" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;1&lt;/script&gt;\\x1b[2J\\u202e" in text
    assert len(text) < 200_000


def test_page_and_values_are_saved_beside_each_other(tmp_path):
    report = hostile_model()[0].report()
    report.save(tmp_path / "deep" / "fox.html")
    assert (tmp_path / "deep" / "fox.html").read_text(encoding="utf-8") == report.html()
    assert json.loads((tmp_path / "deep" / "fox.json").read_text()) == report.summary
    assert len(list((tmp_path / "deep").iterdir())) == 2
    with pytest.raises(ValueError, match=r"expected the name of a page, as report\.html"):
        report.save(tmp_path / "fox.json")


def test_what_has_learned_nothing_has_no_report(model):
    with pytest.raises(NotFittedError):
        OMVFS().report()
    with pytest.raises(ValueError, match="Got name=3; expected what the data are called"):
        model.report(3)


def test_without_jinja2_one_sentence_tells_the_remedy(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"^A report needs jinja2: pip install 'omvfs\["):
        model.report()
