"""The page of a benchmark's results: what is asked, races, growth, machine."""

import asked
import elsewhere
from growth import curves, fits
from measure import ratios
from paper import table
from paper.timing import shown, spread, three_digits
from race import CHUNK, SETS, WHOLE

HEAD = """\
# What a pass costs

Made by `make bench`; `make bench-bars` measures only half-dense views, ranked passes, asking,
predicting, starting and memory anew. Everything runs in one process, or its children, on one
thread, in turn, repeated. Ratios are of processor time: median (lowest to highest). Ratios compare,
seconds do not.
The twins (`benchmarks/paper/twins.py`) have the shape of the paper's sets, not their data.
"""
RACE = """\
## Race

A pass is `partial_fit` over all chunks of 1,000 rows, rows already cut and, for peers that know no
views, already side by side. The ranking is worked out when it is asked for, at a cost that does not
grow with the stream: "omvfs, ranked". The floor is one product XV and one XᵀU a chunk. Every method
is compared with ours, run just before it on the same rows: slow methods on the first rows only,
unless it says so. A method that ran once shows the spread of ours, run before and after it.

![Ratio of every method's time to ours, on a logarithmic scale](performance-race.svg)
"""
GROWTH = """\
## Growth

A twin of Reuters with 20,000 + 20,000 features, 40 + 40 words a row, 6 clusters and 20,000 rows,
one of them changed; views have 10,000 features and 40 words each. Rows are drawn chunk by chunk and
dropped. The exponent is fitted over all sizes, and again between the last two. Memory is the most
that the process held less what it held with one chunk, before it learned; N is one pass, looked at
on its way. Of repeated runs, seconds are the lowest and memory is the highest.

![Time and memory of a pass against what grows](performance-growth.svg)
"""


def page(results, older=()):
    """Return the page.

    Parameters
    ----------
    results : dict
        Results by key, as kept.
    older : sequence of str
        Keys of results that other code gave.
    """
    lines = [HEAD]
    if older:
        which = "all results" if len(older) == len(results) else ", ".join(older)
        lines += [f"Measured with earlier code of the library: {which}.", ""]
    if rows := asked.rows_of(results):
        lines += ["## Asking, predicting, starting", "", table(rows, ["", "median (range)"])]
    lines += elsewhere_table(results)
    lines += ["", RACE]
    for name in SETS:
        lines += race_table(results, name)
    lines += growth_table(results)
    lines += machine(results)
    return "\n".join(lines).rstrip() + "\n"


def elsewhere_table(results):
    """Return the lines on streams of other kinds."""
    cell = results.get("asked/elsewhere")
    if cell is None:
        return []
    rows = elsewhere.rows_of(cell["times"])
    return ["", "## Other streams", "", table(rows, ["a pass", "ratio", "time of"])]


def race_table(results, name):
    """Return the lines of a set's race."""
    cells = {key.split("/")[2]: cell for key, cell in of(results, f"race/{name}/")}
    if not cells:
        return []
    lines = [f"### {name}", ""]
    if about := results.get(f"set/{name}"):
        features = " + ".join(f"{width:,}" for width in about["features"])
        nonzeros = " + ".join(f"{each:.0f}" for each in about["nonzeros"])
        shape = f"{about['rows']:,} rows, {features} features, {nonzeros} nonzeros a row"
        stood_in = "A twin stood in for it. " if about.get("twin") else ""
        lines += [f"{stood_in}{shape}, K = {about['clusters']}; {reading(results, name)}", ""]
    rows = []
    if main := cells.pop("omvfs", None):
        rows += [race_row(each, main, each, "") for each in ("floor", "omvfs")]
    for each, cell in sorted(cells.items(), key=lambda item: (item[1]["rows"], item[0])):
        rows.append(race_row(each.removesuffix(WHOLE), cell, "own", cell.get("note", "")))
    head = ["", "rows", "× ours", "× floor", "processor s", "wall s", ""]
    return [*lines, table(rows, head), ""]


def race_row(label, cell, own, note):
    times = cell["times"]
    columns = [shown(ratios(times[own], times[other])) for other in ("omvfs", "floor")]
    columns += [shown([run[clock] for run in times[own]]) for clock in (0, 1)]
    return [label, f"{cell['rows']:,}", *columns, note]


def reading(results, name):
    """Return how a chunk compares with reading its bytes once."""
    about, main = results[f"set/{name}"], results.get(f"race/{name}/omvfs")
    text = f"a chunk has {about['chunk_bytes'] / 1e6:.2f} MB"
    speed = read_speed(results)
    if main is None or speed is None:
        return text + "."
    once = about["chunk_bytes"] / speed
    parts = []
    for each in ("omvfs", "floor"):
        chunk = [run[0] / main["rows"] * CHUNK / once for run in main["times"][each]]
        parts.append(f"{each} {three_digits(spread(chunk)[0])} ×")
    once = f"time over that of reading these bytes once at {speed / 1e9:.3g} GB/s"
    return f"{text}; {once}: {', '.join(parts)}."


def read_speed(results):
    """Return the bytes a second of the fastest of copy, triad and reading."""
    found = results.get("machine/bandwidth")
    if found is None:
        return None
    return max(spread([run[0] for run in runs])[0] for runs in found["speeds"].values())


def growth_table(results):
    """Return the lines on growth."""
    grown = curves(results)
    if not grown:
        return []
    head = ["against", "sizes", "exponent", "last two", "seconds", "exponent, memory", "MB"]
    rows = []
    for what, points in grown.items():
        fit = fits(points)
        sizes = ", ".join(f"{size:,.0f}" for size in points)
        seconds = ", ".join(three_digits(min(r[0] for r in p["times"])) for p in points.values())
        memory = ", ".join(f"{max(p['memory']) / 2**20:,.0f}" for p in points.values())
        nonzeros = ", ".join(f"{point['nonzeros']:.0f}" for point in points.values())
        whole, last, held = (
            f"{fit[each]:.3g}" if fit else "–" for each in ("time", "last", "memory")
        )
        rows.append([what, sizes, whole, last, seconds, held, memory, nonzeros])
    return [GROWTH, table(rows, [*head, "nonzeros a row"]), ""]


def machine(results):
    """Return the lines on the machine."""
    lines = []
    if found := results.get("machine/bandwidth"):
        speeds = ", ".join(
            f"{name} {shown([run[0] / 1e9 for run in runs])}"
            for name, runs in found["speeds"].items()
        )
        lines.append(f"Memory bandwidth on one thread, GB/s: {speeds}.")
    if found := results.get("imports"):
        times = ", ".join(
            f"{name} {shown([run[0] for run in runs])}" for name, runs in found["times"].items()
        )
        ratio = shown(ratios(*found["times"].values()))
        lines.append(f"Import in fresh processes, processor s: {times}; ratio {ratio}.")
    if about := results.get("machine/about"):
        versions = [f"{name} {value}" for name, value in about.items() if name != "code"]
        lines.append(f"Measured with {', '.join(versions)}.")
    return ["## Machine", "", *("\n\n".join(lines).split("\n"))] if lines else []


def of(results, prefix):
    """Return the results whose key begins so."""
    return [(key, cell) for key, cell in results.items() if key.startswith(prefix)]
