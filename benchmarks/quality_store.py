"""A run that goes on from its file: what is there is not done again."""

import csv

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from paper import write_csv


def read(path):
    """Return the rows of a file, none if there is none."""
    if path is None or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {key: _value(key, text) for key, text in row.items() if text}
            for row in csv.DictReader(file)
        ]


def _value(key, text):
    if key in ("order", "seeds", "p") and text.isdigit():
        return int(text)
    return float(text) if key in ("NMI", "ACC", "seconds", "found") else text


def write(rows, path):
    """Write rows, sorted, so that two files differ only where results do."""
    part = path.with_suffix(".part")
    write_csv(sorted(rows, key=_place), part)
    part.replace(path)


def _place(row):
    p = str(row.get("p", ""))
    return *_unit(row), len(p), p, row.get("view", "")


def _unit(row):
    """Return what is done as a whole."""
    return row["set"], row["method"], row.get("clustering", ""), row["order"]


def _by_unit(rows):
    found = {}
    for row in rows:
        found.setdefault(_unit(row), []).append(row)
    return found


def _work(job, name, order, wanted, n_seeds):
    with threadpool_limits(1):
        rows = job(name, order, wanted, n_seeds=n_seeds)
    about = {"set": name, "method": "", "clustering": "", "order": order, "seeds": n_seeds}
    return [about | row for row in rows]


def run(job, plan, judges, n_jobs, path):
    """Do of a plan what the file lacks or has of fewer seeds; return the rows of the plan.

    Parameters
    ----------
    job : callable
        job(name, order, wanted, n_seeds=…) returns rows; `wanted` has clusterings by method.
    plan : list of (set, order, methods, number of seeds)
        Each with one call of the job, in this order.
    judges : callable
        judges(method) returns its clusterings.
    n_jobs : int
    path : path or None
    """
    done, asked, tasks = _by_unit(read(path)), set(), []
    for name, order, methods, n_seeds in plan:
        wanted = {}
        for method in methods:
            for clustering in judges(method):
                unit = name, method, clustering, order
                asked.add(unit)
                if unit not in done or done[unit][0]["seeds"] < n_seeds:
                    wanted.setdefault(method, []).append(clustering)
        if wanted:
            tasks.append(delayed(_work)(job, name, order, wanted, n_seeds))
    for found in Parallel(n_jobs, return_as="generator_unordered")(tasks):
        done |= _by_unit(found)
        if path:
            write([row for own in done.values() for row in own], path)
    if path:  # as it is shown later: rounded
        done = _by_unit(read(path))
    return [row for unit in sorted(asked & done.keys()) for row in done[unit]]
