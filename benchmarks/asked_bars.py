"""The bars on ranked passes, half-dense views, asking, predicting, starting and memory."""

from asked import EARLY, LATE, RANKED, compared
from asking import ASKED
from density import CASES, MANY, WORKS
from race import SPARSE
from verdicts import judged

# How much faster than MiniBatchNMF a pass and its ranking are to be.
FASTER = {"reuters-twin": 1, "youtube-twin": 3, "debian_large": 3, "cells-twin": 3}


def found(results):
    """Return the bars, given the results by key."""
    return [
        *half_dense(results),
        *ranked(results),
        *asking(results),
        *floors(results),
        *predicting(results),
        *quality(results),
        *starting(results),
        memory(results),
    ]


def of(results, what, figures, **limits):
    """Return a bar on ratios, each named with key, above and below."""
    both = [
        {name: compared(results, *asked, clock=clock) for name, asked in figures.items()}
        for clock in (0, 1)
    ]
    return judged(what, both[0], wall=both[1], **limits)


def half_dense(results):
    """Return the bars on CSR matrices that are half full."""
    for work in WORKS:
        figures = {
            f"{percent} %": (f"density/{percent}", f"CSR, {work}", f"array, {work}")
            for percent in CASES
        }
        yield of(results, f"a CSR view ≤ 1.3 × the same array: {work}", figures, most=1.3)
    figures = {"": ("density/13", "CSR, pass and ranking", "FSDS")}
    yield of(results, "13 % full: pass and ranking ≤ 3 × FSDS", figures, most=3)


def ranked(results):
    """Return the bars on MiniBatchNMF."""
    for least in sorted({*FASTER.values()}):
        names = [name for name in RANKED if FASTER[name] == least]
        figures = {
            labelled(results, f"ranked/{name}", name): (
                f"ranked/{name}",
                "MiniBatchNMF",
                "omvfs, ranked",
            )
            for name in names
        }
        yield of(results, f"MiniBatchNMF ≥ {least} × our pass and ranking", figures, least=least)


def labelled(results, key, name):
    """Return the name of a set, or of its twin where that stood in."""
    twin = (results.get(f"asked/{key}") or {}).get("twin")
    return f"{name} (a twin of it)" if twin else name


def asking(results):
    """Return the bars on asking."""
    name = labelled(results, "asking", "debian_large")
    figures = {"": ("asking", "a ranking", "pass")}
    what = f"asking for a ranking ≤ 0.5 × a pass, 50,000 rows of {name}"
    yield of(results, what, figures, most=0.5)
    again = {
        each.removeprefix("again, "): ("asking", each, "pass")
        for each in ASKED
        if each.startswith("again")
    }
    yield of(results, "asked again ≤ 0.1 × the pass", again, most=0.1)


def floors(results):
    """Return the bars on the floor."""
    for method, most in (("omvfs, no graph", 5), ("omvfs", 10)):
        figures = {
            labelled(results, f"ranked/{name}", name): (f"ranked/{name}", method, "floor")
            for name in SPARSE
        }
        yield of(results, f"{method} ≤ {most} × the floor", figures, most=most)


def predicting(results):
    """Return the bars on `predict`."""
    few, many = (f"{n:,}" for n in MANY)
    figures = {"": ("predict", "predict, many rows", "pass, many rows")}
    yield of(results, f"predict of {many} rows ≤ 1.5 × a pass over them", figures, most=1.5)
    held = (results.get("asked/predict") or {"memory": {}})["memory"]
    flat = None
    if held:
        flat = [a / max(b, 1) for a, b in zip(held["many"], held["few"], strict=True)]
    what = f"memory of predict: {many} over {few} rows ≤ 1.05"
    yield judged(what, {"": flat}, most=1.05)


def quality(results):
    """Return the bar on quality before and after: no set falls by more than its spread."""
    cell = results.get("asked/quality")
    what = "NMI after less NMI before, by set; no less than the spread of before"
    if cell is None:
        yield judged(what, {"": None}, least=0)
        return
    figures, worst = {}, []
    for name, both in cell["sets"].items():
        pairs = zip(both["after"], both["before"], strict=True)
        figures[name] = [after - before for after, before in pairs]
        worst.append(sum(figures[name]) / len(figures[name]) + both["spread"])
    bar = judged(what, figures)
    yield judged(what, {"": min(worst)}, least=0).telling(bar)


def starting(results):
    """Return the bars on the command line, by the wall clock."""
    cell = results.get("asked/command") or {"times": {}}
    for name, most, more in (("omvfs --help", 0.3, ""), ("omvfs select", 2.5, " on 2,000 rows")):
        runs = cell["times"].get(name)
        seconds = None if runs is None else [run[1] for run in runs]
        bar = judged(f"{name}{more} ≤ {most} s from start to end", {"": seconds}, most=most)
        if runs is not None:
            worked = judged("", {"of the processor": [run[0] for run in runs]})
            bar = bar.with_wall(worked.seen)
        yield bar


def memory(results):
    """Return the bar on memory of a pass."""
    cell, flat = results.get("asked/memory"), None
    if cell is not None:
        late, early = ([run["marks"][place]["memory"] for run in cell["runs"]] for place in (-1, 0))
        flat = [a / b for a, b in zip(late, early, strict=True)]
    return judged(f"memory of a pass: {LATE:,} over {EARLY:,} rows ≤ 1.05", {"": flat}, most=1.05)
