"""Fits over partitions of Spark come to the bits of `omvfs.merge`, whatever Spark runs when.

`make test-spark` runs this, in an environment of its own: Spark is large, and needs Java.
"""

import faulthandler
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import omvfs
from omvfs import OMVFS, Views
from streams import learned
from support import counts, dense

pyspark = pytest.importorskip("pyspark", reason="Spark is not installed: make test-spark")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java 17, which is not here.", allow_module_level=True)

from pyspark.ml.linalg import Vectors, VectorUDT  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402, N812
from pyspark.sql import types as T  # noqa: E402, N812

from omvfs.distributed import spark as on_spark  # noqa: E402
from omvfs.distributed.steps import ClusterError  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    # Of Spark itself, which tells what it thinks of pandas and leaves sockets to the collector.
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

QUICK = {"random_state": 0, "batch_size": 10, "sample_size": 12, "prepare": None}
# Of rows in partitions: some have none, some have fewer than there are clusters.
SIZES = (30, 0, 17, 2, 21, 10, 13, 9)
WORDS = ("cat", "dog", "emu", "fox", "gnu")
COLORS = ("red", "blue", "grün")
# Seconds after which all is given up.
PATIENCE = 2400
CRASHED = r"Spark gave up task 1 of stage .* after 1 of .* Python worker exited unexpectedly"


class Sessions:
    """One session at a time; another master needs another one."""

    def __init__(self):
        self._master, self._session = None, None

    def __call__(self, master="local[2]"):
        if master != self._master:
            self.stop()
            os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
            self._session = (
                SparkSession.builder.master(master)
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.ui.enabled", "false")
                .config("spark.ui.showConsoleProgress", "false")
                .config("spark.sql.shuffle.partitions", "2")
                .getOrCreate()
            )
            self._session.sparkContext.setLogLevel("OFF")
            self._master = master
        return self._session

    def stop(self):
        if self._session is not None:
            self._session.stop()
        self._master, self._session = None, None


@pytest.fixture(scope="module")
def sessions():
    # Whatever hangs: Java ends with the process that started it.
    faulthandler.dump_traceback_later(PATIENCE, exit=True, file=sys.__stderr__)
    held = Sessions()
    yield held
    held.stop()
    faulthandler.cancel_dump_traceback_later()


