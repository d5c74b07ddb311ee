"""What must hold for every source, wherever its rows come from."""

import gzip
import io
import itertools
import json

import fsspec
import h5py
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from omvfs import OMVFS, Views
from omvfs.formats import (
    ArraySource,
    FolderSource,
    IteratorSource,
    NpySource,
    NpzSource,
    SideBySide,
    SvmlightSource,
    open_source,
)
from omvfs.formats.opening import standard_input
from omvfs.pipeline import run
from omvfs.testing import check_source
from support import counts, dense, reads_of_blocks

N = 47
# Where rows are cut that come in parts, of which one has none in it.
PARTS = [0, 3, 20, 20, 21, N]


def data():
    rng = np.random.default_rng(5)
    text = counts(rng, N, 11)
    text[[0, 9, 46]] = 0
    return {"text": sp.csr_array(text), "image": counts(rng, N, 4)}


def files(path):
    views = data()
    sp.save_npz(path / "text.npz", views["text"])
    np.save(path / "image.npy", views["image"])
    return path / "text.npz", path / "image.npy"


def from_arrays(path):
    return ArraySource(data())


def from_an_iterator(path):
    views = data()
    cuts = [(a, b) for a, b in itertools.pairwise(PARTS) if b > a]
    return IteratorSource(lambda: ({name: X[a:b] for name, X in views.items()} for a, b in cuts))


def from_files(path):
    return open_source(*files(path))


def from_uncompressed_files(path):
    text, image = files(path)
    sp.save_npz(text, sp.csr_matrix(data()["text"]), compressed=False)
    np.save(image, np.asfortranarray(data()["image"]))
    return SideBySide({"t": NpzSource(text, "text"), "i": NpySource(image, "image")})


def from_a_folder(path):
    text, image = files(path)
    text.rename(path / "view_0_text.npz")
    image.rename(path / "view_1_image.npy")
    return FolderSource(path)


def table():
    """Return the rows as one table, dense, a column a feature."""
    columns = {
        f"{view}__f{j}": dense(X)[:, j] for view, X in data().items() for j in range(X.shape[1])
    }
    return pa.table(columns)


def from_parquet(path):
    parquet.write_table(table(), path / "rows.parquet", row_group_size=13)
    return open_source(path / "rows.parquet")


def from_parts(path):
    for i, (a, b) in enumerate(itertools.pairwise(PARTS)):
        parquet.write_table(table().slice(a, b - a), path / f"part-{i + 8}.parquet")
    return open_source(path)


def from_parts_of_words(path):
    from_json_lines(path)
    rows = (path / "rows.jsonl").read_text().splitlines(keepends=True)
    (path / "rows.jsonl").unlink()
    for i, (a, b) in enumerate(itertools.pairwise(PARTS)):
        (path / f"part-{i + 8}.jsonl").write_text("".join(rows[a:b]))
    return open_source(f"{path}/part-*.jsonl")


def from_feather(path):
    feather.write_feather(table(), path / "rows.feather", chunksize=9)
    return open_source(path / "rows.feather")


def from_csv(path):
    arrow_csv.write_csv(table(), path / "rows.csv")
    return open_source(path / "rows.csv")


def from_compressed_csv(path):
    arrow_csv.write_csv(table(), path / "rows.csv")
    (path / "rows.csv.gz").write_bytes(gzip.compress((path / "rows.csv").read_bytes()))
    return open_source(path / "rows.csv.gz")


def long_table():
    """Return the entries of the rows, of both views."""
    parts = {view: sp.coo_array(X) for view, X in data().items()}
    entries = [
        (int(i), int(j), float(x), view)
        for view, X in parts.items()
        for i, j, x in zip(X.row, X.col, X.data, strict=True)
    ]
    columns = zip(*sorted(entries), strict=True)
    return pa.table(dict(zip(("row", "feature", "value", "view"), columns, strict=True)))


