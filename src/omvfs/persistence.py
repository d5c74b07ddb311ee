"""What was learned as a checkpoint, and back.

A checkpoint has the class and the parameters of the estimator, all that it has learned, and where
the run stands. `check_state` compares the pieces with each other, as the checksum of the file finds
damage and not intent.
"""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from omvfs.codec import (
    GIVEN,
    UNSOUND,
    CheckpointError,
    Decoder,
    Encoder,
    encoded,
    older,
)
from omvfs.constraints import check_all, resolve
from omvfs.data.schema import Vocabulary, listed
from omvfs.disk import PathLike
from omvfs.fitted import EVENTS, KEY_SIZE, FittedState
from omvfs.model.constrained.view_weights import UNHEARD
from omvfs.model.settings import AUTO
from omvfs.model.state import B_sq_norms, ChunkInfo
from omvfs.model.stream.watch import LEVELS
from omvfs.prepare import Preparation
from omvfs.selector import HISTORY

_S = TypeVar("_S")
# Characters of an error that are told.
_TELLING = 500


@dataclass(frozen=True)
class Learned:
    """All that an estimator has learned.

    Attributes
    ----------
    fitted : FittedState
    history : tuple of ChunkInfo
        What happened in the last chunks.
    columns : array of shape (width of all views,), or None
        Columns of one X that the features are; None if it was not split.
    plain : bool
        Whether rows came as one X that is one view.
    n_features_in : int
    feature_names_in : tuple of str, or None
    """

    fitted: FittedState
    history: tuple[ChunkInfo, ...]
    columns: NDArray[np.int64] | None
    plain: bool
    n_features_in: int
    feature_names_in: tuple[str, ...] | None


# Parameters


def pack_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as values that JSON can hold.

    A `RandomState` is left out: it decides nothing more once learning has begun. So are those who
    are asked and told of changes of the stream: they are not saved.

    Examples
    --------
    >>> pack_params({"views": {"text": slice(0, 3)}, "n_clusters": np.int64(2)})
    {'views': {'map': [['text', {'slice': [0, 3, None]}]]}, 'n_clusters': 2}
    """
    if callable(params.get("criterion")):
        raise TypeError(
            f"Got criterion={params['criterion']!r}, which cannot be saved. Set a name before, as "
            "by set_params(criterion='balanced'), and the callable again after loading."
        )
    views = params.get("views")
    if isinstance(views, Mapping) and any(map(callable, views.values())):
        raise TypeError(
            "Got views= with callables, which cannot be saved. Set what they found before, as by "
            "set_params(views={view: columns})."
        )
    encoder = Encoder(many=math.inf)
    return {name: encoder.node(_plain(name, value)) for name, value in params.items()}


def _plain(name: str, value: Any) -> Any:
    """Return a parameter without arrays, None for what is not saved."""
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain("", each) for key, each in value.items()}
    return [_plain("", each) for each in value] if isinstance(value, list | tuple) else value


def unpack_params(packed: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as they were.

    Examples
    --------
    >>> unpack_params({"views": {"map": [["text", {"slice": [0, 3, None]}]]}})
    {'views': {'text': slice(0, 3, None)}}
    """
    decoder = Decoder({})
    return {name: decoder.value(value, Any) for name, value in packed.items()}


# What an estimator can have come to


class _Form(NamedTuple):
    """What an array must be: its shape, None for no array; its dtype; its largest value."""

    name: str
    array: Any
    shape: tuple[int, ...] | None
    dtype: Any = None
    most: float = math.inf

    def holds(self) -> bool:
        """Tell whether the array is so, and not below 0."""
        array, shape, dtype, most = self[1:]
        if array is None or shape is None:
            return array is None and shape is None
        if not isinstance(array, np.ndarray) and not sp.issparse(array):
            return False
        values = array.data if sp.issparse(array) else array
        if array.shape != shape or (dtype is not None and array.dtype != dtype):
            return False
        return not values.size or bool(values.min() >= 0 and values.max() <= most)


