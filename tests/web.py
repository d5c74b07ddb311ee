"""A web server on this machine that hands out files, in parts if it is asked for them."""

import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Web:
    """What a server has: files by name, whether it answers with parts, and what was asked for."""

    def __init__(self):
        self.files, self.ranges, self.asked = {}, True, []

    def url(self, name, user=""):
        """Return the address of a file."""
        return f"http://{user}127.0.0.1:{self.port}/{name}"


class _Handler(BaseHTTPRequestHandler):
    web: Web

    def log_message(self, *_):
        self.web.asked.append(self.path)

    def do_HEAD(self):
        self._answer(with_body=False)

    def do_GET(self):
        self._answer(with_body=True)

    def _answer(self, with_body):
        body = self.web.files.get(self.path[1:].partition("?")[0])
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers["Range"] or "")
        if body is None:
            self.send_response(404)
            body = b""
        elif asked and self.web.ranges:
            start, end = int(asked[1]), int(asked[2] or len(body) - 1)
            self.send_response(206 if start < len(body) else 416)
            self.send_header("Content-Range", f"bytes {start}-{end}/{len(body)}")
            body = body[start : end + 1]
        else:
            self.send_response(200)
        if self.web.ranges:
            self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)


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
        server.shutdown()
        server.server_close()
        thread.join(5)
