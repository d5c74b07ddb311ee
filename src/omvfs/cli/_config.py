"""Options that are parameters of the method, typed or from a TOML file."""

import tomllib
from pathlib import Path
from typing import Any

import typer

from omvfs import OMVFS
from omvfs.cli._wording import COUNTS, IN_ALL, SIZES
from omvfs.constraints import checked
from omvfs.data.schema import listed
from omvfs.model.settings import AUTO
from omvfs.wording import sentence_of

# The table of parameters in the file.
_TABLE = "parameters"
# Options that are parameters of another name.
_OTHERWISE = {
    "clusters": "n_clusters",
    "features": "n_features_per_view",
    "total": "n_features_to_select",
    "seed": "random_state",
    "resamples": "n_resamples",
}
# What an option is by default that is a parameter.
DEFAULTS: dict[str, Any] = OMVFS().get_params()
# Which views there are is told by the files, and changes of the stream at the end.
for _name in ("views", "drift_detector", "on_drift"):
    del DEFAULTS[_name]
# What is typed for a number of features, and is the same in Python; all of them are a share.
_WORDS = {AUTO: AUTO, "all": 1.0}


def parameter(name: str, *flags: str, **how: Any) -> Any:
    """Return an option that is a parameter of OMVFS, and checked like it.

    Parameters
    ----------
    name : str
        Of the parameter.
    *flags : str
        As the option is typed; by default, its name.
    **how
        What else `typer.Option` is to know.
    """

    def check(context: typer.Context, value: Any) -> Any:
        # Not while the shell completes what is not typed yet.
        if not context.resilient_parsing:
            try:
                checked(name, value)
            except ValueError as error:
                raise typer.BadParameter(sentence_of(error)) from error
        return value

    return typer.Option(*flags, callback=check, **how)


def how_many(given: Any) -> Any:
    """Return how many features to select as it was typed: a number, share or word, or by view.

    Parameters
    ----------
    given : str or object
        As typed, or from a file.

    Examples
    --------
    >>> how_many("80"), how_many("0.1"), how_many("auto"), how_many("all")
    (80, 0.1, 'auto', 1.0)
    >>> how_many("text=200,image=0.5")
    {'text': 200, 'image': 0.5}
    """
    if not isinstance(given, str):
        return given
    if "=" not in given:
        return _size(given, given)
    sizes = {}
    for each in given.split(","):
        view, sign, size = each.rpartition("=")
        if not sign or view in sizes:
            raise typer.BadParameter(f"Got {given!r}; expected a number for each view, once.")
        sizes[view] = _size(size, given)
    return sizes


def in_all(given: Any) -> Any:
    """Return how many features to select in all as it was typed: a number, or a share.

    Parameters
    ----------
    given : str or object
        As typed, or from a file.

    Examples
    --------
    >>> in_all("500"), in_all("0.1")
    (500, 0.1)
    """
    if not isinstance(given, str):
        return given
    for kind in (int, float):
        try:
            return kind(given)
        except ValueError:
            continue
    raise typer.BadParameter(f"Got {given!r}; expected {IN_ALL}.")


def how_many_clusters(given: Any) -> Any:
    """Return how many clusters to look for as it was typed: a number, or a word.

    Parameters
    ----------
    given : object
        As it was typed; what is not text is what a file gives.

    Examples
    --------
    >>> how_many_clusters("12"), how_many_clusters("auto")
    (12, 'auto')
    """
    if not isinstance(given, str) or given == AUTO:
        return given
    try:
        return int(given)
    except ValueError:
        raise typer.BadParameter(f"Got {given!r}; expected {COUNTS}.") from None


def _size(text: str, given: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise typer.BadParameter(f"Got {given!r}; expected {SIZES}.")


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a file the defaults of the options.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    path : Path or None
        The file; paths within it are as if typed.
    """
    if path is None:
        return None
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
    if not isinstance(parameters, dict) or (unknown := sorted(parameters.keys() - DEFAULTS)):
        got = listed(unknown) if isinstance(parameters, dict) else repr(parameters)
        raise typer.BadParameter(f"{path} has {_TABLE} {got}; expected {listed(DEFAULTS)}.")
    context.default_map = values
    context.meta[_TABLE] = parameters
    return path


def parameters_of(context: typer.Context) -> dict[str, Any]:
    """Return the parameters of OMVFS: what was typed, else the file's table, else the options.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    """
    options = {_OTHERWISE.get(name, name): name for name in context.params}
    found = {own: context.params[name] for own, name in options.items() if own in DEFAULTS}
    sources = {own: context.get_parameter_source(options[own]) for own in found}
    typed = {own for own, source in sources.items() if source and source.name == "COMMANDLINE"}
    table = table_of(context)
    return found | {name: value for name, value in table.items() if name not in typed}


def table_of(context: typer.Context) -> dict[str, Any]:
    """Return the parameters of OMVFS that a file gives.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    """
    given: dict[str, Any] = context.meta.get(_TABLE, {})
    return given


def check_one_size(context: typer.Context) -> None:
    """Refuse numbers of features by view together with one of all.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    """
    if is_given(context, "features") and is_given(context, "total"):
        raise typer.BadParameter(
            "-n is of each view, --total of all views together: give one of them."
        )


def resized(selector: Any, features: Any, total: Any) -> Any:
    """Return a selector that selects as many features as are asked for anew.

    Parameters
    ----------
    selector : OMVFS or OMVFSPaper
    features, total : object or None
        Of each view, or of all views together; None if not asked for.

    Examples
    --------
    >>> resized(OMVFS(n_features_to_select=9), 20, None)
    OMVFS(n_features_per_view=20)
    """
    if total is not None and "n_features_to_select" not in selector.get_params():
        raise typer.BadParameter(
            f"--total is not for a model of {type(selector).__name__}: give -n instead."
        )
    if total is not None:
        selector.set_params(n_features_to_select=total)
    elif features is not None:
        selector.set_params(n_features_per_view=features)
        if "n_features_to_select" in selector.get_params():
            selector.set_params(n_features_to_select=None)
    return selector


def options_of(command: Any) -> dict[str, str]:
    """Return the option of every parameter that has one, in any command.

    Parameters
    ----------
    command : typer's group
        Of all commands.
    """
    return {
        _OTHERWISE.get(each.name, each.name): each.opts[-1]
        for own in command.commands.values()
        for each in own.params
        if each.param_type_name == "option"
    }


def is_given(context: typer.Context, option: str) -> bool:
    """Tell whether an option is not just what it is by default: it was typed, or is in the file.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    option : str
        Its name.
    """
    source = context.get_parameter_source(option)
    own = _OTHERWISE.get(option, option)
    return (source is not None and source.name != "DEFAULT") or own in context.meta.get(_TABLE, {})
