"""What was learned as a checkpoint, and back.

A checkpoint has the class and the parameters of the estimator, all that it has learned, and where
the run stands. `_facts` compares the pieces with each other, as the checksum of the file finds
damage and not intent.
"""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np
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
from omvfs.fitted import KEY_SIZE, FittedState
from omvfs.model.learning import ChunkInfo
from omvfs.prepare import Preparation, Preparing
from omvfs.selector import HISTORY

_S = TypeVar("_S")
# Characters of an error that are told.
_TELLING = 500


@dataclass(frozen=True)
class Learned:
    """All that an estimator has learned."""

    fitted: FittedState
    # What happened in the last chunks.
    history: tuple[ChunkInfo, ...]
    # Columns of one X that the features are; None if it was not split. Of shape (width of all
    # views,).
    columns: NDArray[np.int64] | None
    # Whether rows came as one X that is one view.
    plain: bool
    n_features_in: int
    feature_names_in: tuple[str, ...] | None


# Parameters


def pack_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as values that JSON can hold.

    A `RandomState` is left out: it decides nothing more once learning has begun.

    Examples
    --------
    >>> pack_params({"views": {"text": slice(0, 3)}, "n_clusters": np.int64(2)})
    {'views': {'map': [['text', {'slice': [0, 3, None]}]]}, 'n_clusters': 2}
    """
    if callable(params.get("criterion")):
        raise TypeError(
            f"Got criterion={params['criterion']!r}, which cannot be saved. Set a name before, as "
            "by set_params(criterion='norm'), and the callable again after loading."
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
    """Return parameters as they were."""
    decoder = Decoder({})
    return {name: decoder.value(value, Any) for name, value in packed.items()}


# What an estimator can have come to


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
    weights = dict(zip(names, settings.view_weights, strict=True))
    asked = {**asdict(settings), "view_weight": weights}
    yield resolve(asked, names, settings.seed) == settings, "it has no settings"
    yield len(state.views) == len(names), "the sums are of other views"
    K, n = state.views[0].n_clusters, fitted.n_rows
    yield 1 <= K <= max(n, 1), f"it has {K:,} clusters"
    for view, D in zip(state.views, widths, strict=True):
        shapes = view.S.shape, view.Q.shape, view.n.shape, view.norms.shape
        yield shapes == ((D, K), (D,), (K,), (K,)), "the sums are of other features or clusters"
        yield (
            min(view.Q.min(), view.n.min(), view.norms.min()) >= 0,
            "a sum is below 0",
        )
    sample = state.sample
    m = len(sample.keys)
    yield sample.size == settings.n_kept, "the sample is of another size"
    yield m == min(sample.size, n) and len(sample.pieces) == 1, f"the sample has {m:,} rows"
    yield sample.labels.shape == sample.arrived.shape == (m,), "the sample has other rows"
    yield 0 <= sample.arrived.min() <= sample.arrived.max() <= n, "the sample has other rows"
    yield sample.present.shape == (m, len(names)), "the sample is of other views"
    yield len(sample.pieces[0]) == len(names), "the sample is of other views"
    yield 0 <= sample.labels.min() <= sample.labels.max() < K, "the sample is of other clusters"
    for X, D in zip(sample.pieces[0], widths, strict=True):
        yield X.shape[0] == m and 1 <= X.shape[1] <= D, "the sample is of other features"
        yield X.dtype == fitted.dtype, "the sample is of another precision"
    yield (fitted.watch is not None) == settings.detect_drift, "drift is watched, or is not"
    yield fitted.watch is None or fitted.watch.fits(widths), "the watch is of another stream"
    yield fitted.dtype in ("float32", "float64"), f"rows are of dtype {fitted.dtype}"
    yield state.weights.shape == (len(names),), "other views have weights"
    yield state.weights.min() >= 0, f"the views weigh {state.weights}"
    steps = fitted.preparation.steps
    begun = Preparation.of(dict(zip(names, steps, strict=True)), names)
    yield begun.steps == steps, "it is prepared by no steps"
    counted = zip(steps, fitted.preparation.counted, widths, strict=True)
    for own, counts, D in counted:
        if own:
            prepared = Preparing("", own, counts, fitted.dtype, "allow")
            yield prepared.fits(D), "it is prepared by other columns"
    parts = fitted.of_parts
    yield all(len(key) == KEY_SIZE for key in parts), "the keys of its parts are none"
    yield list(parts) == sorted(set(parts)), "the keys of its parts are not in order"
    yield len(history) <= HISTORY, f"it tells of {len(history):,} chunks"
    D, own = learned.n_features_in, learned.feature_names_in
    yield sum(widths) == D, f"it is of {D:,} features, and its views have {sum(widths):,}"
    yield own is None or len(own) == D, "names of columns are too many, or too few"
    one = learned.columns is None and len(names) == 1
    yield one or not learned.plain, "one X that was not split has more views than one"
    if (columns := learned.columns) is not None:
        yield columns.shape == (D,), "the columns do not fit the features"
        yield (np.sort(columns) == np.arange(D)).all(), "the columns do not fit the features"


# Estimators


def content_of(selector: Any, name: str = GIVEN, extra: Any = None) -> bytes:
    """Return the checkpoint of an estimator, which errors call by a name."""
    check_is_fitted(selector)
    params = selector.get_params(deep=False)
    check_all(params, selector.schema_.names)
    names, columns = getattr(selector, "feature_names_in_", None), selector._columns
    known = selector._known
    # Rows of the sample in one piece: how they came does not matter any more.
    compact = replace(known.state, sample=known.state.sample.compact())
    learned = Learned(
        replace(known, state=compact),
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
        for ok, why in _facts(learned):
            if not ok:
                raise ValueError(why)
        fitted = learned.fitted
        check_all(params, fitted.schema.names)
        grows = params.get("new_features", "error") == "grow"
        if grows != fitted.grows and not fitted.words:
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
