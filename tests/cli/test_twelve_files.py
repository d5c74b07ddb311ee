"""Twelve data sets as people have them: one command or call each, and what matters is found."""

import io
import json
from contextlib import ExitStack

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.metrics import normalized_mutual_info_score

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from tables import PLANTED, WORDS, tickets

N = 600
ANY_WORDS = {word for own in WORDS for word in own}


def groups(seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.integers(3, size=N)


def planted_numbers(rng, group, width, telling, apart=2.5):
    """Return numbers of which the first tell the groups apart, and what columns are called."""
    X = rng.normal(size=(N, width))
    X[:, :telling] += apart * (group[:, np.newaxis] == np.arange(telling) % 3)
    return X, [f"c{j}" for j in range(width)]


def comments(rng, group, n_words=5):
    others = [f"thing{i}" for i in range(200)]
    return [
        " ".join(rng.permutation([*rng.choice(WORDS[k], 3), *rng.choice(others, n_words)]))
        for k in group
    ]


def fifteen_columns(folder):
    frame, group = tickets(N)
    rng = np.random.default_rng(1)
    frame["zip"] = [f"{i:05d}" for i in rng.integers(400, size=N)]
    frame["paid"] = rng.choice(["yes", "no", None], N)
    frame["share"] = [f"{i} %" for i in rng.integers(100, size=N)]
    frame.to_csv(folder / "tickets.csv", index=False)
    assert frame.shape[1] == 15
    return [folder / "tickets.csv"], PLANTED, group


def two_files_of_one_key(folder):
    frame, group = tickets(N)
    rng = np.random.default_rng(1)
    one = frame[["ticket_id", "plan", "country", "amount", "minutes", "noise_a", "noise_b"]]
    two = frame[["ticket_id", "message", "source"]]
    order = rng.permutation(N)
    one.iloc[order].to_csv(folder / "customers.csv", index=False)
    two.iloc[rng.permutation(N)].to_csv(folder / "messages.csv", index=False)
    planted = {
        "customers.numbers": PLANTED["numbers"],
        "customers.categories": PLANTED["categories"],
        "messages.message": PLANTED["message"],
    }
    arguments = [folder / "customers.csv", folder / "messages.csv", "--key", "ticket_id"]
    return arguments, planted, group


def genes(folder):
    rng, group = groups()
    X, _ = planted_numbers(rng, group, 400, 45)
    # Logarithms of what is expressed, each gene at its own level.
    levels = 7 + 2 * rng.normal(size=400)
    frame = pd.DataFrame(X + levels, columns=[f"GENE{j}" for j in range(400)]).round(3)
    frame.insert(0, "sample", [f"S{i}x" for i in range(N)])
    frame.to_csv(folder / "genes.tsv", sep="\t", index=False)
    return [folder / "genes.tsv"], {"numbers": {f"GENE{j}" for j in range(45)}}, group


def semicolons(folder):
    rng, group = groups()
    X, names = planted_numbers(rng, group, 12, 6)
    frame = pd.DataFrame(X * 10.0 ** np.arange(-3, 9)[::-1], columns=names)
    frame["anlage"] = np.array(["nord", "sued", "west"])[group]
    frame["bemerkung"] = rng.choice(["ok", "geprueft"], N)
    frame.loc[rng.random(N) < 0.1, "c1"] = None
    frame.to_csv(folder / "messung.csv", sep=";", decimal=",", index=False)
    planted = {
        "numbers": {f"c{j}" for j in range(6)},
        "categories": {"anlage=nord", "anlage=sued", "anlage=west"},
    }
    return [folder / "messung.csv"], planted, group


def log_on_standard_input(folder):
    frame, group = tickets(N)
    lines = []
    for i, row in enumerate(frame.to_dict("records")):
        own = {name: value for name, value in row.items() if not pd.isna(value)}
        own["opened"] = own["opened"].isoformat()
        own["customer"] = {"id": own.pop("customer_id"), "plan": own.pop("plan", None)}
        own["tags"] = ["paid", "new"] if i % 3 else ["free"]
        lines.append(json.dumps(own))
    (folder / "log.jsonl").write_text("\n".join(lines))
    planted = {
        **PLANTED,
        "categories": {f"customer.{name}" for name in PLANTED["categories"]},
        "tags": set(),
    }
    return ["-", "--detect-drift"], planted, group


def survey(folder):
    rng, group = groups()
    liked = 2 + 2 * (group[:, np.newaxis] == np.arange(6) % 3)
    answers = np.clip(liked + rng.normal(0, 0.8, (N, 6)).round(), 1, 5)
    frame = pd.DataFrame(rng.integers(1, 6, (N, 14)), columns=[f"q{j}" for j in range(14)])
    frame = frame.astype(float)
    frame.iloc[:, :6] = answers
    frame = frame.mask(rng.random(frame.shape) < 0.05)
    frame["respondent"] = [f"r{i:04d}" for i in range(N)]
    frame["comment"] = comments(rng, group)
    frame.loc[rng.random(N) < 0.3, "comment"] = None
    frame.to_csv(folder / "survey.csv", index=False)
    planted = {"numbers": {f"q{j}" for j in range(6)}, "comment": ANY_WORDS}
    return [folder / "survey.csv"], planted, group


def wide_sensors(folder):
    rng, group = groups()
    X, names = planted_numbers(rng, group, 300, 40)
    units, zeros = 10 ** rng.uniform(-3, 3, 300), rng.uniform(-100, 100, 300)
    frame = pd.DataFrame((X + zeros) * units, columns=names)
    frame = frame.mask(rng.random(frame.shape) < 0.02)
    frame.to_csv(folder / "sensors.csv", index=False)
    return [folder / "sensors.csv"], {"sensors": {f"c{j}" for j in range(40)}}, group


def parts_with_later_categories(folder):
    frame, group = tickets(N)
    late = frame["plan"].where(frame.index < 300, frame["plan"].replace("team", "enterprise"))
    frame = frame.assign(plan=late)
    for i in range(3):
        frame[200 * i : 200 * i + 200].to_parquet(folder / f"part-{i}.parquet")
    categories = {*PLANTED["categories"], "plan=enterprise"}
    return [folder / "part-*.parquet"], {**PLANTED, "categories": categories}, group


def cells(folder):
    anndata = pytest.importorskip("anndata")
    rng, group = groups()
    means = np.tile(rng.lognormal(-2, 1, 500), (3, 1))
    means[:, :45] = 0.2
    for j in range(45):
        means[j % 3, j] = 4.0
    X = rng.poisson(means[group] * rng.lognormal(0, 0.5, (N, 1))).astype(np.float32)
    var = pd.DataFrame(index=[f"gene{j}" for j in range(500)])
    obs = pd.DataFrame(index=[f"cell{i}" for i in range(N)])
    anndata.AnnData(sp.csr_matrix(X), obs, var).write_h5ad(folder / "cells.h5ad")
    return [folder / "cells.h5ad"], {"cells": {f"gene{j}" for j in range(45)}}, group


def five_numbers(folder):
    rng, group = groups()
    X, _ = planted_numbers(rng, group, 5, 2, apart=4)
    frame = pd.DataFrame(X * [1, 10, 1000, 0.1, 1] + [40, 300, 1e5, 0, 7], columns=list("abcde"))
    frame.to_csv(folder / "five.csv", index=False)
    return [folder / "five.csv"], {"five": {"a", "b"}}, group


FILES = {
    "tickets of 15 columns": fifteen_columns,
    "two files of one key": two_files_of_one_key,
    "genes": genes,
    "semicolons and commas": semicolons,
    "log on standard input": log_on_standard_input,
    "survey": survey,
    "wide sensors": wide_sensors,
    "parts with later categories": parts_with_later_categories,
    "cells": cells,
    "five numbers": five_numbers,
}


def check(model, planted, group=None, rows=None):
    assert set(model.schema_.names) == set(planted)
    for view, own in planted.items():
        if own:
            best = set(map(str, model.top_features(view, len(own))))
            assert len(own & best) >= 0.9 * len(own), (view, own - best)
    if group is not None:
        assert normalized_mutual_info_score(group, model.predict(rows)) > 0.75


@pytest.mark.parametrize("name", FILES)
def test_one_command_finds_what_matters(name, tmp_path, monkeypatch, capsys):
    arguments, planted, _ = FILES[name](tmp_path)
    out = tmp_path / "out"
    with ExitStack() as stack:
        if arguments[0] == "-":
            opened = stack.enter_context((tmp_path / "log.jsonl").open("rb"))
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(opened))
        assert run_app(["select", *map(str, arguments), "-k", "3", "-o", str(out)]) == 0
    said = capsys.readouterr()
    # That files are held in memory is told.
    assert said.err.count("is not sorted by its keys") == 2 * ("--key" in arguments)
    assert len(said.err.splitlines()) == 2 * ("--key" in arguments)
    model = OMVFS.load(out / "model.omvfs")
    check(model, planted)
    # What was done to the rows is told.
    steps = [line for line in said.out.splitlines() if line.startswith("Steps before learning:")]
    assert len(steps) == 1
    assert all(f"{view}: " in steps[0] for view in planted)


