"""The server of the page: a few fixed answers, and events as the file of the run changes.

No answer depends on a path but these: what a client asks for never names a file.
"""

import asyncio
import errno
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from omvfs.live.board import Board, Folder
from omvfs.live.guard import App, Guard, Receive, Scope, Send, is_loopback

PORT = 8765
# Pages that are served at a time, and seconds between two signs of life to each.
PAGES, BEAT = 100, 5.0
# Milliseconds after which a page that has lost its server asks again.
_RETRY = 1000
_STATIC = {
    "/": ("watch.html", "text/html"),
    "/watch.js": ("watch.js", "text/javascript"),
    "/watch.css": ("watch.css", "text/css"),
}
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path d="M1 12 L5 7 L9 9 L15 3" fill="none" stroke="#2a6fb0" stroke-width="2"/></svg>'
)


class TakenError(OSError):
    """The port is another's, or not to be had."""


@dataclass(frozen=True)
class Place:
    """Where a server listens.

    Attributes
    ----------
    socket : socket
    host : str
        As it was asked for.
    token : str or None
        What must be known to read; None if only this machine can ask.
    """

    socket: socket.socket
    host: str
    token: str | None

    @classmethod
    def of(cls, host: str, port: int) -> "Place":
        """Listen; on any port that is free if it is 0.

        Parameters
        ----------
        host : str
        port : int
        """
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            own = socket.create_server(address[:2], family=family)
        except (OSError, UnicodeError, OverflowError) as error:
            taken = getattr(error, "errno", None) == errno.EADDRINUSE
            why = "taken" if taken else f"not to be had ({error})"
            raise TakenError(f"Port {port} of {host} is {why}") from error
        return cls(own, host, None if is_loopback(host) else secrets.token_urlsafe(24))

    @property
    def port(self) -> int:
        """The port."""
        return int(self.socket.getsockname()[1])

    @property
    def address(self) -> str:
        """What to open in a browser."""
        own = self.host if self.host not in ("0.0.0.0", "::", "") else socket.gethostname()
        name = f"[{own}]" if ":" in own else own
        query = "" if self.token is None else f"?token={self.token}"
        return f"http://{name}:{self.port}/{query}"


class Events:
    """Answers with events as what is shown changes, to a bounded number of pages.

    Parameters
    ----------
    board : Board
    pages : int
    beat : float
    """

    def __init__(self, board: Board, pages: int, beat: float) -> None:
        self._board, self._most, self._beat = board, pages, beat
        self._pages = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the page or the server ends."""
        if self._pages >= self._most:
            sentence = f"{self._most} pages are open, and no more are served: close one.\n"
            refused = PlainTextResponse(sentence, 503, {"Retry-After": "5"})
            await refused(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            await Response(media_type="text/event-stream")(scope, receive, send)
            return
        self._pages += 1
        try:
            told = StreamingResponse(self._events(), media_type="text/event-stream")
            await told(scope, receive, send)
        finally:
            self._pages -= 1

    async def _events(self) -> AsyncIterator[bytes]:
        yield b"retry: %d\n\n" % _RETRY
        seen = b""
        while True:
            found = await self._board.after(seen, self._beat)
            if found is not None:
                seen = found
                yield self._board.event
            elif self._board.closed:
                return
            else:
                yield b"event: beat\ndata: .\n\n"


def application(
    folder: Path,
    place: tuple[str, int, str | None],
    stopping: Callable[[], bool] = lambda: False,
    pages: int = PAGES,
    beat: float = BEAT,
) -> App:
    """Return the application that serves the page of a folder.

    Parameters
    ----------
    folder : Path
    place : tuple of (str, int, str or None)
        Host and port to which it is bound, and the token.
    stopping : callable
        Tells whether the server ends.
    pages : int
        How many are served at a time.
    beat : float
        Seconds between two signs of life.
    """
    board = Board(Folder(folder).look, stopping)

    @asynccontextmanager
    async def reading(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(board.run())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def status(request: Request) -> Response:
        await board.after(b"", beat)
        return Response(board.shown, media_type="application/json")

    routes = [Route(path, _fixed(_file(name), kind)) for path, (name, kind) in _STATIC.items()]
    routes += [Route("/icon.svg", _fixed(_ICON.encode(), "image/svg+xml"))]
    routes += [Route("/status", status), Route("/events", Events(board, pages, beat))]
    return Guard(Starlette(routes=routes, lifespan=reading), *place)


def serve(folder: Path, place: Place, until: Callable[[], bool] = lambda: False) -> None:
    """Serve the page of a folder until a signal comes, or it is told to end.

    Parameters
    ----------
    folder : Path
    place : Place
    until : callable
        Asked now and then; if True, pages are told what is last and the server ends.
    """
    asyncio.run(_serve(folder, place, until))


async def _serve(folder: Path, place: Place, until: Callable[[], bool]) -> None:
    server: uvicorn.Server

    def stopping() -> bool:
        if until():
            server.should_exit = True
        return server.should_exit

    config = uvicorn.Config(
        application(folder, (place.host, place.port, place.token), stopping, PAGES, BEAT),
        loop="none",
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=2 * PAGES,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    await server.serve(sockets=[place.socket])


def _file(name: str) -> bytes:
    """Return a file of the package."""
    return files("omvfs.live").joinpath("static", name).read_bytes()


def _fixed(content: bytes, kind: str) -> Callable[[Request], Any]:
    """Return what answers with the same every time."""

    async def answer(request: Request) -> Response:
        return Response(content, media_type=kind)

    return answer
