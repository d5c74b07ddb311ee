"""A run goes on over the rows that it began with, and over no others."""

import io

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs import OMVFS, Views
from omvfs.codec import CheckpointError
from omvfs.formats import IteratorSource, open_source, open_writer
from omvfs.formats.opening import standard_input
from omvfs.pipeline import run
from support import counts

X = counts(np.random.default_rng(0), 600, 8)
Y = counts(np.random.default_rng(1), 600, 8)
NAMES = "x.csv", "x.jsonl", "x.npz", "x.npy", "x.parquet", "x.feather", "x.svm", "x.h5ad", "x.mat"


def write(path, X, sparse=False):
    path.unlink(missing_ok=True)
    with open_writer(path) as writer:
        writer.append(Views({"x": sp.csr_array(X) if sparse else X}))
    return path


def learn(source, folder, **options):
    selector = OMVFS(2, batch_size=40, random_state=0)
    with source:
        return run(source, selector, save_to=folder / "model", resume=True, **options)


def refused(source, folder, match):
    before = (folder / "model").read_bytes()
    with pytest.raises(CheckpointError, match=match) as caught:
        learn(source, folder)
    assert (folder / "model").read_bytes() == before
    return str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_replaced_is_told(tmp_path, name):
    path = write(tmp_path / name, X[:310])
    learn(open_source(path), tmp_path)
    assert learn(open_source(path), tmp_path).selector.n_samples_seen_ == 310
    write(path, Y)
    sentence = refused(open_source(path), tmp_path, "has changed since the run of")
    assert str(path) in sentence
    assert "resume=False" in sentence
    assert "save_to" in sentence


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.svm"])
def test_lines_may_be_added_to_a_text(tmp_path, name):
    path = write(tmp_path / name, X[:310])
    learn(open_source(path), tmp_path)
    write(path, X)
    more = learn(open_source(path), tmp_path)
    assert more.selector.n_samples_seen_ == 600
    write(path, X[:200])
    refused(open_source(path), tmp_path, "has changed since")


def test_parts_may_come_behind_the_last_and_nowhere_else(tmp_path):
    parts = [write(tmp_path / f"{n}.csv", X[n * 100 : n * 100 + 100]) for n in range(3)]
    learn(open_source(parts[:2]), tmp_path)
    assert learn(open_source(parts), tmp_path).selector.n_samples_seen_ == 300
    refused(open_source(parts[:2]), tmp_path, "over 3 files, and there are 2")
    turned = [parts[0], parts[2], parts[1]]
    refused(open_source(turned), tmp_path, "called '2.csv', and was '1.csv'")
    write(parts[0], X[:150])
    refused(open_source(parts), tmp_path, r"0\.csv has changed since")


def test_one_other_value_of_the_same_size_is_told_by_its_time(tmp_path):
    path = write(tmp_path / "x.npy", X[:310])
    learn(open_source(path), tmp_path)
    other = X[:310].copy()
    other[7, 3] += 1
    write(path, other)
    refused(open_source(path), tmp_path, "it was written anew since")


def test_what_can_be_read_once_goes_on_after_as_many_rows(tmp_path):
    def sent(X):
        text = "\n".join(["a,b,c,d,e,f,g,h", *(",".join(map(str, row)) for row in X)])
        return standard_input("x", io.BytesIO(text.encode()))

    learn(sent(X[:310]), tmp_path)
    assert learn(sent(X), tmp_path).selector.n_samples_seen_ == 600


def test_batches_of_an_iterator_go_on_whatever_their_sizes(tmp_path):
    learn(IteratorSource(lambda: iter([X[:7], X[7:310]])), tmp_path)
    more = learn(IteratorSource(lambda: iter([X[:200], X[200:]])), tmp_path)
    assert more.selector.n_samples_seen_ == 600
