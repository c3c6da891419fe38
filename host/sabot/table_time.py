"""Times on the clock of the table: parsed from what people type, shown with the zone's offset.

Within Sabot a time is UTC milliseconds since 1970. When summer time ends, a wall clock shows some
times twice; when it begins, the clock skips some. Such a time is refused, never guessed.
"""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, available_timezones

from sabot.errors import nearest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_EXAMPLE = "2026-11-21T20:15, or 20:15 for today"
_WITHOUT_DATE = re.compile(r"\d{2}:\d{2}")


class BadTime(ValueError):
    """A time or zone that has no meaning, or two meanings; the message says what to write."""


class HostZone(tzinfo):
    """The time zone of this machine."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        """How far local time is ahead of UTC."""
        return None if when is None else when.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, when: datetime | None) -> timedelta | None:
        """None, because `utcoffset` includes it."""
        return None

    def tzname(self, when: datetime | None) -> str:
        """The name of the zone."""
        return "this machine's zone"

    def fromutc(self, when: datetime) -> datetime:
        """The local time; `fold` is 1 for the second of two equal local times."""
        moment = when.replace(tzinfo=UTC)
        return datetime.fromtimestamp(moment.timestamp()).replace(
            microsecond=moment.microsecond, tzinfo=self
        )

    def __str__(self) -> str:
        return "this machine's zone"


def zone_of(name: str | None) -> tzinfo:
    """The zone with this IANA name, such as "Europe/Malta"; this machine's zone for None.

    Raises BadTime if there is no such zone.
    """
    if name is None:
        return HostZone()
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: the name of a folder of zones
        names = {each.lower(): each for each in available_timezones()}
        near = nearest(name, names)
        hint = f"did you mean {names[near]}?" if near else "write it as Europe/Malta"
        raise BadTime(f"there is no zone {name!r}; {hint}") from None


def parse(text: str, zone: tzinfo, now_unix_ms: int | None = None) -> int:
    """UTC milliseconds of a time that was typed.

    It is "2026-11-21T20:15", "2026-11-21" (midnight) or "20:15" (on the day of `now_unix_ms`, by
    default today), optionally with seconds. It is a time in `zone`, unless an offset such as
    "+01:00" or "Z" follows.

    Raises BadTime if it is not a time, or not exactly one in that zone.
    """
    try:
        unix_ms = _parse(text.strip(), zone, now_unix_ms)
    except BadTime:
        raise
    except (ValueError, OverflowError, OSError):  # at the ends of the calendar
        unix_ms = -1
    if unix_ms < 0:
        raise BadTime(f"{text!r} is not a time from 1970 to 9999")
    return unix_ms


def span(
    from_: str | None, to: str | None, zone: tzinfo, now_unix_ms: int | None = None
) -> tuple[int | None, int | None]:
    """The begin (included) and end (not included) of a requested time span; None if not given.

    Raises BadTime as `parse` does, and for an empty span: `to` is not after `from_`, or `from_` is
    a time without a date, such as "23:50", that is still to come today.
    """
    now = _now_unix_ms() if now_unix_ms is None else now_unix_ms
    begin = None if from_ is None else parse(from_, zone, now)
    end = None if to is None else parse(to, zone, now)
    if from_ is not None and begin is not None and begin > now and _is_today(from_):
        raise BadTime(
            f"{from_!r} has not come yet today, it is {text_of(now, zone)}; "
            "write the date as well, as 2026-11-21T20:15"
        )
    if begin is not None and end is not None and end <= begin:
        without_date = any(_is_today(each) for each in (from_, to) if each is not None)
        hint = "write the date as well, as 2026-11-21T20:15" if without_date else "exchange them"
        raise BadTime(
            f"{to!r} ({text_of(end, zone)}) is not after {from_!r} ({text_of(begin, zone)}); {hint}"
        )
    return begin, end


def text_of(unix_ms: int | None, zone: tzinfo) -> str:
    """A time for people, such as "2026-11-21 20:15:03 +01:00"; "no clock" for None.

    A time beyond the calendar is written as "146140482000000000 ms".
    """
    if unix_ms is None:
        return "no clock"
    moment = moment_of(unix_ms, zone)
    if moment is None:
        return f"{unix_ms} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S} {_offset_text(moment)}"


def time_of_day(unix_ms: int, zone: tzinfo) -> str:
    """A time for people without its date, such as "20:15:03".

    A time beyond the calendar is written as "146140482000000000 ms".
    """
    moment = moment_of(unix_ms, zone)
    return f"{unix_ms} ms" if moment is None else f"{moment:%H:%M:%S}"


def iso_of(unix_ms: int | None, zone: tzinfo) -> str | None:
    """A time in ISO 8601 with milliseconds and offset, such as "2026-11-21T20:15:03.250+01:00".

    A time beyond the calendar is written as "146140482000000000 ms".
    """
    if unix_ms is None:
        return None
    moment = moment_of(unix_ms, zone)
    return f"{unix_ms} ms" if moment is None else moment.isoformat(timespec="milliseconds")


def moment_of(unix_ms: int, zone: tzinfo) -> datetime | None:
    """A time in `zone`; None if it is beyond the calendar."""
    try:
        return (_EPOCH + unix_ms * _MS).astimezone(zone)
    except (ValueError, OverflowError, OSError):  # a host may have set any clock
        return None


def duration_text(ms: int) -> str:
    """A duration for people: "0.4 s", "42 s", "3 min 12 s", "2 h 05 min"."""
    if ms < 10_000:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(ms // 1000, 60)
    hours, rest = divmod(minutes, 60)
    if hours:
        return f"{hours} h {rest:02} min"
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def _parse(text: str, zone: tzinfo, now_unix_ms: int | None) -> int:
    dated = text
    if _is_today(text):
        now = _now_unix_ms() if now_unix_ms is None else now_unix_ms
        today = moment_of(now, zone)
        dated = text if today is None else f"{today:%Y-%m-%d}T{text}"
    try:
        moment = datetime.fromisoformat(dated)
    except ValueError:
        raise BadTime(f"{text!r} is not a time; write it as {_EXAMPLE}") from None
    if moment.tzinfo is not None:
        return _unix_ms_of(moment)
    moments = list(_moments(moment, zone))
    if not moments:
        raise BadTime(
            f"{text!r} is a time that the clocks of {zone} skip, as when summer time begins; "
            "write another one, or add an offset, as +01:00"
        )
    if len(moments) > 1:
        both = " or ".join(f"{dated}{_offset_text(each)}" for each in moments)
        raise BadTime(
            f"{text!r} is a time that the clocks of {zone} show twice, as when summer time ends; "
            f"write {both}"
        )
    return _unix_ms_of(moments[0])


def _moments(shown: datetime, zone: tzinfo) -> Iterator[datetime]:
    """Yield the moments when clocks in `zone` show this time, in order: none, one or two."""
    before: int | None = None
    for fold in (0, 1):
        moment = shown.replace(tzinfo=zone, fold=fold)
        unix_ms = _unix_ms_of(moment)
        there_and_back = (_EPOCH + (moment - _EPOCH)).astimezone(zone)
        if there_and_back.replace(tzinfo=None, fold=0) == shown and unix_ms != before:
            yield moment
            before = unix_ms


def _is_today(text: str) -> bool:
    return _WITHOUT_DATE.match(text.strip()) is not None


def _unix_ms_of(moment: datetime) -> int:
    return (moment - _EPOCH) // _MS


def _offset_text(moment: datetime) -> str:
    return moment.isoformat()[len("2026-11-21T20:15:03") :].lstrip("0123456789.")


def _now_unix_ms() -> int:
    return time.time_ns() // 1_000_000
