"""SPEC and the Laplacian score: features that agree with a graph of the rows."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from omvfs.model.arrays import Block
from omvfs.parameters import one_of
from paper.graphs import FloatArray, GraphSelector, degrees, in_double, smoothness, spectrum


@dataclass(eq=False, repr=False, kw_only=True)
class LaplacianScore(GraphSelector):
    """The Laplacian score (He, Cai, Niyogi 2005): features that neighbouring rows agree on.

    With the weights S of a graph of the rows, D = diag(S1), L = D − S, and f̃ a feature f less its
    mean under D, the score is 1 − f̃ᵀLf̃ / f̃ᵀDf̃: between -1 and 1, larger is better. It is the
    correlation of the feature with itself at the neighbours.

    Of our choice: one minus the paper's score, where smaller is better; the width of the kernel;
    and -2 for a feature that is constant on the rows that are joined, for which the paper's score
    is 0/0. Where no rows are joined, all features get -2.

    Parameters are those of `GraphSelector`.

    Examples
    --------
    >>> X = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 9.0], [8.0, 5.0, 1.0], [9.0, 5.0, 9.0]])
    >>> chain = np.array([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> LaplacianScore(graph=chain).fit(X).scores_.round(2)
    array([ 0.9, -2. , -1. ])
    """

    def _score_on(self, W: sp.csr_array, X: Block, rng: np.random.Generator) -> FloatArray:
        rough, _, spread = smoothness(X, W)
        scores = np.full(X.shape[1], -2.0)
        varies = spread > 0
        scores[varies] = 1 - rough[varies] / spread[varies]
        return scores


@dataclass(eq=False, repr=False, kw_only=True)
class SPEC(GraphSelector):
    """SPEC (Zhao, Liu 2007): features that agree with the spectrum of the graph.

    With the weights S of a graph of the rows, D = diag(S1) and 𝓛 = D^-½ (D − S) D^-½, the
    eigenvalues of 𝓛 are 0 = λ₁ ≤ λ₂ ≤ … ≤ 2, its eigenvectors ξ₁ = D^½ 1 / ‖D^½ 1‖, ξ₂, …, and a
    feature f enters as f̂ = D^½ f / ‖D^½ f‖, with α_j = f̂ᵀξ_j. The paper has three styles of score:

    1. φ₁ = f̂ᵀ𝓛f̂ = Σ_j λ_j α_j², smaller is better;
    2. φ₂ = φ₁ / (1 − α₁²), smaller is better, the same as the Laplacian score;
    3. φ₃ = Σ_j (2 − λ_j) α_j² over the first K eigenvectors, larger is better.

    Scores are 2 − φ₁ = Σ_j (2 − λ_j) α_j², 2 − φ₂ or φ₃: between 0 and 2, larger is better.

    Of our choice: 2 − φ; K eigenvectors after the trivial ξ₁ in φ₃, as with it the more constant a
    feature is the more it would gain; and -1 for a feature that is constant on the rows that are
    joined, which φ₁ would take for the best. The spectrum enters as it is: the paper's γ(λ) is λ.

    Parameters
    ----------
    Those of `GraphSelector`, and

    n_clusters : int, default=8
        The K of style 3. Other styles do not use it.
    style : {1, 2, 3}, default=3
        Which of the scores.
    random_state : int, RandomState instance or None, default=None
        Where the search for eigenvectors starts. It decides nothing but their rounding, unless
        eigenvalues coincide.

    Examples
    --------
    >>> X = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 9.0], [8.0, 5.0, 1.0], [9.0, 5.0, 9.0]])
    >>> chain = np.array([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> SPEC(1, graph=chain).fit(X).scores_.round(2)
    array([ 0.84, -1.  ,  0.  ])
    """

    n_clusters: int = field(default=8, kw_only=False)
    style: int = 3
    random_state: Any = None

    def _check_params(self) -> None:
        super()._check_params()
        one_of("style", self.style, (1, 2, 3))

    def _score_on(self, W: sp.csr_array, X: Block, rng: np.random.Generator) -> FloatArray:
        rough, total, spread = smoothness(X, W)
        varies = spread > 0
        scores = np.full(X.shape[1], -1.0)
        if self.style == 3:
            values, vectors = spectrum(W, self.n_clusters, rng)
            products = in_double(X).T @ (np.sqrt(degrees(W))[:, np.newaxis] * vectors)
            gains = np.square(products) @ (2 - values)
            scores[varies] = gains[varies] / total[varies]
        else:
            size = total if self.style == 1 else spread
            scores[varies] = 2 - rough[varies] / size[varies]
        return scores
