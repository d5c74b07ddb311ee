"""Values at the ends of their range: finite results, or an error and nothing changed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from faults import everything
from omvfs import OMVFS, OMVFSPaper
from reliability.attempts import (
    MOST_BYTES,
    MOST_SECONDS,
    Outcome,
    no_more_computing,
    no_more_memory,
    start,
    tried,
)
from support import clustered, counts

VALUES = (
    0.0,
    -0.0,
    5e-324,
    1e-310,
    2.3e-308,
    1e-200,
    1e-45,
    1e-38,
    1e38,
    3.4e38,
    1e150,
    1.3e154,
    1e200,
    1e300,
    1.7e308,
    np.inf,
    -np.inf,
    np.nan,
    -1e-300,
    -1.0,
    -1e300,
    2.0**53 + 2,
)
DTYPES = ("f8", "f4", "f2", "i8", "i4", "u1", "bool")
PATTERNS = ("cell", "row", "column", "all", "many")


def _spoilt(block: Any, value: float, pattern: str, rng: np.random.Generator) -> Any:
    block = block.astype(float)
    i, j = (int(rng.integers(n)) for n in block.shape)
    match pattern:
        case "cell":
            block[i, j] = value
        case "row":
            block[i] = value
        case "column":
            block[:, j] = value
        case "all":
            block[:] = value
        case "many":
            block[rng.random(block.shape) < 0.3] = value
    return block


def _chunk(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "text": 9 * counts(rng, 15, 8) + 0.01,
        "image": 9 * clustered(rng, 15, 5)[0] + 0.01,
    }


def _as(chunk: dict[str, Any], dtype: str, sparse: bool) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        cast = {name: X.astype(dtype) for name, X in chunk.items()}
    # SciPy has no sparse matrix of halves.
    if sparse and dtype != "f2":
        cast["text"] = sp.csr_array(cast["text"])
    return cast


def _model(rng: np.random.Generator) -> OMVFS:
    common = {"random_state": 0, "negative": str(rng.choice(["error", "clip", "shift"]))}
    if rng.random() < 0.25:
        return OMVFSPaper(3, max_iter=5, **common)
    return OMVFS(
        3,
        n_init=2,
        sample_size=40,
        scale_columns=bool(rng.random() < 0.3),
        criterion=str(rng.choice(["separation", "balanced", "norm"])),
        graph=str(rng.choice(["neighbors", "gaussian", "none"])),
        half_life=[None, 10.0, 1e-300][rng.integers(3)],
        **common,
    )


def extremes(numbers: range, seed: int) -> Iterator[Outcome]:
    """Learn from infinities, missing values, denormals and numbers whose squares overflow."""
    for number in numbers:
        rng = np.random.default_rng([seed, number, 11])
        value, pattern = VALUES[number % len(VALUES)], str(rng.choice(PATTERNS))
        dtype = str(rng.choice(DTYPES)) if rng.random() < 0.3 else "f8"
        name = f"{number}: {value} in {pattern}, {dtype}"

        def work(rng=rng, value=value, pattern=pattern, dtype=dtype) -> None:  # type: ignore[no-untyped-def]
            no_more_memory(MOST_BYTES)
            no_more_computing(MOST_SECONDS)
            _learn(rng, value, pattern, dtype)

        yield tried(name, lambda work=work: start(work).finish().wrong)


def _learn(rng: np.random.Generator, value: float, pattern: str, dtype: str) -> None:
    model, sparse = _model(rng), bool(rng.random() < 0.5)
    for i in range(4):
        chunk = _chunk(i)
        if i == 1 or pattern == "all" or rng.random() < 0.3:
            with np.errstate(all="ignore"):
                view = str(rng.choice(["text", "image"]))
                chunk[view] = _spoilt(chunk[view], value, pattern, rng)
        given = _as(chunk, dtype, sparse)
        before = everything(model)
        try:
            model.partial_fit(given)
        except ValueError:
            assert everything(model) == before, "changed by a call that failed"
        else:
            _check(model, _as(_chunk(9), dtype, sparse))


def _check(model: OMVFS, rows: Any) -> None:
    try:
        scores, ranking = model.view_scores_, model.view_ranking_
        labels = model.predict(rows)
    except ValueError:
        return
    for view in scores:
        assert np.isfinite(scores[view]).all(), f"scores of {view} that are not finite"
        ranks = sorted(ranking[view].tolist())
        assert ranks == list(range(1, len(ranks) + 1)), f"ranks of {view} are {ranks}"
    assert np.isfinite(np.concatenate([V.ravel() for V in model.V_.values()])).all(), "V"
    assert ((labels >= 0) & (labels < 3)).all(), "labels"
