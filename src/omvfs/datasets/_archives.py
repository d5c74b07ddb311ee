"""Text files within a tar archive, read where they are: nothing is unpacked onto the disk."""

import gzip
import tarfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, cast

from omvfs.formats import SourceError
from omvfs.formats.text_files import read_lines


def text_files(
    archive: Path, wanted: Collection[str]
) -> Iterator[tuple[str, str, Iterator[bytes]]]:
    """Yield some files of an archive, in its order: the name asked for, where it is, its lines.

    Lines are to be read before the next file is asked for; blank ones are left out.

    Parameters
    ----------
    archive : Path
        A tar file, compressed or not.
    wanted : collection of str
        Ends of paths within it, such as ``EN/Index_EN-EN``; with ``.gz`` they are decompressed.
    """
    left = dict.fromkeys(wanted)
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = "/".join(PurePosixPath(member.name).parts[-2:])
                if name in left and member.isfile():
                    del left[name]
                    where = f"{name} in {archive}"
                    # It is None only for what is no file.
                    opened = cast(IO[bytes], tar.extractfile(member))
                    yield name, where, _lines(opened, name, where)
                if not left:
                    return
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise SourceError(
            f"{archive} is damaged or cut off: {error}. Delete it, and what ends in .sha256 beside "
            "it, to fetch it again."
        ) from error
    raise SourceError(
        f"{archive} has no {', '.join(left)}. Delete it, and what ends in .sha256 beside it, to "
        "fetch it again."
    )


def _lines(opened: IO[bytes], name: str, where: str) -> Iterator[bytes]:
    """Yield the lines of one file; what is wrong in it is told with its name."""
    try:
        text = cast(IO[bytes], gzip.GzipFile(fileobj=opened)) if name.endswith(".gz") else opened
        for line, _ in read_lines(text, where):
            yield line
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise SourceError(
            f"{where} is damaged or cut off: {error}. Delete the archive, and what ends in .sha256 "
            "beside it, to fetch it again."
        ) from error
