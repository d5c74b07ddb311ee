"""Every kind of data that docs/data.md promises, through the command that it shows."""

import csv
import gzip
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
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

import omvfs.pipeline
from omvfs import OMVFS
from omvfs.cli import commands
from omvfs.cli.commands import run_app
from omvfs.formats import open_source
from support import counts, dense, reads_of_blocks
from web import serving

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
TEXT, IMAGE = counts(np.random.default_rng(0), 60, 9), counts(np.random.default_rng(1), 60, 4)


def folder(path):
    sp.save_npz(path / "view_0_text.npz", sp.csr_array(TEXT))
    np.save(path / "view_1_image.npy", IMAGE)
    return [str(path)]


def named_files(path):
    sp.save_npz(path / "words.npz", sp.csr_array(TEXT))
    np.save(path / "pixels.npy", IMAGE)
    return [f"text={path / 'words.npz'}", f"image={path / 'pixels.npy'}"]


def table():
    columns = {f"text__{j}": TEXT[:, j] for j in range(9)}
    return pa.table(columns | {f"image__{j}": IMAGE[:, j] for j in range(4)})


def parquet_table(path):
    parquet.write_table(table(), path / "rows.parquet")
    return [str(path / "rows.parquet")]


def feather_table(path):
    feather.write_feather(table(), path / "rows.feather")
    return [str(path / "rows.feather")]


def csv_table(path):
    arrow_csv.write_csv(table(), path / "rows.csv")
    return [str(path / "rows.csv")]


def packed_csv(path):
    arrow_csv.write_csv(table(), path / "plain.csv")
    (path / "rows.csv.gz").write_bytes(gzip.compress((path / "plain.csv").read_bytes()))
    return [str(path / "rows.csv.gz")]


def long_table(X):
    entries = sp.coo_array(X)
    return pa.table({"row": entries.row, "feature": entries.col, "value": entries.data})


def long_parquet(path):
    parquet.write_table(long_table(TEXT), path / "long.parquet")
    np.save(path / "image.npy", IMAGE)
    return [f"text={path / 'long.parquet'}", str(path / "image.npy")]


def long_csv(path):
    arrow_csv.write_csv(long_table(TEXT), path / "long.csv")
    np.save(path / "image.npy", IMAGE)
    return [f"text={path / 'long.csv'}", str(path / "image.npy")]


def matlab(path):
    savemat(path / "rows.mat", {"text": sp.csc_array(TEXT), "image": IMAGE, "y": np.ones((60, 1))})
    return [str(path / "rows.mat")]


def matlab_7(path):
    with h5py.File(path / "rows73.mat", "w", userblock_size=512) as file:
        file["image"] = IMAGE.T
        X, group = sp.csc_array(TEXT), file.create_group("text")
        group.attrs["MATLAB_sparse"] = np.uint64(60)
        group["data"], group["ir"], group["jc"] = X.data, X.indices, X.indptr
    with (path / "rows73.mat").open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    return [str(path / "rows73.mat")]


def from_afar(path):
    fsspec.filesystem("memory").put_file(parquet_table(path)[0], "/bucket/rows.parquet")
    return ["memory://bucket/rows.parquet"]


WEB = {}


@pytest.fixture(scope="module", autouse=True)
def web():
    """Have a web server for as long as the tests of this file run."""
    with serving() as server:
        WEB["server"] = server
        yield server


def from_the_web(path):
    WEB["server"].files["rows.parquet"] = Path(parquet_table(path)[0]).read_bytes()
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


def labelled(path):
    with_class = table().append_column("class", pa.array(["cat", "dog"] * 30))
    parquet.write_table(with_class, path / "labelled.parquet")
    return [str(path / "labelled.parquet"), "--drop", "class"]


def annotated(path, groups):
    with h5py.File(path, "w") as file:
        for group, X in groups.items():
            text = file.create_group(f"{group}X") if sp.issparse(X) else None
            if text is None:
                file[f"{group}X"] = X
                continue
            text.attrs["encoding-type"], text.attrs["shape"] = "csr_matrix", X.shape
            for part in ("data", "indices", "indptr"):
                text[part] = getattr(X, part)
    return str(path)


