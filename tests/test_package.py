"""The package: its names are there, and read when they are asked for."""

import subprocess
import sys

import pytest

import omvfs


def run(script):
    """Return what a script prints, in a process of its own."""
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def read_by(script):
    """Return which packages a script reads."""
    modules = run(f"{script}; import sys; print(*sys.modules)").split()
    return {name.partition(".")[0] for name in modules}


def test_every_name_is_there_and_listed():
    for name in omvfs.__all__:
        found = getattr(omvfs, name)
        assert found.__module__.startswith("omvfs.")
        assert found.__name__ == name
    assert set(omvfs.__all__) <= set(dir(omvfs))
    assert sorted(omvfs._HOMES) == sorted(omvfs.__all__)


def test_rooms_are_there_when_they_are_asked_for():
    assert run("import omvfs; print(omvfs.formats.__name__)") == "omvfs.formats\n"
    with pytest.raises(AttributeError, match="'omvfs' has no attribute 'nothing'"):
        _ = omvfs.nothing
    assert not any(hasattr(omvfs, name) for name in ("a.b", "", "no name"))


def test_the_package_by_itself_reads_nothing_of_others():
    assert not read_by("import omvfs") & {"numpy", "scipy", "sklearn"}


def test_the_estimator_reads_little_more_than_what_it_is_built_on():
    # Modules, not seconds: a busy machine reads the same ones.
    base = "import scipy.sparse, sklearn.feature_selection, narwhals, safetensors.numpy"
    needed = set(run(f"{base}; import sys; print(*sys.modules)").split())
    read = set(run("from omvfs import OMVFS; import sys; print(*sys.modules)").split())
    own = {name for name in read if name.partition(".")[0] == "omvfs"}
    assert len(own) < 160
    # scikit-learn reads pandas and others where they are.
    beside = read - needed - own
    assert len(beside) < 60
    large = {"pandas", "polars", "pyarrow", "h5py", "matplotlib", "dask", "typer", "rich", "jinja2"}
    assert not large & {name.partition(".")[0] for name in beside}
