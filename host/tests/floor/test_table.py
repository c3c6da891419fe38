"""A table after each event of its unit: what it does, its rounds, nothing before it may show."""

import random
from collections.abc import Iterable

import cbor2
import pytest

from host.tests.support.dealt_boxes import BoxLog
from host.tests.support.dealt_events import kept_games
from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import FirmwareLog, shuffled_names
from sabot.floor.table import PACE_MS, STATES, Table, TableFold
from sabot.games.baccarat import catalogue
from sabot.link import wire
from sabot.link.events import BettingOpenEvent, Event
from sabot.log.reveal import Reveal, ShownGames, all_shown
from sabot.log.rounds import Rounds, dealt_of
from sabot_firmware.table.dealing import KEY, LID
from sabot_protocol import cards
from sabot_protocol.baccarat import MINI_NAME, document_of

_MINI = document_of(MINI_NAME)
_MIDI = catalogue.document("md-midi", {"burn": "none"})


@pytest.fixture
def rng() -> random.Random:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    return random.Random(seed)


def _parsed(log: FirmwareLog) -> list[Event]:
    return [wire.parse_event(record) for record in log.records]


def replace_place(record: bytes, *, shoe: int, round_: int) -> bytes:
    """The same event with another shoe of cards and round in its header."""
    values = cbor2.loads(record)
    values[5:7] = shoe, round_
    return cbor2.dumps(values)


def _fold(events: Iterable[Event], document: bytes) -> Table:
    fold = TableFold("U", kept_games(document))
    for event in events:
        fold.add(event)
    return fold.table


# ---- what it does


def _steps(log: FirmwareLog, document: bytes, *steps: str) -> list[tuple[str, str, int]]:
    """State, error and round after each step of FirmwareLog.draw."""
    found = []
    for step in steps:
        log.draw(step)
        table = _fold(_parsed(log), document)
        found.append((table.state, table.error, table.round))
    return found


def test_a_table_takes_wagers_deals_and_has_decided() -> None:
    log = FirmwareLog()
    assert _fold(_parsed(log), _MINI).state == "no_cards"
    log.load().draw("AC", "2H")  # a burn of one
    assert _fold(_parsed(log), _MINI).state == "betting"
    assert _steps(log, _MINI, "next", "9C", "KC", "TD", "9H", "next") == [
        ("dealing", "", 1),
        ("dealing", "", 1),
        ("dealing", "", 1),
        ("dealing", "", 1),
        ("decided", "", 1),
        ("betting", "", 2),
    ]


def test_an_error_stops_it_until_it_is_cleared_and_then_it_does_what_it_did() -> None:
    log = FirmwareLog().load().draw("AC", "2H", "next", "next", "9C")
    assert _steps(log, _MINI, "blank", "!KC", "TD") == [
        ("stopped", "unreadable", 1),
        ("dealing", "", 1),
        ("dealing", "", 1),
    ]


def test_the_lid_the_key_and_the_cut_card_are_seen() -> None:
    log = FirmwareLog().load().draw("AC", "2H")
    log.act(log.dealing.switched(KEY, True))
    assert _fold(_parsed(log), _MINI).key_on
    log.act(log.dealing.switched(KEY, False))
    assert not _fold(_parsed(log), _MINI).cut_card
    log.draw("next", "CUT")
    table = _fold(_parsed(log), _MINI)
    assert table.cut_card and not table.key_on
    log.act(log.dealing.switched(LID, True))
    table = _fold(_parsed(log), _MINI)
    assert table.lid_open and (table.state, table.error) == ("stopped", "lid_opened")


def test_a_shoe_of_cards_that_is_loaded_has_no_rounds_of_the_one_before() -> None:
    log = FirmwareLog().deal_shoe(shuffled_names(1, cut_from_end=390))
    ended = _fold(_parsed(log), _MINI)
    assert ended.state == "no_cards" and ended.rounds and ended.shoe == 1 and ended.cut_card
    log.load()
    loaded = _fold(_parsed(log), _MINI)
    assert (loaded.state, loaded.rounds, loaded.shoe) == ("decided", (), 2)
    assert not loaded.cut_card
    assert loaded.ends_unix_ms == ended.ends_unix_ms


