"""Rows that are unusual, and welcome; columns that are suspect, and warned of."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import normalized_mutual_info_score

from omvfs import OMVFS, SuspectColumnWarning, merge
from omvfs.cli.commands import run_app
from omvfs.datasets import make_planted
from streams import two_views
from support import clustered, counts


@pytest.mark.parametrize("when", ["first", "later"])
def test_empty_short_and_single_row_chunks_are_allowed(when):
    rows = counts(np.random.default_rng(0), 20, 6)
    for n_rows, value, kind in ((1, 0.0, sp.csr_array), (2, 1.0, np.asarray), (15, 0.0, np.array)):
        odd = np.full((n_rows, 6), value)
        model = OMVFS(5, random_state=0)
        for chunk in (odd, rows) if when == "first" else (rows, odd):
            model.partial_fit(kind(chunk))
        assert model.n_samples_seen_ == n_rows + 20
        assert np.isfinite(model.scores_).all()
        assert model.scores_.any()


@pytest.mark.parametrize(
    ("half_life", "sample_size", "dtype"),
    [(1e-300, 1, "f4"), (1e-300, 2000, "f8"), (0.3, 50, "f4")],
)
def test_what_is_forgotten_altogether_leaves_finite_answers(half_life, sample_size, dtype):
    model = OMVFS(3, half_life=half_life, sample_size=sample_size, random_state=0)
    for seed in range(4):
        model.partial_fit(two_views(seed, 20, dtype))
    assert np.isfinite(model.scores_).all()


def frame(n=60):
    X, _ = clustered(np.random.default_rng(0), n, 12)
    return pd.DataFrame(X, columns=list("abcdefghijkl"))


def model(**params):
    given = {"n_clusters": 3, "batch_size": 30, "prepare": None, "random_state": 0, **params}
    return OMVFS(**given)


def big(X):
    return X.assign(c=100 * np.random.default_rng(1).random(len(X)))


def test_a_column_that_outweighs_others_is_warned_of_by_name_where_fit_was_called():
    with pytest.warns(SuspectColumnWarning, match=r"'c' holds 9.*of view 'X'") as told:
        model().fit(big(frame()))
    assert [each.filename for each in told] == [__file__]
    (found,) = told[0].message.suspects
    assert (found.view, found.column) == ("X", "c")
    assert "prepare=['X:standardize'] (--prepare X:standardize)" in str(told[0].message)
    with pytest.warns(SuspectColumnWarning) as told:
        model(prepare={"b": "l2", "a": ["tfidf", "l2"]}).fit({"a": big(frame()), "b": frame()})
    asked = "prepare=['a:tfidf', 'a:standardize', 'b:l2']"
    assert asked in str(told[0].message)


N_ROWS, NOISE = 600, np.random.default_rng(0)


def words():
    made = make_planted(N_ROWS, n_features=(200,), n_informative=(30,), n_classes=4, random_state=0)
    return made.views["view_0"].toarray().astype(float), made.labels


def mixed_units():
    labels = np.random.default_rng(0).integers(4, size=N_ROWS)
    centres, noise = np.random.default_rng(1), np.random.default_rng(2)
    X = 2 * centres.normal(size=(4, 10))[labels] + noise.normal(size=(N_ROWS, 10))
    return X * 10 ** np.linspace(-1, 1, 10) + 10, labels


def chance():
    return NOISE.random((N_ROWS, 10)), np.random.default_rng(0).integers(4, size=N_ROWS)


COLUMNS = {
    "row number": lambda X, labels: np.arange(N_ROWS),
    "constant": lambda X, labels: np.full(N_ROWS, 1000.0),
    "duplicate": lambda X, labels: X[:, -1],
    "noise": lambda X, labels: 10 * X.std() * len(X.T) * NOISE.normal(size=N_ROWS),
    "signal": lambda X, labels: 10 * X.std() * len(X.T) * labels,
}


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("size", [300, 1000], ids=["chunks", "whole"])
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("make", [words, mixed_units, chance])
@pytest.mark.parametrize("asked", ["auto", None])
def test_what_a_warning_advises_makes_clusters_no_worse(asked, make, name, size, kind):
    X, labels = make()
    X = np.column_stack([X, COLUMNS[name](X, labels)])

    def agreement(prepare=asked):
        found = OMVFS(4, batch_size=size, sample_size=300, prepare=prepare, random_state=0)
        return normalized_mutual_info_score(labels, found.fit(kind(X)).labels_)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", SuspectColumnWarning)
        as_it_is = agreement()
    harms = make is not chance and name in ("row number", "noise", "signal")
    if asked == "auto":  # which brings most to one scale
        harms = make is words and name in ("noise", "signal")
        assert harms or make is chance or as_it_is > 0.9
    if not harms:
        assert not told
        return
    ((suspect,),) = [each.message.suspects for each in told]
    assert suspect.column == X.shape[1] - 1
    assert as_it_is < 0.9
    # Nobody is warned of what was advised.
    mended = agreement(list(suspect.prepare))
    assert mended > max(0.9, as_it_is)


def test_a_stream_is_warned_of_in_its_first_chunk_only():
    X = big(frame(90))
    fitted = model()
    with pytest.warns(SuspectColumnWarning):
        fitted.partial_fit(X[:30])
    fitted.partial_fit(X[30:60])
    fitted.predict(X), fitted.transform(X), fitted.ranking_
    with pytest.warns(SuspectColumnWarning):
        fitted.fit(X)


def test_a_warning_that_is_an_error_leaves_the_model_as_it_was():
    X = big(frame())
    fresh = model(random_state=np.random.RandomState(0))
    for learn in (fresh.fit, fresh.partial_fit):
        with pytest.raises(SuspectColumnWarning):
            learn(X)
        assert not hasattr(fresh, "schema_")
    expected = model(random_state=np.random.RandomState(0)).fit(frame())
    np.testing.assert_array_equal(fresh.fit(frame()).scores_, expected.scores_)


def test_more_clusters_than_rows_are_refused_where_no_more_rows_come(tmp_path, capsys):
    X = frame(5)
    fitted = model(n_clusters=2).fit(X)
    before = fitted.to_bytes()
    fitted.set_params(n_clusters=6)
    for call in (fitted.fit, fitted.fit_predict, fitted.fit_transform):
        with pytest.raises(ValueError, match=r"n_clusters=6 for 5 rows; .* Pass n_clusters=5 \(-k"):
            call(X)
    assert fitted.set_params(n_clusters=2).to_bytes() == before
    # Of a stream, and of parts that are merged, more rows may come.
    parts = [model(n_clusters=6).partial_fit(X[:3] + i) for i in range(2)]
    assert merge(parts).n_clusters_ <= 6
    X.to_csv(tmp_path / "few.csv", index=False)
    assert run_app(["select", str(tmp_path / "few.csv"), "-k", "6", "-o", str(tmp_path / "o")]) == 3
    assert "n_clusters=6 for 5 rows" in capsys.readouterr().err
    assert not (tmp_path / "o" / "ranking.csv").exists()


def sorted_rows(n=600):
    X, labels = clustered(np.random.default_rng(0), n, 12)
    return pd.DataFrame(X, columns=list("abcdefghijkl")), np.argsort(labels, kind="stable")


def test_a_file_that_is_sorted_by_its_clusters_is_told(tmp_path, capsys):
    X, order = sorted_rows()
    out, said = tmp_path / "out", "% of the last rows would have to be in other clusters"
    for rows, told in ((X, False), (X.iloc[order], True), (X.iloc[order[:50]], False)):
        path = tmp_path / "rows.csv"
        rows.to_csv(path, index=False)
        assert run_app(["select", str(path), "-k", "3", "--overwrite", "-o", str(out)]) == 0
        assert (said in capsys.readouterr().out) == told
        page = OMVFS.load(out / "model.omvfs").report().html()
        assert (said in page) == told
    # Who asks for changes, or forgets, knows that rows have an order.
    options = ["-k", "3", "--overwrite", "--detect-drift", "-o", str(out)]
    X.iloc[order].to_csv(path, index=False)
    assert run_app(["select", str(path), *options]) == 0
    assert said not in capsys.readouterr().out
