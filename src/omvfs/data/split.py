"""From columns of any kind to views: a ColumnTransformer whose parts are not put together."""

from collections.abc import Sequence
from typing import Any, Self

from sklearn.compose import ColumnTransformer
from sklearn.utils.validation import _num_samples

from omvfs.data.blocks import labels_of
from omvfs.data.views import Views


class ViewTransformer(ColumnTransformer, auto_wrap_output_keys=None):  # type: ignore[call-arg, misc]
    """Makes each view of some columns of X, by a transformer of its own.

    It is `sklearn.compose.ColumnTransformer`, but what its transformers return is not put side by
    side: it becomes `Views`, each part of the kind it is, sparse or dense, with its names. So
    nothing need be told of widths, which differ from fold to fold.

    Parameters
    ----------
    transformers : list of (str, transformer, columns)
        As for ColumnTransformer; the name is that of the view. ``ViewTransformer(ct.transformers)``
        does as a ColumnTransformer ``ct``.
    remainder : {"drop", "passthrough"} or transformer, default="drop"
        What becomes of columns that no transformer takes; the view is called ``remainder``.
    n_jobs : int or None, default=None
        Jobs at a time.
    verbose : bool, default=False
        Whether to print the time of each transformer.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from omvfs import OMVFS, ViewTransformer
    >>> posts = pd.DataFrame(
    ...     {
    ...         "title": ["red apple", "green apple", "fast car", "red car"],
    ...         "width": [1.0, 2.0, 8.0, 9.0],
    ...         "height": [1.0, 1.0, 4.0, 5.0],
    ...     }
    ... )
    >>> views = ViewTransformer(
    ...     [
    ...         ("text", CountVectorizer(), "title"),
    ...         ("size", "passthrough", ["width", "height"]),
    ...     ]
    ... )
    >>> views.fit_transform(posts)
    Views(4 rows; text: 5 sparse, size: 2; float64)
    >>> selector = OMVFS(2, n_features_per_view=1, random_state=0)
    >>> make_pipeline(views, selector).fit_transform(posts).shape
    (4, 2)
    """

    def __init__(
        self,
        transformers: Sequence[tuple[str, Any, Any]],
        *,
        remainder: Any = "drop",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(transformers, remainder=remainder, n_jobs=n_jobs, verbose=verbose)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Views:
        """Fit all transformers, and return what they make of X.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_columns)
        y : array-like, default=None
            Handed to the transformers.
        **params
            As for ColumnTransformer.
        """
        blocks = super().fit_transform(X, y, **params)
        if not isinstance(blocks, dict):
            raise ValueError("No transformer was given any columns; expected a view at least.")
        # Asked for once: a vocabulary is sorted to tell its words.
        self._names = {name: _names_of(self.named_transformers_[name]) for name in blocks}
        return self._views(blocks, X)

    def transform(self, X: Any, **params: Any) -> Views:
        """Return what the transformers make of X.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_columns)
        **params
            As for ColumnTransformer.
        """
        return self._views(super().transform(X, **params), X)

    def set_output(self, *, transform: Any = None) -> Self:
        """Do nothing: it gives `Views`. A selector behind it gives what is asked for.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
        """
        return self

    def _views(self, blocks: dict[str, Any], X: Any) -> Views:
        expected = _num_samples(X)
        for name, block in blocks.items():
            if (got := _num_samples(block)) != expected:
                # A vectorizer takes the columns of a frame for its texts.
                raise ValueError(
                    f"View {name!r} has {got:,} rows of X's {expected:,}; expected as many. What "
                    "takes texts takes one column: 'title', not ['title']."
                )
        known = {name: names for name, names in self._names.items() if names is not None}
        return Views(blocks, feature_names=known, index=labels_of(X).index)

    def _hstack(self, Xs: Sequence[Any], **_: Any) -> dict[str, Any]:
        # scikit-learn's own hook for how parts are put together.
        return dict(zip(self.output_indices_, Xs, strict=False))


def _names_of(transformer: Any) -> Any:
    try:
        return transformer.get_feature_names_out()
    except AttributeError:  # it has none, or one in it has not
        return None