def test_a_shoe_of_cards_whose_loading_was_lost_has_no_rounds_of_the_one_before() -> None:
    log = FirmwareLog().deal_shoe(shuffled_names(1, cut_from_end=390))
    before = log.last_number
    log.load()
    loaded = next(
        each.number for each in _parsed(log) if each.kind == "shoe_loaded" and each.shoe == 2
    )
    log.draw("AC", "2H")
    log.lose(before + 1, loaded)
    table = _fold(_parsed(log), _MINI)
    assert (table.shoe, table.rounds, table.cut_card) == (2, (), False)
    log.draw("next", "9C")
    table = _fold(_parsed(log), _MINI)
    assert (table.shoe, table.rounds, table.state) == (2, (), "dealing")
    log.record_gap(before + 1, loaded)  # it is of no shoe of cards, or of another one
    gap = replace_place(log.records[-1], shoe=1, round_=1)
    for last in (log.records[-1], gap):
        table = _fold([*_parsed(log)[:-1], wire.parse_event(last)], _MINI)
        assert (table.shoe, table.round, table.rounds, table.state) == (2, 1, (), "dealing")


def test_a_misdeal_takes_the_place_of_its_round() -> None:
    log = FirmwareLog().load().draw("AC", "2H", "next", "next", "9C", "KC", "TD", "9H")
    (before,) = _fold(_parsed(log), _MINI).rounds
    (after,) = _fold(_parsed(log.draw("misdeal")), _MINI).rounds
    assert before.void is None and after.void == "misdeal"
    assert before.first_event == after.first_event


# ---- its rounds, of every family


def _logs(rng: random.Random) -> list[tuple[FirmwareLog, bytes]]:
    boxes = BoxLog().load()
    for _ in range(3):
        boxes.round(rng.randrange(1, 5), rng)
    hands = HandLog()
    for _ in range(2):
        hands.deal_random(rng)
    shoes = []
    for document in (_MINI, _MIDI):
        shoe = FirmwareLog(game=document)
        for _ in range(2):
            shoe.deal_shoe(shuffled_names(rng.randrange(1000), cut_from_end=385))
        shoes.append((shoe, document))
    return [*shoes, (boxes, boxes.document), (hands, hands.game.document)]


@pytest.mark.slow
def test_after_each_event_its_rounds_are_those_of_all_events_so_far(rng: random.Random) -> None:
    for log, document in _logs(rng):
        events = _parsed(log)
        games = kept_games(document)
        fold = TableFold("U", games)
        for count, event in enumerate(events, 1):
            fold.add(event)
            table = fold.table
            so_far = all_shown(events[:count], games)
            again = Rounds("U")
            for each in so_far:
                again.add(each)
            assert table.open_round == again.open, event
            ended = [each for each in dealt_of("U", so_far) if each.shoe == table.shoe]
            assert list(table.rounds) == ended, event
            assert table.last_event == event.number and table.state in STATES
        assert len(table.rounds) or log.dealing.shoe > 1


def _hidden_names(events: list[Event], games: ShownGames) -> set[str]:
    """The cards that have come since the last that may show."""
    reveal = Reveal(games)
    for event in events:
        reveal.add(event)
    return {
        cards.name_of(event.card)
        for event in events
        if hasattr(event, "position") and (event.shoe, event.round) == reveal.hidden
        if isinstance(getattr(event, "card", None), int)
    }


def test_a_card_in_plain_that_must_not_show_yet_is_nowhere_in_the_table() -> None:
    """Firmware before 0.2 has the cards in plain: mini's events by a game that is not known."""
    log = FirmwareLog(firmware="0.1.0").load().draw("AC", "2H", "next", "next", "9C", "KC", "TD")
    events = _parsed(log)
    nothing_known = ShownGames(lambda _: None)
    fold = TableFold("U", nothing_known)
    for count, event in enumerate(events, 1):
        fold.add(event)
        hidden = _hidden_names(events[:count], nothing_known)
        told = repr(fold.table)
        assert not any(f"'{name}'" in told for name in hidden)
    assert hidden == {"9C", "KC", "TD"}


# ---- how quick it is


def test_rounds_an_hour_are_those_that_ended_within_it() -> None:
    table = Table("U", ends_unix_ms=(0, 1000, PACE_MS - 1, PACE_MS, PACE_MS + 5))
    assert table.rounds_an_hour(PACE_MS) == 3
    assert table.rounds_an_hour(PACE_MS + 1000) == 3
    assert table.rounds_an_hour(3 * PACE_MS) == 0


def test_ends_of_rounds_are_kept_over_shoes_of_cards_and_for_an_hour() -> None:
    log = FirmwareLog().deal_shoe(shuffled_names(5, cut_from_end=380))
    log.deal_shoe(shuffled_names(6, cut_from_end=380))
    table = _fold(_parsed(log), _MINI)
    ended = [each for each in dealt_of("U", _parsed(log)) if each.void is None]
    assert list(table.ends_unix_ms) == [each.ended_unix_ms for each in ended]
    assert len([each for each in _parsed(log) if isinstance(each, BettingOpenEvent)]) >= len(ended)
