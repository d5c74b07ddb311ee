"""Errors name options at the command line, and parameters in Python: never the other's."""

import ast
import inspect
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.io
import scipy.sparse as sp
from pyarrow import parquet

import omvfs
from omvfs import OMVFS
from omvfs.cli.commands import run_app
from omvfs.formats import SourceError, files, open_source
from omvfs.pipeline import run
from support import counts

SOURCE = Path(omvfs.__file__).parent
# All that can be set in Python. Those that are words of every day are told by what follows them.
NAMES = {
    name
    for each in (OMVFS, open_source, run)
    for name in inspect.signature(each).parameters
    if name not in ("inputs", "source", "selector")
}
LONG = sorted(name for name in NAMES if "_" in name)
PYTHON = re.compile(
    rf"\b(?:{'|'.join(sorted(NAMES))})(?:\[.*?\])?=(?!FILE)"
    rf"|(?<=[ '])(?:{'|'.join(LONG)})\b(?! =)(?!\.\w+ =)"
    r"|\w\(\)|\[\.\.\.\]|RandomState|None for"
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Be in a folder of rows of all kinds, and of a run over some of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = counts(rng, 120, 8)
    np.save("x.npy", X)
    np.save("negative.npy", X - 1)
    np.save("more.npy", counts(rng, 120, 9))
    np.save("few.npy", X[:20])
    np.save("other.npy", X[::-1])
    sp.save_npz("sparse.npz", sp.csr_array(X - (X > 0) * 2.0))
    np.save("late.npy", np.r_[X, [[*X[0, :7], -1.0]]])
    columns = {"a": X[:, 0], "class": pa.array(["cat", "dog"] * 60)}
    parquet.write_table(pa.table(columns), "text.parquet")
    columns = {"b": X[:, 0], "class": pa.array(["dog", "cat"] * 60)}
    parquet.write_table(pa.table(columns), "same.parquet")
    Path("raw.jsonl").write_text(json.dumps({"text": "A cat."}) + "\n")
    parquet.write_table(pa.table({"v__a": X[:, 0], "id": np.arange(120)}), "mixed.parquet")
    Path("odd.jsonl").write_text(json.dumps({"text": ["a"], "label": True}) + "\n")
    scipy.io.savemat("uneven.mat", {"a": np.eye(5), "b": np.eye(4)})
    scipy.io.savemat("vectors.mat", {"a": np.ones((5, 1))})
    np.save("narrow.npy", np.zeros((5, 0)))
    assert run_app(["select", "x.npy", "-k", "3", "-o", "done"]) == 0


CASES = {
    "select x.npy -k 0": "Got --clusters 0; expected a whole number of at least 1, or",
    "select x.npy -n 0": "Got --features 0; expected a whole number of at least 1, a share",
    "select x.npy -n 1.5": "Got --features 1.5; expected",
    "select x.npy -n x=0": "Got --features x=0; expected",
    "select x.npy -n y=3": "Got --features for views 'y'; expected one for each of 'x', or one",
    "select x.npy -n many": "Got 'many'; expected a whole number of at least 1, a share",
    "select x.npy --batch-size 0": "Got --batch-size 0; expected",
    "select x.npy --negative foo": "Got --negative foo; expected 'error', 'clip', 'shift'.",
    "select x.npy --recency -1": "Got --recency -1.0; expected",
    "select x.npy --seed -1": "Got --seed -1; expected a whole number from 0 to 2**32 - 1.",
    "select x.npy -k 31 -n auto": "or give a number of features, as in --features 100.",
    "select negative.npy": "Pass --negative clip to set them to 0, or --negative shift",
    "select late.npy --batch-size 20": "begins at row 120: Negative values in data: view 'late' "
    "holds -1 at row 0, column 7; expected values >= 0. Pass --negative clip",
    "select sparse.npz --negative shift": "dense from the start, or pass --negative clip.",
    "select text.parquet": "Leave it out: --drop NAME; or carry it along: --keep NAME; or name it "
    "as the key: --key NAME.",
    "select mixed.parquet": "out by their names: --drop NAME; or carry them along: --keep NAME; or "
    "name the key of the rows: --key",
    "info odd.jsonl": "Leave it out: --drop NAME; or carry it along: --keep NAME.",
    "info raw.jsonl": "Take it for its words: --tokenize VIEW; or carry it along: --keep NAME; or "
    "leave it out: --drop NAME.",
    "select raw.jsonl --tokenize text --tokenize words": "'words' to take for texts; the views are "
    "'text'. Correct the names given by --tokenize VIEW.",
    "select text.parquet --keep class --keep id": "'id' to keep; expected columns of tables or "
    "values of JSON Lines. Correct the names given by --keep NAME.",
    "convert l=text.parquet r=same.parquet --keep class -o x.csv": "Column 'class' is 'cat' in l "
    "and 'dog' in r of the same row: these are not the same rows. Align them by a key: --key NAME.",
    "info mixed.parquet --key id --join left": "Got --join left; expected",
    "info x.npy --layer raw": "No input has a layer 'raw': only .h5ad and .h5mu have layers.",
    "info uneven.mat": "a 5, b 4. Leave others out: --drop NAME.",
    "info vectors.mat": "with more than one row and column; it has 'a'.",
    "info narrow.npy": "has no columns. Leave it out: --view NAME for every other.",
    "info text.parquet --drop class --drop other": "Correct the names given by --drop NAME.",
    "select x.npy -k 4 -o done --resume": "--clusters 3, now 4. Go on with those, or begin anew "
    "with --overwrite.",
    "select x.npy -k 3 -o done --resume --prepare l2 --seed 2": "--prepare none, now ['l2'], "
    "--seed 0, now 2",
    "select x=few.npy -k 3 -o done --resume": "the same input, or begin anew with --overwrite.",
    "select x=other.npy -k 3 -o done --resume": "or begin anew with --overwrite; or keep the "
    "results elsewhere: -o.",
    "select x=more.npy -k 3 -o done --resume": "the same, or begin anew with --overwrite.",
    "transform done/model.omvfs x=more.npy -o new": "View 'x' has 9 features; the rows learned "
    "from had 8. Give all rows the same features.",
    "transform done/model.omvfs more.npy -o new": "Give all rows the same views by the same names.",
    "transform done/model.omvfs x.npy -o new -n y=3": "Got --features for views 'y'; expected one",
    "transform done/model.omvfs x.npy -o new -n 0": "Got --features 0; expected",
}
TABLES = {
    "window = 0": "Got window = 0 in [parameters]; expected a whole number",
    "sparsity = {x = -1}": "Got sparsity.x = -1 in [parameters]; expected",
    "sparsity = {y = 1}": "Got sparsity for views 'y'",
    "n_features_per_view = {x = 0}": "Got --features x=0; expected",
    "criterion = 'best'": "Got criterion = \"best\" in [parameters]; expected 'separation'",
    "sample_size = 10\nn_features_per_view = 'auto'": "Got --features auto with sample_size = 10 "
    "in [parameters]; expected a number, or a sample of",
}


@pytest.mark.usefixtures("place")
def test_what_is_wrong_is_told_in_options(capsys):
    cases = [(line.split(), sentence) for line, sentence in CASES.items()]
    for number, (table, sentence) in enumerate(TABLES.items()):
        Path(f"{number}.toml").write_text(f"[parameters]\n{table}\n")
        cases.append((["select", "x.npy", "--config", f"{number}.toml"], sentence))
    for given, sentence in cases:
        capsys.readouterr()
        assert run_app(given) in (2, 3), given
        said = " ".join(capsys.readouterr().err.split())
        assert sentence in said, given
        assert not PYTHON.search(said), given
        # What was learned is kept, and that is said; nothing else is but how the run went.
        left = sorted(str(path) for path in Path().glob("*/*") if path.parent.name != "done")
        kept = ["out/model.omvfs"] if "go on with --resume" in said else []
        assert left == kept, given
        assert Path("out").exists() is bool(left), given
        shutil.rmtree("out", ignore_errors=True)


@pytest.mark.usefixtures("place")
def test_a_chunk_that_is_too_large_names_the_option(monkeypatch, capsys):
    monkeypatch.setattr(files, "MAX_CHUNK_BYTES", 100)
    assert run_app(["select", "x.npy", "-o", "new"]) == 3
    assert "Choose a smaller batch_size (--batch-size)." in capsys.readouterr().err


@pytest.mark.usefixtures("place")
def test_python_is_told_in_python():
    for name in ("text.parquet", "mixed.parquet", "odd.jsonl", "narrow.npy", "uneven.mat"):
        with pytest.raises(SourceError, match=r"(drop|views|variables)=\[") as caught:
            open_source(name)
        assert "--" not in str(caught.value)
    with pytest.raises(ValueError, match=r"Pass negative='clip' to .*negative='shift'"):
        OMVFS(2).fit(-np.eye(3))


# What no command does: one X that is split or cut, views made by hand, a criterion of one's own.
NOT_OF_COMMANDS = {
    *("data/split.py", "data/views.py", "data/read.py", "data/blocks.py"),
    *("persistence/params.py", "selectors/clustering.py"),
    *("persistence/pack.py", "selectors/explaining.py"),
}
ROOMS = "data", "formats", "persistence", "pipeline", "selectors"


def sayings(module):
    """Yield the texts of a module that are neither documentation nor words for Python only."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    hidden = set()
    for node in ast.walk(tree):
        only = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Setting", "Clause")
        if only or isinstance(node, ast.Expr):
            hidden |= {id(each) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in hidden
        ):
            yield node.value


def test_no_error_of_the_library_is_for_one_place_only():
    """What names a parameter is a Setting or a Clause, so that the command line can say it."""
    for room in ROOMS:
        for module in (SOURCE / room).glob("*.py"):
            name = module.relative_to(SOURCE).as_posix()
            for text in sayings(module):
                assert not re.search(r"(?<!\w)--[a-z]", text), (name, text)
                # How a file could have been written is for who wrote it, in Python.
                if name not in NOT_OF_COMMANDS and " " in text.strip() and "adata." not in text:
                    assert not PYTHON.search(text), (name, text)
