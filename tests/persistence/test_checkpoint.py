"""State on disk: whole or not at all, and nothing taken on trust."""

import errno
import os
import stat
import types
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from sklearn.base import clone

from omvfs import OMVFS, Views, codec
from omvfs.codec import CheckpointError
from omvfs.formats import ArraySource
from omvfs.pipeline import run
from support import counts, fingerprint


def write(path, arrays, tree):
    codec.write(path, codec.encoded(arrays, tree))


def two_views(n=60, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    text, image = counts(rng, n, 12, dtype), counts(rng, n, 5, dtype)
    return {"text": sp.csr_array(text), "image": image}


def frame(n=60, seed=0):
    names = [f"größe {j}\n" for j in range(9)]
    return pd.DataFrame(counts(np.random.default_rng(seed), n, 9), columns=names)


def now_sparse_now_dense(n=60, seed=0):
    views = two_views(n, seed)
    return views if seed % 2 else {"text": views["text"].toarray(), "image": views["image"]}


# Beside the ways to learn of estimator/test_deliveries.py, of which any is saved anywhere.
CASES = {
    "single precision": (OMVFS(3, random_state=0), lambda **k: two_views(dtype=np.float32, **k)),
    "now sparse, now dense": (OMVFS(3, random_state=0, sample_size=80), now_sparse_now_dense),
    "of any sign": (OMVFS(3, random_state=0), lambda **k: two_views(**k)["image"] - 0.5),
    "named": (
        OMVFS(
            2,
            views={"b": slice(4, None), "a": [0, 2, 1, 3]},
            random_state=np.random.RandomState(3),
        ),
        frame,
    ),
    "by view": (
        OMVFS(2, random_state=0, view_weight={"text": 1, "image": "auto"}, n_features_per_view=0.5),
        two_views,
    ),
}
every_case = pytest.mark.parametrize(("selector", "data"), CASES.values(), ids=CASES.keys())


@every_case
def test_learning_goes_on_after_loading_to_the_same_bits(selector, data, tmp_path):
    kept = selector.set_params().partial_fit(data(seed=1)).partial_fit(data(seed=2))
    kept.save(tmp_path / "model")
    again = OMVFS.load(tmp_path / "model")
    assert kept.to_bytes() == (tmp_path / "model").read_bytes()
    assert fingerprint(again._known) == fingerprint(kept._known)
    assert [repr(info) for info in again.history_] == [repr(info) for info in kept.history_]
    np.testing.assert_array_equal(again.scores_, kept.scores_)
    np.testing.assert_array_equal(again.get_feature_names_out(), kept.get_feature_names_out())
    np.testing.assert_array_equal(again.predict(data(seed=9)), kept.predict(data(seed=9)))
    for seed in (3, 4, 5):
        kept.partial_fit(data(seed=seed))
        again.partial_fit(data(seed=seed))
    assert fingerprint(again._known) == fingerprint(kept._known)
    own, other = kept.get_params(), again.get_params()
    del own["random_state"], other["random_state"]
    assert repr(own) == repr(other)


def test_bytes_of_any_kind_are_a_state():
    model = OMVFS(2, random_state=0).fit(two_views(20))
    state = model.to_bytes()
    for each in (state, bytearray(state), memoryview(state)):
        assert fingerprint(OMVFS.from_bytes(each)._known) == fingerprint(model._known)
    for wrong in (b"", b"x" * 100, state[1:], state[:-1], state[:-1] + bytes([state[-1] ^ 1])):
        with pytest.raises(CheckpointError, match=r"^The state "):
            OMVFS.from_bytes(wrong)
    with pytest.raises(TypeError, match="Got str; expected the bytes of a state"):
        OMVFS.from_bytes("model.omvfs")


def test_any_reader_of_the_format_reads_it_and_extra_comes_back(tmp_path):
    OMVFS(2, random_state=0).fit(two_views()).save(tmp_path / "model", extra={"row": 60})
    assert "tree" in load_file(tmp_path / "model")
    assert codec.read(tmp_path / "model")[1]["extra"] == {"row": 60}


def test_very_many_names_come_back(tmp_path):
    X = sp.random_array((4, 6_000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    names = np.array([f"a column with a long name, number {j}" for j in range(6_000)], object)
    kept = OMVFS(2, random_state=0).fit(X)
    kept.feature_names_in_ = names
    kept.save(tmp_path / "model")
    np.testing.assert_array_equal(OMVFS.load(tmp_path / "model").feature_names_in_, names)


def test_names_that_are_no_text_come_back(tmp_path):
    names = ["half \ud800 pair", "\udfff", "a whole pair 😀", "é", ""]
    rng = np.random.default_rng(0)
    views = Views({"\ud83d": rng.random((40, 5))}, feature_names={"\ud83d": names})
    kept = OMVFS(2, random_state=0, new_features="grow").fit(views)
    kept.save(tmp_path / "model")
    again = OMVFS.load(tmp_path / "model")
    assert again.schema_ == kept.schema_
    assert again.schema_.names_of("\ud83d") == kept.schema_.names_of("\ud83d")
    np.testing.assert_array_equal(again.partial_fit(views).scores_, kept.partial_fit(views).scores_)


def test_the_file_is_private_and_the_one_before_is_kept(tmp_path):
    path = tmp_path / "new folder" / "model"
    for n in (1, 2, 3):
        write(path, {"a": np.arange(n)}, {"n": n})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert codec.read(path)[1] == {"n": 3}
    assert codec.read(codec.previous(path))[1] == {"n": 2}
    assert sorted(os.listdir(path.parent)) == ["model", "model.1"]


def test_nothing_unfitted_is_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        OMVFS().save(tmp_path / "model")
    assert not os.listdir(tmp_path)


# Faults while writing


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "link", "open", "close"])
@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_fault_in_any_call_leaves_the_old_or_the_new(tmp_path, monkeypatch, call, fault):
    path = tmp_path / "model"
    monkeypatch.setattr(codec, "_PIECE", 256)
    write(path, {"a": np.zeros(100)}, {"n": 0})
    write(path, {"a": np.zeros(100)}, {"n": 1})
    genuine = getattr(os, call)
    failures = 0
    for n in range(1, 100):
        left = [n]

        def faulty(*args, left=left, **named):
            left[0] -= 1
            if left[0] == 0:
                if call == "close":
                    genuine(*args, **named)
                raise fault
            return genuine(*args, **named)

        monkeypatch.setattr(os, call, faulty)
        try:
            write(path, {"a": np.ones(100)}, {"n": 2})
        except type(fault):
            failures += 1
        monkeypatch.setattr(os, call, genuine)
        arrays, meta = codec.read(path)
        assert (meta["n"], arrays["a"][0]) in ((1, 0.0), (2, 1.0))
        assert codec.read(codec.previous(path))[1]["n"] in (0, 1, 2)
        assert sorted(os.listdir(tmp_path)) == ["model", "model.1"]
        if left[0] > 0:
            break
    assert failures >= (call != "link")
    assert codec.read(path)[1] == {"n": 2}


def test_short_writes_are_gone_on_with(tmp_path, monkeypatch):
    genuine = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: genuine(fd, data[: max(1, len(data) // 3)]))
    write(tmp_path / "model", {"a": np.arange(1000)}, {})
    np.testing.assert_array_equal(codec.read(tmp_path / "model")[0]["a"], np.arange(1000))


# Files that are not what they seem


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "model"
    OMVFS(2, random_state=0, sample_size=10, batch_size=10).fit(two_views(20)).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "model"


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_damaged_file_is_refused(whole, scratch, data):
    content = bytearray(whole)
    kind = data.draw(st.sampled_from(["cut", "flip", "longer", "swap"]))
    if kind == "cut":
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    elif kind == "flip":
        # Some bytes of the header are blanks, or spell a number in another way.
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "longer":
        content += data.draw(st.binary(min_size=1, max_size=9))
    else:
        i, j = (data.draw(st.integers(0, len(content) - 9)) for _ in range(2))
        content[i : i + 8], content[j : j + 8] = content[j : j + 8], content[i : i + 8]
    scratch.write_bytes(content)
    try:
        again = OMVFS.load(scratch)
    except CheckpointError:
        pass
    else:
        scratch.write_bytes(whole)
        assert fingerprint(again._known) == fingerprint(OMVFS.load(scratch)._known)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\x00" * 100,
        b"\x80\x04\x95" + b"." * 50,  # a pickle
        b"PK\x03\x04" + bytes(60),
        (2**63).to_bytes(8, "little") + b"{}",
        (2**25).to_bytes(8, "little") + b" " * 2**25,
        (8).to_bytes(8, "little") + b'{"a":[[[',
        (100_000).to_bytes(8, "little") + b"[" * 100_000,
    ],
)
def test_something_else_is_refused(tmp_path, content):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(CheckpointError, match="model"):
        codec.read(tmp_path / "model")


def test_a_foreign_or_later_file_is_refused(tmp_path, whole):
    save_file({"a": np.zeros(3)}, tmp_path / "foreign")
    with pytest.raises(CheckpointError, match="no checkpoint of this library"):
        codec.read(tmp_path / "foreign")
    meta = {"format": codec.FORMAT, "version": "99"}
    save_file({"a": np.zeros(3)}, tmp_path / "later", meta)
    with pytest.raises(
        CheckpointError, match=rf"format 99.*reads format {codec.VERSION}. Fit again"
    ):
        codec.read(tmp_path / "later")
    (tmp_path / "model").write_bytes(whole)
    with pytest.raises(FileNotFoundError):
        codec.read(tmp_path / "nowhere")


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    model = OMVFS(2, random_state=0).fit(two_views(20))
    model.set_params(half_life="x")
    with pytest.raises(ValueError, match="Got half_life='x'"):
        model.save(tmp_path / "model")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("rows", [20, 1100], ids=["before its reference", "after it"])
def test_a_watch_of_another_stream_is_refused(rows):
    model = OMVFS(2, detect_drift=True, random_state=0).fit(two_views(rows))
    watch = model._known.watch
    assert OMVFS.from_bytes(model.to_bytes())._known.watch.n_rows == rows
    shrunk = replace(watch.first, keys=watch.first.keys[:-1] if rows < 1000 else np.zeros(3))
    for wrong in ({"buckets": watch.buckets[:0]}, {"edges": watch.edges[:-1]}, {"first": shrunk}):
        model._known = replace(model._known, watch=replace(watch, **wrong))
        with pytest.raises(CheckpointError, match="the watch is of another stream"):
            OMVFS.from_bytes(model.to_bytes())


# Parameters


def largest(S, Q, n):
    """A criterion of one's own."""
    return S.max(axis=1)


def test_a_callable_is_not_saved(tmp_path):
    model = OMVFS(3, criterion=largest, random_state=0).fit(two_views())
    with pytest.raises(TypeError, match=r"criterion=<function largest.*set_params\(criterion="):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="criterion=<function largest"):
        run(ArraySource(two_views()), clone(model), save_to=tmp_path / "model")
    assert run(ArraySource(two_views()), clone(model)).selector.scores_.any()
    model.set_params(criterion="norm").save(tmp_path / "model")
    again = OMVFS.load(tmp_path / "model").set_params(criterion=largest)
    np.testing.assert_array_equal(again.scores_, model.set_params(criterion=largest).scores_)


def test_a_model_with_parameters_of_before_says_what_to_do(tmp_path):
    path = tmp_path / "model"
    OMVFS(3, random_state=0).fit(two_views()).save(path)
    arrays, meta = codec.read(path)
    params = meta["params"]
    params["score"] = params.pop("criterion")
    codec.write(path, codec.encoded(arrays, meta))
    with pytest.raises(codec.CheckpointError, match=r"parameters 'score'.*fit again"):
        OMVFS.load(path)


NAMES = ["text__a", "image__x", "text__b", "image__y"]


def named_rows(names=NAMES):
    return pd.DataFrame(counts(np.random.default_rng(0), 40, len(names)), columns=names)


def test_views_by_the_names_of_columns_are_saved(tmp_path):
    many = [f"{view}__{j}" for view in ("text", "image") for j in range(80)]
    by_name = {"text": many[:80], "image": many[80:]}
    for views, names in (("prefix", NAMES), (by_name, many)):
        frame = named_rows(names)
        model = OMVFS(2, views=views, n_features_per_view=1, random_state=0).fit(frame)
        model.save(tmp_path / "model")
        again = OMVFS.load(tmp_path / "model")
        assert again.views == views
        assert again.schema_.names == ("text", "image")
        assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
        np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
        again.partial_fit(frame)


def test_views_by_callables_are_not_saved(tmp_path):
    frame = named_rows()
    model = OMVFS(2, views="prefix", n_features_per_view=1, random_state=0).fit(frame)
    columns = {"text": [0, 2], "image": [1, 3]}
    found = {view: lambda X, own=own: own for view, own in columns.items()}
    by_callables = clone(model).set_params(views=found).fit(frame)
    with pytest.raises(TypeError, match=r"views= with callables.*set_params\(views="):
        by_callables.save(tmp_path / "other")
    by_callables.set_params(views=columns).save(tmp_path / "other")
    got = OMVFS.load(tmp_path / "other").transform(frame)
    np.testing.assert_array_equal(got, model.transform(frame))


def test_arrays_are_read_where_numpy_gives_their_type_a_name():
    Scalar = TypeVar("Scalar", bound=np.generic)
    # NumPy 2.5 does, in Python 3.12 and later; a name of one's own stands for it in others.
    name = types.SimpleNamespace(__value__=np.ndarray[Any, np.dtype[Scalar]])
    hint = types.GenericAlias(name, (np.float64,))
    decoder = codec.Decoder({"0": np.arange(3.0)})
    assert decoder.value({"array": "0"}, hint).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="is of dtype int64; expected float64"):
        codec.Decoder({"0": np.arange(3)}).value({"array": "0"}, hint)


def test_what_is_encoded_is_decoded():
    tensors, tree = codec.decoded(codec.encoded({"a": np.arange(3)}, {"n": 1}))
    assert (tensors["a"].tolist(), tree) == ([0, 1, 2], {"n": 1})
