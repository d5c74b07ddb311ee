"""TIME-FS: low-rank views whose rows share anchors, also where rows lack a view."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omvfs.baselines.base import Found
from omvfs.data.blocks import Block
from omvfs.data.views import Views
from omvfs.model.objective import inner, l21, row_norms, squared_norm
from omvfs.parameters import number, seed_of
from paper.acsl import Centred, simplex_rows
from paper.eufs import orthonormal, shrink
from paper.factors import IterativeSelector
from paper.graphs import FloatArray

BoolArray = NDArray[np.bool_]
# Share of the largest eigenvalue below which an equation is taken for none.
_RANK = 1e-12
_EPS = float(np.finfo(np.float64).eps)


@dataclass(eq=False, repr=False, kw_only=True)
class TIMEFS(IterativeSelector):
    """Tensorial incomplete multi-view feature selection (TIME-FS), of complete views.

    Every view is of low rank, X_v ≈ Z_v W_vᵀ, and its rows are mixtures of k anchors that all views
    share, up to how much a view prefers each:

    min Σ_v a_v^g (‖X̂_v − Z_v W_vᵀ‖² + λ‖W_v‖_{2,1}) + Σ_v ‖Z_v − M diag(p_v) Aᵀ‖² + η‖M‖²,
    Z_vᵀZ_v = I, M ≥ 0, M1 = 1, a ≥ 0, Σa_v = 1,

    where X̂_v is X_v on the rows that have the view, and Z_v W_vᵀ on those that lack it. A feature
    is as good as its row of W is long.

    It is offline, and reads all rows in every iteration. Time and memory are linear in rows and in
    features: it may have tens of thousands of both. Sparse views stay sparse.

    Parameters
    ----------
    n_clusters : int, default=8
        Anchors k, and the rank of every view; at most as many as there are rows.
    {shared}
    sparsity : float, default=0.001
        λ: weight of ‖W‖_{2,1}.
    smoothness : float, default=1.0
        η: how much a row is to be a mixture of all anchors alike, above 0.
    view_power : float, default=6.0
        g: the larger, the more alike are the weights of the views; above 1.
    max_iter : int, default=50
        Most iterations.
    tol : float, default=1e-5
        Relative change of the objective at which to stop.
    random_state : int, RandomState instance or None, default=None
        Seed of the start.

    Attributes
    ----------
    view_scores_ : dict of str to ndarray of shape (n_features_of_view,)
        ‖w_j‖² of every feature by view; larger is better.
    embedding_ : ndarray of shape (n_rows, k)
        M: how much a row is of each anchor; nonnegative, and a row adds up to 1.
    embeddings_ : dict of str to ndarray of shape (n_rows, k)
        Z by view name: orthonormal.
    weights_ : dict of str to ndarray of shape (n_features_of_view, k)
        W by view name.
    view_weights_ : dict of str to float
        a by view name.
    objective_history_ : list of float
        The objective at the start and after every iteration.
    n_iter_ : int
        Iterations done.

    Notes
    -----
    The objective, the updates of Z, A, P, M and a, the random start and the default weights are the
    paper's, or its code's. That of M is the nearest in the simplex to the best M without
    constraints, which is not the best M in the simplex: there the objective may rise. The code
    clips in place of the exact projection. All other updates are the best for the rest.

    Ours are features less their mean, as a constant one, or one of large mean, else wins; W by the
    closed form max(1 − λ/(2‖·‖), 0)·X̂ᵀZ of its rows, where the paper's W, divided by 1 + λ/(2‖w‖)
    with the w before, tends to; the weight 0 of a view in which nothing varies; and the stopping
    rule.

    Rows and features are taken as they come: long rows, and features of much variance, say most.
    What an incomplete view lacks is kept as Z_v W_vᵀ and never formed.

    References
    ----------
    Y. Huang, M. Lu, W. Huang, X. Yi, T. Li: TIME-FS: Joint Learning of Tensorial Incomplete
    Multi-View Unsupervised Feature Selection and Missing-View Imputation, AAAI 2025.

    Examples
    --------
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(300, n_features=(80, 60), n_informative=(20, 15), random_state=0)
    >>> selector = TIMEFS(n_clusters=5, n_features_per_view=10, random_state=0)
    >>> selector.fit_transform(planted.views).shape
    (300, 20)
    >>> bool(planted.informative["view_0"][selector.view_ranking_["view_0"] <= 10].mean() > 0.4)
    True
    """

    n_clusters: int = field(default=8, kw_only=False)
    sparsity: float = 0.001
    smoothness: float = 1.0
    view_power: float = 6.0
    max_iter: int = 50
    tol: float = 1e-5
    random_state: Any = None

    _above_zero = ("smoothness",)
    _missing = "allow"

    def _score_views(self, batch: Views) -> Found:
        number("view_power", self.view_power, least=1.0, above=True)
        rng = np.random.default_rng(seed_of(self.random_state))
        blocks = list(batch.blocks.values())
        present = [batch.has(view) for view in batch.names] if batch.present else None
        for view, has in batch.present.items():
            if not has.any():
                raise ValueError(f"View {view!r} is lacking in every row. Leave it out.")
        k = min(self.n_clusters, len(batch))
        weights = self.sparsity, self.smoothness, self.view_power
        found = Anchored(blocks, k, *weights, rng, present=present)
        history = [found.objective()]
        for _ in range(self.max_iter):
            found.iterate()
            history.append(found.objective())
            if abs(history[-2] - history[-1]) <= self.tol * history[-2]:
                break
        W = dict(zip(batch.names, found.W, strict=True))
        attributes = {
            "embedding_": found.M,
            "embeddings_": dict(zip(batch.names, found.Z, strict=True)),
            "weights_": W,
            "view_weights_": dict(zip(batch.names, found.a.tolist(), strict=True)),
            "objective_history_": history,
            "n_iter_": len(history) - 1,
        }
        return {name: row_norms(W_v) ** 2 for name, W_v in W.items()}, attributes


class Incomplete:
    """X̂ of a view: its rows less their mean where they are present, a product ZWᵀ elsewhere.

    `size` is ‖X‖² of what is present, less its mean; `varies` tells whether it is not 0.
    """

    def __init__(self, X: Block, present: BoolArray | None = None) -> None:
        n, d = X.shape
        self._present = np.ones(n, bool) if present is None else present
        self._absent = ~self._present
        self._X = Centred.of(X if self._present.all() else X[np.flatnonzero(self._present)])
        self._Z, self._W = np.zeros((n - self._X.X.shape[0], 1)), np.zeros((d, 1))
        self.size = self._X.squares
        self.varies = self.size > 0

    def fill(self, Z: FloatArray, W: FloatArray) -> None:
        """Make the rows that are absent those of ZWᵀ."""
        self._Z, self._W = Z[self._absent], W

    def times(self, B: FloatArray) -> FloatArray:
        """Return X̂B."""
        product = np.empty((len(self._present), B.shape[1]))
        product[self._present] = self._X.times(B)
        product[self._absent] = self._Z @ (self._W.T @ B)
        return product

    def transposed_times(self, U: FloatArray) -> FloatArray:
        """Return X̂ᵀU."""
        there = self._X.transposed_times(U[self._present])
        return there + self._W @ (self._Z.T @ U[self._absent])

    def residual(self, Z: FloatArray, W: FloatArray) -> float:
        """Return ‖X̂ − ZWᵀ‖² for orthonormal columns Z."""
        filled = inner(self._Z.T @ self._Z, self._W.T @ self._W)
        value = self.size + filled - 2 * inner(self.transposed_times(Z), W) + squared_norm(W)
        return max(0.0, value)


class Anchored:
    """The alternation; no update but that of M raises the objective.

    Attributes are called as in the objective; p_v is row v of P, and λ, η and g are `lam`, `eta`
    and `power`. `present` tells which rows have each view, by default all; a view has at least one.
    """

    def __init__(
        self,
        X: Sequence[Block],
        n_clusters: int,
        lam: float,
        eta: float,
        power: float,
        rng: np.random.Generator,
        *,
        present: Sequence[BoolArray] | None = None,
    ) -> None:
        self._lam, self._eta, self._power = lam, eta, power
        masks: Sequence[BoolArray | None] = [None] * len(X) if present is None else present
        self._X = [Incomplete(X_v, mask) for X_v, mask in zip(X, masks, strict=True)]
        n = X[0].shape[0]
        self.Z: list[FloatArray] = [np.linalg.qr(rng.random((n, n_clusters)))[0] for _ in X]
        self.A: FloatArray = rng.random((n_clusters, n_clusters))
        self.P: FloatArray = rng.random((len(X), n_clusters))
        self.update_w()
        self.update_m()
        self.update_a()

    def iterate(self) -> None:
        """Do every update once."""
        self.update_z()
        self.update_w()
        self.update_anchors()
        self.update_preferences()
        self.update_m()
        self.update_absent()
        self.update_a()

    def objective(self) -> float:
        """Return the objective."""
        fit = float(self.a**self._power @ self._costs())
        pairs = zip(self.Z, self._mixtures(), strict=True)
        apart = sum(squared_norm(Z_v - C_v) for Z_v, C_v in pairs)
        return fit + apart + self._eta * squared_norm(self.M)

    def update_z(self) -> None:
        """Z_v = the polar factor of a_v^g X̂_v W_v + M diag(p_v) Aᵀ."""
        self.Z = [
            orthonormal(a_v**self._power * X_v.times(W_v) + C_v, Z_v)
            for a_v, X_v, W_v, C_v, Z_v in zip(
                self.a, self._X, self.W, self._mixtures(), self.Z, strict=True
            )
        ]

    def update_w(self) -> None:
        """W_v = X̂_vᵀZ_v, its rows shortened by λ/2."""
        self.W: list[FloatArray] = [
            shrink(X_v.transposed_times(Z_v), self._lam / 2)
            for X_v, Z_v in zip(self._X, self.Z, strict=True)
        ]

    def update_anchors(self) -> None:
        """Make A = Σ_v Z_vᵀM diag(p_v) (PᵀP ∘ MᵀM)⁻¹."""
        right = np.sum(
            [(Z_v.T @ self.M) * p for Z_v, p in zip(self.Z, self.P, strict=True)], axis=0
        )
        self.A = right @ _inverse((self.P.T @ self.P) * (self.M.T @ self.M))

    def update_preferences(self) -> None:
        """p_v = diag(MᵀZ_v A) (MᵀM ∘ AᵀA)⁻¹."""
        right = np.stack(
            [np.einsum("ir,ik,kr->r", self.M, Z_v, self.A, optimize=True) for Z_v in self.Z]
        )
        self.P = right @ _inverse((self.M.T @ self.M) * (self.A.T @ self.A))

    def update_m(self) -> None:
        """M = the nearest in the simplex to Σ_v Z_v A diag(p_v) (ηI + PᵀP ∘ AᵀA)⁻¹."""
        right = np.sum([(Z_v @ self.A) * p for Z_v, p in zip(self.Z, self.P, strict=True)], axis=0)
        G = (self.P.T @ self.P) * (self.A.T @ self.A) + self._eta * np.eye(len(self.A))
        self.M: FloatArray = simplex_rows(np.linalg.solve(G, right.T).T)

    def update_absent(self) -> None:
        """X̂_v = Z_v W_vᵀ on the rows that lack the view."""
        for X_v, Z_v, W_v in zip(self._X, self.Z, self.W, strict=True):
            X_v.fill(Z_v, W_v)

    def update_a(self) -> None:
        """a_v in proportion to d_v^(1/(1 − g)), d_v = ‖X̂_v − Z_v W_vᵀ‖² + λ‖W_v‖_{2,1}."""
        varies = np.array([X_v.varies for X_v in self._X])
        least = _EPS * np.array([X_v.size for X_v in self._X])  # a perfect fit, but for rounding
        logs: FloatArray = np.full(len(least), -np.inf)
        np.log(np.maximum(self._costs(), least), out=logs, where=varies)
        logs[varies] /= 1 - self._power
        if not varies.any():
            logs[:] = 0
        shares = np.exp(logs - logs.max())
        self.a: FloatArray = np.divide(shares, shares.sum())

    def _costs(self) -> FloatArray:
        """Return d_v of every view."""
        parts = zip(self._X, self.Z, self.W, strict=True)
        return np.array([X_v.residual(Z, W) + self._lam * l21(W) for X_v, Z, W in parts])

    def _mixtures(self) -> list[FloatArray]:
        """Return M diag(p_v) Aᵀ of every view."""
        return [(self.M * p) @ self.A.T for p in self.P]


def _inverse(G: FloatArray) -> FloatArray:
    """Return the pseudo-inverse of a positive semidefinite matrix."""
    return np.asarray(np.linalg.pinv(G, rcond=_RANK, hermitian=True), np.float64)
