"""Scenes of what people look at all day: the wall in a browser, `sabot watch` in a terminal."""

import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import which
from typing import Any

from sabot.silences import Where
from sabot_hil.kit.centre import children
from sabot_hil.sweeps.stopping.between import Between
from sabot_hil.sweeps.stopping.house import House, Screens
from sabot_hil.sweeps.stopping.scenes import NotHere, scene
from sabot_hil.sweeps.stopping.told import Scene
from sabot_hil.sweeps.stopping.waiting import wait_until

_CONTROL = re.compile(r"\x1b\[[0-9;?<>=]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")
_END_S = 15.0


@scene("picture", "hangs", "swallows", "replaces")
@contextmanager
def _picture(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house:
        house.log(house.deal().port)
        screens = house.screens()
        between = house.enter(Between(int(screens.url.rstrip("/").rpartition(":")[2])))
        page = house.enter(_wall(screens, between.port))
        stops = {
            "hangs": screens.server.pause,
            "swallows": between.swallows.set,
            "replaces": between.replace_streams,
        }
        yield Scene(stops[way], {Where.SCREEN: lambda: _text(page)})


@scene("follower", "hangs")
@contextmanager
def _follower(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house:
        house.log(house.deal().port)
        screens = house.screens(can_hang=True)
        page = house.enter(_wall(screens, int(screens.url.rstrip("/").rpartition(":")[2])))
        alarms = house.prometheus()
        yield Scene(
            lambda: screens.server.process.send_signal(signal.SIGUSR1),
            {Where.SCREEN: lambda: _text(page), Where.METRIC: alarms.alerts},
        )


@scene("watch", "hangs")
@contextmanager
def _watch(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house, _terminal(house, "watch", "--db", str(house.db)) as shown:
        house.log(house.deal().port)
        process, text = shown
        wait_until(lambda: "it shows" if "SHOE-7" in text() else "", text)
        yield Scene(lambda: process.send_signal(signal.SIGUSR1), {Where.OUTPUT: text})


@contextmanager
def _wall(screens: Screens, port: int) -> Iterator[Any]:
    """The wall in a browser, once it has a table. Raises NotHere."""
    chromium = which("chromium")
    if chromium is None:
        raise NotHere("no Chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright  # a house without a browser needs it not

    with sync_playwright() as playwright, ExitStack() as ends:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        ends.callback(browser.close)
        context = browser.new_context()
        url = f"http://127.0.0.1:{port}/"
        context.add_cookies([{"name": "sabot_session", "value": screens.token, "url": url}])
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector(".tile")
        yield page


def _text(page: Any) -> str:
    """What the page shows. Other work of the page is done meanwhile."""
    page.wait_for_timeout(50)
    return str(page.evaluate("() => document.body.innerText"))


@contextmanager
def _terminal(house: House, *words: str) -> Iterator[tuple["subprocess.Popen[bytes]", Any]]:
    """A command that can hang, in a terminal; and what it has shown there."""
    leader, follower = pty.openpty()
    shown = bytearray()

    def read() -> None:
        with suppress(OSError):
            while some := os.read(leader, 1 << 16):
                shown.extend(some)

    process = children.start(
        [sys.executable, "-m", "sabot_hil.sweeps.stopping.hanging", *words],
        cwd=house.folder, stdin=follower, stdout=follower, stderr=follower,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"},
    )  # fmt: skip
    os.close(follower)
    threading.Thread(target=read, daemon=True).start()
    try:
        yield process, lambda: _CONTROL.sub("", bytes(shown).decode(errors="replace"))
    finally:
        process.kill()
        process.wait(_END_S)
        os.close(leader)
