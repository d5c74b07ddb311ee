"""What is in dist/, as who installs it has it: in an empty environment of every Python here.

    python tests/wheels.py

By mypy and twine too, and what a wheel made of the sdist has. A line each; ends with 1 if anything
fails.
"""

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from environments import interpreters, new_environment, the_file

SUPPORTED = "3.11", "3.12", "3.13", "3.14"
# Of the package itself, without those that it needs.
MOST_BYTES = 3_000_000
SMOKE = """
import numpy as np
from omvfs import OMVFS
from omvfs.datasets import planted_stream

selector = OMVFS(n_clusters=5, n_features_per_view=200, random_state=0)
for views in planted_stream(5_000, view_names=["words", "tags"], random_state=0).batches():
    selector.partial_fit(views)
selector.save("model.omvfs")
words = OMVFS.load("model.omvfs").top_features("words", 200)
assert sum(word.startswith("noise") for word in words) <= 10, words
rows = np.hstack([np.eye(3)[np.arange(60) % 3] + 0.1, np.ones((60, 4))])
np.save("rows.npy", rows)
"""
SHELL = """
omvfs --version
omvfs --help > /dev/null
omvfs info rows.npy > /dev/null
omvfs select rows.npy -k 3 -n 3 -o out > /dev/null
omvfs transform out/model.omvfs rows.npy -o small.npy > /dev/null
"""
# Types of a user's own, who is as strict as can be.
TYPED = """
from typing import Any

from omvfs import OMVFS, Views, as_views, merge
from omvfs.baselines import Variance


def learned(data: dict[str, Any]) -> OMVFS:
    views: Views = as_views(data)
    selector = OMVFS(n_clusters=3, n_features_per_view={"text": 10}, random_state=0)
    return selector.fit(views)


def best(selector: OMVFS, view: str) -> list[str]:
    return selector.top_features(view, 5)


def both(one: OMVFS, other: OMVFS) -> OMVFS:
    return merge([one, other])


baseline: Variance = Variance(n_features_per_view=3)
"""
WRONG = """
from omvfs import OMVFS

best: int = OMVFS(n_clusters=3).top_features("text", 5)
"""


class Bench:
    """Runs commands in a new environment, and says how they end."""

    def __init__(self, folder, python):
        self.folder = Path(folder)
        self.environment = new_environment(python, self.folder / "environment")
        self.here = self.folder / "here"
        self.here.mkdir()

    def run(self, *command, fails=False):
        """Run a command; what it says is an error if it ends otherwise than it should."""
        program = self.folder / "environment" / "bin" / command[0]
        done = subprocess.run(
            [str(program) if program.exists() else command[0], *map(str, command[1:])],
            cwd=self.here,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if (done.returncode != 0) != fails:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
        return done.stdout


def works_on(version):
    """Install the wheel on a Python, and use it from Python and the shell."""
    with tempfile.TemporaryDirectory(prefix="omvfs-wheel-") as folder:
        bench = Bench(folder, interpreters()[version])
        bench.run("pip", "install", "-q", the_file("omvfs-*.whl"))
        bench.run("pip", "check")
        bench.run("python", "-W", "error", "-c", SMOKE)
        told = bench.run("bash", "-euo", "pipefail", "-c", SHELL).split()[1]
        where = bench.run("python", "-c", "import omvfs; print(*omvfs.__path__)").strip()
        files = [path for path in Path(where).rglob("*") if path.suffix not in (".pyc", "")]
        size = sum(path.stat().st_size for path in files)
        if size > MOST_BYTES:
            raise RuntimeError(f"omvfs takes {size:,} bytes; expected {MOST_BYTES:,} at most.")
        return f"omvfs {told}, {len(files)} files of {size / 1e6:.1f} MB"


def is_typed():
    """See that types of the installed package are those that mypy goes by."""
    with tempfile.TemporaryDirectory(prefix="omvfs-types-") as folder:
        bench = Bench(folder, next(iter(interpreters().values())))
        bench.run("pip", "install", "-q", the_file("omvfs-*.whl"), "mypy")
        (bench.here / "typed.py").write_text(TYPED)
        (bench.here / "wrong.py").write_text(WRONG)
        said = bench.run("mypy", "--strict", "typed.py").strip()
        bench.run("mypy", "--strict", "wrong.py", fails=True)
        return said


def renders():
    """See that the long description can be shown by an index."""
    with tempfile.TemporaryDirectory(prefix="omvfs-twine-") as folder:
        bench = Bench(folder, next(iter(interpreters().values())))
        bench.run("pip", "install", "-q", "twine")
        files = the_file("omvfs-*.whl"), the_file("omvfs-*.tar.gz")
        said = bench.run("twine", "check", "--strict", *files)
        return f"{said.count('PASSED')} of 2 passed"


def names_in(wheel):
    with zipfile.ZipFile(wheel) as file:
        return sorted(file.namelist())


def sdist_is_whole():
    """Make a wheel of the sdist, and compare it with the one in dist/."""
    with tempfile.TemporaryDirectory(prefix="omvfs-sdist-") as folder:
        with tarfile.open(the_file("omvfs-*.tar.gz")) as file:
            file.extractall(folder, filter="data")
        (root,) = Path(folder).glob("omvfs-*")
        made = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
        subprocess.run(made, cwd=root, check=True, capture_output=True)
        (wheel,) = (root / "dist").glob("*.whl")
        if names_in(wheel) != names_in(the_file("omvfs-*.whl")):
            raise RuntimeError("The wheel of the sdist has other files.")
        return f"{len(names_in(wheel))} files, as in the wheel"


def main():
    """Do all of it, and say a line each."""
    here = interpreters()
    todo = [(f"Python {each}", lambda each=each: works_on(each)) for each in here]
    others = {"types": is_typed, "README": renders, "sdist": sdist_is_whole}
    failed = 0
    for name, check in [*todo, *others.items()]:
        try:
            said = f"works: {check()}"
        except (RuntimeError, subprocess.CalledProcessError) as error:
            failed += 1
            said = f"FAILS: {error}"
        sys.stdout.write(f"{name}: {said}\n")
        sys.stdout.flush()
    for missing in sorted({*SUPPORTED} - {*here}):
        sys.stdout.write(f"Python {missing}: is not here, so not tested\n")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
