"""State on disk: whole or not at all, and nothing taken on trust."""

import errno
import json
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from omvfs import OMVFS, OMVFSPaper, Views
from omvfs.persistence import checkpoint
from omvfs.persistence.checkpoint import CheckpointError
from support import counts, fingerprint


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


CASES = {
    "mixed": (OMVFS(3, random_state=0), two_views),
    "paper": (OMVFSPaper(3, random_state=0, max_iter=5), two_views),
    "single precision": (OMVFS(3, random_state=0), lambda **k: two_views(dtype=np.float32, **k)),
    "scaled, fading": (OMVFS(3, random_state=0, scale_columns=True, half_life=300), two_views),
    "no memory": (OMVFS(3, random_state=0, sample_size=0, window=None), two_views),
    "small memory": (OMVFS(3, random_state=0, sample_size=20), two_views),
    "recent rows": (OMVFS(3, random_state=0, sample_size=80, window=1), two_views),
    "now sparse, now dense": (OMVFS(3, random_state=0, sample_size=80), now_sparse_now_dense),
    "the same, paper": (
        OMVFSPaper(3, random_state=0, max_iter=5, window=3),
        now_sparse_now_dense,
    ),
    "prepared": (
        OMVFS(3, random_state=0, prepare={"text": ["tfidf", "l2"], "image": ["log1p", "scale"]}),
        lambda **k: two_views(dtype=np.float32, **k),
    ),
    "raised": (
        OMVFS(3, random_state=0, negative="shift"),
        lambda **k: two_views(**k)["image"] - 0.5,
    ),
    "named": (
        OMVFS(
            2,
            views={"b": slice(4, None), "a": [0, 2]},
            remainder="drop",
            random_state=np.random.RandomState(3),
        ),
        frame,
    ),
    "by view": (
        OMVFS(2, random_state=0, graph_weight={"text": 1, "image": 2}, n_features_per_view=0.5),
        two_views,
    ),
}
every_case = pytest.mark.parametrize(("selector", "data"), CASES.values(), ids=CASES.keys())


@every_case
def test_learning_goes_on_after_loading_to_the_same_bits(selector, data, tmp_path):
    kept = selector.set_params().partial_fit(data(seed=1)).partial_fit(data(seed=2))
    kept.save(tmp_path / "model")
    again = OMVFS.load(tmp_path / "model")
    assert fingerprint(again._fitted) == fingerprint(kept._fitted)
    assert [repr(info) for info in again.history_] == [repr(info) for info in kept.history_]
    np.testing.assert_array_equal(again.scores_, kept.scores_)
    np.testing.assert_array_equal(again.get_feature_names_out(), kept.get_feature_names_out())
    np.testing.assert_array_equal(again.predict(data(seed=9)), kept.predict(data(seed=9)))
    for seed in (3, 4, 5):
        kept.partial_fit(data(seed=seed))
        again.partial_fit(data(seed=seed))
    assert fingerprint(again._fitted) == fingerprint(kept._fitted)
    own, other = kept.get_params(), again.get_params()
    del own["random_state"], other["random_state"]
    assert repr(own) == repr(other)


def test_any_reader_of_the_format_reads_it_and_extra_comes_back(tmp_path):
    OMVFS(2, random_state=0).fit(two_views()).save(tmp_path / "model", extra={"row": 60})
    assert "masses/0" in load_file(tmp_path / "model")
    assert checkpoint.read(tmp_path / "model")[1]["extra"] == {"row": 60}


def test_very_many_names_come_back(tmp_path):
    X = sp.random_array((4, 600_000), density=1e-5, rng=np.random.default_rng(0), format="csr")
    names = np.array([f"a column with a long name, number {j}" for j in range(600_000)], object)
    kept = OMVFS(2, random_state=0, max_iter=1, n_init=1).fit(X)
    kept.feature_names_in_ = names
    kept.save(tmp_path / "model")
    np.testing.assert_array_equal(OMVFS.load(tmp_path / "model").feature_names_in_, names)


