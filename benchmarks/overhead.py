"""What reading files, checkpoints and writing results add to learning.

    python benchmarks/overhead.py --data DIR

Runs `omvfs select` on a folder of views, and the same calls of `partial_fit` on arrays in memory,
in turn, each in a process of its own. The first is timed from outside, start of Python included; of
the second the import, the calls and the ranking count, which is worked out when it is asked for.
Then one more `omvfs select` tells where its time goes; what is
read ahead in the other thread shows only as far as learning waits for it. Ends with exit code 1 if
`omvfs select` takes over 1.5 times as long.
"""

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path

MOST = 1.5  # times the same in memory


def in_memory(args):
    """Print the seconds of imports, of reading all, of the calls and of the scores."""
    times = [time.perf_counter()]
    from omvfs import OMVFS
    from omvfs.formats import open_source

    times.append(time.perf_counter())
    with open_source(args.data, views=args.view) as source:
        chunks = [chunk.views for chunk in source.chunks(args.batch_size)]
    selector = OMVFS(
        args.clusters,
        n_features_per_view=args.features,
        batch_size=args.batch_size,
        prepare=args.prepare,
        random_state=0,
    )
    times.append(time.perf_counter())
    worked = time.process_time()
    for views in chunks:
        selector.partial_fit(views)
    times.append(time.perf_counter())
    worked = time.process_time() - worked
    _ = selector.view_scores_
    times.append(time.perf_counter())
    names = "import", "read", "learn", "scores"
    spans = (b - a for a, b in itertools.pairwise(times))
    print(json.dumps({**dict(zip(names, spans, strict=True)), "learn (processor)": worked}))


def parts(args):
    """Print the seconds that the parts of `omvfs select` take."""
    spent, began = {}, time.perf_counter()
    from omvfs import OMVFS
    from omvfs.cli import commands
    from omvfs.pipeline import loop as running

    spent["import"] = time.perf_counter() - began

    def timed(name, owner, attribute):
        genuine = getattr(owner, attribute)

        def wrapper(*args, **named):
            started = time.perf_counter()
            try:
                return genuine(*args, **named)
            finally:
                spent[name] = spent.get(name, 0.0) + time.perf_counter() - started

        setattr(owner, attribute, wrapper)

    timed("open", commands, "open_source")
    timed("learn", OMVFS, "partial_fit")
    timed("checkpoints", running, "keep")
    timed("run", commands, "run")
    timed("scores and results", commands, "write_results")
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
        commands.run_app(select(args, folder))
    spent["prepare, wait for rows"] = spent.pop("run") - spent["learn"] - spent["checkpoints"]
    print(json.dumps(spent))


def select(args, out):
    """Return the arguments of the command."""
    found = ["select", str(args.data), "-k", str(args.clusters), "-n", str(args.features)]
    found += ["--batch-size", str(args.batch_size), "-o", str(out)]
    for step in args.prepare:
        found += ["--prepare", step]
    for view in args.view or ():
        found += ["--view", view]
    return found


def timed_command(command):
    """Return the seconds that a command takes, those of the processor, and what it prints."""
    started, worked = time.perf_counter(), processor()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - started, processor() - worked, done.stdout


def processor():
    """Return the processor time of all commands so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of a file a view")
    parser.add_argument("--view", action="append", help="only this view; repeat")
    parser.add_argument("--prepare", action="append", default=[], help="a step, on both sides")
    parser.add_argument("-k", "--clusters", type=int, default=20)
    parser.add_argument("-n", "--features", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--here", choices=["memory", "parts"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        {"memory": in_memory, "parts": parts}[args.here](args)
        return
    # Not above: what is measured here imports no more than it needs.
    from paper.timing import shown

    again = [sys.executable, __file__, *sys.argv[1:], "--here"]
    outside, inside, whole, work = [], [], [], []
    for _ in range(args.repeats):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "omvfs.cli", *select(args, folder)]
            seconds, worked, _ = timed_command(command)
        outside.append(seconds)
        work.append(worked)
        seconds, _, told = timed_command([*again, "memory"])
        inside.append(json.loads(told))
        whole.append(seconds)
    learn = [each["learn"] for each in inside]
    imports = [each["learn"] + each["import"] for each in inside]
    ranks = [each["import"] + each["learn"] + each["scores"] for each in inside]
    learn_work = [each["learn (processor)"] for each in inside]
    print(f"omvfs select, s: {shown(outside)}, of processor {shown(work)}")
    for name in inside[0]:
        print(f"in memory, {name}, s: {shown([each[name] for each in inside])}")
    print(f"in memory, whole process, s: {shown(whole)}")
    found = {}
    for name, above, below in (
        ("learn", outside, learn),
        ("learn, processor time", work, learn_work),
        ("import and learn", outside, imports),
        ("import, learn and rank", outside, ranks),
        ("whole process", outside, whole),
    ):
        found[name] = ratios = [a / b for a, b in zip(above, below, strict=True)]
        print(f"omvfs select / in memory, {name}: {shown(ratios)}")
    spent = json.loads(timed_command([*again, "parts"])[2])
    print("parts of omvfs select, s: " + ", ".join(f"{k} {v:.2f}" for k, v in spent.items()))
    if (ratio := statistics.median(found["import, learn and rank"])) > MOST:
        sys.exit(f"omvfs select takes {ratio:.2f} times as long as in memory, over {MOST}.")


if __name__ == "__main__":
    main()