def from_a_long_parquet(path):
    parquet.write_table(long_table().select([3, 0, 1, 2]), path / "l.parquet", row_group_size=50)
    return open_source(path / "l.parquet", views=["text", "image"])


def packed(path):
    """Compress a file, and return the new one."""
    zst = path.with_name(f"{path.name}.zst")
    with (
        pa.OSFile(str(zst), "w") as raw,
        pa.CompressedOutputStream(raw, "zstd") as file,
    ):
        file.write(path.read_bytes())
    return zst


def from_a_long_csv(path):
    arrow_csv.write_csv(long_table(), path / "rows.csv")
    return open_source(packed(path / "rows.csv"))


def from_files_joined_by_a_key(path):
    ids = [f"{i:03d}" for i in range(N)]
    both = table().append_column("id", pa.array(ids))
    text = both.select(["id", *(name for name in both.column_names if name.startswith("text"))])
    image = both.select([*(name for name in both.column_names if name.startswith("image")), "id"])
    extra = pa.table({name: ["015b"] if name == "id" else [9.0] for name in image.column_names})
    image = pa.concat_tables([image.slice(0, 16), extra, image.slice(16)])
    parquet.write_table(text, path / "text.parquet")
    arrow_csv.write_csv(image, path / "image.csv")
    return open_source(path / "text.parquet", path / "image.csv", key="id", join="inner")


def from_afar(path):
    """Put the files where only fsspec finds them."""
    memory = fsspec.filesystem("memory")
    for file in files(path):
        memory.put_file(str(file), f"/rows/{file.name}")
    return open_source("memory://rows/text.npz", "image=memory://rows/image.npy")


def from_a_table_afar(path):
    parquet.write_table(table(), path / "rows.parquet", row_group_size=13)
    fsspec.filesystem("memory").put_file(str(path / "rows.parquet"), "/rows/rows.parquet")
    return open_source("memory://rows/rows.parquet")


def from_h5mu_afar(path):
    from_h5mu(path).close()
    fsspec.filesystem("memory").put_file(str(path / "rows.h5mu"), "/rows/rows.h5mu")
    return open_source("memory://rows/rows.h5mu")


def from_compressed_json_lines(path):
    from_json_lines(path)
    return open_source(packed(path / "rows.jsonl"))


