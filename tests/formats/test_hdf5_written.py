"""What is raised while HDF5 writes, from calls that it makes from C."""

import h5py
import numpy as np
import pytest

from omvfs.formats._hdf5 import PatientFile


class Raising:
    """A file that raises at one of its calls."""

    def __init__(self, file, at, error):
        self._file, self._left, self._error = file, at, error

    def __getattr__(self, name):
        call = getattr(self._file, name)

        def counted(*arguments):
            self._left -= 1
            if self._left == 0:
                raise self._error
            return call(*arguments)

        return counted if name != "close" else call


def write(file):
    with h5py.File(file, "w") as h5:
        h5["x"] = np.arange(1000)
        h5["group/y"] = np.ones((30, 40))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "full")], ids=["stop", "full"])
def test_nothing_that_is_raised_on_the_way_is_lost(tmp_path, capfd, error):
    for at in range(1, 200):
        file = PatientFile(tmp_path / "x")
        file._file = raising = Raising(file._file, at, error)
        write(file)
        file.close()
        if raising._left > 0:
            break
        with pytest.raises(type(error)):
            file.check()
    assert 5 < at < 199
    assert capfd.readouterr() == ("", "")
