"""Tables as users have them in files: one command each, and what matters is found."""

import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

from omvfs import OMVFS
from omvfs.cli.commands import run_app
from omvfs.formats import open_source
from tables import WORDS, found, tickets


def as_text(path, frame, **how):
    frame.to_csv(path, index=False, **how)
    return path


def with_mark(path, frame):
    path.write_bytes(b"\xef\xbb\xbf" + frame.to_csv(index=False).encode())
    return path


def with_lines(path, frame):
    """Write texts that go over several lines, with quotes and delimiters."""
    message = frame["message"].where(
        frame["message"].isna(), 'Dear team,\n"' + frame["message"] + '"'
    )
    return as_text(path, frame.assign(message=message))


FILES = {
    "commas": lambda folder, frame: as_text(folder / "tickets.csv", frame),
    "tabs": lambda folder, frame: as_text(folder / "tickets.tsv", frame, sep="\t"),
    "semicolons": lambda folder, frame: as_text(folder / "t.csv", frame, sep=";", decimal=","),
    "bars": lambda folder, frame: as_text(folder / "t.csv", frame, sep="|"),
    "quotes": lambda folder, frame: as_text(folder / "t.csv", frame, quoting=1),
    "gzip": lambda folder, frame: as_text(folder / "tickets.csv.gz", frame),
    "byte order mark": lambda folder, frame: with_mark(folder / "tickets.csv", frame),
    "lines in texts": lambda folder, frame: with_lines(folder / "tickets.csv", frame),
    "parquet": lambda folder, frame: frame.to_parquet(folder / "t.parquet") or folder / "t.parquet",
    "feather": lambda folder, frame: (
        feather.write_feather(pa.Table.from_pandas(frame), str(folder / "t.feather"))
        or folder / "t.feather"
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_table_in_a_file_is_one_command(kind, tmp_path, capsys):
    frame, _ = tickets()
    path, out = FILES[kind](tmp_path, frame), tmp_path / "out"
    assert run_app(["select", str(path), "-k", "3", "-o", str(out)]) == 0
    assert capsys.readouterr().err == ""
    model = OMVFS.load(out / "model.omvfs")
    assert model.schema_.names == ("numbers", "categories", "message")
    assert min(found(model).values()) >= 0.9
    if kind == "lines in texts":  # which have words of their own
        return
    expected = OMVFS(3, random_state=0).fit(frame)
    for view in ("numbers", "categories"):
        np.testing.assert_allclose(model.view_scores_[view], expected.view_scores_[view])


def test_a_table_on_standard_input_is_one_command(tmp_path, monkeypatch, capsys):
    frame, _ = tickets()
    with as_text(tmp_path / "tickets.csv", frame).open("rb") as opened:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(opened))
        assert run_app(["select", "-", "-k", "3", "-o", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert min(found(OMVFS.load(tmp_path / "out" / "model.omvfs")).values()) >= 0.9


def log(path, frame):
    """Write a log: nested keys, tags, and a key that comes late."""
    with path.open("w") as file:
        for i, row in enumerate(frame.to_dict("records")):
            own = {name: value for name, value in row.items() if not pd.isna(value)}
            own["opened"] = own["opened"].isoformat()
            own["customer"] = {"id": own.pop("customer_id"), "plan": own.pop("plan", None)}
            own["tags"] = ["paid", "new"] if i % 3 else ["free"]
            file.write(json.dumps(own) + "\n")
    return path


def test_a_log_of_texts_tags_and_nested_keys_is_one_command(tmp_path, monkeypatch, capsys):
    frame, _ = tickets(900)
    path, out = log(tmp_path / "log.jsonl", frame), tmp_path / "out"
    views = ("numbers", "categories", "message", "tags")
    with path.open("rb") as opened:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(opened))
        assert run_app(["select", "-", "-k", "3", "--detect-drift", "-o", str(out)]) == 0
    assert run_app(["select", str(path), "-k", "3", "-o", str(tmp_path / "same")]) == 0
    assert capsys.readouterr().err == ""
    models = [OMVFS.load(each / "model.omvfs") for each in (out, tmp_path / "same")]
    for model in models:
        assert model.schema_.names == views
        assert model.table_.kinds["customer.plan"] == "category"
        assert model.table_.kinds["customer.id"] == "id"
        assert found(model)["message"] >= 0.9
        assert found(model)["numbers"] == 1
    np.testing.assert_array_equal(*(model.view_scores_["numbers"] for model in models))


def test_a_key_that_comes_late_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("omvfs.formats.tables.LOOKED_AT", 1_000)
    frame, _ = tickets(1_200)
    path = log(tmp_path / "log.jsonl", frame)
    with path.open("a") as file:
        file.write(json.dumps({"amount": 3.0, "region": "north"}) + "\n")
    assert run_app(["select", str(path), "-k", "3", "-o", str(tmp_path / "out")]) == 0
    assert "'region' comes after the first rows, and is not read" in capsys.readouterr().err


def test_parts_whose_categories_come_later_are_one_table(tmp_path, capsys):
    frame, _ = tickets(800)
    late = frame["plan"].where(frame.index < 400, frame["plan"].replace("team", "enterprise"))
    frame = frame.assign(plan=late)
    for i, start in enumerate((0, 400)):
        frame[start : start + 400].to_parquet(tmp_path / f"part-{i}.parquet")
    out = tmp_path / "out"
    assert run_app(["select", f"{tmp_path}/part-*.parquet", "-k", "3", "-o", str(out)]) == 0
    model = OMVFS.load(out / "model.omvfs")
    assert {"plan=team", "plan=enterprise"} <= set(model.schema_.names_of("categories"))
    assert found(model)["message"] >= 0.9
    new = tmp_path / "new.jsonl"
    parts = [f"{tmp_path}/part-1.parquet", "-n", "3", "-o", str(new)]
    assert run_app(["transform", str(out / "model.omvfs"), *parts]) == 0
    capsys.readouterr()
    first = json.loads(new.read_text().splitlines()[0])
    assert set(first) <= {"numbers", "categories", "message"}


def test_info_tells_what_becomes_of_every_column(tmp_path, capsys):
    path = as_text(tmp_path / "tickets.csv", tickets()[0])
    assert run_app(["info", str(path), "--column", "customer_id=category"]) == 0
    told = capsys.readouterr().out.splitlines()
    columns = {line.split("\t")[0]: line.split("\t")[1:] for line in told[1:13]}
    assert columns["ticket_id"][0] == "id"
    assert columns["ticket_id"][-1] == columns["opened"][-1] == columns["source"][-1] == "left out"
    assert columns["message"][-1] == "view 'message': its words"
    assert columns["customer_id"][0] == "category"
    assert any("lacks" in line and "mean so far" in line for line in told)
    assert told[-1].startswith("Next: omvfs select")
    assert "--column customer_id=category" in told[-1]


def test_a_delimiter_is_told(tmp_path, capsys):
    # A comma is in every line as often as the sign that is meant.
    path = tmp_path / "plans.csv"
    rows = [f"{i % 7 / 2},p{i % 2}~{i % 5 / 2}" for i in range(60)]
    path.write_text("\n".join(["size,plan~price", *rows]))
    for typed in ("~", ",", "tab", "\\t"):
        assert run_app(["info", str(path), "--delimiter", typed]) == (0 if typed in "~," else 3)
    assert run_app(["info", str(path), "--delimiter", "~"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert any(line.startswith("price\tnumber") for line in told)
    assert told[-1].endswith("--delimiter '~' -o out")
    for typed in (";;", "", "x", '"'):
        assert run_app(["info", str(path), "--delimiter", typed]) == 3
        assert "expected one sign that stands between values" in capsys.readouterr().err
    np.save(tmp_path / "x.npy", np.eye(3))
    assert run_app(["info", str(tmp_path / "x.npy"), "--delimiter", ";"]) == 3
    assert "only .csv and .tsv have one" in capsys.readouterr().err


def test_what_cannot_be_read_is_told_with_its_remedy(tmp_path, capsys):
    frame, _ = tickets(60)
    latin = tmp_path / "latin.csv"
    latin.write_bytes(frame.assign(country="Köln").to_csv(index=False).encode("latin-1"))
    open_quote = tmp_path / "quote.csv"
    open_quote.write_text('a,b\n1,"x\n2,y\n')
    tidy = as_text(tmp_path / "tidy.csv", frame)
    for arguments, sentence in (
        (
            [str(latin)],
            "latin.csv cannot be read near row 1: it is no UTF-8, but perhaps Latin-1. Convert it",
        ),
        ([str(open_quote)], "does not end"),
        ([str(tidy), "--column", "zip=category"], "column 'zip'; the columns are"),
        ([str(tidy), "--column", "country=postcode"], "expected 'number', 'category'"),
    ):
        assert run_app(["select", *arguments, "-o", str(tmp_path / "out")]) in (2, 3)
        said = " ".join(capsys.readouterr().err.split())
        assert sentence in said
        assert "Traceback" not in said


def test_numbers_with_gaps_are_read(tmp_path):
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [4.0, 5.0, 6.0]})
    with open_source(as_text(tmp_path / "n.csv", frame)) as source:
        model = OMVFS(2, random_state=0).fit_batches(chunk.views for chunk in source.chunks(3))
    assert model.prepared_ == {"n": ("fill",)}


def test_words_of_the_planted_groups_differ():
    assert len({word for own in WORDS for word in own}) == 12


def test_quotes_amid_a_text_are_signs_like_others(tmp_path):
    lines = [
        f"{i},{i % 7}.5,{'5' + chr(34) + ' screen' if i % 50 in (3, 9) else 'y'}"
        for i in range(900)
    ]
    path = tmp_path / "screens.csv"
    path.write_text("k,a,t\n" + "\n".join(lines) + "\n")
    chunks = list(open_source(path, keep=["k"]).chunks(200))
    assert [len(chunk.views) for chunk in chunks] == [200, 200, 200, 200, 100]
    later = next(open_source(path, keep=["k"]).chunks(200, chunks[2].cursor))
    assert later.kept["k"][0] == "600"


def test_categories_written_in_digits_are_read_as_they_are_written(tmp_path):
    for i, codes in enumerate((["A1", "01", "02"], ["01", "02", "01"])):
        frame = pd.DataFrame({"code": codes * 20, "x": np.arange(60) % 7 / 2})
        as_text(tmp_path / f"part-{i}.csv", frame)
    with open_source([tmp_path / "part-0.csv", tmp_path / "part-1.csv"]) as source:
        names = [set(chunk.views.feature_names["categories"]) for chunk in source.chunks(60)]
        table = source.table
    assert names == [{"code=A1", "code=01", "code=02"}, {"code=01", "code=02"}]
    with open_source(tmp_path / "part-1.csv", columns=table) as source:
        assert set(source.schema.feature_names[1]) == {"code=01", "code=02"}
    ids = pd.DataFrame({"uid": [2**53 + 1, 2**53 + 2, 2**53 + 3] * 20, "x": np.arange(60) % 7})
    path = as_text(tmp_path / "ids.csv", ids)
    with open_source(path, columns={"uid": "category"}) as source:
        assert len(source.schema.feature_names[1]) == 3
