"""Rows to check selectors on: small ones of two views, and such as must be refused."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

WIDTHS = {"text": 9, "image": 6}


def make_views(n_rows: int = 50, dtype: Any = np.float64, kind: Any = np.asarray) -> dict[str, Any]:
    """Return nonnegative rows of two views, half of the values zeros, and two columns of each."""
    rng = np.random.default_rng(3)
    blocks = {}
    for name, width in WIDTHS.items():
        X = rng.random((n_rows, width)) * (rng.random((n_rows, width)) < 0.5)
        X[:, [2, 4]] = 0
        blocks[name] = kind(X.astype(dtype))
    return blocks


def wide_rows() -> NDArray[Any]:
    """Return the same rows as one array."""
    return np.hstack(list(make_views().values()))


def dense(X: Any) -> NDArray[Any]:
    """Return values as an array, wherever they were."""
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def bad_rows(positive: bool) -> dict[str, Any]:
    """Return what no selector can read by what is wrong with it.

    Parameters
    ----------
    positive : bool
        Whether negative values are wrong.
    """
    data = make_views(20)
    image = data["image"]
    values = {"NaN": np.nan, "infinity": np.inf} | ({"a negative value": -1.0} if positive else {})
    found: dict[str, Any] = {}
    for name, value in values.items():
        found[name] = {**data, "image": image.copy()}
        found[name]["image"][3, 1] = value
    return found | {
        "a view with fewer rows": {**data, "image": image[:3]},
        "a view of words": {**data, "image": np.full(image.shape, "word")},
        "a view of one dimension": {**data, "image": image[:, 0]},
        "no rows": {view: X[:0] for view, X in data.items()},
        "no views": {},
        "None": None,
    }


def other_rows() -> dict[str, Any]:
    """Return rows that a selector of `make_views` cannot read, though another may."""
    data = make_views(20)
    return {
        "a view missing": {"text": data["text"]},
        "a view too many": {**data, "sound": data["text"]},
        "a view of another name": {"words": data["text"], "image": data["image"]},
        "a view of another width": {**data, "image": data["image"][:, :-1]},
        "one array": wide_rows(),
    }
