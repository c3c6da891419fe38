"""How a table is dealt, measured of events whose times are written down beside them."""

import random
from datetime import UTC
from itertools import pairwise
from pathlib import Path

import pytest

from host.tests.support.commands import output_here
from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from host.tests.support.typed_events import TypedEvents
from sabot.conduct.of_log import Placed, changes_of, grouped
from sabot.conduct.pace import Measuring, RoundTimes, ShoeTimes, figures_of
from sabot_protocol import events

_MS = 1000


def _measured(made: TypedEvents) -> list[RoundTimes | ShoeTimes]:
    measuring = Measuring("U")
    return [each for event in made.events for each in measuring.add(event)]


def _round(made: TypedEvents, waits_s: float, deals_s: float, **result: object) -> TypedEvents:
    """A round of four cards: betting for `waits_s`, then a card each quarter of `deals_s`."""
    made.add("betting_open", 1)
    made.add("betting_closed", waits_s)
    for _ in range(4):
        made.add("card", deals_s / 4)
    return made.add("result", 0, **result)


def test_times_are_those_between_the_events() -> None:
    made = TypedEvents().add("shoe_loaded", decks=8)
    _round(made, 20, 8)
    _round(made, 25, 12)
    first, second = _measured(made)
    assert isinstance(first, RoundTimes) and isinstance(second, RoundTimes)
    assert (first.cycle_ms, first.result_ms) == (None, 8 * _MS), "no round was before it"
    assert (second.cycle_ms, second.result_ms) == (38 * _MS, 12 * _MS)
    assert second.reveal_ms is None, "no card lay face down"


@pytest.mark.parametrize("what", ["waits", "start", "error", "gap"])
def test_a_wait_for_players_a_start_and_a_stop_are_no_time_of_a_round(what: str) -> None:
    made = TypedEvents().add("shoe_loaded", decks=8)
    _round(made, 20, 8)
    if what == "start":
        made.restart(10)
    elif what == "error":
        made.add("error", 5).add("error_cleared", 50)
    elif what == "gap":
        made.add("gap", 1)
    _round(made, 200 if what == "waits" else 20, 8)
    _round(made, 20, 8)
    cycles = [each.cycle_ms for each in _measured(made) if isinstance(each, RoundTimes)]
    assert cycles == [None, None, 29 * _MS]


def test_a_clock_that_is_set_changes_no_time() -> None:
    made = TypedEvents().add("shoe_loaded", decks=8)
    _round(made, 20, 8)
    made.add("betting_open", 1).add("clock_set", 2)
    made.clock = 5_000_000_000
    made.add("betting_closed", 18).add("card", 4).add("result", 4)
    assert [each.cycle_ms for each in _measured(made) if isinstance(each, RoundTimes)][1] == 29_000


def test_cards_by_hand_voids_and_misdeals_are_counted_and_have_no_times() -> None:
    log = FirmwareLog().load().draw("AC", "2H", "next", "9C", "KC", "TD", "blank", "!9H")
    log.draw("next", "9C", "blank", "!void", "next", "9S", "KC", "TD", "9H", "misdeal")
    found = [
        each
        for record in stored(log.records)
        for each in _MEASURING.add(record.event)
        if isinstance(each, RoundTimes)
    ]
    figures = figures_of(found)
    assert (figures.by_hand, figures.errors, figures.voids, figures.misdeals) == (1, 2, 1, 1)
    assert all(each.cycle_ms is each.result_ms is None for each in found if each.void)


_MEASURING = Measuring("U")


def test_the_depth_of_the_cut_card_is_said_once_the_shoe_of_cards_has_ended() -> None:
    log = FirmwareLog().deal_shoe(shuffled_names(3, cut_from_end=20))
    measuring = Measuring("U")
    made = [(record.event, [*measuring.add(record.event)]) for record in stored(log.records)]
    shoes = [
        (event.kind, each) for event, some in made for each in some if isinstance(each, ShoeTimes)
    ]
    ((kind, shoe),) = shoes
    assert kind == "shoe_ended" and shoe.cut_depth == 20


def test_a_part_that_is_lost_leaves_no_depth() -> None:
    log = FirmwareLog().deal_shoe(shuffled_names(3))
    log.record_gap(100, 120)
    lost = [each for each in stored(log.records) if not 100 <= each.event.number <= 120]
    gap = lost.pop()
    measuring = Measuring("U")
    measured = [
        each for record in (*lost[:99], gap, *lost[99:]) for each in measuring.add(record.event)
    ]
    (shoe,) = [each for each in measured if isinstance(each, ShoeTimes)]
    assert shoe.cut_depth is None


def _placed(shoes: int, slow_from: int, dealers: tuple[str, str]) -> list[Placed]:
    """Shoes of cards of 30 rounds at one table: from one on the other dealer, who is slower."""
    found, event, rng = list[Placed](), 0, random.Random(3)
    for shoe in range(1, shoes + 1):
        slow = shoe >= slow_from
        for number in range(1, 31):
            event += 1
            result_ms = int(rng.gauss(9500, 1500)) + 1500 * slow
            what = RoundTimes("U", event, shoe, number, event * 40_000, 45_000, result_ms)
            found.append(Placed("12", what, dealers[slow]))
        event += 1
        found.append(Placed("12", ShoeTimes("U", event, shoe, event * 40_000, 1, None), ""))
    return found


def test_a_dealer_who_slows_down_within_all_bounds_is_found_and_named() -> None:
    changes, tested = changes_of(_placed(60, 31, ("A", "B")))
    (found,) = changes
    assert tested == 1 and found.measure == "result" and found.change.at == 30
    assert found.persons == (("A",), ("B",))
    assert found.change.after - found.change.before == pytest.approx(1.5, abs=0.3)


def test_a_shoe_of_cards_in_play_has_no_part_in_it() -> None:
    placed = _placed(60, 31, ("A", "B"))
    assert changes_of(placed[:-1])[0][0].change.values == 59


def test_rounds_are_put_together_by_hour_shift_and_person() -> None:
    at = [("2026-01-01T05:59", "A"), ("2026-01-01T06:00", "B"), ("2026-01-01T23:30", "")]
    from sabot.table_time import parse

    rounds = [
        Placed("12", RoundTimes("U", n, 1, n, parse(text, UTC), 60_000), person)
        for n, (text, person) in enumerate(at)
    ]
    keys = {
        by: [group for _, group in grouped(rounds, by, UTC)] for by in ("hour", "shift", "person")
    }
    assert keys == {
        "hour": ["05:00", "06:00", "23:00"],
        "shift": ["06:00", "22:00"],
        "person": ["", "A", "B"],
    }
    (whole,) = grouped(rounds, "table", UTC).values()
    assert (whole.rounds, whole.an_hour) == (3, 60)


def test_the_command_shows_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = FirmwareLog()
    log.record(events.PROVISIONED, 0, 0, ("12", 0))
    log.deal_shoe(shuffled_names(3))
    results = [each.event for each in stored(log.records) if each.event.kind == "result"]
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("SHOE-7", stored(log.records))
    said = output_here(tmp_path, "pace", "--db", "log.sqlite")
    _, row, summary, *_ = said.splitlines()
    cells = row.split()
    assert cells[:2] == ["12", str(len(results))] and cells[-1] == "14"
    between = [second.t_ms - first.t_ms for first, second in pairwise(results)]
    assert int(cells[2]) == pytest.approx(3_600_000 * len(between) / sum(between), rel=0.01)
    assert "One report in 100" in summary
    assert "rounds are not put together by 'day'" in output_here(
        tmp_path, "pace", "--by", "day", "--db", "log.sqlite"
    )
