"""Options from a TOML file, under their names on the command line."""

import tomllib
from pathlib import Path
from typing import Any

import typer

from omvfs import OMVFS
from omvfs.data.schema import listed

# Parameters of the method, in the file only.
PARAMETERS = "parameters"
# Options that are parameters too.
_OPTIONS = {
    "clusters": "n_clusters",
    "features": "n_features_to_select",
    "batch_size": "batch_size",
    "negative": "negative",
    "forgetting": "forgetting",
    "recency": "recency",
    "seed": "random_state",
}


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
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read: {error.strerror}.") from error
    parameters = values.pop(PARAMETERS, {})
    values = {name.replace("-", "_"): value for name, value in values.items()}
    known = {str(each.name) for each in context.command.params} - {"config"}
    if unknown := sorted(values.keys() - known):
        expected = listed(sorted({*known, PARAMETERS}))
        raise typer.BadParameter(f"{path} has {listed(unknown)}; expected {expected}.")
    own = OMVFS._get_param_names()
    if not isinstance(parameters, dict) or (unknown := sorted(parameters.keys() - set(own))):
        got = listed(unknown) if isinstance(parameters, dict) else repr(parameters)
        raise typer.BadParameter(f"{path} has {PARAMETERS} {got}; expected {listed(own)}.")
    context.default_map = values
    context.meta[PARAMETERS] = parameters
    return path


def parameters_of(context: typer.Context) -> dict[str, Any]:
    """Return the parameters of the file, without those that were typed as options.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    """
    sources = {own: context.get_parameter_source(name) for name, own in _OPTIONS.items()}
    typed = {own for own, source in sources.items() if source and source.name == "COMMANDLINE"}
    given = context.meta.get(PARAMETERS, {})
    return {name: value for name, value in given.items() if name not in typed}
