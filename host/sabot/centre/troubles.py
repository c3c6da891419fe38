"""What is wrong with a unit on a connection to the centre: alarms, and what the centre refuses."""

from collections.abc import Mapping

from sabot.centre.alarms import Alarm
from sabot.centre.link import Centre, Refused
from sabot.centre.state import State, Unit
from sabot.centre.watcher import Watcher


class Troubles:
    """Those of one connection, of its `units`."""

    def __init__(
        self, centre: Centre, state: State, watcher: Watcher, units: Mapping[str, Unit]
    ) -> None:
        self._centre = centre
        self._state = state
        self._watcher = watcher
        self._units = units

    def raise_alarm(self, alarm: Alarm) -> None:
        """Raise an alarm at the centre and here, once."""
        self._state.differs.add(alarm.unit)
        try:
            self._centre.alarm(alarm)
        except Refused as refused:
            self.refuse(alarm.unit, str(refused))
        if alarm not in self._state.alarms:
            self._state.alarms.add(alarm)
            self._watcher.alarm(alarm)

    def refuse(self, unit: str, why: str) -> None:
        """Send nothing more of a unit on this connection; say why, once."""
        self._units[unit].going = False
        self._state.refused[unit] = why
        if unit not in self._state.said:
            self._state.said.add(unit)
            self._watcher.said(f"{unit}: {why}; other units go on")
