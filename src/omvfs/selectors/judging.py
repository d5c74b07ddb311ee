"""Are the selected features any good, and how many are needed? Asked of OMVFS, without classes."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from omvfs.constraints import checked, total_of
from omvfs.data.schema import Schema
from omvfs.fitted import FittedState
from omvfs.model.ranking.request import Ranking
from omvfs.model.settings import AUTO
from omvfs.parameters import number, whole
from omvfs.results import SelectionQuality, SelectionStability, TooFewRowsError, sizes_to_judge
from omvfs.selector import Journal, sizes_by_view
from omvfs.threads import alone, on_one_thread


class JudgesSelection:
    """Adds `selection_quality_`, `suggest_n_features` and `stability` to the estimator."""

    n_features_per_view: Any
    n_features_to_select: Any = None
    schema_: Schema
    _ranking: Ranking
    _journal: Journal[FittedState]

    @property
    def selection_quality_(self) -> SelectionQuality:
        """How much of the consensus clusters the best features alone reproduce, by their number.

        The rows of the reservoir are halved, twice. Features are ranked by one half; the rows of
        the other are clustered on the best features alone, and the clusters compared with the
        consensus clusters by normalised mutual information. With `n_features_to_select` numbers are
        of all views, shared between them as the selection is.

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> from omvfs.datasets import make_planted
        >>> planted = make_planted(600, n_features=(300, 200), random_state=0)
        >>> selector = OMVFS(n_clusters=5, random_state=0).fit(planted.views)
        >>> quality = selector.selection_quality_
        >>> bool(quality.at(40) > quality.at(2))
        True
        >>> list(quality.views)
        ['view_0', 'view_1']
        """
        return self._judged()

    @alone
    def suggest_n_features(self, view: str | None = None) -> int:
        """Return how many features are enough: where `selection_quality_` levels off.

        More than so many gain no more than judgements differ by.

        Parameters
        ----------
        view : str, default=None
            Judge this view alone; by default, all views together, so many features of each, or,
            with `n_features_to_select`, in all.
        """
        if view is None:
            return self._judged(alone=False).levels_off_at
        check_is_fitted(self)
        self.schema_.number_of(view)
        return self._judged().views[view].levels_off_at

    @alone
    @on_one_thread
    def stability(
        self, n_resamples: int = 20, *, share: float = 0.5, quick: bool = False
    ) -> SelectionStability:
        """Return how much of the selection stays under other rows and other seeds.

        Each time some rows of the reservoir are drawn, clustered from another seed into as many
        clusters, and the features ranked by them alone. What was learned is not changed, and the
        answer is the same every time.

        Parameters
        ----------
        n_resamples : int, default=20
            How often rows are drawn, at least twice.
        share : float, default=0.5
            Of the rows of the reservoir, those that are drawn, above 0 and at most 1. With 1 only
            the seed differs.
        quick : bool, default=False
            Whether the rows that are drawn are clustered with little effort, from few starts and
            without a graph, as the first rows of a stream are. It takes a fifth of the time, and on
            the whole tells of less stability than there is.

        Returns
        -------
        SelectionStability
            By view the share of the resamples in which each feature is selected, and the stability
            of Nogueira, Sechidis and Brown (2018): 1 if they select the same, about 0 if they agree
            no more than by chance. Its interval takes resamples for independent, which those of one
            reservoir are only in part.

        Examples
        --------
        >>> from omvfs import OMVFS
        >>> from omvfs.datasets import make_planted
        >>> planted = make_planted(600, n_features=(300, 200), random_state=0)
        >>> selector = OMVFS(5, n_features_per_view=20, random_state=0).fit(planted.views)
        >>> found = selector.stability(5)
        >>> found.index.value > 0.5, found.views["view_0"].frequencies.shape
        (True, (300,))
        """
        check_is_fitted(self)
        n_resamples = whole("n_resamples", n_resamples, least=2)
        share = number("share", share, least=0.0, most=1.0, above=True)
        sizes, known = self._sizes(), self._journal.known
        order = [sizes[view] for view in self.schema_.names]
        found = known.queries.selections(self._ranking, order, n_resamples, share, quick)
        if found is None:
            n, K = len(known.queries.sample), known.queries.K
            raise TooFewRowsError(
                f"Got {n:,} rows to draw from, those of the reservoir that are not forgotten, and "
                f"share={share:g} of them; expected to draw at least {max(2, K):,}, one for each "
                "cluster. Learn from more rows, or with a larger sample."
            )
        return SelectionStability.of(dict(zip(self.schema_.names, found, strict=True)))

    @alone
    @on_one_thread
    def _judged(self, alone: bool = True) -> SelectionQuality:
        """Return `selection_quality_`; without views alone in less than half of the time."""
        check_is_fitted(self)
        in_all = self.n_features_to_select is not None
        sizes = sizes_to_judge(self.schema_.widths, in_all)
        return self._journal.known.quality(self._ranking, sizes, in_all, alone)

    def _sizes(self) -> dict[str, int]:
        """Return how many features are selected by view name, ``"auto"`` being what is enough."""
        names = self.schema_.names
        if self.n_features_to_select is not None:
            return dict(zip(names, self._shared(), strict=True))
        asked = checked("n_features_per_view", self.n_features_per_view, names)
        enough = self.suggest_n_features() if AUTO in asked else None
        sizes: list[Any] = [enough if size == AUTO else size for size in asked]
        return sizes_by_view(dict(zip(names, sizes, strict=True)), self.schema_)

    @alone
    @on_one_thread
    def _shared(self) -> tuple[int, ...]:
        """Return how many features of each view are selected, of so many in all."""
        total = total_of(self.n_features_to_select, self.schema_)
        return self._journal.known.budget(self._ranking, total)
