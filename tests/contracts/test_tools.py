"""scikit-learn's tools and the selectors: what `check_selector` checks, and the page that tells."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from omvfs.baselines import BASELINES, LaplacianScore, Variance, laplacian_score
from omvfs.testing.tools import TOOLS
from support import counts

PAGE = Path(__file__).parents[2] / "docs" / "scikit-learn.md"
SELECTORS = ["OMVFS", "OMVFSPaper", *BASELINES]


def table():
    """Return the table of tools and selectors, as `test_selectors` has them checked."""
    head = (
        f"| | {' | '.join(f'`{tool}`' if tool != 'metadata routing' else tool for tool in TOOLS)} |"
    )
    lines = [f"| `{name}` | {' | '.join('✓' for _ in TOOLS)} |" for name in SELECTORS]
    return "\n".join([head, "|---" * (len(TOOLS) + 1) + "|", *lines])


def test_the_page_has_the_table():
    assert table() in PAGE.read_text(encoding="utf-8")


class Elsewhere(Variance):
    """Returns other values than those it was given."""

    def transform(self, X):
        return super().transform(X) + 1


class Forgetful(Variance):
    """Its copies know nothing of what it has learned."""

    def __getstate__(self):
        return {**super().__getstate__(), "_scores": None, "n_features_per_view": 1}


class Unnamed(Variance):
    """Does not tell what its columns are called."""

    def get_feature_names_out(self, input_features=None):
        return super().get_feature_names_out(input_features)[::-1]


class Stubborn(Variance):
    """Selects as many features as it likes."""

    def _sizes(self):
        return dict.fromkeys(self.schema_.names, 1)


BROKEN = {
    "Pipeline": Elsewhere,
    "ColumnTransformer": Stubborn,
    "train_test_split": Stubborn,
    "GridSearchCV": Stubborn,
    "joblib.dump": Forgetful,
    'set_output("pandas")': Unnamed,
    'set_output("polars")': Unnamed,
}


@pytest.mark.parametrize("tool", BROKEN)
def test_what_is_broken_is_found(tool):
    def make(**params):
        return BROKEN[tool]().set_params(**params)

    with pytest.raises((AssertionError, AttributeError, ValueError)):
        TOOLS[tool](make)


def test_the_laplacian_score_serves_select_k_best():
    X = counts(np.random.default_rng(0), 60, 12)
    best = SelectKBest(laplacian_score, k=4).fit(X)
    expected = LaplacianScore(n_features_per_view=4).fit(X)
    np.testing.assert_array_equal(best.get_support(), expected.get_support())
    np.testing.assert_array_equal(best.scores_, expected.scores_)
    pipe = make_pipeline(MinMaxScaler(), SelectKBest(laplacian_score), Variance())
    search = GridSearchCV(pipe, {"selectkbest__k": [3, 5]}, cv=2, error_score="raise").fit(X)
    assert search.transform(X).shape[1] == search.best_params_["selectkbest__k"]
