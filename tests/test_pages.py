"""Pages of the site: each is in its menu, and what they show is run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import following

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Made when the site is built.
MADE = {"gallery/index"}


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def sources():
    """Return the pages that are in the tree, from the root, without those made for the site."""
    found = [*DOCS.glob("*.md"), *(DOCS / "api").glob("*.md"), ROOT / "README.md"]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def menu(page):
    """Return the pages that a page of docs/ has in its menu."""
    trees = re.findall(r"(?s)^```\{toctree\}\n(.*?)^```", text_of(f"docs/{page}.md"), re.MULTILINE)
    lines = [line.strip() for tree in trees for line in tree.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def listed(page="index"):
    """Return every page that can be reached by menus, with repetition."""
    found = [page]
    for each in menu(page):
        found += [each] if each in MADE or not (DOCS / f"{each}.md").exists() else listed(each)
    return found


def test_menus_name_every_page_once_and_no_other():
    found = listed()
    assert len(found) == len(set(found))
    pages = {name.removeprefix("docs/").removesuffix(".md") for name in sources()} - {"README"}
    if (DOCS / "README.md").exists():
        pages |= {"README"}
    assert set(found) - MADE == pages


@pytest.mark.parametrize("name", sources())
def test_every_block_is_run_or_is_no_code(name):
    text = text_of(name)
    assert following.unknown(text) == set()
    # Commands are in blocks that are run, not only set in.
    set_in = re.findall(r"(?m)^    (?:omvfs|pip|python) .*$", re.sub(r"(?s)```.*?```", "", text))
    assert set_in == []


@pytest.mark.parametrize("page", following.guides(ROOT), ids=lambda page: page.name)
def test_a_guide_shows_all_that_it_needs(page):
    assert not [each for each in following.blocks(page.read_text()) if each.hidden]


def test_what_the_first_page_shows_works(tmp_path, monkeypatch):
    """One page here; `make test-guides` follows all of them."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    command = [sys.executable, following.__file__, str(DOCS / "start.md"), "--installed"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_examples_of_the_gallery_are_listed_by_their_names():
    # Those that sphinx-gallery runs; others would be shown and not run.
    assert {path.stem[:5] for path in (ROOT / "examples").glob("*.py")} == {"plot_"}
