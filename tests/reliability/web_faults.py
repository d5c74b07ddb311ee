"""Servers that answer badly: the rows as they are, or one sentence, in time, without secrets."""

import os
import re
import signal
import socketserver
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from reliability.attempts import Outcome, first_wrong, ran, tried
from reliability.rows_at_hand import NAMES, content, place, select, views, write

SECONDS = 0.4
# Of waiting in all: a few answers, each of which may take its time.
MOST_SECONDS = 20
SECRETS = ("pa55word", "s1gnature")

# How a server answers; those that are to be read from all the same.
SOUND = ("ranges", "no ranges", "chunked", "cut once")
WAYS = (
    *SOUND,
    "cut",
    "stalled",
    "mute",
    "500",
    "404",
    "403",
    "garbage",
    "endless head",
    "endless body",
    "to itself",
    "to a file",
    "encoded",
    "changing",
    "other range",
)


class _Handler(socketserver.StreamRequestHandler):
    files: dict[str, bytes]
    asked: dict[str, int]

    def handle(self) -> None:
        with suppress(ConnectionError, TimeoutError):
            self._answer()

    def _answer(self) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline(65536)
            if not line:
                return
            head += line
        path = head.split(b" ")[1].decode()
        _, way, at, name = path.partition("?")[0].split("/", 3)
        way, whole = way.replace("%20", " "), self.files[name]
        found = re.search(rb"(?i)\r\nrange: bytes=(\d+)-(\d*)", head)
        n = self.asked[path] = self.asked.get(path, 0) + 1
        self._as(way, int(at) * len(whole) // 1000, whole, found, path, n)

    def _as(self, way: str, at: int, whole: bytes, found: Any, path: str, n: int) -> None:
        """Answer in some way, in which a place within the file may matter."""
        start, body, status = 0, whole, "200 OK"
        more = ['ETag: "1"']
        if found and way not in ("no ranges", "chunked"):
            start, stop = int(found[1]), int(found[2] or len(whole) - 1)
            body, status = whole[start : stop + 1], "206 Partial Content"
            more.append(f"Content-Range: bytes {start}-{start + len(body) - 1}/{len(whole)}")
        length = [f"Content-Length: {len(body)}"]
        if way == "mute":
            time.sleep(60)
        elif way in ("500", "404", "403"):
            self._say(f"{way} No", ["Content-Length: 0"])
        elif way == "garbage":
            self.wfile.write(np.random.default_rng(at).bytes(5000))
        elif way == "endless head":
            self._say("200 OK", [], end=b"")
            for i in range(10**6):
                self.wfile.write(b"X-%d: %b\r\n" % (i, b"x" * 1000))
        elif way == "endless body":
            self._say("200 OK", ["Transfer-Encoding: chunked"])
            for _ in range(1 << 14):
                self.wfile.write(b"10000\r\n%b\r\n" % (b"7" * (1 << 16)))
        elif way == "to itself":
            self._say("302 Found", [f"Location: {path}", "Content-Length: 0"])
        elif way == "to a file":
            target = self.files["secret"].decode()
            self._say("302 Found", [f"Location: file://{target}", "Content-Length: 0"])
        elif way == "encoded":
            self._say(status, [*more, *length, "Content-Encoding: br"], body)
        elif way == "changing":
            other = bytes(reversed(body)) if n > 1 else body
            self._say(status, [f'ETag: "{n}"', *more[1:], *length], other[: max(1, at)])
        elif way == "other range":
            self._say("206 Partial Content", ["Content-Range: bytes 7-9/10", *length], body)
        elif way == "chunked":
            self._say("200 OK", [*more[:1], "Transfer-Encoding: chunked"])
            self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(whole), whole))
        elif way == "cut" or (way == "cut once" and n == 1):
            self._say(status, [*more, *length], body[: max(0, at - start)])
        elif way == "stalled":
            self._say(status, [*more, *length], body[: max(0, at - start)])
            time.sleep(60)
        else:
            self._say(status, [*more, *length], body)

    def _say(self, status: str, head: list[str], body: bytes = b"", end: bytes = b"\r\n") -> None:
        lines = [f"HTTP/1.1 {status}", "Connection: close", *head]
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode() + end + body)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def handle_error(self, request: Any, address: Any) -> None:
        """Say nothing."""


@contextmanager
def served(files: dict[str, bytes]) -> Iterator[int]:
    """Have some files on a port of this machine, by a process of its own."""
    kind = type("Handler", (_Handler,), {"files": files, "asked": {}})
    with _Server(("127.0.0.1", 0), kind) as server:
        pid = os.fork()
        if pid == 0:
            try:
                server.serve_forever()
            finally:
                os._exit(0)
        try:
            yield server.server_address[1]
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def bad_servers(numbers: range, seed: int) -> Iterator[Outcome]:
    """Read over http from servers that cut off, stall, lie, redirect or know no ranges."""
    names = [name for name in NAMES if name != "folder"]
    with place() as here:
        (here / "local").mkdir()
        whole = {name: content(write(here / "local" / name, views())) for name in names}
        files = {name: (here / "local" / name).read_bytes() for name in names}
        files["secret"] = str(here / "local" / "rows.csv").encode()
        with served(files) as port:
            for number in numbers:
                # Of 18 ways and 12 names, each with each.
                way, name = WAYS[number % len(WAYS)], names[number // len(WAYS) % len(names)]
                at = int(np.random.default_rng([seed, number, 10]).integers(1000))
                address = f"http://someone:{SECRETS[0]}@127.0.0.1:{port}/{way.replace(' ', '%20')}"
                address += f"/{at}/{name}?sig={SECRETS[1]}"
                label = f"{number}: {way} at {at / 10} %, {name}"
                out = here / str(number)
                out.mkdir()
                yield tried(
                    label,
                    lambda w=way, a=address, o=out, n=number, e=whole[name]: _read(w, a, o, n, e),
                )


def _read(way: str, address: str, folder: Path, number: int, expected: Any) -> str:
    began = time.monotonic()
    chosen = number // len(WAYS) % 2
    # A table has columns in order, whatever was read; it holds several views, a folder any.
    rows = folder / ("rows.csv" if "/rows." in address else "all")
    target = folder / "out"
    arguments = select(address, target) if chosen else ("convert", address, "-o", rows)

    def before() -> None:
        os.environ["OMVFS_HTTP_TIMEOUT"] = str(SECONDS)
        os.environ["no_proxy"] = "*"

    done = ran(*arguments, before=before)
    waited = time.monotonic() - began
    kept = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    said = (done.out + done.err).encode() + kept
    told = [secret for secret in SECRETS if secret.encode() in said]
    return first_wrong(
        lambda: done.wrong,
        lambda: f"took {waited:.0f} s" if waited > MOST_SECONDS else "",
        lambda: f"tells {told}" if told else "",
        lambda: f"not read: {done.err}" if way in SOUND and done.code else "",
        lambda: "" if done.code or chosen else _same(rows, expected),
    )


def _same(rows: Path, expected: Any) -> str:
    # Names of views differ with the file that holds them, numbers do not.
    return "" if content(rows)[-1] == expected[-1] else "other rows than there are"