def h5ad(path):
    np.save(path / "image.npy", IMAGE)
    cells = annotated(path / "rows.h5ad", {"": sp.csr_array(TEXT)})
    return [f"text={cells}", str(path / "image.npy")]


def h5mu(path):
    groups = {"mod/text/": sp.csr_array(TEXT), "mod/image/": IMAGE}
    file = annotated(path / "rows.h5mu", groups)
    with h5py.File(file, "r+") as opened:
        opened["mod"].attrs["mod-order"] = ["text", "image"]
    return [file]


def json_text():
    features = [{str(j): x for j, x in enumerate(row)} for row in TEXT.tolist()]
    rows = zip(features, IMAGE.tolist(), strict=True)
    return "\n".join(json.dumps({"text": text, "image": image}) for text, image in rows)


def json_lines(path):
    (path / "rows.jsonl").write_text(json_text())
    return [str(path / "rows.jsonl")]


def compressed_json_lines(path):
    (path / "rows.jsonl.gz").write_bytes(gzip.compress(json_text().encode()))
    return [str(path / "rows.jsonl.gz")]


def open_text(path):
    return pa.CompressedOutputStream(pa.OSFile(str(path), "w"), "zstd")


def zstd_json_lines(path):
    with open_text(path / "rows.jsonl.zst") as file:
        file.write(json_text().encode())
    return [str(path / "rows.jsonl.zst")]


def svm_text():
    rows = ([f"{j + 1}:{x!r}" for j, x in enumerate(row) if x] for row in TEXT.tolist())
    return "\n".join(" ".join(["0", *row]) for row in rows)


def svmlight(path):
    (path / "words.svm").write_text(svm_text())
    np.save(path / "image.npy", IMAGE)
    return [f"text={path / 'words.svm'}", str(path / "image.npy")]


def compressed_svmlight(path):
    (path / "words.svm.gz").write_bytes(gzip.compress(svm_text().encode()))
    np.save(path / "image.npy", IMAGE)
    return [f"text={path / 'words.svm.gz'}", str(path / "image.npy")]


FORMATS = {
    "view_0_text.npz": folder,
    "words.npz": named_files,
    "rows.parquet": parquet_table,
    "rows.feather": feather_table,
    "rows.csv": csv_table,
    "rows.csv.gz": packed_csv,
    "long.parquet": long_parquet,
    "long.csv": long_csv,
    "rows.mat": matlab,
    "rows73.mat": matlab_7,
    "https://host/rows.parquet": from_the_web,
    "s3://bucket/rows.parquet": from_afar,
    "parts/part-*.parquet": in_parts,
    "text.parquet": by_key,
    "labelled.parquet": labelled,
    "rows.h5ad": h5ad,
    "rows.h5mu": h5mu,
    "rows.jsonl": json_lines,
    "rows.jsonl.gz": compressed_json_lines,
    "rows.jsonl.zst": zstd_json_lines,
    "words.svm": svmlight,
    "words.svm.gz": compressed_svmlight,
}


def ranking(out):
    rows = csv.DictReader((out / "ranking.csv").read_text(encoding="utf-8").splitlines())
    return sorted((row["view"], row["feature"], row["rank"], row["score"]) for row in rows)


