"""What is learned and ranked does not change while the code around the mathematics does.

`frozen.json` holds digests of rankings and labels. ``python tests/test_frozen.py`` writes it anew,
which only a change of the mathematics calls for.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

import omvfs
from omvfs import OMVFS, OMVFSPaper, as_views
from omvfs.datasets import make_planted

HERE = Path(__file__).parent
FROZEN = HERE / "frozen.json"
DATA = HERE.parents[1] / "shared" / "data"
SETS = (
    "bdgp",
    "cora",
    "fox",
    "infant_gut",
    "msrc_v1",
    "openclipart",
    "reuters1200",
    "tcga_brca",
)
ROWS, N_BEST = 700, 50


def digest(*arrays):
    """Return a short digest of arrays of whole numbers."""
    found = hashlib.sha256()
    for each in arrays:
        found.update(np.ascontiguousarray(each, np.int64).tobytes())
    return found.hexdigest()[:16]


def best(model):
    """Return a digest of the best features of every view, in their order."""
    return digest(*(np.argsort(ranks)[:N_BEST] for ranks in model.view_ranking_.values()))


def real(name, order):
    """Return some rows of a real set: nonnegative views with rows of unit norm."""
    paths = sorted((DATA / name).glob("view_*.np[yz]"))
    n = len(np.load(DATA / name / "labels.npy"))
    rows = np.random.default_rng(order).permutation(n)[:ROWS]
    views = {}
    for path in paths:
        X = np.load(path) if path.suffix == ".npy" else sp.csr_array(sp.load_npz(path))
        X = abs(X[rows]).astype(np.float64)
        views[path.stem.split("_", 2)[2]] = normalize(X)
    return views


def of_real_set(name, order):
    model = OMVFS(6, random_state=0).fit(real(name, order))
    return [best(model), digest(model.labels_)]


def planted(n_rows=1600):
    made = make_planted(
        n_rows, n_features=(400, 300), n_informative=(40, 30), n_classes=5, random_state=0
    )
    return as_views(made.views)


def parts_of(views, n_parts):
    rows = np.array_split(np.arange(len(views)), n_parts)
    return [views[part] for part in rows]


def learned(chunks, **settings):
    model = OMVFS(5, random_state=0, sample_size=400, **settings)
    for chunk in chunks:
        model.partial_fit(chunk)
    return model


def of_planted_stream():
    views = planted()
    model = learned(parts_of(views, 8))
    return [best(model), digest(model.predict(views))]


def of_fading_stream():
    model = learned(parts_of(planted(), 8), half_life=500, detect_drift=True)
    return [best(model), len(model.drift_)]


def of_merged_parts(n_parts):
    models = [learned(parts_of(part, 2)) for part in parts_of(planted(), n_parts)]
    return [best(omvfs.merge(models) if n_parts > 1 else models[0])]


def of_missing_views():
    views, rng = planted(), np.random.default_rng(1)
    blocks = {name: np.array(views[name].todense()) for name in views.names}
    for i, block in enumerate(blocks.values()):
        block[rng.random(len(views)) < 0.3 - 0.1 * i] = np.nan
    both = np.all([np.isnan(block[:, 0]) for block in blocks.values()], axis=0)
    model = learned(
        {name: block[~both][k : k + 200] for name, block in blocks.items()}
        for k in range(0, int((~both).sum()), 200)
    )
    return [best(model)]


def of_printed_method():
    model = OMVFSPaper(5, max_iter=20, half_life=500, random_state=0)
    for chunk in parts_of(planted(600), 3):
        model.partial_fit(chunk)
    return [best(model), digest(model.window_labels_)]


OF = {
    "as printed": of_printed_method,
    "planted stream": of_planted_stream,
    "fading stream": of_fading_stream,
    **{f"merged from {n}": lambda n=n: of_merged_parts(n) for n in (1, 2, 4, 8)},
    "missing views": of_missing_views,
    **{
        f"{name} in order {order}": lambda name=name, order=order: of_real_set(name, order)
        for name in SETS
        for order in (0, 1)
    },
}


@pytest.mark.parametrize("name", OF)
def test_what_is_learned_stays_the_same(name):
    if " in order " in name and not DATA.is_dir():
        pytest.skip("the sets are not beside the repository (../shared/data)")
    assert OF[name]() == json.loads(FROZEN.read_text())[name]


def test_a_resumed_stream_ends_as_one_that_was_not_stopped(tmp_path):
    chunks = parts_of(planted(), 8)
    half = learned(chunks[:4])
    half.save(tmp_path / "half.omvfs")
    resumed = OMVFS.load(tmp_path / "half.omvfs")
    for chunk in chunks[4:]:
        resumed.partial_fit(chunk)
    assert best(resumed) == json.loads(FROZEN.read_text())["planted stream"][0]


if __name__ == "__main__":
    FROZEN.write_text(json.dumps({name: made() for name, made in OF.items()}, indent=1) + "\n")
    sys.stderr.write(f"{len(OF)} results in {FROZEN.name}\n")
