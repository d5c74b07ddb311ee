"""A transformer of river: rows come one by one as dicts, and are learned from by chunks."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from river import base

from omvfs.omvfs import OMVFS
from omvfs.parameters import whole
from omvfs.prepare import hash_bits, steps_of

__all__ = ["Selector"]

_SEPARATOR = "__"


class Selector(base.MiniBatchTransformer):
    """Selects features of a stream of dicts by `OMVFS`, without labels.

    Rows are gathered until there are `batch_size` of them, which are then learned from as one
    chunk: it is the same, to the bit, as `OMVFS.partial_fit` on these chunks, features of a row in
    the order of their names, as dicts of river have none. Features may come and go; those that x
    lacks are 0. Until the first chunk is learned, all features pass.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters of rows.
    n_features : int, float, or mapping of str to either, default=100
        How many features to select of each view, or which share.
    batch_size : int, default=200
        Rows of a chunk.
    views : "prefix" or None, default=None
        Whether features are called ``view__feature``; by default all are of one view. A row
        without any feature of a view lacks it. The views are those of the first chunk.
    seed : int, default=None
        Of every random choice.
    **params
        Further parameters of `OMVFS`. `new_features` is "grow" unless it is given. `prepare` must
        not hash features.

    Attributes
    ----------
    model : OMVFS
        What was learned so far.
    n_pending : int
        Rows that wait for their chunk.

    Examples
    --------
    >>> from omvfs.integrations.river import Selector
    >>> selector = Selector(n_clusters=2, n_features=2, batch_size=20, seed=0)
    >>> for i in range(40):
    ...     animals = i % 2 == 0
    ...     x = {"cat": 2, "dog": 1, "the": 1} if animals else {"car": 2, "bus": 1, "the": 1}
    ...     selector.learn_one(x)
    >>> selector.transform_one({"cat": 3, "the": 1, "new": 1})
    {'cat': 3}
    """

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        n_features: Any = 100,
        *,
        batch_size: int = 200,
        views: Literal["prefix"] | None = None,
        seed: int | None = None,
        **params: Any,
    ) -> None:
        if views not in (None, "prefix"):
            raise ValueError(f"Got views={views!r}; expected 'prefix', or None for one view.")
        if taken := {"random_state", "n_features_per_view"} & params.keys():
            raise TypeError(f"Got {min(taken)}=; river's word is seed=, and n_features= is ours.")
        whole("batch_size", batch_size, least=1)
        if any(hash_bits(step) for _, step in steps_of("prepare", params.get("prepare"))):
            raise ValueError(
                f"Got prepare={params['prepare']!r}; expected no 'hash': what is hashed has no "
                "names to select by. Hash them by a transformer before."
            )
        self.n_clusters = n_clusters
        self.n_features = n_features
        self.batch_size = batch_size
        self.views = views
        self.seed = seed
        self.params = params
        self.model = OMVFS(
            n_clusters,
            n_features_per_view=n_features,
            batch_size=batch_size,
            random_state=seed,
            **{"new_features": "grow", **params},
        )
        self._pending: list[dict[str, Any]] = []
        self._chosen: frozenset[str] | None = None
        self._asked_at = 0

    @property
    def n_pending(self) -> int:
        """Rows that wait for their chunk."""
        return len(self._pending)

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Take in a row, and learn from the chunk if it is full.

        Parameters
        ----------
        x : dict
            Numbers by feature. A chunk that cannot be learned from is dropped, and the error says
            why.
        """
        named = {str(name): value for name, value in x.items()}
        self._pending.append(dict(sorted(named.items())))
        if len(self._pending) >= self.batch_size:
            self.learn_pending()

    def learn_many(self, X: Any) -> None:
        """Take in the rows of a frame, one by one.

        Parameters
        ----------
        X : pandas.DataFrame
            A feature a column; NaN where a row lacks it.
        """
        for row in X.to_dict("records"):
            there = {name: value for name, value in row.items() if value is not None}
            self.learn_one({name: value for name, value in there.items() if value == value})

    def learn_pending(self) -> None:
        """Learn from the rows that wait, however few: at the end of a stream."""
        rows, self._pending = self._pending, []
        if rows:
            self.model.partial_fit(rows if self.views is None else self._by_view(rows))

    def transform_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return the selected features of a row, values as they are.

        Parameters
        ----------
        x : dict
        """
        return {name: x[name] for name in self._selected_of(x)}

    def transform_many(self, X: Any) -> Any:
        """Return the selected columns of a frame, those of them that it has.

        Parameters
        ----------
        X : pandas.DataFrame
        """
        return X[self._selected_of(X.columns)]

    def _selected_of(self, names: Iterable[Any]) -> list[Any]:
        """Return which of some features are selected, asked anew after a chunk; all before."""
        seen = getattr(self.model, "n_samples_seen_", 0)
        if seen != self._asked_at:
            schema, named = self.model.schema_, self.views == "prefix"
            self._chosen = frozenset(
                f"{view}{_SEPARATOR}{name}" if named else name
                for view, mask in self.model.view_support_.items()
                for name, taken in zip(schema.names_of(view), mask.tolist(), strict=True)
                if taken
            )
            self._asked_at = seen
        chosen = self._chosen
        return [name for name in names if chosen is None or str(name) in chosen]

    def _by_view(self, rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any] | None]]:
        """Return rows by view, None where a row has nothing of it."""
        parts: list[dict[str, dict[str, Any]]] = []
        views = dict.fromkeys(self.model.schema_.names if hasattr(self.model, "schema_") else ())
        for row in rows:
            own: dict[str, dict[str, Any]] = {}
            for name, value in row.items():
                view, separator, feature = name.partition(_SEPARATOR)
                if not separator:
                    raise ValueError(
                        f"Got the feature {name!r}; expected view__feature, as views='prefix' says."
                    )
                own.setdefault(view, {})[feature] = value
            views |= dict.fromkeys(own)
            parts.append(own)
        # A row without any feature has nothing in any view, rather than no view.
        return {view: [part.get(view) if part else {} for part in parts] for view in views}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_clusters": 2, "n_features": 3, "batch_size": 25, "seed": 0}
