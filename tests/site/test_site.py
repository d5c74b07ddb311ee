"""The site of `make docs`: links lead on, nothing comes from elsewhere, anybody can use it."""

from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

from devtools import Browser

SITE = Path(__file__).parents[2] / "build" / "docs"
MAIN = (
    "index.html",
    "start.html",
    "guides.html",
    "data.html",
    "faq.html",
    "results.html",
    "gallery/index.html",
    "gallery/plot_digits.html",
    "api/index.html",
    "api/generated/omvfs.OMVFS.html",
    "search.html",
)

pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="There is no site: make docs builds it."
)


class Page(HTMLParser):
    """What a page links to, loads and can be linked to."""

    def __init__(self):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        self.anchors |= {own[key] for key in ("id", "name") if own.get(key)}
        if tag == "a" and own.get("href"):
            self.links.append(own["href"])
        self.loads += [own["src"]] if own.get("src") else []
        if tag == "link" and own.get("rel") not in ("canonical", "next", "prev", "search", "index"):
            self.loads.append(own["href"])


@cache
def read(path):
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def pages():
    """Return the pages; below _static are parts of the theme."""
    return sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)


def lost(path, link):
    """Tell whether a link of a page leads nowhere."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return True
    checked = parts.fragment and target.suffix == ".html"
    return bool(checked) and unquote(parts.fragment) not in read(target).anchors


def test_every_link_leads_to_a_page_and_to_a_place_on_it():
    assert len(pages()) > 50
    found = [
        (path.relative_to(SITE).as_posix(), link)
        for path in pages()
        for link in sorted({*read(path).links, *read(path).loads})
        # An empty anchor is how a script finds its button.
        if link != "#" and lost(path, link)
    ]
    assert found == []


def test_nothing_is_loaded_from_elsewhere():
    loaded = {link for path in pages() for link in read(path).loads}
    assert len(loaded) > 10
    assert [link for link in loaded if urlsplit(link).netloc] == []


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def served():
    """Return the address of the site on a plain server of this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", MAIN)
def test_nothing_serious_stands_in_the_way_of_anybody(browser, name, scheme):
    page = browser.page()
    page.resize(1200)
    page.prefer(scheme)
    page.open(SITE / name)
    assert page.axe() == []
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", MAIN)
def test_pages_of_a_server_ask_for_nothing_else_and_the_console_is_empty(browser, served, name):
    page = browser.page(offline=False)
    page.open(f"{served}/{name}")
    asked = [each for each in page.requests() if not each.startswith("data:")]
    assert asked
    assert [each for each in asked if not each.startswith(served)] == []
    # The theme says that it is light or dark, and a browser asks every server for an icon, once.
    told = [each["params"] for each in page.complaints() if each["params"].get("type") != "log"]
    own = [each.get("entry", {}).get("url", "") for each in told]
    assert [each for each, url in zip(told, own, strict=True) if "favicon" not in url] == []
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["file", "server"])
@pytest.mark.parametrize(
    ("words", "page_of"), [("negative", "faq.html"), ("transform_views", "omvfs.OMVFS.html")]
)
def test_search_finds_pages_without_a_network(browser, served, place, words, page_of):
    page = browser.page(offline=place == "file")
    at = f"{SITE.as_uri()}/search.html" if place == "file" else f"{served}/search.html"
    page.call("Page.navigate", url=f"{at}?q={words}")
    page.until("document.querySelectorAll('#search-results li a').length > 0")
    page.until("document.querySelector('#search-results p.search-summary').textContent !== ''")
    links = page.js("[...document.querySelectorAll('#search-results li a')].map(a => a.href)")
    assert any(page_of in link for link in links)
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index.html", "data.html", "gallery/index.html"])
def test_no_page_scrolls_sideways_on_a_phone(browser, name):
    page = browser.page()
    page.resize(360)
    page.open(SITE / name)
    assert page.js("document.documentElement.scrollWidth") <= 360
    page.close()
