"""Scenes of what goes on from a log, of programs as a whole, and of the monitoring."""

import base64
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sabot.silences import MONITORING, Where
from sabot_hil.sweeps.stopping.house import House, Program
from sabot_hil.sweeps.stopping.receiving import Receiver
from sabot_hil.sweeps.stopping.scenes import scene
from sabot_hil.sweeps.stopping.told import Scene
from sabot_hil.sweeps.stopping.waiting import wait_until

_FEED = """[[feed]]
name = "house"
kind = "webhook"
address = "http://127.0.0.1:{port}/"
secret = "house.secret"
in_play = true
"""
_MISSED_S = 15.0  # without the alert the service outside calls; it comes every few seconds


@scene("feed", "gone", "hangs", "refuses")
@contextmanager
def _feed(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house, Receiver() as receiver:
        house.log(house.deal().port)
        feed = _fed(house, receiver)
        alarms = house.prometheus()

        def refuse() -> None:
            receiver.code = 500

        yield Scene(
            {"gone": receiver.close, "hangs": receiver.hangs.set, "refuses": refuse}[way],
            {Where.OUTPUT: feed.text, Where.METRIC: alarms.alerts},
        )


@scene(
    "program",
    "log killed", "log hangs", "serve killed", "serve hangs", "feed killed", "feed hangs",
)  # fmt: skip
@contextmanager
def _program(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house, Receiver() as receiver:
        log = house.log(house.deal().port)
        name, how = way.split()
        if name == "log":
            program = log
        else:
            program = house.screens().server if name == "serve" else _fed(house, receiver)
        alarms = house.prometheus()
        yield Scene(
            program.kill if how == "killed" else program.pause, {Where.METRIC: alarms.alerts}
        )


@scene("monitoring", "killed", "hangs")
@contextmanager
def _monitoring(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house, Receiver() as outside:
        watching = house.prometheus(alarms_to=outside.port).process

        def is_heard() -> str:
            return "heard" if any(b"SabotWatching" in each for each in outside.bodies) else ""

        def missed() -> str:
            heard_s = outside.taken_s or 0.0
            return MONITORING.words if time.monotonic() - heard_s > _MISSED_S else ""

        wait_until(is_heard, lambda: "the service outside never got the alert")
        yield Scene(
            lambda: watching.send_signal(signal.SIGKILL if way == "killed" else signal.SIGSTOP),
            {Where.OUTSIDE: missed},
        )


def _fed(house: House, receiver: Receiver) -> Program:
    """Start `sabot feed`, and wait until the receiver has taken a message."""
    (house.folder / "feeds.toml").write_text(_FEED.format(port=receiver.port))
    secret = house.folder / "house.secret"
    secret.write_text(f"whsec_{base64.b64encode(bytes(32)).decode()}")
    secret.chmod(0o600)
    feed = house.measured("feed", "--db", house.db, "--config", "feeds.toml")
    wait_until(lambda: "taken" if receiver.bodies else "", feed.text)
    return feed
