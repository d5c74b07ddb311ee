"""The server of the page: read only, from here only, and nothing but a few fixed answers."""

import json
import re
from importlib.resources import files

import pytest

from omvfs.live.board import Folder
from omvfs.live.guard import HEADERS
from omvfs.live.status import StatusFile
from pages import ask, serving

PATHS = ["/", "/watch.js", "/watch.css", "/icon.svg", "/status"]
TRAVERSALS = [
    "/../status.json",
    "/static/../../status.py",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/%252e%252e%252fetc%252fpasswd",
    "/..%5c..%5cetc%5cpasswd",
    "/.%00./etc/passwd",
    "//etc/passwd",
    "/etc/passwd",
    "/status.json",
    "/watch.html",
    "/static/watch.js",
    "/watch.js/../secret.txt",
    "/watch.js%00.txt",
    "/secret.txt",
    "/status/secret.txt",
    "/events/../secret.txt",
    "/file:///etc/passwd",
    "/%c0%ae%c0%ae/secret.txt",
    "/%ef%bc%8e%ef%bc%8e/secret.txt",
    "*",
    "secret.txt",
    "http://127.0.0.1/secret.txt",
]


def filled(folder):
    StatusFile(folder / "status.json").ended("stopped")
    (folder / "secret.txt").write_text("secret")
    return folder


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    with serving(filled(tmp_path_factory.mktemp("run"))) as here:
        yield here


def refused(answer, code):
    """Refused with a sentence, by the same headers, and nothing told."""
    assert answer.code == code
    assert re.fullmatch(r"[A-Z].*\.\n", answer.text)
    assert "secret" not in answer.text
    assert guarded(answer)
    return True


def guarded(answer):
    return all(answer.headers[name.lower()] == value for name, value in HEADERS.items())


@pytest.mark.parametrize("path", [*PATHS, "/events"])
def test_what_is_served_is_guarded(here, path):
    answer, head = ask(here, path), ask(here, path, "HEAD")
    assert answer.code == head.code == 200
    assert guarded(answer)
    assert guarded(head)
    assert head.text == ""
    assert "set-cookie" not in answer.headers
    assert "server" not in answer.headers


def test_the_status_is_told(here):
    told = json.loads(ask(here, "/status").text)
    assert (told["run"], told["gone"], told["status"]["state"]) == ("stopped", False, "stopped")


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_reaches_a_file(here, path):
    for method in ("GET", "HEAD"):
        answer = ask(here, path, method)
        assert answer.code in (404, 400)
        assert "secret" not in answer.text
        assert "root:" not in answer.text
        assert answer.code == 400 or guarded(answer)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "X"])
@pytest.mark.parametrize("path", [*PATHS, "/events", "/nowhere"])
def test_nothing_is_written(here, method, path):
    answer = ask(here, path, method)
    assert refused(answer, 405)
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example:8765",
        "localhost.evil.example",
        "evil.example@127.0.0.1:8765",
        "192.168.0.7:8765",
        "0.0.0.0:8765",
        "[::2]:8765",
        "127.0.0.1:8765:1",
        "127.0.0.1 evil.example",
        "",
    ],
)
def test_other_hosts_are_refused(here, host):
    """A name of another's may point here: that is how pages of others would read this."""
    for path in (*PATHS, "/events", "/nowhere"):
        assert refused(ask(here, path, Host=host), 421)


@pytest.mark.parametrize(
    "host", ["localhost:9000", "LOCALHOST", "127.0.0.1", "[::1]:8765", "127.0.0.2:1"]
)
def test_names_of_this_machine_are_served_from_any_port(here, host):
    assert ask(here, "/status", Host=host).code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:8000",
        "https://127.0.0.1:8765",
        "http://localhost:8765",
        "",
    ],
)
def test_other_origins_are_refused(here, origin):
    for path in (*PATHS, "/events"):
        assert refused(ask(here, path, Origin=origin), 403)
    assert ask(here, "/status", Origin=f"http://{here.own}").code == 200


def test_other_sites_may_link_here_but_not_load_from_here(here):
    loads = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
    assert refused(ask(here, "/watch.js", **loads), 403)
    assert ask(here, "/", **{**loads, "Sec_Fetch_Mode": "navigate"}).code == 200


def test_beyond_this_machine_a_token_is_needed(tmp_path):
    with serving(filled(tmp_path), token="right-token") as here:
        name = f"omvfs-{here.port}"
        for path in (*PATHS, "/events", "/nowhere"):
            assert refused(ask(here, path), 403)
            for token in ("", "wrong", "right-toke", "right-token0", "RIGHT-TOKEN", "%C3%A9%00"):
                assert refused(ask(here, f"{path}?token={token}"), 403)
                assert refused(ask(here, path, Cookie=f"{name}={token}"), 403)
            assert refused(ask(here, f"{path}?token=wrong", Cookie=f"{name}=right-token"), 403)
        assert refused(ask(here, "/status?token=wrong&token=right-token"), 403)
        # The whole address gives a cookie for later, and leaves the token out of sight.
        known = ask(here, "/?token=right-token")
        assert (known.code, known.headers["location"]) == (303, "/")
        assert guarded(known)
        cookie, *words = known.headers["set-cookie"].split("; ")
        assert cookie == f"{name}=right-token"
        assert {"HttpOnly", "Path=/", "SameSite=lax"} == set(words)
        for path in PATHS:
            assert ask(here, path, Cookie=cookie).code == 200
        # Cookies are of a host: other servers of it may have set any.
        for other in ('x={"a":1, "b":2}', "flag", "a b=1", "=", f"{name}0=1"):
            assert ask(here, "/status", Cookie=f"{other}; {cookie}; {other}").code == 200
            assert refused(ask(here, "/status", Cookie=f"{other}; x{cookie}"), 403)
        assert ask(here, "/status?token=right-token").code == 200
        for host in ("10.0.0.7:80", "[fe80::1]", "localhost"):
            assert ask(here, "/status", Cookie=cookie, Host=host).code == 200
        # Who knows it is not let in under another's name, nor from another's page.
        assert refused(ask(here, "/status", Cookie=cookie, Host="evil.example"), 421)
        assert refused(ask(here, "/status", Cookie=cookie, Origin="http://evil.example"), 403)


def test_no_script_or_style_is_in_the_page_itself():
    page = files("omvfs.live").joinpath("static", "watch.html").read_text(encoding="utf-8")
    assert not re.search(
        r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\son\w+=|javascript:|https?://", page
    )
    script = files("omvfs.live").joinpath("static", "watch.js").read_text(encoding="utf-8")
    # Names become text and nothing else.
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(", script
    )
    assert "https://" not in script


def test_a_folder_whose_run_is_gone_shows_the_last_that_was_known(tmp_path):
    look = Folder(filled(tmp_path)).look
    assert b'"gone": false' in look()
    (tmp_path / "status.json").unlink()
    assert b'"gone": true' in look()
    assert b'"state": "stopped"' in look()


@pytest.mark.parametrize(
    "content", [b"x" * 10**6, b"[" * 50_000, b"{}", b'{"format": 1}', b'{"format":1,"process":[]}']
)
def test_a_file_that_holds_anything_is_no_harm(tmp_path, content):
    (tmp_path / "status.json").write_bytes(content)
    assert json.loads(Folder(tmp_path).look())["folder"] == tmp_path.name
