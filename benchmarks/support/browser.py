"""A headless Chromium of the system, driven by playwright, with software rendering."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def missing() -> str:
    """Why no page can be shown; "" where one can."""
    try:
        import playwright.sync_api  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return "" if any(map(shutil.which, NAMES)) else "there is no Chromium"


@contextmanager
def opened(file: Path) -> Iterator[Any]:
    """A page from a file, complete, 1280 x 720."""
    with blank() as page:
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        yield page


@contextmanager
def blank() -> Iterator[Any]:
    """An empty page of a browser that runs, 1280 x 720."""
    from playwright.sync_api import sync_playwright

    path = next(found for name in NAMES if (found := shutil.which(name)))
    options = ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=options)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(180_000)
        yield page
        browser.close()
