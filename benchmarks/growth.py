"""How time and memory of a pass grow with rows, features, clusters, nonzeros and views.

Every run is a process of its own, which draws its rows chunk by chunk and drops them. Only
learning is timed. Its memory is the most that the process ever held less what it held with one
chunk, all imports done, before it learned.
"""

import json
import subprocess
import sys

from measure import held, one_thread
from omvfs import OMVFS
from paper.timing import exponent, steepness, timed
from paper.twins import make_twin

CHUNK = 1000
BASE = {"rows": 20_000, "widths": [20_000, 20_000], "words": [40, 40], "clusters": 6}
LARGE = {"rows": 20_000, "widths": [500_000, 500_000], "words": [40, 40], "clusters": 30}


def plan(quick):
    """Return by key what each run is given; a key is what grows and how large it is."""
    rows = 4_000 if quick else 20_000
    widths = [10**4, 10**5] if quick else [10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6]
    clusters = [5, 20, 80] if quick else [5, 10, 20, 50, 100, 200]
    nonzeros = [10, 100] if quick else [10, 30, 100, 300, 1000]
    views = [1, 4] if quick else [1, 2, 4, 8, 16]
    base = {**BASE, "rows": rows}
    found = {f"D/{d}": {**base, "widths": [d // 2, d // 2]} for d in widths}
    found |= {f"K/{k}": {**base, "clusters": k} for k in clusters}
    found |= {f"nonzeros/{n}": {**base, "words": words_for(n, BASE["widths"])} for n in nonzeros}
    found |= {
        f"views/{v}": {**base, "rows": rows // 2, "widths": [10_000] * v, "words": [40] * v}
        for v in views
    }
    found["large/1000000"] = {**LARGE, "rows": rows}
    return found


def marks(quick):
    """Return the numbers of rows at which the one long pass is looked at."""
    return [1_000, 4_000, 16_000] if quick else [10**3, 10**4, 10**5, 3 * 10**5, 10**6]


def words_for(nonzeros, widths):
    """Return how many words to draw a view for rows of about so many different ones in all."""
    want = nonzeros / len(widths)
    low, high = 1, 1
    while _different(high, widths[0]) < want:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _different(middle, widths[0]) < want else (low, middle)
    return [high] * len(widths)


def _different(n_words, width):
    """Return how many different words a row of so many has, of a few rows."""
    return (
        make_twin("reuters", 20, n_features=(width,), n_words=(n_words,)).views["view_0"].nnz / 20
    )


def draw(how, seed, n_rows=CHUNK):
    """Return a chunk."""
    return make_twin(
        "reuters",
        n_rows,
        random_state=seed,
        n_features=how["widths"],
        n_words=how["words"],
        n_classes=how["clusters"],
    ).views


def child(how):
    """Learn, and return times and memory at every mark and after the ranking."""
    small = {**how, "widths": [50] * len(how["widths"]), "words": [5] * len(how["words"])}
    # What is imported at the first call is not the learner's memory.
    _ = OMVFS(how["clusters"]).partial_fit(draw(small, 0)).view_scores_
    chunk = draw(how, 0)
    nonzeros = sum(X.nnz for X in chunk.values()) / CHUNK
    before = held()[0]
    model, spent, found = OMVFS(how["clusters"], random_state=0), [0.0, 0.0], []
    for number in range(how["rows"] // CHUNK):
        chunk = draw(how, number)
        seconds, _ = timed(lambda chunk=chunk: model.partial_fit(chunk))
        spent = [a + b for a, b in zip(spent, seconds, strict=True)]
        rows = (number + 1) * CHUNK
        if rows in how.get("marks", [how["rows"]]):
            found.append({"rows": rows, "times": spent, "memory": held()[1] - before})
    ranking, _ = timed(lambda: model.ranking_)
    ranked = {"times": ranking, "memory": held()[1] - before}
    return {"marks": found, "ranked": ranked, "nonzeros": nonzeros}


def in_a_process(how):
    """Return what `child` finds in a fresh process on one thread."""
    command = [sys.executable, __file__, json.dumps(how)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=one_thread())
    return json.loads(done.stdout)


def grow(results, quick):
    """Find what is missing of the growth, a run of each in turn, and keep it."""
    repeats = 1 if quick else 3
    long = {**BASE, "rows": marks(quick)[-1], "marks": marks(quick)}
    runs = {"N": long, **plan(quick)}
    for turn in range(repeats):
        for key, how in runs.items():
            name = f"growth/{key}"
            known = (results.get(name) or {"runs": []})["runs"]
            if not results.asked(name) or len(known) > turn:
                continue
            found = in_a_process(how)
            results.put(name, {"how": how, "runs": [*known, found]})
            last = found["marks"][-1]
            print(
                f"growth  {key:18s} {last['times'][0]:8.3f} s  {last['memory'] / 2**20:8.1f} MB, "
                f"ranked {found['ranked']['memory'] / 2**20:.1f} MB",
                flush=True,
            )


def curves(results):
    """Return by what grows its sizes, and for each the runs' times and memory.

    Parameters
    ----------
    results : dict
        Results by key, as kept.
    """
    found = {}
    for key, cell in results.items():
        if not key.startswith("growth/") or key.startswith("growth/large"):
            continue
        for run in cell["runs"]:
            for mark in run["marks"]:
                _, what, *size = key.split("/")
                size = int(size[0]) if size else mark["rows"]
                if what == "nonzeros":
                    size = round(run["nonzeros"], 1)
                point = found.setdefault(what, {}).setdefault(size, {"times": [], "memory": []})
                point["nonzeros"] = run["nonzeros"]
                point["times"].append(mark["times"])
                point["memory"].append(mark["memory"])
    return {what: dict(sorted(points.items())) for what, points in found.items()}


def fits(points):
    """Return the exponents of time and memory over all sizes, and between the last two."""
    if len(points) < 2:
        return {}
    times = {size: min(run[0] for run in point["times"]) for size, point in points.items()}
    memory = {size: max(*point["memory"], 2**10) for size, point in points.items()}
    whole, last = steepness(times)
    found = {"time": whole, "last": last, "memory": exponent(memory)}
    return {name: round(value, 3) for name, value in found.items()}


if __name__ == "__main__":
    print(json.dumps(child(json.loads(sys.argv[1]))))
