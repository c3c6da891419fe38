"""The checks of a shoe of cards, with rounds of an invented family of games instead of baccarat."""

from collections.abc import Iterable, Iterator

import cbor2

from host.tests.support.helpers import FirmwareLog
from sabot.audit.checks.decoding import Values
from sabot.audit.play.play_checks import PlayChecks
from sabot_protocol import enums, events
from sabot_protocol.games import FamilyGame

_DEALT = ("AS", "2C", "9S", "KC", "KD", "7D")
_CARD, _RESULT, _BURN = events.CARD.number, events.RESULT.number, events.BURN.number
_OWN = 7


class _HighCard:
    """Checks of rounds that always report `faults`."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        self.drawn: list[int] = []
        self.decisions = 0

    def begin(self) -> None:
        self.drawn = []

    def takes(self, position: int) -> bool:
        return enums.POSITIONS[position].startswith(("player", "banker"))

    def card(self, card: int, position: int, *, in_round: bool) -> None:
        if in_round:
            self.drawn.append(card)

    def decision(self, values: Values) -> None:
        self.decisions += 1

    def burn_counts(self, card: str) -> range:
        return range(1, 3)

    def sealed(self, position: int) -> None:
        pass

    def wrong_with(self, values: Values, game: FamilyGame | None) -> Iterator[str]:
        yield from self.faults


def _values(*burned: str) -> list[Values]:
    drawn = (burned or _DEALT[:2]) + _DEALT[2:]
    return [cbor2.loads(record) for record in FirmwareLog().load().draw(*drawn).records]


def _found(records_values: Iterable[Values], play: _HighCard | None = None) -> list[str]:
    found: list[str] = []
    checks = PlayChecks(lambda number, kind, detail: found.append(f"{kind}: {detail}"), play)
    for values in records_values:
        handler = checks.handlers[values[0]]
        if handler is not None:
            handler(values)
    return found


def test_a_round_is_judged_by_its_family_and_the_finding_names_the_round() -> None:
    values = _values()
    assert _found(values) == []
    (result,) = [each for each in values if each[0] == _RESULT]
    result[_OWN] = enums.WINNERS.index("tie")
    assert _found(values) == [
        "rules: shoe 1 round 1: winner is tie in the log, player by the cards"
    ]
    play = _HighCard("the seat has fewer")
    assert _found(values, play) == ["rules: shoe 1 round 1: the seat has fewer"]
    assert len(play.drawn) == 4 and play.decisions == 2
    assert _found(values, _HighCard()) == []


def test_a_shoe_of_cards_is_judged_for_every_family() -> None:
    values = _values()
    drawn = [each for each in values if each[0] == _CARD]
    assert [each[_OWN] for each in drawn].count(drawn[-1][_OWN]) == 1
    for _ in range(8):
        values.append(drawn[-1])
    assert "copy 9 of 7D in a shoe of 8 decks" in " ".join(_found(values, _HighCard()))


def test_the_family_decides_how_many_cards_are_burned() -> None:
    values = _values("2S", "2C", "3C")
    assert _found(values) == []
    (burn,) = [each for each in values if each[0] == _BURN]
    burn[_OWN] = 1
    assert _found(values) == ["rules: 1 card to burn, 2 by the first card"]
    assert _found(values, _HighCard()) == ["rules: 2 cards burned, 1 due"]
    burn[_OWN] = 3
    assert _found(values, _HighCard())[0] == "rules: 3 cards to burn, 1 or 2 by the first card"
