"""The report in a real browser: what can be done with it, and what it does not let be done."""

import subprocess
import sys
import threading
import time

import pytest

from devtools import PATIENCE, Browser
from omvfs.report.page import RELOAD
from reported import HOSTILE, hostile_model, planted_model, wide_model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return the files of three reports by name, and the summary of the first."""
    folder = tmp_path_factory.mktemp("reports")
    found = {}
    models = {
        "planted": lambda: planted_model(),
        "hostile": lambda: hostile_model()[0],
        "wide": lambda: wide_model(16, 20, 320),
    }
    browser = Browser()  # to pass over before anything is learned
    try:
        for name, model in models.items():
            report = model().report("Words <and> tags")
            report.save(folder / f"{name}.html")
            found[name] = folder / f"{name}.html", report
        yield browser, found
    finally:
        browser.close()


@pytest.fixture
def page(pages):
    page = pages[0].page()
    page.resize(1200)
    page.prefer("light")
    yield page
    page.close()


@pytest.fixture
def opened(page, pages):
    """Return a function that opens a report by its name."""
    return lambda name="planted": page.open(pages[1][name][0])


def visible(page):
    """Return the names of the features that are shown."""
    return page.js(
        "[...document.querySelectorAll('table.features tbody tr')].filter(r => r.checkVisibility())"
        ".map(r => r.cells[1].textContent)"
    )


@pytest.mark.parametrize("name", ["planted", "hostile", "wide"])
def test_it_opens_offline_asks_for_nothing_and_the_console_is_empty(opened, pages, name):
    page = opened(name)
    asked = [each for each in page.requests() if not each.startswith("data:")]
    assert asked == [pages[1][name][0].as_uri()]
    assert page.complaints() == []
    assert page.js("document.querySelectorAll('script, style, link, img, iframe').length") == 3


def test_a_click_on_a_heading_sorts_by_it_and_says_so(opened):
    page = opened()
    table = "document.querySelector('table.features')"
    heading = f"{table}.tHead.rows[0].cells[2].querySelector('button')"
    page.js(f"document.querySelector('.more').click(); {heading}.click()")
    shares = page.js(f"[...{table}.tBodies[0].rows].map(r => Number(r.cells[2].dataset.v))")
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) > 1
    sorts = f"[...{table}.tHead.rows[0].cells].map(c => c.getAttribute('aria-sort'))"
    assert [each for each in page.js(sorts) if each] == ["descending"]
    page.js(f"{table}.tHead.rows[0].cells[1].querySelector('button').click()")
    names = page.js(f"[...{table}.tBodies[0].rows].map(r => r.cells[1].textContent)")
    assert names == page.js(f"{names}.toSorted((a, b) => a.localeCompare(b))")
    assert page.js(sorts)[1] == "ascending"


def test_a_cluster_that_is_chosen_leaves_the_features_that_stand_for_it(opened, pages):
    page, summary = opened(), pages[1]["planted"][1].summary
    k = summary["clusters"][0]["cluster"]
    page.js(f"document.querySelector('.choose[data-cluster=\"{k}\"]').click()")
    page.js("document.querySelectorAll('.more').forEach(each => each.click())")
    expected = [
        each["name"]
        for view in summary["features"]
        for each in view["features"]
        if each["cluster"] == k
    ]
    assert visible(page) == expected
    assert page.js("document.getElementById('of-cluster').value") == str(k)
    assert page.js("document.querySelectorAll('.choose[aria-pressed=true]').length") == 1


@pytest.mark.parametrize("name", ["planted", "hostile", "wide"])
@pytest.mark.parametrize("width", [360, 1600])
def test_no_width_makes_the_page_scroll_sideways(opened, page, name, width):
    page.resize(width)
    opened(name)
    assert page.js("document.documentElement.scrollWidth") <= width
    page.js("document.querySelectorAll('.more').forEach(each => each.click())")
    assert page.js("document.documentElement.scrollWidth") <= width
    # Nor does anything stand upon its neighbour.
    cells = (
        "[...document.querySelectorAll('td, th')].filter(c => c.scrollWidth > c.clientWidth + 1)"
    )
    assert page.js(f"{cells}.map(c => c.outerHTML)") == []


def focused(page, what="outerHTML.slice(0, 200)"):
    return page.js(f"document.activeElement.{what}")


def tab_to(page, selector, most=200):
    """Press the tab key until something has the focus that fits."""
    for _ in range(most):
        page.press("Tab")
        if page.js(f"document.activeElement.matches({selector!r})"):
            return
    raise AssertionError(f"{selector} is not reached by the tab key")


def test_all_of_it_can_be_done_by_keyboard_and_the_focus_is_seen(opened):
    page = opened()
    page.press("Tab")
    assert focused(page, "className") == "skip"
    tab_to(page, "#theme")
    outline = page.js("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    page.press("Space")
    assert page.js("document.documentElement.dataset.theme") == "dark"
    tab_to(page, ".choose")
    page.press("Enter")
    # The focus is where the cluster was chosen.
    assert focused(page, "id") == "of-cluster"
    assert page.js("document.activeElement.value") != ""
    page.js("document.getElementById('theme').focus()")
    tab_to(page, "#find")
    page.write("view_0")
    assert all("view_0" in name for name in visible(page))
    tab_to(page, "th button")
    page.press("Space")
    assert page.js("document.activeElement.closest('th').getAttribute('aria-sort')") == "descending"
    page.js("document.querySelector('a.skip').focus()")
    tab_to(page, ".groups a")
    page.press("Enter")
    assert page.js("location.hash").startswith("#c")


@pytest.mark.parametrize("name", ["planted", "hostile", "wide"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_anybody(opened, page, name, scheme):
    page.prefer(scheme)
    opened(name)
    assert page.axe() == []


def test_hostile_names_are_read_and_do_nothing(opened, page):
    opened("hostile")
    page.js("document.querySelectorAll('.more').forEach(each => each.click())")
    assert page.js("document.title").startswith("Words <and> tags – omvfs report: ")
    seen = set(visible(page))
    for name in ("<script>document.title='harm'</script>", "{{ 7*7 }}{% raw %}", "العربية", "=1+1"):
        assert name in seen
    # What would turn the text around, or cannot be seen, is spelt out.
    assert "\\u202egnp.exe" in seen
    assert "\\x1b[2J\\x1b]0;title\\x07" in seen
    assert page.js("document.querySelectorAll('th[scope=row] > :not(bdi)').length") == 0
    attributes = "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
    assert not [each for each in page.js(attributes) if each.startswith("on")]
    assert page.js("[...document.querySelectorAll('a')].every(a => a.hash && !a.search)")
    assert max(map(len, seen)) <= 48
    titles = page.js("[...document.querySelectorAll('[title]')].map(e => e.title)")
    assert titles
    assert max(map(len, titles)) <= 300
    assert len(seen) >= len(HOSTILE)


def test_the_policy_stops_what_an_escape_has_missed(opened, page):
    opened("hostile")
    page.js(
        "(() => { document.body.insertAdjacentHTML('beforeend',"
        ' \'<img src="https://example.org/x.png" onerror="document.title=1">\');'
        " const own = document.createElement('script'); own.textContent = 'document.title=2';"
        " document.body.append(own); document.body.setAttribute('style', 'color: red'); })()"
    )
    page.js("new Promise(done => setTimeout(done, 200))")
    assert page.js("document.title").startswith("Words <and> tags – omvfs report: ")
    failed = page.events("Network.loadingFailed")
    assert [each["params"]["blockedReason"] for each in failed] == ["csp"]
    stopped = [each["params"]["entry"]["text"] for each in page.events("Log.entryAdded")]
    assert len([each for each in stopped if "Content Security Policy" in each]) >= 3


def test_an_open_page_reloads_itself_while_the_run_goes_on_and_not_after_its_end(page, tmp_path):
    report = tmp_path / "out" / "report.html"
    options = ["-k", "2", "--batch-size", "20", "--checkpoint-every", "1", "--report"]
    command = [sys.executable, "-m", "omvfs.cli", "select", "-", *options, "-o", str(report.parent)]
    chunk = "".join(f"{i % 3},{i % 2},{i % 5}\n" for i in range(20))
    shown = "document.querySelector('header p')?.textContent"
    loaded = "document.readyState === 'complete'"
    seen, n_chunks = threading.Event(), [0]

    def feed(stream):
        stream.write("a,b,c\n")
        while not seen.wait(0.1):
            stream.write(chunk)
            stream.flush()
            n_chunks[0] += 1

    with subprocess.Popen(command, stdin=-1, stdout=subprocess.DEVNULL, text=True) as run:
        feeder = threading.Thread(target=feed, args=(run.stdin,))
        feeder.start()
        try:
            end = time.monotonic() + PATIENCE
            while not report.exists() and time.monotonic() < end:
                time.sleep(0.05)
            page.open(report)
            status = page.js("document.querySelector('[role=status]').textContent")
            assert status.startswith("The run goes on.")
            # Nobody touches the browser: it is the page that asks for the next one.
            page.until(f"{loaded} && {shown} !== {page.js(shown)!r}")
            assert page.js("'reload' in document.body.dataset")
        finally:
            seen.set()
            feeder.join()
    assert run.returncode == 0
    # Between two pages there is one without any text.
    page.until(f"{loaded} && {shown} && !('reload' in document.body.dataset)")
    assert page.js(shown).startswith(f"{20 * n_chunks[0]:,} rows without labels")
    page.js("window.stays = true")
    time.sleep(RELOAD + 1)
    assert page.js("window.stays")
    assert page.complaints() == []
