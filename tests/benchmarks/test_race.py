"""Methods run on the same rows, and only where a result is missing."""

from made_up import cell

import keep
import made
import race
from paper.twins import make_twin


def test_a_race_runs_every_method_on_the_same_rows():
    twin = make_twin("reuters", 150, n_features=(60, 50), n_words=(9, 9), n_classes=3)
    chunks = [chunk.views for chunk in twin.chunks(50)]
    for name, method in race.METHODS.items():
        if name == "IncrementalPCA":
            assert race.as_read(chunks, method.form)[0].shape == (50, 110)
        times, ours, own = race.beside(3, chunks, method, repeats=2)
        assert len(times["own"]) == (1 if method.slow else 2), name
        assert len(times["omvfs"]) == 2
        assert ours.n_samples_seen_ == 150
        assert own is not None
        assert name in race.result_line("set", name, {"rows": 150, "times": times})


def test_dense_rows_race_as_sparse_ones_do():
    X = made.full(100, 30, 3)
    chunks = race.chunks_of({"a": X, "b": X[:, :20]}, 100)
    for name in ("MiniBatchNMF", "TruncatedSVD", "IncrementalPCA"):
        method = race.METHODS[name]
        assert race.as_read(chunks, method.form)[0].shape == (100, 50)
        assert race.beside(3, chunks, method)[2] is not None
    about = race.described({"a": X}, 3)
    assert about["nonzeros"] == [30]
    assert about["chunk_bytes"] == X.nbytes


def test_a_twin_stands_in_for_a_set_that_is_not_at_hand(tmp_path):
    views, K, stands_in = made.load("debian_large", tmp_path, 50)
    assert stands_in
    assert K == 20
    assert [X.shape for X in views.values()] == [(50, 30_098), (50, 35_212)]
    assert made.load("mfeat", tmp_path, 50) is None


def test_the_race_finds_what_is_missing_and_asked_for(tmp_path, monkeypatch):
    asked = []

    def beside(K, chunks, method, repeats):
        asked.append(method)
        return cell(1.0)["times"], None, None

    monkeypatch.setattr(race, "beside", beside)
    path = tmp_path / "results.json"
    for only in (["race/mfeat/"], *[["race/reuters-twin/FSDS", "growth"]] * 2):
        race.race(keep.Results(path, only=only), tmp_path, quick=True, full=False)
    # That set is not here; the other result was there the second time.
    assert asked == [race.METHODS["FSDS"]]
    found = keep.Results(path)
    assert set(found.found) == {"set/reuters-twin", "race/reuters-twin/FSDS"}
    assert found["race/reuters-twin/FSDS"]["rows"] == 2_000
