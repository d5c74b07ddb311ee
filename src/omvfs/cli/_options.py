"""The options, in the groups in which ``--help`` shows them."""

from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand

from omvfs.cli._checks import destination
from omvfs.cli._config import how_many, how_many_clusters, in_all, parameter, read_config
from omvfs.constraints import NegativeMode

DATA, LEARNING, RUNS = "Which data to read", "How to learn", "Results and long runs"
MACHINES = "Many files, many processes"


class Grouped(TyperCommand):
    """A command whose options are shown in groups, as plain text."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what the line of usage has after the name of the command."""
        given = [each for each in self.get_params(ctx) if each.param_type_name == "argument"]
        return [self.options_metavar or "", *map(_called, given)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options of no group, and then group after group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            name, text = each.get_help_record(ctx) or ("", "")
            if each.param_type_name == "argument":
                groups.setdefault("Arguments", []).append((_called(each), text))
            elif name:
                group = getattr(each, "rich_help_panel", None) or "Options"
                groups.setdefault(group, []).append((name, text))
        for name in sorted(
            groups, key=["Arguments", "Options", DATA, LEARNING, MACHINES, RUNS].index
        ):
            with formatter.section(name):
                formatter.write_dl(groups[name])


def _called(argument: Any) -> str:
    return f"{argument.metavar}{'...' if argument.nargs == -1 else ''}"


Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="A file; a folder that has a file for each view (view_0_text.npz, view_1_image.npy) "
        "or the parts of a table; a 'glob' of parts; an address. text=FILE names a view; - is"
        " standard input.",
    ),
]
Out = Annotated[
    Any,
    typer.Option(
        "-o",
        "--out",
        parser=destination,
        metavar="PATH",
        help="Folder or file to write, here or at an address (s3://...). The ending of a file, "
        "such as .parquet, is its format.",
    ),
]
ResultsOut = Annotated[
    Any,
    typer.Option(
        "-o",
        "--out",
        parser=destination,
        metavar="FOLDER",
        help="Folder for the results, here or at an address (s3://...).",
    ),
]
View = Annotated[
    list[str] | None,
    typer.Option(
        "--view",
        metavar="NAME",
        rich_help_panel=DATA,
        help="Read this view only; repeat it for more.",
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=DATA,
        help="Column by which the rows of several files are matched; each file must be sorted by "
        "it. A row that a file has not lacks its views.",
    ),
]
Join = Annotated[
    str | None,
    typer.Option(
        metavar="HOW",
        rich_help_panel=DATA,
        help="With --key: outer, rows that any file has; or inner, rows that all files have.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=DATA,
        help="Column to leave out, such as a label; repeat it for more.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=DATA,
        help="Column that is not learned from but written with the rows, such as a label or an "
        "id; repeat it for more.",
    ),
]
Tokenize = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VIEW",
        rich_help_panel=DATA,
        help="View of JSON Lines that is raw text: count its words; repeat it for more.",
    ),
]
Vocabulary = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VIEW=FILE",
        rich_help_panel=DATA,
        help="Words of a view to count, one a line, and no others; repeat it for more.",
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", rich_help_panel=DATA, help="Layer to read instead of X, of .h5ad and .h5mu."
    ),
]
Clusters = Annotated[
    Any,
    parameter(
        "n_clusters",
        "-k",
        "--clusters",
        parser=how_many_clusters,
        metavar="N",
        help="Groups of rows to look for; features that tell them apart rank first. auto: as many"
        " as the rows tell.",
    ),
]
Features = Annotated[
    Any,
    parameter(
        "n_features_per_view",
        "-n",
        "--features",
        parser=how_many,
        metavar="N",
        help="Features to select in each view: a number (200), a share (0.1), auto (as many as are"
        " enough), all, or by view (text=200,image=50).",
    ),
]
Total = Annotated[
    Any,
    parameter(
        "n_features_to_select",
        "--total",
        parser=in_all,
        metavar="N",
        help="Features to select in all instead, the same part of each view, or by what views tell"
        " where rows prove that better: a number (500), or a share of all features (0.1).",
    ),
]
Prepare = Annotated[
    list[str] | None,
    parameter(
        "prepare",
        metavar="STEP",
        help="Prepare the rows first: l2 (rows of length 1), log1p, tfidf, scale (columns of the "
        "same size), or hash:20 (names into 2**20 columns); text:l2 for one view. Give it again "
        "for more steps, done in this order.",
    ),
]
Negative = Annotated[
    str,
    parameter(
        "negative",
        metavar="|".join(get_args(NegativeMode)),
        autocompletion=lambda: get_args(NegativeMode),
        help="Negative values: stop with an error, set them to 0, or raise the column until its "
        "lowest value is 0.",
    ),
]
BatchSize = Annotated[
    int,
    parameter(
        "batch_size",
        metavar="N",
        rich_help_panel=LEARNING,
        help="Rows to read and learn from at a time: a chunk.",
    ),
]
HalfLife = Annotated[
    float | None,
    parameter(
        "half_life",
        metavar="ROWS",
        rich_help_panel=LEARNING,
        help="Forget slowly: a row counts half after this many more rows. By default nothing is "
        "forgotten.",
    ),
]
Recency = Annotated[
    float,
    parameter(
        "recency",
        metavar="X",
        rich_help_panel=LEARNING,
        help="If the latest rows differ from those before: the share of the selected features that"
        " is chosen for them, from 0 (none) to 1 (all).",
    ),
]
DetectDrift = Annotated[
    bool,
    parameter(
        "detect_drift",
        "--detect-drift",
        rich_help_panel=LEARNING,
        help="Notice when the rows change, and tell at which row and what came and went.",
    ),
]
Seed = Annotated[
    int,
    parameter(
        "random_state",
        metavar="N",
        rich_help_panel=LEARNING,
        help="Fixes all random choices: the same number gives the same ranking.",
    ),
]
CheckpointEvery = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", rich_help_panel=RUNS, help="Save progress after so many chunks."
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        rich_help_panel=RUNS,
        help="Go on with the run that was stopped in this folder; if there is none, begin.",
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", rich_help_panel=RUNS, help="Replace the results that are in this folder."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel=MACHINES,
        help="Processes of this machine to learn in, each from one file at a time; what they learn "
        "is merged.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        rich_help_panel=MACHINES,
        help="Learn on the workers of a Dask cluster instead: tcp://host:8786. They must see the "
        "files.",
    ),
]
Order = Annotated[
    bool,
    typer.Option(
        "--order",
        rich_help_panel=MACHINES,
        help="The files follow each other in time, as they are read without workers.",
    ),
]
SkipDamaged = Annotated[
    bool,
    typer.Option(
        "--skip-damaged",
        rich_help_panel=MACHINES,
        help="Go on without files that cannot be read or used; they are told at the end.",
    ),
]
WriteData = Annotated[
    bool,
    typer.Option(
        "--write-data",
        rich_help_panel=RUNS,
        help="Also write all rows with the selected features only, to FOLDER/data.",
    ),
]
WithReport = Annotated[
    bool,
    typer.Option(
        "--report",
        rich_help_panel=RUNS,
        help="Also write a page on what was learned, to FOLDER/report.html.",
    ),
]
StatusPath = Annotated[
    Path | None,
    typer.Option(
        "--status",
        metavar="FILE",
        rich_help_panel=RUNS,
        help="Tell programs where the run stands: a small JSON file that is replaced as it goes.",
        show_default=False,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        callback=read_config,
        is_eager=True,
        metavar="FILE",
        rich_help_panel=RUNS,
        help="Take options from a TOML file with lines such as clusters = 20, and other parameters"
        " of OMVFS under its [parameters]. What is typed here wins.",
    ),
]
