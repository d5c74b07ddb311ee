"""Files behind http and https addresses, read with the standard library alone."""

import base64
import errno
import http.client
import io
import os
import re
import tempfile
import time
import urllib.error
import urllib.request
from collections import OrderedDict
from contextlib import ExitStack
from typing import IO, Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from omvfs.formats._base import SourceError
from omvfs.formats.addresses import without_secrets

# Seconds to wait for a server, by default, and the environment variable that tells others.
_SECONDS, TIMEOUT = 30.0, "OMVFS_HTTP_TIMEOUT"
# A file is read by blocks, the last of which are kept.
_BLOCK_BYTES, _KEPT = 1 << 20, 16
# How often a server may cut off one block, and seconds before it is asked again.
_RETRIES, _PAUSE = 4, 0.05
_SAFE = "%/:@!$&'()*+,;=?~"


class AddressError(SourceError, OSError):
    """An address that cannot be read, or not to its end."""


def open_http(address: str) -> IO[bytes]:
    """Return what is at an address, opened for reading bytes from wherever.

    Parameters
    ----------
    address : str
        Of http or https, with user and password if need be.
    """
    return io.BufferedReader(_Remote(address), 1 << 16)


class _Told(NamedTuple):
    """What a server says of a file: if another time it is not the same, the file has changed."""

    tag: str | None
    modified: str | None
    size: int | None


