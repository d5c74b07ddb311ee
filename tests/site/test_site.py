"""The site of `make docs`: links lead on, nothing comes from elsewhere, anybody can use it."""

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
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
