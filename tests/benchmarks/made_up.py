"""Results of benchmarks, made up."""

import density
import race
from asked_bars import FASTER
from asking import ASKED

OBJECTIVE = {"objective": 1.0, "reconstruction": 1.0, "graph": 0.0, "sparsity": 0.0, "gap": 0.0}


def cell(own, rows=5_000, **more):
    """A result in which ours takes 1 s, without graph 0.5 s, the floor 0.1 s."""
    times = {"floor": 0.1, "omvfs": 1.0, "omvfs, no graph": 0.5}
    if own is not None:
        times["own"] = own
    return {"rows": rows, "times": {k: [[v, v]] * 2 for k, v in times.items()}, **more}


def run(rows, seconds, memory=2**20):
    marks = [
        {"rows": n, "times": [t, t], "memory": memory} for n, t in zip(rows, seconds, strict=True)
    ]
    ranked = {"times": [1.0, 1.0], "memory": 3 * memory}
    return {"marks": marks, "ranked": ranked, "nonzeros": 20.0, "V and B": 2**20}


def times(seconds):
    """Two runs of each, as long by both clocks."""
    return {name: [[s, s]] * 2 for name, s in seconds.items()}


def asked():
    """Return results of what is asked, by key: the bars are met but for those on asking."""
    found = {}
    for percent in density.CASES:
        works = {f"{kind}, {work}": 1.0 for kind in ("CSR", "array") for work in density.WORKS}
        works |= {"CSR, pass and ranking": 2.0, "FSDS": 1.0}
        found[f"asked/density/{percent}"] = {"times": times(works)}
    for name in FASTER:
        ways = {"floor": 0.1, "omvfs, no graph": 0.4, "omvfs": 0.9, "omvfs, ranked": 1.0}
        cell = {"rows": 5_000, "twin": name == "debian_large"}
        found[f"asked/ranked/{name}"] = {**cell, "times": times({**ways, "MiniBatchNMF": 4.0})}
    again = dict.fromkeys(ASKED, 0.05)
    cell = {"twin": False, "times": times({**again, "pass": 1.0, "a ranking": 0.7})}
    found["asked/asking"] = cell
    many = {"pass, many rows": 1.0, "predict, many rows": 1.2}
    memory = {"few": [2**20] * 2, "many": [2**20] * 2}
    found["asked/predict"] = {"times": times(many), "memory": memory}
    found["asked/command"] = {"times": times({"omvfs --help": 0.2, "omvfs select": 2.0})}
    found["asked/memory"] = {"runs": [run([10_000, 1_000_000], [1.0, 2.0])] * 2}
    others = {"growing": 1.1, "known": 1.0, "lacking": 0.9, "complete": 1.0, "loop": 2.0}
    others |= {"one worker": 2.2, "two workers": 1.1}
    found["asked/elsewhere"] = {"times": times(others)}
    both = {"before": [0.70, 0.72], "after": [0.69, 0.72], "spread": 0.01}
    found["asked/quality"] = {"sets": {"fox": both}}
    return found


def all_kinds():
    """Return results by key, some of every kind."""
    found = {}
    for name in race.SPARSE:
        found[f"set/{name}"] = {
            "rows": 5_000,
            "features": [10, 20],
            "nonzeros": [3.0, 4.0],
            "clusters": 2,
            "chunk_bytes": 10**6,
        }
        found[f"race/{name}/omvfs"] = cell(None)
        found[f"race/{name}/MiniBatchKMeans"] = cell(0.3)
        found[f"race/{name}/MiniBatchNMF"] = cell(5.0 if "twin" in name else 2.0)
        found[f"race/{name}/FSDS"] = cell(4.0, rows=2_000)
        lower = {"omvfs": OBJECTIVE, "paper": {**OBJECTIVE, "objective": 2.0}}
        found[f"race/{name}/paper"] = cell(20.0, 1_000, objective={"last chunk, own U": lower})
        found[f"race/{name}/paper{race.WHOLE}"] = cell(
            40.0, objective={"last chunk, own U": lower}, note="printed"
        )
    found["growth/N"] = {"runs": [run([1_000, 10_000, 100_000], [1.0, 10.0, 100.0])]}
    for k in (10, 100):
        found[f"growth/K/{k}"] = {"runs": [run([1_000], [k**1.5])]}
    found["growth/large/1000000"] = {"runs": [run([1_000], [1.0], memory=2 * 2**20)]}
    found["machine/bandwidth"] = {"speeds": {"copy": [[1e10, 1e10]]}}
    found["imports"] = {"times": {"omvfs": [[1.1, 1.1]], "others": [[1.0, 1.0]]}}
    return found | asked()
