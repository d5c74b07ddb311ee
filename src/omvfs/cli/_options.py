"""The options, in the groups in which ``--help`` shows them."""

from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand

from omvfs.cli._checks import destination
from omvfs.cli._config import how_many, parameter, read_config
from omvfs.selectors.settings import NegativeMode

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
        help="A folder with a file for each view (view_0_text.npz, view_1_image.npy), or of parts "
        "of one table; files, 'globs', text=FILE to name a view; - is standard input.",
    ),
]
Out = Annotated[
    Any,
    typer.Option(
        "-o",
        "--out",
        parser=destination,
        metavar="PATH",
        help="Folder to write to, or a file: its ending, such as .parquet, tells the format. Here, "
        "or at an address: s3://...",
    ),
]
ResultsOut = Annotated[
    Any,
    typer.Option(
        "-o",
        "--out",
        parser=destination,
        metavar="FOLDER",
        help="For the results, here or at an address.",
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
        help="Column that tells which rows of several files belong together; each file must be "
        "sorted by it.",
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
        help="Column that is no feature but is written too, such as a label or an id; repeat it "
        "for more.",
    ),
]
Tokenize = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VIEW",
        rich_help_panel=DATA,
        help="Count the words of this view of JSON Lines, which is text; repeat it for more.",
    ),
]
Vocabulary = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VIEW=FILE",
        rich_help_panel=DATA,
        help="The words of a view, one a line, and no others. Words on standard input are then "
        "learned as they come; repeat it for more.",
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", rich_help_panel=DATA, help="Layer of .h5ad and .h5mu to read instead of X."
    ),
]
Clusters = Annotated[
    int,
    parameter(
        "n_clusters",
        "-k",
        "--clusters",
        metavar="N",
        help="Groups of rows to look for; features that tell them apart rank first.",
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
        help="Features to select in each view: 200; 0.1 for a tenth; auto for as many as are "
        "enough; all; or text=200,image=50.",
    ),
]
Prepare = Annotated[
    list[str] | None,
    parameter(
        "prepare",
        metavar="STEP",
        help="Prepare the rows first: l2 (every row of length 1), log1p, tfidf, or scale (every "
        "column of the same size); text:l2 is for one view. Repeat it for more steps, in order.",
    ),
]
Negative = Annotated[
    str,
    parameter(
        "negative",
        metavar="|".join(get_args(NegativeMode)),
        autocompletion=lambda: get_args(NegativeMode),
        help="For negative values: stop with an error, set them to 0, or raise the column until "
        "its lowest value is 0.",
    ),
]
BatchSize = Annotated[
    int,
    parameter(
        "batch_size",
        metavar="N",
        rich_help_panel=LEARNING,
        help="Rows to read and learn from at a time, a chunk.",
    ),
]
HalfLife = Annotated[
    float | None,
    parameter(
        "half_life",
        metavar="ROWS",
        rich_help_panel=LEARNING,
        help="Let rows fade: a row counts half after so many rows more. By default none fades.",
    ),
]
Recency = Annotated[
    float,
    parameter(
        "recency",
        metavar="X",
        rich_help_panel=LEARNING,
        help="If the latest rows differ from those before: share of the selected features that are "
        "chosen by them, from 0 (none) to 1 (all).",
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
        min=1, metavar="N", rich_help_panel=RUNS, help="Chunks after which progress is saved."
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", rich_help_panel=RUNS, help="Go on with the run that was stopped in this folder."
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
        help="Write the selected features of all rows too, to FOLDER/data.",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        callback=read_config,
        is_eager=True,
        metavar="FILE",
        rich_help_panel=RUNS,
        help="Take options from a TOML file with lines such as clusters = 20, and what else can "
        "be set from its table [parameters]; what is typed here wins.",
    ),
]
