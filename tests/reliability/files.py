"""Damaged files of every format, and files made to do harm."""

import functools
import gzip
import io
import pickle
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet
from scipy.io import savemat

from omvfs import OMVFS, Views
from omvfs.codec import CheckpointError
from omvfs.formats import SourceError, open_source, open_writer
from reliability.attempts import (
    MOST_BYTES,
    MOST_SECONDS,
    Outcome,
    no_more_computing,
    no_more_memory,
    start,
    tried,
)
from reliability.rows_at_hand import place

N = 40
RNG = np.random.default_rng(0)
TEXT = np.where(RNG.random((N, 12)) < 0.3, RNG.integers(1, 9, (N, 12)), 0).astype(float)
IMAGE = RNG.random((N, 5))
VIEWS = Views({"text": sp.csr_array(TEXT), "image": IMAGE})


def _by_writer(path: Path) -> None:
    several = path.suffixes[0] in (".csv", ".jsonl", ".parquet", ".feather", ".h5mu")
    with open_writer(path) as writer:
        writer.append(VIEWS if several else VIEWS.only(["text"]))


def _npy(path: Path) -> None:
    np.save(path, IMAGE)


def _uncompressed_npz(path: Path) -> None:
    sp.save_npz(path, sp.csr_array(TEXT), compressed=False)


def _long_parquet(path: Path) -> None:
    X = sp.coo_array(TEXT)
    table = pa.table({"row": X.row, "feature": [f"w{j}" for j in X.col], "value": X.data})
    parquet.write_table(table, path, row_group_size=50)


def _long_csv(path: Path) -> None:
    X = sp.coo_array(TEXT)
    arrow_csv.write_csv(pa.table({"row": X.row, "feature": X.col, "value": X.data}), path)


def _packed_feather(path: Path) -> None:
    columns = {f"text__{j}": TEXT[:, j] for j in range(12)}
    feather.write_feather(pa.table(columns), path, compression="zstd", chunksize=16)


def _mat5(path: Path) -> None:
    savemat(path, {"text": sp.csc_array(TEXT), "image": IMAGE, "y": np.ones((N, 1))})


def _packed_mat5(path: Path) -> None:
    cells = np.empty(2, object)
    cells[:] = [sp.csc_array(TEXT), IMAGE]
    savemat(path, {"X": cells, "name": "fox"}, do_compression=True)


def write_matlab_7(path: Path, text: Any, image: Any) -> None:
    """Write a view with many zeros and one without, as MATLAB 7.3 does."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file["image"] = image.T
        X, group = sp.csc_array(text), file.create_group("text")
        group.attrs["MATLAB_sparse"] = np.uint64(X.shape[0])
        group["data"], group["ir"], group["jc"] = X.data, X.indices, X.indptr
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def _checkpoint(path: Path) -> None:
    OMVFS(2, batch_size=20, random_state=0).fit(VIEWS).save(path)


KINDS: dict[str, Callable[[Path], None]] = {
    "image.npy": _npy,
    "text.npz": _by_writer,
    "plain/text.npz": _uncompressed_npz,
    "rows.parquet": _by_writer,
    "long/rows.parquet": _long_parquet,
    "rows.feather": _by_writer,
    "packed/rows.feather": _packed_feather,
    "rows.csv": _by_writer,
    "rows.csv.gz": _by_writer,
    "rows.csv.zst": _by_writer,
    "long/rows.csv": _long_csv,
    "rows.jsonl": _by_writer,
    "rows.jsonl.gz": _by_writer,
    "rows.jsonl.zst": _by_writer,
    "text.svm": _by_writer,
    "text.svm.gz": _by_writer,
    "text.h5ad": _by_writer,
    "rows.h5mu": _by_writer,
    "rows.mat": _mat5,
    "packed/rows.mat": _packed_mat5,
    "v7/rows.mat": lambda path: write_matlab_7(path, TEXT, IMAGE),
    "model.omvfs": _checkpoint,
}


def cut_and_changed(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with some of them lost, changed, moved or made absurd."""
    content = bytearray(whole)
    for _ in range(int(rng.integers(1, 4))):
        if not content:
            break
        # Heads and tails hold what the rest is read by.
        ends = [int(rng.integers(min(300, len(content)))), int(rng.integers(len(content)))]
        a = [*ends, len(content) - 1 - ends[0]][int(rng.integers(3))]
        b = min(len(content), a + int(rng.integers(1, 40)))
        match int(rng.integers(9)):
            case 0:
                del content[a:]
            case 1:
                del content[a:b]
            case 2:
                content[a] ^= 1 << int(rng.integers(8))
            case 3:
                content[a:b] = rng.bytes(b - a)
            case 4:
                content[a:b] = bytes(b - a)
            case 5:
                content[a : a + 8] = b"\xff" * 7 + b"\x7f"
            case 6:
                content[a:a] = content[a:b]
            case 7:
                digits = [i for i, byte in enumerate(content[:2000]) if 48 <= byte <= 57]
                if digits:
                    content[digits[int(rng.integers(len(digits)))]] = 57
            case 8:
                c = int(rng.integers(len(whole)))
                content[a:b] = whole[c : c + int(rng.integers(1, 400))]
    return bytes(content)


