"""Errors name the option to change, in one sentence, and leave nothing behind."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.io
from pyarrow import parquet

from omvfs.cli.commands import run_app
from omvfs.formats import files
from support import counts


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Be in a folder of rows of all kinds, and of a run over some of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = counts(rng, 120, 8)
    np.save("x.npy", X)
    np.save("more.npy", counts(rng, 120, 9))
    np.save("few.npy", X[:20])
    np.save("late.npy", np.r_[X, [[*X[0, :7], np.nan]]])
    for name, first in (("text", "cat"), ("same", "dog")):
        classes = pa.array([first, {"cat": "dog", "dog": "cat"}[first]] * 60)
        parquet.write_table(pa.table({name[0]: X[:, 0], "class": classes}), f"{name}.parquet")
    Path("raw.jsonl").write_text(json.dumps({"text": "A cat."}) + "\n")
    parquet.write_table(pa.table({"v__a": X[:, 0], "id": np.arange(120)}), "mixed.parquet")
    Path("odd.jsonl").write_text(json.dumps({"text": ["a"], "label": True}) + "\n")
    scipy.io.savemat("uneven.mat", {"a": np.eye(5), "b": np.eye(4)})
    np.save("narrow.npy", np.zeros((5, 0)))
    Path("wide.csv").write_text("a,b_c\n1,2\n2,4\n")
    Path("words.txt").write_text("cat\n")
    Path("folder").mkdir()
    np.save("folder/view_0_x.npy", X)
    for name, content in TABLES.items():
        Path(f"{name}.toml").write_text(f"{content}\n")
    assert run_app(["select", "x.npy", "-k", "3", "-o", "done"]) == 0


TABLES = {
    "window": "[parameters]\nwindow = 3",
    "neighbors": "[parameters]\nsample_size = 0",
    "criterion": "[parameters]\ncriterion = 'best'",
    "sample": "[parameters]\nsample_size = 10",
    "unknown": "[parameters]\nn_neighbours = 3",
    "option": "cluster = 3",
    "broken": "clusters = ",
    "deep": "x = " + "[" * 5000 + "]" * 5000,
}
# What is wrong, and what is to be read of it.
CASES = {
    "select x.npy -k 0": "'--clusters': Got n_clusters=0; expected a whole number of at least 1",
    "select x.npy -n 0": "'--features': Got n_features_per_view=0; expected a whole number",
    "select x.npy -n many": "'--features': Got n_features_per_view='many'; expected a whole number",
    "select x.npy -n y=3": "views 'y'; expected one for each of 'x'",
    "select x.npy --batch-size 0": "'--batch-size': Got batch_size=0",
    "select x.npy --checkpoint-every 0": "'--checkpoint-every'",
    "select x.npy --prepare foo": "'--prepare': Got p",
    "select x.npy --half-life 0": "'--half-life': Got half_life=0.0",
    "select x.npy --seed -1": "'--seed': Got random_state=-1",
    "select x.npy --config window.toml": "There is no parameter window any more. Rows are kept",
    "select x.npy --config neighbors.toml": "Got sample_size=0; expected a whole number",
    "select x.npy --config criterion.toml": "Got criterion='best'; expected 'separation'",
    "select x.npy -n auto --config sample.toml": "Got 10 rows to judge a selection by",
    "select x.npy --config unknown.toml": "'n_neighbours'; expected",
    "select x.npy --config option.toml": "has 'cluster'; expected",
    "select x.npy --config broken.toml": "is no TOML",
    "select x.npy --config deep.toml": "is nested too deeply",
    "select x.npy --config none.toml": "none.toml cannot be read",
    "select x.npy -n x=1,x=2": "Got 'x=1,x=2'; expected a number for each view, once.",
    "select x.npy -n x=": "n_features_per_view['x']=''; expected",
    "select x.npy -n 2 --total 3": "-n is of each view, --total of all",
    "select - --write-data": "which standard input cannot",
    "select text=- --write-data": "which standard input cannot",
    "info folder --key id": "--key is for files",
    "select raw.jsonl --tokenize text --vocabulary words.txt": "expected VIEW=FILE",
    "select raw.jsonl --tokenize text --vocabulary text=no.txt": "no.txt cannot be read",
    "select raw.jsonl --tokenize text --vocabulary txt=words.txt": "Got words of 'txt'",
    "convert text.parquet --keep class -o x.npz": "has no place for 'class'",
    "select late.npy --batch-size 20": "begins at row 120: Input X contains NaN: view 'late'",
    "select mixed.parquet": "--keep",
    "info odd.jsonl": "--column",
    "info raw.jsonl": "--column",
    "select raw.jsonl --tokenize text --tokenize words": "'words'",
    "convert l=text.parquet r=same.parquet --keep class -o x.csv": "--key",
    "info mixed.parquet --key id --join left": "left",
    "info x.npy --layer raw": "No input has a layer 'raw': only .h5ad and .h5mu have layers.",
    "info uneven.mat": "a 5, b 4.",
    "info x.npy --views prefix:_": "No input has columns to split by views='prefix:_'",
    "info folder --views prefix:_": "No input has columns to split by views='prefix:_'",
    "info wide.csv --views suffix": "Got views='suffix'; expected 'prefix', 'prefix:_'",
    "info wide.csv --views prefix:_": "has columns called 'view_feature' and others: 'a'. Leave",
    "info wide.csv --views prefix:_:2": "has no columns called 'view_part_feature', but",
    "info wide.csv --drop z*": "No input has 'z*' to leave out",
    "list done/model.omvfs --at-least 2": "--at-least: Got 2; expected at most 1",
    "info narrow.npy": "has no columns.",
    "info text.parquet --drop class --drop other": "'other'",
    "select x.npy -k 4 -o done --resume": "n_clusters=3",
    "select x=few.npy -k 3 -o done --resume": "--resume",
    "select x=more.npy -k 3 -o done --resume": "--resume",
    "transform done/model.omvfs x=more.npy -o new": "View 'x' has 9 features",
    "transform done/model.omvfs x.npy -o new -n 0": "'--features': Got n_features_per_view=0",
}


@pytest.mark.usefixtures("place")
def test_what_is_wrong_is_told_in_a_sentence_that_says_what_to_change(capsys):
    for line, sentence in CASES.items():
        capsys.readouterr()
        assert run_app(line.split()) in (2, 3), line
        said = " ".join(capsys.readouterr().err.split())
        assert sentence in said, line
        assert "Traceback" not in said, line
        # What was learned is kept, and that is said; nothing else is but how the run went.
        left = sorted(str(path) for path in Path().glob("[!df]*/*"))
        assert left == (["out/model.omvfs"] if "go on with --resume" in said else []), line
        assert Path("out").exists() is bool(left), line
        shutil.rmtree("out", ignore_errors=True)


@pytest.mark.usefixtures("place")
def test_a_chunk_that_is_too_large_names_the_option(monkeypatch, capsys):
    monkeypatch.setattr(files, "MAX_CHUNK_BYTES", 100)
    assert run_app(["select", "x.npy", "-o", "new"]) == 3
    assert "Choose a smaller batch_size (--batch-size)." in capsys.readouterr().err
