"""The printed method, written out as slowly and plainly as possible, to compare with.

It shares no code with the library: it keeps every chunk, forms every matrix in full and sums the
history anew in each iteration.
"""

import numpy as np


class NaivePaper:
    """The paper's Algorithm with λ read as γ, for dense blocks and given starts.

    Parameters
    ----------
    n_clusters : int
        K.
    alpha, beta : float or sequence of float
        α_v and β_v, the same for all views or one for each.
    gamma : float
        γ.
    window : int or None
        s, in chunks; None never drops a chunk.
    max_iter : int
        Iterations for every chunk: convergence is not looked at.
    sigma : float
        Width of the Gaussian kernel.

    Attributes
    ----------
    V : list of array
        Feature matrix of each view.
    A : array
        Σ_i U_iᵀ U_i over all chunks seen.
    B : list of array
        Σ_i X_iᵀ U_i over all chunks seen, for each view.
    U_window : array
        Cluster indicator of the rows in the window.
    """

    def __init__(self, n_clusters, alpha, beta, gamma=1e7, window=2, max_iter=200, sigma=1.0):
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.window = window
        self.max_iter = max_iter
        self.sigma = sigma
        self.chunks = []  # every chunk ever seen: a list of blocks, one for each view
        self.U_then = []  # U of every chunk, as it was when A and B took it in
        self.U_now = []  # U of every chunk, as later chunks have moved it in the window
        self.V = None

    def partial_fit(self, blocks, U0, V0=None):
        """Take in a chunk, starting from `U0`; the first chunk must bring `V0` too."""
        blocks = [np.array(X, dtype=float) for X in blocks]
        if self.V is None:
            self.V = [np.array(V, dtype=float) for V in V0]
        self.chunks.append(blocks)
        self.U_now.append(np.array(U0, dtype=float))

        first = 0 if self.window is None else max(0, len(self.chunks) - self.window)
        X = [
            np.concatenate([chunk[v] for chunk in self.chunks[first:]]) for v in range(len(blocks))
        ]
        M = sum(self._of_view(self.alpha, v) * self._laplacian(X[v]) for v in range(len(blocks)))
        U = np.concatenate(self.U_now[first:])
        for _ in range(self.max_iter):
            U = self._step_u(U, X, M)
            U_t = U[len(U) - len(U0) :]
            self.V = [self._step_v(v, blocks[v], U_t) for v in range(len(blocks))]

        start = 0
        for i in range(first, len(self.chunks)):
            stop = start + len(self.U_now[i])
            self.U_now[i] = U[start:stop]
            start = stop
        self.U_then.append(self.U_now[-1].copy())
        return self

    @property
    def A(self):
        total = np.zeros((self.n_clusters, self.n_clusters))
        for U in self.U_then:
            total = total + U.T @ U
        return total

    @property
    def B(self):
        return [self._history_b(v) for v in range(len(self.V))]

    @property
    def U_window(self):
        first = 0 if self.window is None else max(0, len(self.chunks) - self.window)
        return np.concatenate(self.U_now[first:])

    def _history_b(self, v):
        total = np.zeros(self.V[v].shape)
        for chunk, U in zip(self.chunks, self.U_then, strict=False):
            total = total + chunk[v].T @ U
        return total

    def _step_u(self, U, X, M):
        M_pos = (abs(M) + M) / 2
        M_neg = (abs(M) - M) / 2
        T = U @ U.T @ U
        top = sum(X_v @ V_v for X_v, V_v in zip(X, self.V, strict=True))
        top = top + self.gamma * U + M_neg @ U
        bottom = U @ sum(V_v.T @ V_v for V_v in self.V) + self.gamma * T + M_pos @ U
        return self._multiply(U, top, bottom)

    def _step_v(self, v, X_t, U_t):
        V = self.V[v]
        D = np.zeros((len(V), len(V)))
        for j in range(len(V)):
            norm = sum(V[j, k] ** 2 for k in range(self.n_clusters)) ** 0.5
            D[j, j] = 1 / norm if norm > 0 else 0.0
        top = self._history_b(v) + X_t.T @ U_t
        bottom = V @ (self.A + U_t.T @ U_t) + 0.5 * self._of_view(self.beta, v) * D @ V
        return self._multiply(V, top, bottom)

    def _laplacian(self, X):
        n = len(X)
        W = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                W[i, j] = np.exp(-sum((X[i] - X[j]) ** 2) / (2 * self.sigma**2))
        return np.diag(W.sum(axis=1)) - W

    @staticmethod
    def _multiply(P, top, bottom):
        new = np.zeros(P.shape)
        for i in range(P.shape[0]):
            for k in range(P.shape[1]):
                if bottom[i, k] > 0:
                    new[i, k] = P[i, k] * (top[i, k] / bottom[i, k]) ** 0.5
        return new

    @staticmethod
    def _of_view(parameter, v):
        return parameter if np.isscalar(parameter) else parameter[v]


def history_objective(A, B, V, beta):
    """Return what the V half-step lowers, Eq. (v_object) over all rows, but for ‖X‖²."""
    rows = np.sqrt(np.sum(np.asarray(V, float) ** 2, axis=1))
    return np.sum((V.T @ V) * A) - 2 * np.sum(B * V) + beta * np.sum(rows)
