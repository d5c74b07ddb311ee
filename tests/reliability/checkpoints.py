"""Checkpoints with false contents and a true checksum: refused, or as good as any other."""

import copy
import json
import pickle
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import save

from omvfs import OMVFS, codec
from omvfs.codec import CheckpointError, Decoder, Encoder
from reliability.attempts import (
    MOST_SECONDS,
    Outcome,
    no_more_computing,
    no_more_memory,
    start,
    tried,
)
from reliability.rows_at_hand import place
from support import counts

# What a file of some kilobytes may take.
MOST_BYTES = 1 << 29
NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 0.5, -0.5, -0.0, 1e-300, 1e300, 1e308, -1e300),
    *(float("inf"), float("nan"), 10**3, 10**6, 150_000_000, -(10**12)),
    *(2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 10**30, 10**400),
)
VALUES = (
    *NUMBERS,
    *(True, False, None, "", "x", "auto", "norm", "grow", "shift", "\x00", "\ud800"),
    *([], [0], [[0]], ["x"], {}, {"x": 1}, {"slice": [0, 10**12, 1]}, {"slice": [None] * 9}),
    *({"map": []}, {"map": [["text", 1]]}, {"map": 3}, {"names": 1}),
    *({"array": "0"}, {"array": "none"}, {"sparse": ["csr_array", [2**40, 2**40], "0", "1", "2"]}),
)
DTYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u4", "u8", "bool")
Arrays = dict[str, Any]


def rows(n: int = 20, seed: int = 0) -> dict[str, Any]:
    """Return a chunk."""
    rng = np.random.default_rng(seed)
    return {"text": sp.csr_array(counts(rng, n, 12)), "image": counts(rng, n, 5)}


def models() -> list[OMVFS]:
    """Return models of several kinds that have learned."""
    own: dict[str, Any] = {"random_state": 0, "n_features_per_view": 3}
    split = np.random.default_rng(1).random((20, 17))
    prepared = ["text:tfidf", "scale", "l2"]
    halves = (OMVFS(2, prepare=prepared, **own).fit(rows(10, seed)) for seed in (2, 3))
    single = {name: X.astype(np.float32) for name, X in rows().items()}
    return [
        OMVFS(3, sample_size=10, batch_size=10, **own).fit(rows()),
        OMVFS(2, sample_size=80, prepare="scale", half_life=100, **own).fit(single),
        OMVFS(2, sample_size=50, **own).fit(split - 0.5),
        OMVFS(2, views={"a": [3, 1, 0, 2], "b": slice(4, 17)}, **own).fit(split),
        OMVFS(2, prepare=prepared, **own).fit(rows()),
        OMVFS.merge(*halves),
        OMVFS(2, sample_size=80, detect_drift=True, **own).fit(rows(1300)),
        OMVFS(2, new_features="grow", **own).fit(rows()),
    ]


def written(path: Path, arrays: Arrays, text: str) -> None:
    """Write a file of which everything is true but what it says."""
    solid = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    solid["tree"] = np.frombuffer(text.encode(), np.uint8)
    about = {"format": codec.FORMAT, "version": str(codec.VERSION)}
    about["sha256"] = codec._digest(solid)
    path.write_bytes(save(solid, {"omvfs": json.dumps(about)}))


def spoilt(arrays: Arrays, tree: Any, rng: np.random.Generator) -> tuple[Arrays, Any]:
    """Return a checkpoint with one to three of its arrays and values changed."""
    kinds = rng.random(int(rng.integers(1, 4)))
    arrays, tree = dict(arrays), copy.deepcopy(tree)
    if n := int((kinds < 0.4).sum()):
        # Each array by itself, all others staying in their places.
        held = _with_arrays(tree, Decoder(arrays)._array)
        for _ in range(n):
            _spoil_held(held, rng)
        encoder = Encoder()
        tree, arrays = _with_arrays(held, encoder._array), encoder.tensors
    for kind in kinds[kinds >= 0.4]:
        if kind < 0.8:
            _spoil_value(tree, rng)
        elif arrays:
            _spoil_tensor(arrays, rng)
    return arrays, tree


def _with_arrays(node: Any, do: Callable[..., Any]) -> Any:
    """Return a tree with something else in the place of each array, in the order of the codec."""

    if type(node) is list:
        return [_with_arrays(each, do) for each in node]
    if type(node) is not dict:
        return node
    kind = next(iter(node), None)
    if kind == "array":
        return {kind: do(node[kind])}
    if kind in ("sparse", "names", "vocabulary"):
        own, first = node[kind], 2 if kind == "sparse" else 0
        return {kind: [*own[:first], *map(do, own[first:])]}
    return {key: _with_arrays(each, do) for key, each in node.items()}


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)):
        found.append((value, key))
        if isinstance(value[key], dict | list):
            _places(value[key], found)
    return found


def _spoil_held(tree: Any, rng: np.random.Generator) -> None:
    """Change one of the arrays in a tree, or the pointers of a sparse one."""
    places = _places(tree, [])
    arrays = [(node, key) for node, key in places if isinstance(node[key], np.ndarray)]
    sparse = [node[key] for node, key in places if key == "sparse"]
    if sparse and rng.random() < 0.3:
        _false_pointers(sparse[int(rng.integers(len(sparse)))], rng)
        return
    node, key = arrays[int(rng.integers(len(arrays)))]
    node[key] = _changed(node[key], rng)


