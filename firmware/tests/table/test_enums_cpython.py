"""Compares the constants that stand for enumeration values with their places in the tuples."""

import re
from pathlib import Path

import pytest

from sabot_firmware import panel
from sabot_firmware.table import (
    baccarat,
    blackjack,
    blackjack_hands,
    boxes,
    boxes_due,
    dealing,
    holdem,
    pending,
    rules,
    shoe_of_cards,
)
from sabot_protocol import cards, enums

_SHOE_OF_CARDS = {
    "PHASES": "NO_SHOE FIRST_BURN BURNING BETWEEN BETTING DEALING ENDED",
    "POSITIONS": "NOT_DUE _BURN_FIRST _BURN",
    "ERRORS": "NO_ERROR=none _CUT_CARD_MISPLACED _CARDS_MISSING POWER_WAS_OFF",
    "CLOSED_BY": "_BY_CARD=card",
    "END_REASONS": "_BY_CUT_CARD=cut_card _BY_ROUND=round",
}
_DEALING = {
    "ERRORS": "UNREADABLE _CARD_NOT_DUE _LID_OPENED _TEST_CARD_PULLED=test_card "
    "_SENSOR_FAILED=sensor_fault _SAMPLES_LOST _JOURNAL_FULL NO_RANDOM LOCK_STUCK SUPPLY_LOW",
    "FAULTS": "_DOUBLE_FEED _SENSOR_FAULT _POWER_LOST",
    "BUTTONS": "_NEXT _REVEAL _VOID _BURN_BUTTON=burn",
    "SWITCHES": "LID=lid_open KEY=key_on SERVICE=service_on",
    "CLOSED_BY": "_BY_BUTTON=button",
    "END_REASONS": "_BY_SUPERVISOR=supervisor",
    "VOID_REASONS": "_VOID_BY_SUPERVISOR=supervisor _VOID_FOR_UNREADABLE=unreadable _MISDEAL",
}
_BACCARAT = {
    "POSITIONS": "_PLAYER_1 _BANKER_2 _PLAYER_3 _BANKER_3",
    "WINNERS": "PLAYER BANKER TIE",
    "HANDS": "PLAYER BANKER",
    "ACTIONS": "_DRAWS _STANDS _NATURAL",
    "BUTTONS": "_REVEAL _BURN",
}
_BOXES = {"POSITIONS": "_BOX_1 _DEALER _HOLE"}
_BLACKJACK_ROUND = {
    "POSITIONS": "_BOX_1 _DEALER _HOLE",
    "BUTTONS": "_NEXT _REVEAL _BURN",
    "PLAY_ACTIONS": "_STANDS _DOUBLES _SPLITS _SURRENDERS",
}
_BLACKJACK_HANDS = {"OUTCOMES": "_WINS _LOSES _PUSHES _BLACKJACK _SURRENDERED"}
_HOLDEM = {
    "POSITIONS": "_SEAT_1 _BOARD_BURN _FLOP _TURN _RIVER",
    "BUTTONS": "_NEXT _REVEAL _BURN",
}
_PENDING = {
    "RESOLUTIONS": "ENTERED AS_READ DRAWN_AGAIN UNSEEN VOID",
    "BUTTONS": "_NEXT _REVEAL _VOID_BUTTON=void _BURN_BUTTON=burn",
}
_PANEL = {"LAMPS": "READY_LAMP=ready ERROR_LAMP=error"}


@pytest.mark.parametrize(
    ("module", "table"),
    [
        (shoe_of_cards, _SHOE_OF_CARDS),
        (dealing, _DEALING),
        (baccarat, _BACCARAT),
        (boxes, _BOXES),
        (boxes_due, _BOXES),
        (blackjack, _BLACKJACK_ROUND),
        (blackjack_hands, _BLACKJACK_HANDS),
        (holdem, _HOLDEM),
        (pending, _PENDING),
        (panel, _PANEL),
    ],
)
def test_numbers_of_words_are_their_places(module: object, table: dict[str, str]) -> None:
    for tuple_name, names in table.items():
        for each in names.split():
            name, _, word = each.partition("=")
            place = getattr(enums, tuple_name).index(word or name.strip("_").lower())
            assert getattr(module, name) == place, name
    _is_complete(module, {each.split("=")[0] for names in table.values() for each in names.split()})


def _is_complete(module: object, listed: set[str]) -> None:
    """Check that every number after the comment that promises this test is listed above."""
    source = Path(str(module.__file__)).read_text()  # type: ignore[attr-defined]
    begin = source.index("a test compares them with the tuples")
    numbers = re.findall(r"^(\w+) = const\(\d+\)$", source[begin:].split("\n_NO_LIMIT")[0], re.M)
    others = {"FACE_UP", "FACE_DOWN", "BURNED", "BURN_FIRST", "BURN", "COUNTS", "_RANKS", "_SUITS"}
    columns = {"NOT_DUE", "LOG_BEHIND_EVENTS", "_ALARM_MS"} | others
    assert set(numbers) - listed <= (columns if module in (pending, panel) else set())


def test_hits_are_the_bits_of_their_words() -> None:
    for place, name in enumerate(enums.HITS):
        assert getattr(rules, "_" + name.upper()) == 1 << place
    for name in ("_DRAGON_7", "_PANDA_8"):
        assert getattr(baccarat, name) == getattr(rules, name)


def test_ranks_and_suits_are_those_of_a_deck() -> None:
    assert (len(cards.RANKS), len(cards.SUITS)) == (pending._RANKS, pending._SUITS)
    for why in pending._ALLOWED.split("\n")[1:-1]:
        assert why.split()[0] in (*enums.FAULTS, *enums.ERRORS, pending.SECOND_CARD)
        assert len(why.split()) == 5
