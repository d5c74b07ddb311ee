"""From the parameters of the estimator to the settings of the model, checked and per view."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from omvfs.model.ranking import Named
from omvfs.model.settings import Graph, Settings
from omvfs.parameters import by_view, number, one_of, whole

_MAX_ITER = {"constrained": 20, "paper": 200}
_GRAPH: dict[str, Graph] = {"constrained": "neighbors", "paper": "gaussian"}


def resolve(params: Mapping[str, Any], views: Sequence[str]) -> Settings:
    """Check the parameters and give every view its own.

    Parameters
    ----------
    params : mapping of str to object
        Parameters of the estimator by name.
    views : sequence of str
        Names of the views, in order.

    Returns
    -------
    Settings
    """
    solver = one_of("solver", params["solver"], ("constrained", "paper"))
    graph = one_of("graph", params["graph"], ("auto", *get_args(Graph)))
    max_iter = params["max_iter"]
    window = params["window"]
    if not callable(params["criterion"]):
        one_of("criterion", params["criterion"], get_args(Named))
    number("diversity", params["diversity"], least=0.0)
    number("recency", params["recency"], least=0.0, most=1.0)
    whole("batch_size", params["batch_size"], least=1)
    forgetting = number("forgetting", params["forgetting"], least=0.0)
    if not 0 < forgetting <= 1:
        raise ValueError(f"Got forgetting={forgetting!r}; expected above 0 and at most 1.")
    return Settings(
        n_clusters=whole("n_clusters", params["n_clusters"], least=1),
        solver=solver,
        graph=_GRAPH[solver] if graph == "auto" else graph,
        graph_weight=by_view("graph_weight", params["graph_weight"], views),
        sparsity=by_view("sparsity", params["sparsity"], views),
        orthogonality=number("orthogonality", params["orthogonality"], least=0.0),
        n_neighbors=whole("n_neighbors", params["n_neighbors"], least=1),
        window=None if window is None else whole("window", window, least=1),
        memory=whole("memory", params["memory"], least=0),
        forgetting=forgetting,
        scale_columns=one_of("scale_columns", params["scale_columns"], (True, False)),
        n_init=whole("n_init", params["n_init"], least=1),
        max_iter=_MAX_ITER[solver] if max_iter is None else whole("max_iter", max_iter, least=1),
        tol=number("tol", params["tol"], least=0.0),
    )
