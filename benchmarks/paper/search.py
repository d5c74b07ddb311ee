"""Search for the parameters of several methods, over several orders of the data."""

import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from omvfs.data.schema import listed
from omvfs.data.views import Views
from omvfs.evaluation.protocol import (
    METRICS,
    PAPER_SIZES,
    Clustering,
    Row,
    as_seeds,
    as_sizes,
    evaluate_selection,
    labelled,
    summarise,
)
from omvfs.model.arrays import IntArray
from omvfs.parameters import one_of
from paper.store import Store, plain

Load: TypeAlias = Callable[[int], tuple[Any, Any]]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shuffled:
    """Rows in memory, handed out in seeded orders: ``load(order)``.

    Attributes
    ----------
    views : Views
        The rows.
    labels : int array of shape (n_rows,)
        Class of every row, as a number.

    Examples
    --------
    >>> load = Shuffled.of(np.eye(3), ["a", "b", "c"])
    >>> views, labels = load(0)
    >>> views
    Views(3 rows; X: 3; float64)
    >>> labels
    array([2, 0, 1])
    """

    views: Views
    labels: IntArray

    @classmethod
    def of(cls, views: Any, labels: Any) -> "Shuffled":
        """Read the rows.

        Parameters
        ----------
        views : anything `as_views` accepts
        labels : array-like of shape (n_rows,)
        """
        return cls(*labelled(views, labels))

    def __call__(self, order: int) -> tuple[Views, IntArray]:
        """Return the views and the labels, rows in the order that this seed gives.

        Parameters
        ----------
        order : int
        """
        rows = np.random.default_rng(order).permutation(len(self.views))
        return self.views[rows], self.labels[rows]


@dataclass(frozen=True)
class SearchResult:
    """What a search has found.

    Attributes
    ----------
    rows : list of dict
        A row for every method, setting, order, number of features and seed, with ``method``,
        ``params`` (as text), ``default`` (whether the setting is the method's own), ``order``,
        ``p``, ``seed``, ``ACC``, ``NMI max``, ``NMI geometric``, and ``seconds`` of the fit, scores
        included. ``pandas.DataFrame`` takes it as it is.
    failures : list of dict
        A row for every fit that failed, with ``method``, ``params``, ``default``, ``order`` and
        ``error``.
    """

    rows: list[Row]
    failures: list[Row]

    def default_rows(self) -> list[Row]:
        """Return the rows of every method's own setting."""
        return [row for row in self.rows if row["default"]]

    def best_rows(self, metric: str = "NMI max") -> list[Row]:
        """Return the rows of every method's best setting, which is chosen by the labels.

        So it says what a method could reach if the best setting were known. The paper reports
        this; without labels nobody can choose so, and `default_rows` should stand beside it.

        Parameters
        ----------
        metric : {"NMI max", "NMI geometric", "ACC"}, default="NMI max"
            The setting with the highest mean over orders, numbers of features and seeds is the
            best; the first among equals, beginning with the default. A setting of which a fit
            failed is not chosen.
        """
        one_of("metric", metric, METRICS)
        failed = {(row["method"], row["params"]) for row in self.failures}
        best: dict[str, Row] = {}
        for row in summarise(self.rows, ("method", "params")):
            method = row["method"]
            if (method, row["params"]) in failed:
                continue
            if method not in best or row[metric] > best[method][metric]:
                best[method] = row
        chosen = {(row["method"], row["params"]) for row in best.values()}
        return [row for row in self.rows if (row["method"], row["params"]) in chosen]

    def summary(self, metric: str = "NMI max") -> list[Row]:
        """Return mean and spread of every method: its own setting, and the best by the labels.

        Parameters
        ----------
        metric : {"NMI max", "NMI geometric", "ACC"}, default="NMI max"
            As for `best_rows`.

        Returns
        -------
        list of dict
            As from `summarise`, with ``method``, ``params`` and ``setting``, which is ``default``
            or ``best by labels``. A setting without any fit that worked is not there.
        """
        default, best = (
            {row["method"]: row for row in summarise(rows, ("method", "params"))}
            for rows in (self.default_rows(), self.best_rows(metric))
        )
        return [
            {"method": method, "setting": setting, **rows[method]}
            for method in dict.fromkeys(row["method"] for row in self.rows)
            for setting, rows in (("default", default), ("best by labels", best))
            if method in rows
        ]


@dataclass(frozen=True)
class _Task:
    """One fit to make, the columns of its rows, and what it is in the store."""

    estimator: Any
    columns: Row
    description: Row


