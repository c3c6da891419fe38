"""Fetches the receipts of what is at the centre, and keeps those that are right."""

from collections.abc import Mapping, Sequence

from sabot.centre.alarms import Alarm
from sabot.centre.link import Centre, Damaged
from sabot.centre.receiving import checked, unlike
from sabot.centre.site_log import SiteLog
from sabot.centre.state import State, Unit
from sabot.centre.troubles import Troubles
from sabot.centre.watcher import Watcher


class Fetching:
    """The receipts of one connection, of its `units`."""

    def __init__(
        self,
        log: SiteLog,
        centre: Centre,
        state: State,
        watcher: Watcher,
        units: Mapping[str, Unit],
        troubles: Troubles,
    ) -> None:
        self._log = log
        self._centre = centre
        self._state = state
        self._watcher = watcher
        self._units = units
        self._troubles = troubles
        self._junk: set[str] = set()
        """Units of which the centre has receipts that are not right."""

    def begin_again(self) -> None:
        """Ask again for receipts of units that had wrong ones: good ones may have come since."""
        for unit in self._junk:
            self._units[unit].receipt = self._log.receipts_from(unit)
        self._junk.clear()

    def fetch(self) -> None:
        """Fetch the receipts of what is at the centre and has none, and keep those that are
        right."""
        while asked := {
            unit: here.receipt
            for unit, here in self._units.items()
            if here.going and here.receipt < min(here.number, self._log.newest.get(unit, 0))
        }:
            found = self._centre.receipts_after(asked)
            for unit in dict.fromkeys(unit for unit, _, _ in found):
                self._receive(unit, [(number, data) for of, number, data in found if of == unit])
            if not found:
                return

    def _receive(self, unit: str, found: Sequence[tuple[int, bytes]]) -> None:
        """Keep the receipts of a unit that are right."""
        here, good = self._units[unit], []
        for number, data in found:
            here.receipt = max(here.receipt, number)
            came = checked(self._state.notaries, unit, number, data)
            if came.alarm is not None:
                self._bad(came.alarm, data)
            elif came.receipt is not None and number <= self._log.newest.get(unit, 0):
                fits = self._log.fits(came.receipt)
                if fits is False:
                    self._troubles.raise_alarm(unlike(came.receipt))
                    here.going = False
                    break
                if fits is None:  # the site does not have this event: no proof of what it has
                    continue
                good.append((number, data, came.receipt.unix_ms))
        if good:
            self._log.keep(unit, [(number, data) for number, data, _ in good])
            self._watcher.receipt(unit, *good[-1][::2])

    def _bad(self, alarm: Alarm, data: bytes) -> None:
        """Raise the alarm of a receipt, unless the link has changed it; of many with the same fault
        that of the first."""
        self._junk.add(alarm.unit)
        for each in self._state.alarms:
            if (each.unit, each.kind, each.detail) == (alarm.unit, alarm.kind, alarm.detail):
                return
        again = self._centre.receipts_after({alarm.unit: alarm.number - 1})
        if (alarm.unit, alarm.number, data) not in again:
            raise Damaged
        self._troubles.raise_alarm(alarm)
