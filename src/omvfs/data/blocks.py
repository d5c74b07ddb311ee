"""One block of data: the rows of one view, as a C-ordered array or a canonical CSR matrix."""

import numbers
import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from omvfs.data.schema import Names, as_names, listed, some

_EXPECTED = (
    "expected an array, a sparse matrix, a data frame, rows of numbers, AnnData, MuData, or a dict "
    "or list of such by view"
)
_BY_PARTS = (
    "in parts to partial_fit. A file is learned from by parts with "
    "omvfs.pipeline.run(open_source(FILE), selector), or `omvfs select FILE`"
)
# How what is not in memory is asked to come there.
_FETCH = {"to_pandas": ".to_pandas()", "compute": ".compute()", "__getitem__": "[:]"}


class Labels(NamedTuple):
    """What the columns and the rows of a block are called."""

    # Of the columns, if they are strings; of the rows, as pandas has it.
    names: Names | None = None
    index: Any = None
    # Which rows have the view, of rows by name; None if all do, or nothing tells.
    present: NDArray[np.bool_] | None = None
    # Whether rows are mappings or texts: which columns there are, in which order, says nothing.
    by_name: bool = False
    # Whether later rows bring more: of texts.
    grows: bool = False


def labels_of(X: Any) -> Labels:
    """Return what the columns and rows of a block are called, without a look at its values."""
    if _is_annotated(X):
        return Labels(checked_names(tuple(X.var_names.tolist())), X.obs_names)
    if (frame := frame_of(X)) is None:
        return Labels()
    return Labels(checked_names(tuple(frame.columns)), nw.maybe_get_index(frame))


@lru_cache(maxsize=8)
def checked_names(columns: tuple[Any, ...]) -> Names | None:
    """Return the names of columns as an array, None if they are no strings; refuse repeated ones.

    A stream brings the same names with every chunk: they are compared with those of the chunks
    before, and not looked at again.
    """
    n_strings = sum(issubclass(kind, str) for kind in map(type, columns)) if columns else 0
    if columns and isinstance(columns[0], tuple):
        raise ValueError(
            f"Got columns of several levels, such as {columns[0]!r}; expected names. Pass views as "
            "a dict of frames: {view: X[view] for view in X.columns.levels[0]}."
        )
    if 0 < n_strings < len(columns):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but only "
            f"{n_strings} of {len(columns)} have. Convert them: "
            "X.columns = X.columns.astype(str)."
        )
    if not n_strings:
        return None
    if len(set(columns)) < len(columns):
        ((most, n),) = Counter(columns).most_common(1)
        raise ValueError(
            f"Expected unique column names, got {most!r} {n} times. Rename them; for AnnData, "
            "var_names_make_unique does that."
        )
    return as_names(columns)


def frame_of(X: Any, lazy: bool = False) -> Any:
    """Return a frame, or also a lazy one, as narwhals sees it; None if X is none."""
    if isinstance(X, np.ndarray | list | tuple) or sp.issparse(X):
        return None  # most data are told without a look around
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame) and not lazy:
        raise TypeError(
            f"Got a lazy frame ({_called(type(X))}); expected rows. Collect it first, by "
            ".collect() or .compute(), or pass it in parts to partial_fit."
        )
    return frame if isinstance(frame, nw.DataFrame | nw.LazyFrame) else None


def modalities_of(X: Any) -> Mapping[str, Any] | None:
    """Return the blocks of MuData by view, None if it is something else."""
    if not _has(X, "mod", "obs_names", "var_names"):
        return None
    if getattr(X, "axis", 0) != 0:
        raise ValueError(
            f"Got {_called(type(X))} with axis={X.axis}; expected axis=0, whose modalities are of "
            "the same rows."
        )
    return dict(X.mod)


def for_sklearn(X: Any) -> Any:
    """Return X, or of AnnData a frame of no rows that has the names of its columns."""
    if not _is_annotated(X):
        return X
    return X.var_names.to_frame().iloc[:, :0].T.set_axis(labels_of(X).names, axis=1)


def _has(X: Any, *names: str) -> bool:
    # Of the class: a frame has its columns for attributes, and nothing is computed.
    return all(hasattr(type(X), name) for name in names)


def _is_annotated(X: Any) -> bool:
    return _has(X, "X", "obs_names", "var_names")