class _Evil:
    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('a pickle was run')",)


def _npy_header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header = header.ljust(118 - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def _npz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/") + ".npy", content)
    return file.getvalue()


def _array(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(values))
    return file.getvalue()


@functools.cache
def made_with_intent(name: str) -> list[bytes]:
    """Return files made to do harm, for some kinds."""
    evil = pickle.dumps(_Evil())
    ends = np.arange(N + 1) * (1 << 24)
    small = {"format": _array(b"csr"), "indptr": _array(ends), "indices": _array([0] * 8)}
    bomb = _npy_header((N << 24,)) + bytes(1 << 26)
    every = [b"", b"\0" * 1000, evil, b"\xff" * 5000, b"PK\x05\x06" + b"\0" * 18]
    if name.endswith(".npy"):
        objects = _npy_header((1,), "|O") + evil
        return [*every, objects, _npy_header((1 << 40, 5)), _npy_header((-1, 5))]
    if name.endswith(".npz"):
        traversal = {"..__..__data": _array([1.0]), "__etc__data": _array([1.0])}
        return [
            *every,
            _npz(**small, shape=_array([N, 5]), data=_npy_header((8,), "|O") + evil),
            _npz(**small, shape=_array([N, 1 << 25]), data=bomb),
            _npz(**{**small, "indices": bomb}, shape=_array([N, 1 << 25]), data=bomb),
            _npz(**small, **traversal),
            _npz(**small, shape=_array([1 << 60, 1 << 60]), data=_array([1.0])),
        ]
    if name.endswith(".gz"):
        return [*every, gzip.compress(b"1 " * (1 << 26)), gzip.compress(b"\n" * (1 << 26))]
    if name.endswith(".svm"):
        return [*every, b"1 99999999999999999999:1", b"1 2147483646:1\n", b"1 1:1e999"]
    if name.endswith(".jsonl"):
        deep = b'{"a":' * 100_000
        return [*every, deep, b'{"a": [1e999]}', b'{"a": ' + b"9" * 5000 + b"}"]
    return every


def read(path: Path) -> None:
    """Read all of a file."""
    if path.suffix == ".omvfs":
        OMVFS.load(path)
        return
    with open_source(path) as source:
        schema, n_rows = source.schema, 0
        for chunk in source.chunks(16):
            assert tuple(chunk.views.widths.values()) == schema.widths
            n_rows += len(chunk.views)
            # A few rows say enough of a file that claims to have very many.
            if n_rows > 5000:
                break


# Names of AnnData are read in a process of their own, which takes its time: a tenth of the others.
SELDOM = ("text.h5ad", "rows.h5mu")
# So that processes of one row in turn have kinds of their own, and need few whole files.
IN_A_ROW = 50
OFTEN = [kind for kind in KINDS if kind not in SELDOM]


def kind_of(number: int) -> tuple[str, int]:
    """Return the kind of a numbered file, and how many of that kind there were before."""
    turn, within = divmod(number, IN_A_ROW)
    every = [*OFTEN * 10, *SELDOM]
    kind = every[turn % len(every)]
    before = turn // len(every) * every.count(kind) + turn % len(every) // len(OFTEN)
    return kind, before * IN_A_ROW + within


def spliced(content: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with a piece of another in the place of its own, or all of it after a head."""
    if rng.random() < 0.2:
        head = int(rng.integers(min(512, len(content))))
        return content[:head] + rng.bytes(int(rng.integers(1, 200))) + content[head:]
    a, b = (int(rng.integers(len(each))) for each in (content, other))
    size = int(rng.integers(1, max(2, len(other) - b)))
    return content[:a] + other[b : b + size] + content[a + size * int(rng.integers(2)) :]


def damaged(numbers: range, seed: int) -> Iterator[Outcome]:
    """Read files of every format cut off, flipped, overwritten, spliced, or made with intent."""
    with place() as here:
        known = {kind: _whole(here, kind) for kind in {kind_of(n)[0] for n in numbers}}
        for number in numbers:
            kind, before = kind_of(number)
            rng = np.random.default_rng([seed, number, 8])
            intended = made_with_intent(kind) if before < IN_A_ROW else []
            if before < len(intended):
                content = intended[before]
            elif rng.random() < 0.2:
                other = known[sorted(known)[int(rng.integers(len(known)))]]
                content = spliced(known[kind], other, rng)
            else:
                content = cut_and_changed(known[kind], rng)
            path = here / kind
            path.write_bytes(content)
            yield tried(f"{number}: {kind}", lambda path=path: _read(path))


def _whole(here: Path, kind: str) -> bytes:
    path = here / kind
    path.parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind](path)
    read(path)
    return path.read_bytes()


def _read(path: Path) -> str:
    def work() -> None:
        no_more_memory(MOST_BYTES)
        no_more_computing(MOST_SECONDS)
        # Refused, as it may be.
        with suppress(SourceError, CheckpointError):
            read(path)

    return start(work).finish().wrong
