"""A run goes on over the rows that it began with, and over no others."""

import io
import os
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from omvfs import OMVFS, Views
from omvfs.cli.commands import run_app
from omvfs.formats import ArraySource, IteratorSource, SourceError, open_source, open_writer
from omvfs.formats.standard_input import standard_input
from omvfs.persistence.checkpoint import CheckpointError
from omvfs.pipeline.digest import Digest
from omvfs.pipeline.loop import run
from support import counts, fingerprint

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


def refused(source, folder):
    before = (folder / "model").read_bytes()
    with pytest.raises(SourceError, match="has other rows than the run has learned from") as caught:
        learn(source, folder)
    assert (folder / "model").read_bytes() == before
    return str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_replaced_is_told(tmp_path, name):
    path = write(tmp_path / name, X[:310])
    learn(open_source(path), tmp_path)
    write(path, Y)
    sentence = refused(open_source(path), tmp_path)
    assert str(path) in sentence
    assert "among the first 310" in sentence
    assert "resume=False" in sentence
    assert "save_to" in sentence


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_has_more_rows_goes_on(tmp_path, name):
    path = write(tmp_path / name, X[:310])
    learn(open_source(path), tmp_path)
    again = learn(open_source(path), tmp_path)
    assert again.selector.n_samples_seen_ == 310
    write(path, X[:530])
    more = learn(open_source(path), tmp_path)
    assert more.selector.n_samples_seen_ == 530
    write(path, X)
    assert learn(open_source(path), tmp_path).selector.n_samples_seen_ == 600


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("row", [0, 150, 309])
def test_one_other_value_is_told_though_size_and_time_are_the_same(tmp_path, sparse, row):
    path = write(tmp_path / ("x.npz" if sparse else "x.npy"), X[:310], sparse)
    learn(open_source(path), tmp_path)
    times, other = path.stat(), X[:310].copy()
    column = int(np.argmax(other[row]))
    other[row, column] += 1
    write(path, other, sparse)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert sparse or path.stat().st_size == times.st_size
    refused(open_source(path), tmp_path)


def test_a_run_that_was_stopped_is_not_mixed_either(tmp_path):
    path, left = write(tmp_path / "x.csv", X), [3]

    def soon():
        left[0] -= 1
        return left[0] == 0

    assert not learn(open_source(path), tmp_path, should_stop=soon).finished
    whole = learn(open_source(path), tmp_path / "whole").selector
    write(path, np.vstack([Y[:10], X[10:]]))
    assert "among the first 120" in refused(open_source(path), tmp_path)
    write(path, X)
    assert fingerprint(learn(open_source(path), tmp_path).selector._fitted) == fingerprint(
        whole._fitted
    )


def test_the_view_that_differs_is_named(tmp_path):
    learn(ArraySource({"text": X, "image": Y}), tmp_path)
    sentence = refused(ArraySource({"text": X, "image": Y + 1}), tmp_path)
    assert "in view 'image'" in sentence
    assert "'text'" not in sentence


@pytest.mark.parametrize("name", ["x.csv", "x.npy", "x.svm"])
def test_fewer_rows_are_told(tmp_path, name):
    path = write(tmp_path / name, X[:310])
    learn(open_source(path), tmp_path)
    for n in (30, 120, 309):
        write(path, X[:n])
        with pytest.raises(SourceError, match=f"{n}; expected at least 310"):
            learn(open_source(path), tmp_path)


def test_rows_that_are_written_otherwise_are_the_same(tmp_path):
    path = write(tmp_path / "x.jsonl", X[:310])
    learn(open_source(path), tmp_path)
    path.write_text(
        write(tmp_path / "y.jsonl", X).read_text().replace(" ", "").replace("\n", "\n\n")
    )
    more = learn(open_source(path), tmp_path)
    whole = learn(open_source(write(path, X)), tmp_path)
    assert fingerprint(more.selector._fitted) == fingerprint(whole.selector._fitted)


def test_what_can_be_read_once_goes_on_too(tmp_path):
    def sent(X):
        text = "\n".join(["a,b,c,d,e,f,g,h", *(",".join(map(str, row)) for row in X)])
        return standard_input("x", io.BytesIO(text.encode()))

    learn(sent(X[:310]), tmp_path)
    assert learn(sent(X), tmp_path).selector.n_samples_seen_ == 600
    refused(sent(Y), tmp_path)


def test_the_command_line_refuses_in_a_sentence(tmp_path, capsys):
    path = write(tmp_path / "x.csv", X[:300])
    command = ["select", str(path), "-k", "2", "-n", "2", "-o", str(tmp_path / "out")]
    assert run_app(command) == 0
    write(path, Y)
    assert run_app([*command, "--resume"]) == 3
    told = capsys.readouterr().err
    assert f"omvfs: {path} has other rows" in told
    assert "Traceback" not in told


def test_a_checkpoint_that_tells_nothing_of_its_rows_is_refused(tmp_path):
    model = OMVFS(2, batch_size=40, random_state=0).fit({"text": X})
    for digest in (None, {}, {"text": "x"}, {"text": [1, 2**40]}, [1]):
        extra = {"cursor": {"row": 600}, "digest": digest}
        model.save(tmp_path / "model", extra)
        with pytest.raises(CheckpointError, match="does not tell which rows"):
            learn(ArraySource({"text": X}), tmp_path)


@given(cuts=st.lists(st.integers(0, 600), max_size=8), sparse=st.booleans())
@settings(deadline=None, max_examples=30)
def test_a_digest_is_the_same_however_rows_are_cut(cuts, sparse):
    views = Views({"a": sp.csr_array(X) if sparse else X, "b": Y.astype(np.float32)})
    places, digest = [0, *sorted(cuts), 600], Digest()
    for a, b in pairwise(places):
        digest = digest.after(views[a:b])
    assert digest == Digest().after(views)
    assert Digest.of(digest.plain) == digest
    other = views.replaced({"a": sp.csr_array(X + 1) if sparse else X + 1, "b": views["b"]})
    assert digest.differences(Digest().after(other)) == ["a"]


def test_batches_of_an_iterator_are_compared_whatever_their_sizes(tmp_path):
    learn(IteratorSource(lambda: iter([X[:7], X[7:310]])), tmp_path)
    more = learn(IteratorSource(lambda: iter([X[:200], X[200:]])), tmp_path)
    assert more.selector.n_samples_seen_ == 600
    refused(IteratorSource(lambda: iter([Y])), tmp_path)
