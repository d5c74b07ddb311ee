"""Laws of word frequencies, class by class, and rows drawn from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class ViewLaw:
    """How the rows of one view are drawn.

    `cumulative` holds one cumulative law per segment and class, the c-th running from c to c + 1,
    so that one search serves every row of a block whatever its class. `guide` says where to begin:
    entry i is the first word whose cumulative law exceeds i / `cells`.
    """

    name: str
    n_features: int
    n_words: int
    missing: float
    cumulative: FloatArray
    guide: NDArray[np.int32]
    cells: int


def base_law(n_features: int, exponent: float, offset: float) -> FloatArray:
    """Return frequencies by rank, the most frequent first, summing to 1."""
    ranks = np.arange(1, n_features + 1, dtype=np.float64)
    p: FloatArray = (ranks + offset * n_features) ** -exponent
    p /= p.sum()
    return p


def informative_ranks_of(
    rng: np.random.Generator, n_ranks: int, n_informative: int, n_segments: int
) -> IntArray:
    """Choose one rank of every stratum, another one in the next segment.

    Returns one row of ranks, ascending, per segment.
    """
    strata = np.array_split(np.arange(n_ranks), n_informative)
    turns = np.arange(n_segments)
    return np.stack([rng.permutation(s)[turns % len(s)] for s in strata], axis=1)


def assign_classes(p: FloatArray, weights: FloatArray) -> IntArray:
    """Deal the words to the classes so that each has its share of the frequency `p`.

    Words come most frequent first, and each goes to the class furthest below its share: small
    words last, to even out what the large ones left.
    """
    share = np.zeros(len(weights))
    g = np.empty(len(p), dtype=np.intp)
    for j, frequency in enumerate(p):
        g[j] = np.argmin(share / weights)
        share[g[j]] += frequency
    return g


def class_laws(p: FloatArray, g: IntArray, weights: FloatArray, concentration: float) -> FloatArray:
    """Return the law of words in each class; their mean by `weights` is exactly `p`.

    With q the law within the informative words, Q_c the part of class c and w_c its weight, class c
    draws its own words with probability t_c = concentration Q_c / w_c. The mean over the classes is
    then q_j (1 - sum_c w_c t_c + w_g t_g / Q_g) = q_j, whatever the Q.
    """
    words = np.flatnonzero(g >= 0)
    mass = p[words].sum()
    q = p[words] / mass
    share = np.bincount(g[words], weights=q, minlength=len(weights))
    own = concentration * share / weights
    own /= max(1.0, own.max())
    belongs = g[words] == np.arange(len(weights))[:, np.newaxis]
    laws = np.tile(p, (len(weights), 1))
    own_law = belongs * (q / share[g[words]])
    laws[:, words] = mass * ((1 - own)[:, np.newaxis] * q + own[:, np.newaxis] * own_law)
    return laws


def cumulative_laws(laws: FloatArray) -> FloatArray:
    """Lay the cumulative laws end to end, the c-th rising from c to c + 1."""
    cumulative = np.cumsum(laws, axis=1)
    cumulative /= cumulative[:, -1:]
    cumulative += np.arange(len(laws))[:, np.newaxis]
    return cumulative.ravel()


def guide_to(cumulative: FloatArray, n_features: int) -> tuple[NDArray[np.int32], int]:
    """Cut every law into equal cells, a few per word, and note the first word of each cell."""
    # A power of two: finding the cell of a number is then exact.
    cells = 4 << n_features.bit_length()
    n_laws = len(cumulative) // n_features
    edges = np.arange(n_laws * cells) / cells
    return np.searchsorted(cumulative, edges, side="right").astype(np.int32), cells


def _look_up(view: ViewLaw, x: FloatArray) -> IntArray:
    """Return the first index whose cumulative law exceeds x: `searchsorted`, only faster.

    Most words are the first of their cell; the others are searched.
    """
    index = view.guide[(x * view.cells).astype(np.intp)].astype(np.intp)
    short = np.flatnonzero(view.cumulative[index] <= x)
    index[short] = np.searchsorted(view.cumulative, x[short], side="right")
    return index


def draw_rows(
    view: ViewLaw, laws: IntArray, u: FloatArray, present: BoolArray, dtype: np.dtype[Any]
) -> sp.csr_array:
    """Turn uniform numbers, one per word, into rows of counts."""
    laws, u = laws[present, np.newaxis], u[present]
    # Sorting the numbers sorts the words of each row.
    u.sort(axis=1)
    # u + c may round up to c + 1, which is the next class's law.
    x = np.minimum(u + laws, np.nextafter(laws + 1.0, 0.0))
    words = _look_up(view, x.ravel()).reshape(x.shape) - laws * view.n_features
    first = np.ones(words.shape, dtype=bool)
    np.not_equal(words[:, 1:], words[:, :-1], out=first[:, 1:])
    starts = np.flatnonzero(first)
    counts = np.diff(starts, append=words.size)
    indptr = np.zeros(len(present) + 1, dtype=np.int32)
    indptr[1:][present] = first.sum(axis=1)
    np.cumsum(indptr, out=indptr)
    return sp.csr_array(
        (counts.astype(dtype), words.ravel()[starts].astype(np.int32), indptr),
        shape=(len(present), view.n_features),
    )
