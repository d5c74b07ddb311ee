"""What a run pays for being watched: by nobody, and by 50 pages at once.

    python benchmarks/watching.py
    python benchmarks/watching.py --turns 200

The same run over planted rows in memory, in three ways that take turns, in another order every
time: alone; telling its status in a file; and the same with a server and 50 pages that follow it by
its events. Each run is a process of its own on the first processor; the server and the pages are
two others, on the second. (With --free the system places them all as it likes.) Processor time is
that of the run alone; what of it goes into looks and writes is told too, and what the server takes
meanwhile (where the system tells), as whatever else the machine does disturbs these least: the run
knows nothing of pages, so that what the server takes is all that they can take from it. Ends with
exit code 1 if the median of the ratios of processor time, watched over told or watched over alone,
is above 1.02. With --quick little is done, to see that it works.

With --turns: one process learns from the same rows again and again and tells its status, and by
turns the server and the pages are stopped and go on, a second each. A chunk's time is compared
with the mean time of the same chunk, so that what else the machine does is alike on both sides.
"""

import argparse
import json
import math
import multiprocessing
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from omvfs import OMVFS
from omvfs.datasets import planted_stream
from omvfs.formats import ArraySource
from omvfs.live.status import StatusFile
from omvfs.pipeline import run

MOST, PAGES = 1.02, 50
WAYS = ALONE, TOLD, WATCHED = "alone", "told", "watched"
FORK = multiprocessing.get_context("fork")


def place(processor, free):
    """Stay on one processor."""
    if not free and hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > processor:
        os.sched_setaffinity(0, {processor})


def in_a_process(work, *args):
    """Return what some work gives, done in a process of its own."""
    theirs, own = FORK.Pipe()
    job = FORK.Process(target=lambda: theirs.send(work(*args)))
    job.start()
    theirs.close()
    found = own.recv()
    job.join()
    return found


def measured(source, folder, told, free):
    """Return a run's processor time, time on the clock, writes, and the share that these took."""
    place(0, free)
    selector = OMVFS(5, random_state=0, batch_size=500)
    writes, spent = [], []
    worked, began = time.process_time(), time.perf_counter()
    listeners = ()
    if told:
        file = StatusFile(folder / "status.json")
        genuine, file._write = file._write, lambda: writes.append(1) or genuine()

        def listener(status):
            before = time.thread_time()
            file(status)
            spent.append(time.thread_time() - before)

        listeners = (listener,)
    run(source, selector, listeners=listeners)
    if told:
        file.ended("finished")
    worked = time.process_time() - worked
    return worked, time.perf_counter() - began, len(writes), sum(spent) / worked


def follow(port, ready, stop, counted, free):
    """Follow by so many pages until told to stop, and tell how many events each has got."""
    place(1, free)
    ways, counts = selectors.DefaultSelector(), []
    for i in range(PAGES):
        own = socket.create_connection(("127.0.0.1", port))
        own.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        ways.register(own, selectors.EVENT_READ, i)
        counts.append(0)
    while not stop.is_set():
        for key, _ in ways.select(0.2):
            counts[key.data] += key.fileobj.recv(1 << 20).count(b"data: {")
        if min(counts) > 0:
            ready.set()
    counted.send(counts)


def taken_by(pid):
    """Return the processor time of a process so far; NaN where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def watched(source, folder, server, port, free):
    """Return what `measured` does while pages follow, their events, and the server's time."""
    ready, stop = FORK.Event(), FORK.Event()
    own, theirs = FORK.Pipe()
    pages = FORK.Process(target=follow, args=(port, ready, stop, theirs, free))
    pages.start()
    assert ready.wait(60)
    before = taken_by(server.pid)
    found = in_a_process(measured, source, folder, True, free)
    taken = taken_by(server.pid) - before
    time.sleep(1)
    stop.set()
    events = min(own.recv())
    pages.join()
    return (*found, events, taken)


def again_and_again(source, folder, stop, times, free):
    """Learn and tell until told to stop; send when each chunk ended, and processor time then."""
    place(0, free)
    found = []
    while not stop.is_set():
        file, own = StatusFile(folder / "status.json"), []

        def listener(status, file=file, own=own):
            file(status)
            own.append((time.perf_counter(), time.process_time()))

        run(source, OMVFS(5, random_state=0, batch_size=500), listeners=(listener,))
        found.append(own)
    times.send(found)


