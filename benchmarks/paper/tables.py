"""The paper's two tables: the data sets, and what the methods can do."""

from collections.abc import Sequence

from omvfs import OMVFS
from omvfs.baselines import FSDS
from omvfs.data.read import as_views
from omvfs.selector import MultiViewSelector
from paper.acsl import ACSL
from paper.base import Experiment, Place, Row, Task
from paper.eufs import EUFS
from paper.joint_graph import JMVFG
from paper.mcfs import MCFS
from paper.methods import MULTI_VIEW
from paper.mvufs import MVUFS
from paper.ndfs import NDFS
from paper.page import table
from paper.sets import LARGE, SMALL, at_hand, load, twins
from paper.spec import SPEC, LaplacianScore
from paper.timefs import TIMEFS


class DataSets(Experiment):
    """The table of data sets: those at hand, and the twins."""

    name = "data-sets"
    title = "The data sets"

    def tasks(self, place: Place) -> Sequence[Task]:
        """Return a task a set."""
        names = [*at_hand(place, [*SMALL, *LARGE]), *twins(place)]
        return [Task(describe, {"data": name}) for name in names]

    def section(self, rows: Sequence[Row]) -> str:
        """Return the table."""
        cells = [
            [
                row["data"],
                f"{row['rows']:,}",
                " + ".join(f"{width:,}" for width in row["features"]),
                row["classes"],
                " / ".join(f"{share:.3g}" for share in row["filled"]),
            ]
            for row in rows
        ]
        head = ["set", "instances", "features", "classes", "entries that are not 0, %"]
        return "Twins have the shape of the paper's sets, not their data.\n\n" + table(cells, head)


def describe(place: Place, data: str) -> list[Row]:
    """Return what the table says of one set."""
    rows = load(data, place)
    views = as_views(rows.views)
    filled = [100 * (X != 0).sum() / (X.shape[0] * X.shape[1]) for X in views.blocks.values()]
    return [
        {
            "rows": views.n_rows,
            "features": list(views.widths.values()),
            "classes": rows.n_classes,
            "filled": [float(share) for share in filled],
        }
    ]


class Methods(Experiment):
    """The table of methods, from what the classes say of themselves."""

    name = "methods"
    title = "The methods"

    def tasks(self, place: Place) -> Sequence[Task]:
        """Return the one task."""
        return [Task(properties, {"of": "classes"})]

    def section(self, rows: Sequence[Row]) -> str:
        """Return the table."""
        marks = {True: "✓", False: "×", None: "–"}
        keys = ["multi-view", "online", "direct embedding"]
        cells = [[row["method"], *(marks[row[key]] for key in keys)] for row in rows]
        return (
            "Online: has `partial_fit`. Multi-view: the views have one common indicator. Direct "
            "embedding: features are scored by the factor that explains the data, not by a later "
            "regression; – where there are no clusters.\n\n" + table(cells, ["method", *keys])
        )


def properties(place: Place, of: str) -> list[Row]:
    """Return what each method can do."""
    # Whether features are scored by the factor that explains the data rather than by a regression
    # on the clusters; None where there are none.
    methods: dict[type[MultiViewSelector], bool | None] = {
        LaplacianScore: None,
        SPEC: None,
        MCFS: False,
        NDFS: False,
        EUFS: True,
        MVUFS: False,
        JMVFG: False,
        ACSL: False,
        TIMEFS: True,
        FSDS: False,
        OMVFS: True,
    }
    return [
        {
            "method": each.__name__,
            "multi-view": each.__name__ in MULTI_VIEW,
            "online": hasattr(each, "partial_fit"),
            "direct embedding": direct,
        }
        for each, direct in methods.items()
    ]
