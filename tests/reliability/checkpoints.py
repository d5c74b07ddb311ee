"""Checkpoints with false contents and a true checksum: refused, or as good as any other."""

import copy
import json
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import save

from omvfs import OMVFS, OMVFSPaper, persistence
from omvfs.persistence import CheckpointError
from reliability.attempts import (
    MOST_SECONDS,
    Outcome,
    no_more_computing,
    no_more_memory,
    one_of,
    start,
    tried,
)
from reliability.rows_at_hand import place
from support import clustered, counts

# What a file of some kilobytes may take.
MOST_BYTES = 1 << 29
N_ROWS, WIDTHS = 30, (12, 5)
Arrays = dict[str, Any]

LEAVES = (
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    3,
    2**31 - 1,
    2**31,
    2**63,
    10**30,
    150_000_000,
    -(10**12),
    0.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "auto",
    "paper",
    "\x00",
    [],
    {},
    [0],
    {"slice": [0, 10**12, 1]},
    {"map": [["text", 1]]},
    {"map": 3},
    {"array": ["float64", [10**12]]},
    {"sparse": ["csr_array", [2**40, 2**40]]},
    {"names": 1},
)


def rows(seed: int = 0, dtype: Any = np.float64) -> dict[str, Any]:
    """Return a chunk."""
    rng = np.random.default_rng(seed)
    text = counts(rng, N_ROWS, WIDTHS[0], dtype) + dtype(0.1)
    image = clustered(rng, N_ROWS, WIDTHS[1], dtype=dtype)[0] + dtype(0.01)
    return {"text": sp.csr_array(text), "image": image}


def _plain() -> OMVFS:
    wide = np.hstack([rows()["text"].toarray(), rows()["image"]])
    names = np.array([f"c{j}" for j in range(17)], object)
    model = OMVFS(
        2, views={"a": [0, 2, 4], "b": slice(5, 17)}, remainder="drop", n_init=2, random_state=0
    )
    import pandas as pd

    return model.fit(pd.DataFrame(wide, columns=names))


MODELS: tuple[Callable[[], OMVFS], ...] = (
    lambda: OMVFS(3, batch_size=10, sample_size=25, n_init=2, random_state=0).fit(rows()),
    lambda: OMVFS(2, scale_columns=True, n_init=2, random_state=0).fit(rows(dtype=np.float32)),
    lambda: OMVFSPaper(2, max_iter=3, random_state=0).fit(rows()),
    lambda: OMVFS(2, negative="shift", half_life=100, n_init=2, random_state=0).fit(
        {name: np.asarray(X.toarray() if sp.issparse(X) else X) - 0.2 for name, X in rows().items()}
    ),
    _plain,
)


def written(path: Path, arrays: Arrays, text: str) -> None:
    """Write a file of which everything is true but what it says."""
    solid = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    solid["tree"] = np.frombuffer(text.encode(), np.uint8)
    about = {"format": persistence.FORMAT, "version": str(persistence.VERSION)}
    about["sha256"] = persistence._digest(solid)
    path.write_bytes(save(solid, {"omvfs": json.dumps(about)}))


# Of arrays


