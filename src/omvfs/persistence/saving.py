"""An estimator that can be saved and loaded."""

import math
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from omvfs.constraints import check_all
from omvfs.data.schema import Schema, listed
from omvfs.fitted import FittedState
from omvfs.model.state import ChunkInfo
from omvfs.persistence import checkpoint
from omvfs.persistence.names import pack_names, unpack_names
from omvfs.persistence.pack import pack, unpack
from omvfs.persistence.params import pack_params, unpack_params
from omvfs.selector import HISTORY, Journal
from omvfs.threads import alone

# What is raised by contents that are not what they should be.
_UNSOUND = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
)
# Characters of an error that are told.
_TELLING = 500
# Columns of one X that may be in no view.
_SPARE = 1 << 24


class Persistent:
    """Adds `save` and `load` to the estimator, and the same for bytes in memory."""

    _journal: Journal[FittedState]
    _columns: NDArray[np.intp] | None
    _plain: bool
    schema_: Schema
    n_features_in_: int
    get_params: Any
    _get_param_names: Any
    _fixed: ClassVar[Mapping[str, Any]]

    @alone
    def save(
        self,
        path: str | os.PathLike[str],
        extra: Any = None,
    ) -> None:
        """Write all that was learned, and the parameters, to a file; the one before is kept too.

        Learning goes on after `load` as if it had never stopped, to the same bits, whatever number
        of threads BLAS is set to.

        Parameters
        ----------
        path : path
            The file, replaced atomically. What was there moves to ``<path>.1``.
        extra : object, default=None
            What else to keep: anything that JSON can hold, such as where in a stream to go on.
            `omvfs.persistence.checkpoint.read` returns it as ``meta["extra"]``.
        """
        checkpoint.write(path, *self._content(os.fspath(path), extra))

    @alone
    def to_bytes(self) -> bytes:
        """Return what `save` would write, to be kept in memory or sent to another machine.

        Returns
        -------
        bytes

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> X = np.random.default_rng(0).random((40, 6))
        >>> state = OMVFS(2, random_state=0).fit(X).to_bytes()
        >>> OMVFS.from_bytes(state).n_samples_seen_
        40
        """
        return checkpoint.encoded(*self._content(checkpoint.GIVEN))

    def _content(
        self, place: str, extra: Any = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return all that was learned, and the parameters, for a place that errors name."""
        check_is_fitted(self)
        params = self.get_params(deep=False)
        check_all(params, self.schema_.names)
        arrays, meta = pack(self._journal.known)
        history = [_numbers(info) for info in self._journal.history]
        arrays["history"] = np.array(history, np.float64).reshape(len(history), -1)
        if self._columns is not None:
            arrays["columns"] = self._columns.astype(np.int64)
            if self.n_features_in_ > len(self._columns) + _SPARE:
                raise checkpoint.CheckpointError(
                    f"{place} would tell of {self.n_features_in_:,} columns of X, "
                    f"{len(self._columns):,} of them in views; at most {_SPARE:,} more are read "
                    "again. Pass the views without the others."
                )
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            arrays |= pack_names("feature_names_in", names)
        meta["estimator"] = {
            "class": type(self).__name__,
            "params": pack_params(params),
            "plain": self._plain,
            "n_features_in": self.n_features_in_,
        }
        meta["extra"] = extra
        return arrays, meta

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return the estimator that `to_bytes` gave; what cannot be true is refused.

        Parameters
        ----------
        content : bytes

        Raises
        ------
        omvfs.persistence.checkpoint.CheckpointError
            If they are damaged, of another version, or something else.
        """
        if not isinstance(content, bytes | bytearray | memoryview):
            raise TypeError(f"Got {type(content).__name__}; expected the bytes of a state.")
        return cls._of(*checkpoint.decoded(bytes(content)), None)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the estimator that `save` wrote.

        Parameters
        ----------
        path : path

        Raises
        ------
        omvfs.persistence.checkpoint.CheckpointError
            If the file is damaged, or something else.

        Examples
        --------
        >>> import tempfile
        >>> from omvfs import OMVFS
        >>> X = np.random.default_rng(0).random((40, 6))
        >>> path = tempfile.mkdtemp() + "/model.omvfs"
        >>> OMVFS(2, random_state=0).fit(X).save(path)
        >>> OMVFS.load(path).n_samples_seen_
        40
        """
        return cls._of(*checkpoint.read(path), path)

    @classmethod
    def _of(
        cls, arrays: Mapping[str, NDArray[Any]], meta: Any, path: str | os.PathLike[str] | None
    ) -> Self:
        """Return the estimator that a checkpoint holds, as read from a path, or from bytes."""
        try:
            fitted = unpack(arrays, meta)
            own = meta["estimator"]
            kind = cls._named(own["class"])
            params = unpack_params(own["params"])
            if unknown := params.keys() - set(kind._get_param_names()):
                raise ValueError(
                    f"it is of another version, with parameters {listed(sorted(unknown))}; load it "
                    "with that version, or learn anew"
                )
            check_all(params, fitted.schema.names)
            grows = params.get("new_features", "error") == "grow"
            if grows != (fitted.growth is not None):
                raise ValueError("features come later, or they do not: it tells both")
            if kind._fixed["solver"] != fitted.settings.solver:
                raise ValueError(f"its settings are not those of a {kind.__name__}")
            selector = kind(**params)
            selector._restore(fitted, arrays, own)
        except _UNSOUND as error:
            why = str(error)
            why = why if len(why) <= _TELLING else f"{why[:_TELLING]}..."
            name, hint = checkpoint.GIVEN, ""
            if path is not None:
                name, hint = os.fspath(path), checkpoint.before(path)
            raise checkpoint.CheckpointError(
                f"{name} holds no sound {cls.__name__}: {why}.{hint}"
            ) from error
        return selector

    @classmethod
    def _named(cls, name: Any) -> type[Self]:
        """Return the class of a name: this one, or one made of it."""
        for kind in (cls, *cls.__subclasses__()):
            if kind.__name__ == name:
                return kind
        raise ValueError(f"it is of class {name!r}")

    def _restore(self, fitted: FittedState, arrays: Mapping[str, NDArray[Any]], own: Any) -> None:
        """Take what was learned, from a file."""
        width, n_features = sum(fitted.schema.widths), own["n_features_in"]
        if type(n_features) is not int or type(own["plain"]) is not bool:
            raise ValueError("the features do not fit the views")
        # Only of one X that was split may some columns be in no view, and who asks for a mask of
        # them all is not to get one that a small file has blown up.
        spare = 0 if "columns" not in arrays else _SPARE
        if own["plain"] and ("columns" in arrays or len(fitted.schema.names) > 1):
            raise ValueError("one X that was not split has more views than one")
        if not width <= n_features <= width + spare:
            raise ValueError(f"it is of {n_features:,} features, and its views have {width:,}")
        history = [_chunk_info(row) for row in arrays["history"].tolist()]
        n_chunks = fitted.state.n_chunks
        if len(history) != min(n_chunks, HISTORY):
            raise ValueError(f"it tells of {len(history):,} of {n_chunks:,} chunks")
        first = n_chunks - len(history)
        for event in fitted.drift:
            if event.chunk >= first:
                at = event.chunk - first
                history[at] = replace(history[at], drift=event)
        self._journal, self.schema_ = Journal(fitted, history), fitted.schema
        self.n_features_in_, self._plain = own["n_features_in"], own["plain"]
        self._columns = None
        if "columns" in arrays:
            columns = arrays["columns"]
            if columns.shape != (width,) or columns.dtype != np.int64:
                raise ValueError("the columns do not fit the views")
            if columns.min() < 0 or columns.max() >= n_features:
                raise ValueError("the columns do not fit the features")
            self._columns = columns.astype(np.intp)
        if "feature_names_in" in arrays:
            ends = arrays["feature_names_in/ends"]
            names = unpack_names(arrays["feature_names_in"], ends, self.n_features_in_)
            self.feature_names_in_ = np.array(names, dtype=object)


# What happened in a chunk, in numbers; changes of the stream are kept apart.
_NUMBERS = [each for each in fields(ChunkInfo) if each.name not in ("drift", "overlap")]


def _numbers(info: ChunkInfo) -> list[float]:
    numbers = [getattr(info, each.name) for each in _NUMBERS]
    return [*numbers, math.nan if info.overlap is None else info.overlap]


def _chunk_info(row: list[float]) -> ChunkInfo:
    kinds: list[Any] = [each.type for each in _NUMBERS]
    *numbers, overlap = row if len(row) > len(kinds) else [*row, math.nan]  # which version 5 lacks
    info = ChunkInfo(*(kind(value) for kind, value in zip(kinds, numbers, strict=True)))
    if math.isnan(overlap):
        return info
    if not 0 <= overlap <= 1:
        raise ValueError(f"a chunk has an overlap of {overlap!r}")
    return replace(info, overlap=overlap)