def _changed(array: Any, rng: np.random.Generator) -> Any:
    array = array.copy()
    flat, kind = array.reshape(-1), int(rng.integers(12))
    if kind <= 4 and flat.size:
        at = int(rng.integers(flat.size))
        flat[at : at + int(rng.integers(1, 4))] = _extreme(array.dtype, rng)
    elif kind == 5 and flat.size:
        flat[:] = _extreme(array.dtype, rng)
    elif kind == 6:
        array = array[: int(rng.integers(len(array) + 1))] if array.ndim else array
    elif kind == 7:
        array = np.concatenate([array, array]) if array.ndim else array
    elif kind == 8:
        with np.errstate(all="ignore"):
            array = array.astype(DTYPES[rng.integers(len(DTYPES))])
    elif kind == 9:
        shapes = [(0,), (2, flat.size // 2), (flat.size, 1), (1, flat.size), (), (0, 10**9)]
        array = np.resize(array, shapes[int(rng.integers(len(shapes)))])
    elif kind == 10:
        array = array[::-1]
    else:
        array = rng.permuted(array, axis=0) if array.ndim else array
    return array


def _extreme(dtype: Any, rng: np.random.Generator) -> Any:
    if dtype.kind == "f":
        top = np.finfo(dtype)
        own = [np.nan, np.inf, -np.inf, top.max, top.min, top.tiny, -1, 0, 1e30, 1e154, 5e-324]
        with np.errstate(all="ignore"):
            return rng.choice(np.array(own).astype(dtype))
    if dtype.kind in "iu":
        top = np.iinfo(dtype)
        return rng.choice(np.array([top.max, top.min, 0, 1, 2, top.max // 2], dtype))
    return bool(rng.integers(2))


def _false_pointers(node: list[Any], rng: np.random.Generator) -> None:
    """Make the pointers of a sparse matrix fall, wrap, or lead far away."""
    wide = rng.random() < 0.5
    if node[4].ndim != 1 or node[4].size < 2:
        # Changed before.
        return
    new = node[4].astype(np.int64 if wide else np.int32)
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
            new[1:-1] = rng.integers(-abs(last), 2 * abs(last) + 1, new.size - 2)
    node[4] = new
    if wide and rng.random() < 0.5:
        node[3] = node[3].astype(np.int64)


def _spoil_tensor(arrays: Arrays, rng: np.random.Generator) -> None:
    """Change, take away or exchange what the file has many arrays in."""
    name, other = (sorted(arrays)[int(rng.integers(len(arrays)))] for _ in range(2))
    match int(rng.integers(6)):
        case 0:
            del arrays[name]
        case 1:
            arrays[name], arrays[other] = arrays[other], arrays[name]
        case 2:
            arrays["strange"] = arrays[name]
        case _:
            arrays[name] = _changed(arrays[name], rng)


def _spoil_value(tree: Any, rng: np.random.Generator) -> None:
    places = _places(tree, [])
    if not places:
        return
    holder, key = places[int(rng.integers(len(places)))]
    match int(rng.integers(9)):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.extend(holder * int(rng.integers(1, 100)))
        case 2 if isinstance(holder, dict):
            holder["strange"] = 1
        case 3:
            other, which = places[int(rng.integers(len(places)))]
            holder[key] = copy.deepcopy(other[which])
        case 4 if type(holder[key]) in (int, float):
            holder[key] = holder[key] * int(rng.choice([-1, 2, 10, 10**6, 10**9]))
        case 5 if type(holder[key]) in (int, float):
            holder[key] = holder[key] + int(rng.integers(-3, 4))
        case _:
            holder[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])


def _text(tree: Any, rng: np.random.Generator) -> str:
    text = json.dumps(tree, sort_keys=True)
    if rng.random() < 0.01:
        deep = int(rng.choice([100, 5000, 100_000]))
        return text[:-1] + ', "deep": ' + "[" * deep + "]" * deep + "}"
    return text


def hostile(numbers: range, seed: int) -> Iterator[Outcome]:
    """Load and use checkpoints whose arrays and values are false and whose checksum is true."""
    with place() as here:
        known, path = [], here / "model"
        for model in models():
            model.save(path, {"cursor": {"row": 20}, "source": {"kind": "any"}})
            known.append(codec.read(path))
        for number in numbers:
            rng = np.random.default_rng([seed, number, 9])
            arrays, tree = spoilt(*known[number % len(known)], rng)
            written(path, arrays, _text(tree, rng))
            label = f"{number}: of model {number % len(known)}"
            yield tried(label, lambda: start(lambda: _use(path)).finish().wrong)


def _use(path: Path) -> None:
    """Load a model and do with it what one does; errors that nobody meant are let through."""
    no_more_memory(MOST_BYTES)
    no_more_computing(MOST_SECONDS)
    warnings.simplefilter("ignore")
    try:
        model = OMVFS.load(path)
    except CheckpointError as error:
        if str(path) in str(error):
            return
        raise AssertionError("the error does not name the file") from error
    # What would take long if it were typed takes long.
    asked = model.n_clusters
    if isinstance(asked, int) and 10_000 < asked < 2**63:
        return
    schema, rng = model.schema_, np.random.default_rng(0)
    chunk: Any = {
        name: rng.random((8, width))
        for name, width in zip(schema.names, schema.widths, strict=True)
    }
    if model._plain or model._columns is not None:
        chunk = rng.random((8, model.n_features_in_))
    for do in (
        lambda: model.view_scores_,
        lambda: model.view_weights_,
        lambda: model.cluster_shares_,
        lambda: model.predict(chunk),
        lambda: model.transform(chunk),
        lambda: model.score(chunk),
        lambda: model.get_feature_names_out(),
        lambda: model.explain(schema.names[0], 0),
        lambda: model.suggest_n_features(),
        lambda: model.report().html(),
        lambda: pickle.dumps(model),
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
