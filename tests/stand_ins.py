"""Stand-ins for containers of other packages: their attributes, and no way around them."""

import numpy as np
import pandas as pd


class Untouchable:
    """Has a length and items as AnnData has; who turns it into an array goes through them."""

    def __len__(self):
        raise AssertionError("It was taken for a sequence.")

    def __getitem__(self, key):
        raise AssertionError("Its elements were looked at.")


class AnnData(Untouchable):
    """Rows of one kind, with names of rows and columns."""

    def __init__(self, X, obs_names=None, var_names=None, filename=None):
        self._X, self.filename, self.shape = X, filename, np.shape(X)
        self._obs = [str(i) for i in range(self.shape[0])] if obs_names is None else obs_names
        self._var = [str(j) for j in range(self.shape[1])] if var_names is None else var_names

    @property
    def X(self):
        return self._X

    @property
    def obs_names(self):
        return pd.Index(self._obs)

    @property
    def var_names(self):
        return pd.Index(self._var)


class MuData(Untouchable):
    """Rows of several kinds, each an AnnData."""

    def __init__(self, mod, obs_names=None, axis=0):
        self._mod, self._axis = mod, axis
        self._obs = next(iter(mod.values())).obs_names if obs_names is None else pd.Index(obs_names)

    @property
    def mod(self):
        return self._mod

    @property
    def axis(self):
        return self._axis

    @property
    def obs_names(self):
        return self._obs

    @property
    def var_names(self):
        return pd.Index([name for each in self._mod.values() for name in each.var_names])


class Stored:
    """Values in a file, as h5py and zarr have them."""

    def __init__(self, shape=(4, 3)):
        self.shape, self.dtype = shape, np.dtype(float)

    @property
    def chunks(self):
        return (2, self.shape[1])

    def __getitem__(self, key):
        raise AssertionError("It was read from its file.")

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("It was read from its file.")


class Delayed(Stored):
    """Values that are yet to be computed, as dask has them."""

    def compute(self):
        raise AssertionError("It was computed.")
