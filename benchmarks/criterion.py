"""The paper's objective of models side by side, on the same rows, with the same weights.

Of the rows of one chunk, Eq. (offline) as printed: Σ_v ‖X_v − U V_vᵀ‖² + α Σ_v tr(Uᵀ L_v U) +
β Σ_v ‖V_v‖_{2,1}, with α = β = 1 and the Gaussian graph of these rows. The columns of U are scaled
to norm 1 on these rows, as UᵀU = I asks, and those of V inversely, which leaves U Vᵀ as it is: a
model whose U is of unit norm over the whole stream is so compared with one whose U is over two
chunks.
"""

import numpy as np

from omvfs import OMVFSPaper
from omvfs.model.objective import l21, orthogonality_gap, reconstruction, smoothness
from omvfs.model.printed import gaussian, laplacian

ALPHA = BETA = 1.0
_SWEEPS, _NOTHING = 1000, 1e-6


def compare(models, chunks):
    """Return the terms of models by name on the first and the last chunk, by how U is taken.

    ``own``: the U that each has for the rows, which the paper's keeps of its last chunks only.
    ``one cluster``: every row in the cluster of V that fits it best, and none empty, so that
    UᵀU = I holds exactly. ``best``: for each V the U ≥ 0 of least reconstruction error, whether
    orthogonal or not, empty columns or not.
    """
    found = {}
    places = {"last chunk": chunks[-1]}
    if len(chunks) > 1:
        places = {"first chunk": chunks[0], **places}
    for place, chunk in places.items():
        X = [X_v.astype(np.float64) for X_v in chunk.values()]
        L = sum(laplacian(gaussian(X_v)) for X_v in X)
        for name, model in models.items():
            V = [V_v.astype(np.float64) for V_v in model.V_.values()]
            taken = {"one cluster": one_cluster(X, V), "best": best(X, V)}
            if not isinstance(model, OMVFSPaper):
                taken["own"] = one_cluster(X, V, model.predict(chunk))
            elif place == "last chunk":
                taken["own"] = model._known.state.indicator()[-X[0].shape[0] :]
            for how, U in taken.items():
                found.setdefault(f"{place}, {how} U", {})[name] = terms(X, U, V, L)
    return {how: all_of for how, all_of in found.items() if len(all_of) == len(models)}


def terms(X, U, V, L):
    """Return the terms of the objective, their sum, and how far U is from orthogonal."""
    norms = np.linalg.norm(U, axis=0)
    U = U / np.where(norms > 0, norms, 1)
    V = [V_v * norms for V_v in V]
    found = {
        "reconstruction": sum(reconstruction(X_v, U, V_v) for X_v, V_v in zip(X, V, strict=True)),
        "graph": ALPHA * smoothness(U, L),
        "sparsity": BETA * sum(l21(V_v) for V_v in V),
    }
    return {**found, "objective": sum(found.values()), "gap": orthogonality_gap(U)}


def one_cluster(X, V, labels=None):
    """Return U with one nonzero a row, in the given clusters or those that fit best, none empty."""
    lengths = np.sqrt(sum(np.square(V_v).sum(axis=0) for V_v in V))
    # Of a row in one cluster the best weight is its product with the cluster, over its length.
    fit = np.maximum(sum(X_v @ V_v for X_v, V_v in zip(X, V, strict=True)), 0)
    fit = fit / np.where(lengths > 0, lengths, 1)
    labels = filled(fit, fit.argmax(axis=1)) if labels is None else labels
    rows, U = np.arange(len(fit)), np.zeros_like(fit)
    U[rows, labels] = fit[rows, labels] / np.where(lengths > 0, lengths, 1)[labels]
    return U


def filled(fit, labels):
    """Return labels in which every cluster that fits a row at all has one.

    >>> filled(np.array([[3.0, 2.0], [3.0, 1.0]]), np.array([0, 0]))
    array([1, 0])
    """
    labels = labels.copy()
    for k in np.flatnonzero(np.bincount(labels, minlength=fit.shape[1]) == 0):
        own = fit[np.arange(len(fit)), labels]
        # The row that loses least, of those that leave others behind.
        loss = np.where(fit[:, k] > 0, np.square(own) - np.square(fit[:, k]), np.inf)
        loss[np.bincount(labels, minlength=fit.shape[1])[labels] < 2] = np.inf
        if np.isfinite(loss.min()):
            labels[loss.argmin()] = k
    return labels


def best(X, V):
    """Return U ≥ 0 of least Σ ‖X_v − U V_vᵀ‖², column by column until nothing moves."""
    P = sum(X_v @ V_v for X_v, V_v in zip(X, V, strict=True))
    G = sum(V_v.T @ V_v for V_v in V)
    U = one_cluster(X, V)
    for _ in range(_SWEEPS):
        before = U.copy()
        for k in np.flatnonzero(np.diag(G) > 0):
            U[:, k] = np.maximum(0, U[:, k] + (P[:, k] - U @ G[:, k]) / G[k, k])
        if np.abs(U - before).max() <= _NOTHING * np.abs(U).max():
            break
    return U
