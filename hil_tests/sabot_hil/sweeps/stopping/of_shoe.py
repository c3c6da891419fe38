"""Scenes of a shoe and of its log."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sabot.silences import Where
from sabot_hil.kit.cable import Cable
from sabot_hil.kit.centre.hardship import Hardship, library
from sabot_hil.sweeps.stopping.device_server import DeviceServer, nothing
from sabot_hil.sweeps.stopping.house import UNIT, House
from sabot_hil.sweeps.stopping.scenes import NotHere, scene
from sabot_hil.sweeps.stopping.told import Scene

_HOUR_MS = 3_600_000


@scene("shoe", "unplugged", "hangs", "without power")
@contextmanager
def _shoe(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house:
        shoe = house.deal()
        cable = house.enter(Cable(shoe.port, folder))
        house.log(cable.port)
        stops = {"unplugged": cable.pull, "hangs": shoe.hang, "without power": shoe.power_off}
        yield Scene(stops[way], _seen(house))


@scene("shoe", "deaf")
@contextmanager
def _deaf(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house:
        server = house.enter(DeviceServer(house.deal().port))
        house.log(server.url)

        def stop() -> None:
            server.to_shoe = nothing

        yield Scene(stop, _seen(house))


@scene("log", "killed", "hangs")
@contextmanager
def _log(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house:
        log = house.log(house.deal().port)
        yield Scene({"killed": log.kill, "hangs": log.pause}[way], _seen(house))


@scene("clock", "set")
@contextmanager
def _clock(folder: Path, way: str) -> Iterator[Scene]:
    preloaded = library()
    if preloaded is None:
        raise NotHere("no C compiler, for a library that sets the clock of one program")
    with House(folder) as house:
        hardship = Hardship(folder, preloaded)
        log = house.log(house.deal().port, env=os.environ | hardship.environment)
        yield Scene(lambda: hardship.set_clock(_HOUR_MS), {Where.OUTPUT: log.text})


def _seen(house: House) -> Mapping[Where, Callable[[], str]]:
    screens, alarms = house.screens(), house.prometheus()
    return {
        Where.SCREEN: lambda: screens.text(f"/tables/{UNIT}"),
        Where.ALERT: lambda: screens.text("/alerts"),
        Where.METRIC: alarms.alerts,
    }
