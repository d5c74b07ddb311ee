"""The layout of the package: every module has a name and a reason of its own."""

from collections import Counter
from pathlib import Path

import grimp
import pytest

import omvfs

SOURCE = Path(omvfs.__file__).parents[1]
# As many lines are an idea of their own.
LONG = 200


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("omvfs", cache_dir=None)


@pytest.fixture(scope="module")
def modules(graph):
    """All modules but packages."""
    return {module for module in graph.modules if not graph.find_children(module)}


def test_no_name_of_a_module_occurs_twice_and_none_is_private(modules):
    names = Counter(module.rpartition(".")[2] for module in modules)
    # Programs are called __main__.
    del names["__main__"]
    assert [name for name, n in names.items() if n > 1] == []
    assert [name for name in names if name.startswith("_")] == []


def test_no_short_module_is_there_for_one_beside_it_only(graph, modules):
    """It would be a part of that one. What users import is there for them."""
    public = {f"omvfs.{home}" for home in omvfs._HOMES.values()}
    alone = []
    for module in modules - public:
        users = graph.find_modules_that_directly_import(module)
        parent = module.rpartition(".")[0]
        beside = {user for user in users & modules if user.rpartition(".")[0] == parent}
        path = (SOURCE / module.replace(".", "/")).with_suffix(".py")
        if len(users) == len(beside) == 1 and not module.startswith("omvfs.model."):
            n_lines = len(path.read_text(encoding="utf-8").splitlines())
            alone += [f"{module} <- {beside}"] if n_lines < LONG else []
    assert alone == []
