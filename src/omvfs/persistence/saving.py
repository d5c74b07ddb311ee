"""An estimator that can be saved and loaded."""

import os
from collections.abc import Mapping
from dataclasses import astuple, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from omvfs.data.schema import Schema, listed
from omvfs.model.state import ChunkInfo
from omvfs.persistence import checkpoint
from omvfs.persistence.pack import (
    pack,
    pack_names,
    pack_params,
    unpack,
    unpack_names,
    unpack_params,
)
from omvfs.selectors.fitted import FittedState
from omvfs.selectors.stream import Journal


class Persistent:
    """Adds `save` and `load` to the estimator."""

    _journal: Journal[FittedState]
    _columns: NDArray[np.intp] | None
    _plain: bool
    schema_: Schema
    n_features_in_: int
    get_params: Any
    _get_param_names: Any

    def save(
        self,
        path: str | os.PathLike[str],
        extra: Any = None,
        extra_arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Write all that was learned, and the parameters, to a file; the one before is kept too.

        Learning goes on after `load` as if it had never stopped, to the same bits.

        Parameters
        ----------
        path : path
            The file, replaced atomically. What was there moves to ``<path>.1``.
        extra : object, default=None
            What else to keep: anything that JSON can hold, such as where in a stream to go on.
            `omvfs.persistence.checkpoint.read` returns it as ``meta["extra"]``.
        extra_arrays : mapping of str to array, default=None
            The same, for arrays; returned under ``extra/<name>``.
        """
        check_is_fitted(self)
        arrays, meta = pack(self._journal.known)
        history = [astuple(info) for info in self._journal.history]
        arrays["history"] = np.array(history, np.float64).reshape(len(history), -1)
        if self._columns is not None:
            arrays["columns"] = self._columns.astype(np.int64)
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            arrays |= pack_names("feature_names_in", names)
        meta["estimator"] = {
            "class": type(self).__name__,
            "params": pack_params(self.get_params(deep=False)),
            "plain": self._plain,
            "n_features_in": self.n_features_in_,
        }
        meta["extra"] = extra
        arrays |= {f"extra/{name}": array for name, array in (extra_arrays or {}).items()}
        checkpoint.write(path, arrays, meta)

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
        >>> OMVFS.load(path).n_rows_seen_
        40
        """
        return cls._of(*checkpoint.read(path), path)

    @classmethod
    def _of(
        cls, arrays: Mapping[str, NDArray[Any]], meta: Any, path: str | os.PathLike[str]
    ) -> Self:
        """Return the estimator that a checkpoint holds, as read from a path."""
        try:
            fitted = unpack(arrays, meta)
            own = meta["estimator"]
            params = unpack_params(own["params"])
            if unknown := params.keys() - set(cls._get_param_names()):
                raise ValueError(
                    f"it is of another version, with parameters {listed(sorted(unknown))}; load it "
                    "with that version, or learn anew"
                )
            selector = cls(**params)
            selector._restore(fitted, arrays, own)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
            raise checkpoint.CheckpointError(
                f"{os.fspath(path)} holds no sound {cls.__name__}: {error}."
            ) from error
        return selector

    def _restore(self, fitted: FittedState, arrays: Mapping[str, NDArray[Any]], own: Any) -> None:
        """Take what was learned, from a file."""
        width = sum(fitted.schema.widths)
        if own["n_features_in"] < width or own["plain"] not in (True, False):
            raise ValueError("the features do not fit the views")
        self._journal, self.schema_ = Journal(fitted), fitted.schema
        self.n_features_in_, self._plain = own["n_features_in"], own["plain"]
        self._columns = None
        if "columns" in arrays:
            columns = arrays["columns"].astype(np.intp)
            if columns.shape != (width,) or set(columns.tolist()) - set(range(self.n_features_in_)):
                raise ValueError("the columns do not fit the views")
            self._columns = columns
        if "feature_names_in" in arrays:
            ends = arrays["feature_names_in/ends"]
            names = unpack_names(arrays["feature_names_in"], ends, self.n_features_in_)
            self.feature_names_in_ = np.array(names, dtype=object)
        self._journal.history.extend(_chunk_info(row) for row in arrays["history"].tolist())


def _chunk_info(row: list[float]) -> ChunkInfo:
    kinds: list[Any] = [each.type for each in fields(ChunkInfo)]
    return ChunkInfo(*(kind(value) for kind, value in zip(kinds, row, strict=True)))
