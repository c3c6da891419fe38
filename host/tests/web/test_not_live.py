"""In a browser: a page whose picture is old says so, and any number of pages share one stream.

The page's clock is turned on by hand, so that no test waits 15 seconds. Skipped where there is no
Chromium.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page

from host.tests.support.browser import Browser
from host.tests.support.intermediary import Intermediary
from host.tests.support.screens import BACCARAT, PASSWORD, Screens, screens_of
from host.tests.web.test_in_browser import _deal, _event, _is_newer, _start
from sabot import silences
from sabot.listening import Address
from sabot.web import feed
from sabot.web.app import make_app
from sabot.web.headers import HEADERS
from sabot.web.server import Server

pytestmark = pytest.mark.slow

_PATIENCE_MS = 15_000
_TOLD = silences.PICTURE
_STATIC = Path(__file__).parents[2] / "sabot" / "web" / "static"
_LIVE = ("/", f"/tables/{BACCARAT}", "/alerts", "/board/1")
"""A page of each kind that changes while it is open."""
_FONT_PX = "each => parseFloat(getComputedStyle(each).fontSize)"


@pytest.fixture(scope="module", autouse=True)
def quick_beats() -> Iterator[None]:
    """The servers of these tests say more often when they have looked at the log."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(feed, "_BEAT_S", 0.5)
        yield


@pytest.fixture(scope="module")
def server(screens: Screens) -> Iterator[Server]:
    made = Server(make_app(screens.app.state.services), Address("127.0.0.1", 0), None)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def between(server: Server) -> Iterator[Intermediary]:
    made = Intermediary(_port(server.url))
    yield made
    made.close()


def _port(url: str) -> int:
    return int(url.rstrip("/").rpartition(":")[2])


def _context(shown_in: Browser, screens: Screens, url: str, role: str) -> BrowserContext:
    context = shown_in.chromium.new_context(reduced_motion="reduce")
    token = screens.desk.sign_in(role, PASSWORD, origin="test")
    context.add_cookies([{"name": "sabot_session", "value": token, "url": url}])
    return context


def _open(context: BrowserContext, url: str, path: str) -> Page:
    """A page whose clock is turned by the test, once it has heard of a look."""
    page = context.new_page()
    page.clock.install(time=time.time())
    page.goto(url.rstrip("/") + path)
    page.wait_for_function("() => document.querySelector('.not-live.scripted')?.hidden")
    return page


def _text(page: Page) -> str:
    text: str = page.evaluate("() => document.body.innerText")
    return text


