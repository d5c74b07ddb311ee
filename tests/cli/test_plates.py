"""Plates of image-based profiles: views by the names of columns, and lists of selected columns."""

import numpy as np
import pandas as pd
import pytest

from omvfs import OMVFS
from omvfs.cli.commands import run_app

GROUPS = "AreaShape", "Texture"


def plate(seed, groups=GROUPS, n=120):
    """Return wells of three kinds: what is measured of them, and what is known of them."""
    chance = np.random.default_rng(seed)
    kinds, found = np.arange(n) % 3, {}
    for part in ("Cells", "Nuclei"):
        for group in groups:
            for j in range(8):
                signal = 3.0 * (kinds == j % 3) if j < 4 else 0.0
                found[f"{part}_{group}_F{j}_DNA"] = signal + chance.normal(size=n)
    wells = pd.DataFrame({"Metadata_Plate": [f"p{seed}"] * n, "Metadata_Site": kinds})
    return pd.concat([wells, pd.DataFrame(found)], axis=1)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Three runs over a plate each; the last lacks a group."""
    path = tmp_path_factory.mktemp("plates")
    for i in range(3):
        wells = plate(i, GROUPS if i < 2 else GROUPS[:1])
        wells.to_csv(path / f"p{i}.csv", index=False)
        assert run_app(select(path, i)) == 0
    return path


def select(path, i, *more):
    how = ["--views", "prefix:_:2", "--drop", "Metadata_*", "-k", "3", "-n", "3", "-o"]
    return ["select", str(path / f"p{i}.csv"), *how, str(path / f"run{i}"), *more]


def model(place, i):
    return str(place / f"run{i}" / "model.omvfs")


def listed(capsys, *command):
    """Return the lines that a command prints, and what it says beside."""
    capsys.readouterr()
    assert run_app(list(command)) == 0
    said = capsys.readouterr()
    return said.out.splitlines(), said.err


def chosen(path):
    table = OMVFS.load(path).ranking_table()
    pairs = zip(table["name"], table["selected"], strict=True)
    return [name for name, selected in pairs if selected]


def test_a_plate_is_split_by_the_names_of_its_columns(place):
    schema = OMVFS.load(model(place, 0)).schema_
    assert schema.names == (
        "Cells_AreaShape",
        "Cells_Texture",
        "Nuclei_AreaShape",
        "Nuclei_Texture",
    )
    assert set(schema.widths) == {8}
    columns = [c for c in plate(0).columns if not c.startswith("Metadata_")]
    assert [name for own in schema.feature_names for name in own] == columns
    frame = pd.read_csv(place / "p0.csv")[columns]
    same = OMVFS(3, n_features_per_view=3, views="prefix:_:2", random_state=0).fit(frame)
    assert list(same.get_feature_names_out()) == [
        c for c in columns if c in chosen(model(place, 0))
    ]


def test_columns_are_left_out_and_carried_along_by_a_pattern(place, tmp_path, capsys):
    out = tmp_path / "few.csv"
    command = ["transform", model(place, 0), str(place / "p1.csv"), "--views", "prefix:_:2"]
    assert run_app([*command, "--keep", "Metadata_*", "-o", str(out)]) == 0
    written = pd.read_csv(out)
    assert list(written.columns[:2]) == ["Metadata_Plate", "Metadata_Site"]
    assert written.shape == (120, 14)
    # What is named is carried along, whatever pattern leaves it out.
    out = tmp_path / "one.csv"
    both = ["--drop", "Metadata_*", "--keep", "Metadata_Site", "-o", str(out)]
    assert run_app([*command, *both]) == 0
    assert list(pd.read_csv(out).columns[:1]) == ["Metadata_Site"]
    # A name is taken as it is before it is taken for a pattern.
    pd.DataFrame({"a?": [1.0, 2, 3], "ab": [1.0, 3, 2], "b[0]": 1}).to_csv(tmp_path / "odd.csv")
    out = tmp_path / "odd.parquet"
    command = ["convert", str(tmp_path / "odd.csv"), "--drop", "a?", "--drop", "b[0]"]
    assert run_app([*command, "-o", str(out)]) == 0
    assert list(pd.read_parquet(out).columns) == ["odd__ab"]


def test_a_list_has_the_names_alone_and_all_else_is_said_beside(place, tmp_path, capsys):
    names, said = listed(capsys, *select(place, 0, "--overwrite", "--list"))
    assert names == chosen(model(place, 0))
    assert len(names) == 12
    assert "120 rows in 3 clusters." in said
    assert said.endswith("\nNuclei_Texture: 3 of 8 kept\n")
    ranked = listed(capsys, "rank", model(place, 0), "--list", "-o", str(tmp_path / "ranked"))
    assert ranked[0] == names
    assert listed(capsys, "list", model(place, 0))[0] == names
    more, said = listed(capsys, "list", model(place, 0), "-n", "4")
    assert set(more) > set(names)
    assert said.splitlines() == [f"{view}: 4 of 8 kept" for view in model_views(place, 0)]


def model_views(place, i):
    return OMVFS.load(model(place, i)).schema_.names


def test_features_that_all_models_select_are_listed_and_a_view_without_any_is_named(place, capsys):
    models = [model(place, i) for i in range(3)]
    own = [chosen(each) for each in models]
    names, said = listed(capsys, "list", *models[:2])
    assert names == [name for name in own[0] if name in own[1]]
    assert names
    names, said = listed(capsys, "list", *models)
    assert names == [name for name in own[0] if name in own[1] and name in own[2]]
    assert "Cells_Texture: none of 8 kept\n" in said
    names, _ = listed(capsys, "list", *models, "--at-least", "1")
    assert sorted(names) == sorted(set(own[0] + own[1] + own[2]))


def test_a_name_that_views_share_is_told_with_its_view(tmp_path, capsys):
    chance = np.random.default_rng(0)
    for view in "ab":
        np.save(tmp_path / f"{view}.npy", chance.normal(size=(60, 3)))
    data = [f"{view}={tmp_path / view}.npy" for view in "ab"]
    out = ["-o", str(tmp_path / "out")]
    names, _ = listed(capsys, "select", *data, "-k", "2", "-n", "1", "--list", *out)
    assert [name[:3] for name in names] == ["a__", "b__"]
