"""MATLAB's files as scipy writes them, and by hand."""

import io
import struct

import numpy as np
from scipy.io import savemat

from support import counts, dense

X = counts(np.random.default_rng(0), 20, 6)


def saved(variables, **how):
    file = io.BytesIO()
    savemat(file, variables, **how)
    return file.getvalue()


def cell(*contents):
    cells = np.empty((1, len(contents)), object)
    for place, each in enumerate(contents):
        cells[0, place] = each
    return cells


def put(folder, content):
    path = folder / "x.mat"
    path.write_bytes(content)
    return path


def rows_of(source, batch_size=7):
    chunks = list(source.chunks(batch_size))
    assert all(chunk.views.names == source.schema.names for chunk in chunks)
    return {
        name: np.vstack([dense(chunk.views[name]) for chunk in chunks])
        for name in source.schema.names
    }


def element(order, kind, content):
    if 0 < len(content) <= 4:
        return struct.pack(f"{order}I", len(content) << 16 | kind) + content.ljust(4, b"\0")
    return struct.pack(f"{order}2I", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(order, kind, shape, parts, name=b"A", flags=0, dimensions=None):
    content = (
        element(order, 6, struct.pack(f"{order}2I", flags << 8 | kind, 0))
        + element(order, 5, struct.pack(f"{order}{len(shape)}i", *shape))
        + element(order, 1, name)
        + b"".join(element(order, *part) for part in parts)
    )
    return element(order, 14, content)


def header(order):
    return (
        b"MATLAB 5.0 MAT-file".ljust(124)
        + struct.pack(f"{order}H", 0x0100)[:2]
        + (b"IM" if order == "<" else b"MI")
    )
