"""A server of the page in a thread of this process, and a client that sends what it is told."""

import http.client
import threading
from contextlib import contextmanager

from omvfs.live.server import Place, serve


class Answer:
    def __init__(self, code, headers, text):
        self.code, self.text = code, text
        self.headers = {name.lower(): value for name, value in headers}


def ask(place, path="/", method="GET", **headers):
    """Return an answer; the path and the headers are sent as they are."""
    client = http.client.HTTPConnection("127.0.0.1", place.port, timeout=30)
    client.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in {"Host": f"127.0.0.1:{place.port}", **headers}.items():
        client.putheader(name.replace("_", "-"), value)
    client.endheaders()
    got = client.getresponse()
    if got.headers.get_content_type() == "text/event-stream" and got.status == 200:
        client.close()
        return Answer(got.status, got.getheaders(), "")
    found = Answer(got.status, got.getheaders(), got.read().decode())
    client.close()
    return found


@contextmanager
def serving(folder, token=None, place=None):
    """Serve the page of a folder; with a token as if other machines could ask."""
    place = place or Place.of("127.0.0.1", 0)
    if token is not None:
        place = Place(place.socket, "0.0.0.0", token)
    ended, port = threading.Event(), place.port
    thread = threading.Thread(target=serve, args=(folder, place, ended.is_set))
    thread.start()

    class Here:
        own = f"127.0.0.1:{port}"

    Here.port = port
    try:
        yield Here
    finally:
        ended.set()
        thread.join(30)
        assert not thread.is_alive()
