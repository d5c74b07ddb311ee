"""Online unsupervised multi-view feature selection."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omvfs.data.read import SuspectColumnWarning, as_views, rechunk
    from omvfs.data.views import Views
    from omvfs.omvfs import OMVFS
    from omvfs.paper import OMVFSPaper
    from omvfs.parts import merge

__all__ = [
    "OMVFS",
    "OMVFSPaper",
    "SuspectColumnWarning",
    "Views",
    "as_views",
    "merge",
    "rechunk",
]
__version__ = "0.2.0"

# Imported on first use, so that `import omvfs` stays fast.
_HOMES = {
    "OMVFS": "omvfs",
    "OMVFSPaper": "paper",
    "SuspectColumnWarning": "data.read",
    "Views": "data.views",
    "as_views": "data.read",
    "merge": "parts",
    "rechunk": "data.read",
}

# Modules that have a shorter name.
_DOORS = {"river": "integrations.river", "scverse": "integrations.scverse"}


def __getattr__(name: str) -> Any:
    if name in _DOORS:
        try:
            found = import_module(f"omvfs.{_DOORS[name]}")
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("omvfs"):
                raise
            message = f"omvfs.{name} needs {error.name}: pip install 'omvfs[{name}]'"
            raise ModuleNotFoundError(message, name=error.name) from error
    elif name in _HOMES:
        found = getattr(import_module(f"omvfs.{_HOMES[name]}"), name)
    elif name.isidentifier() and not name.startswith("_") and find_spec(f"omvfs.{name}"):
        found = import_module(f"omvfs.{name}")
    else:
        raise AttributeError(f"module 'omvfs' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
