"""Results on disk, one JSON line each, so that an interrupted run can go on."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator


class Store:
    """Finished results by what they are of, on disk if there is a path.

    A result is on disk when `add` returns. A last line that was cut off by an interruption is
    dropped when the file is opened again.

    Parameters
    ----------
    path : path or None
        The file, made if missing. One run at a time may have it.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._file = None
        self._results: dict[str, dict[str, Any]] = {}
        if path is None:
            return
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self._read(path)
        self._file = path.open("a", encoding="utf-8")

    def get(self, what: Any) -> dict[str, Any] | None:
        """Return the result of something described by plain values, or None."""
        return self._results.get(_key(what))

    def add(self, what: Any, result: dict[str, Any]) -> None:
        """Keep a result."""
        self._results[_key(what)] = result
        if self._file is not None:
            self._file.write(json.dumps({"of": what, "result": result}) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _read(self, path: Path) -> None:
        text = path.read_bytes()
        whole, _, cut_off = text.rpartition(b"\n")
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entry = json.loads(line)
                self._results[_key(entry["of"])] = entry["result"]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"Line {number:,} of {path} is no result of a search: {error!r}. "
                    "Take it out, or begin with another file."
                ) from error
        if cut_off:
            # The next result must begin on a line of its own.
            part = path.with_name(path.name + ".part")
            part.write_bytes(whole + b"\n" if whole else b"")
            part.replace(path)


def plain(name: str, value: Any) -> Any:
    """Return a parameter as plain values that JSON can hold and that are the same in every run.

    Examples
    --------
    >>> plain("weights", {"text": np.float64(0.5), "image": (1, None)})
    {'text': 0.5, 'image': [1, None]}
    >>> plain("random_state", np.random.RandomState(0))
    Traceback (most recent call last):
    TypeError: Parameter random_state is of type RandomState, which has no description that is the
    same in every run; expected plain values.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(name, each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): plain(name, each) for key, each in value.items()}
    if isinstance(value, BaseEstimator):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        params = value.get_params(deep=False)
        return {"class": kind, **{key: plain(key, each) for key, each in params.items()}}
    if isinstance(value, slice):
        return repr(value)
    raise TypeError(
        f"Parameter {name} is of type {type(value).__name__}, which has no description that is the "
        "same in every run; expected plain values."
    )


def _key(what: Any) -> str:
    return json.dumps(what, sort_keys=True)
