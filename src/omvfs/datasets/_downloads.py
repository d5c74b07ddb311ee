"""Files of a data set on this disk: fetched once by pooch, and checked at every use.

For a file without a published hash, the first one seen is taken for the true one: its SHA-256 is
kept beside it, in ``<name>.sha256``, and every later use is held against that.
"""

import hashlib
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA_HOME = "OMVFS_DATA"

Hashes = str | Mapping[str, str] | None
PathLike = str | os.PathLike[str]

_log = logging.getLogger(__name__)
_HASH = re.compile(r"(?:(md5|sha1|sha256|sha512):)?([0-9a-fA-F]{32,128})")


@dataclass(frozen=True)
class Needed:
    """What a data set needs on this disk.

    Attributes
    ----------
    folder : str
        Folder of the set within the data home.
    files : dict of str to str
        What each file holds, by its name, for those who have to put it there themselves.
    base_url : str or None
        Address of the folder that has the files; None where none is known to last.
    page : str
        Where the set is told about.
    """

    folder: str
    files: Mapping[str, str]
    base_url: str | None
    page: str

    def paths(self, data_home: PathLike | None) -> list[Path]:
        """Return where the files are, or should be."""
        return [get_data_home(data_home) / self.folder / name for name in self.files]

    def there(self, data_home: PathLike | None) -> bool:
        """Tell whether all files are on this disk."""
        return all(path.is_file() for path in self.paths(data_home))


def get_data_home(data_home: PathLike | None = None) -> Path:
    """Return the folder that keeps the sets that were fetched; it need not exist.

    Parameters
    ----------
    data_home : path, default=None
        The folder itself; by default what the environment variable ``OMVFS_DATA`` names, else
        ``omvfs_data`` in the home of the user.

    Examples
    --------
    >>> get_data_home("data").as_posix()
    'data'
    """
    given = os.environ.get(DATA_HOME) or "~/omvfs_data" if data_home is None else data_home
    return Path(given).expanduser()


def provide(
    needed: Needed,
    data_home: PathLike | None,
    *,
    download_if_missing: bool,
    base_url: str | None,
    known_hash: Hashes,
) -> list[Path]:
    """Return the files of a set, checked; those that are missing are fetched first."""
    hashes = _hashes(known_hash, tuple(needed.files))
    paths = needed.paths(data_home)
    address = base_url or needed.base_url
    missing = [path for path in paths if not path.is_file()]
    if missing and (address is None or not download_if_missing):
        raise FileNotFoundError(_remedy(needed, missing, address))
    for path in paths:
        expected = hashes.get(path.name) or _kept(path)
        if path in missing:
            _download(f"{str(address).rstrip('/')}/{path.name}", path, expected, needed)
        _check(path, expected)
    return paths


def _download(url: str, path: Path, expected: str | None, needed: Needed) -> None:
    """Fetch one file; unless all of it comes, and has the right hash, there is none."""
    pooch = _pooch()
    try:
        pooch.retrieve(url, known_hash=expected, fname=path.name, path=path.parent)
    except ValueError as error:
        raise ValueError(
            f"{url} was not kept: {error}. Expected the hash {expected}: known_hash, or what the "
            f"file had when it was first used. If what is there now is right, pass its hash, or "
            f"delete {_record(path)}."
        ) from error
    except OSError as error:
        raise OSError(f"{url} could not be fetched: {error}. {_places(needed, [path])}") from error


def _check(path: Path, expected: str | None) -> None:
    """Refuse a file that has not the hash it should have; keep the one that it has."""
    seen = "sha256:" + _hash_of(path, "sha256")
    if expected:
        algorithm, _, digest = expected.rpartition(":")
        algorithm = algorithm or "sha256"
        got = seen if algorithm == "sha256" else f"{algorithm}:{_hash_of(path, algorithm)}"
        if got != f"{algorithm}:{digest.lower()}":
            raise ValueError(
                f"{path} has the hash {got}; expected {expected}: known_hash, or what it had when "
                f"it was first used. Delete it to fetch it again; if it is right, pass its hash, "
                f"or delete {_record(path).name} beside it."
            )
    record = _record(path)
    try:
        part = record.with_name(record.name + ".part")
        part.write_text(seen + "\n", encoding="ascii")
        part.replace(record)
    except OSError as error:  # a folder that is only to be read is good enough
        _log.warning("The hash of %s cannot be kept beside it: %s", path, error)


def _kept(path: Path) -> str | None:
    """Return the hash that a file had when it was first used, if it was."""
    record = _record(path)
    if not record.is_file():
        return None
    kept = record.read_text(encoding="utf-8", errors="replace").strip()
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", kept):
        raise ValueError(f"{record} holds no hash; expected 'sha256:<digits>'. Delete it.")
    return kept


def _record(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _hash_of(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _hashes(known_hash: Hashes, names: tuple[str, ...]) -> dict[str, str]:
    """Return the hashes given, by file."""
    if known_hash is None:
        return {}
    if isinstance(known_hash, str):
        if len(names) > 1:
            raise ValueError(f"Got one known_hash for {len(names)} files; expected a dict {names}.")
        known_hash = {names[0]: known_hash}
    if unknown := sorted(set(known_hash) - set(names)):
        raise ValueError(f"Got known_hash of {unknown}; the files are {names}.")
    for name, given in known_hash.items():
        if not _HASH.fullmatch(given):
            raise ValueError(f"Got known_hash {given!r} of {name}; expected 'sha256:<digits>'.")
    return dict(known_hash)


def _remedy(needed: Needed, missing: Sequence[Path], address: str | None) -> str:
    """Return what to do about files that are not there and not to be fetched."""
    if address is None:
        why = "there is no lasting address to fetch them from"
        also = " Or pass base_url=, the address of a folder that has them."
    else:
        why, also = "download_if_missing is False", " Or let them be fetched."
    names = ", ".join(path.name for path in missing)
    return (
        f"There is no {names} at {missing[0].parent}, and {why}. {_places(needed, missing)}{also}"
    )


def _places(needed: Needed, missing: Sequence[Path]) -> str:
    lines = "".join(f"\n  {path}: {needed.files[path.name]}" for path in missing)
    return f"To do it by hand (see {needed.page}), put there:{lines}\n"


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as missing:
        raise ImportError(
            "Fetching data sets needs: pip install omvfs[datasets]. Sets that are on this disk "
            "are read without it."
        ) from missing
    return pooch
