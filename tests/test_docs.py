"""Pages of the repository: each picture is shown, each link leads on."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = {".png", ".svg", ".jpg", ".gif"}


def tracked():
    """Return the files that git tracks or would, as paths from the root."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("This is no git checkout.")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def pages():
    """Return the text of every page, without blocks of code, by its path from the root."""
    found = [path for path in tracked() if path.suffix == ".md"]
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in found}
    return {path: re.sub(r"(?s)```.*?```", "", text) for path, text in texts.items()}


def targets(path, text):
    """Return the files that a page links to or shows, as paths from the root."""
    found = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text))
    local = [each.partition("#")[0] for each in found if not re.match(r"[a-z]+:|#", each)]
    return {(ROOT / path.parent / each).resolve() for each in local}


def test_every_picture_is_shown_on_a_page():
    shown = set().union(*(targets(path, text) for path, text in pages().items()))
    pictures = {ROOT / path for path in tracked() if path.suffix in PICTURES}
    assert pictures
    assert sorted(pictures - shown) == []


def test_every_link_within_the_repository_leads_somewhere():
    lost = [
        (str(path), str(target))
        for path, text in pages().items()
        for target in sorted(targets(path, text))
        if not target.exists()
    ]
    assert lost == []


def test_every_module_that_the_documentation_names_is_there():
    # What the method is made of is named from its own room.
    places = [ROOT, ROOT / "src" / "omvfs", ROOT / "src" / "omvfs" / "model"]
    found = {path: text for path, text in pages().items() if path.parent.name == "docs"}
    named = {
        (path.name, name)
        for path, text in found.items()
        for name in re.findall(r"`[^`\n]*?([\w/]+\.py)\b[^`\n]*`", text)
    }
    assert ("method.md", "drift.py") in named
    assert [each for each in named if not any((at / each[1]).exists() for at in places)] == []
