"""A checkpoint made to do harm, its checksum right, does none; the thousands are in test-faults."""

from aside import run_aside

# The first is a mask of 150,000,000 columns; the others are changed by chance, the same every time.
CHANGED = """
import resource, time
import numpy as np
import hostile
from omvfs import persistence

path, n = sys.argv[1] + "/model", int(sys.argv[2])
models = []
for model, X in hostile.sound():
    model.save(path)
    models.append((*persistence.read(path), X))

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

def bomb(rng):
    arrays, tree, X = models[3]
    return arrays, {**tree, "learned": [*tree["learned"][:4], 150_000_000, None]}, X

def by_chance(rng):
    arrays, tree, X = models[rng.integers(len(models))]
    return *hostile.spoilt(arrays, tree, rng), X

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
    n = 60
    *attempts, refused = run_aside(CHANGED, str(tmp_path), str(n)).splitlines()
    assert len(attempts) == n
    assert [line for line in attempts if not line.endswith("well")] == []
    assert 30 < int(refused.split()[1]) < n
