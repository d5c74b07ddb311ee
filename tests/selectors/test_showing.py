"""An estimator in a notebook: shows what it knows, works nothing out, and never fails."""

import html
import re

import numpy as np
import pandas as pd
import pytest

from omvfs import OMVFS
from omvfs.model.queries import Queries
from streams import every_solver, two_views


def cells(model):
    """Return the table of what was learned, row by row, as texts; notebooks ask in two ways."""
    shown = model._repr_html_(), model._repr_mimebundle_()["text/html"]
    table, other = (re.search(r"<table><caption>(.*?)</table>", each, re.DOTALL) for each in shown)
    assert (table and table[1]) == (other and other[1])
    if table is None:
        return None
    rows = table[1].split("<tr>")
    return [rows[0].split("<")[0]] + [
        [html.unescape(each) for each in re.findall(r"<t[dh]>(.*?)</t[dh]>", row, re.DOTALL)]
        for row in rows[1:]
    ]


@every_solver
def test_what_is_known_is_shown_and_nothing_else_worked_out(make, monkeypatch):
    model = make(3, random_state=0, max_iter=2, n_features_per_view=2).fit(two_views(0, 1200))
    monkeypatch.setattr(Queries, "_scored", None)
    assert cells(model) == [
        "Learned from 1,200 rows, 3 clusters",
        ["view", "features", "selected", "best features"],
        ["text", "12", "2", "not ranked yet"],
        ["image", "7", "2", "not ranked yet"],
    ]
    monkeypatch.undo()
    best = {view: model.top_features(view, 5) for view in ("text", "image")}
    monkeypatch.setattr(Queries, "_scored", None)
    assert [row[3] for row in cells(model)[2:]] == [", ".join(own) for own in best.values()]
    # By another rule they are not known, nor after more rows.
    rule = "norm" if make is OMVFS else "contrast"
    assert cells(model.set_params(criterion=rule))[2][3] == "not ranked yet"
    monkeypatch.undo()
    assert cells(model.partial_fit(two_views(1, 30)))[2][3] == "not ranked yet"


@pytest.mark.parametrize(
    ("params", "shown"),
    [
        ({"n_features_per_view": None}, ["12", "7"]),
        ({"n_features_per_view": {"text": "auto", "image": 0.5}}, ["auto", "4"]),
        ({"n_features_to_select": 8}, ["of 8 in all"] * 2),
    ],
)
def test_how_many_are_selected_as_far_as_nobody_has_to_look(params, shown, monkeypatch):
    model = OMVFS("auto", random_state=0, max_iter=2, n_init=1, **params)
    model.partial_fit(two_views(0, 60))
    monkeypatch.setattr(Queries, "agreements", None)
    monkeypatch.setattr(Queries, "_scored", None)
    found = cells(model)
    assert [row[2] for row in found[2:]] == shown
    assert found[0].endswith("clusters so far")


def test_names_are_escaped_and_cut():
    names = ["<script>alert(1)</script>", "&amp;", '"', "x" * 500]
    X = pd.DataFrame(np.random.default_rng(0).random((50, 4)), columns=names)
    model = OMVFS(2, random_state=0).fit({"<i>view</i>": X})
    _ = model.ranking_
    shown = model._repr_html_()
    assert "<script>alert" not in shown
    assert "<i>view" not in shown
    assert "x" * 41 not in shown
    assert set(cells(model)[2][3].split(", ")) == {*names[:3], "x" * 39 + "…"}


def test_many_views_are_not_all_shown():
    X = {f"view {v}": np.eye(4) for v in range(23)}
    found = cells(OMVFS(2, random_state=0).fit(X))
    assert len(found) == 2 + 20 + 1
    assert found[-1][0] == "and 3 more"


def test_it_never_raises():
    assert cells(OMVFS()) is None
    assert "OMVFS" in OMVFS()._repr_html_()
    halves = [OMVFS(2, random_state=0).fit(two_views(seed, 30)) for seed in (0, 1)]
    # Parts that are not merged yet are not merged to be shown.
    merged = halves[0].merge(halves[1])
    assert cells(merged) is None
    assert merged._journal.worked_out is None
    assert merged.n_samples_seen_ == 60
    assert cells(merged)[0] == "Learned from 60 rows, 2 clusters"
    for name, value in [
        ("_journal", None),
        ("n_features_per_view", object()),
        ("criterion", 7),
        ("n_clusters", [[]]),
    ]:
        broken = OMVFS(2, random_state=0).fit(two_views(0, 30))
        _ = broken.ranking_
        setattr(broken, name, value)
        assert "OMVFS" in broken._repr_html_()
        assert "OMVFS" in broken._repr_mimebundle_()["text/html"]
    empty = OMVFS.__new__(OMVFS)
    assert "OMVFS" in empty._html_repr()