def blocks(seed, n):
    """Rows of every kind that a column can hold."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)

    def some(width):
        return counts(rng, n, width) * (0.2 + (np.arange(width) % 3 == labels[:, np.newaxis]))

    return {
        "plain": some(7),
        "tfidf": sp.csr_array(some(9)),
        "mixed": sp.csr_array(some(6)),
        "image": some(4).astype(np.float32).astype(np.float64),
        "words": sp.csr_array(some(len(WORDS))),
        "color": some(len(COLORS)),
    }


NAMES = {"words": WORDS, "color": COLORS}
PARTS = [blocks(seed, n) for seed, n in enumerate(SIZES)]
SCHEMA = T.StructType(
    [
        T.StructField("id", T.StringType()),
        T.StructField("plain", VectorUDT()),
        T.StructField("tfidf", VectorUDT()),
        T.StructField("mixed", VectorUDT()),
        T.StructField("image", T.ArrayType(T.FloatType())),
        T.StructField("words", T.MapType(T.StringType(), T.DoubleType())),
        *(T.StructField(f"color__{name}", T.DoubleType()) for name in COLORS),
    ]
)


def rows_of(part):
    def sparse(x):
        return Vectors.sparse(len(x), np.flatnonzero(x).tolist(), x[x != 0].tolist())

    found = []
    for i, (plain, tfidf, mixed, image, words, color) in enumerate(
        zip(*(dense(part[view]).tolist() for view in part), strict=True)
    ):
        amounts = {word: x for word, x in zip(WORDS, words, strict=True) if x}
        found.append(
            (
                f"row {i}",
                Vectors.dense(plain),
                sparse(np.array(tfidf)),
                # The first of every chunk is sparse, so that all are read as such.
                Vectors.dense(mixed) if i % 10 else sparse(np.array(mixed)),
                image,
                amounts,
                *color,
            )
        )
    return found


def framed(spark, parts, schema=SCHEMA):
    """Return a DataFrame whose partitions are known."""
    held = spark.sparkContext.parallelize(parts, len(parts))
    return spark.createDataFrame(held.flatMap(lambda part: part), schema)


ALL = {
    "plain": "plain",
    "tfidf": "tfidf",
    "mixed": "mixed",
    "image": "image",
    "words": "words",
    "color": [f"color__{name}" for name in COLORS],
}


def one_by_one(parts, names=NAMES, order=False, **own):
    model = OMVFS(3, **{**QUICK, **own})
    fitted = [
        OMVFS(3, **{**QUICK, **own}).fit_batches([Views(part, feature_names=names)])
        for part in parts
        if part
    ]
    assert model.get_params() == fitted[0].get_params()
    return omvfs.merge(fitted, order=order)


def with_rows(parts):
    return [part for part in parts if len(dense(part["plain"]))]


@pytest.mark.parametrize("master", ["local[1]", "local[2]"])
def test_partitions_give_the_bits_of_merged_fits_on_any_number_of_cores(sessions, master):
    df = framed(sessions(master), [rows_of(part) for part in PARTS])
    selector = OMVFS(3, **QUICK)
    model = on_spark.fit(selector, df, views=ALL)
    assert learned(model) == learned(one_by_one(with_rows(PARTS)))
    assert model.n_samples_seen_ == sum(SIZES)
    assert not hasattr(selector, "schema_")
    assert model.schema_.names_of("words") == WORDS


def test_partitions_may_follow_each_other_in_time(sessions):
    parts = [{"X": counts(np.random.default_rng(seed), 20, 6)} for seed in range(3)]
    schema = "X array<double>"
    df = framed(sessions(), [[(x,) for x in part["X"].tolist()] for part in parts], schema)
    own = {"half_life": 30.0}
    model = on_spark.fit(OMVFS(3, **{**QUICK, **own}), df, order=True)
    expected = one_by_one(parts, names={}, order=True, **own)
    assert learned(model) == learned(expected)


def test_all_partitions_go_by_what_the_first_rows_tell(sessions):
    rng = np.random.default_rng(0)
    # By themselves they would tell different steps, and the first has no rows.
    parts = [
        np.empty((0, 6)),
        rng.normal(size=(30, 6)),
        rng.normal(size=(30, 6)) * 10.0 ** np.arange(6),
    ]
    df = framed(sessions(), [[(x,) for x in X.tolist()] for X in parts], "X array<double>")
    model = on_spark.fit(OMVFS(3, random_state=0), df)
    alone = [OMVFS(3, random_state=0).fit({"X": X}).prepared_["X"] for X in parts[1:]]
    assert (alone, model.prepared_) == ([(), ("scale",)], {"X": ("scale",)})
    assert (model.prepare, model.n_samples_seen_) == ("auto", 60)


def test_columns_of_numbers_are_one_frame(sessions):
    import pandas as pd

    names = ["a__x", "a__y", "b__x", "b__y", "b__z"]
    frames = [
        pd.DataFrame(counts(np.random.default_rng(seed), n, 5), columns=names)
        for seed, n in enumerate((20, 15))
    ]
    spark = sessions()
    df = framed(
        spark,
        [[tuple(row) for row in frame.to_numpy().tolist()] for frame in frames],
        ", ".join(f"{name} double" for name in names),
    )
    selector = OMVFS(3, views="prefix", n_features_per_view=1, **QUICK)
    model = on_spark.fit(selector, df)
    fitted = [OMVFS(3, views="prefix", n_features_per_view=1, **QUICK).fit(f) for f in frames]
    assert learned(model) == learned(omvfs.merge(fitted))
    assert model.transform(frames[0]).shape == (20, 2)
    taken = on_spark.transform(model, df)
    assert taken.columns == list(model.get_feature_names_out())
    got = np.array([tuple(row) for row in taken.collect()])
    np.testing.assert_array_equal(got, np.vstack([model.transform(f) for f in frames]))


def test_what_is_selected_can_be_taken_from_a_frame(sessions):
    spark = sessions()
    df = framed(spark, [rows_of(PARTS[0]), rows_of(PARTS[2])])
    model = one_by_one([PARTS[0], PARTS[2]], n_features_per_view=2)
    spark.sparkContext.setJobGroup("lazy", "what is not run")
    taken = on_spark.transform(model, df, views=ALL, keep=["id"])
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("lazy")
    got, n = taken.collect(), SIZES[0]
    expected = model.transform_views(Views(PARTS[0], feature_names=NAMES))
    assert [row["id"] for row in got[:n]] == [f"row {i}" for i in range(n)]
    for view in ("plain", "tfidf", "mixed"):
        rows = [row[view].toArray() for row in got[:n]]
        np.testing.assert_array_equal(rows, dense(expected[view]))
    np.testing.assert_array_equal([row["image"] for row in got[:n]], expected["image"])
    colors = taken.columns[-2:]
    np.testing.assert_array_equal(
        [[row[name] for name in colors] for row in got[:n]], expected["color"]
    )
    words = np.array(WORDS)[model.view_support_["words"]]
    amounts = [[row["words"].get(word, 0.0) for word in words] for row in got[:n]]
    np.testing.assert_array_equal(amounts, dense(expected["words"]))
    assert {word for row in got for word in row["words"]} <= set(words)
    assert got[1]["tfidf"].__class__.__name__ == "SparseVector"
    with pytest.raises(ValueError, match="no columns 'nothing' to keep"):
        on_spark.transform(model, df, views=ALL, keep=["nothing"])
    turned = {**ALL, "color": ALL["color"][::-1]}
    with pytest.raises(ValueError, match="View 'color' has its columns in another order"):
        on_spark.transform(model, df, views=turned)
    longer = df.withColumn("image", F.lit([1.0] * 5))
    with pytest.raises(Exception, match="View 'image' has 5 features; 4 were fitted"):
        on_spark.transform(model, longer, views=ALL).collect()
    with pytest.raises(ValueError, match="Got keep='plain', of which views are made"):
        on_spark.transform(model, df, views=ALL, keep=["plain"])
    with pytest.raises(ValueError, match="Got views 'plain'; expected"):
        on_spark.transform(model, df, views={"plain": "plain"})


def test_words_that_count_can_be_told(sessions):
    df = framed(sessions(), [rows_of(PARTS[0]), rows_of(PARTS[2])])
    some = ["fox", "cat"]
    model = on_spark.fit(
        OMVFS(3, **QUICK), df, views={"words": "words"}, feature_names={"words": some}
    )
    places = [WORDS.index(word) for word in some]
    parts = [{"words": part["words"][:, places]} for part in (PARTS[0], PARTS[2])]
    assert learned(model) == learned(one_by_one(parts, {"words": some}))
    # A single partition is what it has learned; columns tell their views.
    df = framed(sessions(), [[], rows_of(PARTS[0])]).drop("id")
    alone = OMVFS(3, **QUICK).fit_batches([Views(PARTS[0], feature_names=NAMES)])
    assert learned(on_spark.fit(OMVFS(3, **QUICK), df)) == learned(alone)


def test_a_bad_row_names_its_partition(sessions):
    good = [([float(i), 1.0],) for i in range(20)]
    for bad, said in [
        (None, "partition 1: Column 'a' is null at row 12; expected values"),
        ([1.0, np.nan], "partition 1: Input X contains NaN: view 'a'"),
    ]:
        df = framed(sessions(), [good, [*good[:12], (bad,), *good]], "a array<double>")
        selector = OMVFS(3, **QUICK)
        with pytest.raises(ValueError, match=said):
            on_spark.fit(selector, df)
        assert not hasattr(selector, "schema_")


@pytest.mark.parametrize(("master", "survives"), [("local[2,3]", True), ("local[2]", False)])
def test_a_worker_that_is_killed(sessions, tmp_path, master, survives):
    spark, armed = sessions(master), tmp_path / "armed"
    armed.touch()
    where = str(armed)

    def killing(batches):
        for batch in batches:
            if batch.column(1)[0].as_py() == 1 and Path(where).exists():
                Path(where).unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    parts = [{"a": counts(np.random.default_rng(seed), 20, 6)} for seed in range(3)]
    schema = "a array<double>, part int"
    rows = [[(x, i) for x in part["a"].tolist()] for i, part in enumerate(parts)]
    df = framed(spark, rows, schema).mapInArrow(killing, schema)
    expected = learned(one_by_one(parts, names={}))
    if not survives:
        with pytest.raises(ClusterError, match=CRASHED):
            on_spark.fit(OMVFS(3, **QUICK), df, views={"a": "a"})
        assert not armed.exists()
    # Where tasks are tried again, nobody notices; else the next fit finds all as it was.
    assert learned(on_spark.fit(OMVFS(3, **QUICK), df, views={"a": "a"})) == expected
    assert not armed.exists()
