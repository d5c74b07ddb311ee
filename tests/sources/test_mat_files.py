"""MATLAB's files: which variables are views, and files that are none."""

import io

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from omvfs.sources import SourceError, open_source
from omvfs.sources.mat_files import MatSource
from support import counts

X = counts(np.random.default_rng(0), 20, 6)


def saved(variables, **how):
    file = io.BytesIO()
    savemat(file, variables, **how)
    return file.getvalue()


WHOLE = saved({"text": sp.csc_matrix(X), "image": X[:, :2]}, do_compression=True)


def test_vectors_text_and_cells_are_passed_over(tmp_path):
    cells = np.empty((2, 2), object)
    cells[:] = 1.0
    variables = {"a": X, "labels": np.arange(20), "names": ["x", "y"], "cells": cells, "k": 3.0}
    (tmp_path / "x.mat").write_bytes(saved(variables))
    assert open_source(tmp_path / "x.mat").schema.names == ("a",)


def test_matrices_that_do_not_fit_are_named(tmp_path):
    (tmp_path / "x.mat").write_bytes(saved({"a": X, "b": X[:7]}))
    with pytest.raises(SourceError, match=r"a 20, b 7\. Name those"):
        open_source(tmp_path / "x.mat")
    assert MatSource(tmp_path / "x.mat", variables=["b"]).n_rows == 7
    with pytest.raises(SourceError, match="has no 'c'; it has 'a', 'b'"):
        MatSource(tmp_path / "x.mat", variables=["c"])
    (tmp_path / "y.mat").write_bytes(saved({"k": 1.0}))
    with pytest.raises(SourceError, match="no matrix of numbers"):
        open_source(tmp_path / "y.mat")


def test_a_sparse_matrix_of_version_7_3_that_cannot_be_is_refused(tmp_path):
    with h5py.File(tmp_path / "x.mat", "w") as file:
        group = file.create_group("a")
        group.attrs["MATLAB_sparse"] = np.uint64(5)
        group["data"], group["ir"], group["jc"] = [1.0, 2.0], [0, 99], [0, 1, 2]
    with pytest.raises(SourceError, match=r"x\.mat"):
        open_source(tmp_path / "x.mat")


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_damaged_file_is_an_error_or_rows(tmp_path_factory, data):
    content = bytearray(WHOLE)
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    for _ in range(data.draw(st.integers(0, 4))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "x.mat"
    path.write_bytes(content)
    try:
        with open_source(path) as source:
            chunks = list(source.chunks(7))
    except ValueError:
        return
    assert all(len(chunk.views) <= 7 for chunk in chunks)
