"""A real browser for tests: Chromium without a window, over the pipe of its DevTools protocol.

Two file descriptors and JSON are all it takes: no driver, no port, no package. Selenium would bring
a driver that must fit the browser's version and a dozen packages; a websocket, a port and a client.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AXE = ROOT / "build" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE = 60
KEYS = {
    "Tab": {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9},
    "Enter": {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    "Space": {"key": " ", "code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
}


def chromium():
    """Return the program, or pass the test over."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("There is no chromium; make test-browser installs it, and runs this.")
    return program


class Browser:
    """A browser that cannot reach anything but files and, if a page is told so, this machine."""

    def __init__(self):
        program = chromium()
        self._home = tempfile.mkdtemp(prefix="omvfs-browser-")
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        command = [
            program,
            "--headless",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._home}",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
        ]
        # It looks for its orders at 3, and answers at 4. Both may be taken here: by a way round.
        high = [os.dup2(end, 90 + i) for i, end in enumerate((theirs_in, theirs_out))]
        quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)]
        moved = [(os.POSIX_SPAWN_DUP2, fd, 3 + i) for i, fd in enumerate(high)]
        self._job = os.posix_spawn(
            program, command, os.environ, file_actions=[*quiet, *moved], setpgroup=0
        )
        for end in (theirs_in, theirs_out, *high):
            os.close(end)
        self._number, self._rest, self.events = 0, b"", []

    def call(self, method, session=None, **params):
        """Give an order, and return its answer."""
        self._number += 1
        order = {"id": self._number, "method": method, "params": params}
        if session is not None:
            order["sessionId"] = session
        os.write(self._to, json.dumps(order).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, (method, told["error"])
                return told["result"]
            self.events.append(told)

    def wait_for(self, event):
        """Wait for an event."""
        while not any(each.get("method") == event for each in self.events):
            self.events.append(self._next())

    def _next(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready = select.select([self._from], [], [], max(0, end - time.monotonic()))[0]
            assert ready, "The browser does not answer."
            got = os.read(self._from, 1 << 20)
            assert got, "The browser has ended."
            self._rest += got
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def page(self, offline=True):
        """Return a new page, of files alone or of this machine too."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, target, session, offline)

    def close(self):
        with contextlib.suppress(AssertionError, OSError):
            self.call("Browser.close")
        for end in (self._to, self._from):
            os.close(end)
        for _ in range(50):
            if os.waitpid(self._job, os.WNOHANG)[0]:
                break
            time.sleep(0.1)
        else:
            os.kill(self._job, signal.SIGKILL)
            os.waitpid(self._job, 0)
        shutil.rmtree(self._home, ignore_errors=True)


class Page:
    """A page of the browser."""

    def __init__(self, browser, target, session, offline):
        self._browser, self._target, self._session = browser, target, session
        for room in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{room}.enable")
        if offline:
            self.call(
                "Network.emulateNetworkConditions",
                offline=True,
                latency=0,
                downloadThroughput=0,
                uploadThroughput=0,
            )

    def call(self, method, **params):
        return self._browser.call(method, self._session, **params)

    def open(self, path):
        """Open a file, or an address."""
        self._browser.events.clear()
        address = path if str(path).startswith("http:") else Path(path).as_uri()
        self.call("Page.navigate", url=address)
        self._browser.wait_for("Page.loadEventFired")
        return self

    def js(self, expression):
        """Return what an expression comes to."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression, seconds=PATIENCE):
        """Wait until an expression comes to something true."""
        end = time.monotonic() + seconds
        while not self.js(expression):
            assert time.monotonic() < end, f"not so after {seconds} s: {expression}"
            time.sleep(0.05)

    def events(self, *methods):
        """Return what happened since the page was opened."""
        self.js("0")
        return [each for each in self._browser.events if each.get("method") in methods]

    def complaints(self):
        """Return all that a console would show."""
        return self.events(
            "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"
        ) + self.events("Page.javascriptDialogOpening")

    def requests(self):
        """Return the addresses that were asked for."""
        asked = self.events("Network.requestWillBeSent")
        return [each["params"]["request"]["url"] for each in asked]

    def resize(self, width, height=900):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def prefer(self, scheme="light", media=""):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", media=media, features=[feature])

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **KEYS[key])

    def write(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, whole=False, **how):
        got = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **how)
        Path(path).write_bytes(base64.b64decode(got["data"]))

    def axe(self):
        """Return what axe-core finds wrong that is serious or worse, a line each."""
        if not AXE.exists():
            pytest.skip("There is no axe-core; make test-browser installs it, and runs this.")
        self.js(AXE.read_text(encoding="utf-8") + ";0")
        found = self.js(
            "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => "
            "[v.impact, v.id, v.nodes.slice(0, 3).map(n => n.html + ' ' + n.failureSummary)]))"
        )
        return [each for each in found if each[0] in ("serious", "critical")]

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)
