"""Follow every page as a new user would, in an empty environment and an empty folder each.

    python tests/guides.py [VERSION ...] [PAGE ...]

In the first Python that is here, from 3.11 on, or in those of some versions, such as 3.12.
A page installs what it needs by the line that it shows, or needs no more than the first of them;
`omvfs` is the wheel of dist/.
"""

import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import following
from environments import ROOT, interpreters, new_environment, the_file


def follow(page, interpreter):
    """Follow a page; return whether all of it works."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="omvfs-guide-") as folder:
        environment = new_environment(interpreter, Path(folder, "environment"))
        (empty := Path(folder, "here")).mkdir()
        python = Path(folder, "environment/bin/python")
        if not following.is_guide(text):
            installs = [python, "-m", "pip", "install", "-q", "omvfs[cli,files,report]", "pandas"]
            subprocess.run(installs, env=environment, check=True)
        command = [python, following.__file__, str(page)]
        done = subprocess.run(command, cwd=empty, env=environment, check=False)
    return done.returncode == 0


def main(names):
    """Follow the pages, and say a line each."""
    the_file("omvfs-*.whl")
    here = interpreters()
    versions = [name for name in names if name in here] or [next(iter(here))]
    names = [name for name in names if name not in here]
    pages = [Path(name).resolve() for name in names] or following.pages(ROOT)
    failed = 0
    for version, page in product(versions, pages):
        started = time.perf_counter()
        well = follow(page, here[version])
        failed += not well
        told = f"{'works' if well else 'FAILS'}, Python {version}"
        took = time.perf_counter() - started
        sys.stdout.write(f"{page.relative_to(ROOT)}: {told}, {took:.0f} s\n")
        sys.stdout.flush()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
