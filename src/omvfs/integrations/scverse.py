"""Selection for AnnData and MuData, in the manner of ``scanpy.pp.highly_variable_genes``."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from omvfs.data.blocks import Block, check_unmasked, modalities_of, spread, take_rows, vstack
from omvfs.data.schema import listed, some
from omvfs.data.views import Views, fitting
from omvfs.omvfs import OMVFS
from omvfs.parameters import whole
from omvfs.prepare import bits_of
from omvfs.results import FEWEST
from omvfs.selector import rank

__all__ = ["annotate", "select"]

Layer = str | Mapping[str, str | None] | None


class Cells:
    """Cells of AnnData or MuData by their number, a modality a view; AnnData is one, called ``X``.

    Matrices may be in memory or on a disk (backed). They are read when asked for; one that is
    stored by columns on a disk is read as a whole at once.
    """

    def __init__(self, data: Any, layer: Layer = None) -> None:
        if isinstance(data, Mapping):
            from mudata import MuData

            data = MuData(dict(data))
        found = modalities_of(data)
        self.whole, self.is_one = data, found is None
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
        self._places = {} if self.is_one else self._maps()

    def __len__(self) -> int:
        return int(self.whole.n_obs)

    def chunks(self, size: int, which: NDArray[np.bool_] | None = None) -> Iterator[Any]:
        """Yield all cells, or some of them, as batches of so many rows at most."""
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            rows = rows if which is None else rows[which[rows]]
            if len(rows):
                yield self.read(rows)

    def read(self, rows: NDArray[np.intp]) -> Any:
        """Return cells by their rising numbers: AnnData of AnnData, else `Views`."""
        if self.is_one:
            return type(self.whole)(
                X=_rows(self._matrices["X"], rows),
                obs=pd.DataFrame(index=self.whole.obs_names[rows]),
                var=pd.DataFrame(index=self.whole.var_names),
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
            index=self.whole.obs_names[rows],
            present=present or None,
        )

    def has(self, view: str, which: NDArray[np.bool_]) -> bool:
        """Tell whether any of some cells has a modality."""
        return self.is_one or bool((self._places[view][which] >= 0).any())

    def _maps(self) -> dict[str, NDArray[np.intp]]:
        maps = {}
        for name, each in self.modalities.items():
            own = np.asarray(self.whole.obsmap[name]).ravel().astype(np.intp) - 1
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
    check_unmasked(X, f"Modality {name!r}")
    if sp.issparse(X):
        return X.tocsr()
    if getattr(X, "format", "csr") != "csr":
        # Its rows are apart: to read them by chunks would read all of it for each.
        warnings.warn(
            f"Modality {name!r} is stored by columns ({X.format}) on disk, and read as a whole. "
            "Write it as csr to read it in chunks: adata.X = adata.X.tocsr().",
            stacklevel=4,
        )
        whole = X.to_memory() if hasattr(X, "to_memory") else X.compute()
        return sp.csr_matrix(whole)
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


def select(
    data: Any,
    n_clusters: int | Literal["auto"] = 8,
    n_top: int | Sequence[int] | Mapping[str, int] = 2000,
    *,
    n_top_genes: int | None = None,
    batch_key: str | None = None,
    layer: Layer = None,
    key_added: str = "omvfs",
    highly_variable: bool = False,
    clusters: bool = False,
    inplace: bool = True,
    **params: Any,
) -> Any:
    """Rank the features of every modality, and write ranks, scores and reasons into ``.var``.

    Cells are read once, `batch_size` (here 2,000) at a time, from memory or from a disk.

    Parameters
    ----------
    data : AnnData, MuData, or mapping of str to AnnData
        AnnData is one view; MuData and a mapping have a view for each modality. Cells may lack
        modalities. Matrices may be on a disk: opened by ``backed="r"``, or by
        `anndata.experimental.read_lazy`.
    n_clusters : int or "auto", default=8
        Number of clusters of cells, as for OMVFS.
    n_top : int, sequence of int, or mapping of str to int, default=2000
        How many features to select of each modality, at most as many as it has. Pass several
        numbers to get several selections from one fit. By modality, all of them must be named.
    n_top_genes : int, default=None
        Another name of `n_top`, as in scanpy.
    batch_key : str or None, default=None
        Column of ``obs`` with the batch of each cell. As in scanpy, features are then ranked within
        each batch and combined by their median rank, so that what only tells batches apart is not
        selected. A modality is ranked by the batches that have it.
    layer : str, mapping of str to (str or None), or None, default=None
        Layer to read in the place of ``X``, of all modalities or by modality.
    key_added : str, default="omvfs"
        Prefix of the names of all that is written.
    highly_variable : bool, default=False
        Whether to write ``.var["highly_variable"]`` and ``["highly_variable_rank"]`` too, which the
        next steps of scanpy go by.
    clusters : bool, default=False
        Whether to write the cluster of each cell too; cells are then read a second time.
    inplace : bool, default=True
        Whether to write into `data`. If not, return the columns.
    **params
        Further parameters of `OMVFS`.

    Returns
    -------
    OMVFS, or DataFrame, or dict of str to DataFrame
        What was learned of all cells; with ``inplace=False`` the columns of ``.var``, by modality
        unless data is AnnData.

    Notes
    -----
    Written are, with ``key_added="omvfs"``:

    - ``.var["omvfs_rank"]`` of each modality, 1 is the best; ``.var["omvfs_score"]``;
      ``.var["omvfs_why"]``, a sentence on each selected feature; ``.var["omvfs_selected"]``, by the
      first number of `n_top`; and if there are several, ``.var["omvfs_selected_500"]`` and so on.
      With `batch_key`, the score is the median over batches, and ``.var["omvfs_nbatches"]`` tells
      in how many a feature is among the first.
    - ``.obs["omvfs_cluster"]``, if asked for; of MuData in its own ``obs``.
    - ``.uns["omvfs"]``: how it was done, and the shares of the clusters.

    Examples
    --------
    >>> from omvfs import scverse
    >>> model = scverse.select(mdata, n_clusters=12, n_top=[500, 2000])  # doctest: +SKIP
    >>> rna = mdata["rna"][:, mdata["rna"].var["omvfs_selected"]]  # doctest: +SKIP
    """
    if own := sorted({"n_features_to_select", "n_features_per_view"} & set(params)):
        raise TypeError(
            f"Got {' and '.join(own)}; expected n_top (or n_top_genes), by modality if they differ."
        )
    if clusters and not inplace:
        raise ValueError("Got clusters=True with inplace=False; call predict of a fitted OMVFS.")
    cells = Cells(data, layer)
    if not len(cells):
        raise ValueError("Got no cells; expected at least as many as clusters.")
    sizes = _sizes(n_top if n_top_genes is None else n_top_genes, list(cells.modalities))
    first = {view: own[0] for view, own in sizes.items()}
    model = OMVFS(n_clusters, **{"n_features_per_view": first, "batch_size": 2000, **params})
    if any(bits_of(model.prepare, list(cells.modalities))):
        raise ValueError("Got prepare with hash; hashed features have no place in .var.")
    if batch_key is None:
        model.fit_batches(cells.chunks(model.batch_size))
        scores = [model.view_scores_]
    else:
        model, scores = _by_batch(model, cells, _batches(cells.whole, batch_key))
    how = key_added, highly_variable, batch_key is not None
    columns = _described(cells, model, scores, sizes, *how)
    if not inplace:
        return columns["X"] if cells.is_one else columns
    if clusters:
        labels = [model.predict(chunk) for chunk in cells.chunks(model.batch_size)]
        names = [str(k) for k in range(model.n_clusters_)]
    # All is known: now write.
    _write(cells, columns, {key_added: _about(model, sizes, batch_key, layer)})
    if clusters:
        found = pd.Categorical.from_codes(np.concatenate(labels), names)
        cells.whole.obs[f"{key_added}_cluster"] = found
    return model


def annotate(
    data: Any,
    model: OMVFS,
    n_top: int | Sequence[int] | Mapping[str, int] = 2000,
    *,
    key_added: str = "omvfs",
    highly_variable: bool = False,
) -> None:
    """Write what a model has learned elsewhere into ``.var``, as `select` does.

    For cells that come in files or batches: `partial_fit` the model on each, or merge models, then
    annotate the data that are analysed further.

    Parameters
    ----------
    data : AnnData, MuData, or mapping of str to AnnData
        With the features that the model has learned from.
    model : OMVFS
    n_top, key_added, highly_variable
        As for `select`.

    Examples
    --------
    >>> for path in paths:  # doctest: +SKIP
    ...     model.partial_fit(anndata.read_h5ad(path))
    >>> scverse.annotate(adata, model, n_top=2000)  # doctest: +SKIP
    """
    if not isinstance(model, OMVFS):
        raise TypeError(f"Got {type(model).__name__}; expected an OMVFS (OMVFS.load reads files).")
    check_is_fitted(model)
    cells = Cells(data)
    for view, modality in cells.modalities.items():
        known = model.schema_.names_of(view) if view in model.schema_.names else None
        if known is None or list(known) != list(map(str, modality.var_names)):
            raise ValueError(
                f"Modality {view!r} has other features than the model has learned from; expected "
                f"the same names in the same order, in the views {listed(model.schema_.names)}."
            )
    sizes = _sizes(n_top, list(cells.modalities))
    columns = _described(cells, model, [model.view_scores_], sizes, key_added, highly_variable)
    _write(cells, columns, {key_added: _about(model, sizes)})


def _described(
    cells: Cells,
    model: OMVFS,
    scores: Sequence[Mapping[str, NDArray[Any]]],
    sizes: Mapping[str, list[int]],
    key_added: str,
    highly_variable: bool,
    of_batches: bool = False,
) -> dict[str, pd.DataFrame]:
    """Return the columns to write, by modality: ranked by one fit, or by one of each batch."""
    notes, called, columns = model.feature_notes(), model.cluster_names_, {}
    for view, modality in cells.modalities.items():
        own = [each[view] for each in scores if view in each]
        found = _columns(own, sizes[view], of_batches)
        names, ranks = list(map(str, modality.var_names)), found["rank"]
        chosen = np.flatnonzero(ranks <= max(sizes[view]))
        why = np.full(len(names), "", dtype=object)
        why[chosen] = [notes[view].why(j, int(ranks[j]), names, called) for j in chosen.tolist()]
        named = {f"{key_added}_{name}": each for name, each in (found | {"why": why}).items()}
        if highly_variable:
            named |= {"highly_variable": found["selected"], "highly_variable_rank": ranks}
        columns[view] = pd.DataFrame(named, index=modality.var_names)
    return columns


def _write(cells: Cells, columns: Mapping[str, pd.DataFrame], about: Mapping[str, Any]) -> None:
    for view, modality in cells.modalities.items():
        for name, values in columns[view].items():
            modality.var[name] = values.to_numpy()
    cells.whole.uns.update(about)


def _sizes(n_top: Any, views: Sequence[str]) -> dict[str, list[int]]:
    """Return how many features to tell of as selected, by view.

    Examples
    --------
    >>> _sizes([5, 9], ["rna"]), _sizes({"rna": 5, "protein": 2}, ["rna", "protein"])
    ({'rna': [5, 9]}, {'rna': [5], 'protein': [2]})
    """
    if isinstance(n_top, Mapping):
        if set(n_top) != set(views):
            raise ValueError(f"Got n_top of {sorted(n_top)}; expected it of {sorted(views)}.")
        return {view: [whole("n_top", n_top[view], least=1)] for view in views}
    numbers = list(n_top) if isinstance(n_top, list | tuple | np.ndarray) else [n_top]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"Got n_top={n_top!r}; expected a number, or several different ones.")
    return {view: [whole("n_top", each, least=1) for each in numbers] for view in views}


def _batches(data: Any, key: str) -> NDArray[Any]:
    if key not in data.obs:
        raise ValueError(
            f"Got batch_key={key!r}; obs has {sorted(map(str, data.obs))}. Of MuData it is a "
            "column of mdata.obs: mdata.pull_obs() fetches those of modalities."
        )
    column = data.obs[key]
    if (lacking := int(np.count_nonzero(column.isna()))) > 0:
        raise ValueError(f"{lacking:,} cells have no {key!r}; expected a batch of every cell.")
    return np.asarray(column.astype(str), dtype=object)


def _by_batch(
    model: OMVFS, cells: Cells, batches: NDArray[Any]
) -> tuple[OMVFS, list[dict[str, NDArray[Any]]]]:
    """Return what is learned of all cells, and by batch the scores of the modalities it has."""
    # The first cells of all tell how those of every batch are prepared.
    model, scores = model.settled(next(cells.chunks(model.batch_size))), []
    names, counts = np.unique(batches.astype(str), return_counts=True)
    if few := names[counts < FEWEST].tolist():
        warnings.warn(
            f"Batches of fewer than {FEWEST} cells are not ranked by themselves: {some(few)}.",
            stacklevel=3,
        )
    if len(few) == len(names):
        raise ValueError(f"All batches have fewer than {FEWEST} cells; rank without batch_key.")
    for batch in names.tolist():
        which, own = batches == batch, clone(model)

        def passed_on(which: NDArray[np.bool_] = which) -> Iterator[Any]:
            for chunk in cells.chunks(model.batch_size, which):
                model.partial_fit(chunk)
                yield chunk

        if batch in few:
            for _ in passed_on():
                pass
            continue
        try:
            found = own.fit_batches(passed_on()).view_scores_
        except ValueError as error:
            raise ValueError(f"Batch {batch!r} of {which.sum():,} cells: {error}") from error
        scores.append({view: found[view] for view in cells.modalities if cells.has(view, which)})
    return model, scores


def _columns(
    scores: Sequence[NDArray[Any]], sizes: Sequence[int], of_batches: bool
) -> dict[str, NDArray[Any]]:
    """Return what is written of the features of a modality, ranked by one fit or by several.

    Examples
    --------
    >>> _columns([np.array([0.1, 0.3]), np.array([0.5, 0.7])], [1], of_batches=True)
    {'rank': array([2, 1]), 'score': array([0.3, 0.5]), 'selected': array([False,  True]),
    'nbatches': array([0, 2])}
    """
    ranks = np.stack([rank(own) for own in scores])
    if of_batches:
        among = (ranks <= sizes[0]).sum(axis=0)
        # By median rank; among equals by the number of batches, then by the mean rank.
        order = np.lexsort((ranks.mean(axis=0), -among, np.median(ranks, axis=0)))
        ranking = np.empty(len(order), np.intp)
        ranking[order] = np.arange(1, len(order) + 1)
    else:
        ranking = ranks[0]
    found = {"rank": ranking, "score": np.median(np.stack(scores), axis=0)}
    found["selected"] = ranking <= sizes[0]
    if len(sizes) > 1:
        found |= {f"selected_{size}": ranking <= size for size in sizes}
    return found | ({"nbatches": among} if of_batches else {})


def _about(
    model: OMVFS,
    sizes: Mapping[str, list[int]],
    batch_key: str | None = None,
    layer: Layer = None,
) -> dict[str, Any]:
    """Return how it was done, as plain values that files of AnnData can hold."""
    params = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if isinstance(value, bool | int | float | str)
    }
    about: dict[str, Any] = {
        "params": params,
        "n_clusters": model.n_clusters_,
        "n_cells": model.n_samples_seen_,
        "n_top": {view: np.array(own) for view, own in sizes.items()},
        "cluster_shares": model.cluster_shares_,
        "steps": {view: ", ".join(own) for view, own in model.prepared_.items()},
    }
    if batch_key is not None:
        about["batch_key"] = batch_key
    if layer is not None:
        about["layer"] = dict(layer) if isinstance(layer, Mapping) else layer
    return about
