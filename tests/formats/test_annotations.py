"""What AnnData and MuData files say beside their matrices is kept in those that are written."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from omvfs.formats import SourceError, open_source, open_writer
from omvfs.formats.anndata import AnnDataSource
from support import counts, dense

N = 40
TEXT = h5py.string_dtype("utf-8")
RNA = sp.csr_matrix(counts(np.random.default_rng(0), N, 9))
ADT = counts(np.random.default_rng(1), N, 4)
CELLS = [f"zelle {i}" for i in range(N)]


def encoded(item, kind, **attributes):
    item.attrs["encoding-type"], item.attrs["encoding-version"] = kind, "0.2.0"
    item.attrs.update(attributes)
    return item


def frame(group, name, index, columns):
    made = encoded(group.create_group(name), "dataframe", _index="called")
    made.attrs["column-order"] = np.array(list(columns), TEXT)
    made["called"] = np.array(index, TEXT)
    encoded(made["called"], "string-array")
    for column, values in columns.items():
        if isinstance(values, dict):
            own = encoded(made.create_group(column), values["kind"])
            for part, each in values.items():
                if part != "kind":
                    own[part] = each
        else:
            made[column] = values
    return made


def matrix(group, name, X):
    if not sp.issparse(X):
        group[name] = X
        return
    own = encoded(group.create_group(name), f"{X.format}_matrix", shape=X.shape)
    for part in ("data", "indices", "indptr"):
        own[part] = getattr(X, part)


def modality(group, X, names):
    """Write all that a modality has."""
    n, width = X.shape
    rng = np.random.default_rng(2)
    kinds = {"kind": "categorical", "codes": rng.integers(0, 2, n).astype("i1")}
    kinds["categories"] = np.array(["T", "B"], TEXT)
    whole = {"kind": "nullable-integer", "values": np.arange(n), "mask": np.arange(n) % 3 == 0}
    notes = np.array([f"n{i}" for i in range(n)], TEXT)
    columns = {"type": kinds, "note": notes, "depth": rng.random(n), "whole": whole}
    frame(group, "obs", CELLS, columns)
    chosen = {"kind": "nullable-boolean", "values": np.arange(width) % 2 == 0}
    chosen["mask"] = np.arange(width) % 3 == 0
    lengths = {"length": np.arange(width) * 10, "chosen": chosen}
    kinds = {"kind": "categorical", "codes": np.arange(width, dtype="i1") % 2}
    kinds["categories"] = np.array(["coding", "other"], TEXT)
    frame(group, "var", names, lengths | {"kind": kinds})
    matrix(group, "X", X)
    layers = encoded(group.create_group("layers"), "dict")
    matrix(layers, "counts", (X * 2).tocsr() if sp.issparse(X) else X * 2)
    matrix(layers, "scaled", dense(X) + 0.5)
    matrix(layers, "columns", sp.csc_matrix(X))
    group["obsm/X_pca"], group["varm/PCs"] = rng.random((n, 3)), rng.random((width, 3))
    group["obsp/near"], group["uns/colours"] = np.eye(n), np.array(["red", "blue"], TEXT)


def h5ad(path, X=RNA):
    with h5py.File(path, "w") as file:
        modality(encoded(file, "anndata"), X, [f"gene {j}" for j in range(X.shape[1])])
    return path


def h5mu(path):
    names = {"rna": [f"gene {j}" for j in range(9)], "adt": [f"é{j}" for j in range(4)]}
    with h5py.File(path, "w") as file:
        encoded(file, "MuData", axis=0)
        for name, X in {"rna": RNA, "adt": ADT}.items():
            modality(encoded(file.create_group(f"mod/{name}"), "anndata"), X, names[name])
            file[f"obsmap/{name}"] = np.arange(1, N + 1, dtype="u4")
            file[f"obsm/{name}"] = np.ones((N, 1), bool)
        file["mod"].attrs["mod-order"] = np.array(["rna", "adt"], TEXT)
        frame(file, "obs", CELLS, {"batch": np.arange(N) % 2})
        frame(file, "var", [*names["rna"], *names["adt"]], {"place": np.arange(13)})
        file["varmap/rna"] = np.array([*range(1, 10), 0, 0, 0, 0], "u4")
        file["varmap/adt"] = np.array([0] * 9 + [1, 2, 3, 4], "u4")
        file["obsm/X_umap"] = np.random.default_rng(3).random((N, 2))
    return path


def values(item):
    """Return all that a group or a dataset has in it."""
    if isinstance(item, h5py.Group):
        return {name: values(item[name]) for name in item}
    return item[()].tolist()


def of_columns(group, columns):
    """Return what a frame says of some of its lines."""
    return {
        name: [each[j] for j in columns]
        if isinstance(each, list)
        else {
            part: own if part == "categories" else [own[j] for j in columns]
            for part, own in each.items()
        }
        for name, each in values(group).items()
    }


def csr(group):
    parts = (group["data"][:], group["indices"][:], group["indptr"][:])
    return sp.csr_array(parts, shape=tuple(group.attrs["shape"])).toarray()


def check(before, after, columns, X):
    """Have one modality say of some columns what it said of them."""
    for name in ("obs", "obsm", "obsp", "uns"):
        assert values(after[name]) == values(before[name]), name
    assert dict(after["obs"].attrs)["_index"] == "called"
    assert list(after["var"].attrs["column-order"]) == list(before["var"].attrs["column-order"])
    assert values(after["var"]) == of_columns(before["var"], columns)
    assert values(after["varm"]) == of_columns(before["varm"], columns)
    read = csr if sp.issparse(X) else lambda group: group[:]
    np.testing.assert_array_equal(read(after["X"]), dense(X)[:, columns])
    np.testing.assert_array_equal(read(after["layers/counts"]), 2 * dense(X)[:, columns])
    np.testing.assert_array_equal(after["layers/scaled"][:], dense(X)[:, columns] + 0.5)
    assert set(after["layers"]) == {"counts", "scaled"}


OPTIONS = ["-k", "2", "-n", "3", "--batch-size", "15"]


def test_selected_features_keep_all_that_is_said_of_them(tmp_path, caplog):
    path, out = h5ad(tmp_path / "cells.h5ad"), tmp_path / "out"
    assert run_app(["select", str(path), *OPTIONS, "-o", str(out), "--write-data"]) == 0
    model = OMVFS.load(out / "model.omvfs")
    columns = np.flatnonzero(model.view_support_["cells"])
    again = tmp_path / "reduced.h5ad"
    assert run_app(["transform", str(out / "model.omvfs"), str(path), "-o", str(again)]) == 0
    for written in (out / "data/cells.h5ad", again):
        with h5py.File(path) as before, h5py.File(written) as after:
            check(before, after, columns, RNA)
    assert {record.getMessage() for record in caplog.records} == {
        f"Not copied from {path}: 'layers/columns'."
    }
    with open_source(again) as source:
        names = tuple(f"gene {j}" for j in columns)
        assert source.schema.feature_names == (names,)


def test_what_is_of_all_columns_goes_along_with_all_of_them_only(tmp_path, capsys):
    path, out = h5ad(tmp_path / "cells.h5ad"), tmp_path / "out"
    with h5py.File(path, "r+") as file:
        matrix(file.create_group("raw"), "X", RNA)
        file["varp/near"] = np.eye(RNA.shape[1])
    assert run_app(["convert", str(path), "-o", str(tmp_path / "all.h5ad")]) == 0
    with h5py.File(path) as before, h5py.File(tmp_path / "all.h5ad") as after:
        for name in ("raw", "varp"):
            assert values(after[name]) == values(before[name])
    capsys.readouterr()
    assert run_app(["select", str(path), *OPTIONS, "-o", str(out), "--write-data"]) == 0
    said = capsys.readouterr().err
    assert f"Not copied from {path}: '/varp', '/raw', 'layers/columns'." in said
    with h5py.File(out / "data/cells.h5ad") as after:
        assert not {"raw", "varp"} & set(after)


def test_what_other_formats_have_no_place_for_is_said(tmp_path, capsys):
    path = h5ad(tmp_path / "cells.h5ad")
    assert run_app(["convert", str(path), "-o", str(tmp_path / "x.csv")]) == 0
    assert f"no place for obs, var and layers of '{path}'." in capsys.readouterr().err


def test_modalities_keep_all_that_is_said_of_them(tmp_path):
    path, out = h5mu(tmp_path / "cells.h5mu"), tmp_path / "out"
    assert run_app(["select", str(path), *OPTIONS, "-o", str(out), "--write-data"]) == 0
    support = OMVFS.load(out / "model.omvfs").view_support_
    columns = {view: np.flatnonzero(mask) for view, mask in support.items()}
    with h5py.File(path) as before, h5py.File(out / "data/cells.h5mu") as after:
        for view, X in {"rna": RNA, "adt": ADT}.items():
            check(before[f"mod/{view}"], after[f"mod/{view}"], columns[view], X)
        places = [*columns["rna"], *(9 + columns["adt"])]
        assert values(after["var/place"]) == places
        assert values(after["varmap"]) == {"rna": [1, 2, 3, 0, 0, 0], "adt": [0, 0, 0, 1, 2, 3]}
        for group in ("obs", "obsm", "obsmap"):
            assert values(after[group]) == values(before[group])


def test_one_modality_leaves_nothing_of_the_others(tmp_path):
    path, to = h5mu(tmp_path / "cells.h5mu"), tmp_path / "adt.h5mu"
    assert run_app(["convert", str(path), "--view", "adt", "-o", str(to)]) == 0
    with h5py.File(path) as before, h5py.File(to) as after:
        check(before["mod/adt"], after["mod/adt"], range(4), ADT)
        assert set(after["mod"]) == set(after["obsmap"]) == set(after["varmap"]) == {"adt"}
        assert set(after["obsm"]) == {"adt", "X_umap"}
        assert values(after["var/place"]) == [9, 10, 11, 12]


def test_files_side_by_side_have_the_same_observations(tmp_path):
    np.save(tmp_path / "image.npy", ADT)
    inputs = [f"cells={h5ad(tmp_path / 'a.h5ad')}", str(tmp_path / "image.npy")]
    assert run_app(["convert", *inputs, "-o", str(tmp_path / "both.h5mu")]) == 0
    with h5py.File(tmp_path / "a.h5ad") as before, h5py.File(tmp_path / "both.h5mu") as after:
        check(before, after["mod/cells"], range(9), RNA)
        for place in ("obs/_index", "mod/image/obs/_index"):
            assert after[place].asstr()[:].tolist() == CELLS


# Layers


def test_a_layer_is_read_in_the_place_of_x(tmp_path):
    path = h5mu(tmp_path / "cells.h5mu")
    with open_source(path, layer="counts") as source:
        (chunk,) = source.chunks(50)
    np.testing.assert_array_equal(dense(chunk.views["rna"]), 2 * dense(RNA))
    np.testing.assert_array_equal(chunk.views["adt"], 2 * ADT)
    to = tmp_path / "counts.h5ad"
    given = [str(h5ad(tmp_path / "cells.h5ad")), "--layer", "counts"]
    assert run_app(["info", *given]) == 0
    assert run_app(["convert", *given, "-o", str(to)]) == 0
    with h5py.File(to) as after:
        np.testing.assert_array_equal(csr(after["X"]), 2 * dense(RNA))
        np.testing.assert_array_equal(csr(after["layers/X"]), dense(RNA))


def test_a_layer_that_is_not_there_is_told(tmp_path):
    path = h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(
        SourceError, match=r"cells\.h5ad has no layer 'raw' of view 'cells'; it has"
    ):
        open_source(path, layer="raw")
    with pytest.raises(SourceError, match="stored as csc_matrix"):
        open_source(path, layer="columns")
    np.save(tmp_path / "x.npy", ADT)
    with pytest.raises(SourceError, match="No input has a layer 'raw'"):
        open_source(tmp_path / "x.npy", layer="raw")


def test_layers_are_never_held_as_a_whole(tmp_path, monkeypatch):
    path, spans = h5ad(tmp_path / "cells.h5ad"), []
    read = AnnDataSource._rows

    def watched(self, name, place, start, stop):
        spans.append(stop - start)
        return read(self, name, place, start, stop)

    monkeypatch.setattr(AnnDataSource, "_rows", watched)
    with open_source(path) as source, open_writer(tmp_path / "out.h5ad") as writer:
        writer.describe(source, {"cells": np.array([1, 4])})
        for chunk in source.chunks(7):
            writer.append(chunk.views.replaced({"cells": chunk.views["cells"][:, [1, 4]]}))
    assert set(spans) == {7, 5}
    assert len(spans) == 3 * 6


def test_rows_that_do_not_come_are_told(tmp_path):
    with open_source(h5ad(tmp_path / "cells.h5ad")) as source:
        chunk = next(source.chunks(7))
        writer = open_writer(tmp_path / "out.h5ad")
        writer.describe(source)
        writer.append(chunk.views)
        with pytest.raises(SourceError, match=r"Got 7 rows .*expected all 40"):
            writer.__exit__(None, None, None)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cells.h5ad"]


# Files that are not as they should be


def test_frames_of_long_ago_are_left_out_and_told(tmp_path, caplog):
    path = h5ad(tmp_path / "cells.h5ad")
    with h5py.File(path, "r+") as file:
        file["obs"].create_group("__categories")
    assert run_app(["convert", str(path), "-o", str(tmp_path / "out.h5ad")]) == 0
    assert "'/obs'" in caplog.text
    with h5py.File(tmp_path / "out.h5ad") as after:
        assert after["obs/_index"].asstr()[:].tolist() == list(map(str, range(N)))
        assert values(after["var/length"]) == [10 * j for j in range(9)]


def test_values_in_other_files_are_not_copied(tmp_path, capsys):
    path = h5ad(tmp_path / "cells.h5ad")
    (tmp_path / "secret").write_bytes(b"x" * 8 * N)
    with h5py.File(path, "r+") as file:
        file["obsm"].create_dataset(
            "X_away", (N,), "f8", external=[(tmp_path / "secret", 0, 8 * N)]
        )
    with open_source(path) as source:
        assert len(next(source.chunks(50)).views) == N
    assert run_app(["convert", str(path), "-o", str(tmp_path / "out.h5ad")]) == 3
    assert "'/obsm/X_away' has its values in another file" in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cells.h5ad", "secret"]


def test_modalities_in_different_orders_are_told(tmp_path):
    path = h5mu(tmp_path / "cells.h5mu")
    with h5py.File(path, "r+") as file:
        file["obsmap/adt"][:2] = 2, 1
    with pytest.raises(
        SourceError, match=r"rows of 'rna' and 'adt' are not the same, or in another"
    ):
        open_source(path)
    with open_source(path, views=["adt"]) as source:
        assert source.n_rows == N


def test_a_file_from_afar_is_copied_too(tmp_path):
    import fsspec

    path = h5ad(tmp_path / "cells.h5ad")
    fsspec.filesystem("memory").put_file(str(path), "/annotated/cells.h5ad")
    given = "memory://annotated/cells.h5ad"
    assert run_app(["convert", given, "-o", str(tmp_path / "out.h5ad")]) == 0
    with h5py.File(path) as before, h5py.File(tmp_path / "out.h5ad") as after:
        check(before, after, range(9), RNA)


def test_parts_are_written_without_and_it_is_said(tmp_path, caplog):
    for name in "ab":
        h5ad(tmp_path / f"{name}.h5ad")
    assert run_app(["convert", f"{tmp_path}/?.h5ad", "-o", str(tmp_path / "out.h5ad")]) == 0
    assert "obs, var and layers of parts are not copied" in caplog.text
    with h5py.File(tmp_path / "out.h5ad") as after:
        assert len(after["obs/_index"]) == 2 * N


def test_anndata_reads_what_was_written(tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not here; the others use h5py")
    path = tmp_path / "cells.h5ad"
    adata = anndata.AnnData(RNA, layers={"counts": RNA * 2})
    adata.obs["type"] = ["T", "B"] * (N // 2)
    adata.write_h5ad(path)
    out = tmp_path / "out"
    assert run_app(["select", str(path), *OPTIONS, "-o", str(out), "--write-data"]) == 0
    got = anndata.read_h5ad(out / "data/cells.h5ad")
    expected = adata[:, got.var_names]
    assert got.obs.equals(expected.obs)
    assert (got.X != expected.X).nnz == 0
    assert (got.layers["counts"] != expected.layers["counts"]).nnz == 0
