"""Files made to have others of the machine read: they are not even opened."""

import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from reliability.attempts import Outcome, first_wrong, one_of, ran, tried
from reliability.rows_at_hand import place, select

OPENED, READ = 0x20, 0x01
N, WIDTH = 40, 6
NUMBER = 8125.0


@contextmanager
def watched(*paths: Path) -> Iterator[Callable[[], bool]]:
    """Yield what tells whether anyone, in any process, has opened one of some files."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_NONBLOCK)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "files cannot be watched here")
    try:
        for path in paths:
            if libc.inotify_add_watch(descriptor, os.fsencode(path), OPENED | READ) < 0:
                raise OSError(ctypes.get_errno(), f"{path} cannot be watched")

        def touched() -> bool:
            try:
                return bool(os.read(descriptor, 4096))
            except BlockingIOError:
                return False

        yield touched
    finally:
        os.close(descriptor)


def _external_storage(group: Any, name: str, secret: Path) -> None:
    where = [(str(secret.with_suffix(".bin")), 0, h5py.h5f.UNLIMITED)]
    group.create_dataset(name, (N, WIDTH), "f8", external=where)


def _virtual(group: Any, name: str, secret: Path) -> None:
    layout = h5py.VirtualLayout((N, WIDTH), "f8")
    layout[:] = h5py.VirtualSource(str(secret), "X", (N, WIDTH))
    group.create_virtual_dataset(name, layout)


def _external_link(group: Any, name: str, secret: Path) -> None:
    group[name] = h5py.ExternalLink(str(secret), "X")


def _linked_parts(group: Any, name: str, secret: Path) -> None:
    X = group.create_group(name)
    X.attrs["encoding-type"], X.attrs["shape"] = "csr_matrix", (N, WIDTH)
    X.attrs["MATLAB_sparse"] = np.uint64(WIDTH)
    for part in ("data", "indices", "indptr", "ir", "jc"):
        X[part] = h5py.ExternalLink(str(secret), part)


def _linked_by_a_link(group: Any, name: str, secret: Path) -> None:
    group["elsewhere"] = h5py.ExternalLink(str(secret), "/")
    group[name] = h5py.SoftLink(f"{group.name.rstrip('/')}/elsewhere/X")


WAYS = {
    "external storage": _external_storage,
    "a virtual dataset": _virtual,
    "an external link": _external_link,
    "parts by links": _linked_parts,
    "a link to a link": _linked_by_a_link,
}


def _h5ad(path: Path, way: Any, secret: Path) -> None:
    with h5py.File(path, "w") as file:
        way(file, "X", secret)


def _h5ad_names(path: Path, way: Any, secret: Path) -> None:
    with h5py.File(path, "w") as file:
        file["X"] = np.ones((N, WIDTH))
        var = file.create_group("var")
        var.attrs["_index"] = "names"
        var["names"] = h5py.ExternalLink(str(secret), "names")


def _h5mu(path: Path, way: Any, secret: Path) -> None:
    with h5py.File(path, "w") as file:
        way(file.create_group("mod/text"), "X", secret)


def _mat(path: Path, way: Any, secret: Path) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        way(file, "text", secret)
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def _parquet(path: Path, way: Any, secret: Path) -> None:
    table = secret.with_suffix(".parquet")
    about = parquet.read_metadata(table)
    about.set_file_path(table.name)
    about.write_metadata_file(path)


KINDS = {
    "text.h5ad": _h5ad,
    "names.h5ad": _h5ad_names,
    "rows.h5mu": _h5mu,
    "rows.mat": _mat,
    "rows.parquet": _parquet,
}
MADE = [
    (name, way)
    for name in KINDS
    for way in (WAYS if name in ("text.h5ad", "rows.h5mu", "rows.mat") else ["names"])
]
COMMANDS = ("info", "convert", "select")


def _secrets(here: Path) -> tuple[Path, ...]:
    secret = here / "secret.h5"
    X = np.full((N, WIDTH), NUMBER)
    with h5py.File(secret, "w") as file:
        file["X"], file["data"] = X, X.ravel()
        file["indices"] = file["ir"] = np.tile(np.arange(WIDTH), N)
        file["indptr"], file["jc"] = np.arange(N + 1) * WIDTH, np.arange(WIDTH + 1) * N
        file["names"] = [f"secret {j}" for j in range(WIDTH)]
    raw, table = secret.with_suffix(".bin"), secret.with_suffix(".parquet")
    raw.write_bytes(struct.pack(f"{N * WIDTH}d", *X.ravel()))
    parquet.write_table(pa.table({f"f{j}": X[:, j] for j in range(WIDTH)}), table)
    return secret, raw, table


def intruders(numbers: range, seed: int) -> Iterator[Outcome]:
    """Read files whose parts are said to be in other files of the machine."""
    for number in numbers:
        (name, way), turn = one_of(MADE, number)
        does = COMMANDS[turn % len(COMMANDS)]
        yield tried(f"{number}: {does} {name}, {way}", lambda n=name, w=way, d=does: _try(n, w, d))


def _try(name: str, way: str, does: str) -> str:
    with place() as here:
        secrets = _secrets(here)
        (here / "given").mkdir()
        path, out = here / "given" / name, here / "out"
        KINDS[name](path, WAYS.get(way), secrets[0])
        arguments: tuple[Any, ...] = (does, path)
        if does == "convert":
            arguments = (does, path, "-o", here / "out.csv")
        if does == "select":
            arguments = select(path, out)
        with watched(*secrets) as touched:
            done = ran(*arguments)
            return first_wrong(
                lambda: done.wrong,
                lambda: "another file was opened" if touched() else "",
                lambda: "taken for whole" if done.code == 0 and name != "rows.parquet" else "",
            )
