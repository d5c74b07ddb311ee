"""The package: its names are there, and read when they are asked for."""

import subprocess
import sys

import pytest
import scipy.sparse as sp

import omvfs
from omvfs.datasets import make_planted


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


def test_packages_are_there_when_they_are_asked_for():
    assert run("import omvfs; print(omvfs.formats.__name__)") == "omvfs.formats\n"
    with pytest.raises(AttributeError, match="'omvfs' has no attribute 'nothing'"):
        _ = omvfs.nothing
    assert not any(hasattr(omvfs, name) for name in ("a.b", "", "no name"))


def test_the_package_by_itself_reads_nothing_of_others():
    assert not read_by("import omvfs") & {"numpy", "scipy", "sklearn"}


def test_a_plain_selection_reads_no_more_than_it_uses(tmp_path):
    planted = make_planted(300, n_features=(60, 40), n_informative=(9, 9), random_state=0)
    for view, X in planted.views.items():
        sp.save_npz(tmp_path / f"{view}_{view}.npz", sp.csr_array(X))
    arguments = ["select", str(tmp_path), "-k", "3", "-n", "5", "-o", str(tmp_path / "out")]
    script = "import {}; import sys; {}; print(*sys.modules)"
    # Selectors, k-means and isotonic regression: of scikit-learn no more than this.
    of_others = "sklearn.feature_selection, sklearn.cluster, sklearn.isotonic"
    without = set(run(script.format(of_others, "pass")).split())
    ran = f"assert not omvfs.cli.commands.run_app({arguments})"
    more = set(run(script.format("omvfs.cli.commands", ran)).splitlines()[-1].split()) - without
    packages = {name.partition(".")[0] for name in more}
    others = {"dask", "distributed", "h5py", "matplotlib", "pandas", "polars", "pyarrow", "pyspark"}
    assert not packages & others
    assert not {name for name in more if name.startswith(("sklearn.", "scipy.stats."))}
    unused = {"baselines", "datasets", "demo", "evaluation", "plots", "testing"}
    assert not {name.split(".")[1] for name in more if name.startswith("omvfs.")} & unused


def test_the_estimator_reads_little_more_than_what_it_is_built_on():
    # Modules, not seconds: a busy machine reads the same ones.
    base = "import scipy.sparse, sklearn.feature_selection, narwhals, safetensors.numpy"
    needed = set(run(f"{base}; import sys; print(*sys.modules)").split())
    read = set(run("from omvfs import OMVFS; import sys; print(*sys.modules)").split())
    own = {name for name in read if name.partition(".")[0] == "omvfs"}
    assert len(own) < 100
    # scikit-learn reads pandas and others where they are.
    beside = read - needed - own
    assert len(beside) < 60
    large = {"pandas", "polars", "pyarrow", "h5py", "matplotlib", "dask", "typer", "rich", "jinja2"}
    assert not large & {name.partition(".")[0] for name in beside}
