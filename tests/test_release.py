"""What goes out with a release says the same everywhere, and is no larger than it must be."""

import re
import tomllib
from pathlib import Path

import yaml

import omvfs

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "omvfs"


def test_the_version_is_the_same_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(.+?)\] - (\S+)$", changes, re.MULTILINE)
    shown = re.search(r"version = \{(.+?)\}", (ROOT / "docs" / "citing.md").read_text())
    assert {cited["version"], newest[1], shown[1]} == {omvfs.__version__}
    assert newest[2] == cited["date-released"]


def test_the_citation_has_what_its_schema_asks_for():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert cited["license"] == settings["license"]
    assert {"type", "title", "authors"} <= set(cited["preferred-citation"])


def test_hooks_before_a_commit_do_what_lint_does():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    entries = [hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    tools = re.findall(r"\$\(BIN\)/(\S+(?: check| format)?)", lint)
    assert len(tools) == 4
    assert [re.match(r"\.venv/bin/(\S+(?: check| format)?)", each)[1] for each in entries] == tools


def test_templates_of_issues_are_forms():
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    read = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in forms}
    assert set(read) == {"bug", "idea", "config"}
    for name in ("bug", "idea"):
        assert {"name", "description", "body"} <= set(read[name])
        assert all({"type", "id", "attributes"} <= set(each) for each in read[name]["body"])


def test_the_package_is_small_and_says_that_it_has_types():
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert PACKAGE / "py.typed" in files
    assert {path.suffix for path in files} <= {".py", ".typed", ".html", ".css", ".js"}
    assert sum(path.stat().st_size for path in files) < 2_000_000
