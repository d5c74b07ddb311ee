"""Rows that commands write: all views, under names of their own, with their keys, by name."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from support import counts

TEXT, IMAGE = counts(np.random.default_rng(0), 60, 9), counts(np.random.default_rng(1), 60, 4)


def test_files_of_the_same_name_are_written_apart(tmp_path):
    for folder, X in (("x", TEXT), ("y", IMAGE)):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "data.npy", X)
    given = [f"a={tmp_path / 'x/data.npy'}", f"b={tmp_path / 'y/data.npy'}"]
    out, again = tmp_path / "out", tmp_path / "again"
    assert run_app(["select", *given, "-k", "3", "-n", "2", "-o", str(out), "--write-data"]) == 0
    assert run_app(["transform", str(out / "model.omvfs"), *given, "-o", str(again)]) == 0
    support = OMVFS.load(out / "model.omvfs").set_params(n_features_per_view=2).view_support_
    for written in (out / "data", again):
        assert sorted(f.name for f in written.iterdir()) == ["a_data.npy", "b_data.npy"]
        for view, X in (("a", TEXT), ("b", IMAGE)):
            got = np.load(written / f"{view}_data.npy")
            np.testing.assert_array_equal(got, X[:, support[view]])


def with_keys(path, view, X, keys, **more):
    columns = {"id": pa.array(keys)} | {f"{view}__{j}": X[:, j] for j in range(X.shape[1])}
    parquet.write_table(pa.table(columns | more), path / f"{view}.parquet")
    return str(path / f"{view}.parquet")


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_keys_are_written_with_their_rows(tmp_path, ending):
    keys = np.arange(100, 160)
    given = [
        with_keys(tmp_path, "text", TEXT, keys),
        with_keys(tmp_path, "image", IMAGE[10:], keys[10:]),
        *("--key", "id", "--join", "inner"),
    ]
    out = tmp_path / "out"
    options = ["-k", "3", "-n", "2", "-o", str(out), "--write-data"]
    assert run_app(["select", *given, *options]) == 0
    for view in ("text", "image"):
        written = parquet.read_table(out / "data" / f"{view}.parquet")
        assert written["id"].to_pylist() == list(range(110, 160))
        assert written.num_columns == 3
    both = tmp_path / f"both.{ending}"
    assert run_app(["convert", *given, "-o", str(both)]) == 0
    # What was written is read by its key again, and gives the same.
    same = tmp_path / "same"
    assert run_app(["select", str(both), "--key", "id", *options[:4], "-o", str(same)]) == 0
    a, b = (OMVFS.load(each / "model.omvfs") for each in (out, same))
    for view in ("text", "image"):
        np.testing.assert_allclose(a.view_scores_[view], b.view_scores_[view])


def test_a_model_transforms_other_files_whose_words_come_in_another_order(tmp_path):
    lines = ['{"text": {"a": 1, "b": 2}}', '{"text": {"b": 1, "c": 3}}'] * 20
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    (tmp_path / "new.jsonl").write_text('{"text": {"c": 5}}\n{"text": {"d": 1, "a": 2}}\n')
    out = ["-o", str(tmp_path / "out")]
    assert run_app(["select", str(tmp_path / "rows.jsonl"), "-k", "2", *out]) == 0
    model, to = str(tmp_path / "out/model.omvfs"), tmp_path / "reduced"
    assert run_app(["transform", model, str(tmp_path / "new.jsonl"), "-o", str(to)]) == 0
    lines = (to / "new.jsonl").read_text().splitlines()
    assert lines == ['{"text": {"c": 5.0}}', '{"text": {"a": 2.0}}']
