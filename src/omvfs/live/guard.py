"""Who may ask the server for what: the own page, from here, reading."""

import hmac
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Of every answer. What a page may load is its own script and style, and nothing is kept.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]{1,5})?")


def is_loopback(host: str) -> bool:
    """Tell whether a host can be asked by this machine only.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


class Guard:
    """Refuses what is not asked by the own page, before anything else is done.

    Parameters
    ----------
    app : ASGI application
        Behind it.
    host : str
        To which the server is bound.
    port : int
    token : str or None
        What must be known to read; None if only this machine can ask.
    """

    def __init__(self, app: App, host: str, port: int, token: str | None) -> None:
        self._app, self._bound, self._token = app, host, token
        self._names = {"localhost", host.lower(), socket.gethostname().lower()}
        # Cookies are of a host, whatever the port.
        self._cookie = f"omvfs-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application answer."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refused(scope)
        await (self._app if refused is None else refused)(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        """Return what to answer instead of the application; None if it may."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0].lower()):
            return _no("This server does not go by that name: take the address it has told.", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return _no("There is nothing to write here.", 405, {"Allow": "GET, HEAD"})
        origins = headers.getlist("origin")
        if any(each.lower() != f"http://{hosts[0].lower()}" for each in origins):
            return _no("Pages of other origins may not read this.", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and (
            headers.get("sec-fetch-mode") != "navigate"
        ):
            return _no("Pages of other sites may not read this.", 403)
        return self._unknown(scope, headers)

    def _is_own(self, host: str) -> bool:
        """Tell whether a name is one of this server's.

        A name that others can have point here, now or later, is not: only numbers are, and names
        that this machine knows.
        """
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        if is_loopback(self._bound):
            return is_loopback(found[1])
        return found[1] in self._names or _address(found[1]) is not None

    def _unknown(self, scope: Scope, headers: Headers) -> Response | None:
        """Return what to answer who does not know the token; None if it is known."""
        if self._token is None:
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=8)
        given = query.get("token", [""])[0]
        if self._is_token(given):
            if scope["path"] != "/":
                return None
            # From now on by a cookie: the address is in histories, and shown on screens.
            known = RedirectResponse("/", 303)
            known.set_cookie(self._cookie, given, httponly=True, samesite="lax", path="/")
            return known
        # Piece by piece: those of other servers of the same name are no concern of ours.
        cookies = (each.strip().partition("=") for each in headers.get("cookie", "").split(";"))
        known_by = [value for name, _, value in cookies if name == self._cookie]
        if not given and any(map(self._is_token, known_by)):
            return None
        return _no("Open the address that the server has told, with its token.", 403)

    def _is_token(self, given: str) -> bool:
        assert self._token is not None
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


def _no(sentence: str, code: int, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{sentence}\n", code, headers)
