"""Small rows in every format, what a command made of them, and whether that is whole."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp

from faults import everything
from omvfs import OMVFS, Views
from omvfs.formats import open_source, open_writer
from support import clustered, counts, dense

N_ROWS, BATCH = 60, 10
# By what a file is called; those that hold one view get one.
NAMES = (
    "folder",
    "rows.parquet",
    "rows.feather",
    "rows.csv",
    "rows.csv.gz",
    "rows.jsonl",
    "rows.jsonl.zst",
    "rows.h5mu",
    "rows.mat",
    "text.h5ad",
    "text.svm",
    "text.npz",
    "image.npy",
)
CONFIG = "[parameters]\nsample_size = 40\n"


def views(wider: int = 1) -> Views:
    """Rows of two views, one sparse and one dense, with names."""
    rng, text, image = np.random.default_rng(0), 12 * wider, 6 * wider
    blocks = {
        "text": sp.csr_array(counts(rng, N_ROWS, text) + np.eye(N_ROWS, text)),
        "image": clustered(rng, N_ROWS, image)[0] + 0.01,
    }
    return Views(blocks).named(
        {"text": [f"word {j}" for j in range(text)], "image": [f"p{j}" for j in range(image)]}
    )


def write(path: Path, rows: Views) -> Path:
    """Write rows, only those of the view that a file is called after if it is called so."""
    own = path.name.partition(".")[0]
    with open_writer(path) as writer:
        writer.append(rows.only([own]) if own in rows.names else rows)
    return path


def select(
    data: Path | str, out: Path, *more: str, n: int = 3, every: int = 1
) -> tuple[str | Path, ...]:
    """Return the arguments of a short run over some rows."""
    config = Path.cwd() / "fault.toml"
    batch, often = str(BATCH), str(every)
    options = ("-k", "3", "-n", str(n), "--batch-size", batch, "--checkpoint-every", often)
    return "select", data, "-o", out, *options, "--config", config, *more


def content(path: Path) -> Any:
    """Return a digest of all rows of some data, and what they are called; or why it has none."""
    digest = hashlib.sha256()
    try:
        with open_source(path) as source:
            for chunk in source.chunks(25):
                for block in chunk.views.blocks.values():
                    digest.update(np.ascontiguousarray(dense(block), np.float64).tobytes())
            schema = source.schema
    except (ValueError, OSError) as error:
        return str(error)
    return schema.names, schema.widths, schema.feature_names, digest.hexdigest()


RESULTS = ("ranking.csv", "ranking.json", "run.json")


def results(out: Path) -> dict[str, Any]:
    """Return all that a run has left, in a form that compares."""
    found: dict[str, Any] = {
        name: (out / name).read_bytes() for name in RESULTS if (out / name).exists()
    }
    if (out / "model.omvfs").exists():
        found["model.omvfs"] = everything(OMVFS.load(out / "model.omvfs"))
    if (out / "data").exists():
        found["data"] = data_of(out / "data")
    return found


def data_of(folder: Path) -> Any:
    """Return the contents of what was written for selected features: a folder, or files in it."""
    if any(folder.glob("view_*")):
        return content(folder)
    return {file.name: content(file) for file in sorted(folder.iterdir()) if file.name[0] != "."}


def differing(found: dict[str, Any], expected: dict[str, Any]) -> str:
    """Say what of the results is not as expected, empty if all is."""
    others = [k for k in {**found, **expected} if found.get(k) != expected.get(k)]
    missing = [name for name in others if name not in found]
    return f"not the same: {others}, missing: {missing}" if others else ""


def leftovers(folder: Path, ready: bool = False) -> str:
    """Say what has been left in a folder and below that nobody asked for.

    What a command that failed has ready may wait for the next one to put it in its place.
    """
    found = [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if (path.name.startswith(".") or path.suffix in (".part", ".tmp"))
        and "lock" not in path.name
        and not (ready and path.name == ".omvfs.ready")
    ]
    return f"left behind: {sorted(found)}" if found else ""


@contextmanager
def place() -> Iterator[Path]:
    """Have a folder of one's own to work in, gone afterwards."""
    before = Path.cwd()
    with TemporaryDirectory(prefix="faults-") as folder:
        os.chdir(folder)
        Path("fault.toml").write_text(CONFIG, encoding="utf-8")
        try:
            yield Path(folder)
        finally:
            os.chdir(before)
