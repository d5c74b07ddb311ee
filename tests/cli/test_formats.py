"""Every kind of data that the README promises, through the command that it shows."""

import csv
import gzip
import json
import re
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from omvfs.cli.commands import run_app
from support import counts

README = Path(__file__).parents[2] / "README.md"
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
    "rows.h5ad": h5ad,
    "rows.h5mu": h5mu,
    "rows.jsonl": json_lines,
    "rows.jsonl.gz": compressed_json_lines,
    "words.svm": svmlight,
    "words.svm.gz": compressed_svmlight,
}


def ranking(out):
    rows = csv.DictReader((out / "ranking.csv").read_text(encoding="utf-8").splitlines())
    return [(row["view"], row["feature"], row["rank"], row["score"]) for row in rows]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_ranking(name, tmp_path, tmp_path_factory):
    expected = tmp_path_factory.mktemp("expected")
    options = ["-k", "3", "-n", "4", "--batch-size", "25", "--prepare", "l2"]
    arrays = folder if name not in ("rows.parquet", "rows.feather", "rows.csv") else dense_folder
    assert run_app(["select", *arrays(expected), *options, "-o", str(expected / "out")]) == 0
    assert run_app(["info", *FORMATS[name](tmp_path)]) == 0
    out = ["-o", str(tmp_path / "out")]
    assert run_app(["select", *FORMATS[name](tmp_path), *options, *out]) == 0
    assert ranking(tmp_path / "out") == ranking(expected / "out")


def dense_folder(path):
    """A table has no sparse columns, and sums of dense rows round in another order."""
    np.save(path / "view_0_text.npy", TEXT)
    np.save(path / "view_1_image.npy", IMAGE)
    return [str(path)]


def test_the_readme_promises_these_formats_and_no_others():
    start = README.read_text(encoding="utf-8").split("| `DATA` | read as |")[1]
    table = start.split("\n\n")[0]
    promised = re.findall(r"(?:view_0_text|words|rows)(?:\.\w+)+", table)
    assert set(promised) == set(FORMATS)
