"""Merge estimators, in memory or in files."""

import os
from collections.abc import Iterable, Sequence

from omvfs.omvfs import OMVFS
from omvfs.selectors.merge_plan import Plan, merge_parts
from omvfs.selectors.merging import merge_models
from omvfs.selectors.parts import Part
from omvfs.selectors.stream import Journal

PathLike = str | os.PathLike[str]


def merge(models: Iterable[OMVFS | PathLike], *, order: bool = False) -> OMVFS:
    """Return an estimator of the rows of all of some, each of which has learned by itself.

    For data that many machines hold, or many processes read: fit parts, merge, done.

    Parameters
    ----------
    models : iterable of OMVFS, or of path
        Estimators, or files that `OMVFS.save` or ``omvfs select`` have written. Files are read one
        after another, each three times, so that memory does not grow with their number. What is
        said of parts at `OMVFS.merge` holds here too; only what comes of files is one part from
        the start.
    order : bool, default=False
        Whether the parts follow each other in time, as they are given.

    Returns
    -------
    OMVFS

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import omvfs
    >>> X = np.random.default_rng(0).random((90, 6))
    >>> folder = tempfile.mkdtemp()
    >>> for i in range(3):
    ...     OMVFS(2, random_state=0).fit(X[30 * i : 30 * i + 30]).save(f"{folder}/{i}.omvfs")
    >>> omvfs.merge(f"{folder}/{i}.omvfs" for i in range(3)).n_samples_seen_
    90
    """
    given = list(models)
    if not given:
        raise ValueError("Got no estimators to merge; expected at least one, or its file.")
    files = [isinstance(each, str | os.PathLike) for each in given]
    if not any(files):
        merged: OMVFS = merge_models(given, order)
        return merged
    if not all(files):
        raise TypeError("Got estimators and files; expected one kind. Save them, or load them.")
    return merge_files([each for each in given if not isinstance(each, OMVFS)], order)


def merge_files(
    paths: Sequence[PathLike], order: bool = False, called: Sequence[str] | None = None
) -> OMVFS:
    """Return an estimator of the rows of all that files hold.

    Parameters
    ----------
    paths : sequence of path
        At least one.
    order : bool, default=False
        Whether the parts follow each other in time, as they are given.
    called : sequence of str, default=None
        What errors call the parts, if not by their files.
    """
    names = [os.fspath(path) for path in paths]

    def load(i: int) -> Part:
        return OMVFS.load(names[i]).as_parts()[0]

    plan = Plan.of((load(i).brief for i in range(len(names))), called or names, order)
    known, history = merge_parts(plan, load)
    return OMVFS.load(names[0]).with_learned(Journal(known, history), plan.schema)
