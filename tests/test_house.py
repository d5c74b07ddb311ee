"""The layout of the package."""

import grimp
import pytest


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
    # No module at the top is private.
    assert not [b for b in owners.values() if b == "omvfs"]