def _values_of(X: Any) -> Any:
    """Return what the numbers of a block can be read from, or say why nothing is."""
    if _is_annotated(X):
        # Of rows of a file, adata[:1000], these rows; of all of it, something that is not here.
        values, path = X.X, getattr(X, "filename", None)
        if values is None:
            raise ValueError(f"Got {_called(type(X))} without X; pass one of its layers.")
        check_unmasked(values, f"X of {_called(type(X))}")
        if path is not None and not (isinstance(values, np.ndarray) or sp.issparse(values)):
            raise TypeError(
                f"Got {_called(type(X))} backed by {os.fspath(path)}; expected values in memory. "
                f"Pass X.to_memory(), or rows of it, X[:1000], {_BY_PARTS}."
            )
        return _values_of(values)
    if frame_of(X) is not None or sp.issparse(X) or isinstance(X, np.ndarray):
        return X
    rows = isinstance(X, Sequence) and not isinstance(X, str | bytes | memoryview)
    for kind in set(map(type, X)) if rows else {type(X)}:
        if hasattr(kind, "chunks"):
            how = next((how for name, how in _FETCH.items() if hasattr(kind, name)), " in memory")
            raise TypeError(
                f"Got {_called(kind)}, whose values are not in memory; expected values that are. "
                f"Pass X{how}, or X {_BY_PARTS}."
            )
    if rows or _has(X, "__array__") or _has(X, "__array_interface__") or type(X) is memoryview:
        return X
    remedy = "Pass its numbers as one of them"
    if isinstance(X, str | os.PathLike):
        remedy = "Read files with omvfs.formats.open_source"
    elif _has(X, "__next__"):
        remedy = "Pass its batches one by one to partial_fit, or to rechunk"
    elif modalities_of(X) is not None:
        remedy = "It holds views itself: pass it alone"
    raise TypeError(f"Got {_called(type(X))}; {_EXPECTED}. {remedy}.")


def _called(kind: type) -> str:
    """Return the name of a class, and whose it is."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    return name.removeprefix("builtins.")


def are_mappings(X: Any) -> bool:
    """Tell whether X are rows by name: mappings, and None for rows that lack the view."""
    if not isinstance(X, list | tuple) or not X:
        return False
    first = next((row for row in X if row is not None), None)
    if first is not None and not _is_row(first):
        return False
    return all(row is None or _is_row(row) for row in X)


def _is_row(row: Any) -> bool:
    # A DOK matrix is a dict.
    return isinstance(row, Mapping) and not sp.issparse(row)


def read_mappings(
    rows: Sequence[Mapping[str, Any] | None], view: str
) -> tuple[sp.csr_array, Names, NDArray[np.bool_] | None]:
    """Return rows by name as a matrix, its names in order of appearance, and who has the view.

    The last is None if all rows have it.
    """
    held: list[Mapping[Any, Any]] = [{} if row is None else row for row in rows]
    order = dict.fromkeys(chain.from_iterable(held))
    if strange := [name for name in order if not isinstance(name, str)]:
        raise TypeError(
            f"View {view!r} has rows by name, with the name {strange[0]!r}; expected names that "
            "are str. Convert them."
        )
    places = {name: j for j, name in enumerate(order)}
    values = list(chain.from_iterable(row.values() for row in held))
    for kind in set(map(type, values)):
        if not issubclass(kind, numbers.Real | np.bool_):
            i = next(i for i, row in enumerate(held) if kind in set(map(type, row.values())))
            raise TypeError(
                f"View {view!r} has {kind.__name__} as a value in row {i}; expected numbers by "
                "name, such as {'cat': 2.0}."
            )
    ends = np.cumsum([0, *map(len, held)])
    indices = np.fromiter(
        (places[name] for name in chain.from_iterable(held)), np.int32, len(values)
    )
    try:
        data = np.array(values, np.float64)
    except OverflowError:
        most = float(np.finfo(np.float64).max)
        every = ((i, *item) for i, row in enumerate(held) for item in row.items())
        i, name, value = next(each for each in every if abs(each[-1]) > most)
        raise ValueError(
            f"View {view!r} has {type(value).__name__} beyond {'-' if value < 0 else ''}{most:.1e} "
            f"as a value in row {i} (feature {name!r}); expected numbers that float64 can hold. "
            "Scale the view down, or drop this row."
        ) from None
    parts = data, indices, ends.astype(np.int32)
    block = sp.csr_array(parts, shape=(len(held), len(places)))
    block.sort_indices()
    block.eliminate_zeros()
    has = np.array([row is not None for row in rows])
    return block, as_names(places), None if has.all() else has


_WORD = re.compile(r"\w\w+")


def words_of(text: Any) -> list[str]:
    """Return the words of a text: lower-cased runs of two or more letters, digits or underscores.

    These are the words of scikit-learn's `CountVectorizer`. A list has its words already.
    """
    if isinstance(text, list | tuple | np.ndarray):
        return [str(word) for word in text]
    return _WORD.findall(str(text).lower())


def is_missing(value: Any) -> bool:
    """Tell whether a value of a table is none: None, NaN, NaT, pandas.NA or an empty text."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    if isinstance(value, list | tuple | dict | np.ndarray):
        return not len(value)
    # NaN and NaT are not themselves, and of pandas.NA nothing can be told.
    return not isinstance(value == value, bool | np.bool_) or value != value


