"""What several tests share: small data, and a look at every array that a model holds."""

import hashlib
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from omvfs.data import read as reading
from omvfs.data import views as views_module
from omvfs.model.sample import Sample
from omvfs.selector import StreamSelector

WORDS = [f"wörd {j}" for j in range(20)]
KINDS = {"dense": np.asarray, "csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}


def counts(rng, n_rows, width, dtype=np.float64, density=0.5):
    """Nonnegative rows, many of them zeros, with fractions that show any rounding."""
    mask = rng.random((n_rows, width)) < density
    return (rng.random((n_rows, width)) * mask).astype(dtype)


# Views with little in them: rows all alike, one row or column, very large or small values.
ODD = {
    "zeros": np.zeros((5, 3)),
    "ones": np.ones((5, 3)),
    "one row": np.array([[1.0, 0.0, 2.0]]),
    "one column": np.arange(5.0)[:, np.newaxis],
    "two different rows": np.repeat([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 5, axis=0),
    "orthogonal rows": np.eye(5),
    "empty rows": np.vstack([np.eye(3), np.zeros((3, 3))]),
    "large": 1e6 * counts(np.random.default_rng(0), 4, 9),
    "small": 1e-6 * counts(np.random.default_rng(0), 12, 6),
    "negative": np.random.default_rng(0).standard_normal((12, 6)),
}


def clustered(rng, n_rows, width, n_clusters=3, dtype=np.float64):
    """Rows of clear clusters over noise, and their labels."""
    labels = rng.integers(n_clusters, size=n_rows)
    own = np.arange(width) % n_clusters == labels[:, np.newaxis]
    X = rng.random((n_rows, width)) * (0.05 + own) * (rng.random((n_rows, width)) < 0.9)
    return X.astype(dtype), labels


def connected_graph(rng, n):
    """Symmetric weights without any symmetry of the rows: its eigenvalues are all different."""
    S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), k=1)
    S[np.arange(n - 1), np.arange(1, n)] += 0.1
    return S + S.T


def recovered(planted, scores):
    """Return by view the share of planted features among as many of the best by score."""
    return {
        view: truth[np.argsort(-scores[view], kind="stable")[: truth.sum()]].mean()
        for view, truth in planted.informative.items()
    }


def write_words(path, n_rows):
    """Write a folder of a sparse view of 20 words and a dense one without names."""
    rng = np.random.default_rng(0)
    path.mkdir()
    sp.save_npz(path / "view_0_text.npz", sp.csr_array(counts(rng, n_rows, 20)))
    np.save(path / "view_1_image.npy", counts(rng, n_rows, 8))
    (path / "features_0_text.txt").write_text("\n".join(WORDS), encoding="utf-8")
    return path


def dense(block):
    return block.toarray() if sp.issparse(block) else np.asarray(block)


def damaged(data, content, most=4):
    """Return bytes as hypothesis damages them: cut off, up to `most` of them changed."""
    content = bytearray(content)
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    for _ in range(data.draw(st.integers(0, most))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    return bytes(content)


def reads_of_blocks(monkeypatch):
    """Return a dict that holds for every view the rows of each block that is read from now on."""
    read, reads = reading.read_block, {}

    def counted(X, view=None):
        block, labels = read(X, view)
        reads.setdefault(view, []).append(block.shape[0])
        return block, labels

    for module in (reading, views_module):
        monkeypatch.setattr(module, "read_block", counted)
    return reads


def check_updates(found, updates, value_of, rounding, may_rise=(), **close):
    """Check that no update raises the objective as written, and that `found` knows its value."""
    value = value_of()
    for update in updates:
        getattr(found, update)()
        before, value = value, value_of()
        if update not in may_rise:
            assert value <= before + rounding * (1 + before), update
        assert found.objective() == pytest.approx(value, **close)


def fingerprint(thing):
    """Return every bit that a thing holds, random generators included, in a form that compares.

    Fields that do not take part in comparison, such as caches, are left out.
    """
    if sp.issparse(thing):
        parts = (thing.data, thing.indices, thing.indptr)
        return (type(thing).__name__, thing.shape, *map(fingerprint, parts))
    if isinstance(thing, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()
        return thing.dtype.str, thing.shape, digest
    if isinstance(thing, np.random.Generator):
        return fingerprint(thing.bit_generator.state)
    if is_dataclass(thing) and getattr(thing, "seconds", 0):  # what happened in a chunk
        return fingerprint(replace(thing, seconds=0))
    if isinstance(thing, Sample) and len(thing.pieces) > 1:
        # How its rows came does not matter.
        return fingerprint(thing.compact())
    if is_dataclass(thing):
        held = [f.name for f in fields(thing) if f.compare]
        return (type(thing).__name__, *((name, fingerprint(getattr(thing, name))) for name in held))
    if isinstance(thing, StreamSelector):
        return fingerprint((thing._known, thing._history))
    if isinstance(thing, dict):
        return tuple((key, fingerprint(value)) for key, value in thing.items())
    if isinstance(thing, list | tuple):
        return tuple(map(fingerprint, thing))
    return repr(thing)


def nbytes(thing):
    """Return the memory of every array that a thing holds, those it only views a part of whole."""
    if sp.issparse(thing):
        return sum(map(nbytes, (thing.data, thing.indices, thing.indptr)))
    if isinstance(thing, np.ndarray):
        return nbytes(thing.base) if isinstance(thing.base, np.ndarray) else thing.nbytes
    if is_dataclass(thing):
        return sum(nbytes(getattr(thing, f.name)) for f in fields(thing))
    if isinstance(thing, dict):
        return sum(map(nbytes, thing.values()))
    if isinstance(thing, list | tuple):
        return sum(map(nbytes, thing))
    return 0
