"""When a shoe was not logged, and why, from spans in seconds."""

from pathlib import Path

import pytest

from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.log.presence import Span
from sabot.log.store import Store
from sabot.notable.absences import absences_in, absences_of
from sabot.notable.clock_changes import change_after, changes_near

Found = list[tuple[str, float, float, bool]]


def found(*spans: tuple[str, float, float], replaced_s: float | None = None) -> Found:
    """Kind, begin, length in seconds, and whether it stands."""
    given = [Span("U1", round(1000 * a), round(1000 * b), state) for state, a, b in spans]
    replaced_ms = None if replaced_s is None else round(1000 * replaced_s)
    incidents = absences_of("U1", given, replaced_ms)
    assert all(each.unit == "U1" and each.event is None for each in incidents)
    return [
        (each.kind, (each.unix_ms or 0) / 1000, (each.lasted_ms or 0) / 1000, each.stands)
        for each in incidents
    ]


A, W = "attached", "waiting"


@pytest.mark.parametrize(
    ("spans", "wanted"),
    [
        ([], []),
        ([(W, 0, 100)], []),  # it was never there
        ([(W, 0, 10), (A, 10, 100)], []),
        ([(A, 0, 100)], []),
        ([(A, 0, 10), (W, 10, 60), (A, 60, 90)], [("away", 10, 50, False)]),
        ([(A, 0, 10), (A, 60, 90)], [("not_logged", 10, 50, False)]),
        ([(A, 0, 10), (A, 12.9, 90)], []),
        ([(A, 0, 10), (W, 10, 30)], [("away", 10, 20, True)]),
        # Unplugged, then the log ended; started again before the shoe was back.
        (
            [(A, 0, 10), (W, 10, 20), (W, 50, 70), (A, 70, 90)],
            [("away", 10, 10, False), ("not_logged", 20, 30, False), ("away", 50, 20, False)],
        ),
        # The same, not back yet; the log was away for a moment.
        ([(A, 0, 10), (W, 10, 20), (W, 21, 70)], [("away", 10, 60, True)]),
        (
            [(A, 0, 10), (W, 20, 30), (W, 50, 70)],
            [
                ("not_logged", 10, 10, False),
                ("away", 20, 10, False),
                ("not_logged", 30, 20, False),
                ("away", 50, 20, True),
            ],
        ),
        # Plugged in elsewhere: its old port still waits for it.
        ([(A, 0, 10), (W, 10, 500), (A, 40, 600)], [("away", 10, 30, False)]),
        # Two logs at the same time, and a clock that was set back.
        ([(A, 0, 100), (A, 50, 60), (A, 90, 200)], []),
    ],
)
def test_what_is_between_sessions(spans: list[tuple[str, float, float]], wanted: Found) -> None:
    assert found(*spans) == wanted
    assert found(*reversed(spans)) == wanted


def test_no_log_waits_for_a_board_that_was_replaced() -> None:
    spans = (A, 0, 10), (W, 10, 60)
    assert found(*spans) == [("away", 10, 50, True)]
    assert found(*spans, replaced_s=40) == [("away", 10, 30, False)]
    assert found(*spans, replaced_s=90) == [("away", 10, 50, False)]
    assert found((A, 0, 50), replaced_s=40) == []


# ---- a host whose clock was wrong when it attached a shoe, and was set later

_AT = 1_795_000_000_000
_DAYS_40 = 40 * 86_400_000
_MIN = 60_000


def _presence(store: Store, *spans: tuple[str, int, int]) -> None:
    store.keep_presence([Span("U1", begin, end, state) for state, begin, end in spans])


def _dealt(store: Store, wrong_ms: int) -> FirmwareLog:
    """A shoe that a host sets, a quarter of an hour before _AT, to a time that is wrong by so much,
    and at _AT to the right one."""
    log = FirmwareLog()
    log.power_on(clock=False)
    log.set_clock(_AT - 15 * _MIN + wrong_ms)
    log.load().draw("AC", "2H")
    log._ms += 15 * _MIN
    log.set_clock(_AT)
    store.append("U1", stored(log.records))
    return log


@pytest.mark.parametrize("wrong_ms", [-_DAYS_40, _DAYS_40])
def test_a_host_whose_clock_is_set_was_not_away(tmp_path: Path, wrong_ms: int) -> None:
    with new_log(tmp_path / "log") as store:
        log = _dealt(store, wrong_ms)
        begin = _AT - 15 * _MIN + wrong_ms
        last = _AT + wrong_ms - 4000  # noted every 5 s
        _presence(
            store,
            (A, _AT - 3 * 3_600_000, _AT - 2 * 3_600_000),
            (W, begin - 2000, begin),
            (A, begin, last),
            (A, _AT + 1000, _AT + 600_000),
        )
        (absent,) = absences_in(store, "U1")
        assert (absent.kind, absent.unix_ms) == ("not_logged", _AT - 2 * 3_600_000)
        lasted_ms = 2 * 3_600_000 - 15 * _MIN - 2000
        assert absent.lasted_ms == pytest.approx(lasted_ms, abs=1000)
        (change,) = changes_near(store, "U1", _AT)
        assert change.event == log.last_number
        assert change.by_ms == pytest.approx(-wrong_ms, abs=1000)


def test_the_times_before_a_clock_was_set_are_wrong_by_all_that_it_was_set_by(
    tmp_path: Path,
) -> None:
    with new_log(tmp_path / "log") as store:
        log = _dealt(store, -_DAYS_40)
        last = log.last_number
        log.draw("next")
        log.set_clock(log_time := _AT + 3_600_000)
        log.power_on(clock=False)
        log.set_clock(log_time - 3 * _DAYS_40)  # a start: nothing is known of the time before
        store.append("U1", stored(log.records))
        early, later = change_after(store, "U1", last - 2), change_after(store, "U1", last)
        assert early is not None and early.event == last
        assert early.by_ms == pytest.approx(_DAYS_40 + 3_600_000, abs=1000)
        assert early.text().startswith("40 days 1 h behind")
        assert later is not None and later.by_ms == pytest.approx(3_600_000, abs=1000)
        assert change_after(store, "U1", log.last_number) is None


def test_a_crystal_that_drifts_makes_no_time_wrong(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store:
        _dealt(store, 4000)
        assert change_after(store, "U1", 3) is None
        assert list(changes_near(store, "U1", _AT)) == []
