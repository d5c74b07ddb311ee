"""Every kind of data that the README promises, through the command that it shows."""

import csv
import gzip
import json
import os
import re
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

from omvfs.cli.commands import run_app
from omvfs.sources import open_source
from support import counts, dense

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


def by_key(path):
    ids = pa.array([f"{i:02d}" for i in range(60)])
    for view, X in (("text", TEXT), ("image", IMAGE)):
        columns = {"id": ids} | {f"{view}__{j}": X[:, j] for j in range(X.shape[1])}
        parquet.write_table(pa.table(columns), path / f"{view}.parquet")
    return [str(path / "text.parquet"), str(path / "image.parquet"), "--key", "id"]


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
    "memory://bucket/rows.parquet": from_afar,
    "text.parquet": by_key,
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
    "memory://bucket/rows.parquet"
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
    assert_same_features(expected / "out/data", written(out / "data", given))


def written(data, given):
    """Return the inputs as they would be given, had they been where the results are."""
    if len(given) == 1 and Path(given[0]).is_dir():
        return [str(data)]
    files = [each for each in given if "." in each]
    assert sorted(Path(each).name for each in files) == sorted(os.listdir(data))
    parts = (each.rpartition("=") for each in files)
    return [f"{view}{sign}{data / Path(file).name}" for view, sign, file in parts]


def assert_same_features(expected, inputs):
    with open_source(*inputs) as source, open_source(str(expected)) as truth:
        got, right = (next(each.chunks(100)).views for each in (source, truth))
    for view in ("text", "image"):
        names = got.feature_names[view]
        columns = np.arange(4) if names is None else np.argsort([int(n) for n in names])
        np.testing.assert_array_equal(dense(got[view])[:, columns], dense(right[view]))


def dense_folder(path):
    np.save(path / "view_0_text.npy", TEXT)
    np.save(path / "view_1_image.npy", IMAGE)
    return [str(path)]


def test_the_readme_promises_these_formats_and_no_others():
    start = README.read_text(encoding="utf-8").split("| `DATA` | read as |")[1]
    table = start.split("\n\n")[0]
    promised = re.findall(
        r"(?:\w+://\w+/)?(?:view_0_text|words|rows\w*|long|text)(?:\.\w+)+", table
    )
    assert set(promised) == set(FORMATS)
