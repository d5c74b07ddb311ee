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
from pyarrow import parquet

from omvfs import OMVFS, Views
from omvfs.formats import (
    ArraySource,
    FolderSource,
    IteratorSource,
    NpySource,
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


def table():
    """Return the rows as one table, dense, a column a feature."""
    blocks = {view: dense(X) for view, X in data().items()}
    return pa.table({f"{v}__f{j}": X[:, j] for v, X in blocks.items() for j in range(X.shape[1])})


def lines():
    """Return the rows as lines of JSON, the first with every feature in order."""
    text, image = dense(data()["text"]).tolist(), data()["image"].tolist()
    words = [{f"f{j}": x for j, x in enumerate(row) if x or i == 0} for i, row in enumerate(text)]
    rows = zip(words, image, strict=True)
    return [json.dumps({"text": own, "image": numbers}) for own, numbers in rows]


def from_arrays(path):
    return ArraySource(data())


def from_an_iterator(path):
    views = data()
    cuts = [(a, b) for a, b in itertools.pairwise(PARTS) if b > a]
    return IteratorSource(lambda: ({name: X[a:b] for name, X in views.items()} for a, b in cuts))


def from_a_folder(path):
    sp.save_npz(path / "view_0_text.npz", data()["text"])
    np.save(path / "view_1_image.npy", np.asfortranarray(data()["image"]))
    return FolderSource(path)


def from_afar(path):
    """Put the files where only fsspec finds them."""
    from_a_folder(path)
    memory = fsspec.filesystem("memory")
    memory.put_file(str(path / "view_0_text.npz"), "/rows/text.npz")
    memory.put_file(str(path / "view_1_image.npy"), "/rows/image.npy")
    return open_source("memory://rows/text.npz", "image=memory://rows/image.npy")


def from_parquet(path):
    parquet.write_table(table(), path / "rows.parquet", row_group_size=13)
    return open_source(path / "rows.parquet")


def from_parts(path):
    for i, (a, b) in enumerate(itertools.pairwise(PARTS)):
        parquet.write_table(table().slice(a, b - a), path / f"part-{i + 8}.parquet")
    return open_source(path)


def from_compressed_csv(path):
    arrow_csv.write_csv(table(), path / "rows.csv")
    (path / "rows.csv.gz").write_bytes(gzip.compress((path / "rows.csv").read_bytes()))
    return open_source(path / "rows.csv.gz")


def from_a_long_table(path):
    parts = {view: sp.coo_array(X) for view, X in data().items()}
    entries = [
        (int(i), int(j), float(x), view)
        for view, X in parts.items()
        for i, j, x in zip(X.row, X.col, X.data, strict=True)
    ]
    columns = zip(*sorted(entries), strict=True)
    long = pa.table(dict(zip(("row", "feature", "value", "view"), columns, strict=True)))
    parquet.write_table(long.select([3, 0, 1, 2]), path / "long.parquet", row_group_size=50)
    return open_source(path / "long.parquet", views=["text", "image"])


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


def from_json_lines(path):
    (path / "rows.jsonl").write_text("\n".join(lines()))
    return open_source(path / "rows.jsonl")


def from_parts_of_words(path):
    for i, (a, b) in enumerate(itertools.pairwise(PARTS)):
        (path / f"part-{i + 8}.jsonl").write_text("".join(f"{line}\n" for line in lines()[a:b]))
    return open_source(f"{path}/part-*.jsonl")


def from_a_stream_of_words(path):
    return standard_input("rows", io.BytesIO("\n".join(lines()).encode()))


def from_a_stream_of_csv(path):
    arrow_csv.write_csv(table(), path / "rows.csv")
    return standard_input("rows", io.BytesIO((path / "rows.csv").read_bytes()))


def from_svmlight_and_npy(path):
    np.save(path / "image.npy", data()["image"])
    rows = [
        " ".join(["0", *(f"{j + 1}:{x!r}" for j, x in enumerate(row) if x)])
        for row in dense(data()["text"]).tolist()
    ]
    (path / "text.svm.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    text = SvmlightSource(path / "text.svm.gz", "text", 11)
    return SideBySide({"t": text, "i": NpySource(path / "image.npy", "image")})


def from_h5mu(path):
    with h5py.File(path / "rows.h5mu", "w") as file:
        text = file.create_group("mod/text/X")
        text.attrs["encoding-type"], text.attrs["shape"] = "csr_matrix", (N, 11)
        for part in ("data", "indices", "indptr"):
            text[part] = getattr(data()["text"], part)
        file["mod/image/X"] = data()["image"]
        file["mod"].attrs["mod-order"] = ["text", "image"]
    return open_source(path / "rows.h5mu")


TABLES = (
    from_a_stream_of_csv,
    from_parquet,
    from_parts,
    from_compressed_csv,
    from_files_joined_by_a_key,
)
SOURCES = [
    *TABLES,
    from_a_long_table,
    from_arrays,
    from_an_iterator,
    from_a_folder,
    from_afar,
    from_json_lines,
    from_parts_of_words,
    from_a_stream_of_words,
    from_svmlight_and_npy,
    from_h5mu,
]
# Rows that are held, and rows that come in pieces of their own, are read as they are given.
HELD = {from_arrays: [N], from_an_iterator: [3, 17, 1, N - 21]}
# What a chunk lacks is read from the next part.
HELD |= {make: [3, 7, 10, 1, 9, 10, N - 40] for make in (from_parts, from_parts_of_words)}
# One row of the image has a key that the text lacks.
JOINED = {from_files_joined_by_a_key: [10, 10, 10, 10, N + 1 - 40]}
every_source = pytest.mark.parametrize("make", SOURCES, ids=lambda make: make.__name__)


@every_source
def test_a_source_does_what_every_source_must(make, tmp_path_factory):
    check_source(lambda: make(tmp_path_factory.mktemp("rows")))


def widths(identity):
    own = dict(identity.get("views", {}))
    for part in (identity.get("parts") or {}).values():
        own |= widths(part)
    return own


@every_source
def test_chunks_are_the_rows_and_give_the_same_bits_each_read_once(make, tmp_path, monkeypatch):
    expected = {
        view: dense(X) if make in TABLES else sp.csr_array(X) if make is from_a_long_table else X
        for view, X in data().items()
    }
    with make(tmp_path) as source:
        assert widths(source.identity) == {"text": 11, "image": 4}
        views = Views.concat([chunk.views for chunk in source.chunks(10)])
    assert views.names == ("text", "image")
    for view, X in expected.items():
        np.testing.assert_array_equal(dense(views[view]), dense(X))
        assert sp.issparse(views[view]) == sp.issparse(X)
    params = {"batch_size": 10, "prepare": ("tfidf", "image:scale", "l2"), "random_state": 0}
    fitted, reads = OMVFS(2, **params).fit(expected), reads_of_blocks(monkeypatch)
    (tmp_path / "again").mkdir()
    with make(tmp_path / "again") as source:
        selector = run(source, OMVFS(2, **params)).selector
    text = HELD.get(make, [10, 10, 10, 10, N - 40])
    assert reads == {"text": text, "image": JOINED.get(make, text)}
    np.testing.assert_array_equal(selector.scores_, fitted.scores_)
