"""Merge estimators, in memory or in files."""

import os
from collections.abc import Iterable, Iterator, Sequence

from omvfs.data.schema import listed
from omvfs.omvfs import OMVFS
from omvfs.persistence import checkpoint
from omvfs.selectors.merge_plan import Plan, merge_parts
from omvfs.selectors.merging import merge_models
from omvfs.selectors.parts import Brief, Part
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
    return merge_files([each for each in given if not isinstance(each, OMVFS)], order)[0]


def merge_files(
    paths: Sequence[PathLike], order: bool = False, called: Sequence[str] | None = None
) -> tuple[OMVFS, list[str] | None]:
    """Return an estimator of the rows of all that files hold, and how the rows were prepared.

    Parameters
    ----------
    paths : sequence of path
        At least one.
    order : bool, default=False
        Whether the parts follow each other in time, as they are given.
    called : sequence of str, default=None
        What errors call the parts, if not by their files.

    Returns
    -------
    merged : OMVFS
    prepare : list of str, or None
        Steps of ``omvfs select --prepare``; None if no file tells.
    """
    names = [os.fspath(path) for path in paths]
    told: list[tuple[str, list[str]]] = []

    def briefs() -> Iterator[Brief]:
        for name in names:
            model, prepare = read(name)
            if prepare is not None:
                before, expected = (told or [(name, prepare)])[0]
                if prepare != expected:
                    raise ValueError(
                        f"{name} was learned from rows prepared by {listed(prepare)}, {before} by "
                        f"{listed(expected)}. Prepare the rows of all parts alike."
                    )
                told[:] = [(before, expected)]
            yield from (part.brief for part in model.as_parts())

    def load(i: int) -> Part:
        return read(names[i])[0].as_parts()[0]

    plan = Plan.of(briefs(), called or names, order)
    known, history = merge_parts(plan, load)
    merged = read(names[0])[0].with_learned(Journal(known, history), plan.schema)
    return merged, told[0][1] if told else None


def read(path: PathLike) -> tuple[OMVFS, list[str] | None]:
    """Return an estimator from a file, and how its rows were prepared, if that is told.

    Parameters
    ----------
    path : path
    """
    arrays, meta = checkpoint.read(path)
    model = OMVFS._of(arrays, meta, path)
    prepare = extra.get("prepare") if isinstance(extra := meta.get("extra"), dict) else None
    return model, prepare if isinstance(prepare, list) else None
