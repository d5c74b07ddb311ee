"""What a pass costs: ours, its peers and the floor side by side, as ratios with their spread.

    make bench          # all: docs/performance.json, docs/performance.md and its pictures
    make bench-bars     # only asking, ranking, predicting, starting and memory, anew
    make bench-quick    # under 3 minutes, nothing is written
    make bench-full     # the slow methods over the whole streams as well

The sets are twins of the paper's large ones (`benchmarks/paper/twins.py`) and, where it is at hand,
debian_large. Results are kept as they are found: an interrupted run continues, `--again` starts
anew, with beginnings of keys only these. `--only race/youtube-twin/paper` finds what begins so.
"""

import argparse
import json
from pathlib import Path

from threadpoolctl import threadpool_limits

import machine
from asked import asked
from growth import grow
from keep import Results
from measure import ratios
from page import page
from paper.timing import shown
from race import race


def surroundings(results, quick):
    """Find what is missing of the machine's figures, and keep it."""
    results.put("machine/about", machine.about())
    if results.wanted("machine/bandwidth"):
        speeds = machine.bandwidth(*((64, 3) if quick else (256, 10)))
        results.put("machine/bandwidth", {"speeds": speeds})
        for name, runs in speeds.items():
            print(f"memory  {name:6s} {shown([run[0] / 1e9 for run in runs])} GB/s", flush=True)
    if results.wanted("imports"):
        times = machine.imports(5 if quick else 15)
        results.put("imports", {"times": times})
        print(f"import  omvfs over its parts: {shown(ratios(*times.values()))}", flush=True)


def write(results, path, pictures):
    """Write the page, and the pictures beside it."""
    path.write_text(page(results.found, results.older()), encoding="utf-8")
    if pictures:
        import plots

        plots.draw(results.found, path.parent)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--quick", action="store_true", help="few rows, small sizes")
    parser.add_argument("--full", action="store_true", help="slow methods read whole streams too")
    parser.add_argument("--json", type=Path, help="results to continue and to keep")
    parser.add_argument("--write", type=Path, help="the results as a page, pictures beside it")
    parser.add_argument("--no-pictures", action="store_true")
    parser.add_argument("--again", nargs="*", metavar="KEY", help="forget these results, or all")
    parser.add_argument("--only", nargs="+", default=[], metavar="KEY", help="find only these")
    parser.add_argument("--page-only", action="store_true", help="measure nothing, write the page")
    args = parser.parse_args()
    results = Results(args.json, args.again, args.only)
    if not args.page_only:
        with threadpool_limits(1):
            surroundings(results, args.quick)
            asked(results, args.data, args.quick)
            race(results, args.data, args.quick, args.full)
            grow(results, args.quick)
    if args.quick:
        print("Quick: few rows, of which the first cost most. Figures to quote: `make bench`.")
    if older := results.older():
        print("Kept from other code of the library:", json.dumps(older))
    if args.write:
        write(results, args.write, not args.no_pictures)


if __name__ == "__main__":
    main()
