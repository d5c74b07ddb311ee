"""Follow a page as a reader would: its commands and its Python, from top to bottom.

    python following.py PAGE [--installed]

runs the blocks ``sh`` and ``python`` of a page in the present folder, in order, and stops where one
fails. A block ``text`` right below is what it prints, as in a doctest: ``...`` stands for anything,
and white space does not matter. Python blocks share their names; what a command exports stays for
those after it; what it leaves running ends with the page. With ``--installed`` lines that begin
with ``pip install`` are passed over. A block in a comment is run and not shown.

It needs nothing but Python, so that an empty environment can run it too.
"""

import contextlib
import doctest
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import invalidate_caches
from pathlib import Path
from traceback import print_exc
from types import ModuleType

FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RUN = ("python", "sh")
# What is printed, written or read by others, and a directive of the site.
SHOWN = ("text", "bibtex", "toml", "yaml", "json", "{")
INSTALLS = re.compile(r"^pip install .*$", re.MULTILINE)
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, its text, the line it begins at, what it prints."""

    language: str
    text: str
    line: int
    expected: str | None = None
    hidden: bool = False


class FollowingError(Exception):
    """A block that failed, or prints something else."""


def fences(text):
    """Return the language, the text, the line and the place in between of every block."""
    end = 0
    for found in FENCE.finditer(text):
        yield (
            found[1].strip(),
            found[2],
            text.count("\n", 0, found.start()) + 1,
            text[end : found.start()],
        )
        end = found.end()


def blocks(text):
    """Return the blocks of a page that are run.

    >>> [block] = blocks("One\\n```python\\nprint(1)\\n```\\n\\n```text\\n1\\n```\\n")
    >>> block.line, block.expected
    (2, '1\\n')
    """
    found, commented = [], False
    for language, code, line, before in fences(text):
        if "<!--" in before or "-->" in before:
            commented = before.rfind("<!--") > before.rfind("-->")
        if language in RUN:
            found.append(Block(language, code, line, None, commented))
        elif language == "text" and found and not before.strip():
            last = found[-1]
            found[-1] = Block(last.language, last.text, last.line, code, last.hidden)
    return found


def unknown(text):
    """Return the languages of blocks that are neither run nor known not to be code to run."""
    return {name for name, *_ in fences(text) if name not in RUN and not name.startswith(SHOWN)}


def installed(text):
    """Return what a page installs: requirements, as they are typed.

    >>> installed("```sh\\npip install 'omvfs[files]' polars\\n```\\n")
    ['omvfs[files]', 'polars']
    """
    lines = [line for each in blocks(text) for line in INSTALLS.findall(each.text)]
    words = [word.strip("'\"") for line in lines for word in line.partition("#")[0].split()[2:]]
    return [word for word in words if not word.startswith("-")]


def is_guide(text):
    """Tell whether a page can be followed from an empty environment: it says what to install."""
    return any(INSTALLS.search(block.text) for block in blocks(text) if not block.hidden)


def guides(root):
    """Return the pages that are guides; Spark needs Java, and `make test-spark` follows it."""
    pages = sorted(Path(root, "docs").glob("*.md"))
    found = [page for page in pages if is_guide(page.read_text(encoding="utf-8"))]
    return [page for page in found if page.name != "spark.md"]


def pages(root):
    """Return all pages that show what can be run, but for those that other tests follow."""
    found = [Path(root, "README.md"), *sorted(Path(root, "docs").glob("*.md"))]
    elsewhere = "spark.md", "data.md"  # make test-spark, and tests/cli/test_formats.py
    return [p for p in found if p.name not in elsewhere and blocks(p.read_text(encoding="utf-8"))]


def follow(text, *, without_installing=False):
    """Run the blocks of a page in the present folder; `FollowingError` says which of them fails."""
    # Classes of the page are where pickle looks for them.
    page = sys.modules["__main__"] = ModuleType("__main__")
    names = vars(page)
    started = []
    try:
        for block in blocks(text):
            code = INSTALLS.sub("", block.text) if without_installing else block.text
            if not code.strip():
                continue
            said, well = _python(code, names) if block.language == "python" else _sh(code, started)
            here = f"line {block.line}:\n{code}\nprinted:\n{said}"
            if not well:
                raise FollowingError(f"The block fails, {here}")
            expected = block.expected
            if expected and not doctest.OutputChecker().check_output(expected, said, LIKE):
                raise FollowingError(f"Expected:\n{expected}\nof {here}")
    finally:
        for group in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)


def _python(code, names):
    """Return what a block of Python prints (not the warnings of libraries), and if it ends well."""
    said = io.StringIO()
    invalidate_caches()
    with contextlib.redirect_stdout(said):
        try:
            exec(compile(code, "<block>", "exec"), names)
        except BaseException:
            print_exc(file=said)
            return said.getvalue(), False
    return said.getvalue(), True


def _sh(code, started):
    """Return what commands print, and whether they end well; what they export stays."""
    with tempfile.TemporaryDirectory() as folder:
        kept, printed = Path(folder, "environment"), Path(folder, "printed")
        # To files: what goes on in the background would hold a pipe open.
        with printed.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", f"{code}\nenv -0 > {kept}"],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            started.append(process.pid)
            code = process.wait()
        if kept.exists():
            pairs = kept.read_bytes().decode(errors="surrogateescape").split("\0")
            os.environ.update(dict(pair.split("=", 1) for pair in pairs if "=" in pair))
        return printed.read_text(encoding="utf-8", errors="replace"), code == 0


def main(arguments):
    """Follow the page that is named; return 0 if all of it works."""
    pages = [each for each in arguments if each != "--installed"]
    for page in pages:
        text = Path(page).read_text(encoding="utf-8")
        try:
            follow(text, without_installing="--installed" in arguments)
        except FollowingError as failed:
            sys.stderr.write(f"{page}: {failed}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