def test_names_that_are_no_text_come_back(tmp_path):
    names = ["half \ud800 pair", "\udfff", "a whole pair 😀", "é", ""]
    rng = np.random.default_rng(0)
    views = Views({"\ud83d": rng.random((40, 5))}, feature_names={"\ud83d": names})
    kept = OMVFS(2, random_state=0, n_init=2, new_features="grow").fit(views)
    kept.save(tmp_path / "model")
    again = OMVFS.load(tmp_path / "model")
    assert again.schema_ == kept.schema_
    assert again.schema_.names_of("\ud83d") == kept.schema_.names_of("\ud83d")
    np.testing.assert_array_equal(again.partial_fit(views).scores_, kept.partial_fit(views).scores_)


def test_a_file_that_could_not_be_read_again_is_not_written(tmp_path):
    checkpoint.write(tmp_path / "model", {"a": np.zeros(1)}, {"n": 1})
    with pytest.raises(CheckpointError, match="header of"):
        checkpoint.write(tmp_path / "model", {}, {"n": "x" * checkpoint.MAX_HEADER_BYTES})
    assert checkpoint.read(tmp_path / "model")[1] == {"n": 1}
    assert os.listdir(tmp_path) == ["model"]


def test_a_file_of_another_version_is_refused_with_what_to_do(tmp_path, monkeypatch):
    path, kept = tmp_path / "model", OMVFS(2, random_state=0).fit(frame())
    with monkeypatch.context() as earlier:
        earlier.setattr(checkpoint, "VERSION", checkpoint.VERSION - 2)
        kept.save(path)
    with pytest.raises(
        checkpoint.CheckpointError,
        match=rf"of version '{checkpoint.VERSION - 2}'; .* Learn anew, or",
    ):
        OMVFS.load(path)


def test_the_file_is_private_and_the_one_before_is_kept(tmp_path):
    path = tmp_path / "new folder" / "model"
    for n in (1, 2, 3):
        checkpoint.write(path, {"a": np.arange(n)}, {"n": n})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert checkpoint.read(path)[1] == {"n": 3}
    assert checkpoint.read(checkpoint.previous(path))[1] == {"n": 2}
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
    monkeypatch.setattr(checkpoint, "_PIECE", 256)
    checkpoint.write(path, {"a": np.zeros(100)}, {"n": 0})
    checkpoint.write(path, {"a": np.zeros(100)}, {"n": 1})
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
            checkpoint.write(path, {"a": np.ones(100)}, {"n": 2})
        except type(fault):
            failures += 1
        monkeypatch.setattr(os, call, genuine)
        arrays, meta = checkpoint.read(path)
        assert (meta["n"], arrays["a"][0]) in ((1, 0.0), (2, 1.0))
        assert checkpoint.read(checkpoint.previous(path))[1]["n"] in (0, 1, 2)
        assert sorted(os.listdir(tmp_path)) == ["model", "model.1"]
        if left[0] > 0:
            break
    assert failures >= (call != "link")
    assert checkpoint.read(path)[1] == {"n": 2}