def check_state(learned: Learned) -> None:
    """Refuse pieces that do not fit each other: those of a file that was made, not learned.

    Parameters
    ----------
    learned : Learned
        Of the types that it is declared with, its floats in arrays finite and not below 0.
    """
    for ok, why in _facts(learned):
        if not ok:
            raise ValueError(why)
    for form in _forms(learned):
        if not form.holds():
            raise ValueError(f"{form.name} is no array of {form.shape}, or has values out of range")
    state = learned.fitted.state
    with np.errstate(over="ignore"):
        sums = B_sq_norms(state.statistics, learned.fitted.settings)
        weights = np.square(state.reservoir.counted.weights).sum()
    if not (np.isfinite(sums).all() and np.isfinite(weights)):
        raise ValueError("the squares of its sums overflow")


def _facts(learned: Learned) -> Iterator[tuple[Any, str]]:
    """Yield what must be true, in an order in which each may rely on those before; and why not."""
    fitted, history = learned.fitted, learned.history
    schema, settings, state = fitted.schema, fitted.settings, fitted.state
    names, widths, features = schema.names, schema.widths, schema.feature_names
    yield names and len(names) == len(set(names)), "its views have no names of their own"
    yield len(names) == len(widths) == len(features), "the views do not fit each other"
    yield all(1 <= width < 1 << 31 for width in widths), f"the views have widths {widths}"
    for width, own in zip(widths, features, strict=True):
        if own is not None:
            yield len(own) == width, "names of features are too many, or too few"
            yield isinstance(own, Vocabulary) == fitted.grows, "names of features grow, or do not"
    by_view = {
        name: dict(zip(names, getattr(settings, name), strict=True))
        for name in ("graph_weight", "sparsity", "view_weight")
    }
    resolved = resolve({**asdict(settings), **by_view}, names)
    yield resolved == settings, "it has no settings"
    yield len(state.statistics.views) == len(names), "the sums are of other views"
    K, dtype = state.n_clusters, state.statistics.views[0].B.dtype
    yield settings.n_clusters in (AUTO, K) and K > 0, f"it has {K:,} clusters"
    yield dtype in (np.float32, np.float64), f"the sums are of dtype {dtype}"
    watch, own_size = state.watch, (K, len(names))
    yield (watch is not None) == settings.detect_drift, "it is watched for changes, or not"
    if watch is not None:
        yield (watch.n_clusters, watch.n_views) == own_size, "other clusters or views are watched"
    window, reservoir, n = state.window, state.reservoir, fitted.n_rows
    yield window.size == settings.window, "the window is of another size"
    yield window.at_hand == settings.recent_rows, "the window is of another size"
    yield 1 <= state.n_chunks <= n, f"{n:,} rows came in {state.n_chunks:,} chunks"
    held = 0 if settings.solver == "paper" else min(settings.sample_size, n)
    yield len(reservoir) == held, f"the reservoir holds {len(reservoir):,} rows"
    yield reservoir.capacity == settings.sample_size, "the reservoir is of another size"
    yield reservoir.counted.n_clusters == K, "the reservoir is of other clusters"
    rows = zip(reservoir.rows, widths, strict=bool(held))
    yield all(own.width == D for own, D in rows), "the reservoir is of other features"
    for view, D in zip(state.statistics.views, widths, strict=True):
        yield view.n_features == D, "the sums are of other features"
        least = min(view.decayed_n_rows, view.filled_rows, view.energy)
        yield least >= 0, "there are fewer rows than none"
    weights, decided = state.view_weights, settings.decides_weights
    yield not weights or (decided and len(weights) == len(names)), "other views have weights"
    yield set(weights) <= {UNHEARD, 1.0}, f"the views weigh {weights}"
    steps = fitted.preparation.steps
    begun = Preparation.of(dict(zip(names, steps, strict=True)), names)
    yield begun.steps == steps, "it is prepared by no steps"
    parts = fitted.of_parts
    yield all(len(key) == KEY_SIZE for key in parts), "the keys of its parts are none"
    yield list(parts) == sorted(set(parts)), "the keys of its parts are not in order"
    yield len(history) == min(state.n_chunks, HISTORY), f"it tells of {len(history):,} chunks"
    yield len(fitted.drift) <= EVENTS, f"it tells of {len(fitted.drift):,} changes"
    for event in (*fitted.drift, *(info.drift for info in history if info.drift is not None)):
        yield event.came.keys() == event.went.keys() == set(names), "other views have changed"
    D, own = learned.n_features_in, learned.feature_names_in
    yield sum(widths) == D, f"it is of {D:,} features, and its views have {sum(widths):,}"
    yield own is None or len(own) == D, "names of columns are too many, or too few"
    one = learned.columns is None and len(names) == 1
    yield one or not learned.plain, "one X that was not split has more views than one"
    if (columns := learned.columns) is not None:
        yield columns.shape == (D,), "the columns do not fit the features"
        yield (np.sort(columns) == np.arange(D)).all(), "the columns do not fit the features"


