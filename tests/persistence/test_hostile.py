"""A checkpoint made to do harm, its checksum right, does none."""

from aside import run_aside

# Pointers that pass scipy's own check, in a checkpoint that is sound but for them.
POINTERS = """
import numpy as np, scipy.sparse as sp
from omvfs import OMVFS
from omvfs.persistence import checkpoint
from support import counts

path = sys.argv[1] + "/model"
X = {"text": sp.csr_array(counts(np.random.default_rng(0), 20, 12))}
sound = OMVFS(2, random_state=0, n_init=2).fit(X)
for start in ([0, 2**30], [0, 2**31 - 1, -(2**31), -1], [0, 2**63 - 1, -(2**63), -1]):
    for place in ("reservoir/0", "window/0/0"):
        sound.save(path)
        arrays, meta = checkpoint.read(path)
        dtype, nnz = np.int32 if max(start) < 2**31 else np.int64, arrays[place + "/data"].size
        indptr = np.full_like(arrays[place + "/indptr"], start[-1], dtype)
        indptr[: len(start)], indptr[-1] = start, nnz if start[-1] < 0 else 0
        indices = arrays[place + "/indices"].astype(dtype)
        arrays |= {place + "/indptr": indptr, place + "/indices": indices}
        checkpoint.write(path, arrays, meta)
        print(start, place, end=": ", flush=True)
        try:
            model = OMVFS.load(path)
            model.view_scores_, model.window_labels_, model.partial_fit(X).view_scores_
            print("taken")
        except checkpoint.CheckpointError as error:
            print("refused" if "no sparse matrix" in str(error) else error)
"""


def test_pointers_that_evade_the_check_of_scipy_are_refused(tmp_path):
    printed = run_aside(POINTERS, str(tmp_path)).splitlines()
    assert len(printed) == 6
    assert [line for line in printed if not line.endswith("refused")] == []


# The first is the bomb that is known; the others are changed by chance, the same every time.
CHANGED = """
import resource, time
import numpy as np
import hostile
from omvfs.persistence import checkpoint

path, n = sys.argv[1] + "/model", int(sys.argv[2])
models = []
for model, X in hostile.sound():
    model.save(path)
    models.append((*checkpoint.read(path), X))

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

def bomb(rng):
    arrays, meta, X = models[3]
    return arrays, {**meta, "estimator": {**meta["estimator"], "n_features_in": 150_000_000}}, X

def by_chance(rng):
    arrays, meta, X = models[rng.integers(len(models))]
    return *hostile.spoilt(arrays, meta, rng), X

before = peak()
refused = 0
for seed in range(n):
    change = by_chance if seed else bomb
    started = time.process_time()
    print("attempt", seed, end=": ", flush=True)
    refused += hostile.attempt(path, *change(np.random.default_rng(seed)))
    seconds, megabytes = time.process_time() - started, peak() - before
    print("well" if seconds < 5 and megabytes < 200 else f"{seconds:.0f} s, {megabytes} MB")
print("refused", refused)
"""


def test_whatever_is_changed_nothing_crashes_hangs_or_fills_the_memory(tmp_path):
    n = 120
    *attempts, refused = run_aside(CHANGED, str(tmp_path), str(n)).splitlines()
    assert len(attempts) == n
    assert [line for line in attempts if not line.endswith("well")] == []
    assert 60 < int(refused.split()[1]) < n
