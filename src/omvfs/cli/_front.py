"""What ``omvfs`` says of itself, without reading what its commands need."""

import os
from typing import Annotated

import typer

from omvfs import __version__

# The commands in their order, and what each is for; ``--help`` tells it.
COMMANDS = {
    "info": "Show what is in the data, and what is wrong with it.",
    "select": "Rank the features of every view, and select the best.",
    "transform": "Write rows with the selected features only.",
    "merge": "Merge what was learned from parts of the data, each by itself.",
    "rank": "Write the ranking of a model, as a run does at its end.",
    "report": "Write a page on what a model has learned.",
    "convert": "Write data in another format.",
    "demo": "See it at work, on data that need no download.",
}


def new_app() -> typer.Typer:
    """Return the app, without commands."""
    app = typer.Typer(
        name="omvfs",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="Exit codes: 0 done, 1 failed, 2 wrong command or option, 3 data that cannot be "
        "used, 4 a file that cannot be read or written, 130 and 143 stopped by Ctrl-C or SIGTERM.",
    )
    app.callback(invoke_without_command=True)(omvfs)
    return app


def omvfs(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the program an error comes from.")
    ] = False,
) -> None:
    """Pick the informative features of data without labels, in one pass.

    Data have views: several kinds of features of the same rows, such as the words and the pixels
    of web pages. Begin with: omvfs info DATA. Then: omvfs select DATA -k 20 -n 200 -o out.
    """
    if version:
        typer.echo(f"omvfs {__version__}")
        raise typer.Exit


def asks_front(arguments: list[str]) -> bool:
    """Tell whether nothing is asked for but what ``omvfs`` says of itself.

    Parameters
    ----------
    arguments : list of str
        Without ``--debug``.

    Examples
    --------
    >>> asks_front(["--help"]), asks_front(["select", "--help"])
    (True, False)
    """
    # A shell that completes a line types nothing, and asks for all options.
    completes = any(name.endswith("_COMPLETE") for name in os.environ)
    return arguments in ([], ["--help"], ["--version"]) and not completes


def front() -> typer.Typer:
    """Return the app with commands that have a name and a help only."""
    app = new_app()
    for name, purpose in COMMANDS.items():
        app.command(name, help=purpose)(_nothing)
    return app


def _nothing() -> None:
    """Do nothing."""
