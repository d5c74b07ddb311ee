"""How well clusters agree with known classes."""

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from omvfs.model.arrays import IntArray
from omvfs.parameters import one_of

AverageMethod: TypeAlias = Literal["max", "geometric", "arithmetic", "min"]


def clustering_accuracy(labels_true: Any, labels_pred: Any) -> float:
    """Return the share of rows that are right under the best naming of the clusters.

    Each cluster is matched with at most one class, and each class with at most one cluster, so that
    as many rows as possible are in the class of their cluster. There may be more clusters than
    classes, or fewer; the rows of a cluster without a class are wrong.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_rows,)
        Class and cluster of every row: numbers, strings or booleans.

    Returns
    -------
    float
        Above 0 and at most 1.

    Examples
    --------
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [7, 7, 3, 5])
    0.75
    """
    table = contingency_matrix(*_checked(labels_true, labels_pred))
    return float(table[linear_sum_assignment(-table)].sum() / table.sum())


def normalized_mutual_information(
    labels_true: Any, labels_pred: Any, average_method: AverageMethod = "max"
) -> float:
    """Return the mutual information of clusters and classes over a mean of their entropies.

    Where clusters and classes are both only one they agree, and it is 1. Where only one of the two
    is, they share nothing, and it is 0.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_rows,)
        Class and cluster of every row: numbers, strings or booleans.
    average_method : {"max", "geometric", "arithmetic", "min"}, default="max"
        What the mutual information is divided by: the larger of the two entropies (Xu, Liu and Gong
        2003), √(H H′), their mean, or the smaller.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> round(normalized_mutual_information([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.667
    >>> round(normalized_mutual_information([0, 0, 1, 1], [0, 0, 1, 2], "geometric"), 3)
    0.816
    """
    one_of("average_method", average_method, get_args(AverageMethod))
    true, pred = _checked(labels_true, labels_pred)
    nmi = float(normalized_mutual_info_score(true, pred, average_method=average_method))
    return min(max(nmi, 0.0), 1.0)  # rounding


def numbered(name: str, labels: Any) -> IntArray:
    """Return labels as numbers 0, 1, ... in the order of the sorted labels.

    Examples
    --------
    >>> numbered("labels", ["dog", "cat", "dog"])
    array([1, 0, 1])
    """
    array = np.asarray(labels)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"Got {name} of shape {array.shape}; expected one label for every row.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"Got {name} that are not finite; expected one label for every row.")
    try:
        numbers: IntArray = np.unique(array, return_inverse=True)[1]
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in array.tolist()}))
        raise TypeError(f"Got {name} of kinds {kinds}; expected labels of one kind.") from error
    return numbers


def _checked(labels_true: Any, labels_pred: Any) -> tuple[IntArray, IntArray]:
    true, pred = numbered("labels_true", labels_true), numbered("labels_pred", labels_pred)
    if len(true) != len(pred):
        raise ValueError(
            f"Got {len(true):,} labels_true and {len(pred):,} labels_pred; expected as many."
        )
    return true, pred
