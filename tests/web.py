"""A web server on this machine that hands out files, well or badly."""

import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Web:
    """What a server has, and how it answers.

    Attributes
    ----------
    files : dict of str to bytes
    ranges, length, chunked : bool
        Whether it answers a part, tells lengths, sends by chunks.
    cut_after : int or None
        Bytes after which a body ends too soon; `cuts` times.
    stall_after : int or None
        Bytes after which it falls silent; before the head if negative.
    tag : str or None
        Of the version of the files.
    code, headers : int, dict
        What it answers to everything.
    asked : list of (path, range, authorization)
    """

    def __init__(self):
        self.files, self.asked, self.headers = {}, [], {}
        self.ranges = self.length = True
        self.chunked, self.code, self.tag = False, 200, '"1"'
        self.cut_after, self.cuts, self.stall_after = None, 10**9, None
        self.end = threading.Event()

    def url(self, name, user=""):
        """Return the address of a file."""
        return f"http://{user}127.0.0.1:{self.port}/{name}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def log_message(self, *_):
        pass

    def do_GET(self):
        web, asked = self.web, self.headers["Range"]
        web.asked.append((self.path, asked, self.headers["Authorization"]))
        self.close_connection = True
        if web.stall_after is not None and web.stall_after < 0:
            web.end.wait(60)
            return
        name = self.path[1:].partition("?")[0]
        if web.code != 200 or name not in web.files:
            self.send_response(web.code if web.code != 200 else 404)
            self._end_headers(b"")
            return
        body = whole = web.files[name]
        start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked and web.ranges else 0
        if asked and web.ranges and start >= len(whole):
            self.send_response(416)
            self._end_headers(b"")
            return
        body = whole[start:]
        self.send_response(206 if asked and web.ranges else 200)
        if asked and web.ranges:
            self.send_header("Content-Range", f"bytes {start}-{len(whole) - 1}/{len(whole)}")
        if web.tag is not None:
            self.send_header("ETag", web.tag)
        if web.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self._end_headers(body)
        sent = body
        if web.cut_after is not None and web.cuts > 0:
            web.cuts -= 1
            sent = body[: web.cut_after]
        elif web.stall_after is not None:
            sent = body[: web.stall_after]
        try:
            for i in range(0, len(sent), 1 << 15):
                part = sent[i : i + (1 << 15)]
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part) if web.chunked else part)
            if web.chunked and len(sent) == len(body):
                self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()
            if len(sent) < len(body) and web.stall_after is not None:
                web.end.wait(60)
        except ConnectionError:
            pass

    def _end_headers(self, body):
        if self.web.length and not self.web.chunked:
            self.send_header("Content-Length", str(len(body)))
        for name, value in self.web.headers.items():
            self.send_header(name, value)
        self.end_headers()


@contextmanager
def serving():
    """Give a server that runs until the end of the block."""
    web = Web()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"web": web}))
    server.daemon_threads = True
    web.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.end.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


def took(work):
    """Return the seconds that something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
