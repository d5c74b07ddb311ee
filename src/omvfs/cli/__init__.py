"""The command line: ``omvfs``."""

import io
import sys

from omvfs.cli._signals import Interrupted, let_go, watch


def main() -> None:
    """Run the command that the arguments ask for."""
    try:
        # Within: a signal may come while these very lines see to it.
        watch()
        if "--debug" not in sys.argv:
            # What goes wrong while things are cleared away is not for users; what matters is told.
            sys.unraisablehook = lambda _: None
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A name that the terminal has no letters for is shown all the same.
            sys.stdout.reconfigure(errors="backslashreplace")
        code = _run()
        let_go()
    except Interrupted as interrupted:
        sys.stderr.write("omvfs: Interrupted.\n")
        code = interrupted.code
    sys.exit(code)


def _run() -> int:
    from omvfs.cli._front import asks_front, front

    arguments = sys.argv[1:]
    given = [each for each in arguments if each != "--debug"]
    if asks_front(given):
        from omvfs.cli._ending import ended

        return ended(lambda: front()(given, standalone_mode=False), arguments, dict)
    from omvfs.cli.commands import run_app

    return run_app(arguments)