def _changed_array(array: Any, rng: np.random.Generator) -> Any:
    array = array.copy()
    flat = array.reshape(-1)
    at = int(rng.integers(flat.size)) if flat.size else 0
    kind = int(rng.integers(12))
    if kind <= 4 and flat.size:
        flat[at : at + int(rng.integers(1, 4))] = _extreme(array.dtype, rng)
    elif kind == 5:
        array = array[: int(rng.integers(len(array) + 1))] if array.ndim else array
    elif kind == 6:
        array = np.concatenate([array, array])
    elif kind == 7:
        array = array.astype(rng.choice(["f4", "f8", "i4", "i8", "u1", "bool", "f2"]))
    elif kind == 8:
        array = array.reshape(-1)[: flat.size // 2 * 2].reshape(2, -1)
    elif kind == 9:
        array = np.zeros((0,) * int(rng.integers(1, 4)), array.dtype)
    elif kind == 10:
        array = array[::-1]
    else:
        array = rng.permuted(array, axis=0)
    return array


def _extreme(dtype: Any, rng: np.random.Generator) -> Any:
    if dtype.kind == "f":
        top = np.finfo(dtype)
        return rng.choice([np.nan, np.inf, -np.inf, top.max, top.min, top.tiny, -1, 0, 1e30])
    if dtype.kind in "iu":
        top = np.iinfo(dtype)
        return rng.choice(np.array([top.max, top.min, 0, 1, 2, top.max // 2], dtype))
    return True


def _false_pointers(arrays: Arrays, rng: np.random.Generator) -> None:
    """Make the pointers of a sparse matrix fall, wrap, or lead far away."""
    names = [name for name in arrays if name.endswith("/indptr")]
    if not names:
        return
    name = names[int(rng.integers(len(names)))]
    wide = rng.random() < 0.5
    old = arrays[name]
    if old.ndim != 1 or old.size < 2:
        # Changed before.
        return
    new = old.astype(np.int64 if wide else np.int32)
    last, far = int(new[-1]), 2**30 if rng.random() < 0.5 else 2**31 - 1
    match int(rng.integers(6)):
        case 0:
            new[1:-1], new[-1] = far, 0
        case 1:
            new[1:-1] = far
        case 2 if new.size > 3:
            new[1], new[2] = 2**31 - 1, -(2**31)
            new[3:-1] = -1
        case 3:
            new[-1] = 0
        case 4:
            new[0] = -last
        case _:
            new[1:-1] = rng.integers(-last, 2 * last + 1, new.size - 2)
    arrays[name] = new
    if wide and rng.random() < 0.5:
        arrays[name.replace("indptr", "indices")] = arrays[
            name.replace("indptr", "indices")
        ].astype(np.int64)


def _changed_arrays(arrays: Arrays, rng: np.random.Generator) -> None:
    name = sorted(arrays)[int(rng.integers(len(arrays)))]
    match int(rng.integers(10)):
        case 0:
            del arrays[name]
        case 1:
            other = sorted(arrays)[int(rng.integers(len(arrays)))]
            arrays[name], arrays[other] = arrays[other], arrays[name]
        case 2 | 3 | 4:
            _false_pointers(arrays, rng)
        case _:
            arrays[name] = _changed_array(arrays[name], rng)


# Of the rest


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)):
        found.append((value, key))
        if isinstance(value[key], dict | list):
            _places(value[key], found)
    return found


def _changed_meta(meta: Any, rng: np.random.Generator) -> None:
    places = _places(meta, [])
    holder, key = places[int(rng.integers(len(places)))]
    match int(rng.integers(8)):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.extend(holder * int(rng.integers(1, 100)))
        case 2 if isinstance(holder, dict):
            holder["strange"] = 1
        case 3:
            other, which = places[int(rng.integers(len(places)))]
            if which in (other if isinstance(other, dict) else range(len(other))):
                holder[key] = copy.deepcopy(other[which])
        case 4:
            value = holder[key]
            if type(value) in (int, float):
                holder[key] = value * int(rng.choice([-1, 2, 10, 10**6, 10**9]))
        case _:
            holder[key] = copy.deepcopy(LEAVES[int(rng.integers(len(LEAVES)))])


def _text(meta: Any, rng: np.random.Generator) -> str:
    text = json.dumps(meta, sort_keys=True)
    if rng.random() < 0.01:
        deep = int(rng.choice([100, 5000, 100_000]))
        return text[:-1] + ', "deep": ' + "[" * deep + "]" * deep + "}"
    return text


def hostile(numbers: range, seed: int) -> Iterator[Outcome]:
    """Load and use checkpoints whose arrays and values are false and whose checksum is true."""
    with place() as here:
        known = []
        for i, make in enumerate(MODELS):
            extra = {"cursor": {"row": N_ROWS}, "prepare": ["l2"], "source": {"kind": "any"}}
            make().save(here / str(i), extra)
            known.append(persistence.read(here / str(i)))
        path = here / "model"
        for number in numbers:
            rng = np.random.default_rng([seed, number, 9])
            (arrays, meta), _ = one_of(known, number)
            arrays, meta = dict(arrays), copy.deepcopy(meta)
            for _ in range(int(rng.integers(1, 4))):
                if rng.random() < 0.5 or not meta:
                    _changed_arrays(arrays, rng)
                else:
                    _changed_meta(meta, rng)
            written(path, arrays, _text(meta, rng))
            yield tried(f"{number}: of model {number % len(MODELS)}", lambda: _loaded(path))


def _loaded(path: Path) -> str:
    return start(lambda: _use(path)).finish().wrong


def _use(path: Path) -> None:
    """Load a model and do with it what one does; errors that nobody meant are let through."""
    no_more_memory(MOST_BYTES)
    no_more_computing(MOST_SECONDS)
    try:
        model = OMVFS.load(path)
    except CheckpointError:
        return
    # What would take long if it were typed takes long.
    asked = max(getattr(model, name, 0) or 0 for name in ("n_init", "max_iter", "n_clusters"))
    if 10_000 < asked < 2**63:
        return
    schema = model.schema_
    rng = np.random.default_rng(0)
    chunk: Any = {
        name: rng.random((8, width))
        for name, width in zip(schema.names, schema.widths, strict=True)
    }
    if model._plain:
        chunk = rng.random((8, model.n_features_in_))
    for do in (
        lambda: model.view_scores_,
        lambda: model.window_labels_,
        lambda: model.predict(chunk),
        lambda: model.transform(chunk),
        lambda: model.partial_fit(chunk).view_ranking_,
        lambda: model.save(path.with_name("again")),
        lambda: OMVFS.load(path.with_name("again")),
    ):
        try:
            do()
        except ValueError as error:
            # One of ours, that says what is wrong; or numbers that no algebra can help.
            last = traceback.extract_tb(error.__traceback__)[-1]
            if "/omvfs/" not in last.filename and not isinstance(error, np.linalg.LinAlgError):
                raise
