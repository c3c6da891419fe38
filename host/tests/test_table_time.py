"""Times that people type and read, against known offsets and changes of clocks."""

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from sabot.table_time import (
    BadTime,
    HostZone,
    duration_text,
    iso_of,
    moment_of,
    parse,
    span,
    text_of,
    zone_of,
)

MALTA = zone_of("Europe/Malta")
# Half past eight in the evening in Malta, in winter: an hour ahead of UTC.
NOW = datetime(2026, 11, 21, 20, 30, tzinfo=timezone(timedelta(hours=1)))


def ms(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000


def at(hours: float, *fields: int) -> int:
    """UTC milliseconds of a date and time in the zone that is `hours` ahead of UTC."""
    return ms(datetime(*fields, tzinfo=timezone(timedelta(hours=hours))))  # type: ignore[arg-type]


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine is in the zone of Berlin."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2026-11-21T20:15", at(1, 2026, 11, 21, 20, 15)),
        ("2026-11-21 20:15", at(1, 2026, 11, 21, 20, 15)),
        (" 2026-11-21T20:15:30 ", at(1, 2026, 11, 21, 20, 15, 30)),
        ("2026-11-21T20:15:30.250", at(1, 2026, 11, 21, 20, 15, 30) + 250),
        ("2026-11-21", at(1, 2026, 11, 21)),
        ("2026-07-21T20:15", at(2, 2026, 7, 21, 20, 15)),
        ("2026-11-21T20:15+08:00", at(8, 2026, 11, 21, 20, 15)),
        ("2026-11-21T20:15Z", at(0, 2026, 11, 21, 20, 15)),
        ("20:15", at(1, 2026, 11, 21, 20, 15)),
        ("20:15:30", at(1, 2026, 11, 21, 20, 15, 30)),
        ("20:15+08:00", at(8, 2026, 11, 21, 20, 15)),
        ("20:15Z", at(0, 2026, 11, 21, 20, 15)),
        ("1970-01-01T01:00", 0),
    ],
)
def test_a_time_is_in_the_tables_zone_unless_it_has_an_offset(typed: str, meant: int) -> None:
    assert parse(typed, MALTA, ms(NOW)) == meant


def test_today_is_the_date_at_the_table() -> None:
    # Half past eight on the 21st in Malta is half past three on the 22nd in Macau, in the morning.
    assert parse("02:00", zone_of("Asia/Macau"), ms(NOW)) == at(8, 2026, 11, 22, 2, 0)


@pytest.mark.parametrize(
    "typed",
    ["", "yesterday", "25:00", "20:60", "24:00", "20", "2026", "2026-02-30", "2026-11-21T",
     "20:15 pm", "20:15+", "\0", "2026-11-21T20:15 Europe/Malta", "9" * 5000],
)  # fmt: skip
def test_text_that_is_not_a_time_is_refused_with_an_example(typed: str) -> None:
    with pytest.raises(BadTime, match="is not a time; write it as 2026-11-21T20:15, or 20:15 for"):
        parse(typed, MALTA)


@pytest.mark.parametrize("typed", ["0001-01-01", "1969-12-31T23:59Z", "0001-01-01T00:00+14:00"])
def test_a_time_that_no_shoes_clock_can_show_is_refused(typed: str) -> None:
    for zone in (MALTA, UTC, HostZone()):
        with pytest.raises(BadTime, match="is not a time from 1970 to 9999"):
            parse(typed, zone)


# When clocks change, from the tables of each country, not from zoneinfo.
SKIPPED = [
    ("Europe/Malta", "2026-03-29T02:00"),
    ("Europe/Malta", "2026-03-29T02:30"),
    ("Europe/Malta", "2026-03-29T02:59:59.999"),
    ("America/New_York", "2026-03-08T02:30"),
    ("Australia/Lord_Howe", "2026-10-04T02:15"),  # half an hour only
]
TWICE = [
    ("Europe/Malta", "2026-10-25T02:00", "+02:00", "+01:00"),
    ("Europe/Malta", "2026-10-25T02:59:59", "+02:00", "+01:00"),
    ("America/New_York", "2026-11-01T01:30", "-04:00", "-05:00"),
    ("Australia/Lord_Howe", "2026-04-05T01:45", "+11:00", "+10:30"),
]


@pytest.mark.parametrize(("zone", "typed"), SKIPPED)
def test_a_time_that_clocks_skip_is_refused(zone: str, typed: str) -> None:
    with pytest.raises(BadTime, match=f"{typed}.*clocks of {zone} skip.*add an offset"):
        parse(typed, zone_of(zone))


@pytest.mark.parametrize(("zone", "typed", "first", "second"), TWICE)
def test_a_time_that_clocks_show_twice_is_refused_with_both(
    zone: str, typed: str, first: str, second: str
) -> None:
    with pytest.raises(BadTime) as refused:
        parse(typed, zone_of(zone))
    earlier, later = typed + first, typed + second
    assert f"clocks of {zone} show twice" in str(refused.value)
    assert str(refused.value).endswith(f"write {earlier} or {later}")
    for each in (earlier, later):
        moment = datetime.fromisoformat(each)
        assert parse(each, zone_of(zone)) == ms(moment)
        assert iso_of(ms(moment), zone_of(zone)) == moment.isoformat(timespec="milliseconds")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2026-03-29T01:59", at(1, 2026, 3, 29, 1, 59)),
        ("2026-03-29T03:00", at(2, 2026, 3, 29, 3, 0)),
        ("2026-10-25T01:59", at(2, 2026, 10, 25, 1, 59)),
        ("2026-10-25T03:00", at(1, 2026, 10, 25, 3, 0)),
    ],
)
def test_the_times_next_to_a_change_are_accepted(typed: str, meant: int) -> None:
    assert parse(typed, MALTA) == meant


