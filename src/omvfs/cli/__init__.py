"""The command line: ``omvfs``."""

import io
import sys

from omvfs.cli.errors import Interrupted, let_go, said_of, watch


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
        from omvfs.cli.commands import run_app

        code = run_app(sys.argv[1:])
        let_go()
    except MemoryError as error:
        sentence, code = said_of(error)
        sys.stderr.write(f"omvfs: {sentence}\n")
    except Interrupted as interrupted:
        sys.stderr.write("omvfs: Interrupted.\n")
        code = interrupted.code
    sys.exit(code)
