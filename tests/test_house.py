"""The plan of the house is the house, and no room reaches into the cupboards of another."""

import re
import tomllib
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def imports():
    graph = grimp.build_graph("omvfs", cache_dir=None)
    return [(a, b) for a in graph.modules for b in graph.find_modules_directly_imported_by(a)]


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def test_no_package_imports_a_private_module_of_another(imports):
    def owner(module):
        """Return the package in which a module is private, None if it is not."""
        parts = module.split(".")
        for i, part in enumerate(parts):
            if is_private(part):
                return ".".join(parts[:i])
        return None

    owners = {b: owner(b) for _, b in imports}
    reached = [
        f"{a} -> {b}"
        for a, b in imports
        if owners[b] is not None and not f"{a}.".startswith(f"{owners[b]}.")
    ]
    assert not reached
    # Of the top of the house nothing is private: what is there is for all.
    assert not [b for b in owners.values() if b == "omvfs"]


def contracts():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {each["containers"][0]: each for each in settings["tool"]["importlinter"]["contracts"]}


@pytest.mark.parametrize(("container", "table"), [("omvfs", 0), ("omvfs.model", 1)])
def test_the_plan_is_the_contract(container, table):
    contract = contracts()[container]
    assert contract["exhaustive"]
    layers = [[room.strip(" ()") for room in each.split("|")] for each in contract["layers"]]
    tables = re.findall(r"\| room \| .*\n\|---\|---\|\n((?:\|.*\n)+)", CONTRIBUTING)
    plan = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in tables[table].splitlines()]
    assert plan == layers


def test_the_walk_is_short_and_names_what_is_there():
    walk = CONTRIBUTING.partition("### One chunk")[2].partition("\n### ")[0].splitlines()[1:]
    steps = [line for line in walk if line.strip()]
    assert 1 < len(steps) <= 15
    named = re.findall(r"`(\w+(?:/\w+)*\.py)`", "\n".join(steps))
    assert len(named) >= 10
    missing = [name for name in named if not (ROOT / "src" / "omvfs" / name).is_file()]
    assert not missing