def from_svmlight_and_npy(path):
    _, image = files(path)
    rows = [
        " ".join(["0", *(f"{j + 1}:{x!r}" for j, x in enumerate(row) if x)])
        for row in dense(data()["text"]).tolist()
    ]
    (path / "text.svm.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    parts = {"t": SvmlightSource(path / "text.svm.gz", "text", 11), "i": NpySource(image, "image")}
    return SideBySide(parts)


def from_json_lines(path):
    text, image = data()["text"], data()["image"]
    rows = []
    for i in range(N):
        row = text[[i]].tocoo()
        words = {
            f"f{j}": value for j, value in zip(row.col.tolist(), row.data.tolist(), strict=True)
        }
        # Every feature once, in order, so that columns come as they are.
        words = {f"f{j}": words.get(f"f{j}", 0.0) for j in range(11)} if i == 0 else words
        rows.append(json.dumps({"text": words, "image": image[i].tolist()}))
    (path / "rows.jsonl").write_text("\n".join(rows))
    return open_source(path / "rows.jsonl")


def from_h5mu(path):
    with h5py.File(path / "rows.h5mu", "w") as file:
        text = file.create_group("mod/text/X")
        text.attrs["encoding-type"], text.attrs["shape"] = "csr_matrix", (N, 11)
        for part in ("data", "indices", "indptr"):
            text[part] = getattr(data()["text"], part)
        file["mod/image/X"] = data()["image"]
        file["mod"].attrs["mod-order"] = ["text", "image"]
    return open_source(path / "rows.h5mu")


def from_a_stream_of_numbers(path):
    rows = zip(dense(data()["text"]).tolist(), data()["image"].tolist(), strict=True)
    lines = [json.dumps({"text": text, "image": image}) for text, image in rows]
    return standard_input("rows", io.BytesIO("\n".join(lines).encode()))


def from_a_stream_of_csv(path):
    arrow_csv.write_csv(table(), path / "rows.csv")
    return standard_input("rows", io.BytesIO((path / "rows.csv").read_bytes()))


def from_a_stream_of_words(path):
    from_json_lines(path)
    return standard_input("rows", io.BytesIO((path / "rows.jsonl").read_bytes()))


TABLES = (
    from_a_stream_of_numbers,
    from_a_stream_of_csv,
    from_parquet,
    from_parts,
    from_feather,
    from_csv,
    from_compressed_csv,
    from_files_joined_by_a_key,
    from_a_table_afar,
)
SPARSE = (from_a_long_parquet, from_a_long_csv)
SOURCES = [
    *TABLES,
    *SPARSE,
    from_a_stream_of_words,
    from_afar,
    from_h5mu_afar,
    from_compressed_json_lines,
    from_svmlight_and_npy,
    from_json_lines,
    from_parts_of_words,
    from_h5mu,
    from_arrays,
    from_an_iterator,
    from_files,
    from_uncompressed_files,
    from_a_folder,
]


every_source = pytest.mark.parametrize("make", SOURCES, ids=lambda make: make.__name__)


def kind_of(make, X):
    """Return rows as a source has them: a table has dense columns, one in long form sparse ones."""
    return dense(X) if make in TABLES else sp.csr_array(X) if make in SPARSE else X


@every_source
def test_a_source_does_what_every_source_must(make, tmp_path_factory):
    check_source(lambda: make(tmp_path_factory.mktemp("rows")))


@every_source
def test_chunks_are_the_rows(make, tmp_path):
    with make(tmp_path) as source:
        views = Views.concat([chunk.views for chunk in source.chunks(10)])
    assert views.names == ("text", "image")
    for view, X in data().items():
        np.testing.assert_array_equal(dense(views[view]), dense(X))
        assert sp.issparse(views[view]) == sp.issparse(kind_of(make, X))


@every_source
def test_identity_has_views_and_widths(make, tmp_path):
    def views(identity):
        parts = identity.get("parts")
        own = identity.get("views", {})
        for part in (parts or {}).values():
            own = own | views(part)
        return own

    with make(tmp_path) as source:
        assert views(source.identity) == {"text": 11, "image": 4}


@every_source
def test_the_same_rows_from_anywhere_give_the_same_bits(make, tmp_path):
    views = {view: kind_of(make, X) for view, X in data().items()}
    expected = OMVFS(2, batch_size=10, random_state=0).fit(views)
    with make(tmp_path) as source:
        selector = run(source, OMVFS(2, batch_size=10, random_state=0)).selector
    np.testing.assert_array_equal(selector.scores_, expected.scores_)


# Rows that are held, and rows that come in pieces of their own, are read as they are given.
HELD = {from_arrays: [N], from_an_iterator: [3, 17, 1, N - 21]}
# What a chunk lacks is read from the next part.
HELD |= {make: [3, 7, 10, 1, 9, 10, N - 40] for make in (from_parts, from_parts_of_words)}
# One row of the image has a key that the text lacks.
JOINED = {from_files_joined_by_a_key: [10, 10, 10, 10, N + 1 - 40]}


@every_source
@pytest.mark.parametrize("prepare", [(), ("tfidf", "image:scale", "l2")], ids=len)
def test_every_block_is_read_once_on_its_way(make, prepare, tmp_path, monkeypatch):
    reads = reads_of_blocks(monkeypatch)
    with make(tmp_path) as source:
        result = run(source, OMVFS(2, batch_size=10, prepare=prepare, random_state=0))
    assert result.selector.n_samples_seen_ == N
    reads.pop("other", None)
    text = HELD.get(make, [10, 10, 10, 10, N - 40])
    assert reads == {"text": text, "image": JOINED.get(make, text)}
