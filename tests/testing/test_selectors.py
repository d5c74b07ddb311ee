"""A selector that breaks the contract is found out, and told what was expected."""

import numpy as np
import pytest
import scipy.sparse as sp

from omvfs.baselines import ColumnSum, RandomScore
from omvfs.testing import check_selector


class RanksTheWorstFirst(ColumnSum):
    @property
    def view_ranking_(self):
        return {view: len(own) + 1 - own for view, own in super().view_ranking_.items()}


class SelectsOneMore(ColumnSum):
    @property
    def view_support_(self):
        support = super().view_support_
        for mask in support.values():
            mask[np.flatnonzero(~mask)[:1]] = True
        return support


class TakesAnySize(RandomScore):
    def fit(self, X, y=None):
        given = self.n_features_per_view
        self.n_features_per_view = None
        try:
            return super().fit(X)
        finally:
            self.n_features_per_view = given


class SupportsInOrderOfViews(ColumnSum):
    def get_support(self, indices=False):
        mask = np.concatenate(list(self.view_support_.values()))
        return np.flatnonzero(mask) if indices else mask


class ForgetsViewsInNames(ColumnSum):
    def get_feature_names_out(self, input_features=None):
        names = super().get_feature_names_out(input_features)
        return np.array([name.split("__")[-1] for name in names], dtype=object)


class MakesDense(ColumnSum):
    def transform(self, X):
        out = super().transform(X)
        return out.toarray() if sp.issparse(out) else out


class ScoresSomethingElse(ColumnSum):
    def score(self, X, y=None):
        return min(1.0, super().score(X) + 0.1)


class SpoilsItsInput(ColumnSum):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(X, np.ndarray) and X.flags.writeable and X.dtype == float:
            X[0] = 0
        return self


class HandsOutItsScores(RandomScore):
    @property
    def view_scores_(self):
        super().view_scores_  # noqa: B018 - asks for a fit
        return self._view_scores


class LooksAtY(ColumnSum):
    def fit(self, X, y=None):
        super().fit(X)
        return self if y is None else self.partial_fit(self._read_next(X)[:5])


class ForgetsBeforeItFails(RandomScore):
    def fit(self, X, y=None):
        if hasattr(self, "_view_scores"):
            self._view_scores = {view: 0 * own for view, own in self._view_scores.items()}
        return super().fit(X)


class CountsBeforeItFails(ColumnSum):
    n_calls = 0

    def partial_fit(self, X, y=None):
        self.n_calls += 1
        return super().partial_fit(X)

    @property
    def n_samples_seen_(self):
        return 20 * self.n_calls - 10 if self.n_calls else super().n_samples_seen_


class LearnsTheLastChunkOnly(ColumnSum):
    def partial_fit(self, X, y=None):
        for name in ("_journal", "schema_"):
            vars(self).pop(name, None)
        return super().partial_fit(X)


BROKEN = {
    RanksTheWorstFirst: "not by score, the first better where they are equal",
    SelectsOneMore: r"n_features_per_view=4 selects \(5, 5\), not \(4, 4\)",
    TakesAnySize: "n_features_per_view=0 is not refused",
    SupportsInOrderOfViews: "not in the order of the columns of X",
    ForgetsViewsInNames: "Columns of views are called",
    MakesDense: "transform gives .*ndarray",
    ScoresSomethingElse: "not the concordance of the selected features with other views",
    SpoilsItsInput: "changes its input",
    HandsOutItsScores: "Scores that are handed out reach into the model",
    LooksAtY: "fit depends on y",
    ForgetsBeforeItFails: "fit: NaN is refused, but has left something",
    CountsBeforeItFails: "A chunk that was refused has been counted",
    LearnsTheLastChunkOnly: "partial_fit: a view missing is not refused",
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_selector_is_told_what_was_expected(broken):
    with pytest.raises(AssertionError, match=BROKEN[broken]):
        check_selector(broken())