def _until(page: Page, true: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + _PATIENCE_MS / 1000
    while not true():
        assert time.monotonic() < give_up_s, _text(page)[:300]
        page.wait_for_timeout(50)


def _turn(page: Page, s: float) -> None:
    """Let the time of the pages of a context pass. What they were sent before has come by then."""
    page.wait_for_timeout(200)
    page.clock.run_for(round(1000 * s))


def _says_it_is_not_live(page: Page) -> str:
    """Wait until a page says that it is not live; return all that it says."""
    _until(page, lambda: _TOLD.is_told_in(_text(page)))
    return _text(page)


def _is_live_again(page: Page) -> None:
    _until(page, lambda: not _TOLD.is_told_in(_text(page)))


def test_a_page_between_which_and_its_server_everything_is_swallowed_says_of_when_it_is(
    shown_in: Browser, screens: Screens, between: Intermediary
) -> None:
    url = f"http://127.0.0.1:{between.port}"
    with _context(shown_in, screens, url, "surveillance") as context:
        pages = [_open(context, url, path) for path in _LIVE]
        _turn(pages[0], _TOLD.after_s - 6)  # the last beat may be 5 s old
        for page in pages:
            assert not _TOLD.is_told_in(_text(page)), page.url
        between.swallows = True
        _turn(pages[0], _TOLD.after_s)
        for page in pages:
            assert "does not answer" in _says_it_is_not_live(page), page.url
            assert page.eval_on_selector("#not-live", _FONT_PX) >= 30, page.url
        between.swallows = False
        between.cut()
        for page in pages:
            _is_live_again(page)


def test_a_page_whose_stream_is_replaced_again_and_again_says_so(
    shown_in: Browser, screens: Screens, between: Intermediary
) -> None:
    url = f"http://127.0.0.1:{between.port}"
    with _context(shown_in, screens, url, "surveillance") as context:
        page = _open(context, url, "/")
        between.replaces_streams = True
        between.cut()
        _until(page, lambda: between.replaced >= 2)
        _turn(page, _TOLD.after_s)
        assert "does not answer" in _says_it_is_not_live(page)
        between.replaces_streams = False
        _is_live_again(page)


def test_a_page_says_so_although_its_server_answers_if_the_log_is_not_followed(
    shown_in: Browser, screens: Screens, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = threading.Event()

    def poll() -> dict[str, int]:
        hangs.wait(60)
        return {}

    with _context(shown_in, screens, server.url, "surveillance") as context:
        page = _open(context, server.url, "/")
        with monkeypatch.context() as patched:
            patched.setattr(screens.floor._follower, "poll", poll)
            try:
                _until(page, lambda: screens.floor.look_ago_s > 1)
                of = time.strftime("%H:%M", time.gmtime(screens.floor.looked.unix_ms / 1000))
                _turn(page, _TOLD.after_s)
                said = _says_it_is_not_live(page)
                assert f"{_TOLD.words.split('{')[0]}{of}" in said
                # A page that is opened meanwhile has the old picture, and says so as soon.
                other = context.new_page()
                other.goto(server.url)
                _turn(other, _TOLD.after_s)
                _says_it_is_not_live(other)
                _until(page, lambda: "gets nothing new from the log" in _text(page))
            finally:
                hangs.set()
        _is_live_again(page)


def test_a_page_of_a_server_that_is_stopped_says_so_and_goes_on_with_it(
    shown_in: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "log.sqlite"
    with screens_of(path) as screens:
        served, url = _start(path, "127.0.0.1:0")
        try:
            with _context(shown_in, screens, url, "surveillance") as context:
                page = _open(context, url, "/")
                os.kill(served.pid, signal.SIGSTOP)
                _turn(page, _TOLD.after_s)
                _says_it_is_not_live(page)
                os.kill(served.pid, signal.SIGCONT)
                _is_live_again(page)
        finally:
            _end(served)


def _end(served: "subprocess.Popen[str]") -> None:
    served.kill()
    served.wait(10)


def test_a_page_whose_script_does_not_run_says_so_after_the_same_time(
    shown_in: Browser, screens: Screens, server: Server
) -> None:
    for sheet in ("sabot.css", "board.css"):
        assert f"not-live 0s {_TOLD.after_s:g}s forwards" in (_STATIC / sheet).read_text()
    with _context(shown_in, screens, server.url, "surveillance") as context:
        page = context.new_page()
        page.route("**/*.js", lambda route: route.abort())
        for path in ("/", "/board/1"):
            page.goto(server.url.rstrip("/") + path)
            assert not _TOLD.is_told_in(_text(page))
            page.evaluate("() => document.getAnimations().forEach((each) => each.finish())")
            assert _TOLD.is_told_in(_text(page)), path


def test_a_page_that_cannot_show_what_comes_says_so(
    shown_in: Browser, screens: Screens, server: Server
) -> None:
    with _context(shown_in, screens, server.url, "surveillance") as context:
        page = _open(context, server.url, "/")
        page.evaluate(
            "() => document.addEventListener('changed', () => { throw new Error('a fault'); })"
        )
        _deal(screens)
        _until(page, lambda: _TOLD.is_told_in(_text(page)) and "load it again" in _text(page))


def test_the_wall_has_the_clock_of_the_server(
    shown_in: Browser, screens: Screens, server: Server
) -> None:
    with _context(shown_in, screens, server.url, "surveillance") as context:
        page = context.new_page()
        page.clock.install(time=time.time() + 26 * 3600 + 1800)  # that of the page is wrong
        page.goto(server.url)
        clock = page.locator("#clock")
        _until(page, lambda: clock.inner_text() != "")
        _turn(page, 2)
        near = {time.strftime("%H:%M", time.gmtime(time.time() + s)) for s in (-10, 0, 10)}
        assert clock.inner_text()[:5] in near


def test_twelve_pages_in_one_browser_share_a_stream_whichever_are_closed(
    shown_in: Browser, screens: Screens, server: Server
) -> None:
    paths = ["/", *(f"/tables/SHOE-{number}" for number in range(1, 6)), "/alerts", "/search"]
    paths += ["/", "/board/1", "/board/3", f"/rounds/{BACCARAT}/1/1"]
    _wait_for(lambda: server.feeds.count == 0)
    with _context(shown_in, screens, server.url, "surveillance") as context:
        pages = [context.new_page() for _ in paths]
        for page, path in zip(pages, paths, strict=True):
            page.goto(server.url.rstrip("/") + path)
        _until(page, lambda: server.feeds.count == 1)
        assert pages[0].goto(f"{server.url}search") is not None  # a link works, with twelve open
        wall = pages[8]
        tile = wall.locator(f"#tile-{BACCARAT}")
        for closed in (pages[0], pages[1], pages[6]):  # the first that was opened among them
            shown = _event(tile.get_attribute("data-event"))
            closed.close()
            _deal(screens)
            _until(wall, _is_newer(tile, shown))
        # The server learns a moment later that the stream of a closed page has ended.
        _until(wall, lambda: server.feeds.count == 1)
        for page in pages:
            if not page.is_closed():
                assert not _TOLD.is_told_in(_text(page)), page.url
    _wait_for(lambda: server.feeds.count == 0)


def test_pages_of_a_browser_in_which_someone_else_signs_in_show_nothing_to_that_person(
    shown_in: Browser, screens: Screens, server: Server
) -> None:
    with _context(shown_in, screens, server.url, "surveillance") as context:
        old = context.new_page()
        old.goto(server.url)
        token = screens.desk.sign_in("administrator", PASSWORD, origin="test")
        context.add_cookies([{"name": "sabot_session", "value": token, "url": server.url}])
        context.new_page().goto(server.url)
        old.get_by_text("administrator").first.wait_for(timeout=_PATIENCE_MS)  # it was loaded again


def _wait_for(true: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + _PATIENCE_MS / 1000
    while not true():
        assert time.monotonic() < give_up_s
        time.sleep(0.05)


def test_scripts_workers_and_streams_come_from_the_server_alone() -> None:
    parts = HEADERS["content-security-policy"].split("; ")
    policy = dict(part.split(" ", 1) for part in parts)
    assert policy["script-src"] == policy["worker-src"] == policy["connect-src"] == "'self'"
    assert policy["default-src"] == "'none'"
