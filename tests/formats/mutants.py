"""Damages files at random and reads them: run as a process of its own, which must not end badly.

``python mutants.py KIND SEED COUNT FOLDER`` prints a line of JSON: how many files were read, how
many refused, the longest time of one in seconds of computing, and the growth of memory in bytes.
"""

import gzip
import io
import json
import pickle
import resource
import sys
import time
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet
from scipy.io import savemat

from omvfs import OMVFS, Views
from omvfs.formats import MAX_CHUNK_BYTES, SourceError, open_source, open_writer
from omvfs.persistence import CheckpointError

N = 40
RNG = np.random.default_rng(0)
TEXT = np.where(RNG.random((N, 12)) < 0.3, RNG.integers(1, 9, (N, 12)), 0).astype(float)
IMAGE = RNG.random((N, 5))
VIEWS = Views({"text": sp.csr_array(TEXT), "image": IMAGE})


def _by_writer(path):
    several = path.suffixes[0] in (".csv", ".jsonl", ".parquet", ".feather", ".h5mu")
    with open_writer(path) as writer:
        writer.append(VIEWS if several else VIEWS.only(["text"]))


def _npy(path):
    np.save(path, IMAGE)


def _uncompressed_npz(path):
    sp.save_npz(path, sp.csr_array(TEXT), compressed=False)


def _long_parquet(path):
    X = sp.coo_array(TEXT)
    table = pa.table({"row": X.row, "feature": [f"w{j}" for j in X.col], "value": X.data})
    parquet.write_table(table, path, row_group_size=50)


def _long_csv(path):
    X = sp.coo_array(TEXT)
    arrow_csv.write_csv(pa.table({"row": X.row, "feature": X.col, "value": X.data}), path)


def _packed_feather(path):
    columns = {f"text__{j}": TEXT[:, j] for j in range(12)}
    feather.write_feather(pa.table(columns), path, compression="zstd", chunksize=16)


def _mat5(path):
    savemat(path, {"text": sp.csc_array(TEXT), "image": IMAGE, "y": np.ones((N, 1))})


def _packed_mat5(path):
    cells = np.empty(2, object)
    cells[:] = [sp.csc_array(TEXT), IMAGE]
    savemat(path, {"X": cells, "name": "fox"}, do_compression=True)


def _mat7(path):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["image"] = IMAGE.T
        X = sp.csc_array(TEXT)
        group = file.create_group("text")
        group.attrs["MATLAB_sparse"] = np.uint64(N)
        group["data"], group["ir"], group["jc"] = X.data, X.indices, X.indptr
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def _checkpoint(path):
    OMVFS(2, batch_size=20, random_state=0).fit(VIEWS).save(path)


KINDS = {
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
    "v7/rows.mat": _mat7,
    "model.omvfs": _checkpoint,
}


def damaged(whole, rng):
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
    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle was run')",)


def _npy_header(shape, dtype="<f8"):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header = header.ljust(118 - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def _npz(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/") + ".npy", content)
    return file.getvalue()


def _array(values):
    file = io.BytesIO()
    np.save(file, np.asarray(values))
    return file.getvalue()


def hostile(name):
    """Return files made with intent, for some kinds."""
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


def read(path):
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


def computed():
    """Return the seconds that this process and those it waited for have computed."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main(name, seed, count, folder):
    """Read damaged files of a kind, and tell how it went."""
    path = Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    KINDS[name](path)
    whole = path.read_bytes()
    read(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = mapped + 2 * MAX_CHUNK_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    rng = np.random.default_rng([seed, *name.encode()])
    files = [*hostile(name), *(damaged(whole, rng) for _ in range(count))][:count]
    n_read, longest = 0, 0.0
    for i, content in enumerate(files):
        path.write_bytes(content)
        Path(folder, "last").write_text(str(i))
        began = computed()
        try:
            read(path)
            n_read += 1
        except (SourceError, CheckpointError):
            pass
        longest = max(longest, computed() - began)
        if computed() - began > 1:
            Path(folder, f"slow{i}").write_bytes(content)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    counts = {"files": len(files), "read": n_read, "refused": len(files) - n_read}
    sys.stdout.write(json.dumps({**counts, "longest": longest, "grown": grown}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
