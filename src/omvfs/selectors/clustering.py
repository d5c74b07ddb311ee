"""Estimators that tell the clusters of rows."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from omvfs.fitted import FittedState
from omvfs.model.constrained.number import ClusterCurve
from omvfs.model.settings import AUTO
from omvfs.threads import alone, on_one_thread
from omvfs.wording import Sentence, Setting


class ClustersRows:
    """Adds what can be asked of the clusters of rows to the estimator."""

    _read_next: Any

    if TYPE_CHECKING:

        def fit(self, X: Any, y: Any = None) -> Self:
            """Learn from X anew."""

    @property
    @abstractmethod
    def _fitted(self) -> FittedState:
        """What was learned."""

    @property
    @abstractmethod
    def _checked_negative_mode(self) -> Any:
        """How `as_views` is to take negative values after the first chunk."""

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.intp]:
        """Learn from X anew, and return the consensus cluster of every row.

        Parameters
        ----------
        X : anything `as_views` accepts
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_rows,)
            As ``fit(X).predict(X)``.
        """
        labels: NDArray[np.intp] = self.fit(X, y).labels_
        return labels

    @alone
    @on_one_thread
    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the consensus cluster of new rows, by their fit in all views and their neighbours.

        Neighbours are asked among the rows kept in the reservoir; without it or a graph the fit
        alone decides.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return self._fitted.predict(self._read_next(X, self._checked_negative_mode))

    @alone
    @on_one_thread
    def explained_share(self, X: Any, y: Any = None) -> float:
        """Return the share of ‖X‖² that the consensus clusters explain, between 0 and 1.

        Parameters
        ----------
        X : anything `as_views` accepts
            Rows with the views that were fitted.
        y : ignored
            For compatibility with scikit-learn.
        """
        check_is_fitted(self)
        return self._fitted.explained(self._read_next(X, self._checked_negative_mode))

    @property
    @alone
    def labels_(self) -> NDArray[np.intp]:
        """Consensus cluster of every row that `fit` was given."""
        check_is_fitted(self)
        labels: NDArray[np.intp] | None = getattr(self, "_labels", None)
        if labels is None or len(labels) != self._fitted.n_rows:
            raise AttributeError(
                "labels_ is of the rows of fit(); after partial_fit(), load() or merge() they are "
                "not known any more. Use predict(X), or window_labels_ for the last chunks."
            )
        return labels.copy()

    @property
    @alone
    @on_one_thread
    def window_labels_(self) -> NDArray[np.intp]:
        """Consensus cluster of every row in the window."""
        check_is_fitted(self)
        return self._fitted.queries.window_labels()

    @property
    @alone
    @on_one_thread
    def view_weights_(self) -> dict[str, float | None]:
        """What the squares of each view count by in the clusters; 0.01 if it is not heard."""
        check_is_fitted(self)
        return self._fitted.view_weights()

    @property
    @alone
    @on_one_thread
    def n_clusters_(self) -> int:
        """Number of consensus clusters in force."""
        check_is_fitted(self)
        return self._fitted.queries.K

    @property
    @alone
    @on_one_thread
    def n_clusters_curve_(self) -> ClusterCurve:
        """How far views agree on clusters, by their number."""
        check_is_fitted(self)
        curve = self._fitted.queries.cluster_curve
        if curve is None:
            raise AttributeError(
                Sentence(
                    "n_clusters_curve_ is of rows that are asked how many clusters there are, by ",
                    Setting("n_clusters", AUTO),
                    "; here a number was given, or all rows are forgotten.",
                )
            )
        return curve
