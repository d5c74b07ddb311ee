"""The paper's experiments, each as one command: ``python benchmarks/paper NAME ...``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):  # called by its path: the package is found beside it
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from paper.base import Place
from paper.registry import EXPERIMENTS, write_experiment, write_page
from paper.running import store_file


def main(arguments: Sequence[str] | None = None) -> None:
    """Run experiments by name, and say where their results are.

    What is done is kept: after an interruption, the same command goes on.
    """
    parser = argparse.ArgumentParser(
        prog="python benchmarks/paper", description="Reproduce the paper's tables and figures."
    )
    parser.add_argument(
        "names", nargs="+", metavar="NAME", help="experiments by name, or all; list shows them"
    )
    parser.add_argument("--out", type=Path, default=Path("experiments"), help="folder of results")
    parser.add_argument(
        "--data",
        type=Path,
        help="folder of the paper's data sets, a folder each; without it, twins of the same shape",
    )
    parser.add_argument("--page", type=Path, help="also write all results to this page")
    parser.add_argument(
        "--quick", action="store_true", help="a small part, for a first look: no verdicts on claims"
    )
    parser.add_argument("--again", action="store_true", help="do again what is already done")
    parser.add_argument("--jobs", type=int, default=1, help="processes to run at a time")
    given = parser.parse_args(arguments)
    if given.names == ["list"]:
        for name, each in EXPERIMENTS.items():
            print(f"{name:12s} {each.title}")
        return
    names = list(EXPERIMENTS) if given.names == ["all"] else given.names
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        parser.error(f"Got {unknown}; expected 'all', or some of {list(EXPERIMENTS)}.")
    if given.data is not None and not given.data.is_dir():
        parser.error(f"There is no folder {given.data}; leave --data out to use twins.")
    store, place = given.out / "store", Place(data=given.data, quick=given.quick)
    for name in names:
        if given.again:
            store_file(EXPERIMENTS[name], place, store).unlink(missing_ok=True)

        def show(done: int, total: int, name: str = name) -> None:
            print(f"\r{name}: {done} of {total}", end="", file=sys.stderr, flush=True)

        path = write_experiment(name, place, given.out, store, given.jobs, show)
        print(f"\r{name}: {path}", file=sys.stderr)
    if given.page is not None:
        write_page(given.out, given.page)
        print(f"page: {given.page}", file=sys.stderr)


if __name__ == "__main__":
    main()
