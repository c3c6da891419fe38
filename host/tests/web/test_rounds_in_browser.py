"""From a search to a round and its files, in a real browser and by the keyboard alone.

Skipped where there is no Chromium.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playwright.sync_api import Page

from host.tests.support.browser import NoBrowser, browser
from host.tests.support.screens import BACCARAT, PASSWORD, Screens
from sabot.listening import Address
from sabot.web.app import make_app
from sabot.web.server import Server

pytestmark = pytest.mark.slow

_OPERATOR = Ed25519PrivateKey.from_private_bytes(b"\7" * 32)
_PATIENCE_MS = 15_000


@pytest.fixture(scope="module")
def url(screens: Screens) -> Iterator[str]:
    """The address of the screens, with an operator's key."""
    services = replace(screens.app.state.services, operator=_OPERATOR, open_bundles=True)
    server = Server(make_app(services), Address("127.0.0.1", 0), None)
    server.start()
    try:
        yield server.url.rstrip("/")
    finally:
        server.stop()


@pytest.fixture
def page(screens: Screens, url: str) -> Iterator[Page]:
    """A page of the surveillance officer."""
    try:
        with browser(1366, 768) as opened:
            token = screens.desk.sign_in("surveillance", PASSWORD, origin="test")
            opened.context.add_cookies([{"name": "sabot_session", "value": token, "url": url}])
            opened.page.set_default_timeout(_PATIENCE_MS)
            yield opened.page
    except NoBrowser as why:
        pytest.skip(str(why))


def test_a_round_is_found_and_opened_by_the_keyboard_alone(page: Page, url: str) -> None:
    page.goto(f"{url}/search")
    page.keyboard.type("table 1, natural")  # the field has the focus
    page.keyboard.press("Enter")
    page.wait_for_selector("text=table 1, Natural")
    link = page.locator(".found .when a").first
    for _ in range(40):
        page.keyboard.press("Tab")
        if link.evaluate("each => each === document.activeElement"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Round 1')")
    assert page.locator("svg.hand").count() == 2 and f"/rounds/{BACCARAT}/1/1" in page.url
    records = page.locator("summary", has_text="Records and MACs")
    records.focus()
    page.keyboard.press("Enter")
    assert page.locator(".records code").first.is_visible()


def test_a_search_that_is_not_understood_is_said_where_it_was_typed(page: Page, url: str) -> None:
    page.goto(f"{url}/search")
    page.fill("#f-words", "tabel 1")
    page.click("text=Find")
    assert "did you mean table?" in page.locator("[role=alert]").inner_text()
    words = page.locator("#f-words")
    assert words.get_attribute("aria-invalid") == "true"
    assert words.input_value() == "tabel 1"


def test_the_files_of_a_round_come_as_downloads(page: Page, url: str, tmp_path: Path) -> None:
    page.goto(f"{url}/rounds/{BACCARAT}/1/1")
    for button, ending in (("Printed page", ".html"), ("Signed bundle", ".sabot")):
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        assert download.value.suggested_filename.endswith(ending)
        download.value.save_as(tmp_path / f"file{ending}")
    page.goto((tmp_path / "file.html").as_uri())
    assert page.locator("h1").inner_text() == "Table 1, round 1 of shoe of cards 1"
    page.emulate_media(media="print")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0 and page.locator("svg.hand").first.is_visible()


def test_a_round_is_printed_without_what_only_a_screen_needs(page: Page, url: str) -> None:
    page.goto(f"{url}/rounds/{BACCARAT}/1/1")
    page.emulate_media(media="print")
    for hidden in (".top", ".beside", "text=To take along"):
        assert not page.locator(hidden).first.is_visible(), hidden
    assert page.locator("svg.hand").first.is_visible()
    assert (
        page.locator("text=Everything that was checked")
        .or_(page.locator("text=Not everything could be checked"))
        .first.is_visible()
    )
