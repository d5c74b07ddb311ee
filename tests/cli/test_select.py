"""The command line as a user meets it: another process, its exit code, its two outputs."""

import csv
import io
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from omvfs.cli.output import Bar
from omvfs.datasets import load_folder
from omvfs.pipeline import Status
from streams import two_views
from support import clustered, write_words


@pytest.fixture
def folder(tmp_path):
    path = write_words(tmp_path / "data", 300)
    told = two_views(1, 300, widths=(20, 8))
    sp.save_npz(path / "view_0_text.npz", sp.csr_array(told["text"]))
    np.save(path / "view_1_image.npy", told["image"])
    return path


def test_select_writes_the_ranking_of_a_fit(folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert run_app(["select", str(folder), "-k", "3", "-n", "5", "-o", str(out)]) == 0
    said = capsys.readouterr()
    verdict = str(OMVFS.load(out / "model.omvfs").verdict())
    *_, steps, where = said.out.removesuffix(verdict + "\n").splitlines()
    assert where == f"All features by rank, and why: {out / 'ranking.csv'}"
    expected = (
        r"5 features per view predict .* by \.\d\d; \d+ reach \.\d\d, and more gain little\.$"
    )
    assert re.search(expected, verdict)
    assert steps == "Steps before learning: text: none; image: none (--prepare sets others)."
    assert said.err == ""
    text = sp.load_npz(folder / "view_0_text.npz")
    views = {"text": text, "image": np.load(folder / "view_1_image.npy")}
    expected = OMVFS(3, n_features_per_view=5, random_state=0).fit(views)
    rows = list(csv.DictReader((out / "ranking.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 28
    for view, ranking in expected.view_ranking_.items():
        own = {int(row["feature"]): int(row["rank"]) for row in rows if row["view"] == view}
        assert [own[j] for j in range(len(ranking))] == list(ranking)
    chosen = json.loads((out / "ranking.json").read_text(encoding="utf-8"))["selected"]
    assert len(chosen["text"]) == len(chosen["image"]) == 5
    assert all(name.startswith("wörd") for name in chosen["text"])
    noted = json.loads((out / "ranking.json").read_text(encoding="utf-8"))["features"]
    assert len(noted) == len(rows)
    named = OMVFS.load(out / "model.omvfs").to_frame()
    for place, (row, same) in enumerate(zip(rows, noted, strict=True)):
        number = int(row["feature"])
        why = expected.explain(row["view"], number)
        name = str(number) if row["view"] == "image" else f"wörd {number}"
        told = why.repeats is not None and why.r**2 >= 0.5
        repeats = str(why.repeats) if row["view"] == "image" else f"wörd {why.repeats}"
        assert same == {
            "name": name,
            "view": why.view,
            "rank": why.rank,
            "score": why.score,
            "selected": why.selected,
            "feature": number,
            "explained": why.explained,
            "separation": why.explained * why.spread,
            "share_of_rows": why.share_of_rows,
            "cluster": why.cluster,
            "repeats": repeats if told else None,
            "why": named.why.iloc[place],
        }
        assert row == {key: "" if each is None else str(each) for key, each in same.items()}
    about = json.loads((out / "run.json").read_text())
    assert about["parameters"]["n_clusters"] == 3
    assert about["rows"] == 300
    assert OMVFS.load(out / "model.omvfs").n_samples_seen_ == 300


def test_the_data_can_tell_how_many_features_are_enough(folder, tmp_path, capsys):
    out = tmp_path / "out"
    config = tmp_path / "run.toml"
    config.write_text('features = "auto"\n')
    said = []
    for given in (["-n", "auto"], ["--config", str(config)]):
        where = ["-o", str(out), "--overwrite"]
        assert run_app(["select", str(folder), "-k", "3", *given, *where]) == 0
        said.append(capsys.readouterr().out)
        selected = json.loads((out / "ranking.json").read_text(encoding="utf-8"))["selected"]
        n = OMVFS.load(out / "model.omvfs").suggest_n_features()
        assert [len(names) for names in selected.values()] == [n, min(n, 8)]
    assert said[0] == said[1]
    assert f"\n{n} features per view predict " in said[0]
    target = tmp_path / "selected"
    where = [str(out / "model.omvfs"), str(folder), "-o", str(target)]
    assert run_app(["transform", *where, "-n", "auto"]) == 0
    views, _ = load_folder(target)
    assert list(views.widths.values()) == [n, min(n, 8)]


def test_info_tells_what_is_there(folder, capsys):
    np.save(folder / "view_1_image.npy", -np.eye(300, 8))
    assert run_app(["info", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "300 rows" in said
    assert "sparse" in said
    assert "dense" in said
    # Values of any sign are counted, and nothing is wrong with them.
    assert "\tdense\t0\t0.33%\t8\t" in said
    assert "negative values" not in said
    assert "View 'image' has 292 empty rows" in said


def test_a_column_that_outweighs_others_is_told_with_the_option_that_mends_it(tmp_path, capsys):
    X, _ = clustered(np.random.default_rng(0), 60, 12)
    X[:, 5] = 100 * np.random.default_rng(1).random(60)
    for own, view in (("", "rows"), ("text__", "text")):
        rows = str(tmp_path / f"{view}.csv".replace("text", "views"))
        header = ",".join(f"{own}w{j}" for j in range(12))
        np.savetxt(rows, X, delimiter=",", header=header, comments="")
        options = ["-k", "3", "--overwrite", "-o", str(tmp_path / "out")]
        assert run_app(["select", rows, *options, "--prepare", "none"]) == 0
        told = "".join(capsys.readouterr())
        assert "Column 'w5' holds 99" in told
        assert f"of view '{view}'" in told
        assert f"(--prepare {view}:standardize)." in told
        # Nobody is warned of what is scaled in any case.
        for command in (["info", rows], ["select", rows, *options]):
            assert run_app(command) == 0
            told = "".join(capsys.readouterr())
            assert "Column 'w5' holds" not in told
            assert f"Steps before learning: {view}: standardize (--prepare sets others)." in told
        assert run_app(["select", rows, *options, "--prepare", f"{view}:standardize"]) == 0
        assert capsys.readouterr().err == ""


def test_a_file_of_options_is_as_good_as_typing_them(folder, tmp_path, capsys):
    typed, kept = tmp_path / "typed", tmp_path / "kept"
    options = ["-k", "3", "-n", "5", "--batch-size", "50", "--prepare", "text:tfidf"]
    options += ["--prepare", "l2"]
    assert run_app(["select", str(folder), *options, "-o", str(typed)]) == 0
    (tmp_path / "run.toml").write_text(
        f"inputs = ['{folder}']\nfeatures = 7\nbatch-size = 50\nprepare = ['text:tfidf', 'l2']\n"
        f"out = '{kept}'\n[parameters]\nn_clusters = 4\nsample_size = 2000\n"
    )
    # What is typed wins over what the file has, under either name.
    given = ["select", "--config", str(tmp_path / "run.toml"), "-n", "5", "-k", "3"]
    assert run_app(given) == 0
    assert (typed / "ranking.csv").read_text() == (kept / "ranking.csv").read_text()
    about = json.loads((kept / "run.json").read_text())
    assert about["parameters"]["prepare"] == ["text:tfidf", "l2"]
    assert about["parameters"]["sample_size"] == 2000


def test_a_terminal_sees_rows_and_memory(monkeypatch):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=120)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    with Bar(5) as bar:
        bar(Status(3, 3, 5, 1.0, False))
    assert "3 rows, 3 a second" in shown.getvalue()
    assert " MB" in shown.getvalue()


def test_selected_data_is_written_and_transform_writes_the_same(folder, tmp_path):
    out, again = tmp_path / "out", tmp_path / "again"
    options = ["-k", "3", "-n", "5", "-o", str(out), "--write-data"]
    assert run_app(["select", str(folder), *options]) == 0
    assert run_app(["transform", str(out / "model.omvfs"), str(folder), "-o", str(again)]) == 0
    chosen = json.loads((out / "ranking.json").read_text(encoding="utf-8"))["features"]
    for written in (out / "data", again):
        views, _ = load_folder(written)
        text = sp.load_npz(folder / "view_0_text.npz").tocsc()
        columns = sorted(f["feature"] for f in chosen if f["view"] == "text" and f["selected"])
        np.testing.assert_array_equal(views["text"].toarray(), text[:, columns].toarray())
        assert list(views.feature_names["text"]) == [f"wörd {j}" for j in columns]
        assert views["image"].shape == (300, 5)
    assert run_app(["transform", str(out / "model.omvfs"), str(folder), "-o", str(again)]) == 4


def test_the_rows_tell_how_many_clusters_there_are(tmp_path, capsys):
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=300)
    own = np.arange(24) % 4 == labels[:, np.newaxis]
    np.save(tmp_path / "rows.npy", rng.random((300, 24)) * (0.05 + own))
    out = tmp_path / "out"
    asked = ["select", str(tmp_path / "rows.npy"), "-k", "auto", "-n", "5", "-o", str(out)]
    assert run_app(asked) == 0
    n = OMVFS.load(out / "model.omvfs").n_clusters_
    assert f"300 rows in {n} clusters, as the rows tell." in capsys.readouterr().out
    assert json.loads((out / "ranking.json").read_text(encoding="utf-8"))["n_clusters"] == n
    about = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert (about["n_clusters"], about["parameters"]["n_clusters"]) == (n, "auto")
    assert run_app([*asked, "--overwrite", "-k", "some"]) == 2
    assert "expected a whole number of at least 1, or 'auto'" in capsys.readouterr().err
