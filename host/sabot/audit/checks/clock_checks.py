"""Checks the times of a unit's events against each other."""

from collections.abc import Callable

from sabot.audit.checks.decoding import UNKNOWN, Values
from sabot.audit.checks.findings import MOST_OF_A_KIND, Note
from sabot.text import counted, utc_time
from sabot_protocol import events

_DAY_MS = 86_400_000
_SET_BACK_MS = 120_000  # a clock may be set back by this much without a note
_AHEAD_MS = 366 * _DAY_MS
_BEFORE = 7
"""Where `before_unix_ms` is in the values of the event `clock_set`."""
_MAY_SET = (events.CLOCK_SET.number, UNKNOWN)


class ClockChecks:
    """Checks the times of a unit. A contradiction within the log is a finding; a clock that a host
    has set to a very different time is a note."""

    def __init__(
        self, unit: str, report: Callable[[int, str, str], None], notes: list[Note]
    ) -> None:
        self._unit = unit
        self._report = report
        self._notes = notes
        self.latest: int | None = None
        """The last time of day before the clock was lost. While there is a time of day it does not
        matter."""

    def check_change(self, values: Values, previous: Values, base: int | None) -> int | None:
        """Take an event whose times do not continue those of the `previous` one; `base` is the time
        of day at the start of the unit, by the previous event.

        Return the time of day at the start of the unit, for the next events.
        """
        kind, number, boot, t_ms, unix_ms = values[:5]
        _, number_before, boot_before, t_before, _ = previous[:5]
        now = None if unix_ms is None else unix_ms - t_ms
        if base is not None:
            self.latest = base + t_before
        if boot < boot_before:
            self._report(number, "time", f"boot {boot} after boot {boot_before}")
        elif boot == boot_before and t_ms < t_before:
            detail = f"{_span(t_ms)} after the start, the event before it {_span(t_before)}"
            self._report(number, "time", detail)
            return base
        elif boot == boot_before and number == number_before + 1 and kind not in _MAY_SET:
            if base is not None:
                expected = utc_time(base + t_ms)
                detail = f"its clock says {utc_time(unix_ms) or 'nothing'}, not {expected}"
                self._report(number, "time", detail)
                return base
        if kind == events.CLOCK_SET.number and type(values[_BEFORE]) is int and unix_ms is not None:
            self._was_wrong(number, unix_ms, values[_BEFORE])
        elif unix_ms is not None and self.latest is not None:
            passed = t_ms - t_before if boot == boot_before else 0
            self._set(number, unix_ms, self.latest + passed)
        return now

    def _was_wrong(self, number: int, unix_ms: int, before: int) -> None:
        """Note that a host has set a clock that ran wrong, if it was far from right."""
        by_ms = unix_ms - before
        if abs(by_ms) > _SET_BACK_MS and len(self._notes) < MOST_OF_A_KIND:
            how, was = ("ahead", "behind") if by_ms > 0 else ("back", "ahead")
            amount = _amount(by_ms)
            detail = (
                f"the clock was set {how} by {amount}, to {utc_time(unix_ms)}: the times before "
                f"this event, since it was set before, are {amount} {was}"
            )
            self._notes.append(Note(self._unit, number, "clock", detail))

    def _set(self, number: int, unix_ms: int, expected: int) -> None:
        if unix_ms < expected - _SET_BACK_MS:
            how = f"back by {(expected - unix_ms) // 1000} s"
        elif unix_ms > expected + _AHEAD_MS:
            how = f"ahead by {counted((unix_ms - expected) // _DAY_MS, 'day')}"
        else:
            return
        detail = f"the clock was set {how}, to {utc_time(unix_ms)}"
        if len(self._notes) < MOST_OF_A_KIND:
            self._notes.append(Note(self._unit, number, "clock", detail))

    def ended(self, timeless: int) -> None:
        """After the last event, note that `timeless` rounds had no time of day."""
        if timeless:
            detail = (
                f"{counted(timeless, 'round')} without a time of day: no host had set the clock"
            )
            self._notes.append(Note(self._unit, 0, "clock", detail))


def _amount(ms: int) -> str:
    s = round(abs(ms) / 1000)
    days, hours = divmod(round(s / 3600), 24)
    return f"{counted(days, 'day')} {hours} h" if days else f"{s} s"


def _span(ms: int) -> str:
    return f"{ms / 1000:.3f} s"
