"""What ``--help`` shows: plain words, the common options first, nothing cut off, and quickly."""

import re
import subprocess
import sys

import pytest
from typer.main import get_command

from omvfs import OMVFS
from omvfs.cli import main
from omvfs.cli.commands import app, run_app
from omvfs.cli.options import _OTHERWISE

COMMANDS = get_command(app).commands


def help_of(capsys, *command):
    assert run_app([*command, "--help"]) == 0
    return capsys.readouterr().out


def groups(text):
    """Return the lines of every group by its heading."""
    found = re.split(r"^(\w[^\n]*):\n", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_the_common_options_come_first(capsys):
    shown = groups(help_of(capsys, "select"))
    assert list(shown) == [
        "Arguments",
        "Options",
        "Which data to read",
        "How to learn",
        "Many files, many processes",
        "Results and long runs",
    ]
    first = re.findall(r"^  (-[^ ,]+)", shown["Options"], re.MULTILINE)
    assert first == ["-k", "-n", "--total", "-o", "--prepare", "--help"]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_option_is_in_the_help_once_with_words_for_its_value(command, capsys):
    text = help_of(capsys, command)
    shown = re.findall(r"^  (-.*?)(?:  |$)", text, re.MULTILINE)
    asked = [each for each in COMMANDS[command].params if each.param_type_name == "option"]
    assert len(shown) == len(asked) + 1  # --help
    for each in asked:
        (line,) = [line for line in shown if each.opts[-1] in re.split("[ ,]", line)]
        assert each.is_flag or re.search(r" [A-Z]+(=[A-Z]+)?$| [a-z]+(\|[a-z]+)+$", line), line
        assert each.help.endswith(".")
    # No type of Python stands for a value, and no sign of markup.
    assert not re.search(r"<\w|list\[|\bTEXT\b|\[/", text)
    assert max(map(len, text.splitlines())) <= 80


def test_commands_and_exit_codes_are_told_in_whole_sentences(capsys):
    text = help_of(capsys)
    told = groups(text)["Commands"].partition("\n\n")[0]
    assert "..." not in told
    assert [line.split()[0] for line in told.splitlines()] == list(COMMANDS)
    assert all(line.endswith(".") for line in told.splitlines())
    codes = " ".join(text.split()).partition("Exit codes: ")[2]
    assert all(re.search(rf"\b{code}\b", codes) for code in (0, 1, 2, 3, 4, 130, 143))


def test_options_are_by_default_what_the_parameters_are():
    own = OMVFS().get_params()
    options = {_OTHERWISE.get(each.name, each.name): each for each in COMMANDS["select"].params}
    shared = options.keys() & own.keys()
    assert len(shared) == 11
    assert options["random_state"].default == 0
    assert options["prepare"].default == [own["prepare"]]
    for name in shared - {"random_state", "prepare"}:
        assert options[name].default == own[name], name


def test_a_line_is_completed_by_all_options(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["omvfs"])
    for name, value in {
        "_OMVFS_COMPLETE": "complete_bash",
        "COMP_WORDS": "omvfs select --sched",
        "COMP_CWORD": "2",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out.split() == ["--scheduler"]


def test_little_is_imported_for_help_and_version():
    script = (
        "import sys; from omvfs.cli.commands import run_app\n"
        "for typed in (['--help'], ['--version'], ['select', '--help']): run_app(typed)\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "omvfs 0." in done.stdout
    read = {name.partition(".")[0] for name in done.stderr.split()}
    assert not read & {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "h5py", "dask"}
