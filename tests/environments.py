"""Empty environments, of every Python that is here: for what is installed, not for the tree."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
OLDEST, NEWEST = 11, 15


@cache
def interpreters():
    """Return the Pythons that are here, from 3.11 on, by version such as "3.12"."""
    found = {}
    for minor in range(OLDEST, NEWEST + 1):
        kept = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        for each in (f"python3.{minor}", *map(str, kept)):
            try:
                command = [each, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
                told = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError:
                continue
            if told.stdout.strip() == f"3.{minor}":
                found.setdefault(f"3.{minor}", each)
    return found


def new_environment(python, folder):
    """Return the environment variables of a new, empty virtual environment in a folder."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    ours = ("PYTHON", "VIRTUAL_ENV", "AWS_", "OMVFS_", "PIPX_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    # The index as it is set up here, and the wheel that was just built.
    links = " ".join(filter(None, [kept.get("PIP_FIND_LINKS"), DIST.as_uri()]))
    return kept | {
        "PATH": f"{folder}/bin:{kept.get('PATH', os.defpath)}",
        "PIP_FIND_LINKS": links,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def the_file(pattern):
    """Return the one file of dist/ that fits."""
    found = sorted(DIST.glob(pattern))
    if len(found) != 1:
        sys.exit(f"Got {len(found)} files dist/{pattern}; expected one: make dist.")
    return found[0]
