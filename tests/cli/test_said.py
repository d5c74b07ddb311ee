"""What is said and written of names, addresses and errors: no secrets, no orders, one sentence."""

import json
import re
import sys

import fsspec
import numpy as np
import pytest

from omvfs.cli.commands import run_app
from support import counts

resource = pytest.importorskip("resource")

HOSTILE = ["[/]", "[bold red]x[/bold red]", "\x1b[2J\x1b]0;title\x07", "\u202egnp.exe", ":smile:"]


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


def test_a_name_of_many_characters_takes_no_longer_than_it_is(capsys):
    # Looked through for an address from each of its letters, this would take minutes.
    assert run_app(["info", "a" * 400_000]) != 0
    assert "aaaa" in capsys.readouterr().err


def test_a_terminal_is_shown_names_and_obeys_none(tmp_path, monkeypatch, capsys):
    rows = [json.dumps({"\x1b]0;view\x07": dict.fromkeys(HOSTILE, i % 3)}) for i in range(1, 30)]
    (tmp_path / "x.jsonl").write_text("\n".join(rows))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")
    for terminal in (True, False):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)  # noqa: B023
        assert run_app(["info", str(tmp_path / "x.jsonl")]) == 0
        out = ["-k", "2", "--overwrite", "-o", str(tmp_path / "out")]
        assert run_app(["select", str(tmp_path / "x.jsonl"), *out]) == 0
        seen = " ".join("".join(capsys.readouterr()).split())
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", seen)
        assert "\\u202egnp.exe" in seen
        assert "[bold red]x[/bold red]" in seen


# Errors


def test_what_nobody_thought_of_is_a_sentence(monkeypatch, capsys):
    def fails(*args, **named):
        raise KeyError("\x1bx")

    monkeypatch.setattr("omvfs.formats.open_source", fails)
    assert run_app(["info", "x.npy"]) == 1
    assert capsys.readouterr().err == (
        "omvfs: This should not have happened: KeyError('\\x1bx'). --debug shows where it comes "
        "from.\n"
    )


@pytest.fixture
def small_files():
    """Have no file grow over 100 kB, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_checkpoint_that_cannot_be_written_is_named(tmp_path, capsys, request):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((300, 400)))
    request.getfixturevalue("small_files")
    assert run_app(["select", str(tmp_path / "x.npy"), "-o", str(tmp_path / "out")]) == 4
    assert f"{tmp_path / 'out/model.omvfs'}: " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
