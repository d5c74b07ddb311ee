"""The page of a report: small whatever was learned from, sound, and safe from any name."""

import json
import re
from html.parser import HTMLParser

import pytest

from omvfs.data.schema import shown
from omvfs.report import Report
from omvfs.report.summary import CLUSTERS, IN_FULL, LETTERS, VIEWS, cut
from reported import HOSTILE, hostile_model, planted_model, wide_model

# Of a page, whatever was learned from.
MOST_BYTES = 700_000
VOID = {"meta", "link", "br", "input", "path", "img"}
# All that a page is made of: what is not here came from a name.
TAGS = (
    "html head meta title link style body a header h1 p nav div button main section h2 table thead"
    " tr th tbody td small article h3 h4 svg path text ul li bdi ol label input select option span"
    " figure figcaption strong dl dt dd pre code footer script br"
)
ATTRIBUTES = (
    "lang charset http-equiv content name rel href class id aria-label aria-labelledby"
    " aria-pressed aria-hidden aria-sort type hidden tabindex role scope viewbox"
    " preserveaspectratio d title autocomplete spellcheck value x y text-anchor"
)


class Elements(HTMLParser):
    """Collects the elements of a page, and refuses what is not closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        assert len(dict(attributes)) == len(attributes), (tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def pages():
    models = planted_model(), hostile_model()[0], wide_model(16, 20, 320)
    return [model.report("<b>Rows</b>").html() for model in models]


def test_a_page_is_sound_html_of_known_parts(pages):
    for text in pages:
        page = Elements(text)
        assert {tag for tag, _ in page.found} <= set(TAGS.split())
        named = {name for _, attributes in page.found for name in attributes}
        assert {name for name in named if not name.startswith("data-")} <= set(ATTRIBUTES.split())
        ids = [own["id"] for _, own in page.found if "id" in own]
        assert len(ids) == len(set(ids))
        links = [own["href"] for tag, own in page.found if tag == "a"]
        assert {each.removeprefix("#") for each in links} <= set(ids)
        for _, own in page.found:
            assert {*own.get("aria-labelledby", "main").split()} <= set(ids)
        assert all(own.get("scope") for tag, own in page.found if tag == "th")
        assert all(own.get("type") == "button" for tag, own in page.found if tag == "button")


def test_hostile_names_are_shown_and_nothing_else_comes_of_them(pages):
    page = Elements(pages[1])
    words = set(page.text)
    for name in HOSTILE:
        seen = shown(name) if name.strip() else f"“{shown(name)}”"
        assert seen in words or f"{seen[:47]}…" in words, name
    assert not [
        each for each in pages[1] if each != "\n" and (each < " " or "\x7f" <= each < "\xa0")
    ]
    assert not re.search("[\u2028-\u202e\u2066-\u2069\ud800-\udfff]", pages[1])
    hidden = [own["title"] for _, own in page.found if "title" in own]
    assert max(map(len, hidden)) == LETTERS


def test_no_part_of_a_page_is_asked_for_elsewhere(pages):
    for text in pages:
        assert not re.search(r"https?://|@import|url\(|src=|//[a-z]", text.partition("<body>")[0])
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        assert policy.startswith("default-src &#39;none&#39;; style-src &#39;sha256-")
        assert "unsafe" not in policy


def size(report):
    return len(report.html().encode())


@pytest.fixture(scope="module")
def wide():
    """Values of more views than are shown, and of as many clusters as are."""
    values = wide_model(30, 6, 360).report().summary
    full = values["clusters"]
    brief = {key: each for key, each in full[0].items() if key not in ("views", "examples")}
    n_full = IN_FULL // VIEWS
    clusters = [{**(full[k % 6] if k < n_full else brief), "cluster": k} for k in range(CLUSTERS)]
    return {**values, "n_clusters": CLUSTERS, "clusters": clusters}


def renamed(values, name):
    """Return plain values with one name for all views and features."""
    if isinstance(values, list):
        return [renamed(each, name) for each in values]
    if not isinstance(values, dict):
        return values
    return {
        key: name if key in ("name", "view", "repeats") and isinstance(each, str) else each
        for key, each in ((key, renamed(each, name)) for key, each in values.items())
    }


@pytest.mark.parametrize("sign", ["w", '"', "😀", "\x1b", "\ud800"])
def test_a_page_is_small_however_long_names_are(wide, sign):
    report = Report(renamed(wide, cut(sign * 5_000)))
    text = report.html()
    assert size(report) <= MOST_BYTES
    assert shown(sign * 8)[:7] in text or sign == '"'
    assert "The first 24 of 30 views" in text
    # Escaped, a letter may take twelve.
    assert len(report.json()) <= 25 * MOST_BYTES


def test_names_are_cut_in_what_is_said():
    long = wide_model(2, 3, 40, name="w" * 10_000 + "{}").report()
    said = json.dumps(long.summary, ensure_ascii=False)
    assert max(map(len, re.findall('"(w+…?)"', said))) == LETTERS
    assert "ww…" in long.html()
