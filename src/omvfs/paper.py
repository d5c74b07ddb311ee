"""OMVFSPaper, the method as the paper prints it."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from omvfs.constraints import NegativeMode
from omvfs.data.schema import NewFeatures
from omvfs.model.ranking.criteria import Criterion
from omvfs.model.settings import Graph
from omvfs.omvfs import OMVFS
from omvfs.selector import SelectSize


class OMVFSPaper(OMVFS):
    """OMVFS as the paper prints it, slips put right: for comparison, not for use.

    Multiplicative updates with a penalty on UᵀU − I, from a random start in every chunk, and the
    dense Gaussian graph. It selects much like column sums, and takes hundreds of times as long as
    `OMVFS`; ``docs/method.md`` and ``docs/authors-code.md`` tell why. It holds no rows but those
    of the window, so that it knows neither repetition nor drift, nor how good a selection is.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of consensus clusters K.
    n_features_per_view : int, float, mapping of str to either, or None, default=100
        Features to select per view: at most so many, a share, either by view name, or all.
    views : sequence of int, or mapping of str to columns, default=None
        How one 2-D X splits into views: widths, or columns by view name.
    prepare : str, sequence of str, or mapping of str to any of them, default=None
        What rows go through before they are learned from; see `OMVFS`.
    criterion : {"norm", "balanced", "information", "contrast"} or callable, default="norm"
        What makes features good; see `OMVFS`.
    graph_weight : float or mapping of str to float, default=1.0
        α: how much similar rows pull each other into one cluster, for all views or by view.
    sparsity : float or mapping of str to float, default=1.0
        β: weight of ‖V‖_{2,1}, for all views or by view.
    orthogonality : float, default=1e7
        γ: weight of the penalty on UᵀU − I.
    batch_size : int, default=200
        m: rows of a chunk in `fit`.
    window : int or None, default=2
        s: chunks to whose rows U is fitted, and `window_labels_` tells of; None never drops one.
    half_life : float or None, default=None
        Rows after which a row counts half; by default no row fades.
    graph : {"gaussian", "neighbors", "none"}, default="gaussian"
        Similarity of rows.
    n_neighbors : int, default=20
        Neighbours of a row in the graph "neighbors".
    scale_columns : bool, default=False
        Scale every column to unit norm over all rows so far.
    view_weight : "balanced", mapping of str to float, or None, default=None
        Say of the views, see `OMVFS`; the paper takes them as they come.
    negative : {"error", "clip", "shift"}, default="error"
        Refuse negative values, set them to 0, or raise each column by its lowest value.
    new_features : {"error", "grow"}, default="error"
        Refuse features that the first chunk had not, or take them in; see `OMVFS`. Their rows of V
        begin at random, as those of the first chunk did.
    max_iter : int, default=200
        Most iterations of a chunk, at most 10,000.
    tol : float, default=1e-6
        Relative change of the objective at which it stops.
    random_state : int, RandomState instance or None, default=None
        Seed of every random choice.

    See Also
    --------
    OMVFS : The method to use, with the same attributes.

    References
    ----------
    W. Shao, L. He, C.-T. Lu, X. Wei, P. S. Yu: Online Unsupervised Multi-view Feature Selection,
    ICDM 2016.

    Examples
    --------
    >>> from omvfs import OMVFSPaper
    >>> from omvfs.datasets import make_planted
    >>> planted = make_planted(200, n_features=(300, 200), random_state=0)
    >>> paper = OMVFSPaper(n_clusters=5, max_iter=20, random_state=0).fit(planted.views)
    >>> {view: V.shape for view, V in paper.V_.items()}
    {'view_0': (300, 5), 'view_1': (200, 5)}
    """

    _fixed: ClassVar[Mapping[str, Any]] = {
        "solver": "paper",
        "sample_size": 0,
        "n_init": 1,
        "diversity": 0.0,
        "recency": 0.0,
        "detect_drift": False,
        "n_features_to_select": None,
    }

    n_features_to_select = None

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_features_per_view: SelectSize | Any = 100,
        views: Any = None,
        prepare: Any = None,
        criterion: Criterion = "norm",
        graph_weight: float | Mapping[str, float] = 1.0,
        sparsity: float | Mapping[str, float] = 1.0,
        orthogonality: float = 1e7,
        batch_size: int = 200,
        window: int | None = 2,
        half_life: float | None = None,
        graph: Graph = "gaussian",
        n_neighbors: int = 20,
        scale_columns: bool = False,
        view_weight: Any = None,
        negative: NegativeMode = "error",
        new_features: NewFeatures = "error",
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_features_per_view = n_features_per_view
        self.views = views
        self.prepare = prepare
        self.criterion = criterion
        self.graph_weight = graph_weight
        self.sparsity = sparsity
        self.orthogonality = orthogonality
        self.batch_size = batch_size
        self.window = window
        self.half_life = half_life
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.scale_columns = scale_columns
        self.view_weight = view_weight
        self.negative = negative
        self.new_features = new_features
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def partial_fit(
        self, X: Any, y: Any = None, *, start_U: Any = None, start_V: Any = None
    ) -> Self:
        """Learn from one more chunk; a call that fails changes nothing.

        Parameters
        ----------
        X : anything `as_views` accepts
            The chunk, of any number of rows. Use `rechunk` to cut a stream to equal chunks.
        y : ignored
            For compatibility with scikit-learn.
        start_U : array of shape (n_rows, n_clusters), optional
            Clusters of the chunk to start from, instead of random ones.
        start_V : mapping of str to array of shape (n_features_of_view, n_clusters), optional
            Feature matrices to start from, by view name.

        Returns
        -------
        self
        """
        return self._partial_fit(X, start_U=start_U, start_V=start_V)
