"""Scenes of a shoe and of its log."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sabot.silences import Where
from sabot_hil.kit.cable import Cable
from sabot_hil.sweeps.stopping.house import UNIT, House
from sabot_hil.sweeps.stopping.scenes import scene
from sabot_hil.sweeps.stopping.told import Scene


@scene("shoe", "unplugged", "hangs", "without power")
@contextmanager
def _shoe(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house:
        shoe = house.deal()
        cable = house.enter(Cable(shoe.port, folder))
        house.log(cable.port)
        screens, alarms = house.screens(), house.prometheus()

        stops = {"unplugged": cable.pull, "hangs": shoe.hang, "without power": shoe.power_off}
        yield Scene(
            stops[way],
            {
                Where.SCREEN: lambda: screens.text(f"/tables/{UNIT}"),
                Where.ALERT: lambda: screens.text("/alerts"),
                Where.METRIC: alarms.alerts,
            },
        )


@scene("log", "killed", "hangs")
@contextmanager
def _log(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house:
        log = house.log(house.deal().port)
        screens, alarms = house.screens(), house.prometheus()
        yield Scene(
            {"killed": log.kill, "hangs": log.pause}[way],
            {
                Where.SCREEN: lambda: screens.text(f"/tables/{UNIT}"),
                Where.ALERT: lambda: screens.text("/alerts"),
                Where.METRIC: alarms.alerts,
            },
        )
