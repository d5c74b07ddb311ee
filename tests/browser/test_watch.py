"""The page of a run in a real browser: it follows, shows any name as text, and fits a phone."""

import json
import time

import numpy as np
import pytest

from devtools import Browser
from omvfs import OMVFS, Views
from omvfs.formats import ArraySource
from omvfs.live.status import StatusFile
from omvfs.pipeline import run
from pages import serving
from support import clustered

pytestmark = pytest.mark.slow

CHUNKS, ROWS = 200, 20
HOSTILE = [
    "<script>window.stolen = 1</script>",
    "<img src=x onerror='window.stolen = 1'>",
    "\"'`&amp;</bdi><b>",
    "🦜👩‍👩‍👧",
    "\u202eevil\u2066",
    "x" * 10_000,
    "\ud800",
    "\x1b[2J\0\n",
    "  ",
]


@pytest.fixture(scope="module")
def page():
    browser = Browser()
    yield browser.page(offline=False)
    browser.close()


def views(n_rows, names=None):
    rng = np.random.default_rng(0)
    blocks = {"text": clustered(rng, n_rows, 9)[0], "image": clustered(rng, n_rows, 9)[0]}
    return Views(blocks, feature_names=dict.fromkeys(blocks, names) if names else None)


def top(selector):
    return {view: selector.top_features(view) for view in selector.schema_.names}


def follow(path, n_rows, names=None, wait=0.0, watched=lambda status: None):
    """Run over some rows and tell of them as a command does."""
    file = StatusFile(path)
    result = run(
        ArraySource(views(n_rows, names)),
        OMVFS(3, batch_size=ROWS, random_state=0, detect_drift=True),
        listeners=(file, lambda status: time.sleep(wait), watched),
    )
    file.finished(result.selector, top(result.selector))
    return result.selector


def test_a_page_follows_a_run_of_200_chunks(page, tmp_path):
    with serving(tmp_path) as here:
        page.open(f"http://{here.own}/")
        page.until("document.getElementById('state').textContent === 'No run is here yet'")
        seen = []

        def watched(status):
            if status.n_rows % (10 * ROWS) == 0:
                seen.append(page.js("Number(document.body.dataset.rows || 0)"))

        follow(tmp_path / "status.json", CHUNKS * ROWS, wait=0.03, watched=watched)
        page.until("document.body.dataset.run === 'finished'")
        assert page.js("Number(document.body.dataset.rows)") == CHUNKS * ROWS
        # It has followed on the way, not only come upon the end.
        assert seen == sorted(seen)
        assert len(set(seen)) > 3
        told = json.loads((tmp_path / "status.json").read_text())
        shown = page.js("[...document.querySelectorAll('.view .name')].map(e => e.textContent)")
        assert shown == [name for view in told["views"] for name, _ in view["top"]]
        assert page.js("document.querySelectorAll('#clusters li').length") == 3
        assert page.js("document.querySelector('#rate path').getAttribute('d').length") > 30
    assert page.complaints() == []


def test_names_are_shown_as_text_whatever_they_are(page, tmp_path):
    with serving(tmp_path) as here:
        for width, dark in ((360, False), (1000, True)):
            follow(tmp_path / "status.json", 60, HOSTILE)
            page.resize(width)
            page.prefer("dark" if dark else "light")
            page.open(f"http://{here.own}/")
            page.until("document.body.dataset.run === 'finished'")
            names = page.js(
                "[...document.querySelectorAll('.view')].map(v => "
                "[...v.querySelectorAll('.name')].map(e => e.textContent))"
            )
            told = json.loads((tmp_path / "status.json").read_text())["views"]
            assert names == [[name for name, _ in view["top"]] for view in told]
            assert {len(name) for own in names for name in own} >= {100, 2}
            assert page.js("window.stolen") is None
            assert page.js("document.images.length + document.querySelectorAll('b').length") == 0
            # No name makes the page wider than the screen.
            assert page.js("document.documentElement.scrollWidth") <= width
    assert page.complaints() == []


def test_a_page_outlives_its_server_and_shows_the_next_run(page, tmp_path):
    from omvfs.live.server import Place

    follow(tmp_path / "status.json", 60)
    with serving(tmp_path) as here:
        page.open(f"http://{here.own}/")
        page.until("document.body.dataset.rows === '60'")
    page.until("!document.getElementById('link').hidden")
    assert page.js("document.querySelectorAll('.view').length") == 2
    follow(tmp_path / "status.json", 80)
    with serving(tmp_path, place=Place.of("127.0.0.1", here.port)):
        page.until("document.body.dataset.rows === '80'")
        page.until("document.getElementById('link').hidden")


def test_dark_and_light_are_both_legible(page, tmp_path):
    """Text stands out from the page by at least 4.5 to 1, also what is quiet."""
    script = """(() => {
      const bright = (colour) => {
        const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((c) => c / 255)
          .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      };
      const back = bright(getComputedStyle(document.body).backgroundColor);
      const all = 'h1, #state, .quiet, .note, .name, dt, dd, .moved';
      return [...document.querySelectorAll(all)].map((e) => {
        const own = bright(getComputedStyle(e).color);
        return (Math.max(own, back) + 0.05) / (Math.min(own, back) + 0.05);
      });
    })()"""
    follow(tmp_path / "status.json", 60)
    with serving(tmp_path) as here:
        for dark in (False, True):
            page.prefer("dark" if dark else "light")
            page.open(f"http://{here.own}/")
            page.until("document.body.dataset.run === 'finished'")
            contrasts = page.js(script)
            assert len(contrasts) > 20
            assert min(contrasts) >= 4.5