# A table of a column a feature is dense, and sums of dense rows round in another order.
TABLES = {"rows.parquet", "rows.feather", "rows.csv", "rows.csv.gz", "text.parquet"} | {
    "labelled.parquet",
    "https://host/rows.parquet",
    "s3://bucket/rows.parquet",
    "parts/part-*.parquet",
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_ranking_and_is_written_as_it_came(
    name, tmp_path, tmp_path_factory
):
    expected = tmp_path_factory.mktemp("expected")
    options = ["-k", "3", "-n", "4", "--batch-size", "25", "--prepare", "l2", "--write-data"]
    arrays = dense_folder if name in TABLES else folder
    assert run_app(["select", *arrays(expected), *options, "-o", str(expected / "out")]) == 0
    given, out = FORMATS[name](tmp_path), tmp_path / "out"
    assert run_app(["info", *given]) == 0
    assert run_app(["select", *given, *options, "-o", str(out)]) == 0
    assert ranking(out) == ranking(expected / "out")
    key = given[given.index("--key") + 1] if "--key" in given else None
    assert_same_features(expected / "out/data", written(out / "data", given), key)


def written(data, given):
    """Return the inputs as they would be given, had they been where the results are."""
    if len(given) == 1 and Path(given[0]).is_dir():
        return [str(data)]
    files = [each.replace("parts/part-*", "rows") for each in given if "." in each]
    assert sorted(Path(each).name for each in files) == sorted(os.listdir(data))
    parts = (each.rpartition("=") for each in files)
    return [f"{view}{sign}{data / Path(file).name}" for view, sign, file in parts]


def assert_same_features(expected, inputs, key):
    with open_source(*inputs, key=key) as source, open_source(str(expected)) as truth:
        got, right = (next(each.chunks(100)).views for each in (source, truth))
    for view in ("text", "image"):
        names = got.feature_names[view]
        columns = np.arange(4) if names is None else np.argsort([int(n) for n in names])
        np.testing.assert_array_equal(dense(got[view])[:, columns], dense(right[view]))


def dense_folder(path):
    np.save(path / "view_0_text.npy", TEXT)
    np.save(path / "view_1_image.npy", IMAGE)
    return [str(path)]


@pytest.mark.parametrize("name", FORMATS)
def test_a_stopped_run_of_every_format_goes_on_where_it_was(name, tmp_path, monkeypatch):
    given, whole, out = FORMATS[name](tmp_path), tmp_path / "whole", tmp_path / "out"
    options = ["-k", "3", "--batch-size", "7", "--prepare", "tfidf", "--checkpoint-every", "2"]
    assert run_app(["select", *given, *options, "-o", str(whole)]) == 0
    seen = [0]
    with monkeypatch.context() as patched:
        patched.setattr(commands.Bar, "__call__", lambda _, status: seen.append(status.n_rows))
        patched.setattr(commands.Stop, "__call__", lambda _: seen[-1] >= 20)
        assert run_app(["select", *given, *options, "-o", str(out)]) == 130
    assert seen[-1] == OMVFS.load(out / "model.omvfs").n_samples_seen_ == 28
    assert run_app(["select", *given, *options, "-o", str(out), "--resume"]) == 0
    assert OMVFS.load(out / "model.omvfs").n_samples_seen_ == 60
    assert ranking(out) == ranking(whole)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("prepare", [[], ["--prepare", "scale", "--prepare", "l2"]], ids=len)
def test_every_block_is_read_once_from_a_file_to_the_ranking(name, prepare, tmp_path, monkeypatch):
    given, reads = FORMATS[name](tmp_path), reads_of_blocks(monkeypatch)
    options = ["-k", "3", "-n", "2", "--batch-size", "25", *prepare]
    assert run_app(["select", *given, *options, "-o", str(tmp_path / "out")]) == 0
    assert reads == {"text": [25, 25, 10], "image": [25, 25, 10]}
    reads.clear()
    whole = [25, 35] if "part-" in name else [60]
    model = str(tmp_path / "out/model.omvfs")
    for command in (["transform", model, *given], ["convert", *given]):
        assert run_app([*command, "-o", str(tmp_path / command[0])]) == 0
    assert reads == {"text": 2 * whole, "image": 2 * whole}


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "words.svm"])
def test_every_block_of_standard_input_is_read_once(name, here, monkeypatch):
    reads = reads_of_blocks(monkeypatch)
    with open(name) as file:
        monkeypatch.setattr(sys, "stdin", file)
        options = ["-k", "3", "--batch-size", "25", "--prepare", "tfidf"]
        assert run_app(["select", "-", *options, "-o", "out"]) == 0
    views = {"rows"} if name == "words.svm" else {"text", "image"}
    assert reads == {view: [25, 25, 10] for view in views}


# What the page shows.

SECTION = PAGE.read_text(encoding="utf-8").split("## In files")[1].split("\n## ")[0]
TABLE = [line.split("|")[1:3] for line in SECTION.splitlines() if line.startswith("| ")][1:]


def commands_of(section, data):
    """Return the commands of a block of shell, with some data."""
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]
    lines = (shlex.split(line, comments=True) for line in block.splitlines())
    for program, *arguments in lines:
        assert program == "omvfs"
        yield [
            part for each in arguments for part in (shlex.split(data) if each == "DATA" else [each])
        ]


