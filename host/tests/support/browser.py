"""Debian's Chromium, driven by playwright. Nothing is downloaded."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser as Chromium
from playwright.sync_api import BrowserContext, Page, sync_playwright

NO_BROWSER = "no Chromium: apt-get install chromium"


class NoBrowser(Exception):
    """This machine has no Chromium."""


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser with one page open."""

    chromium: Chromium
    context: BrowserContext
    page: Page


def path_of_chromium() -> str | None:
    """Where Chromium is; None if it is not installed."""
    return shutil.which("chromium")


@contextmanager
def browser(width: int = 1920, height: int = 1080, *, dark: bool = False) -> Iterator[Browser]:
    """A browser whose page has this size and theme. Raises NoBrowser."""
    path = path_of_chromium()
    if path is None:
        raise NoBrowser(NO_BROWSER)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            ignore_https_errors=True,
        )
        try:
            yield Browser(chromium, context, context.new_page())
        finally:
            chromium.close()