class _Remote(io.RawIOBase):
    """A file behind an address.

    It is read as it comes. To go elsewhere the server is asked for the rest from there on; one that
    cannot do so sends all of it into a temporary file without a name.
    """

    _answer: Any = None
    _spool: IO[bytes] | None = None
    _told: _Told | None = None

    def __init__(self, address: str) -> None:
        self._address, self._name, self._seconds = address, without_secrets(address), _seconds()
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        # Where the reader is, and where the answer is.
        self._at = self._next = 0
        self._ask(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        number, offset = divmod(self._at, _BLOCK_BYTES)
        content = self._block(number)[offset : offset + len(buffer)]
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)

    def seek(self, offset: int, whence: int = 0) -> int:
        place = offset + (self._at if whence == 1 else self._size() if whence == 2 else 0)
        if place < 0:
            raise OSError(errno.EINVAL, "There is nothing before the first byte")
        self._at = place
        return place

    def close(self) -> None:
        try:
            for each in (self._answer, self._spool):
                if each is not None:
                    each.close()
        finally:
            super().close()

    def _size(self) -> int:
        """Return how many bytes there are."""
        if self._told is not None and self._told.size is not None:
            return self._told.size
        return self._spooled().seek(0, 2)

    def _block(self, number: int) -> bytes:
        start = number * _BLOCK_BYTES
        if self._spool is None and number not in self._blocks and start != self._next:
            if self._told is not None and self._told.size is not None and start >= self._told.size:
                return b""
            if not self._ask(start):
                self._spooled()
        if self._spool is not None:
            self._spool.seek(start)
            return self._spool.read(_BLOCK_BYTES)
        if number in self._blocks:
            self._blocks.move_to_end(number)
        else:
            self._blocks[number] = self._arrived(_BLOCK_BYTES)
            if len(self._blocks) > _KEPT:
                self._blocks.popitem(last=False)
        return self._blocks[number]

    def _spooled(self) -> IO[bytes]:
        """Return a file without a name that has all of it."""
        if self._spool is None:
            if self._next:
                self._ask(0)
            with ExitStack() as stack:
                spool: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
                while part := self._arrived(_BLOCK_BYTES):
                    self._keep(part, spool)
                stack.pop_all()
            self._spool = spool
            self._blocks.clear()
        return self._spool

    def _keep(self, part: bytes, spool: IO[bytes]) -> None:
        try:
            spool.write(part)
            spool.flush()
        except OSError as error:
            raise AddressError(
                f"{self._name} cannot be kept in the folder {tempfile.gettempdir()}: "
                f"{error.strerror}. Set TMPDIR to another, or download the file first."
            ) from error

    def _arrived(self, n: int) -> bytes:
        """Return the next bytes of the answer, n of them or all that are left."""
        parts, tries = [], 0
        wrong: Exception | None
        while n:
            try:
                part, wrong = self._answer.read(n), None
            except http.client.IncompleteRead as error:
                part, wrong = error.partial, error
            except (http.client.HTTPException, ConnectionError) as error:
                part, wrong = b"", error
            except OSError as error:
                raise self._error(error) from error
            parts.append(part)
            self._next, n = self._next + len(part), n - len(part)
            size = None if self._told is None else self._told.size
            if wrong is not None or (not part and size is not None and self._next < size):
                tries += 1
                self._go_on(tries, wrong)
            elif not part:
                break
        return b"".join(parts)

    def _go_on(self, tries: int, error: Exception | None) -> None:
        """Ask for the rest of an answer that was cut off, if it is sure to be of the same file."""
        sure = self._told is not None and (self._told.tag or self._told.modified)
        place = self._next
        if tries <= _RETRIES and sure:
            time.sleep(_PAUSE * tries)
            if self._ask(place) or not place:
                return
        total = self._told.size if self._told is not None else None
        of = "" if total is None else f" of {total:,}"
        raise AddressError(
            f"{self._name} was cut off after {place:,} bytes{of}. Try again, or download the "
            "file first."
        ) from error

    def _ask(self, start: int) -> bool:
        """Have an answer from some byte on; tell whether it is that, and not all of the file."""
        if self._answer is not None:
            self._answer.close()
        try:
            self._answer = _OPENER.open(_request(self._address, start), timeout=self._seconds)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._error(error) from error
        head = self._answer.headers
        part = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", head.get("Content-Range", ""))
        ranged = bool(self._answer.status == 206)
        if ranged and (part is None or int(part[1]) != start):
            raise AddressError(f"{self._name} answers with other bytes than those asked for.")
        size = int(part[2]) if ranged and part is not None else self._answer.length
        told = _Told(head.get("ETag"), head.get("Last-Modified"), size)
        if self._told is None:
            self._check(told)
        elif told._replace(size=None) != self._told._replace(size=None) or (
            None not in (size, self._told.size) and size != self._told.size
        ):
            raise AddressError(f"{self._name} has changed while it was read. Try again.")
        self._told, self._next = told, start if ranged else 0
        return ranged

    def _check(self, told: _Told) -> None:
        """Refuse an answer whose end cannot be told, or that is not the file as it is stored."""
        if told.size is None and not self._answer.chunked:
            raise AddressError(
                f"{self._name} comes without its length, so that nobody can tell whether it was "
                "cut off. Download the file first."
            )
        coding = self._answer.headers.get("Content-Encoding", "identity").lower()
        packed = coding in ("gzip", "x-gzip") and urlsplit(self._address).path.endswith(".gz")
        if coding != "identity" and not packed:
            raise AddressError(
                f"{self._name} comes encoded as {coding!r}; expected bytes as they are stored. "
                "Download the file first."
            )

    def _error(self, error: Exception) -> OSError:
        """Return the error that says what went wrong, without secrets."""
        if isinstance(error, urllib.error.HTTPError):
            error.close()
            said = f"{error.code} {http.client.responses.get(error.code, '')}".strip()
            if error.code in (404, 410):
                return FileNotFoundError(f"There is no file {self._name}.")
            if error.code in (401, 403):
                return PermissionError(f"{self._name} may not be read: {said}.")
            more = ", too often or to where is not followed" if 300 <= error.code < 400 else ""
            return AddressError(f"{self._name} cannot be read: the server says {said}{more}.")
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return AddressError(
                f"{self._name} cannot be read: no answer within {self._seconds:g} seconds. Try "
                f"again, or set {TIMEOUT} to more."
            )
        if isinstance(reason, OSError):
            return AddressError(f"{self._name} cannot be read: {reason}.")
        # Others may tell the address.
        return AddressError(f"{self._name} cannot be read: {type(reason).__name__}.")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a few, to http and https only, and never from https to http."""

    max_redirections = 5

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        schemes = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in schemes:
            raise urllib.error.HTTPError(req.full_url, code, "a redirection elsewhere", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_Redirects)


def _request(address: str, start: int) -> urllib.request.Request:
    """Return what is asked of a server; who asks is not told to others that it points to."""
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    place = quote(parts.path or "/", _SAFE), quote(parts.query, _SAFE), ""
    request = urllib.request.Request(urlunsplit((parts.scheme, host, *place)))
    request.add_header("Accept-Encoding", "identity")
    request.add_header("User-Agent", "omvfs")
    if start:
        request.add_header("Range", f"bytes={start}-")
    if at:
        word = base64.b64encode(unquote(user).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {word}")
    return request


def _seconds() -> float:
    given = os.environ.get(TIMEOUT) or _SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise SourceError(
            f"{TIMEOUT} is {given!r}; expected seconds, more than 0 and at most a day."
        )
    return seconds
