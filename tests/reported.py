"""Models for tests of reports: of hostile names, of many views and clusters, of a stream."""

import numpy as np
import scipy.sparse as sp

from omvfs import OMVFS, Views
from omvfs.datasets import make_planted
from support import clustered

LONG = "x" * 10_000
# Each would do harm where names are taken for something else.
HOSTILE = (
    "<script>document.title='harm'</script>",
    '"><img src=x onerror="document.title=\'harm\'">',
    "' onmouseover='document.title=1' x='",
    "</title></style></script><script>document.title='harm'</script>",
    "{{ 7*7 }}{% raw %}",
    "javascript:document.title='harm'",
    "&lt;b&gt; &amp; &#x3c;script&#x3e;",
    "<!--",
    "]]>",
    "\u202egnp.exe",
    "\u2066\u2067isolate",
    "العربية",
    "עברית (1)",
    "😀👩‍👩‍👧",
    "\x1b[2J\x1b]0;title\x07",
    "nul\0l",
    "\x85\x9b31m",
    "half \ud800 pair",
    "line\nline\r\nline",
    "\u2028\u2029",
    "=1+1",
    "+cmd|' /C calc'!A0",
    "@SUM(1)",
    "-2+3",
    "\t=1",
    "",
    " ",
    LONG,
    '"' * 10_000,
    "1e999",
    "__proto__",
    "e\u0301" * 50,
    "W" * 80,
)
QUICK = {"random_state": 0}


def hostile_model(n_rows=90, names=HOSTILE):
    """Return a model whose views and features have hostile names, and its rows."""
    rng = np.random.default_rng(0)
    names = [*names, *(f"{name}{i}" for i, name in enumerate(names))]
    blocks = {view: clustered(rng, n_rows, len(names))[0] for view in (HOSTILE[0], "\u202eview")}
    views = Views(blocks, feature_names=dict.fromkeys(blocks, names))
    return OMVFS(3, n_features_per_view=len(names), **QUICK).fit(views), views


def wide_model(n_views, n_clusters, n_features, name="w{}", n_rows=240):
    """Return a model of so many views, clusters, and features in all."""
    rng = np.random.default_rng(0)
    width = n_features // n_views
    own = rng.permutation(np.arange(n_rows) % n_clusters)
    blocks, names = {}, {}
    for v in range(n_views):
        # Every cluster has some features of its own.
        some = rng.integers(width, size=(n_clusters, 6))[own]
        rows = np.repeat(np.arange(n_rows), 6)
        values = 1 + rng.random(n_rows * 6, dtype=np.float32)
        X = sp.csr_array((values, (rows, some.ravel())), shape=(n_rows, width))
        blocks[name.format(f"view {v}")] = X
        names[name.format(f"view {v}")] = [name.format(j) for j in range(width)]
    model = OMVFS(n_clusters, n_features_per_view=200, sample_size=400, **QUICK)
    return model.fit(Views(blocks, feature_names=names))


def planted_model(**params):
    """Return a model of planted rows, with names."""
    data = make_planted(600, n_features=(150, 100), n_informative=(40, 30), random_state=0)
    names = {v: [f"{v} {j}" for j in range(X.shape[1])] for v, X in data.views.items()}
    model = OMVFS(5, n_features_per_view=60, **{**QUICK, **params})
    return model.fit(Views(data.views, feature_names=names))
