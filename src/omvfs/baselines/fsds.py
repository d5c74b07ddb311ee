"""FSDS: features that a sketch of the stream needs for its leading directions."""

import math
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from omvfs.baselines.base import PerViewStreamSelector
from omvfs.data.blocks import Block
from omvfs.model.arrays import dense
from omvfs.parameters import number, whole

# An eigenvalue this much below the largest is rounding error.
_NOTHING = 1e-12
# Where fewer than one eigenvector in so many is wanted, those alone are found faster than all.
_FEW = 4
# A ridge beyond 2^1000 ranks no differently, and overflows.
_LARGEST_EXPONENT = 1000.0


@dataclass(frozen=True)
class Sketch:
    """A low-rank stand-in for all rows of a view so far."""

    # ℓ.
    size: int
    # Orthogonal columns, the longest first; none is zero. Of shape (n_features, fewer than ℓ).
    B: NDArray[np.float64]


@dataclass(eq=False, repr=False, kw_only=True)
class FSDS(PerViewStreamSelector):
    """Feature selection on data streams, by a sketch of the rows; each view by itself.

    Keeps ℓ directions that stand for all rows so far, within ‖X‖²/ℓ of XᵀX in spectral norm
    (frequent directions). A feature is as good as its largest weight in the ridge regressions of
    the leading cluster directions on the features.

    Parameters
    ----------
    n_clusters : int, default=8
        k: leading directions that score the features.
    {shared}
    sketch_size : int or None, default=None
        ℓ: directions of the sketch, one of which is spent on each compression. By default √d for d
        features, rounded down, and in views so small that this is not above `n_clusters`,
        ``n_clusters + 1``.
    ridge_exponent : float, default=3.0
        i: the ridge is 2^i times the k-th singular value of the sketch.
    batch_size : int, default=200
        Rows of a chunk in `fit`. Each call of `partial_fit` is one chunk, of any size.

    Attributes
    ----------
    view_scores_ : dict of str to ndarray of shape (n_features_of_view,)
        Score of every feature by view; larger is better.
    sketches_ : dict of str to ndarray of shape (n_features_of_view, fewer than sketch_size)
        Sketch of every view.
    n_samples_seen_ : int
        Rows seen.

    Notes
    -----
    Our choices, where the paper is silent: the least sketch size of small views, and that fewer
    than k directions, where the rows or the sketch have no more, take the last of them for the
    k-th. A sketch as small as k would leave a ridge of zero.

    The ridge weighs singular values against their squares, so that the scale of the rows matters:
    rows of unit norm are best. Rows are not centred.

    The singular values come from the Gram matrix of the smaller side, never from a dense copy of a
    sparse chunk; a chunk of m rows takes (m + ℓ)² numbers, so cut long ones. What this loses is
    below 1e-12 of the largest eigenvalue; compression loses up to one part in ℓ.

    References
    ----------
    H. Huang, S. Yoo, S. P. Kasiviswanathan: Unsupervised Feature Selection on Data Streams,
    CIKM 2015.

    E. Liberty: Simple and Deterministic Matrix Sketching, KDD 2013.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = 0.1 * rng.standard_normal((500, 30))
    >>> X[:, :4] += rng.standard_normal((500, 2)) @ rng.standard_normal((2, 4))
    >>> sorted(FSDS(n_clusters=2, n_features_per_view=4).fit(X).get_support(indices=True))
    [np.int64(0), np.int64(1), np.int64(2), np.int64(3)]
    """

    n_clusters: int = field(default=8, kw_only=False)
    sketch_size: int | None = None
    ridge_exponent: float = 3.0
    batch_size: int = 200

    @property
    def sketches_(self) -> dict[str, NDArray[np.float64]]:
        """Sketch of every view, features by directions; BBᵀ stands for XᵀX."""
        check_is_fitted(self)
        return {name: sketch.B.copy() for name, sketch in self._known.states.items()}

    def _start(self, X: Block) -> Sketch:
        number("ridge_exponent", self.ridge_exponent, least=0.0)
        return Sketch(self._size(X.shape[1]), np.zeros((X.shape[1], 0)))

    def _size(self, width: int) -> int:
        """Return how many directions a sketch of so many features has."""
        n_clusters = whole("n_clusters", self.n_clusters, least=1)
        if self.sketch_size is None:
            return max(math.isqrt(width), n_clusters + 1)
        return whole("sketch_size", self.sketch_size, least=2)

    def _learn(self, state: Sketch, X: Block) -> Sketch:
        if (size := self._size(X.shape[1])) != state.size:
            raise ValueError(
                f"Got n_clusters={self.n_clusters} and sketch_size={self.sketch_size}, a sketch of "
                f"{size} directions, but what was learned so far has {state.size}; expected the "
                "same for every chunk. Set it back, or call fit() to start anew."
            )
        return Sketch(state.size, compress(state.B, X, state.size))

    def _score_state(self, state: Sketch, n_rows: int) -> NDArray[np.float64]:
        n_clusters = whole("n_clusters", self.n_clusters, least=1)
        exponent = number("ridge_exponent", self.ridge_exponent, least=0.0)
        return ridge_weights(state.B[:, :n_clusters], exponent)


def compress(B: NDArray[np.float64], X: Block, size: int) -> NDArray[np.float64]:
    """Take the rows of X into a sketch: one step of frequent directions.

    The left singular vectors of C = [B, Xᵀ], with every squared singular value lowered by the
    `size`-th, as far as it lasts. 0 ⪯ CCᵀ − BBᵀ, with no eigenvalue above the one taken off. The
    columns are orthogonal, the longest first; those of length zero are left out.
    """
    d, r = B.shape
    X = X.astype(np.float64, copy=False)
    wide = d > r + X.shape[0]
    if wide:
        BtX = (X @ B).T
        gram = np.block([[B.T @ B, BtX], [BtX.T, dense(X @ X.T)]])
    else:
        gram = B @ B.T + dense(X.T @ X)
    values, vectors = _leading(gram, size)
    left = values - (max(0.0, values[size - 1]) if len(values) == size else 0.0)
    kept = left > _NOTHING * values[0]
    values, left, vectors = values[kept], left[kept], vectors[:, kept]
    if wide:
        # C times a right singular vector is the left one, times the singular value.
        vectors *= np.sqrt(left / values)
        sketch: NDArray[np.float64] = B @ vectors[:r]
        sketch += X.T @ vectors[r:]
    else:
        sketch = vectors * np.sqrt(left)
        # Features that have not been seen have no part, not even by rounding.
        sketch[np.diagonal(gram) == 0] = 0
    return sketch


def ridge_weights(B: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """Return max_i |x_ij| of every feature j, where x_i = u_i s_i / (s_i² + 2^exponent s_k).

    u_i s_i are the columns of B, and s_k is the last of their lengths.
    """
    if not B.shape[1]:
        return np.zeros(B.shape[0])
    lengths = np.linalg.norm(B, axis=0)
    ridge = 2.0 ** min(exponent, _LARGEST_EXPONENT) * (lengths[-1] / lengths)
    return np.asarray(np.max(np.abs(B) / lengths / (lengths + ridge), axis=1))


def _leading(
    gram: NDArray[np.float64], size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the `size` largest eigenvalues, in falling order, and their eigenvectors."""
    m = len(gram)
    if _FEW * size < m:
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=(m - size, m - 1))
    else:
        values, vectors = np.linalg.eigh(gram)
    return values[::-1][:size], vectors[:, ::-1][:, :size]
