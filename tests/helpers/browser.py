"""A real headless browser for tests of pages; tests that ask for it are skipped where there is none."""

import shutil
import time
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def executable():
    """Path of a Chromium of the system; skips the test where there is none."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser can be driven")
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    return found


@contextmanager
def shown(file, size=(1280, 720), offline=True):
    """A page from a file, with the network off; what it says on its console is no error and no warning."""
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]
    complaints = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=options)
        context = browser.new_context(offline=offline, viewport={"width": size[0], "height": size[1]})
        page = context.new_page()
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.goto(file.as_uri() if hasattr(file, "as_uri") else file)
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        assert page.evaluate("document.documentElement.dataset.ready") == "yes", complaints
        yield page
        browser.close()
    assert not complaints


def wait_until(page, expression, arg=None, seconds=20.0):
    """Wait for an expression in the page to be true (`wait_for_function` needs eval, which CSP forbids)."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression, arg):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(20)
