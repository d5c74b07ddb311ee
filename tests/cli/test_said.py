"""What is said and written of names, addresses and errors: no secrets, no orders, one sentence."""

import csv
import errno
import json
import os
import re
import subprocess
import sys

import fsspec
import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import OMVFS, Views
from omvfs.cli.commands import run_app
from omvfs.cli.output import write_results
from omvfs.data.schema import shown
from omvfs.formats import SourceError, open_writer
from omvfs.pipeline import Result
from support import counts

resource = pytest.importorskip("resource")

HOSTILE = ["[/]", "[bold red]x[/bold red]", "\x1b[2J\x1b]0;title\x07", "\u202egnp.exe", ":smile:"]


def lines_of(names, n=40):
    """Return rows of JSON with a feature for every name."""
    rng = np.random.default_rng(0)
    rows = (dict(zip(names, rng.random(len(names)).tolist(), strict=True)) for _ in range(n))
    return "".join(json.dumps({"text": row}) + "\n" for row in rows)


# Addresses

SECRETS = "word", "abc123"
ADDRESS = "memory://me:word@bucket/rows.npy?signature=abc123"


def store(address):
    with fsspec.open(address, "wb") as file:
        np.save(file, counts(np.random.default_rng(0), 60, 5))


def assert_discreet(text):
    assert [secret for secret in SECRETS if secret in text] == []


def test_no_secret_of_an_address_is_kept(tmp_path, capsys):
    out = tmp_path / "out"
    options = ["-k", "2", "-o", str(out)]
    for signature in ("abc123", "other"):
        store(ADDRESS.replace("abc123", signature))
    assert run_app(["select", f"text={ADDRESS}", *options]) == 0
    # Another signature is the same address.
    other = ADDRESS.replace("abc123", "other")
    assert run_app(["select", f"text={other}", *options, "--resume"]) == 0
    assert json.loads((out / "run.json").read_text())["inputs"] == ["text=memory://bucket/rows.npy"]
    for file in out.iterdir():
        assert_discreet(file.read_bytes().decode("latin-1"))
    said = capsys.readouterr()
    assert_discreet(said.out + said.err)


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["plain", "debug"])
@pytest.mark.parametrize(
    "address",
    [
        ADDRESS.replace("rows", "none"),
        "https://me:word@127.0.0.1:1/rows.csv?signature=abc123",
        "nothing://me:word@bucket/rows.csv?signature=abc123",
        "https://me:word@127.0.0.1:1/rows?signature=abc123",
        "https://me:a 'word@127.0.0.1:1/rows.csv?signature=abc123",
    ],
)
def test_no_secret_of_an_address_is_told(tmp_path, address, debug, capsys):
    for command in (["info", address], ["convert", f"a={address}", "-o", str(tmp_path / "x.csv")]):
        assert run_app([*command, *debug]) in (2, 3, 4)
        said = capsys.readouterr()
        assert_discreet(said.out + said.err)
    assert run_app(["select", "x.npy", "-o", address]) in (2, 4)
    assert_discreet(capsys.readouterr().err)


# Names


