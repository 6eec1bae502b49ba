"""A real headless browser for tests of pages; tests that ask for it are skipped where there is none.

A worker starts one browser, at the first page it shows; every page is in a context of its own, which shares
neither cache nor storage with another.
"""

import asyncio
import atexit
import shutil
import time
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = ("--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader")
_started = []  # the browser of this process, and the event loop playwright drives it with


def executable():
    """Path of a Chromium of the system; skips the test where there is none."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser can be driven")
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    return found


@contextmanager
def browser():
    """The browser of this process.

    Between pages the thread has no running event loop, though playwright keeps its own: other tests call
    `asyncio.run`.
    """
    path = executable()
    from playwright.sync_api import sync_playwright

    if not _started:
        driver = sync_playwright().start()
        _started[:] = [
            driver.chromium.launch(executable_path=path, args=list(OPTIONS)),
            asyncio.get_running_loop(),
        ]
        atexit.register(_end, driver)
    before = asyncio._get_running_loop()
    asyncio._set_running_loop(_started[1])
    try:
        yield _started[0]
    finally:
        asyncio._set_running_loop(before if before is not _started[1] else None)


def _end(driver):
    asyncio._set_running_loop(_started[1])
    _started[0].close()
    driver.stop()


@contextmanager
def shown(file, size=(1280, 720), offline=True, ready=True):
    """A page from a file, with the network off; what it says on its console is no error and no warning.

    ready : wait until it is complete; only pages of `cosim.viewer` say so
    """
    complaints = []
    with browser() as running:
        context = running.new_context(offline=offline, viewport={"width": size[0], "height": size[1]})
        try:
            page = context.new_page()
            page.on("pageerror", lambda e: complaints.append(str(e)))
            page.on("console", lambda m: complaints.append(m.text) if _bad(m) else None)
            page.goto(file.as_uri() if hasattr(file, "as_uri") else file)
            if ready:
                page.wait_for_selector("html[data-ready]", timeout=60_000)
                assert page.evaluate("document.documentElement.dataset.ready") == "yes", complaints
            yield page
        finally:
            context.close()
    assert not complaints


def _bad(message):
    """Errors, and calls that WebGL refuses, which are warnings to the browser."""
    return message.type == "error" or message.text.startswith("WebGL: INVALID")


def wait_until(page, expression, arg=None, seconds=20.0):
    """Wait for an expression in the page to be true (`wait_for_function` needs eval, which CSP forbids)."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression, arg):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(20)
