"""The Laplacian score: features that agree with a graph of the rows."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from omvfs.baselines.graphs import GraphSelector, smoothness
from omvfs.data.blocks import Block


@dataclass(eq=False, repr=False, kw_only=True)
class LaplacianScore(GraphSelector):
    """The Laplacian score (He, Cai, Niyogi 2005): features that neighbouring rows agree on.

    With the weights S of a graph of the rows, D = diag(S1), L = D − S, and f̃ a feature f less its
    mean under D, the score is 1 − f̃ᵀLf̃ / f̃ᵀDf̃: between -1 and 1, larger is better. It is the
    correlation of the feature with itself at the neighbours.

    Of our choice: one minus the paper's score, where smaller is better; the width of the kernel;
    and -2 for a feature that is constant on the rows that are joined, for which the paper's score
    is 0/0. Where no rows are joined, all features get -2.

    Parameters
    ----------
    {shared}
    {graph}

    Examples
    --------
    >>> X = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 9.0], [8.0, 5.0, 1.0], [9.0, 5.0, 9.0]])
    >>> chain = np.array([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> LaplacianScore(graph=chain).fit(X).scores_.round(2)
    array([ 0.9, -2. , -1. ])
    """

    def _score_on(self, W: sp.csr_array, X: Block, rng: np.random.Generator) -> NDArray[np.float64]:
        rough, _, spread = smoothness(X, W)
        scores = np.full(X.shape[1], -2.0)
        varies = spread > 0
        scores[varies] = 1 - rough[varies] / spread[varies]
        return scores
