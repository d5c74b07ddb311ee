"""The command line: ``omvfs``."""

import sys


def main() -> None:
    """Run the command that the arguments ask for."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.exit("The command line needs typer and rich: pip install omvfs[cli]")
    from omvfs.cli.commands import run_app

    sys.exit(run_app(sys.argv[1:]))
