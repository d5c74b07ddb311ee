"""The methods that are compared, by the names that tables and figures give them."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import FSDS, ColumnSum, RandomScore, Variance
from omvfs.selector import MultiViewSelector
from paper.acsl import ACSL
from paper.base import Row
from paper.eufs import EUFS
from paper.joint_graph import JMVFG
from paper.mcfs import MCFS
from paper.mvufs import MVUFS
from paper.ndfs import NDFS
from paper.spec import SPEC, LaplacianScore
from paper.timefs import TIMEFS

OURS, PRINTED, EVERYTHING = "OMVFS", "as published", "all features"
LITTLE_MEMORY = "OMVFS, memory 300"
# A method by the number of clusters, in its fixed default.
METHODS: dict[str, Callable[[int], MultiViewSelector]] = {
    OURS: OMVFS,
    # Its usual reservoir of 2,000 rows holds some sets whole; this one none.
    LITTLE_MEMORY: lambda n_clusters: OMVFS(n_clusters, sample_size=300),
    PRINTED: OMVFSPaper,
    "FSDS": FSDS,
    "LapScore": lambda n_clusters: LaplacianScore(),
    "MCFS": MCFS,
    "SPEC": SPEC,
    "EUFS": EUFS,
    "NDFS": NDFS,
    "MVUFS": MVUFS,
    "JMVFG": JMVFG,
    "ACSL": ACSL,
    "TIME-FS": TIMEFS,
    "column sum": lambda n_clusters: ColumnSum(),
    "variance": lambda n_clusters: Variance(),
    "random": lambda n_clusters: RandomScore(),
    # Scores that nobody looks at: all features are kept.
    EVERYTHING: lambda n_clusters: ColumnSum(),
}
# What the paper calls so: of one view, and off-line.
SINGLE_VIEW = ("FSDS", "EUFS", "LapScore")
# Classes that cluster the views together.
MULTI_VIEW = {"OMVFS", "OMVFSPaper", "MVUFS", "JMVFG", "ACSL", "TIMEFS"}
PAPER_OFFLINE = ("MVUFS", "EUFS", "LapScore")
OFFLINE = ("LapScore", "MCFS", "SPEC", "EUFS", "NDFS", "MVUFS", "JMVFG", "ACSL", "TIME-FS")
# They learn a matrix of rows by rows, in time that grows with its cube.
FULL_GRAPH = ("JMVFG", "ACSL")


def _points(**values: Any) -> list[Row]:
    """Return all settings of some values, as a list."""
    return [dict(zip(values, point, strict=True)) for point in product(*values.values())]


# Settings beside the default. The printed method and MVUFS have one value for both weights.
GRIDS: Mapping[str, list[Row]] = {
    OURS: _points(sample_size=[1000, 2000], criterion=["separation", "norm"]),
    PRINTED: [{"graph_weight": a, "sparsity": a} for a in (0.01, 0.1, 1.0, 10.0, 100.0)],
    "FSDS": _points(ridge_exponent=[float(i) for i in range(1, 11)]),
    "LapScore": _points(n_neighbors=[5, 20], weights=["heat", "cosine"]),
    "MCFS": _points(n_neighbors=[5, 20], weights=["heat", "cosine"]),
    "SPEC": _points(n_neighbors=[5, 20], weights=["heat", "cosine"]),
    "EUFS": _points(sparsity=[0.01, 0.1], penalty=[1e-3, 1.0]),
    "NDFS": _points(sparsity=[0.01, 0.1, 1.0]),
    "MVUFS": [{"regression_weight": a, "sparsity": a} for a in (0.1, 1.0, 10.0)],
    "JMVFG": _points(sparsity=[0.1, 1.0, 10.0]),
    "ACSL": _points(sparsity=[0.1, 1.0, 10.0]),
    "TIME-FS": _points(sparsity=[0.001, 0.1], view_power=[2.0, 6.0]),
}


def grid(method: str) -> list[Row]:
    """Return the settings of a method to try beside its default, which is none of them.

    Examples
    --------
    >>> grid("NDFS")
    [{'sparsity': 0.01}, {'sparsity': 1.0}]
    >>> grid("variance")
    []
    """
    default = _in_default(method, 2).get_params()
    points = GRIDS.get(method, [])
    return [each for each in points if any(default[name] != each[name] for name in each)]


def make(method: str, n_clusters: int, order: int, **params: Any) -> MultiViewSelector:
    """Return a selector by its name; where it draws at random, the order is its seed.

    Examples
    --------
    >>> make("OMVFS", 3, 7, batch_size=50).get_params()["random_state"]
    7
    """
    selector = _in_default(method, n_clusters)
    selector.set_params(**params)
    if "random_state" in selector.get_params():
        selector.set_params(random_state=order)
    return selector


def _in_default(method: str, n_clusters: int) -> MultiViewSelector:
    return METHODS[method](n_clusters)