def test_a_time_of_today_that_clocks_show_twice_is_refused_with_its_date() -> None:
    with pytest.raises(BadTime, match=r"write 2026-10-25T02:30\+02:00 or 2026-10-25T02:30\+01:00"):
        parse("02:30", MALTA, at(1, 2026, 10, 25, 12, 0))


@pytest.mark.usefixtures("in_berlin")
def test_the_zone_of_this_machine_refuses_the_same_times() -> None:
    zone = zone_of(None)
    assert parse("2026-11-21T20:15", zone) == at(1, 2026, 11, 21, 20, 15)
    assert parse("2026-07-21T20:15", zone) == at(2, 2026, 7, 21, 20, 15)
    with pytest.raises(BadTime, match="clocks of this machine's zone skip"):
        parse("2026-03-29T02:30", zone)
    with pytest.raises(BadTime, match=r"write 2026-10-25T02:30\+02:00 or 2026-10-25T02:30\+01:00"):
        parse("2026-10-25T02:30", zone)
    for hours in (1, 2):
        unix_ms = at(hours, 2026, 10, 25, 2, 30) + 7
        assert text_of(unix_ms, zone) == f"2026-10-25 02:30:00 +0{hours}:00"
        assert iso_of(unix_ms, zone) == f"2026-10-25T02:30:00.007+0{hours}:00"


@pytest.mark.usefixtures("in_berlin")
def test_this_machines_zone_agrees_with_zoneinfo(rng: random.Random) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for _ in range(2000):
        unix_ms = rng.randrange(4_000_000_000_000)
        assert iso_of(unix_ms, HostZone()) == iso_of(unix_ms, berlin)


def test_a_time_can_be_typed_as_it_is_shown(rng: random.Random) -> None:
    for _ in range(2000):
        unix_ms = rng.randrange(4_000_000_000_000)
        zone = zone_of(rng.choice(["Europe/Malta", "Asia/Kathmandu", "America/St_Johns"]))
        shown = iso_of(unix_ms, zone)
        assert shown is not None and parse(shown, zone) == unix_ms
        to_the_second = text_of(unix_ms, zone).replace(" +", "+").replace(" -", "-")
        assert parse(to_the_second, UTC) == unix_ms // 1000 * 1000


def test_a_time_beyond_the_calendar_is_shown_in_milliseconds() -> None:
    for unix_ms in ((1 << 63) - 1, (1 << 64) - 1, 253_402_300_800_000):
        for zone in (MALTA, HostZone(), UTC):
            assert text_of(unix_ms, zone) == iso_of(unix_ms, zone) == f"{unix_ms} ms"
            assert moment_of(unix_ms, zone) is None
    assert text_of(None, MALTA) == "no clock" and iso_of(None, MALTA) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("europe/malta", "did you mean Europe/Malta?"),
        ("Europe/Maltta", "did you mean Europe/Malta?"),
        ("Mars/Olympus_Mons_Caldera", "write it as Europe/Malta"),
        ("", "write it as Europe/Malta"),
        ("../../etc/passwd", "write it as Europe/Malta"),
        ("/etc/localtime", "there is no zone"),
        ("Europe\0", "there is no zone"),
        ("America", "there is no zone"),
        ("x" * 10_000, "write it as Europe/Malta"),
    ],
)
def test_an_unknown_zone_is_refused(name: str, said: str) -> None:
    with pytest.raises(BadTime, match="there is no zone") as refused:
        zone_of(name)
    assert said.replace("?", "") in str(refused.value).replace("?", "")


def test_an_empty_span_is_refused() -> None:
    now = ms(NOW)
    six, seven = at(1, 2026, 11, 21, 18, 0), at(1, 2026, 11, 21, 19, 0)
    assert span("18:00", "19:00", MALTA, now) == (six, seven)
    assert span(None, "18:00", MALTA, now) == (None, six)
    assert span("18:00", None, MALTA, now) == (six, None)
    assert span(None, None, MALTA, now) == (None, None)
    assert span("18:00", "23:00", MALTA, now)[1] == at(1, 2026, 11, 21, 23, 0)
    for to in ("18:00", "02:00", "2026-11-20"):
        with pytest.raises(BadTime, match=r"is not after '18:00'.*write the date as well"):
            span("18:00", to, MALTA, now)
    with pytest.raises(BadTime, match=r"is not after '2026-11-21'.*; exchange them"):
        span("2026-11-21", "2026-11-20T23:00", MALTA, now)


def test_last_night_is_not_today() -> None:
    # At 00:30 an officer looks for an event of 23:50.
    now = at(1, 2026, 11, 22, 0, 30)
    with pytest.raises(BadTime, match="'23:50' has not come yet today, it is 2026-11-22 00:30:00"):
        span("23:50", None, MALTA, now)
    assert span("2026-11-21T23:50", "00:10", MALTA, now) == (
        at(1, 2026, 11, 21, 23, 50), at(1, 2026, 11, 22, 0, 10),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("length_ms", "said"),
    [
        (0, "0.0 s"), (449, "0.4 s"), (9_900, "9.9 s"), (10_000, "10 s"), (59_999, "59 s"),
        (60_000, "1 min 00 s"), (192_000, "3 min 12 s"), (3_599_999, "59 min 59 s"),
        (3_600_000, "1 h 00 min"), (90_000_000, "25 h 00 min"),
    ],
)  # fmt: skip
def test_durations_are_written_for_people(length_ms: int, said: str) -> None:
    assert duration_text(length_ms) == said
