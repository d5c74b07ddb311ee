"""Small chunks, and ways to spoil them."""

import numpy as np
import scipy.sparse as sp

from support import counts, dense, fingerprint


def good(seed, n_rows=15, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return {
        "text": sp.csr_array(counts(rng, n_rows, 8, dtype)),
        "image": counts(rng, n_rows, 5, dtype) + dtype(0.01),
    }


def everything(model):
    """Return every bit of a model but its parameters and the time it took."""
    held = sorted(vars(model).items())
    # What parameters were last found to be the same is no part of what was learned.
    return {name: fingerprint(value) for name, value in held if name != "_checked"}


def with_value(view, row, column, value):
    def change(chunk):
        block = dense(chunk[view]).copy()
        block[row, column] = value
        return {**chunk, view: sp.csr_array(block) if view == "text" else block}

    return change