def promised():
    """Return all that the page says `DATA` may be."""
    for data, _ in TABLE:
        if data.strip().startswith("a folder of"):
            yield "."
        else:
            yield from re.findall("`([^`]+)`", data)


def at_hand(data):
    """Return an address of the page as one of this machine."""
    data = data.replace("https://host/", WEB["server"].url(""))
    # All that fsspec opens is opened in the same way; S3 needs a package, and a bucket.
    return data.replace("s3://", "memory://")


@pytest.fixture(scope="module")
def every_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("files")
    for make in FORMATS.values():
        make(path)
    return path


@pytest.fixture
def here(every_file, tmp_path, monkeypatch):
    """Go to a folder that has the files of all formats."""
    for file in every_file.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_section(data, capsys, *, n_rows=60):
    done = list(commands_of(SECTION, data))
    names = ["info", "select", "select", "report", "transform", "convert"]
    assert [each[0] for each in done] == names
    for arguments in done:
        assert run_app(arguments) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert said.count(f"{n_rows} rows") >= 4
    assert OMVFS.load("out/model.omvfs").n_samples_seen_ == n_rows
    for written in ("out", "reduced", "folder"):
        assert os.listdir(written)
    assert os.path.getsize("report.html")
    assert run_app(["info", "folder"]) == 0


@pytest.mark.parametrize("data", [data for data in promised() if data != "-"])
def test_the_commands_of_the_page_take_all_that_it_promises(data, here, capsys):
    run_section(at_hand(data), capsys)


def test_the_example_of_the_page_from_end_to_end_works(here, capsys):
    (text,) = re.findall(r"```sh\n([^`]*http\.server.*?)```", SECTION, re.DOTALL)
    convert, serve, info = text.splitlines()
    assert run_app(shlex.split(convert)[1:]) == 0
    command = shlex.split(serve.removesuffix("&"))
    # A port of its own, as tests run side by side.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    assert command[:3] == ["python", "-m", "http.server"]
    command = [sys.executable, *command[1:-1], port]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        try:
            address = info.replace("localhost:8000", f"127.0.0.1:{port}")
            for _ in range(100):
                if run_app(shlex.split(address)[1:]) == 0:
                    break
                time.sleep(0.1)
        finally:
            server.terminate()
    assert "60 rows; figures of the first 60" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "words.svm"])
def test_the_commands_of_the_page_take_standard_input(name, here, capsys, monkeypatch):
    assert "-" in promised()
    for arguments in commands_of(SECTION, "-"):
        with open(name) as file:
            monkeypatch.setattr(sys, "stdin", file)
            assert run_app(arguments) == 0, capsys.readouterr().err
    assert OMVFS.load("out/model.omvfs").n_samples_seen_ == 60
    assert run_app(["info", "reduced"]) == run_app(["info", "folder"]) == 0


def test_the_line_of_json_in_the_readme_is_read(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = next(re.search("`({.*})`", cell)[1] for data, cell in TABLE if "rows.jsonl" in data)
    (tmp_path / "rows.jsonl").write_text(f"{line}\n" * 30)
    with open_source("rows.jsonl") as source:
        views = next(source.chunks(1)).views
    assert views.widths == {"text": 2, "tags": 1, "image": 2}
    assert dense(views["text"]).tolist() == [[1, 1]]
    run_section("rows.jsonl", capsys, n_rows=30)


@pytest.mark.usefixtures("here")
def test_the_line_of_python_in_the_readme_works():
    (line,) = re.findall(r"`(omvfs\.pipeline\.run\(.*?)`", SECTION)
    result = eval(line, {"omvfs": omvfs, "OMVFS": OMVFS, "open_source": open_source})
    assert result.finished
    assert result.selector.n_samples_seen_ == 60


def test_the_readme_promises_these_formats_and_no_others():
    table = "\n".join(data for data, _ in TABLE)
    promised = re.findall(
        r"(?:\w+://\w+/)?(?:view_0_text|words|labelled|rows\w*|long|text|parts/part-\*)(?:\.\w+)+",
        table,
    )
    assert set(promised) == set(FORMATS)