def test_short_writes_are_gone_on_with(tmp_path, monkeypatch):
    genuine = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: genuine(fd, data[: max(1, len(data) // 3)]))
    checkpoint.write(tmp_path / "model", {"a": np.arange(1000)}, {})
    np.testing.assert_array_equal(checkpoint.read(tmp_path / "model")[0]["a"], np.arange(1000))


def test_a_full_disk_leaves_the_old_one(tmp_path):
    """The system itself refuses to write more than a limit."""
    code = """
import resource, signal, sys
import numpy as np
from omvfs.persistence import checkpoint
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
checkpoint.write(sys.argv[1], {"a": np.zeros(10)}, {"n": 1})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    checkpoint.write(sys.argv[1], {"a": np.zeros(100_000)}, {"n": 2})
except OSError as error:
    print(error.strerror)
"""
    path = tmp_path / "model"
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == os.strerror(errno.EFBIG)
    assert checkpoint.read(path)[1] == {"n": 1}
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.slow
def test_killed_at_any_moment_the_old_or_the_new_is_there(tmp_path):
    code = """
import sys, itertools
import numpy as np
from omvfs.persistence import checkpoint
for n in itertools.count():
    checkpoint.write(sys.argv[1], {"a": np.full(200_000, n)}, {"n": n})
    print(n, flush=True)
"""
    path, rng = tmp_path / "model", np.random.default_rng(0)
    for _ in range(10):
        job = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
        last = int(job.stdout.readline())
        signal.sigtimedwait([], rng.uniform(0, 0.05))
        job.kill()
        last = int((job.communicate()[0].split() or [last])[-1])
        arrays, meta = checkpoint.read(path)
        assert meta["n"] in (last, last + 1)
        assert (arrays["a"] == meta["n"]).all()


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
@settings(max_examples=300, deadline=None)
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
        assert fingerprint(again._fitted) == fingerprint(OMVFS.load(scratch)._fitted)


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
        checkpoint.read(tmp_path / "model")


def test_a_foreign_or_later_file_is_refused(tmp_path, whole):
    save_file({"a": np.zeros(3)}, tmp_path / "foreign")
    with pytest.raises(CheckpointError, match="no checkpoint of this library"):
        checkpoint.read(tmp_path / "foreign")
    meta = {"format": checkpoint.FORMAT, "version": "99"}
    save_file({"a": np.zeros(3)}, tmp_path / "later", meta)
    with pytest.raises(CheckpointError, match=rf"version '99'.*reads 5 to {checkpoint.VERSION}"):
        checkpoint.read(tmp_path / "later")
    (tmp_path / "model").write_bytes(whole)
    with pytest.raises(CheckpointError, match="at most 100 are read"):
        checkpoint.read(tmp_path / "model", max_bytes=100)
    with pytest.raises(FileNotFoundError):
        checkpoint.read(tmp_path / "nowhere")


def indices_out_of_range(arrays, meta):
    arrays["reservoir/0/indices"][0] = 10_000


def indices_negative(arrays, meta):
    arrays["window/0/0/indices"][0] = -5


def chunks_of_no_rows(arrays, meta):
    meta["window"][0]["sizes"] += [0]


def chunks_of_text(arrays, meta):
    meta["window"][0]["sizes"] = "12"


def pointers_that_fall(arrays, meta):
    arrays["reservoir/0/indptr"][1] = 1_000


def labels_beyond_the_clusters(arrays, meta):
    arrays["reservoir/labels"][0] = 7


def another_width(arrays, meta):
    meta["widths"][0] = 13


def a_huge_width(arrays, meta):
    meta["widths"][0] = 10**12


def many_clusters(arrays, meta):
    meta["settings"]["n_clusters"] = 10**9


def not_finite(arrays, meta):
    arrays["B/0"][0, 0] = np.nan


def another_dtype(arrays, meta):
    arrays["B/1"] = arrays["B/1"].astype(np.float32)


def a_piece_missing(arrays, meta):
    del arrays["weight_sums/0"]


def an_unknown_solver(arrays, meta):
    meta["settings"]["solver"] = "eval"


def an_unknown_parameter(arrays, meta):
    meta["estimator"]["params"]["nonsense"] = 1


def a_random_state_of_another_kind(arrays, meta):
    meta["rng"] = {"bit_generator": "PCG64", "state": "x"}


def a_negative_counter(arrays, meta):
    meta["counters"]["n_rows"] = -1


def columns_out_of_range(arrays, meta):
    arrays["columns"] = np.full(17, 99)


def names_cut_off(arrays, meta):
    meta["named"] = [True, False]
    arrays["names/0"], arrays["names/0/ends"] = np.zeros(3, np.uint8), np.arange(12)


def too_few_names_of_columns(arrays, meta):
    arrays["feature_names_in"] = np.frombuffer(b"a", np.uint8)
    arrays["feature_names_in/ends"] = np.ones(1, np.int64)


def rows_not_forgotten_of_too_few_views(arrays, meta):
    del meta["row_sums"][-1]


def rows_not_forgotten_below_zero(arrays, meta):
    meta["decayed_n_rows"] = -1.0


def a_reservoir_without_rows(arrays, meta):
    meta["reservoir"] = []


def fewer_rows_than_the_reservoir_holds(arrays, meta):
    meta["counters"]["n_rows"] = 1


def an_endless_history(arrays, meta):
    arrays["history"] = np.full_like(arrays["history"], np.inf)


def keys_of_parts_of_another_size(arrays, meta):
    arrays["of_parts"] = np.zeros((2, 3), np.uint8)


def a_part_twice(arrays, meta):
    arrays["of_parts"] = np.zeros((2, 16), np.uint8)


def names_of_columns_cut_off(arrays, meta):
    arrays["feature_names_in"] = np.zeros(3, np.uint8)
    arrays["feature_names_in/ends"] = np.arange(17)


def a_list_for_meta(arrays, meta):
    meta.clear()


def history_of_another_shape(arrays, meta):
    arrays["history"] = np.zeros((3, 2))


def more_features_than_the_views_have(arrays, meta):
    meta["estimator"]["n_features_in"] = 18


def far_more_features_than_the_file_holds(arrays, meta):
    meta["estimator"]["n_features_in"] = 150_000_000
    arrays["columns"] = np.arange(17)


def features_that_are_no_number(arrays, meta):
    meta["estimator"]["n_features_in"] = 17.0


def columns_that_wrap(arrays, meta):
    arrays["columns"] = np.full(17, 2**64 - 1, np.uint64)


def columns_of_the_wrong_kind(arrays, meta):
    arrays["columns"] = np.arange(17.0)


def one_x_of_two_views(arrays, meta):
    meta["estimator"]["plain"] = True


def plain_by_another_name(arrays, meta):
    meta["estimator"]["plain"] = 0


def starts_without_end(arrays, meta):
    meta["settings"]["n_init"] = 10**30


def iterations_without_end(arrays, meta):
    meta["settings"]["max_iter"] = 10**30


def a_parameter_of_starts_without_end(arrays, meta):
    meta["estimator"]["params"]["n_init"] = 10**30


def a_parameter_of_another_kind(arrays, meta):
    meta["estimator"]["params"]["recency"] = "x"


def a_size_for_no_view(arrays, meta):
    meta["estimator"]["params"]["n_features_per_view"] = {"pairs": [["nowhere", 3]]}


def views_of_another_kind(arrays, meta):
    meta["estimator"]["params"]["views"] = "text"


def views_that_are_no_columns(arrays, meta):
    meta["estimator"]["params"]["views"] = {"pairs": [["text", {"slice": ["a", None, None]}]]}


def parameters_without_end(arrays, meta):
    nested = 1
    for _ in range(400):
        nested = [nested]
    meta["estimator"]["params"]["views"] = nested


def a_generator_that_stands_still(arrays, meta):
    meta["rng"]["state"] = {"state": 0, "inc": 0}


def a_counter_beyond_exact_numbers(arrays, meta):
    meta["counters"]["n_rows"] = 2**62


def more_rows_not_forgotten_than_rows(arrays, meta):
    meta["row_sums"][1]["decayed_n_rows"] = 1e15


def more_rows_that_are_not_empty_than_rows(arrays, meta):
    meta["row_sums"][0]["filled_rows"] = 1e15


def energy_below_zero(arrays, meta):
    meta["row_sums"][0]["energy"] = -1.0


def energy_that_is_no_number(arrays, meta):
    meta["row_sums"][0]["energy"] = True


def no_energy(arrays, meta):
    del meta["row_sums"][0]["energy"]


def weights_of_too_few_views(arrays, meta):
    meta["settings"]["view_weight"] = [1.0]


def a_weight_below_zero(arrays, meta):
    meta["settings"]["view_weight"][0] = -1.0


def reclustered_in_the_future(arrays, meta):
    meta["counters"]["reclustered_at"] = 10**6


def negative_rows(arrays, meta):
    arrays["reservoir/1"] = -arrays["reservoir/1"]


def rows_whose_squares_overflow(arrays, meta):
    arrays["reservoir/0/data"][:] = 1e200


def sums_below_zero(arrays, meta):
    arrays["B/0"] = -arrays["B/0"]


def sums_whose_squares_overflow(arrays, meta):
    arrays["B/0"][:] = 1e300


def masses_below_zero(arrays, meta):
    arrays["masses/0"] = -arrays["masses/0"]


def shares_above_one(arrays, meta):
    arrays["reservoir/shares"][:] = 1e300


def no_history(arrays, meta):
    arrays["history"] = arrays["history"][:0]


def weights_whose_squares_overflow(arrays, meta):
    arrays["reservoir/weights"][0] = 1e200


HOSTILE = [
    indices_out_of_range,
    indices_negative,
    chunks_of_no_rows,
    chunks_of_text,
    pointers_that_fall,
    labels_beyond_the_clusters,
    another_width,
    a_huge_width,
    many_clusters,
    not_finite,
    another_dtype,
    a_piece_missing,
    an_unknown_solver,
    an_unknown_parameter,
    a_random_state_of_another_kind,
    a_negative_counter,
    columns_out_of_range,
    names_cut_off,
    too_few_names_of_columns,
    rows_not_forgotten_of_too_few_views,
    rows_not_forgotten_below_zero,
    a_reservoir_without_rows,
    fewer_rows_than_the_reservoir_holds,
    an_endless_history,
    keys_of_parts_of_another_size,
    a_part_twice,
    names_of_columns_cut_off,
    a_list_for_meta,
    history_of_another_shape,
    more_features_than_the_views_have,
    far_more_features_than_the_file_holds,
    features_that_are_no_number,
    columns_that_wrap,
    columns_of_the_wrong_kind,
    one_x_of_two_views,
    plain_by_another_name,
    starts_without_end,
    iterations_without_end,
    a_parameter_of_starts_without_end,
    a_parameter_of_another_kind,
    a_size_for_no_view,
    views_of_another_kind,
    views_that_are_no_columns,
    parameters_without_end,
    a_generator_that_stands_still,
    a_counter_beyond_exact_numbers,
    more_rows_not_forgotten_than_rows,
    more_rows_that_are_not_empty_than_rows,
    energy_below_zero,
    energy_that_is_no_number,
    no_energy,
    weights_of_too_few_views,
    a_weight_below_zero,
    reclustered_in_the_future,
    negative_rows,
    rows_whose_squares_overflow,
    sums_below_zero,
    sums_whose_squares_overflow,
    masses_below_zero,
    shares_above_one,
    no_history,
    weights_whose_squares_overflow,
]


@pytest.mark.parametrize("change", HOSTILE, ids=lambda change: change.__name__)
def test_a_file_with_a_true_checksum_and_false_contents_is_refused(tmp_path, whole, change):
    path = tmp_path / "model"
    path.write_bytes(whole)
    arrays, meta = checkpoint.read(path)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(arrays, meta)
    checkpoint.write(path, arrays, meta)
    with pytest.raises(CheckpointError, match="no sound OMVFS"):
        OMVFS.load(path)


def test_the_printed_solver_does_without_no_window(tmp_path):
    path = tmp_path / "model"
    OMVFSPaper(2, random_state=0, max_iter=2).fit(two_views(20)).save(path)
    arrays, meta = checkpoint.read(path)
    meta["window"] = []
    checkpoint.write(path, arrays, meta)
    with pytest.raises(CheckpointError, match="the window holds 0 of 20 rows"):
        OMVFS.load(path)


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    model = OMVFS(2, random_state=0).fit(two_views(20))
    model.set_params(recency="x")
    with pytest.raises(ValueError, match="Got recency='x'"):
        model.save(tmp_path / "model")
    assert not os.listdir(tmp_path)


def test_an_error_is_no_longer_than_can_be_read(tmp_path, whole):
    (tmp_path / "model").write_bytes(whole)
    arrays, meta = checkpoint.read(tmp_path / "model")
    meta["estimator"]["params"]["recency"] = "x" * 10**6
    checkpoint.write(tmp_path / "model", arrays, meta)
    with pytest.raises(CheckpointError, match=r"Got recency='xxx.*\.\.\.") as caught:
        OMVFS.load(tmp_path / "model")
    assert len(str(caught.value)) < 1000


def test_meta_is_plain_json(whole):
    header = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])
    meta = json.loads(header["__metadata__"]["meta"])
    assert meta["views"] == ["text", "image"]
