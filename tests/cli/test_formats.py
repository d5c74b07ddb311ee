"""Every kind of data that docs/data.md promises, through the commands that it shows."""

import csv
import gzip
import json
import os
import re
import shlex
import sys
from functools import partial
from pathlib import Path

import fsspec
import h5py
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet
from scipy.io import savemat

from omvfs import OMVFS
from omvfs.cli import commands
from omvfs.cli.commands import run_app
from omvfs.formats import open_source
from reliability.files import write_matlab_7
from support import counts, dense, reads_of_blocks
from web import serving

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
TEXT, IMAGE = counts(np.random.default_rng(0), 60, 9), counts(np.random.default_rng(1), 60, 4)


def table():
    columns = {f"text__{j}": TEXT[:, j] for j in range(9)}
    return pa.table(columns | {f"image__{j}": IMAGE[:, j] for j in range(4)})


def json_text():
    features = [{str(j): x for j, x in enumerate(row)} for row in TEXT.tolist()]
    rows = zip(features, IMAGE.tolist(), strict=True)
    return "\n".join(json.dumps({"text": text, "image": image}) for text, image in rows)


def svm_text():
    rows = ([f"{j + 1}:{x!r}" for j, x in enumerate(row) if x] for row in TEXT.tolist())
    return "\n".join(" ".join(["0", *row]) for row in rows)


def stored(name, write, path, *options):
    """Write a file of both views, and return how it is given."""
    write(path / name)
    return [str(path / name), *options]


def beside_image(name, write, path):
    """Write a file of the texts and another of the images, and return how they are given."""
    write(path / name)
    np.save(path / "image.npy", IMAGE)
    return [f"text={path / name}", str(path / "image.npy")]


def folder(path, text=None):
    text = SPARSE if text is None else text
    if sp.issparse(text):
        sp.save_npz(path / "view_0_text.npz", text)
    else:
        np.save(path / "view_0_text.npy", text)
    np.save(path / "view_1_image.npy", IMAGE)
    return [str(path)]


def named_files(path):
    sp.save_npz(path / "words.npz", sp.csr_array(TEXT))
    np.save(path / "pixels.npy", IMAGE)
    return [f"text={path / 'words.npz'}", f"image={path / 'pixels.npy'}"]


def long_table():
    entries = sp.coo_array(TEXT)
    return pa.table({"row": entries.row, "feature": entries.col, "value": entries.data})


def matlab(path):
    savemat(path, {"text": sp.csc_array(TEXT), "image": IMAGE, "y": np.ones((60, 1))})


def from_afar(path):
    (file,) = FORMATS["rows.parquet"](path)
    fsspec.filesystem("memory").put_file(file, "/bucket/rows.parquet")
    return ["memory://bucket/rows.parquet"]


WEB = {}


@pytest.fixture(scope="module", autouse=True)
def web():
    """Have a web server for as long as the tests of this file run."""
    with serving() as server:
        WEB["server"] = server
        yield server


def from_the_web(path):
    (file,) = FORMATS["rows.parquet"](path)
    WEB["server"].files["rows.parquet"] = Path(file).read_bytes()
    return [WEB["server"].url("rows.parquet")]


def in_parts(path):
    (path / "parts").mkdir()
    for number, (a, b) in {9: (0, 25), 10: (25, 60)}.items():
        parquet.write_table(table().slice(a, b - a), path / f"parts/part-{number}.parquet")
    return [f"{path}/parts/part-*.parquet"]


def by_key(path):
    ids = pa.array([f"{i:02d}" for i in range(60)])
    for view, X in (("text", TEXT), ("image", IMAGE)):
        columns = {"id": ids} | {f"{view}__{j}": X[:, j] for j in range(X.shape[1])}
        parquet.write_table(pa.table(columns), path / f"{view}.parquet")
    return [str(path / "text.parquet"), str(path / "image.parquet"), "--key", "id"]


def annotated(groups, path):
    """Write an .h5ad of one matrix, or an .h5mu of several, as plain as can be."""
    with h5py.File(path, "w") as file:
        for group, X in groups.items():
            if not sp.issparse(X):
                file[f"{group}X"] = X
                continue
            text = file.create_group(f"{group}X")
            text.attrs["encoding-type"], text.attrs["shape"] = "csr_matrix", X.shape
            for part in ("data", "indices", "indptr"):
                text[part] = getattr(X, part)
        if "mod" in file:
            file["mod"].attrs["mod-order"] = ["text", "image"]