def texts_of(X: Any) -> list[Any] | None:
    """Return texts, of a list, an array or a series of them; None if X is something else."""
    if not isinstance(X, list | tuple | np.ndarray):
        series = nw.from_native(X, series_only=True, pass_through=True)
        X = series.to_list() if isinstance(series, nw.Series) else None
    if X is None or not len(X) or (isinstance(X, np.ndarray) and X.ndim != 1):
        return None
    texts = [value for value in X if not is_missing(value)]
    return [*X] if texts and all(isinstance(text, str) for text in texts) else None


def count_words(texts: Sequence[Any]) -> tuple[sp.csr_array, list[str], NDArray[np.bool_] | None]:
    """Return how often every word is in each text, the words, and which texts there are.

    The last is None if none is missing.
    """
    has = np.array([not is_missing(text) for text in texts])
    words = [words_of(text) if own else () for text, own in zip(texts, has.tolist(), strict=True)]
    places: defaultdict[str, int] = defaultdict()
    places.default_factory = places.__len__  # a new word comes behind those there are
    columns = np.array([places[word] for own in words for word in own], np.int32)
    ends = np.concatenate([[0], np.cumsum(list(map(len, words)))]).astype(np.int32)
    block = sp.csr_array((np.ones(len(columns)), columns, ends), shape=(len(words), len(places)))
    block.sum_duplicates()
    return block, [*places], None if has.all() else has


def column_names(X: Any) -> Names | None:
    """Return what the columns are called, also of a lazy frame; None if they have no names."""
    if are_mappings(X):
        return as_names(dict.fromkeys(name for row in X if row is not None for name in row))
    if isinstance(frame := frame_of(X, lazy=True), nw.LazyFrame):
        return as_names(frame.collect_schema().names())
    return labels_of(X).names


def n_columns(X: Any) -> int:
    """Return how many columns there are."""
    if (shape := getattr(X, "shape", None)) is not None and len(shape) == 2:
        return int(shape[1])
    if (names := column_names(X)) is not None:
        return len(names)
    if np.ndim(X) != 2:
        raise ValueError(f"Got {type(X).__name__} of {np.ndim(X)} dimensions; expected rows, 2-D.")
    return int(np.shape(X)[1])


def with_columns(X: Any, places: NDArray[np.intp]) -> Any:
    """Return some columns of X, as X holds them: a frame of the same library, index kept."""
    if are_mappings(X):
        wanted = column_names(X)[places].tolist()  # type: ignore[index]
        return [row if row is None else {n: row[n] for n in wanted if n in row} for row in X]
    if sp.issparse(X):
        return X.tocsr()[:, places].asformat(X.format)
    if hasattr(X, "iloc"):
        return X.iloc[:, places]
    if (frame := frame_of(X, lazy=True)) is not None:
        names = frame.collect_schema().names()
        return frame.select([names[j] for j in places]).to_native()
    return (np.asarray(X) if isinstance(X, list | tuple) else X)[:, places]


def with_columns_of_modalities(X: Any, places: Mapping[str, NDArray[np.intp]]) -> Any:
    """Return MuData of some columns of each of its modalities."""
    mask = np.zeros(X.shape[1], bool)
    for name, columns in places.items():
        own = np.zeros(X.mod[name].shape[1], bool)
        own[columns] = True
        at = np.asarray(X.varmap[name]).ravel().astype(np.intp)
        mask[at > 0] = own[at[at > 0] - 1]
    return X[:, mask]


def check_compressed(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> None:
    """Refuse arrays that are no compressed sparse matrix; scipy would read and write beyond them.

    Errors say what is wrong, without a word on whose arrays they are.
    """
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in (indices, indptr)):
        raise ValueError("its places are no lists of whole numbers")
    if len(indptr) != shape[0] + 1 or indptr[-1] != len(indices) or len(data) != len(indices):
        raise ValueError(
            f"it has {len(data):,} values, {len(indices):,} places and {len(indptr):,} ends of "
            f"rows, the last of them {indptr[-1] if len(indptr) else 0:,}, for {shape[0]:,} rows"
        )
    _check_format(sp.csr_array((data, indices, indptr), shape=shape))


