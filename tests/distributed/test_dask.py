"""On Dask the same is learned as by merging the parts, whoever works on which."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import omvfs
from clusters import QUICK, inside, saved_parts
from omvfs import OMVFS, OMVFSPaper
from streams import learned, two_views

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
from dask.delayed import delayed  # noqa: E402

from omvfs.distributed.dask import fit, local_workers, transform  # noqa: E402

# Of fewer rows than clusters, of none, uneven.
SIZES = (2, 28, 0, 35, 1, 4)


def selector(**params):
    return OMVFS(3, **{**QUICK, **params})


def cut(rows, sizes=SIZES):
    """Return the rows of every part that has any."""
    ends = np.cumsum([0, *sizes])

    def some(a, b):
        return {v: X[a:b] for v, X in rows.items()} if isinstance(rows, dict) else rows[a:b]

    return [some(a, b) for a, b in itertools.pairwise(ends) if b > a]


def merged(rows, sizes=SIZES, **params):
    return omvfs.merge([selector(**params).fit_batches([part]) for part in cut(rows, sizes)])


def in_chunks(X, sizes=SIZES):
    return da.from_array(X, chunks=(sizes, X.shape[1]))


@pytest.fixture(scope="module")
def views():
    return two_views(0, sum(SIZES))


@pytest.fixture(scope="module")
def expected(views):
    return learned(merged(views))


@pytest.mark.parametrize("n_workers", [None, 1, 2, 4])
def test_any_number_of_workers_comes_to_the_bits_of_merge(n_workers, views, expected):
    arrays = {view: in_chunks(X) for view, X in views.items()}
    asked = selector()
    if n_workers is None:
        # Threads of this process.
        model = fit(asked, arrays)
    else:
        with inside(n_workers):
            # An active client is what Dask takes by default.
            model = fit(asked, arrays)
    assert learned(model) == expected
    assert not hasattr(asked, "schema_")
    # It is an ordinary estimator, that learns on when the cluster is gone.
    chunk = two_views(1, 20)
    assert learned(model.partial_fit(chunk)) == learned(merged(views).partial_fit(chunk))


def test_parts_may_follow_each_other_in_time(views, tmp_path):
    parts = [{"rows": part["text"]} for part in cut(views)]
    in_time = learned(omvfs.merge([selector().fit_batches([part]) for part in parts], order=True))
    paths = saved_parts(tmp_path, [part["rows"] for part in parts])
    for given in ([delayed(part) for part in parts], paths):
        assert learned(fit(selector(), given, order=True)) == in_time


def test_one_sparse_array_stays_one_x(views):
    X = sp.csr_array(np.hstack(list(views.values())))
    own = {"views": [12, 7]}
    chunks = in_chunks(X.toarray()).map_blocks(sp.csr_array)
    model = fit(selector(**own), chunks)
    whole = merged(X, **own)
    assert learned(model) == learned(whole)
    assert np.array_equal(model.transform(X).toarray(), whole.transform(X).toarray())
    lazy = transform(model, chunks)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == model.transform(X).shape
    blocks = [lazy.blocks[i].compute() for i in range(lazy.numblocks[0])]
    assert all(sp.issparse(block) for block in blocks)
    assert np.array_equal(sp.vstack(blocks).toarray(), model.transform(X).toarray())


def test_frames_are_split_by_views(views):
    dd = pytest.importorskip("dask.dataframe")
    names = [f"{view}__{j}" for view, X in views.items() for j in range(X.shape[1])]
    frame = pd.DataFrame(np.hstack(list(views.values())), columns=names)
    frames = dd.from_pandas(frame, npartitions=3)
    own = {"views": "prefix", "n_features_per_view": 2}
    model = fit(selector(**own), frames)
    rows = [part.compute() for part in frames.partitions]
    whole = omvfs.merge([selector(**own).fit(part) for part in rows])
    assert learned(model) == learned(whole)
    assert list(model.feature_names_in_) == names
    lazy = transform(model, frames)
    assert list(lazy.columns) == list(whole.get_feature_names_out())
    assert np.array_equal(lazy.compute().to_numpy(), whole.transform(frame))
    # Of no rows too, and by view.
    none = frames[frames["text__0"] < -1]
    assert transform(model, none).compute().shape == (0, 4)
    by_view = {view: dd.from_pandas(pd.DataFrame(X), npartitions=3) for view, X in views.items()}
    assert fit(selector(), by_view).n_samples_seen_ == sum(SIZES)


def test_transform_stays_lazy(views, expected):
    looked = []

    def look(X):
        looked.append(len(X))
        return X

    chunks = {view: in_chunks(X).map_blocks(look, meta=X[:0]) for view, X in views.items()}
    model = merged(views)
    lazy = transform(model, chunks)
    assert not looked
    assert lazy.chunks[0] == SIZES
    assert np.array_equal(lazy.compute(), model.transform(views))
    assert looked
    parts = transform(model.selection(), [delayed(part) for part in cut(views)])
    assert np.array_equal(np.vstack(dask.compute(*parts)), model.transform(views))
    with pytest.raises(TypeError, match="Got list of 'str'; expected a dask array"):
        transform(model, ["a.npy"])


def test_files_are_read_by_workers(views, tmp_path):
    parts = [part["text"] for part in cut(views)]
    paths = saved_parts(tmp_path, parts)
    whole = omvfs.merge([selector().fit_batches([{"rows": part}]) for part in parts])
    with inside(2) as client:
        assert learned(fit(selector(), paths, client)) == learned(whole)
    assert learned(fit(selector(), f"{tmp_path}/*.npy")) == learned(whole)
    both = [(f"text={path}", f"again={path}") for path in paths]
    assert fit(selector(), both).schema_.names == ("text", "again")


def test_a_callable_that_ranks_stays_here(views):
    model = fit(selector(criterion=lambda S, Q, n: Q), in_chunks(views["text"]))
    assert callable(model.criterion)
    assert len(model.scores_) == 12


def test_what_cannot_be_is_refused_with_what_to_do(views):
    X = da.from_array(views["text"], chunks=(10, 5))
    remedy = r"'X' is cut into 3 chunks along its features.*X\.rechunk\(\{0: 'auto', 1: -1\}\)"
    for work in (lambda: fit(selector(), X), lambda: transform(merged(views), X)):
        with pytest.raises(ValueError, match=remedy):
            work()
    arrays = {"a": da.ones((6, 2), chunks=(3, 2)), "b": da.ones((6, 2), chunks=(2, 2))}
    with pytest.raises(ValueError, match=r"X\['b'\]\.rechunk\(\{0: X\['a'\]\.chunks\[0\]\}\)"):
        fit(selector(), arrays)
    with pytest.raises(ValueError, match="expected rows and columns"):
        fit(selector(), da.ones(5))
    for odd in ([], {}, 5, [np.ones((2, 2))], {"a": np.ones((2, 2))}):
        with pytest.raises(TypeError, match="expected a dask array"):
            fit(selector(), odd)
    with pytest.raises(ValueError, match="Got no rows; expected some in at least one part"):
        fit(selector(), da.ones((0, 3)))
    with pytest.raises(TypeError, match="Got OMVFSPaper; expected OMVFS"):
        fit(OMVFSPaper(3), X)


def test_an_error_names_the_part(views, tmp_path):
    parts = [part["text"] for part in cut(views)]
    odd = [delayed(part) for part in parts]
    odd[3] = delayed(np.where(parts[3] > 0.5, np.nan, parts[3]))
    paths = saved_parts(tmp_path, parts)
    paths[1].write_bytes(paths[1].read_bytes()[:-50])
    narrow = [delayed(part) for part in (parts[0], parts[1][:, :5])]
    with inside(2) as client:
        for where in (client, None):
            with pytest.raises(ValueError, match=r"^partition 3: Input X contains NaN"):
                fit(selector(), odd, where)
            with pytest.raises(ValueError, match=r"part-1\.npy"):
                fit(selector(), paths, where)
            with pytest.raises(ValueError, match="5 features in partition 1 and 12 in partition 0"):
                fit(selector(), narrow, where)
    twice = [delayed(parts[1]), delayed(parts[1])]
    with pytest.raises(ValueError, match="partition 1 has learned from rows that partition 0"):
        fit(selector(), twice)


@pytest.mark.slow
def test_processes_of_this_machine_come_to_the_same_bits(views, expected):
    """What `--workers` starts; the only test here that takes a process of its own."""
    arrays = {view: in_chunks(X) for view, X in views.items()}
    with local_workers(1) as client:
        assert learned(fit(selector(), arrays, client)) == expected
