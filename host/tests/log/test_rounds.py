"""Rounds from events, compared with rounds typed by hand and a naive reading of a whole shoe."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from host.tests.support.helpers import FirmwareLog, event_of, parsed
from sabot.log.rounds import Rounds, rounds_of
from sabot.text import utc_time
from sabot_firmware.table.dealing import KEY
from sabot_protocol import enums

T0 = 1_795_000_000_000


def rounds_in(log: FirmwareLog) -> list[dict[str, Any]]:
    """The rounds of a log as JSON, without unit, shoe, times and event numbers."""
    left_out = {"unit", "board_number", "shoe", "started", "ended", "first_event", "last_event"}
    rounds = [each.as_json() for each in rounds_of("U1", [parsed(data) for data in log.records])]
    return [
        {name: value for name, value in each.items() if name not in left_out} for each in rounds
    ]


def round_(
    number: int, player: str, banker: str, *outcome: Any, by_hand: str = ""
) -> dict[str, Any]:
    """A round as `rounds_in` gives it: cards, totals, winner, natural; mini has no hits."""
    names = ("player_total", "banker_total", "winner", "natural")
    hands = {"player": player.split(), "banker": banker.split(), "by_hand": by_hand.split()}
    return (
        {"round": number}
        | hands
        | dict(zip(names, outcome, strict=True))
        | {"hits": [], "void": None, "ghost_hand": None, "not_understood": None, "sealed": 0}
    )


def void(number: int, player: str, banker: str, reason: str) -> dict[str, Any]:
    return round_(number, player, banker, None, None, None, False) | {"void": reason}


def test_rounds_of_every_form_are_read_as_they_were_dealt() -> None:
    log = FirmwareLog().load().draw("AS", "2C")
    log.draw("9S", "KC", "KD", "7D", "next")  # a natural; card 1 closes betting
    log.draw("next", "TS", "8H", "TD", "8D", "6S", "4C", "next")  # closed by button
    log.draw("2S", "KH", "3S", "4H", "7H", "9H", "next")
    log.draw("6S", "5D", "QH", "KH", "2D", "next")  # the Player stands, the Banker draws
    log.draw("TC", "2H", "JC", "AC", "8S", "next")  # the Banker stands on 3 against an 8
    log.draw("JD", "AD", "7C", "6H", "next", "9D", "4S", "QS", "5S", "next")
    log.draw("2C", "9H", "TH", "KS")  # a natural of the Banker alone
    assert rounds_in(log) == [
        round_(1, "9S KD", "KC 7D", 9, 7, "player", True),
        round_(2, "TS TD 6S", "8H 8D 4C", 6, 0, "player", False),
        round_(3, "2S 3S 7H", "KH 4H 9H", 2, 3, "banker", False),
        round_(4, "6S QH", "5D KH 2D", 6, 7, "banker", False),
        round_(5, "TC JC 8S", "2H AC", 8, 3, "player", False),
        round_(6, "JD 7C", "AD 6H", 7, 7, "tie", False),
        round_(7, "9D QS", "4S 5S", 9, 9, "tie", True),
        round_(8, "2C TH", "9H KS", 2, 9, "banker", True),
    ]


def test_a_round_has_its_event_numbers_and_times() -> None:
    given = {"shoe": 4, "round": 9}
    rounds = Rounds("U7")
    events = [
        event_of("betting_open", 30, unix_ms=T0, **given),
        event_of("card", 31, unix_ms=T0 + 1, card="7H", position="player_1", **given),
        event_of("card", 32, unix_ms=T0 + 2, card="TC", position="banker_1", by_hand=True, **given),
        event_of(
            "result",
            33,
            unix_ms=T0 + 61_001,
            winner="player",
            player_total=7,
            hits=0b1001,
            **given,
        ),
    ]
    assert [rounds.add(event) for event in events[:3]] == [None] * 3
    assert rounds.open is not None and rounds.open.player == ("7H",)
    ended = rounds.add(events[3])
    assert ended is not None and rounds.open is None
    assert ended.as_json() == {
        "unit": "U7", "shoe": 4, "round": 9,
        "started": "2026-11-18T11:06:40.000Z", "ended": "2026-11-18T11:07:41.001Z",
        "player": ["7H"], "banker": ["TC"], "by_hand": ["TC"],
        "player_total": 7, "banker_total": 0,
        "winner": "player", "natural": False, "hits": ["player_pair", "panda_8"], "void": None,
        "ghost_hand": None, "not_understood": None, "sealed": 0,
        "first_event": 30, "last_event": 33, "board_number": 1,
    }  # fmt: skip
    assert json.loads(json.dumps(ended.as_json())) == ended.as_json()


def test_a_round_goes_on_over_a_restart() -> None:
    log = FirmwareLog().load().draw("AS", "2C", "9S", "KC").power_on().draw("KD").power_on()
    assert rounds_in(log.draw("7D")) == [round_(1, "9S KD", "KC 7D", 9, 7, "player", True)]


@pytest.mark.parametrize("decided", ["!drawn_again", "!KD"])
def test_a_card_that_passed_while_the_power_failed_is_in_a_hand_once(decided: str) -> None:
    log = FirmwareLog().load().draw("AS", "2C", "9S", "KC").power_on(passing=True)
    log.draw(decided, *(["KD"] if decided == "!drawn_again" else []), "7D")
    by_hand = "" if decided == "!drawn_again" else "KD"
    wanted = round_(1, "9S KD", "KC 7D", 9, 7, "player", True, by_hand=by_hand)
    assert rounds_in(log) == [wanted]


def test_a_round_is_void_if_the_shoe_of_cards_ends_in_it() -> None:
    """Firmware up to protocol version 2 ended it so after a restart."""
    rounds = Rounds("U1")
    rounds.add(event_of("betting_open", 1, round=2))
    rounds.add(event_of("card", 2, round=2, card="KS", position="player_1"))
    ended = rounds.add(event_of("shoe_ended", 3, round=0))
    assert ended is not None and rounds.open is None
    assert (ended.void, ended.winner, ended.player) == ("restart", None, ("KS",))


@pytest.mark.parametrize("reason", enums.VOID_REASONS)
def test_a_void_round_has_a_reason_and_no_winner(reason: str) -> None:
    rounds = Rounds("U1")
    rounds.add(event_of("betting_open", 1))
    ended = rounds.add(event_of("round_void", 2, reason=reason))
    assert ended is not None
    assert (ended.void, ended.winner, ended.player_total) == (reason, None, None)


def test_voids_of_the_firmware() -> None:
    log = FirmwareLog().load().draw("AS", "2C")
    log.draw("KS", "7H", "blank", "!void", "next", "9S")
    log.power_on().act(log.dealing.switched(KEY, True))
    log.act(log.dealing.pressed(enums.BUTTONS.index("void")))
    assert rounds_in(log) == [void(1, "KS", "7H", "unreadable"), void(2, "9S", "", "supervisor")]


_NATURAL = ("9S", "KC", "KD", "7D")


def test_a_misdeal_is_void_and_has_no_result() -> None:
    log = FirmwareLog().load().draw("AS", "2C", *_NATURAL, "misdeal", "next", *_NATURAL, "next")
    misdeal = void(1, "9S KD", "KC 7D", "misdeal")
    assert rounds_in(log) == [misdeal, round_(2, "9S KD", "KC 7D", 9, 7, "player", True)]
    (event,) = [each for each in map(parsed, log.records) if each.kind == "round_void"]
    first, _ = rounds_of("U1", map(parsed, log.records))
    assert (first.last_event, first.ended_unix_ms) == (event.number, event.unix_ms)


@pytest.mark.parametrize("between", [(), ("burn 1",), ("TEST", "key")])
def test_a_misdeal_is_one_however_long_after_the_result(between: tuple[str, ...]) -> None:
    log = FirmwareLog().load().draw("AS", "2C", *_NATURAL)
    if between == ("burn 1",):
        log.act(log.dealing.pressed(enums.BUTTONS.index("burn")))
        between = ("5H",)
    log.draw(*between).power_on().draw("misdeal")
    assert rounds_in(log) == [void(1, "9S KD", "KC 7D", "misdeal")]


def test_the_last_round_is_a_misdeal_after_the_end_of_the_shoe_of_cards() -> None:
    log = FirmwareLog().load().draw("AS", "2C", "CUT", *_NATURAL)
    assert log.over()
    log.draw("misdeal").load().draw("AS", "2C", *_NATURAL)
    assert rounds_in(log) == [
        void(1, "9S KD", "KC 7D", "misdeal"),
        round_(1, "9S KD", "KC 7D", 9, 7, "player", True),
    ]


def test_a_ghost_hand_has_its_number_in_the_shoe_of_cards() -> None:
    log = FirmwareLog().load().draw("AS", "2C", "ghost", *_NATURAL, "misdeal", "next", *_NATURAL)
    log.draw("next", "ghost", *_NATURAL, "end").load().draw("AS", "2C", "ghost", *_NATURAL)
    rounds = list(rounds_of("U1", map(parsed, log.records)))
    assert [each.ghost_hand for each in rounds] == [1, None, 2, 1]
    assert [each.void for each in rounds] == ["misdeal", None, None, None]


def test_a_void_of_another_round_changes_no_result() -> None:
    log = FirmwareLog().load().draw("AS", "2C", *_NATURAL)
    rounds = Rounds("U1")
    dealt = [each for each in map(rounds.add, map(parsed, log.records)) if each is not None]
    other = event_of("round_void", log.last_number + 1, shoe=1, round=7, reason="misdeal")
    assert len(dealt) == 1 and rounds.add(other) is None


def test_burned_and_surplus_cards_are_in_no_hand() -> None:
    log = FirmwareLog().load().draw("3S", "2C", "8C", "9C")  # burned
    log.draw("9S", "KC", "KD", "7D", "5H", "key", "next", "CUT")  # 5H was not due
    log.draw("8S", "JC", "QD", "TD")
    assert rounds_in(log) == [
        round_(1, "9S KD", "KC 7D", 9, 7, "player", True),
        round_(2, "8S QD", "JC TD", 8, 0, "player", True),
    ]


def test_by_hand_has_the_cards_that_were_entered_and_not_those_put_aside() -> None:
    log = FirmwareLog().load().draw("AS", "?bad_code", "!2C")
    log.draw("9S", "?jam", "!drawn_again", "KC", "?reversed", "!KD", "?double_feed", "!7D", "!5H")
    log.draw("key", "next", "blank", "!8S", "JC", "QD", "TD")
    assert rounds_in(log) == [
        round_(1, "9S KD", "KC 7D", 9, 7, "player", True, by_hand="KD 7D"),
        round_(2, "8S QD", "JC TD", 8, 0, "player", True, by_hand="8S"),
    ]


def test_events_without_betting_open_make_no_round() -> None:
    rounds = Rounds("U1")
    for number, kind in enumerate(("card", "result", "round_void", "boot", "shoe_ended"), 1):
        assert rounds.add(event_of(kind, number)) is None
    assert rounds.open is None


@pytest.mark.parametrize("kind", ["card", "result", "round_void"])
@pytest.mark.parametrize("where", [{"round": 4}, {"shoe": 2}])
def test_two_rounds_are_never_mixed(kind: str, where: dict[str, int]) -> None:
    """If the events between were lost, the round is neither ended nor continued."""
    rounds = Rounds("U1")
    given = {"shoe": 1, "round": 3}
    rounds.add(event_of("betting_open", 1, **given))
    rounds.add(event_of("card", 2, card="KS", position="player_1", **given))
    assert rounds.add(event_of(kind, 80, **given | where)) is None
    assert rounds.open is None
    assert rounds.add(event_of("result", 81, **given | where)) is None


def test_the_rounds_of_a_whole_shoe_are_those_of_a_naive_reading(good_log: list[bytes]) -> None:
    events = [parsed(data) for data in good_log]
    rounds = list(rounds_of("U1", events))
    assert [each.round for each in rounds] == list(range(1, len(rounds) + 1))
    for each in rounds:
        own = [event for event in events if event.round == each.round and event.shoe == 1]
        cards = [event for event in own if event.kind == "card"]
        for hand in ("player", "banker"):
            drawn = [e.fields["card"] for e in cards if e.fields["position"].startswith(hand)]
            names = ["A23456789TJQK"[card % 13] + "CDHS"[card // 13] for card in drawn]
            assert list(getattr(each, hand)) == names
        (result,) = [event for event in own if event.kind == "result"]
        assert each.winner == result.fields["winner"]
        assert each.first_event < cards[0].number and each.last_event == result.number


@pytest.mark.parametrize("unix_ms", [0, 1, 999, T0, T0 + 123, 4_102_444_800_123])
def test_times_are_iso_8601_in_utc_to_the_millisecond(unix_ms: int) -> None:
    text = utc_time(unix_ms)
    assert text is not None and text.endswith("Z")
    read = datetime.fromisoformat(text)
    assert read - datetime(1970, 1, 1, tzinfo=UTC) == timedelta(milliseconds=unix_ms)
    assert read.tzinfo == UTC and len(text) == len("2026-11-21T20:15:03.250Z")


@pytest.mark.parametrize("unix_ms", [1 << 50, 1 << 62, (1 << 64) - 1])
def test_a_time_too_large_for_a_calendar_is_shown_in_milliseconds(unix_ms: int) -> None:
    assert utc_time(unix_ms) == f"{unix_ms} ms"


def test_without_a_clock_there_is_no_time() -> None:
    assert utc_time(None) is None