def _forms(learned: Learned) -> Iterator[_Form]:
    """Yield what the arrays must be: those by view in the order of the views."""
    fitted, settings = learned.fitted, learned.fitted.settings
    state, widths, n = fitted.state, fitted.schema.widths, fitted.n_rows
    K, n_views, dtype = state.n_clusters, len(widths), state.statistics.views[0].B.dtype
    paper = settings.solver == "paper"
    counted = fitted.raised is not None or settings.scale_columns
    yield _Form("B_sq_norms", state.B_sq_norms, (n_views, K))
    for V, D in zip(state.V, widths if paper else (), strict=True):
        yield _Form("V", V, (D, K), dtype)
    for raised, D in zip(fitted.raised or (), widths, strict=fitted.raised is not None):
        yield _Form("raised", raised, (D,))
    for view, D in zip(state.statistics.views, widths, strict=True):
        yield _Form("masses", view.masses, (K, K) if paper else (K,))
        yield _Form("weight_sums", view.weight_sums, (K,))
        yield _Form("B", view.B, (D, K), dtype)
        yield _Form("sums", view.sums, (D,) if counted else None)
        yield _Form("squares", view.squares, (D,) if counted else None)
    yield from _forms_of_rows(fitted, K, dtype)
    for names, counts, D in zip(
        fitted.preparation.steps, fitted.preparation.counted, widths, strict=True
    ):
        for step, own in zip(names, counts, strict=True):
            if step == "tfidf":
                yield _Form("df", own["df"], (D,), np.int64, n)
                yield _Form("n", own["n"], (1,), np.int64, n)
            elif step == "scale":
                yield _Form("largest", own["largest"], (D,), dtype)
    if (watch := state.watch) is not None:
        cells, levels = sum(watch.widths) if watch.yardstick else 0, watch.levels
        yield _Form("open", watch.open, (cells,), most=n)
        yield _Form("before", watch.before, (cells,), most=n)
        yield _Form("recent", watch.recent, (len(watch.recent), cells), most=n)
        yield _Form("measured", watch.measured, (len(watch.measured), 2), most=K)
        yield _Form("levels", levels, None if levels is None else (K + 1, LEVELS - 1), most=1)
        if (yardstick := watch.yardstick) is not None:
            yield _Form("V_sq_norms", yardstick.V_sq_norms, (n_views, K))
            for D, V, factors in zip(widths, yardstick.V, yardstick.factors, strict=True):
                yield _Form("V", V, (D, K), dtype)
                yield _Form("factors", factors, (D,) if len(factors) != 1 else (1,))
            for D, raised in zip(widths, yardstick.raised or (), strict=bool(yardstick.raised)):
                yield _Form("raised", raised, (D,))