def _check_format(matrix: Any) -> None:
    """Check a compressed matrix by scipy, and what scipy leaves out."""
    # Where indptr ends in 0 scipy looks no further, and it subtracts, which wraps around.
    if (matrix.indptr[1:] < matrix.indptr[:-1]).any():
        raise ValueError("a row ends before it begins")
    matrix.check_format(full_check=True)


FloatArray: TypeAlias = NDArray[np.floating[Any]]
Block: TypeAlias = FloatArray | sp.csr_array | sp.csr_matrix
Negative: TypeAlias = Literal["error", "clip", "allow"]


def read_block(X: Any, view: str | None = None) -> tuple[Block, Labels]:
    """Read anything 2-D as a block, and what its columns and rows are called.

    Structure is checked here; values are checked by `check_values`. The caller's data is never
    written to, and shared rather than copied where the layout allows. float32 stays float32, all
    else becomes float64. Without the name of a view, X is a plain X: errors are scikit-learn's own.
    """
    if are_mappings(X):
        block, names, has = read_mappings(X, view or "X")
        return block, Labels(names, present=has, by_name=True)
    if (texts := texts_of(X)) is not None:
        block, words, has = count_words(texts)
        return block, Labels(as_names(words), None, has, by_name=True, grows=True)
    check_unmasked(X, f"View {view or 'X'!r}")
    try:
        if view is not None and sp.issparse(X) and X.dtype.kind in "fiub":
            # It has no names, and all that `check_array` would ask of numbers is asked here.
            return _csr(X), Labels()
        labels = labels_of(X)
        # Emptiness in a view gets our own message, which knows the other views.
        least = 1 if view is None else 0
        array = check_array(
            _values_of(X),
            accept_sparse=True,
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=least,
            ensure_min_features=least,
            input_name="X",
        )
        block = _csr(array) if sp.issparse(array) else _dense(array)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        remedy = _of_texts(X) if "could not convert string" in str(error) else ""
        if view is None and isinstance(error, kind) and not remedy:
            raise
        # What offers itself as an array and is none here, a tensor of a GPU say, tells it somehow.
        raise kind(f"View {view or 'X'!r}: {error}{remedy}") from error
    return block, labels


def _of_texts(X: Any) -> str:
    """Tell which columns of a frame are no numbers, and what to do; nothing if all are."""
    schema = {} if (frame := frame_of(X)) is None else frame.schema
    texts = nw.String, nw.Categorical, nw.Enum
    found = [str(name) for name, kind in schema.items() if isinstance(kind, texts)]
    if not found:
        return ""
    return (
        f". Of its columns, {some(found)} hold texts or categories: leave them out, or "
        "pass the frame alone, as a table, without views= and in no dict."
    )


def check_unmasked(X: Any, what: str) -> None:
    """Refuse masked values of an array, a sparse matrix or rows: NumPy would use what they hide."""
    parts = X if isinstance(X, list | tuple) else [getattr(X, "data", X) if sp.issparse(X) else X]
    masked = [part for part in parts if isinstance(part, np.ma.MaskedArray)]
    if hidden := sum(np.count_nonzero(np.ma.getmaskarray(part)) for part in masked):
        size = sum(part.size for part in masked)
        raise ValueError(
            f"{what} has masked values, {hidden:,} of {size:,}; expected values that are all "
            "there. Pass what they stand for, such as X.filled(0), or leave these rows out."
        )


def _float_type(dtype: np.dtype[Any]) -> type[np.float32] | type[np.float64]:
    if dtype.kind not in "fiub":
        raise TypeError(f"Got dtype {dtype}; expected numbers. Encode the data as numbers first.")
    return np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64


def _dense(array: NDArray[Any]) -> FloatArray:
    if array.dtype.kind == "O":  # a frame of objects: check_array converts only arrays of them
        array = array.astype(np.float64)
    # Rows from another process may lie amid bytes: BLAS would add them in another order.
    return np.require(array, _float_type(array.dtype), ["C", "ALIGNED"])


def _csr(matrix: Any) -> Block:
    if matrix.ndim != 2:
        raise ValueError(f"Expected 2D array, got {matrix.ndim}D sparse array instead.")
    # As floats first: int8 duplicates would be summed in int8.
    safe = _with_proved_indices(matrix)
    return _canonical(safe.astype(_float_type(safe.dtype), copy=False).tocsr())


