"""The file in which a run tells where it stands: small, whole, cheap, and never in the way."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS, Views
from omvfs.data.schema import Schema
from omvfs.formats import ArraySource
from omvfs.live.content import MOST_BYTES, Shown, encoded, read_status, told_events
from omvfs.live.history import POINTS, History
from omvfs.live.process import identity, is_alive, memory_limit, peak_memory, resident_memory
from omvfs.live.status import StatusFile, Throttle
from omvfs.model.stream.event import DriftEvent
from omvfs.pipeline import run
from support import clustered, damaged, fingerprint

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'`&",
    "🦜" * 50,
    "\u202etxt",
    "x" * 10_000,
    "\ud800",
    "\x1b[2J\0\n",
]


def views(n_rows=400, n_views=2, width=9, names=None):
    rng = np.random.default_rng(0)
    blocks = {f"v{v}": clustered(rng, n_rows, width)[0] for v in range(n_views)}
    return Views(blocks, feature_names=dict.fromkeys(blocks, names) if names else None)


def states(path):
    found = read_status(path)
    return None if found is None else found["state"]


def tell_always(file):
    """Have a short run tell of every chunk, too."""
    file._every, file._writes, file._looks = 0.0, Throttle(1e9, 0), Throttle(1e9, 0)


def test_a_run_tells_where_it_stands(tmp_path):
    path = tmp_path / "status.json"
    file = StatusFile(path)
    assert states(path) == "reading"
    tell_always(file)
    told = []
    result = run(
        ArraySource(views()),
        OMVFS(3, batch_size=50, random_state=0),
        listeners=(file, lambda status: told.append(read_status(path))),
    )
    assert [each["rows"] for each in told] == list(range(50, 401, 50))
    assert {each["state"] for each in told} == {"learning"}
    assert all(each["total"] == 400 and not each["final"] for each in told)
    assert [len(each["history"]) for each in told] == list(range(1, 9))
    assert all(
        sum(c["share"] for c in each["clusters"]) == pytest.approx(1, abs=1e-3) for each in told
    )
    assert all(len(view["top"]) == 9 for each in told for view in each["views"])
    selector = result.selector
    chosen = {"v0": selector.top_features("v0", 4), "v1": selector.top_features("v1", 4)}
    file.finished(selector, chosen)
    last = read_status(path)
    assert (last["state"], last["final"], last["known_at"]) == ("finished", True, 400)
    assert [[name for name, _ in view["top"]] for view in last["views"]] == [
        list(map(str, each)) for each in chosen.values()
    ]


def test_it_is_not_told_twice_within_half_a_second(tmp_path, monkeypatch):
    now, file = [100.0], StatusFile(tmp_path / "status.json")
    monkeypatch.setattr("omvfs.live.status.time.perf_counter", lambda: now[0])
    file._writes, file._written_at, told = Throttle(1e9, 0), 99.0, []
    for _ in range(20):
        before = file._written_at
        file.parts(1, 2)
        told += [now[0]] if file._written_at != before else []
        now[0] += 0.2
    assert told == pytest.approx(np.arange(100, 104, 0.6))


def test_what_is_learned_is_the_same_whether_told_or_not(tmp_path):
    def learned(*listeners):
        selector = OMVFS(3, batch_size=50, random_state=0)
        return run(ArraySource(views()), selector, listeners=listeners).selector

    file = StatusFile(tmp_path / "status.json")
    tell_always(file)
    quiet, told = learned(), learned(file)
    assert fingerprint(quiet._journal) == fingerprint(told._journal)


def test_parts_that_others_learn_are_told_as_they_are_done_and_rows_at_the_end(tmp_path):
    path = tmp_path / "status.json"
    file = StatusFile(path)
    file._every = 0.0
    for done in range(4):
        file.parts(done, 3)
        told = read_status(path)
        assert (told["unit"], told["rows"], told["total"]) == ("parts", done, 3)
    file._every = 60.0
    file.parts(3, 4)
    assert read_status(path)["total"] == 3
    file._every = 0.0
    file.waiting()
    assert read_status(path)["total"] == 4
    model = OMVFS(3, random_state=0).fit(views())
    file.finished(model, {view: model.top_features(view, 3) for view in ("v0", "v1")})
    last = read_status(path)
    assert (last["unit"], last["rows"], last["history"]) == ("rows", 400, [])


def test_numbers_that_are_none_are_not_told(tmp_path):
    path = tmp_path / "status.json"
    StatusFile(path).ended("stopped")
    forged = path.read_text().replace('"rows":0', '"rows":1e999,"x":NaN,"y":-1e999')
    path.write_text(forged)
    found = read_status(path)
    assert (found["rows"], found["x"], found["y"]) == (None, None, None)


def test_a_file_that_cannot_be_written_does_not_end_the_run(tmp_path):
    path = tmp_path / "status.json"
    path.mkdir()  # in place of which no file can be put
    file = StatusFile(path)
    tell_always(file)
    assert run(ArraySource(views()), OMVFS(3), listeners=(file,)).finished
    file.ended("failed", "x")
    assert os.listdir(tmp_path) == ["status.json"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_does_not_end_the_run(tmp_path, monkeypatch):
    file = StatusFile(tmp_path / "status.json")
    before = (tmp_path / "status.json").read_bytes()
    opened = os.open

    def full(path, flags, *more, **named):
        given = "/dev/full" if str(path).endswith(".part") and flags & os.O_WRONLY else path
        if given != path:
            os.close(opened(path, flags, *more))
            return opened(given, os.O_WRONLY)
        return opened(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", full)
    tell_always(file)
    assert run(ArraySource(views()), OMVFS(3), listeners=(file,)).finished
    monkeypatch.undo()
    assert (tmp_path / "status.json").read_bytes() == before
    assert os.listdir(tmp_path) == ["status.json"]


def test_a_run_that_goes_on_goes_on_with_its_story(tmp_path):
    path = tmp_path / "status.json"

    def part(resume, **options):
        file = StatusFile(path, resume=resume)
        tell_always(file)
        selector = OMVFS(3, batch_size=50, random_state=0)
        run(
            ArraySource(views()),
            selector,
            save_to=tmp_path / "model",
            resume=resume,
            listeners=(file,),
            **options,
        )
        return read_status(path)

    counted = iter([False] * 8 + [True])
    first = part(False, save_every=100, should_stop=lambda: next(counted))
    second = part(True)
    assert (first["run"], first["started"]) == (second["run"], second["started"])
    points = second["history"]
    assert [each[1] for each in points] == list(range(50, 401, 50))
    assert [each[0] for each in points] == sorted(each[0] for each in points)
    again = part(False)
    assert again["run"] != second["run"]


def test_rows_that_are_learned_again_are_told_once():
    history = History([(1.0, 100, 5.0, 0), (2.0, 200, 5.0, 0), (3.0, 300, 5.0, 0)])
    history.back_to(200)
    assert [each[1] for each in history.points] == [100, 200]


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e4), max_size=2000))
def test_a_history_is_short_in_order_and_ends_with_the_last(gaps):
    history, at = History(), 0.0
    for i, gap in enumerate(gaps):
        at += gap
        history.add((at, i, 1.0, 0))
        assert len(history.points) <= POINTS
        assert history.points[-1] == (at, i, 1.0, 0)
    assert history.points == sorted(history.points)
    assert not gaps or history.points[0][1] == 0


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0.001, 5), st.floats(0, 0.5)), max_size=300))
def test_work_takes_no_more_than_its_share(moments):
    """Of the time so far, whatever the moments it is asked for and what it takes."""
    throttle, now, spent = Throttle(0.01, 0.0), 0.0, 0.0
    for gap, cost in moments:
        now += gap
        if throttle.due(now, cost):
            throttle.took(now, now + cost)
            now, spent = now + cost, spent + cost
        assert spent <= 0.01 * now + 1e-9


names = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=30), min_size=1, max_size=40)


@settings(deadline=None)
@given(names, st.integers(1, 60), st.integers(1, 90))
def test_a_status_is_bounded_whatever_names_there_are(names, n_views, n_clusters):
    known = tuple(f"{i}{names[i % len(names)]}" for i in range(n_views))
    schema = Schema(known, (7,) * n_views, (None,) * n_views)
    about = [[(known[k % n_views], name) for name in names] for k in range(n_clusters)]
    shown = Shown()
    for _ in range(2):
        shown.take(schema, dict.fromkeys(known, names), about, None, 5, False)
    changed = {known[0]: names}
    events = [DriftEvent(i, i, "shares", i, 1.0, 1.0, 0.5, changed, changed) for i in range(50)]
    points = [(1e6 + i / 7, 10**12 + i, 1e5 + i / 3, 10**11) for i in range(POINTS)]
    told = {"drift": told_events(events, known), "history": points, "message": names[0]}
    content = encoded({**shown.values, **told})
    assert len(content) <= MOST_BYTES
    found = json.loads(content)
    assert len(found["views"]) == min(n_views, 20)
    assert found["n_clusters"] == n_clusters
    assert found["drift"][0]["row"] == 49


@settings(deadline=None)
@given(st.data())
def test_what_a_file_holds_is_a_status_or_none(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    points = [[0.5, 100, 200.0, 10**8], [1.0, 200, 200.0, 10**8]]
    told = {"format": 1, "run": "x", "started": 1.5, "state": "learning", "history": points}
    path.write_bytes(damaged(data, encoded(told)))
    found = read_status(path)
    assert found is None or isinstance(found, dict)
    # A run that goes on takes of it what it can.
    StatusFile(path, resume=True)
    assert states(path) == "reading"


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"format": 2}', b"[" * 60_000, b"x" * 10**6, b"1" * 5000]
)
def test_what_is_no_status_is_none(tmp_path, content):
    path = tmp_path / "status.json"
    path.write_bytes(content)
    assert read_status(path) is None
    assert read_status(tmp_path) is None
    assert read_status(tmp_path / "nowhere") is None


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_a_process_is_told_from_one_that_died_and_one_that_has_its_number():
    job = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    own = identity()
    from omvfs.live.process import _born

    other = {**own, "pid": job.pid, "born": _born(job.pid)}
    assert is_alive(other) is True
    assert is_alive({**own, "born": "1"}) is False
    assert is_alive({**own, "host": "elsewhere"}) is None
    for nonsense in (None, 3, {}, {**own, "pid": "x"}, {**own, "pid": -1}, {**own, "pid": 2**40}):
        assert is_alive(nonsense) is None
    job.kill()
    until = time.monotonic() + 30
    while is_alive(other) and time.monotonic() < until:
        time.sleep(0.01)
    assert is_alive(other) is False  # though nobody has asked for its end
    job.communicate()
    assert is_alive(other) is False


def test_memory_is_told():
    assert 0 < resident_memory() <= memory_limit()
    assert resident_memory() <= 1.1 * peak_memory()