def by_turns(source, folder, server, port, turns, free):
    """Print what pages cost that are there every other second."""
    ready, ended, stop = FORK.Event(), FORK.Event(), FORK.Event()
    own, theirs = FORK.Pipe()
    pages = FORK.Process(target=follow, args=(port, ready, ended, theirs, free))
    pages.start()
    assert ready.wait(60)
    times, sent = FORK.Pipe()
    job = FORK.Process(target=again_and_again, args=(source, folder, stop, sent, free))
    job.start()
    time.sleep(5)
    changes = []
    for turn in range(turns):
        for pid in (server.pid, pages.pid):
            os.kill(pid, signal.SIGCONT if turn % 2 else signal.SIGSTOP)
        changes.append(time.perf_counter())
        time.sleep(1)
    for pid in (server.pid, pages.pid):
        os.kill(pid, signal.SIGCONT)
    changes.append(time.perf_counter())
    stop.set()
    found = np.array(times.recv())
    job.join()
    ended.set()
    own.recv()
    pages.join()
    # Chunks after the first of each pass, by when they began and ended, on the clock and at work.
    began, over = found[:, :-1], found[:, 1:]
    for what, i in (("processor", 1), ("clock", 0)):
        took = over[..., i] - began[..., i]
        took = took / took.mean(axis=0)
        turn = np.searchsorted(changes, over[..., 0])
        within = (turn == np.searchsorted(changes, began[..., 0])) & (turn > 0)
        within &= turn < len(changes)
        counts = np.bincount(turn[within], minlength=turns + 1)[1:]
        sums = np.bincount(turn[within], took[within], turns + 1)[1:]
        pairs = (sums / np.maximum(counts, 1))[: turns // 2 * 2].reshape(-1, 2)
        # A busy machine may leave a turn without a chunk.
        off, on = pairs[(pairs > 0).all(axis=1)].T
        low, middle, high = spread((on / off).tolist())
        error = np.std(np.log(on / off)) / np.sqrt(len(on))
        about = f"mean {np.exp(np.log(on / off).mean()):.4f} ± {error:.4f}"
        print(f"pages over none, {what}: {middle:.3f} ({low:.3f} to {high:.3f}), {about}")
    print(json.dumps({"turns": turns, "passes": len(found), "pages": PAGES}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turns", type=int, default=0)
    parser.add_argument("--free", action="store_true", help="let the system place the processes")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    rows, rounds = (4_000, 1) if args.quick else (args.rows, args.rounds)
    stream = planted_stream(rows, batch_size=rows, random_state=0)
    source = ArraySource(next(stream.batches()))
    times = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        StatusFile(folder / "status.json").ended("finished")
        command = [sys.executable, "-m", "omvfs.cli", "watch", home, "--port", "0"]
        server = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            preexec_fn=lambda: place(1, args.free),
        )
        try:
            port = int(server.stdout.readline().rsplit(":", 1)[1].strip("/\n"))
            if args.turns:
                by_turns(source, folder, server, port, args.turns, args.free)
                return
            for i in range(rounds):
                for way in WAYS[i % 3 :] + WAYS[: i % 3]:
                    if way == WATCHED:
                        found = watched(source, folder, server, port, args.free)
                    else:
                        found = in_a_process(measured, source, folder, way == TOLD, args.free)
                    times[way].append(found)
        finally:
            server.terminate()
            server.wait()
    worst = 0.0
    for above, below in ((TOLD, ALONE), (WATCHED, TOLD), (WATCHED, ALONE)):
        for what, i in (("processor", 0), ("clock", 1)):
            ratios = [a[i] / b[i] for a, b in zip(times[above], times[below], strict=True)]
            low, middle, high = spread(ratios)
            line = f"{above} over {below}, {what}: {middle:.3f} ({low:.3f} to {high:.3f})"
            print(f"{line}, least over least {least(times[above], times[below], i):.3f}")
            if above == WATCHED and i == 0:
                worst = max(worst, middle)
    alone = statistics.median(each[0] for each in times[ALONE])
    writes = statistics.median(each[2] for each in times[TOLD])
    events = min(each[4] for each in times[WATCHED])
    shares = [each[3] for way in (TOLD, WATCHED) for each in times[way]]
    middle, most = statistics.median(shares), max(shares)
    print(f"looks and writes, of the processor time of the run: {middle:.2%}, at most {most:.2%}")
    ratios = [each[5] / each[1] for each in times[WATCHED]]
    low, middle, high = spread(ratios)
    print(f"the server, of the time on the clock: {middle:.2%} ({low:.2%} to {high:.2%})")
    about = {"rows": rows, "rounds": rounds, "seconds": round(alone, 2), "writes": writes}
    print(json.dumps({**about, "pages": PAGES, "events a page, at least": events}))
    if not args.quick and worst > MOST:
        sys.exit(f"Being watched costs a factor {worst:.3f}; at most {MOST} is meant.")


def spread(ratios):
    """Return the first quartile, the median and the third.

    >>> spread([1.0, 3.0, 2.0, 5.0, 4.0])
    (1.5, 3.0, 4.5)
    """
    if len(ratios) < 2:
        return (ratios[0],) * 3
    return tuple(statistics.quantiles(ratios, n=4))


def least(above, below, i):
    """Return the ratio of the least times, which others on the machine disturb least.

    >>> least([[3.0], [2.0]], [[1.0], [4.0]], 0)
    2.0
    """
    return min(each[i] for each in above) / min(each[i] for each in below)


if __name__ == "__main__":
    main()
