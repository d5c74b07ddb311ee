"""Pictures show what was found, under whatever names, and hold still while they are drawn."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from changing import chunks_of
from omvfs import OMVFS, plots
from streams import two_views

mpl = pytest.importorskip("matplotlib")

ALL = [getattr(plots, name) for name in plots.__all__]
every_plot = pytest.mark.parametrize("plot", ALL, ids=plots.__all__)
HOSTILE = [
    "$x_{1}$",
    "$",
    "\\frac{1",
    "a\nb\tc\x00",
    "🙂 smile",
    "日本語のとても長い名前で、枠に入りきらないものです。まだ続きます。",
    "_hidden",
    "<b>&amp;</b>",
    "x" * 300,
    "%d{}",
    "\u202e right to left",
    " ",
]


@pytest.fixture(autouse=True)
def figures():
    """Draw on nothing, and leave nothing open."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    yield plt
    plt.close("all")


def rows(n=400, names=None):
    X = two_views(0, n, widths=(12, 6))
    text, image = X["text"], X["image"]
    return {"text": pd.DataFrame(text, columns=names), "image": image}


@pytest.fixture(scope="module")
def model():
    names = [f"word {j}" for j in range(12)]
    fitted = OMVFS(3, random_state=0, n_features_per_view=4)
    for chunk in chunks_of(rows(400, names)):
        fitted.partial_fit(chunk)
    return fitted


def ticks(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def test_scores_are_those_of_the_best_and_grey_if_not_selected(model):
    ax = plots.plot_scores(model, "text", n=7)
    assert ticks(ax.yaxis) == model.top_features("text", 7)
    widths = [bar.get_width() for bar in ax.patches]
    best = np.argsort(model.view_ranking_["text"])[:7]
    assert_array_equal(widths, model.feature_notes()["text"].explained[best])
    assert "η²" in ax.get_xlabel()
    colours = [bar.get_facecolor() for bar in ax.patches]
    assert len(set(colours[:4])) == len(set(colours[4:])) == 1
    assert colours[0] != colours[4]
    # The best is on top, and by default the view is the first.
    assert ax.yaxis_inverted()
    assert plots.plot_scores(model).get_title() == "Best features of text"
    assert len(plots.plot_scores(model, "image", n=100).patches) == 6


def test_clusters_are_drawn_with_their_features_and_shares():
    model = OMVFS(3, random_state=0, n_features_per_view=4).fit(rows())
    ax = plots.plot_clusters(model, n=2)
    (image,) = ax.images
    cells = np.asarray(image.get_array().filled(np.nan))
    about = model.cluster_features(n=2)
    assert cells.shape[1] == len(about) == model.n_clusters_
    labels = ticks(ax.yaxis)
    assert len(labels) == len(set(labels))
    assert {f"{each.view}: {each.feature}" for own in about.values() for each in own} == set(labels)
    # A row is what a feature tells of each cluster that it stands for, over what it tells of all.
    for k, own in model.cluster_features(n=18).items():
        parts = {f"{each.view}: {each.feature}": each.part for each in own}
        assert [label in parts for label in labels] == np.isfinite(cells[:, k]).tolist()
        assert all(cells[labels.index(name), k] > 0 for name in parts.keys() & set(labels))
    np.testing.assert_allclose(np.nansum(cells, axis=1), 1)
    shares = model.cluster_shares_
    assert ticks(ax.xaxis) == [f"{k}\n{shares[k]:.0%}" for k in range(model.n_clusters_)]


def test_agreement_is_the_quality_and_what_is_enough(model):
    ax, quality = plots.plot_agreement(model), model.selection_quality_
    together, *alone, enough = ax.lines
    assert_array_equal(together.get_xdata(), quality.sizes)
    assert_array_equal(together.get_ydata(), quality.agreement)
    for line, (view, curve) in zip(alone, quality.views.items(), strict=True):
        assert line.get_label() == view
        assert_array_equal(line.get_ydata(), curve.agreement)
    assert set(enough.get_xdata()) == {model.suggest_n_features()}
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["all views", "text", "image", f"{model.suggest_n_features():,} are enough"]


def test_stability_is_how_often_features_are_selected(model):
    ax, found = plots.plot_stability(model, "text", n=12), model.stability()
    best = np.argsort(model.view_ranking_["text"])
    widths = [bar.get_width() for bar in ax.patches]
    assert_array_equal(widths, found.views["text"].frequencies[best])
    assert ax.get_title() == (
        f"Stability of text: {found.views['text'].stays.share:.0%} of the selected stay"
    )


@every_plot
def test_axes_that_are_given_are_drawn_on_and_others_are_new(model, figures, plot):
    figure, ax = figures.subplots()
    assert plot(model, ax=ax) is ax
    assert plot(model).figure is not figure
    # Two pictures side by side do not disturb each other.
    figure.canvas.draw()


@pytest.fixture(scope="module", params=["_view $x$\n🙂", "v" * 200])
def hostile(request):
    X = rows(60, HOSTILE)
    return OMVFS(3, random_state=0).fit({request.param: X["text"], "_": X["image"]})


@every_plot
def test_hostile_names_are_drawn_as_they_are(plot, hostile):
    ax = plot(hostile)
    ax.figure.canvas.draw()  # where a glyph that lacks, or mathematics that is none, would show
    texts = ax.figure.findobj(mpl.text.Text)
    assert all(len(text.get_text()) < 80 for text in texts)
    shown = [text for text in texts if "$" in text.get_text()]
    assert not any(text.get_parse_math() for text in shown)
    if plot is plots.plot_scores:
        assert shown


@every_plot
def test_it_needs_a_fit(plot):
    with pytest.raises(NotFittedError):
        plot(OMVFS(3))
