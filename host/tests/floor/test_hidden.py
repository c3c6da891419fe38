"""Nothing that must not show yet is in a tile or an alert.

Two shoes deal the same but for the cards of a round that lies face down. Until its reveal no byte
of what the floor says differs.
"""

import pytest

from host.tests.support.dealt_events import kept_games
from host.tests.support.helpers import FirmwareLog, event_bytes, stored
from sabot.floor.live_table import LiveTable
from sabot.games.baccarat import catalogue
from sabot.log.reveal import ShownGames

_PLAIN, _SEALING = "0.1.0", "0.2.0"
_TIE = ("7C", "KC", "KC", "7C")
"""After four such rounds all copies of two cards are out."""
_NATURALS = ("9C", "KH", "TD", "9H"), ("TS", "2D", "9D", "6S")
_NINTH_COPIES = ("7C",), ("KC",)


def _deal(log: FirmwareLog, cards: tuple[str, ...]) -> FirmwareLog:
    while log.betting_due():
        log.draw("next")
    return log.draw(*cards)


def _said(log: FirmwareLog, games: ShownGames) -> list[str]:
    """All that the floor says after each event."""
    table = LiveTable("U", games)
    said = []
    for record in stored(log.records):
        table.add([(record.event.number, record.data, record.mac)])
        said.append(repr((table.table, table.alerts(0), table.alerts(0, 600_000))))
    return said


@pytest.mark.parametrize("firmware", [_PLAIN, _SEALING])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("pair", [_NATURALS, _NINTH_COPIES], ids=["naturals", "ninth copies"])
def test_two_shoes_with_other_cards_face_down_say_the_same_until_the_reveal(
    firmware: str, known: bool, pair: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    document = catalogue.document("md-midi", {"burn": "none"})
    games = kept_games(document) if known else kept_games()
    both = []
    for cards in pair:
        log = FirmwareLog(game=document, firmware=firmware).load()
        for _ in range(4):
            _deal(log, (*_TIE, "reveal"))
        assert not log.dealing.error and log.dealing.round == 4
        _deal(log, cards)
        face_down = len(log.records)
        if cards in _NATURALS:
            log.draw("reveal")
        both.append((_said(log, games), face_down))
    (said, end), (other, of_other) = both
    assert end == of_other
    assert said[:end] == other[:end]
    if pair == _NATURALS:
        assert said[-1] != other[-1]


def test_what_is_wrong_with_a_round_is_not_said_before_its_reveal() -> None:
    """The verifier's words may name a card: here one that came before no more bets."""
    document = catalogue.document("md-midi", {"burn": "none"})
    log = _deal(FirmwareLog(game=document, firmware=_PLAIN).load(), ("9C",))
    table = LiveTable("U", kept_games(document))
    found = []
    for record in stored(log.records):
        data = record.data
        if record.event.kind == "betting_closed":  # in its place something that closes nothing
            data = event_bytes("key", record.event.number, shoe=1, round=1, on=True)
        table.add([(record.event.number, data, record.mac)])
        found += table.alerts(0)
    assert "rules" in {each.kind for each in found}
    assert not any("9" in each.detail and "♣" in each.detail for each in found)
