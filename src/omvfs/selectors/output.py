"""Frames: what `set_output` asks for, with the labels of rows, and tables of what was found."""

from collections.abc import Mapping
from typing import Any, Literal

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils._set_output import _get_container_adapter

from omvfs.data.door import select_columns
from omvfs.data.views import Block, Views

Frame = Literal["pandas", "polars", "pyarrow"]


def with_index(selector: Any, block: Block, index: Any) -> Any:
    """Return a block in the frame that is asked for, if only we know the labels of its rows.

    scikit-learn finds them in one frame alone. It names the columns, and refuses what is sparse.

    Parameters
    ----------
    selector : estimator
        Whose `set_output` was called, or not.
    block : Block
        What `transform` is to return.
    index : object or None
        Labels of its rows.
    """
    adapter = _get_container_adapter("transform", selector)
    if adapter is None or index is None or sp.issparse(block):
        return block
    return _framed(adapter, block, None, index)


def selected_by_view(
    selector: Any, batch: Views, support: Mapping[str, NDArray[np.bool_]]
) -> dict[str, Any]:
    """Return the supported columns by view: blocks, or the frames that are asked for.

    Parameters
    ----------
    selector : estimator
        Whose `set_output` was called, or not.
    batch : Views
        The rows.
    support : mapping of str to boolean mask
        The columns to keep, for every view.
    """
    blocks = select_columns(batch, support)
    adapter = _get_container_adapter("transform", selector)
    if adapter is None:
        return dict(blocks)
    frames = {}
    for view, block in blocks.items():
        if sp.issparse(block):
            raise ValueError(
                f"View {view!r} is sparse, and frames are not. Pass it dense, or get it as it is: "
                'set_output(transform="default").'
            )
        names, columns = batch.feature_names[view], np.flatnonzero(support[view])
        called = columns.astype(str).astype(object) if names is None else names[columns]
        frames[view] = _framed(adapter, block, called, batch.index)
    return frames


def _framed(adapter: Any, block: Block, names: Any, index: Any) -> Any:
    frame = adapter.create_container(block, None, columns=names)
    if index is not None and hasattr(frame, "index"):  # polars has none
        frame.index = index
    return frame


def as_frame(columns: Mapping[str, Any], backend: Frame) -> Any:
    """Return columns by name as a frame of a library, which must be installed.

    Examples
    --------
    >>> as_frame({"name": ["a", "b"], "rank": [1, 2]}, "pandas")
      name  rank
    0    a     1
    1    b     2
    """
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"Frames of {backend} need {missing.name}: pip install {missing.name}. Or ask for "
            'another kind: backend="pandas", "polars" or "pyarrow".',
            name=missing.name,
        ) from missing