def test_a_polars_frame_with_dates_is_one_call():
    frame, group = tickets(N)
    frame["day"] = pd.Series(pd.date_range("2020-01-01", periods=N).date)
    given = pl.from_pandas(frame.drop(columns="day")).with_columns(
        day=pl.Series(frame["day"]), took=pl.duration(minutes=pl.int_range(N) % 60)
    )
    model = OMVFS(3, random_state=0).fit(given)
    check(model, PLANTED, group, given)
    kinds = model.table_.kinds
    assert (kinds["opened"], kinds["day"], kinds["took"]) == ("date", "date", "number")
    parts = OMVFS(3, columns={"opened": "parts"}, random_state=0).fit(given)
    assert "opened.weekday" in parts.schema_.names_of("numbers")


def test_texts_beside_an_array_are_one_call():
    rng, group = groups()
    X, _ = planted_numbers(rng, group, 30, 10)
    texts = comments(rng, group)
    for given in (texts, pd.Series(texts), np.array(texts, dtype=object)):
        rows = {"text": given, "image": X * 10.0 ** rng.uniform(-2, 2, 30)}
        model = OMVFS(3, random_state=0).fit(rows)
        planted = {"text": ANY_WORDS, "image": {*map(str, range(10))}}
        check(model, planted, group, rows)