def _forms_of_rows(fitted: FittedState, K: int, dtype: Any) -> Iterator[_Form]:
    """Yield what the arrays of the rows that are held must be."""
    state, widths = fitted.state, fitted.schema.widths
    reservoir, window, n_views = state.reservoir, state.window, len(widths)
    n, present = len(reservoir), reservoir.present
    yield _Form("labels", reservoir.counted.labels, (n,), np.intp, K - 1)
    yield _Form("weights", reservoir.counted.weights, (n,), dtype)
    yield _Form("shares", reservoir.shares, (n,), dtype, 1)
    yield _Form("keys", reservoir.keys, None if reservoir.keys is None else (n,))
    yield _Form("presence", present, None if present is None else (n, n_views))
    for rows, D in zip(reservoir.rows, widths if n else (), strict=True):
        yield _Form("rows", rows.held, (n, D), dtype)
    for chunk, U, has in zip(window.chunks, window.U, window.presences, strict=True):
        m = len(U)
        yield _Form("U", U, (m, K), dtype)
        yield _Form("presence", has, None if has is None else (m, n_views))
        for X, D in zip(chunk, widths, strict=True):
            yield _Form("rows", X, (m, D), dtype)


# Estimators


def content_of(selector: Any, name: str = GIVEN, extra: Any = None) -> bytes:
    """Return the checkpoint of an estimator, which errors call by a name."""
    check_is_fitted(selector)
    params = selector.get_params(deep=False)
    check_all(params, selector.schema_.names)
    names, columns = getattr(selector, "feature_names_in_", None), selector._columns
    learned = Learned(
        selector._known,
        selector._history,
        None if columns is None else columns.astype(np.int64),
        selector._plain,
        selector.n_features_in_,
        None if names is None else tuple(names),
    )
    encoder = Encoder()
    tree = {
        "class": type(selector).__name__,
        "params": pack_params(params),
        "learned": encoder.node(learned),
        "extra": extra,
    }
    return encoded(encoder.tensors, tree, name)


def selector_of(
    asked: type[_S], tensors: Mapping[str, NDArray[Any]], tree: Any, path: PathLike | None = None
) -> _S:
    """Return the estimator that a checkpoint holds, of a class or one made of it.

    It was read from a path, or from bytes.
    """
    try:
        if "selection" in tree:
            raise ValueError("it is a selection; load it with Selection.load")
        kinds: dict[str, Any] = {own.__name__: own for own in (*asked.__subclasses__(), asked)}
        if (kind := kinds.get(tree["class"])) is None:
            raise ValueError(f"it is of class {tree['class']!r}")
        params = unpack_params(tree["params"])
        if unknown := params.keys() - set(kind._get_param_names()):
            raise ValueError(
                f"it is of another version, with parameters {listed(sorted(unknown))}; load it "
                "with that version, or fit again"
            )
        decoder = Decoder(tensors)
        learned: Learned = decoder.value(tree["learned"], Learned)
        decoder.end()
        check_state(learned)
        fitted = learned.fitted
        check_all(params, fitted.schema.names)
        grows = params.get("new_features", "error") == "grow"
        if grows != fitted.grows or kind._fixed["solver"] != fitted.settings.solver:
            raise ValueError(f"its settings are not those of a {kind.__name__}")
    except UNSOUND as error:
        why = str(error) if len(str(error)) <= _TELLING else f"{str(error)[:_TELLING]}..."
        name = GIVEN if path is None else os.fspath(path)
        raise CheckpointError(
            f"{name} holds no sound {asked.__name__}: {why}.{older(path)}"
        ) from error
    selector = kind(**params)
    selector.schema_ = fitted.schema
    selector.n_features_in_, selector._plain = learned.n_features_in, learned.plain
    columns = learned.columns
    selector._columns = None if columns is None else columns.astype(np.intp)
    if learned.feature_names_in is not None:
        selector.feature_names_in_ = np.array(learned.feature_names_in, dtype=object)
    selector.__dict__.update(selector._learned(fitted, learned.history))
    found: _S = selector
    return found