def names_on_a_terminal(arguments):
    """Return what a terminal gets."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "omvfs.cli", *arguments]
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "200"}
    job = subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environment)
    os.close(theirs)
    seen = b""
    while True:
        try:
            more = os.read(ours, 1 << 16)
        except OSError:
            break
        if not more:
            break
        seen += more
    os.close(ours)
    said = job.communicate()[1].decode()
    assert job.returncode == 0, said
    return seen.decode()


def test_a_name_of_many_characters_takes_no_longer_than_it_is(capsys):
    # Looked through for an address from each of its letters, this would take minutes.
    assert run_app(["info", "a" * 400_000]) != 0
    assert "aaaa" in capsys.readouterr().err


def test_a_terminal_is_shown_names_and_obeys_none(tmp_path):
    rows = json.dumps({name: [1.0, -1.0] for name in HOSTILE}) + "\n"
    (tmp_path / "x.jsonl").write_text(rows * 5)
    seen = names_on_a_terminal(["info", str(tmp_path / "x.jsonl")])
    for name in HOSTILE:
        assert shown(name) in seen
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", seen)


@pytest.mark.parametrize("how", ["terminal", "pipe"])
def test_the_best_features_are_shown_and_none_is_obeyed(tmp_path, how, capsys):
    names = [*HOSTILE, "wörd, with a comma", "long " * 30]
    (tmp_path / "x.jsonl").write_text(lines_of(names).replace('"text"', json.dumps(HOSTILE[2])))
    given = ["select", str(tmp_path / "x.jsonl"), "-k", "2", "-o", str(tmp_path / "out")]
    if how == "terminal":
        seen = names_on_a_terminal(given)
    else:
        assert run_app(given) == 0
        seen = capsys.readouterr().out
    in_one_line = " ".join(seen.split())
    for name in names[:-1]:
        assert shown(name) in in_one_line
    assert shown(HOSTILE[2]) in seen.splitlines()[2]  # the view
    assert "long long" in seen
    assert names[-1] not in seen
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", seen)


def test_errors_show_names_and_say_nothing_else(tmp_path, capsys):
    for name in HOSTILE:
        (tmp_path / "x.jsonl").write_text(json.dumps({name: [1.0]}) + "\n")
        for command in (["info", "--view", name], ["select", "--prepare", f"{name}:none"]):
            assert run_app([command[0], str(tmp_path / "x.jsonl"), *command[1:]]) in (0, 2, 3)
        assert run_app(["info", str(tmp_path / name.replace("/", "|"))]) == 4
        said = capsys.readouterr()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", said.out + said.err)


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "'tis", "''", "plain", "a=b", "＝1"]


def test_no_name_is_a_formula_and_every_name_can_be_told(tmp_path):
    (tmp_path / "x.jsonl").write_text(lines_of(FORMULAS))
    out = tmp_path / "out"
    assert run_app(["select", str(tmp_path / "x.jsonl"), "-k", "2", "-o", str(out)]) == 0
    with (out / "ranking.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    exact = json.loads((out / "ranking.json").read_text(encoding="utf-8"))["features"]
    assert {row["name"] for row in exact} == set(FORMULAS)
    for row, same in zip(table, exact, strict=True):
        for column in ("view", "name", "repeats"):
            assert not row[column].startswith(("=", "+", "-", "@", "\t", "\r", "＝"))
            assert row[column].removeprefix("'") == (same[column] or "")


NO_TEXT = "\ud800a"


@pytest.mark.parametrize("name", ["x", "x.csv", "x.parquet", "x.jsonl", "x.h5ad", "x.mat", "x.npy"])
@pytest.mark.parametrize("what", ["View", "Feature"])
def test_names_that_are_no_text_are_refused_with_the_first_rows(tmp_path, name, what):
    view, feature = ("v", NO_TEXT) if what == "Feature" else (NO_TEXT, "f")
    views = Views({view: np.eye(1)}, feature_names={view: [feature]})
    with (
        pytest.raises(SourceError, match=rf"{what} '\\ud800a' .*no text in UTF-8"),
        open_writer(tmp_path / name) as writer,
    ):
        writer.append(views)
    assert list(tmp_path.iterdir()) == []


def test_results_are_written_whatever_names_are(tmp_path):
    X = counts(np.random.default_rng(0), 40, 2)
    views = Views({NO_TEXT: X}, feature_names={NO_TEXT: ["\udcff", "wörd"]})
    selector = OMVFS(2, random_state=0).fit(views)
    write_results(tmp_path, Result(selector, True), ["\udcff.npy"])
    exact = json.loads((tmp_path / "ranking.json").read_text(encoding="utf-8"))
    assert {row["name"] for row in exact["features"]} == {"\udcff", "wörd"}
    assert "\\udcff" in (tmp_path / "ranking.csv").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["inputs"] == [
        "\udcff.npy"
    ]


def test_a_file_whose_name_is_no_text_is_ranked_or_told_at_once(tmp_path, capsys):
    file = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.npy")
    np.save(file, counts(np.random.default_rng(0), 40, 3))
    code = run_app(["select", file, "-k", "2", "-o", str(tmp_path / "out")])
    assert "codec" not in capsys.readouterr().err
    if code:
        assert not (tmp_path / "out/model.omvfs").exists()
    else:
        assert (tmp_path / "out/ranking.csv").exists()


# Errors


def test_a_file_of_options_that_is_nested_deeply_is_told(tmp_path, capsys):
    config = tmp_path / "run.toml"
    config.write_text("x = " + "[" * 5000 + "]" * 5000)
    assert run_app(["select", "x.npy", "--config", str(config)]) == 2
    assert f"{config} is nested too deeply" in " ".join(capsys.readouterr().err.split())


def test_what_nobody_thought_of_is_a_sentence(monkeypatch, capsys):
    def fails(*args, **named):
        raise KeyError("\x1bx")

    monkeypatch.setattr("omvfs.formats.open_source", fails)
    assert run_app(["info", "x.npy"]) == 1
    assert capsys.readouterr().err == (
        "omvfs: This should not have happened: KeyError('\\x1bx'). --debug shows where it comes "
        "from.\n"
    )


LIMITED = """
import resource, sys, threading
from omvfs import OMVFS
from omvfs.cli.commands import run_app
OMVFS(2).fit([[1.0, 0.0], [0.0, 1.0]])
threading.stack_size(int(sys.argv[1]) << 20)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[2]) << 20),) * 2)
sys.exit(run_app(sys.argv[3:]))
"""


def limited(stack, more, *arguments):
    """Run a command with a stack of so many MB for every thread, and so many more MB in all."""
    command = [sys.executable, "-c", LIMITED, str(stack), str(more), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_too_little_memory_and_too_few_threads_are_sentences(tmp_path):
    np.lib.format.open_memmap(tmp_path / "large.npy", "w+", float, (5000, 10_000))
    code, said = limited(1, 200, "info", str(tmp_path / "large.npy"))
    assert code == 1
    assert re.fullmatch(r"omvfs: There is not enough memory\. .*\n", said)
    np.save(tmp_path / "x.npy", np.eye(5))
    code, said = limited(1000, 500, "select", str(tmp_path / "x.npy"), "-o", str(tmp_path / "out"))
    assert code == 1
    assert re.fullmatch(r"omvfs: The system gives no more threads .*\n", said)


@pytest.fixture
def small_files():
    """Have no file grow over 100 kB, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


