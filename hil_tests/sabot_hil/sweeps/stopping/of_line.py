"""Scenes of the line between a shoe and its log."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sabot.silences import Where
from sabot_hil.sweeps.stopping.device_server import DeviceServer, half, without
from sabot_hil.sweeps.stopping.house import LOG, UNIT, House, run_sabot
from sabot_hil.sweeps.stopping.scenes import scene
from sabot_hil.sweeps.stopping.told import Scene

_XON = 0x11


@scene("never", "not there")
@contextmanager
def _never(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house:
        house.measured("log", house.deal().port, folder / "nothing", "--db", house.db)
        screens, alarms = house.screens(), house.prometheus()
        yield Scene(
            lambda: None,
            {
                Where.SCREEN: lambda: screens.text("/"),
                Where.ALERT: lambda: screens.text("/alerts"),
                Where.METRIC: alarms.alerts,
            },
        )


@scene("line", "damaged", "half")
@contextmanager
def _line(folder: Path, way: str) -> Iterator[Scene]:
    with House(folder) as house:
        server = house.enter(DeviceServer(house.deal().port))
        log = house.log(server.url)
        screens, alarms = house.screens(), house.prometheus()

        def damage() -> None:
            server.to_host = without(_XON)

        def share() -> None:
            server.to_host = half

        yield Scene(
            {"damaged": damage, "half": share}[way],
            {
                Where.OUTPUT: log.text,
                Where.SCREEN: lambda: screens.text(f"/tables/{UNIT}"),
                Where.ALERT: lambda: screens.text("/alerts"),
                Where.METRIC: alarms.alerts,
                Where.DOCTOR: lambda: run_sabot(folder, "doctor", UNIT, "--db", LOG),
            },
        )
