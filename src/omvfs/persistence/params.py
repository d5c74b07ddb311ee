"""Parameters, settings and generators as values that JSON can hold, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from omvfs.constraints import PARAMETERS, resolve
from omvfs.model.settings import Settings


def pack_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as values that JSON can hold.

    A `RandomState` is left out: it decides nothing more once learning has begun. So are those who
    are asked and told of changes of the stream: they are not saved.

    Examples
    --------
    >>> pack_params({"views": {"text": slice(0, 3)}, "n_clusters": np.int64(2)})
    {'views': {'pairs': [['text', {'slice': [0, 3, None]}]]}, 'n_clusters': 2}
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
    return {name: None if _tells(name) else _pack(value) for name, value in params.items()}


def _tells(name: str) -> bool:
    return name in PARAMETERS and PARAMETERS[name].role == "tells"


def unpack_params(packed: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as they were.

    Examples
    --------
    >>> unpack_params({"views": {"pairs": [["text", {"slice": [0, 3, None]}]]}})
    {'views': {'text': slice(0, 3, None)}}
    """
    params = {name: _unpack(value) for name, value in packed.items()}
    if not _are_columns(params.get("views")):
        raise ValueError(
            f"Got views={params['views']!r}; expected 'prefix', widths, or columns by view."
        )
    return params


def _are_columns(views: Any) -> bool:
    """Tell whether a value is of a form that one X can be split by."""
    if isinstance(views, Mapping):
        return all(isinstance(name, str) and _are_places(each) for name, each in views.items())
    if views is None or (isinstance(views, str) and views == "prefix"):
        return True
    return isinstance(views, list) and all(type(n) is int for n in views)


def _are_places(columns: Any) -> bool:
    if isinstance(columns, slice):
        edges = columns.start, columns.stop, columns.step
        return all(edge is None or type(edge) is int for edge in edges) and columns.step != 0
    return isinstance(columns, list) and all(type(each) in (int, bool, str) for each in columns)


def _pack(value: Any) -> Any:
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, Mapping):
        return {"pairs": [[key, _pack(each)] for key, each in value.items()]}
    if isinstance(value, list | tuple | range):
        return [_pack(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"Got a parameter of type {type(value).__name__}, which cannot be saved.")


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"slice"}:
            return slice(*value["slice"])
        return {key: _unpack(each) for key, each in value["pairs"]}
    return [_unpack(each) for each in value] if isinstance(value, list) else value


def settings_of(values: Mapping[str, Any], views: Sequence[str]) -> Settings:
    """Return settings that the parameters of an estimator could have come to."""
    if set(values) != {field.name for field in fields(Settings)}:
        raise ValueError(f"the settings are {sorted(values)}")
    per_view = {
        name: dict(zip(views, values[name], strict=True))
        for name in ("graph_weight", "sparsity", "view_weight")
    }
    return resolve({**values, **per_view}, views)


def generator_of(state: Mapping[str, Any]) -> np.random.Generator:
    """Return a generator of random numbers that goes on from a state."""
    # With an even one the generator comes around too soon, or stands still: who draws would wait.
    if type(increment := state["state"]["inc"]) is not int or increment % 2 == 0:
        raise ValueError(f"the random numbers go on by {increment!r}")
    generator = np.random.default_rng(0)
    generator.bit_generator.state = state
    return generator
