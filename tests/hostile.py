"""Checkpoints that are sound but for what was changed to do harm, their checksum right."""

import copy
import pickle
import warnings

import numpy as np
import scipy.sparse as sp

from omvfs import OMVFS, OMVFSPaper, persistence
from omvfs.persistence import CheckpointError
from streams import taken
from support import counts

NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 0.5, -0.5, 1e-300, 1e300, -1e300, float("inf"), float("nan")),
    *(10**3, 10**6, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 10**30, 10**400),
)
VALUES = (
    *NUMBERS,
    *(True, False, None, "", "x", "auto", "paper", "constrained", "shift", "signal", "\ud800"),
    *([], [0], [[0]], ["x"], {}, {"x": 1}, {"slice": [0, 10**9, None]}, {"slice": [None] * 9}),
    *({"map": []}, {"map": [["text", 1]]}, {"map": [["text", 1e300], ["image", 0]]}),
)
DTYPES = [
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bool",
]


def rows(n=20, seed=0):
    rng = np.random.default_rng(seed)
    return {"text": sp.csr_array(counts(rng, n, 12)), "image": counts(rng, n, 5)}


def sound():
    """Return models of several kinds that have learned, and rows that fit each."""
    quick = {"n_init": 2, "max_iter": 3, "random_state": 0, "n_features_per_view": 3}
    split = np.random.default_rng(1).random((20, 17))
    prepared = ["text:tfidf", "scale", "l2"]
    halves = (OMVFS(2, prepare=prepared, **quick).fit(rows(10, seed)) for seed in (2, 3))
    return [
        (OMVFS(2, sample_size=10, batch_size=10, **quick).fit(rows()), rows(7, 1)),
        (
            OMVFS(2, sample_size=80, scale_columns=True, half_life=100, **quick).fit(rows()),
            rows(7, 1),
        ),
        (OMVFS(2, negative="shift", **quick).fit(split - 0.5), split[:7]),
        (
            OMVFS(2, views={"a": [3, 1], "b": slice(5, 9)}, remainder="drop", **quick).fit(split),
            split[:7],
        ),
        (OMVFSPaper(2, window=3, **taken(OMVFSPaper, **quick)).fit(rows()), rows(7, 1)),
        (OMVFS(2, prepare=prepared, **quick).fit(rows()), rows(7, 1)),
        (OMVFS.merge(*halves), rows(7, 1)),
        (OMVFS(2, sample_size=80, detect_drift=True, **quick).fit(rows(700)), rows(7, 1)),
    ]


def spoilt(arrays, meta, rng):
    """Return arrays and values of a checkpoint with one to three of them changed."""
    arrays = {name: array.copy() for name, array in arrays.items()}
    meta = copy.deepcopy(meta)
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.5:
            _spoil_value(meta, rng)
        else:
            _spoil_array(arrays, rng)
    return arrays, meta


def _spoil_value(meta, rng):
    """Change one of the values in a tree of lists and dicts, any of them alike likely."""
    places = []

    def walk(node):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(meta)
    if not places:
        return
    node, key = places[rng.integers(len(places))]
    kind = rng.random()
    if kind < 0.1:
        del node[key]
    elif kind < 0.2 and isinstance(node, list):
        node.append(copy.deepcopy(node[key]))
    elif kind < 0.4 and type(node[key]) in (int, float):
        node[key] = node[key] + int(rng.integers(-3, 4))
    else:
        node[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])


def _spoil_array(arrays, rng):
    names = sorted(arrays)
    if not names:
        return
    name = names[rng.integers(len(names))]
    array, kind = arrays[name], rng.integers(6)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(DTYPES[rng.integers(len(DTYPES))])
    elif kind == 2:
        sizes = [0, 1, max(0, len(array) - 1) if array.ndim else 0, array.size]
        n = int(sizes[rng.integers(len(sizes))])
        shapes = [(n,), (n, 1), (1, n), (), (0, 10**9), (1, 1, 1)]
        shape = shapes[rng.integers(len(shapes))]
        arrays[name] = np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)
    elif kind == 3:
        arrays[name] = arrays[names[rng.integers(len(names))]].copy()
    elif array.size:
        if array.dtype.kind == "f":
            own = [each for each in NUMBERS if abs(each) < 1e307 or isinstance(each, float)]
            own = [*own, 5e-324, 1e-160, 1e154, 1e160, np.finfo(array.dtype).max]
        else:
            limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
            least, most = (limits.min, limits.max) if limits else (0, 1)
            own = [each for each in (*NUMBERS, least, most) if isinstance(each, int)]
            own = [each for each in own if least <= each <= most]
        value = own[rng.integers(len(own))]
        with np.errstate(all="ignore"):
            if kind == 4:
                array.reshape(-1)[rng.integers(array.size)] = value
            else:
                array[...] = value


def ask_everything(model, X):
    """Ask all there is to ask, and learn; what is refused says so as a ValueError."""
    view = model.schema_.names[0]
    asked = [
        *(lambda name=name: getattr(model, name) for name in ASKED),
        lambda: model.predict(X),
        lambda: model.transform(X),
        lambda: model.score(X),
        lambda: model.explained_share(X),
        lambda: model.get_support(),
        lambda: model.get_feature_names_out(),
        lambda: model.explain(view, 0),
        lambda: model.cluster_features(),
        lambda: model.suggest_n_features(),
        lambda: model.feature_notes(),
        lambda: model.report(0).html(),
        lambda: pickle.dumps(model),
        lambda: model.partial_fit(X),
        lambda: model.scores_,
    ]
    for ask in asked:
        try:
            ask()
        except ValueError:
            continue


ASKED = (
    *("view_scores_", "ranking_", "V_", "window_labels_", "n_iter_", "history_", "n_samples_seen_"),
    *("cluster_shares_", "selection_quality_", "view_support_"),
)


def attempt(path, arrays, meta, X):
    """Write a checkpoint, load it and ask; return whether it was refused."""
    try:
        persistence.write(path, persistence.encoded(arrays, meta))
    except (TypeError, ValueError):  # no such file can be written
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = OMVFS.load(path)
        except CheckpointError as error:
            if str(path) in str(error):
                return True
            raise AssertionError(f"the error does not name the file: {error}") from error
        ask_everything(model, X)
    return False
