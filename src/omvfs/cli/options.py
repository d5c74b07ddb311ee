"""The options of the commands, in the groups in which ``--help`` shows them, and a TOML file's."""

import contextlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

# Types only, and what a command that runs needs: `--help` is to be quick.
if TYPE_CHECKING:
    from omvfs.data.schema import NewFeatures, Schema
    from omvfs.data.table import Table
    from omvfs.formats import Source
    from omvfs.formats.files import Destination

DATA, LEARNING, RUNS = "Which data to read", "How to learn", "Results and long runs"
MACHINES = "Many files, many processes"
# The table of parameters in a TOML file.
_TABLE = "parameters"
# Options that are parameters of another name.
_OTHERWISE = {
    "clusters": "n_clusters",
    "features": "n_features_per_view",
    "total": "n_features_to_select",
    "seed": "random_state",
}


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
        order = ["Arguments", "Options", DATA, LEARNING, MACHINES, RUNS]
        for name in sorted(groups, key=order.index):
            with formatter.section(name):
                formatter.write_dl(groups[name])


def _called(argument: Any) -> str:
    return f"{argument.metavar}{'...' if argument.nargs == -1 else ''}"


def destination(given: str | Path) -> "Destination":
    """Return where to write, as typed."""
    from omvfs.formats.files import Destination

    try:
        return Destination(given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def both(given: str | Path) -> tuple["Destination", "Destination"]:
    """Return where the page goes, and what it says, as typed.

    Examples
    --------
    >>> [each.here.name for each in both("out/fox.html")]
    ['fox.html', 'fox.json']
    """
    beside, n = re.subn(r"\.html?(?=$|[?#])", ".json", str(given), count=1)
    if not n:
        raise typer.BadParameter(f"Got {given}; expected a file that ends in .html.")
    return destination(given), destination(beside)


def typed_size(given: Any) -> Any:
    """Return how many features or clusters, as typed: a number, a share, a word, or by view.

    Examples
    --------
    >>> typed_size("80"), typed_size("0.1"), typed_size("auto"), typed_size("all")
    (80, 0.1, 'auto', 1.0)
    >>> typed_size("text=200,image=0.5")
    {'text': 200, 'image': 0.5}
    """
    if not isinstance(given, str):  # from a file
        return given
    if "=" in given:
        pairs = [each.rpartition("=") for each in given.split(",")]
        sizes = {view: typed_size(size) for view, _, size in pairs}
        if len(sizes) < len(pairs) or "" in sizes:
            raise typer.BadParameter(f"Got {given!r}; expected a number for each view, once.")
        return sizes
    if given == "all":
        return 1.0
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(given)
    return given


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a TOML file the defaults of the options."""
    if path is None:
        return None
    from omvfs.data.schema import listed

    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path} is no TOML: {error}") from error
    except RecursionError as error:
        raise typer.BadParameter(f"{path} is nested too deeply to be read.") from error
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read: {error.strerror}.") from error
    parameters = values.pop(_TABLE, {})
    values = {name.replace("-", "_"): value for name, value in values.items()}
    known = {str(each.name) for each in context.command.params} - {"config"}
    if unknown := sorted(values.keys() - known):
        expected = listed(sorted({*known, _TABLE}))
        raise typer.BadParameter(f"{path} has {listed(unknown)}; expected {expected}.")
    from omvfs.parameters import check_not_gone

    own = _own_parameters()
    if not isinstance(parameters, dict):
        raise typer.BadParameter(f"{path} has {_TABLE} {parameters!r}; expected a table.")
    if unknown := sorted(parameters.keys() - own):
        try:
            check_not_gone(unknown)
        except ValueError as error:
            raise typer.BadParameter(f"{path}: {error}") from error
        expected = listed(sorted(own))
        raise typer.BadParameter(f"{path} has {_TABLE} {listed(unknown)}; expected {expected}.")
    context.default_map = values
    context.meta[_TABLE] = parameters
    return path


def parameters_of(context: typer.Context) -> dict[str, Any]:
    """Return the parameters of OMVFS: what was typed, else the file's table, else the options."""
    options = {_OTHERWISE.get(name, name): name for name in context.params}
    found = {own: context.params[options[own]] for own in options.keys() & _own_parameters()}
    sources = {own: context.get_parameter_source(options[own]) for own in found}
    typed = {own for own, source in sources.items() if source and source.name == "COMMANDLINE"}
    table = table_of(context)
    return found | {name: value for name, value in table.items() if name not in typed}


def table_of(context: typer.Context) -> dict[str, Any]:
    """Return the parameters of OMVFS that a file gives."""
    given: dict[str, Any] = context.meta.get(_TABLE, {})
    return given


def is_given(context: typer.Context, option: str) -> bool:
    """Tell whether an option is not just what it is by default: it was typed, or is in the file."""
    source = context.get_parameter_source(option)
    own = _OTHERWISE.get(option, option)
    return (source is not None and source.name != "DEFAULT") or own in table_of(context)


def _own_parameters() -> set[str]:
    """Return the parameters of OMVFS; which views there are is told by the files."""
    from omvfs import OMVFS

    return set(OMVFS().get_params()) - {"views"}


@dataclass(frozen=True)
class Reading:
    """What a command was told to read, by the names of its options."""

    inputs: Sequence[str]
    view: Sequence[str] | None = None
    views: str | None = None
    key: str | None = None
    join: str | None = None
    drop: Sequence[str] | None = None
    keep: Sequence[str] | None = None
    tokenize: Sequence[str] | None = None
    layer: str | None = None
    vocabulary: Sequence[str] | None = None
    column: Sequence[str] | None = None
    delimiter: str | None = None

    @classmethod
    def of(cls, context: typer.Context) -> "Reading":
        """Return what the options of a command say."""
        named = {each.name for each in fields(cls)}
        return cls(**{name: given for name, given in context.params.items() if name in named})

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked for beside the inputs, to be told of a run."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: given for name, given in own.items() if given and name != "inputs"}

    @property
    def from_stdin(self) -> bool:
        """Whether rows come from standard input, and so but once."""
        return any(each.rpartition("=")[2] == "-" for each in self.inputs)

    def opened(
        self,
        schema: "Schema | None" = None,
        new_features: "NewFeatures" = "error",
        columns: "Table | None" = None,
    ) -> "Source":
        """Return the source of the rows, of a table the columns that a model knows."""
        from omvfs.data.schema import listed
        from omvfs.formats import open_source

        options = self.options(schema, new_features)
        options["columns"] = columns or options["columns"]
        source = open_source(*self.inputs, **options)
        views = known_words(self.vocabulary or ()).names
        if unknown := [view for view in views if view not in source.schema.names]:
            raise typer.BadParameter(
                f"Got words of {listed(unknown)}; the views are {listed(source.schema.names)}.",
                param_hint="--vocabulary",
            )
        return source

    def options(
        self, schema: "Schema | None" = None, new_features: "NewFeatures" = "error"
    ) -> dict[str, Any]:
        """Return them as `open_source` has them."""
        return {
            "views": self.view or None,
            "key": self.key,
            "join": self.join or "outer",
            "drop": tuple(self.drop or ()),
            "keep": tuple(self.keep or ()),
            "tokenize": tuple(self.tokenize or ()),
            "layer": self.layer,
            "schema": schema or (known_words(self.vocabulary) if self.vocabulary else None),
            "new_features": new_features,
            "columns": kinds_of(self.column or ()),
            "delimiter": self.delimiter,
            "split_by": self.views or "prefix",
        }


def kinds_of(given: Sequence[str]) -> dict[str, str]:
    """Return the kinds of columns, as typed: ``zip=category``."""
    from omvfs.constraints import checked

    pairs = [each.rpartition("=") for each in given]
    try:
        found: dict[str, str] = checked("columns", {name: kind for name, _, kind in pairs})
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--column") from error
    return found


def known_words(given: Sequence[str]) -> "Schema":
    """Return the views whose words are known, from files of a word a line: ``view=file``."""
    from omvfs.data.schema import Schema

    found: dict[str, tuple[str, ...]] = {}
    for each in given:
        view, sign, path = each.partition("=")
        if not sign or not view or view in found:
            raise typer.BadParameter(
                f"Got {each!r}; expected VIEW=FILE, once for every view.", param_hint="--vocabulary"
            )
        try:
            words = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise typer.BadParameter(
                f"{path} cannot be read: {error}", param_hint="--vocabulary"
            ) from error
        # In the order of the file; blank lines, and words that come again, are none.
        found[view] = tuple(dict.fromkeys(word for word in words if word.strip()))
        if not found[view]:
            raise typer.BadParameter(f"{path} has no words.", param_hint="--vocabulary")
    return Schema(tuple(found), tuple(map(len, found.values())), tuple(found.values()))


# What `--help` says of the options.
_TEXTS = {
    "view": "Read this view only; repeat it for more.",
    "views": "How columns of a table tell their view: prefix (view__feature, the default), "
    "prefix:_ (view_feature) or prefix:_:2 (a view of two parts, as in Cells_Texture_Contrast).",
    "key": "Column by which the rows of several files are matched; a file that is not sorted by "
    "it is held in memory. A row missing from one file lacks the views of that file.",
    "join": "With --key: outer, rows that any file has; or inner, rows that all files have.",
    "drop": "Column to leave out, such as a label; of a table also 'pattern*'; repeat it for more.",
    "keep": "Column that is not learned from but written with the rows, such as a label or an "
    "id; of a table also 'pattern*'; repeat it for more.",
    "column": "What a column of a table is, if not what it looks like: zip=category; or number, "
    "text, parts (of a date), drop. Repeat it for more.",
    "delimiter": "What stands between the values of CSV, if not what it looks like: ';', tab.",
    "tokenize": "View of JSON Lines that is raw text: count its words; repeat it for more.",
    "vocabulary": "Words of a view to count, one a line, and no others; repeat it for more.",
    "layer": "Layer to read instead of X, of .h5ad and .h5mu.",
    "clusters": "Groups of rows to look for; features that tell them apart rank first. auto: as "
    "many as the views predict.",
    "features": "Features to select in each view: a number (200), a share (0.1), auto (as many "
    "as are enough), all, or by view (text=200,image=50).",
    "total": "Features to select in all instead, the best of all views: a number (500), a share "
    "of all features (0.1), or auto (as many as are enough).",
    "prepare": "Prepare the rows first: l2 (rows of length 1), log1p, tfidf, scale (columns of "
    "the same deviation), standardize, or hash:20 (names into 2**20 columns); text:l2 for one "
    "view. Give it again for more steps, done in this order. auto: what the first rows need, "
    "which the run says at its end; none: nothing.",
    "criterion": "How features are scored: separation (how well they tell the clusters apart), "
    "coverage (the best of every cluster, however small), or norm (as in the paper).",
    "sample-size": "Rows of the sample in which clusters are found: more show smaller groups, and "
    "cost more than in proportion.",
    "batch-size": "Rows to read and learn from at a time: a chunk.",
    "half-life": "Forget slowly: a row counts half after this many more rows. By default nothing "
    "is forgotten; rows whose groups change need it.",
    "detect-drift": "Notice when the rows change, and tell at which row and how.",
    "seed": "Fixes all random choices: the same number gives the same ranking.",
    "workers": "Processes of this machine to learn in, each from one file at a time; what they "
    "learn is merged.",
    "scheduler": "Learn on the workers of a Dask cluster instead: tcp://host:8786. They must see "
    "the files.",
    "order": "The files follow each other in time, as they are read without workers.",
    "skip-damaged": "Go on without files that cannot be read or used; they are told at the end.",
    "checkpoint-every": "Save progress after so many chunks.",
    "resume": "Go on with the run that was stopped in this folder; if there is none, begin.",
    "overwrite": "Replace the results that are in this place.",
    "write-data": "Also write all rows with the selected features only, to FOLDER/data.",
    "list": "Print the names of the selected features, one a line, and all else to standard error.",
    "report": "Also write a page on what was learned, to FOLDER/report.html, at every checkpoint "
    "and at the end; an open one reloads itself until then.",
    "status": "Tell programs where the run stands: a small JSON file that is replaced as it goes.",
    "config": "Take options from a TOML file with lines such as clusters = 20, and other "
    "parameters of OMVFS under its [parameters]. What is typed here wins.",
}


def _option(
    group: str | None, name: str, metavar: str = "", *short: str, parameter: str = "", **how: Any
) -> Any:
    """Return the option ``--name`` of a group.

    Its value is shown as `metavar`, none if it is a switch. If it is a parameter of OMVFS, it is
    checked like it.
    """

    def check(context: typer.Context, value: Any) -> Any:
        # Not while the shell completes what is not typed yet.
        if not context.resilient_parsing:
            from omvfs.constraints import checked

            try:
                checked(parameter, value)
            except ValueError as error:
                raise typer.BadParameter(str(error)) from error
        return value

    if parameter:
        how["callback"] = check
    how |= {"rich_help_panel": group, "help": _TEXTS[name], "metavar": metavar or None}
    return typer.Option(*short, f"--{name}", **how)


def _out(metavar: str, text: str, parser: Any = destination) -> Any:
    return typer.Option("-o", "--out", parser=parser, metavar=metavar, help=text)


Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="A file; a folder that has a file for each view (view_0_text.npz, view_1_image.npy) "
        "or the parts of a table; a 'glob' of parts; an address. text=FILE names a view; - is"
        " standard input.",
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The file model.omvfs of a run, or merged.")
]
Out = Annotated[
    Any,
    _out(
        "PATH",
        "Folder or file to write, here or at an address (s3://...). The ending of a file, such as "
        ".parquet, is its format.",
    ),
]
ResultsOut = Annotated[
    Any, _out("FOLDER", "Folder for the results, here or at an address (s3://...).")
]
MergedOut = Annotated[Any, _out("FILE", "For the merged model, here or at an address.")]
PageOut = Annotated[
    Any,
    _out("FILE", "For the page, here or at an address; what it says is beside it as JSON.", both),
]
Repeated = list[str] | None
View = Annotated[Repeated, _option(DATA, "view", "NAME")]
SplitBy = Annotated[str | None, _option(DATA, "views", "HOW")]
Key = Annotated[str | None, _option(DATA, "key", "NAME")]
Join = Annotated[str | None, _option(DATA, "join", "HOW")]
Drop = Annotated[Repeated, _option(DATA, "drop", "NAME")]
Keep = Annotated[Repeated, _option(DATA, "keep", "NAME")]
Column = Annotated[Repeated, _option(DATA, "column", "NAME=KIND")]
Delimiter = Annotated[str | None, _option(DATA, "delimiter", "SIGN")]
Tokenize = Annotated[Repeated, _option(DATA, "tokenize", "VIEW")]
Vocabulary = Annotated[Repeated, _option(DATA, "vocabulary", "VIEW=FILE")]
Layer = Annotated[str | None, _option(DATA, "layer", "NAME")]
Clusters = Annotated[
    Any, _option(None, "clusters", "N", "-k", parameter="n_clusters", parser=typed_size)
]
Features = Annotated[
    Any, _option(None, "features", "N", "-n", parameter="n_features_per_view", parser=typed_size)
]
Total = Annotated[
    Any, _option(None, "total", "N", parameter="n_features_to_select", parser=typed_size)
]
Prepare = Annotated[Repeated, _option(None, "prepare", "STEP", parameter="prepare")]
CriterionOf = Annotated[str, _option(LEARNING, "criterion", "NAME", parameter="criterion")]
SampleSize = Annotated[int, _option(LEARNING, "sample-size", "N", parameter="sample_size")]
BatchSize = Annotated[int, _option(LEARNING, "batch-size", "N", parameter="batch_size")]
HalfLife = Annotated[float | None, _option(LEARNING, "half-life", "ROWS", parameter="half_life")]
DetectDrift = Annotated[bool, _option(LEARNING, "detect-drift", parameter="detect_drift")]
Seed = Annotated[int, _option(LEARNING, "seed", "N", parameter="random_state")]
Workers = Annotated[int | None, _option(MACHINES, "workers", "N", min=1)]
Scheduler = Annotated[str | None, _option(MACHINES, "scheduler", "ADDRESS")]
Order = Annotated[bool, _option(MACHINES, "order")]
SkipDamaged = Annotated[bool, _option(MACHINES, "skip-damaged")]
CheckpointEvery = Annotated[int, _option(RUNS, "checkpoint-every", "N", min=1)]
Resume = Annotated[bool, _option(RUNS, "resume")]
Overwrite = Annotated[bool, _option(RUNS, "overwrite")]
WriteData = Annotated[bool, _option(RUNS, "write-data")]
Listed = Annotated[bool, _option(RUNS, "list")]
WithReport = Annotated[bool, _option(RUNS, "report")]
StatusPath = Annotated[Path | None, _option(RUNS, "status", "FILE")]
Config = Annotated[
    Path | None, _option(RUNS, "config", "FILE", callback=read_config, is_eager=True)
]
