"""The paper's objective that both methods reach on the same rows, taken as one chunk.

    python benchmarks/paper/objective.py [--data DIR]

Eq. (offline) with α = β = 1 and the Gaussian graph of the rows, of unit norm, negative values set
to 0. Of `OMVFSPaper`, U and V as its updates leave them. Of `OMVFS`, U is the normalised indicator
of its clusters, U_ik = 1 / √n_k, and V is fitted to it, which has a closed form as UᵀU = I: the
rows of B = XᵀU by soft threshold. The classes, as if they were clusters, are beside them.
"""

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from digits import digits_views
from omvfs import OMVFS, OMVFSPaper
from omvfs.datasets import load_folder, make_planted
from omvfs.evaluation import normalized_mutual_information
from omvfs.model.objective import l21, orthogonality_gap, reconstruction, row_norms, smoothness
from omvfs.model.printed import gaussian, laplacian

ALPHA = BETA = 1.0
SETS = ("fox", "reuters600", "citeseer")
MOST_ROWS = 2000


def indicator(labels):
    """Return U_ik = 1 / √n_k for the rows i of cluster k: UᵀU = I and U ≥ 0.

    >>> U = indicator(np.array([0, 2, 2]))
    >>> U.round(2).tolist(), orthogonality_gap(U) < 1e-12
    ([[1.0, 0.0], [0.0, 0.71], [0.0, 0.71]], True)
    """
    clusters, places, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    U = np.zeros((len(labels), len(clusters)))
    U[np.arange(len(labels)), places] = 1 / np.sqrt(sizes[places])
    return U


def fitted(X, U):
    """Return V of the least ‖X − U Vᵀ‖² + β ‖V‖_{2,1} for U with UᵀU = I: soft threshold of B.

    >>> fitted(np.array([[3.0, 0.4], [4.0, 0.0]]), np.eye(2)).tolist()
    [[2.7, 3.6], [0.0, 0.0]]
    """
    B = np.asarray(X.T @ U)
    norms = row_norms(B)
    kept = np.maximum(0, 1 - np.divide(BETA / 2, norms, out=np.ones_like(norms), where=norms > 0))
    return B * kept[:, np.newaxis]


def terms(X, U, V):
    """Return the three terms of the objective."""
    L = sum(laplacian(gaussian(X_v)) for X_v in X)
    return (
        sum(reconstruction(X_v, U, V_v) for X_v, V_v in zip(X, V, strict=True)),
        ALPHA * smoothness(U, L),
        BETA * sum(l21(V_v) for V_v in V),
    )


def compared(views, classes, seed=0):
    """Return the terms, ‖UᵀU − I‖ and the NMI with the classes of all, by name."""
    X = [normalize(X_v.maximum(0) if sp.issparse(X_v) else X_v.clip(0)) for X_v in views]
    rows, K = {f"view_{v}": X_v for v, X_v in enumerate(X)}, len(np.unique(classes))
    paper = OMVFSPaper(K, graph_weight=ALPHA, sparsity=BETA, batch_size=len(classes))
    paper.set_params(random_state=seed).fit(rows)
    found = {
        "OMVFSPaper": (paper._known.state.indicator(), paper.window_labels_),
        "OMVFS": (None, OMVFS(K, random_state=seed).fit(rows).labels_),
        "the classes": (None, classes),
    }
    values = {}
    for name, (own, labels) in found.items():
        U = indicator(labels) if own is None else own
        V = [fitted(X_v, U) for X_v in X] if own is None else list(paper.V_.values())
        nmi = normalized_mutual_information(classes, labels)
        values[name] = (*terms(X, U, V), orthogonality_gap(U), nmi)
    return values


def sets(data):
    """Yield the name, the views and the classes of every set that is at hand."""
    planted = make_planted(1000, random_state=0)
    yield "planted", list(planted.views.values()), planted.labels
    digits, classes = digits_views()
    yield "digits", list(digits.blocks.values()), classes
    for name in SETS if data else ():
        views, classes = load_folder(data / name)
        # Too many for a dense graph.
        rows = np.random.default_rng(0).permutation(len(classes))[:MOST_ROWS]
        yield name, [views[view][rows] for view in views.names], classes[rows]


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the real sets")
    print("| rows | | objective | reconstruction | graph | sparsity | gap | NMI |")
    print("|---|---|---|---|---|---|---|---|")
    for name, views, classes in sets(parser.parse_args().data):
        for who, (fit, graph, sparse, gap, nmi) in compared(views, classes).items():
            values = f"{fit + graph + sparse:.0f} | {fit:.0f} | {graph:.1f} | {sparse:.0f}"
            print(f"| {name} | {who} | {values} | {gap:.0e} | {nmi:.2f} |", flush=True)


if __name__ == "__main__":
    main()