def zstd(path):
    with pa.CompressedOutputStream(pa.OSFile(str(path), "w"), "zstd") as file:
        file.write(json_text().encode())


def packed(text):
    return lambda path: path.write_bytes(gzip.compress(text().encode()))


def csv_text():
    arrow_csv.write_csv(table(), file := pa.BufferOutputStream())
    return file.getvalue().to_pybytes().decode()


LABELS = pa.array(["cat", "dog"] * 30)
SPARSE = sp.csr_array(TEXT)
FORMATS = {
    "view_0_text.npz": folder,
    "words.npz": named_files,
    "rows.parquet": partial(stored, "rows.parquet", lambda p: parquet.write_table(table(), p)),
    "rows.feather": partial(
        stored, "rows.feather", lambda p: feather.write_feather(table(), str(p))
    ),
    "rows.csv": partial(stored, "rows.csv", lambda p: p.write_text(csv_text())),
    "rows.tsv": partial(stored, "rows.tsv", lambda p: p.write_text(csv_text().replace(",", "\t"))),
    "rows.csv.gz": partial(stored, "rows.csv.gz", packed(csv_text)),
    "long.parquet": partial(
        beside_image, "long.parquet", lambda p: parquet.write_table(long_table(), p)
    ),
    "long.csv": partial(beside_image, "long.csv", lambda p: arrow_csv.write_csv(long_table(), p)),
    "rows.mat": partial(stored, "rows.mat", matlab),
    "rows73.mat": partial(stored, "rows73.mat", lambda p: write_matlab_7(p, TEXT, IMAGE)),
    "https://host/rows.parquet": from_the_web,
    "s3://bucket/rows.parquet": from_afar,
    "parts/part-*.parquet": in_parts,
    "text.parquet": by_key,
    "labelled.parquet": lambda path: stored(
        "labelled.parquet",
        lambda p: parquet.write_table(table().append_column("class", LABELS), p),
        path,
        *("--drop", "class"),
    ),
    "rows.h5ad": partial(beside_image, "rows.h5ad", partial(annotated, {"": SPARSE})),
    "rows.h5mu": partial(
        stored, "rows.h5mu", partial(annotated, {"mod/text/": SPARSE, "mod/image/": IMAGE})
    ),
    "rows.jsonl": partial(stored, "rows.jsonl", lambda p: p.write_text(json_text())),
    "rows.jsonl.gz": partial(stored, "rows.jsonl.gz", packed(json_text)),
    "rows.jsonl.zst": partial(stored, "rows.jsonl.zst", zstd),
    "words.svm": partial(beside_image, "words.svm", lambda p: p.write_text(svm_text())),
    "words.svm.gz": partial(beside_image, "words.svm.gz", packed(svm_text)),
}
# A table of a column a feature is dense, and sums of dense rows round in another order.
TABLES = {
    name
    for name in FORMATS
    if name.endswith(("parquet", "feather", "rows.csv", "rows.tsv", "csv.gz"))
}
TABLES -= {"long.parquet"}
OPTIONS = ["-k", "3", "-n", "4", "--batch-size", "25", "--prepare", "l2", "--write-data"]


