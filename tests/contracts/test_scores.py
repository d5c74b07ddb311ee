"""score(X): the same of every selector, 0 by chance, and better for better features."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.model_selection import GridSearchCV, KFold

from omvfs import OMVFS, OMVFSPaper
from omvfs.baselines import BASELINES, RandomScore
from omvfs.data.views import Views
from omvfs.datasets import make_planted

# Little data: there is nothing to converge to.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SELECTORS = {"OMVFS": OMVFS, "published": OMVFSPaper, **BASELINES}
N_SELECTED = 15


def planted(n_rows, n_views, **params):
    """Return rows of three kinds, of which a tenth of the features tell."""
    shape = {"n_features": (200, 150), "n_informative": (20, 15), "row_length": (40, 30)}
    shape = {name: sizes[:n_views] for name, sizes in shape.items()} | params
    return make_planted(n_rows, n_classes=3, dtype=np.float64, random_state=0, **shape)


def of_selection(selector, data):
    """Return which share of the selected features tell, and what they are worth on other rows."""
    own = selector.get_params()
    asked = {"n_clusters": 3, "random_state": own.get("random_state") or 0}
    selector.set_params(**{name: value for name, value in asked.items() if name in own})
    views = Views(data.views)
    score = selector.fit(views[:200]).score(views[200:])
    support = selector.view_support_
    return np.mean([data.informative[view][support[view]].mean() for view in support]), score


def test_the_more_of_the_selected_features_tell_the_more_they_are_worth():
    data = planted(400, 2, informative_ranks=0.15)
    draws = (RandomScore(n_features_per_view=N_SELECTED, random_state=i) for i in range(10))
    by_chance = [of_selection(each, data) for each in draws]
    methods = {name: make for name, make in SELECTORS.items() if name != "RandomScore"}
    found = {
        name: of_selection(make(n_features_per_view=N_SELECTED), data)
        for name, make in methods.items()
    }
    best = max(score for _, score in by_chance)
    for name, (told, score) in found.items():
        # One of them finds fewer than half on so few rows.
        assert score > (best if told > 0.5 else np.mean([s for _, s in by_chance])), name
    told, scores = zip(*by_chance, *found.values(), strict=True)
    assert spearmanr(told, scores).statistic > 0.85


@pytest.mark.parametrize(("n_clusters", "n_selected"), [(2, None), (20, 5)])
def test_pure_noise_is_worth_nothing(n_clusters, n_selected):
    views = Views(planted(600, 2, concentration=0.0).views)
    model = OMVFS(n_clusters, n_features_per_view=n_selected, random_state=0)
    assert abs(model.fit(views[:200]).score(views[200:])) < 0.02


def test_a_search_does_not_take_as_many_clusters_as_it_may():
    data = make_planted(
        600, n_features=(300,), n_informative=(40,), row_length=40, dtype=np.float64, random_state=0
    )
    search = GridSearchCV(
        OMVFS(n_features_per_view=40, random_state=0),
        {"n_clusters": [2, 5, 12, 20]},
        cv=KFold(2),
    ).fit(Views(data.views))
    assert search.best_params_["n_clusters"] == 5