def grid_search(
    methods: Mapping[str, Any],
    load: Load,
    *,
    grids: Mapping[str, Any] | None = None,
    orders: int | Sequence[int] = 1,
    n_features: int | Sequence[int | None] | None = PAPER_SIZES,
    seeds: int | Sequence[int] = 10,
    clustering: Clustering = "multiview",
    store: str | os.PathLike[str] | None = None,
    retry_failed: bool = False,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> SearchResult:
    """Fit every method in every setting on every order of the data, and judge its selections.

    The best setting of a method is chosen by the labels; the default is always run beside it.

    Parameters
    ----------
    methods : mapping of str to selector
        By its name, a selector in its default setting. Where its ``random_state`` is None, it is
        given the order as the seed.
    load : callable
        ``load(order)`` returns the views and the labels, rows in that order. It is called in the
        process that does the fit, so that the data need not travel there; `Shuffled` is one for
        data in memory. If loading is slow, ``functools.lru_cache`` on a function of a module helps.
    grids : mapping of str to (dict or list of dict), default=None
        By the name of a method, the values to try of its parameters, as for scikit-learn's
        ``ParameterGrid``. A method not mentioned runs in its default setting only.
    orders : int or sequence of int, default=1
        Orders of the data, or how many.
    n_features, seeds, clustering
        As for `evaluate_selection`.
    store : path, default=None
        A file that takes every result as it comes. A search that finds results there does not
        compute them again: an interrupted one goes on. It knows methods by name and parameters, not
        the data nor the code: have a file for each data set, and a new one after a change of code.
    retry_failed : bool, default=False
        Try again what the store knows to have failed.
    n_jobs : int, default=None
        Processes, as for scikit-learn; each works in one thread.
    on_progress : callable, default=None
        ``on_progress(done, total)`` is called at the beginning and after each fit.

    Returns
    -------
    SearchResult
        In the order of methods, settings and orders, whatever was finished first. A fit that
        raises, or that gives scores that are none, is among its failures.

    Examples
    --------
    >>> from omvfs.baselines import Variance
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(200, n_features=(60, 40), n_informative=(20, 10), random_state=0)
    >>> result = grid_search(
    ...     {"variance": Variance()},
    ...     Shuffled.of(planted.views, planted.labels),
    ...     grids={"variance": {"batch_size": [50, 100]}},
    ...     n_features=[10, 20],
    ...     seeds=2,
    ... )
    >>> len(result.rows), result.failures
    (12, [])
    >>> [(row["setting"], row["n"]) for row in result.summary()]
    [('default', 4), ('best by labels', 4)]
    """
    sizes, seeds = as_sizes(n_features), as_seeds("seeds", seeds)
    one_of("clustering", clustering, get_args(Clustering))
    how = {"n_features": sizes, "seeds": seeds, "clustering": clustering}
    tasks = list(_tasks(methods, grids or {}, as_seeds("orders", orders), how))
    report = on_progress or (lambda done, total: None)
    results: dict[int, Row] = {}
    with Store(store) as known:
        for i, task in enumerate(tasks):
            result = known.get(task.description)
            if result is not None and not (retry_failed and result["error"]):
                results[i] = result
        report(len(results), len(tasks))
        missing = [delayed(_run)(i, tasks[i], load, how) for i in _by_order(tasks, results)]
        with _unordered(missing, n_jobs) as found:
            for i, result in found:
                known.add(tasks[i].description, result)
                results[i] = result
                report(len(results), len(tasks))
    rows, failures = [], []
    for i, task in enumerate(tasks):
        if results[i]["error"] is not None:
            failures.append({**task.columns, "error": results[i]["error"]})
        seconds = {"seconds": results[i]["seconds"]}
        rows += [{**task.columns, **row, **seconds} for row in results[i]["rows"]]
    return SearchResult(rows, failures)


@contextmanager
def _unordered(calls: Sequence[Any], n_jobs: int | None) -> Iterator[Iterator[Any]]:
    """Hand out results as they come, and give up the others on leaving."""
    results = Parallel(n_jobs, return_as="generator_unordered")(calls)
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            # joblib warns of calls that were given up. On an interruption that is what is meant.
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _by_order(tasks: Sequence[_Task], done: Mapping[int, Row]) -> list[int]:
    """Return what is to be done, one order after the other: a cached `load` loads each once."""
    missing = [i for i in range(len(tasks)) if i not in done]
    return sorted(missing, key=lambda i: int(tasks[i].columns["order"]))


def _tasks(
    methods: Mapping[str, Any], grids: Mapping[str, Any], orders: Sequence[int], how: Row
) -> Iterator[_Task]:
    if unknown := set(grids) - set(methods):
        raise ValueError(
            f"Got grids for methods {listed(sorted(unknown))}; the methods are {listed(methods)}."
        )
    for method, estimator in methods.items():
        for number, (params, setting) in enumerate(_settings(estimator, grids.get(method, {}))):
            for order in orders:
                seeded = _seeded(clone(estimator).set_params(**setting), order)
                columns = {"method": method, "params": params, "default": number == 0}
                described = {"method": method, "estimator": plain(method, seeded)}
                at = {"order": order}
                yield _Task(seeded, columns | at, described | at | how)


def _settings(estimator: Any, grid: Any) -> list[tuple[str, Row]]:
    """Return the settings to try, each as text and by name: the default first, none twice."""
    points = list(ParameterGrid(grid))
    names = sorted({name for point in points for name in point})
    own = estimator.get_params()
    default = {name: own[name] for name in names if name in own}
    settings: list[tuple[str, Row]] = []
    for point in [{}, *points]:
        setting = {**default, **point}
        values = {name: plain(name, setting[name]) for name in sorted(setting)}
        # By value: 3 and 3.0 are one setting.
        if not any(values == {n: plain(n, known.get(n)) for n in values} for _, known in settings):
            text = ", ".join(f"{name}={value!r}" for name, value in values.items())
            settings.append((text, setting))
    return settings


def _seeded(estimator: Any, order: int) -> Any:
    params = estimator.get_params(deep=False)
    if "random_state" in params and params["random_state"] is None:
        estimator.set_params(random_state=order)
    return estimator


def _run(i: int, task: _Task, load: Load, how: Row) -> tuple[int, Row]:
    """Return the figures of one fit, or why it has none."""
    method, params, order = (task.columns[key] for key in ("method", "params", "order"))
    views, labels = labelled(*load(order))
    with threadpool_limits(1):
        try:
            started = time.perf_counter()
            scores = task.estimator.fit(views).view_scores_
            seconds = time.perf_counter() - started
            rows = evaluate_selection(views, labels, {method: scores}, **how, n_jobs=1)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            _log.warning("%s (%s), order %s: %s", method, params, order, message)
            return i, {"error": message, "seconds": None, "rows": []}
    own = [{key: row[key] for key in ("p", "seed", *METRICS)} for row in rows]
    return i, {"error": None, "seconds": seconds, "rows": own}
