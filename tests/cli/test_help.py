"""What ``--help`` shows: plain words, the common options first, nothing cut off."""

import re

import pytest
from typer.main import get_command

from omvfs.cli.commands import app, run_app

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
    assert first == ["-k", "-n", "--total", "-o", "--prepare", "--negative", "--help"]


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


def test_commands_are_told_in_whole_sentences(capsys):
    told = groups(help_of(capsys))["Commands"].partition("\n\n")[0]
    assert "..." not in told
    assert [line.split()[0] for line in told.splitlines()] == list(COMMANDS)
    assert all(line.endswith(".") for line in told.splitlines())


def test_exit_codes_are_told(capsys):
    told = " ".join(help_of(capsys).split()).partition("Exit codes: ")[2]
    for code in (0, 1, 2, 3, 4, 130, 143):
        assert re.search(rf"\b{code}\b", told)