KINDS = ["folder", "x.npy", "x.npz", "x.csv", "x.csv.gz", "x.parquet", "x.jsonl", "x.svm"]


def write_rows(folder):
    X = np.random.default_rng(0).random((3000, 20))
    np.save(folder / "rows.npy", X)
    sp.save_npz(folder / "rows.npz", sp.csr_array(X))


def assert_named(folder, name, said):
    name = "folder/view_0_rows.npy" if name == "folder" else name
    assert said == f"omvfs: {folder / name}: {os.strerror(errno.EFBIG)}.\n"
    assert sorted(os.listdir(folder)) == ["rows.npy", "rows.npz"]


@pytest.mark.parametrize("name", [*KINDS, "x.feather", "x.jsonl.zst"])
def test_what_cannot_be_written_is_named(tmp_path, name, capsys, request):
    write_rows(tmp_path)
    request.getfixturevalue("small_files")
    inputs = str(tmp_path / ("rows.npz" if name == "x.npz" else "rows.npy"))
    assert run_app(["convert", inputs, "-o", str(tmp_path / name)]) == 4
    assert_named(tmp_path, name, capsys.readouterr().err)


HDF5 = """
import resource, sys
from omvfs.cli.commands import run_app
for size in map(int, sys.argv[3:]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, -1))
    print(size, run_app(["convert", *sys.argv[1:2], "-o", *sys.argv[2:3]]))
"""


@pytest.mark.parametrize("name", ["x.h5ad", "x.mat"])
def test_an_hdf5_file_that_cannot_be_written_is_named_and_ends_nothing(tmp_path, name):
    write_rows(tmp_path)
    # In a process of its own, which HDF5 may end, now or when all is over.
    sizes = [str(size) for size in np.geomspace(100, 400_000, 25).astype(int)]
    command = [sys.executable, "-c", HDF5, str(tmp_path / "rows.npy"), str(tmp_path / name)]
    done = subprocess.run([*command, *sizes], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1::2] == ["4"] * 25
    assert_named(tmp_path, name, done.stderr.splitlines(keepends=True)[0])
    assert all(str(tmp_path / name) in line for line in done.stderr.splitlines() if "omvfs" in line)


def test_a_checkpoint_that_cannot_be_written_is_named(tmp_path, capsys, request):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((300, 400)))
    request.getfixturevalue("small_files")
    assert run_app(["select", str(tmp_path / "x.npy"), "-o", str(tmp_path / "out")]) == 4
    assert f"{tmp_path / 'out/model.omvfs'}: " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
