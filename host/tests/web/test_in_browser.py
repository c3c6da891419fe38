"""The screens in a real browser: every page for every role, and what happens when something breaks.

Skipped where there is no Chromium.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Request

from host.tests.support.browser import Browser
from host.tests.support.helpers import event_bytes
from host.tests.support.screens import BACCARAT, FACE_DOWN, PASSWORD, Screens, screens_of
from sabot.desk.roles import RIGHTS, ROLES, may
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.listening import Address
from sabot.log.store import Filter
from sabot.web.server import Server
from sabot_protocol.events import MAC_SIZE

pytestmark = pytest.mark.slow

PAGES = {
    "/": "wall",
    "/tables/SHOE-1": "table",
    "/tables/SHOE-2": "table",
    "/tables/SHOE-3": "table",
    "/tables/SHOE-4": "table",
    "/tables/SHOE-5": "table",
    "/rounds/SHOE-1/1/1": "round",
    "/rounds/SHOE-3/1/1": "round",
    "/rounds/SHOE-4/1/2": "round",
    "/rounds/SHOE-5/1/1": "round",
    "/search": "search",
    "/alerts": "alerts",
    "/integrity": "integrity",
    "/boards": "boards",
    "/users": "users",
    "/views": "views",
}
"""Addresses, and the right that each needs."""
_OF_ALL_RIGHTS = ("surveillance", "administrator")
"""One of them may see whatever a role may see: the pages in their dark colours."""
WITHOUT_SIGN_IN = ("/sign-in", "/board/1", "/board/3")
WIDTHS = (1366, 1920, 3840)
_SABOT = str(Path(sys.executable).with_name("sabot"))
_PATIENCE_MS = 15_000
_CONTROLS = "a[href], button:not(:disabled), input:not([type=hidden]), select, textarea, summary"
_AA = 4.5  # WCAG 2.2, 1.4.3; large text, from 24 px or bold from 18.66 px, needs 3
_AA_LARGE = 3.0

# Contrast of each visible text with the colours of its ancestors, which are opaque or flat.
_CONTRASTS = """([normal, large]) => {
  const parse = (colour) => {
    const numbers = colour.match(/[\\d.]+/g).map(Number);
    return numbers.length > 3 ? numbers : [...numbers, 1];
  };
  const mix = (one, other, part) => one * part + other * (1 - part);
  const over = (above, below) => [0, 1, 2].map((i) => mix(above[i], below[i], above[3]));
  const light = (rgb) => {
    const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = rgb.map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    if (!element) return [255, 255, 255];
    const colour = parse(getComputedStyle(element).backgroundColor);
    return colour[3] === 1 ? colour.slice(0, 3) : over(colour, ground(element.parentElement));
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || element.closest("svg, script, noscript, [hidden], .unseen, :disabled")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    let opacity = 1;
    for (let each = element; each; each = each.parentElement)
      opacity *= getComputedStyle(each).opacity;
    const below = ground(element), ink = parse(style.color);
    const rgb = over([...ink.slice(0, 3), ink[3] * opacity], below);
    const [one, other] = [light(rgb), light(below)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (isLarge ? large : normal)) faint.push(`${text.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return faint;
}"""


@pytest.fixture(scope="module")
def url(screens: Screens) -> Iterator[str]:
    """The address of the screens, served in this process."""
    server = Server(screens.app, Address("127.0.0.1", 0), None)
    server.start()
    try:
        yield server.url.rstrip("/")
    finally:
        server.stop()


def _signed_in(
    shown_in: Browser, screens: Screens, url: str, role: str, **how: object
) -> BrowserContext:
    context = shown_in.chromium.new_context(reduced_motion="reduce", **how)  # type: ignore[arg-type]
    token = screens.desk.sign_in(role, PASSWORD, origin="test")
    context.add_cookies([{"name": "sabot_session", "value": token, "url": url}])
    return context


class _Watched:
    """What goes wrong on a page: errors, refusals of the content policy, requests elsewhere."""

    def __init__(self, page: Page, url: str) -> None:
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda line: self._line(line.type, line.text))
        page.on("request", lambda request: self._request(request, url))

    def _line(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.wrong.append(text)

    def _request(self, request: Request, url: str) -> None:
        if not request.url.startswith((f"{url}/", "data:")):
            self.wrong.append(f"a request to {request.url}")


@pytest.mark.parametrize(
    ("role", "dark"),
    [
        *((role, False) for role in ROLES),
        *((role, True) for role in _OF_ALL_RIGHTS),
    ],
    ids=lambda value: value if isinstance(value, str) else ("light", "dark")[value],
)
def test_every_page_is_whole_legible_and_quiet_for_its_roles(
    shown_in: Browser, screens: Screens, url: str, role: str, dark: bool
) -> None:
    scheme = "dark" if dark else "light"
    with _signed_in(shown_in, screens, url, role, color_scheme=scheme) as context:
        page = context.new_page()
        watched = _Watched(page, url)
        for path in [
            *WITHOUT_SIGN_IN,
            *(path for path, right in PAGES.items() if may(role, right)),
        ]:
            answer = page.goto(url + path, wait_until="load")
            assert answer is not None and answer.status == 200, path
            for width in WIDTHS[:1] if dark else WIDTHS:  # colours make little wider
                page.set_viewport_size({"width": width, "height": width * 9 // 16})
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, f"{path} is {wide} px wider than {width}"
            assert page.title().strip() and page.locator("h1").count() == 1, path
            assert not page.evaluate(_CONTRASTS, [_AA, _AA_LARGE]), (path, scheme)
            assert not watched.wrong, (path, watched.wrong)
            _check_links(page, role, path)


def test_roles_that_see_the_dark_pages_have_all_rights() -> None:
    for right in RIGHTS:
        assert any(may(role, right) for role in _OF_ALL_RIGHTS), right


@pytest.mark.parametrize("width", WIDTHS)
def test_every_tile_has_room_for_what_it_shows(
    shown_in: Browser, screens: Screens, url: str, width: int
) -> None:
    """All tiles are of one height, so that a change of one moves no other."""
    size = {"width": width, "height": width * 9 // 16}
    with _signed_in(shown_in, screens, url, "surveillance", viewport=size) as context:
        page = context.new_page()
        page.goto(f"{url}/")
        cut = page.eval_on_selector_all(
            ".tile",
            """all => all.filter((tile) => tile.scrollHeight > tile.clientHeight
                || tile.scrollWidth > tile.clientWidth).map((tile) => tile.innerText)""",
        )
        assert not cut


def _check_links(page: Page, role: str, path: str) -> None:
    """Check that no link leads to a page that the role may not see."""
    links = page.eval_on_selector_all("a[href]", "all => all.map(a => a.pathname)")
    for link in (set(links) & set(PAGES)) - {path}:
        assert may(role, PAGES[link]), f"{path} links to {link}"


@pytest.mark.parametrize("role", ROLES)
def test_no_page_that_a_role_may_not_see_is_shown_or_linked(
    shown_in: Browser, screens: Screens, url: str, role: str
) -> None:
    with _signed_in(shown_in, screens, url, role) as context:
        page = context.new_page()
        for path, right in PAGES.items():
            if not may(role, right):
                answer = page.goto(url + path)
                assert answer is not None and answer.status != 200, (path, role)
                _check_links(page, role, path)


@pytest.mark.parametrize("role", [*ROLES, None])
def test_face_down_cards_are_nowhere_in_the_page_of_anyone(
    shown_in: Browser, screens: Screens, url: str, role: str | None
) -> None:
    with (
        shown_in.chromium.new_context()
        if role is None
        else _signed_in(shown_in, screens, url, role)
    ) as context:
        page = context.new_page()
        for path in ("/", "/tables/SHOE-3", "/board/3"):
            page.goto(url + path)
            tile = page.locator("#tile-SHOE-3")
            shown = tile.inner_html() if path == "/" and tile.count() else page.content()
            for card in FACE_DOWN if path != "/" or tile.count() else ():
                rank = card[0].replace("T", "10")
                assert f"{rank}{'♣♦♥♠'['CDHS'.index(card[1])]}" not in shown, (path, card)


def test_every_control_is_reached_by_the_keyboard_and_shows_that_it_is(
    shown_in: Browser, screens: Screens, url: str
) -> None:
    with _signed_in(shown_in, screens, url, "surveillance") as context:
        page = context.new_page()
        for path in ("/", "/tables/SHOE-1", "/alerts"):
            page.goto(url + path)
            wanted = page.locator(_CONTROLS).filter(visible=True).count()
            reached = set[str]()
            for _ in range(wanted + 2):
                page.keyboard.press("Tab")
                found = page.evaluate(
                    """() => {
                      const here = document.activeElement, style = getComputedStyle(here);
                      const seen = style.outlineStyle !== "none" || style.boxShadow !== "none";
                      return [here.outerHTML.slice(0, 200), seen, here === document.body];
                    }"""
                )
                if not found[2]:
                    assert found[1], f"{path}: no sign of the focus on {found[0]}"
                    reached.add(found[0])
            assert len(reached) >= min(wanted, len(reached) or 1) > 0, path


def test_a_tile_changes_while_it_is_watched_and_after_the_connection_was_lost(
    shown_in: Browser, screens: Screens, url: str
) -> None:
    with _signed_in(shown_in, screens, url, "surveillance") as context:
        page = context.new_page()
        page.goto(f"{url}/")
        tile = page.locator(f"#tile-{BACCARAT}")
        before = _event(tile.get_attribute("data-event"))
        page.evaluate("window.same = true")
        _deal(screens)
        _until(page, _is_newer(tile, before))
        context.set_offline(True)
        before = _event(tile.get_attribute("data-event"))
        _deal(screens)
        time.sleep(0.5)
        context.set_offline(False)
        _until(page, _is_newer(tile, before))


@pytest.mark.parametrize("hours", [26, -26])
def test_a_tile_changes_after_the_clock_of_the_page_has_jumped(
    shown_in: Browser, screens: Screens, url: str, hours: int
) -> None:
    with _signed_in(shown_in, screens, url, "surveillance") as context:
        page = context.new_page()
        now_s = time.time()
        page.clock.install(time=now_s)
        page.goto(f"{url}/")
        tile = page.locator(f"#tile-{BACCARAT}")
        page.clock.set_system_time(now_s + 3600 * hours)
        for _ in range(2):
            before = _event(tile.get_attribute("data-event"))
            _deal(screens)
            page.clock.run_for(100)
            _until(page, _is_newer(tile, before), ticks=True)


def test_a_page_lives_through_a_server_that_is_killed_and_started_again(
    shown_in: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "log.sqlite"
    with screens_of(path) as screens:
        token = screens.desk.sign_in("surveillance", PASSWORD, origin="test")
        first, address = _start(path, "127.0.0.1:0")
        second = None
        try:
            with shown_in.chromium.new_context() as context:
                context.add_cookies([{"name": "sabot_session", "value": token, "url": address}])
                page = context.new_page()
                page.goto(address)
                tile = page.locator(f"#tile-{BACCARAT}")
                page.wait_for_selector(f"#tile-{BACCARAT}")
                before = _event(tile.get_attribute("data-event"))
                first.kill()
                first.wait(10)
                page.wait_for_function(
                    "() => /lost/i.test(document.body.innerText)", timeout=_PATIENCE_MS
                )
                _deal(screens)
                second, again = _start(path, address.split("/")[2])
                assert again == address
                _until(page, _is_newer(tile, before))
                page.wait_for_function(
                    "() => !/connection lost/i.test(document.body.innerText)", timeout=_PATIENCE_MS
                )
        finally:
            for server in (first, second):
                if server is not None and server.poll() is None:
                    os.kill(server.pid, signal.SIGKILL)
                    server.wait(10)


def _deal(screens: Screens) -> None:
    """One more event of the table with baccarat: its lid is opened, or closed."""
    number = screens.store.last_number(BACCARAT) + 1
    last = next(iter(screens.store.rows(Filter(BACCARAT, newest_first=True))))
    data = event_bytes(
        "lid", number, open=bool(number % 2), shoe=last.shoe, round=last.round, unix_ms=last.unix_ms
    )
    screens.store.append(BACCARAT, [Record(parse_event(data), data, bytes(MAC_SIZE))])


def _is_newer(tile: Locator, before: int) -> Callable[[], bool]:
    """Whether a tile shows a later event."""
    return lambda: _event(tile.get_attribute("data-event")) > before


def _event(attribute: str | None) -> int:
    return int(attribute or 0)


def _until(page: Page, true: Callable[[], bool], *, ticks: bool = False) -> None:
    """Wait for something; with `ticks` the page's own clock goes on only here."""
    give_up_s = time.monotonic() + _PATIENCE_MS / 1000
    while not true():
        assert time.monotonic() < give_up_s
        if ticks:
            page.clock.run_for(50)
        page.wait_for_timeout(50)


def _start(path: Path, listen: str) -> tuple["subprocess.Popen[str]", str]:
    """Start `sabot serve`; return it and its address."""
    command = [_SABOT, "serve", "--db", str(path), "--listen", listen]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    line = server.stdout.readline()
    (found,) = re.findall(r"http://\S+/", line)
    return server, found
