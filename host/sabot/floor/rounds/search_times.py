"""Times and days in a search, as people say them: "20:15 to 20:40", "Tuesday", "21 November".

A day without a year is the last such day. A time without a day is today's, and one that is still to
come is refused: a search is for what has happened.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from sabot.table_time import BadTime, moment_of, parse, text_of

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS)
_DAY = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _DAYS)
DAY = re.compile(
    rf"(?:last\s+)?(?P<weekday>{_DAY})\b|(?P<near>today|yesterday|tonight)\b"
    rf"|(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})(?![\dT])"
    rf"|(?P<d1>\d{{1,2}})\.?\s+(?P<m1>{_MONTH})\b(?:,?\s+(?P<y1>\d{{4}})\b)?"
    rf"|(?P<m2>{_MONTH})\s+(?P<d2>\d{{1,2}})\b(?:,?\s+(?P<y2>\d{{4}})\b)?",
    re.IGNORECASE,
)
"""A day."""
TIME = re.compile(
    r"(?P<whole>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)"
    r"|(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?\s*(?P<half>[ap]\.?m\b\.?)?"
    r"|(?P<only>\d{1,2})\s*(?P<of>[ap]\.?m\b\.?)",
    re.IGNORECASE,
)
"""A time of day, or a date and a time."""
_UNIT = r"(?P<unit>minutes?|mins?|hours?|h)\b"
LAST = re.compile(rf"(?:in\s+)?(?:the\s+)?(?:last|past)\s+(?:(?P<n>\d{{1,4}})\s*)?{_UNIT}", re.I)
"""A time up to now: "last 10 minutes"."""
AGO = re.compile(rf"(?:(?:about|around)\s+)?(?P<n>\d{{1,4}}|an?)\s*{_UNIT}\s+ago\b", re.I)
"""A time before now: "about 5 minutes ago"."""
_NOW_MS = 60_000  # the clocks of units are a little off


@dataclass(frozen=True, slots=True)
class SaidTime:
    """A time that was typed: with its date, or of a day that is said elsewhere."""

    text: str
    """As `table_time.parse` takes it: "20:15", "20:15:03", "2026-11-21T20:15"."""

    @property
    def dated(self) -> bool:
        """Whether it has its date."""
        return "T" in self.text

    @property
    def to_the_second(self) -> bool:
        """Whether its seconds were typed."""
        return self.text.partition("T")[2 if self.dated else 0].count(":") > 1


def said_time(found: re.Match[str]) -> SaidTime:
    """Return the time that TIME found. Raises BadTime for "25:00" or "13 pm"."""
    if found["whole"]:
        return SaidTime(found["whole"].upper())
    hour, half = int(found["hour"] or found["only"]), (found["half"] or found["of"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise BadTime(f"{found[0].strip()!r} is not a time; write 8:15 pm, or 20:15")
        hour = hour % 12 + 12 * (half[0] == "p")
    minute, second = int(found["minute"] or 0), found["second"]
    if hour > 23 or minute > 59 or int(second or 0) > 59:
        raise BadTime(f"{found[0].strip()!r} is not a time of day; write 20:15")
    return SaidTime(f"{hour:02}:{minute:02}" + (f":{second}" if second else ""))


def said_before_now(found: re.Match[str], now_unix_ms: int) -> tuple[SaidTime, SaidTime]:
    """Return begin and end of the time that LAST found; of AGO, that time and half of it around."""
    count = int(found["n"]) if (found["n"] or "").isdecimal() else 1
    minutes = count * (60 if found["unit"][0] in "hH" else 1)
    ago_ms, before_ms = minutes * 60_000, 0
    if found.re is AGO:
        before_ms, ago_ms = ago_ms // 2, ago_ms * 3 // 2
    return _said_moment(now_unix_ms - ago_ms), _said_moment(now_unix_ms - before_ms)


def _said_moment(unix_ms: int) -> SaidTime:
    return SaidTime(f"{datetime.fromtimestamp(unix_ms // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}")


def said_day(found: re.Match[str], zone: tzinfo, now_unix_ms: int) -> date:
    """Return the day that DAY found. Raises BadTime for a day that no calendar has."""
    today = _today(zone, now_unix_ms)
    if found["near"]:
        return today - timedelta(days=found["near"].lower() == "yesterday")
    if found["weekday"]:
        wanted = next(n for n, name in enumerate(_DAYS) if name[:3] == found["weekday"][:3].lower())
        back = (today.weekday() - wanted) % 7
        if not back and found[0].lower().startswith("last"):
            back = 7
        return today - timedelta(days=back)
    try:
        if found["iso"]:
            return date.fromisoformat(found["iso"])
        name, number = found["m1"] or found["m2"], int(found["d1"] or found["d2"])
        month = next(n for n, each in enumerate(_MONTHS, 1) if each[:3] == name[:3].lower())
        year = found["y1"] or found["y2"]
        if year:
            return date(int(year), month, number)
        day = date(today.year, month, number)
        return day if day <= today else date(today.year - 1, month, number)
    except ValueError:
        raise BadTime(f"{found[0].strip()!r} is not a day; write 2026-11-21") from None


@dataclass(frozen=True, slots=True)
class SaidSpan:
    """What was said about time. `at` is a moment; of two `days` the span is from one to the other.
    `weekday` is true if the only day was said by its name in the week."""

    days: Sequence[date] = ()
    begin: SaidTime | None = None
    end: SaidTime | None = None
    at: SaidTime | None = None
    weekday: bool = False

    def unix_ms(self, zone: tzinfo, now_unix_ms: int) -> tuple[int | None, int | None]:
        """Return begin and end, the first included; None for no limit. Raises BadTime if that is
        no span."""
        begin, end = self.at or self.begin, self.end
        if self.weekday and self.days[0] == _today(zone, now_unix_ms) and begin is not None:
            if _moment(begin, self.days[0], zone) > now_unix_ms:  # so a week ago was meant
                earlier = SaidSpan([self.days[0] - timedelta(days=7)], self.begin, end, self.at)
                return earlier.unix_ms(zone, now_unix_ms)
        if not self.days and begin is None and end is None:
            return None, None
        first = self.days[0] if self.days else _today(zone, now_unix_ms)
        last = self.days[-1] if self.days else first
        from_ms = to_ms = None
        if begin is not None:
            from_ms = _moment(begin, first, zone)
        elif self.days:
            from_ms = _midnight(first, zone)
        if self.at is not None and from_ms is not None:
            to_ms = from_ms + (1000 if self.at.to_the_second else 60_000)
        elif end is not None:
            to_ms = _moment(end, last, zone)
            past_midnight = begin is not None and not begin.dated and not end.dated
            if from_ms is not None and to_ms <= from_ms and past_midnight and len(self.days) < 2:
                later = _moment(end, last + timedelta(days=1), zone)
                to_ms = later if later <= now_unix_ms + _NOW_MS else to_ms
        elif self.days:
            to_ms = _midnight(last + timedelta(days=1), zone)
        if from_ms is not None and from_ms > now_unix_ms:
            raise BadTime(
                f"{text_of(from_ms, zone)} has not come yet, it is {text_of(now_unix_ms, zone)}; "
                "write the day as well: yesterday, Tuesday or 2026-11-21"
            )
        if from_ms is not None and to_ms is not None and to_ms <= from_ms:
            raise BadTime(
                f"the end, {text_of(to_ms, zone)}, is not after the begin, "
                f"{text_of(from_ms, zone)}; exchange them"
            )
        return from_ms, to_ms


def _today(zone: tzinfo, now_unix_ms: int) -> date:
    now = moment_of(now_unix_ms, zone)
    if now is None:
        raise BadTime("the clock of this machine is set to no time of the calendar")
    return now.date()


def _moment(said: SaidTime, day: date, zone: tzinfo) -> int:
    return parse(said.text if said.dated else f"{day:%Y-%m-%d}T{said.text}", zone)


def _midnight(day: date, zone: tzinfo) -> int:
    """The first moment of a day. In some zones the clocks skip midnight."""
    for hour in range(4):
        try:
            return parse(f"{day:%Y-%m-%d}T{hour:02}:00", zone)
        except BadTime:
            continue
    raise BadTime(f"{day} has no begin in this zone")
