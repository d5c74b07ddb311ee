"""The page of a run: the file that it is told by, and the server that shows it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

import typer

from omvfs.cli._config import options_of
from omvfs.cli._ending import said_of
from omvfs.cli._messages import discreet, say, shown
from omvfs.cli._options import Host, Port, Watched
from omvfs.cli._signals import Interrupted
from omvfs.cli._wording import worded
from omvfs.formats.files import Destination
from omvfs.live.beside import served
from omvfs.live.content import STATUS
from omvfs.live.status import StatusFile


def watch_run(folder: Watched, host: Host = "127.0.0.1", port: Port = 8765) -> None:
    """Show a run in the browser, while it goes and when it is done.

    Only this machine can open the page, unless --host is of a network: then whoever has the whole
    address. The run does not know of it, and may be stopped and go on. Ctrl-C ends it.
    """
    if folder.remote:
        raise typer.BadParameter(
            f"{folder} is not of this machine, and what a run tells on the way stays where it "
            "runs: start it there with omvfs select --watch."
        )
    if not folder.here.is_dir():
        raise typer.BadParameter(
            f"There is no folder {folder}; expected that of a run: omvfs select DATA -o {folder}"
        )
    if not (folder.here / STATUS).is_file():
        raise typer.BadParameter(
            f"No run has written to {folder}: it has no {STATUS}. Begin one: "
            f"omvfs select DATA -o {folder}"
        )
    from omvfs.live.server import Place, TakenError, serve

    try:
        place = Place.of(host, port)
    except TakenError as error:
        raise typer.BadParameter(
            f"{error}: give another --host or --port; --port 0 takes one that is free."
        ) from error
    # The token is no secret to who has started it.
    typer.echo(shown(f"{folder} at {place.address}"))
    if place.token is not None:
        say("Whoever has this address can look; what is sent can be read on the way.", err=True)
    serve(folder.here, place)


@contextmanager
def told_in(context: typer.Context, to: Destination) -> Iterator[StatusFile]:
    """Have a run tell in its folder where it stands, and how it ends; serve that if asked to.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    to : Destination
        Where results go.
    """
    with ExitStack() as stack:
        if context.params["watch"]:
            for needed in ("starlette", "uvicorn"):
                if find_spec(needed) is None:
                    raise ModuleNotFoundError(f"No module named {needed!r}", name=needed)
            say(f"Watch it at {stack.enter_context(served(to.here))}", err=True)
        status = StatusFile(to.here / STATUS, resume=context.params["resume"])
        try:
            yield status
        except BaseException as error:
            _tell_end(status, error, context)
            raise


def _tell_end(status: StatusFile, error: BaseException, context: typer.Context) -> None:
    others = (each for each in status.path.parent.glob("*") if each != status.path)
    if all(each.name[0] == "." for each in others):
        # Who leaves nothing leaves no word of it.
        status.remove()
    elif isinstance(error, typer.Exit | Interrupted | KeyboardInterrupt):
        status.ended("stopped")
    elif isinstance(error, Exception):
        sentence = worded(said_of(error)[0], lambda: options_of(context.find_root().command))
        status.ended("failed", shown(discreet(sentence, context.params["inputs"])))