def ranking(out):
    rows = csv.DictReader((out / "ranking.csv").read_text(encoding="utf-8").splitlines())
    return sorted((row["view"], row["feature"], row["rank"], row["score"]) for row in rows)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The results of the same rows in a folder of arrays, by whether they are a table."""
    found = {}
    for is_table, text in ((False, SPARSE), (True, TEXT)):
        path = tmp_path_factory.mktemp("expected")
        assert run_app(["select", *folder(path, text), *OPTIONS, "-o", str(path / "out")]) == 0
        found[is_table] = path / "out"
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_ranking_and_is_written_as_it_came(name, expected, tmp_path):
    given, out = FORMATS[name](tmp_path), tmp_path / "out"
    assert run_app(["info", *given]) == 0
    assert run_app(["select", *given, *OPTIONS, "-o", str(out)]) == 0
    assert ranking(out) == ranking(expected[name in TABLES])
    key = given[given.index("--key") + 1] if "--key" in given else None
    truth = str(expected[name in TABLES] / "data")
    with open_source(*written(out / "data", given), key=key) as got, open_source(truth) as right:
        got, right = (next(each.chunks(100)).views for each in (got, right))
    for view in ("text", "image"):
        names = got.feature_names[view]
        columns = np.arange(4) if names is None else np.argsort([int(n) for n in names])
        np.testing.assert_array_equal(dense(got[view])[:, columns], dense(right[view]))


def written(data, given):
    """Return the inputs as they would be given, had they been where the results are."""
    if len(given) == 1 and Path(given[0]).is_dir():
        return [str(data)]
    files = [each.replace("parts/part-*", "rows") for each in given if "." in each]
    assert sorted(Path(each).name for each in files) == sorted(os.listdir(data))
    parts = (each.rpartition("=") for each in files)
    return [f"{view}{sign}{data / Path(file).name}" for view, sign, file in parts]


# One of each way of going on: arrays, row groups, lines, keys, parts, the web.
RESUMED = [
    *("view_0_text.npz", "rows.csv", "rows.jsonl.gz", "text.parquet", "rows.h5mu"),
    *("parts/part-*.parquet", "https://host/rows.parquet"),
]


@pytest.mark.parametrize("name", RESUMED)
def test_a_stopped_run_goes_on_where_it_was_and_reads_every_block_once(name, tmp_path, monkeypatch):
    given, whole, out = FORMATS[name](tmp_path), tmp_path / "whole", tmp_path / "out"
    options = ["-k", "3", "--batch-size", "7", "--prepare", "tfidf", "--checkpoint-every", "2"]
    reads = reads_of_blocks(monkeypatch)
    assert run_app(["select", *given, *options, "-o", str(whole)]) == 0
    assert {view: sum(sizes) for view, sizes in reads.items()} == {"text": 60, "image": 60}
    seen = [0]
    with monkeypatch.context() as patched:
        patched.setattr(commands.Bar, "__call__", lambda _, status: seen.append(status.n_rows))
        patched.setattr(commands.Stop, "__call__", lambda _: seen[-1] >= 20)
        assert run_app(["select", *given, *options, "-o", str(out)]) == 130
    assert seen[-1] == OMVFS.load(out / "model.omvfs").n_samples_seen_ == 28
    assert run_app(["select", *given, *options, "-o", str(out), "--resume"]) == 0
    assert OMVFS.load(out / "model.omvfs").n_samples_seen_ == 60
    assert ranking(out) == ranking(whole)


# What the page shows.

SECTION = PAGE.read_text(encoding="utf-8").split("## In files")[1].split("\n## ")[0]
TABLE = [line.split("|")[1:3] for line in SECTION.splitlines() if line.startswith("| ")][1:]


def run_section(data, n_rows=60):
    """Run the commands of the page with some data."""
    block = re.search(r"```sh\n(.*?)```", SECTION, re.DOTALL)[1]
    done = []
    for line in block.splitlines():
        program, *given = shlex.split(line, comments=True)
        assert program == "omvfs"
        typed = [each for one in given for each in (shlex.split(data) if one == "DATA" else [one])]
        done.append(typed[0])
        if data == "-":
            sys.stdin.seek(0)
        assert run_app(typed) == 0, typed
    assert done == ["info", "select", "select", "report", "transform", "convert"]
    assert OMVFS.load("out/model.omvfs").n_samples_seen_ == n_rows
    for made in ("out", "reduced", "folder"):
        assert os.listdir(made)
    assert os.path.getsize("report.html")


@pytest.mark.parametrize("data", ["text.parquet image.parquet --key id", "-"])
def test_the_commands_of_the_page_work(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    by_key(tmp_path)
    FORMATS["rows.jsonl"](tmp_path)
    with open("rows.jsonl") as file:
        monkeypatch.setattr(sys, "stdin", file)
        run_section(data)


def test_the_line_of_json_on_the_page_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = next(re.search("`({.*})`", cell)[1] for data, cell in TABLE if "rows.jsonl" in data)
    (tmp_path / "rows.jsonl").write_text(f"{line}\n" * 30)
    with open_source("rows.jsonl") as source:
        views = next(source.chunks(1)).views
    assert views.widths == {"text": 2, "tags": 1, "image": 2}
    assert dense(views["text"]).tolist() == [[1, 1]]


def test_the_page_promises_these_formats_and_no_others():
    promised = re.findall(
        r"(?:\w+://\w+/)?(?:view_0_text|words|labelled|rows\w*|long|text|parts/part-\*)(?:\.\w+)+",
        "\n".join(data for data, _ in TABLE),
    )
    assert set(promised) == set(FORMATS)
