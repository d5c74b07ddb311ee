"""Cells of AnnData or MuData, in memory or on a disk, read some rows at a time."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.data.blocks import take_rows, vstack
from omvfs.data.collections import fitting
from omvfs.data.containers import modalities_of
from omvfs.data.lacking import spread
from omvfs.data.schema import listed
from omvfs.data.views import Block, Views

Layer = str | Mapping[str, str | None] | None


class Cells:
    """Cells of AnnData or MuData by their number, a modality a view.

    Parameters
    ----------
    data : AnnData or MuData
        Its matrices may be in memory or on a disk (backed), dense or CSR. Nothing of them is read
        yet.
    layer : str, mapping of str to (str or None), or None, default=None
        Layer to read in the place of ``X``, of all modalities or by modality.

    Attributes
    ----------
    modalities : dict of str to AnnData
        By view; AnnData is one, called ``X``.
    """

    def __init__(self, data: Any, layer: Layer = None) -> None:
        found = modalities_of(data)
        self._whole, self._is_one = data, found is None
        self.modalities: dict[str, Any] = {"X": data} if found is None else dict(found)
        if not all(hasattr(type(each), "layers") for each in self.modalities.values()):
            raise TypeError(f"Got {type(data).__name__}; expected AnnData or MuData.")
        if not self.modalities:
            raise ValueError("Got MuData without modalities; expected at least one.")
        if any(each.is_view for each in (data, *self.modalities.values())):
            raise ValueError(
                f"Got a view of {type(data).__name__}; expected what results can be written to. "
                "Pass data[...].copy(), or copy(filename) of what is backed."
            )
        if isinstance(layer, Mapping) and (unknown := set(layer) - set(self.modalities)):
            raise ValueError(
                f"Got layer of {listed(sorted(unknown))}; the modalities are "
                f"{listed(self.modalities)}."
            )
        self._matrices = {
            name: _matrix(name, each, layer.get(name) if isinstance(layer, Mapping) else layer)
            for name, each in self.modalities.items()
        }
        self._names = {
            name: list(map(str, each.var_names)) for name, each in self.modalities.items()
        }
        # Where the cells are in each modality; -1 if it lacks them.
        self._places = {} if self._is_one else self._maps()

    def __len__(self) -> int:
        return int(self._whole.n_obs)

    def chunks(self, size: int, which: NDArray[np.bool_] | None = None) -> Iterator[Any]:
        """Yield all cells, or some of them, as batches of so many rows at most.

        Parameters
        ----------
        size : int
            Rows that are read at once.
        which : bool array, default=None
            Which cells to read; by default all.
        """
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            rows = rows if which is None else rows[which[rows]]
            if len(rows):
                yield self.read(rows)

    def read(self, rows: NDArray[np.intp]) -> Any:
        """Return cells by their rising numbers: AnnData of AnnData, else `Views`.

        Parameters
        ----------
        rows : int array
        """
        if self._is_one:
            import pandas as pd

            return type(self._whole)(
                X=_rows(self._matrices["X"], rows),
                obs=pd.DataFrame(index=self._whole.obs_names[rows]),
                var=pd.DataFrame(index=self._whole.var_names),
            )
        blocks, present = {}, {}
        for name, matrix in self._matrices.items():
            places = self._places[name][rows]
            has = places >= 0
            block = _rows(matrix, places[has])
            if not has.all():
                present[name] = has
                block = spread(block, np.flatnonzero(has), len(rows))
            blocks[name] = block
        return Views(
            fitting(blocks),
            feature_names=self._names,
            index=self._whole.obs_names[rows],
            present=present or None,
        )

    def present_in(self, which: NDArray[np.bool_]) -> dict[str, bool]:
        """Tell by view whether any of some cells has it.

        Parameters
        ----------
        which : bool array
            Which cells.
        """
        places = self._places
        return {
            name: self._is_one or bool((places[name][which] >= 0).any()) for name in self.modalities
        }

    def _maps(self) -> dict[str, NDArray[np.intp]]:
        maps = {}
        for name, each in self.modalities.items():
            own = np.asarray(self._whole.obsmap[name]).ravel().astype(np.intp) - 1
            if len(own) != len(self) or np.count_nonzero(own >= 0) != each.n_obs:
                raise ValueError(
                    f"MuData does not tell where the cells of modality {name!r} are, which was "
                    "changed. Call mdata.update()."
                )
            maps[name] = own
        return maps


def _matrix(name: str, adata: Any, layer: str | None) -> Any:
    """Return what rows can be sliced from."""
    if layer is not None and layer not in adata.layers:
        raise ValueError(
            f"Modality {name!r} has no layer {layer!r}; it has {listed(adata.layers) or 'none'}."
        )
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError(f"Modality {name!r} has no X; pass layer=, one of its layers.")
    if sp.issparse(X):
        return X.tocsr()
    if getattr(X, "format", "csr") != "csr":
        raise ValueError(
            f"Modality {name!r} is stored as {X.format} on disk; expected csr, which has the rows "
            "together. Write it so: adata.X = adata.X.tocsr()."
        )
    return X


def _rows(matrix: Any, places: NDArray[np.intp]) -> Block:
    """Return rows by their places, in any order, of what can be sliced only."""
    if not len(places):
        return _slice(matrix, 0, 0)
    low, high = int(places.min()), int(places.max()) + 1
    if high - low <= 2 * len(places):
        block = _slice(matrix, low, high)
        inside = places - low
        whole = len(inside) == high - low and bool((np.diff(inside) == 1).all())
        return block if whole else take_rows(block, inside)
    order = np.argsort(places)
    runs = np.split(places[order], np.flatnonzero(np.diff(places[order]) > 1) + 1)
    read = vstack([_slice(matrix, int(run[0]), int(run[-1]) + 1) for run in runs])
    return take_rows(read, np.argsort(order))


def _slice(matrix: Any, start: int, stop: int) -> Any:
    rows = matrix[start:stop]
    if hasattr(rows, "compute"):
        rows = rows.compute()
    return rows if sp.issparse(rows) else np.asarray(rows)


def read_backed(path: str | os.PathLike[str]) -> Any:
    """Open a file of AnnData or MuData and leave its matrices where they are.

    Names and annotations are read; ``X`` and all layers stay on the disk, also of zarr, which
    anndata and mudata read whole, and of layers, which they read from backed files too. The file
    is open as long as what is returned.

    Parameters
    ----------
    path : path
        An ``.h5ad`` or ``.h5mu`` file, or a zarr store of either.

    Returns
    -------
    AnnData or MuData
    """
    from anndata import AnnData
    from anndata.io import read_elem

    file = _opened(os.fspath(path))

    def annotated(group: Any) -> Any:
        matrices = {"X": group.get("X"), **{k: group["layers"][k] for k in group.get("layers", {})}}
        lazy = {name: _on_disk(each) for name, each in matrices.items() if each is not None}
        parts = ("obs", "var", "obsm", "varm", "obsp", "varp", "uns")
        return AnnData(
            X=lazy.pop("X", None),
            layers=lazy,
            **{part: read_elem(group[part]) for part in parts if part in group},
        )

    if "mod" not in file:
        return annotated(file)
    from mudata import MuData

    mods = file["mod"]
    order = [name for name in mods.attrs.get("mod-order", list(mods)) if name in mods]
    whole = {part: read_elem(file[part]) for part in file if part != "mod"}
    if "axis" in file.attrs:
        whole["axis"] = int(file.attrs["axis"])
    return MuData({name: annotated(mods[name]) for name in order}, **whole)


def _opened(path: str) -> Any:
    if os.path.isdir(path):
        import zarr

        return zarr.open(path, mode="r")
    import h5py

    return h5py.File(path, "r")


def _on_disk(stored: Any) -> Any:
    """Return a stored matrix as what rows can be sliced from."""
    from anndata.io import sparse_dataset

    return stored if hasattr(stored, "shape") else sparse_dataset(stored)