def _canonical(csr: Any) -> Block:
    """Sorted, without duplicates and explicit zeros; on a copy if that takes any change."""
    if not csr.has_canonical_format or not csr.data.all():
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    return csr


def tidy_block(X: Any) -> Block:
    """Return what was worked out of a block as one: C-ordered, or canonical CSR.

    Its indices are trusted; but values may have become zero.
    """
    if getattr(X, "format", "csr") != "csr" or X.dtype not in (np.float32, np.float64):
        kind = getattr(X, "format", "array")
        raise TypeError(f"Got {kind} of dtype {X.dtype}; expected an array or CSR of floats.")
    return _canonical(X) if sp.issparse(X) else np.ascontiguousarray(X)


def _with_proved_indices(matrix: Any) -> Any:
    """Put the arrays of `matrix` into a new object whose indices are known to be in range.

    scipy's products and conversions trust the indices, and crash on bad ones. The object is new
    because pruning is done in place, and because the flags of the old one may be stale.
    """
    # Of scipy's own class: others, such as AnnData's of some rows, are made in another way.
    new = getattr(sp, f"{matrix.format}_{'array' if isinstance(matrix, sp.sparray) else 'matrix'}")
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            safe = new((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
            _check_format(safe)
            return safe
        if matrix.format == "coo":
            return new((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)
        if matrix.format == "dia":
            return new((matrix.data, matrix.offsets), shape=matrix.shape)
        if matrix.format == "lil" and [*map(len, matrix.rows)] != [*map(len, matrix.data)]:
            raise ValueError("rows and data must have the same lengths")
        return matrix.tocoo()  # LIL and DOK hold Python objects: this makes and checks arrays
    except (IndexError, ValueError) as error:
        raise ValueError(
            f"the {matrix.format.upper()} matrix of shape {matrix.shape} is corrupt: {error}. "
            "Build it again from its entries."
        ) from error


def check_values(block: Block, view: str, names: Names | None, negative: Negative) -> Block:
    """Refuse what is not finite, what has no finite square, and what is negative.

    Returns the same block, or a clipped copy.
    """
    values = _values(block)
    with np.errstate(over="ignore", invalid="ignore"):
        # One pass finds them all: NaN, inf and overflow each make the sum of squares not finite.
        energy = values @ values
    if not np.isfinite(energy):
        raise ValueError(_why_not_finite(block, view, names))
    if negative == "allow" or not values.size or values.min() >= 0:
        return block
    if negative == "clip":
        return _clipped(block)
    entry = int(np.argmax(values < 0))
    raise ValueError(
        f"Negative values in data: view {view!r} holds {values[entry]:g} at "
        f"{_place(block, entry, names)}; expected values >= 0. Pass negative='clip' (--negative "
        "clip) to set them to 0, or negative='shift' (--negative shift) to shift the column up."
    )


def _values(block: Any) -> FloatArray:
    """Return the stored values as one flat array, without copying."""
    values: FloatArray = block.data if sp.issparse(block) else np.ravel(block)
    return values


def _clipped(block: Any) -> Block:
    if not sp.issparse(block):
        return np.maximum(block, 0)
    block = block.copy()
    np.maximum(block.data, 0, out=block.data)
    block.eliminate_zeros()
    return block


def _why_not_finite(block: Any, view: str, names: Names | None) -> str:
    values = _values(block)
    for what, are_so, remedy in (
        ("NaN", np.isnan(values), "Impute the missing values"),
        ("infinity", np.isinf(values), "Replace it"),
    ):
        if are_so.any():
            place = _place(block, int(np.argmax(are_so)), names)
            return (
                f"Input X contains {what}: view {view!r}, {place}; expected finite values. "
                f"{remedy} or drop these rows."
            )
    entry = int(np.argmax(np.abs(values)))
    return (
        f"Input X contains a value too large for {values.dtype}: view {view!r} holds "
        f"{values[entry]:g} at {_place(block, entry, names)}; expected a finite sum of squares. "
        "Scale the view down" + (", or give it as float64." if values.dtype == np.float32 else ".")
    )


def _place(block: Any, entry: int, names: Names | None) -> str:
    """Say where in the block its `entry`-th stored value is."""
    if sp.issparse(block):
        row = int(np.searchsorted(block.indptr, entry, side="right")) - 1
        column = int(block.indices[entry])
    else:
        row, column = divmod(entry, block.shape[1])
    feature = "" if names is None else f" (feature {names[column]!r})"
    return f"row {row}, column {column}{feature}"


def take_rows(block: Any, key: Any) -> Block:
    """Rows of a block: a view of a dense block's memory where `key` is a plain slice."""
    return block[key] if sp.issparse(block) else np.ascontiguousarray(block[key])


def take_columns(block: Any, key: Any) -> Block:
    """Columns of a block, its kind kept."""
    if not sp.issparse(block):
        return np.ascontiguousarray(block[:, key])
    taken = block[:, key]
    taken.sort_indices()  # columns asked for out of order leave the rows unsorted
    return taken


def vstack(blocks: Sequence[Block]) -> Block:
    """Rows below rows; sparse if any block is sparse."""
    return _stack(blocks, sp.vstack, np.vstack)


def hstack(blocks: Sequence[Block]) -> Block:
    """Put blocks side by side; the result is sparse if any block is sparse."""
    return _stack(blocks, sp.hstack, np.hstack)


def _stack(blocks: Sequence[Block], sparse_stack: Any, dense_stack: Any) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    if any(map(sp.issparse, blocks)):
        return sparse_stack(blocks, format="csr")
    return dense_stack(blocks)


Missing: TypeAlias = Literal["error", "allow"]
BoolArray: TypeAlias = NDArray[np.bool_]


def lacks(block: Any) -> BoolArray | None:
    """Return which rows have a view, None if none is of NaN throughout."""
    if sp.issparse(block) or not block.shape[1]:
        return None
    # Few rows begin with NaN, and most views have none.
    first = np.flatnonzero(np.isnan(block[:, 0]))
    gone = first[np.isnan(block[first]).all(axis=1)]
    if not len(gone):
        return None
    has = np.ones(len(block), bool)
    has[gone] = False
    return has


def blanked(block: Any, has: BoolArray) -> Block:
    """Return a block without what it holds in rows that lack the view."""
    block = block.copy()
    if not sp.issparse(block):
        block[~has] = 0
        return block
    block.data[np.repeat(~has, np.diff(block.indptr))] = 0
    block.eliminate_zeros()
    return block


def spread(block: Any, places: NDArray[np.intp], n_rows: int) -> Block:
    """Return rows in certain places among others, which are empty."""
    shape = n_rows, block.shape[1]
    if not sp.issparse(block):
        among = np.zeros(shape, block.dtype)
        among[places] = block
        return among
    counts = np.zeros(n_rows, np.int64)
    counts[places] = np.diff(block.indptr)
    rows = block[np.argsort(places)]
    parts = rows.data, rows.indices, np.concatenate([[0], np.cumsum(counts)])
    kind: Any = type(block)
    return kind(parts, shape=shape)


def shown(block: Any, has: BoolArray | None) -> Block:
    """Return a block as others see it: NaN, if it is dense, in rows that lack the view."""
    if has is None or sp.issparse(block):
        return block
    block = block.copy()
    block[~has] = np.nan
    return block


def given_presence(
    given: Mapping[str, Any], views: Sequence[str], n_rows: int
) -> dict[str, BoolArray]:
    """Return by view which rows have it, as they are told, of the views that rows lack."""
    found = {}
    for view, told in given.items():
        if view not in views:
            raise ValueError(f"Got present of view {view!r}; the views are {listed(views)}.")
        has = np.asarray(told)
        if has.dtype != bool or has.shape != (n_rows,):
            raise ValueError(
                f"Got present of view {view!r} as {has.dtype} of shape {has.shape}; expected True "
                f"or False for each of {n_rows:,} rows."
            )
        if not has.all():
            found[view] = has.copy()
    return found


def refuse_missing(present: Mapping[str, BoolArray]) -> None:
    """Say which view a row lacks, to those who need all of them."""
    view, has = next(iter(present.items()))
    lacking = np.flatnonzero(~has)
    raise ValueError(
        f"{len(lacking):,} of {len(has):,} rows lack view {view!r}, such as row {lacking[0]:,}; "
        "expected rows that have every view. Drop these rows, fill them, or use OMVFS, which takes "
        "rows that lack views."
    )


def check_some_view(presence: BoolArray | None) -> None:
    """Refuse rows that lack every view."""
    if presence is not None and not (some := presence.any(axis=1)).all():
        raise ValueError(
            f"Row {int(np.argmin(some)):,} lacks every view; expected at least one in each row. "
            "Drop such rows."
        )
