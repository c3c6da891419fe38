"""The simulated dealer and supervisor with a shoe that cannot read every card."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.games.baccarat import catalogue
from sabot.keys.chain_keys import Keys
from sabot.link.events import Event
from sabot.log.logger import Logger, LogWatcher
from sabot.log.rounds import rounds_of
from sabot.log.store import Filter, Store, open_store
from sabot.sim import dealer
from sabot.sim.faulty import faulty_pass
from sabot.sim.process import SimulatedShoe
from sabot_protocol import cards, enums

pytestmark = pytest.mark.slow

_TIMEOUT_S = 200
_FAULTS_OF_PASSES = [fault for fault in enums.FAULTS[1:] if fault != "power_lost"]
_GOOD_PASS = dealer.noisy_pass
# The supervisor puts a foreign card aside and draws again, and enters all others from their faces.
_DECK = "AS KC TS 8H TD 8D 6S 4C 9S KC KD 7D JD AD 7C 6H 6S 5D QH KH 2D CUT TC 2H JC AC 8S"
_ROUNDS = [
    ("TS TD 6S", "8H 8D 4C", "player"),
    ("9S KD", "KC 7D", "player"),
    ("JD 7C", "AD 6H", "tie"),
    ("6S QH", "5D KH 2D", "banker"),
    ("TC JC 8S", "2H AC", "player"),
]
_SHORT_DECK = "AS KC TS 8H TD 8D 6S 4C CUT 9S KC KD 7D"
"""It has every kind of position: burned cards, the cut card, and three cards in both hands."""


def _dealt(
    shoe: SimulatedShoe, store: Store, hands: dealer.Dealer, rounds: Sequence[tuple[str, str, str]]
) -> list[Event]:
    """Deal the deck to its end; check that it had these rounds; return the logged events."""
    shoe.power_on()
    logger = Logger(store, [shoe.port], LogWatcher(), once=True)
    logger.start()
    hands.start()
    try:
        assert logger.wait(_TIMEOUT_S) and hands.failure is None
    finally:
        hands.stop()
        logger.stop()
    events = [row.event() for row in store.rows(Filter(unit=shoe.unit))]
    dealt = rounds_of(shoe.unit, events)
    assert [(" ".join(r.player), " ".join(r.banker), r.winner) for r in dealt] == rounds
    return events


@pytest.mark.parametrize("game", [game.name for game in catalogue.GAMES])
def test_every_game_is_dealt_to_its_end(game: str, tmp_path: Path, rng: random.Random) -> None:
    deck = [cards.number_of(name) for name in _DECK.split()]
    with (
        SimulatedShoe(f"D-{game}", game=catalogue.document(game)) as shoe,
        open_store(tmp_path / "log.sqlite", create=True) as store,
    ):
        hands = dealer.Dealer(shoe.bench, deck, card_set=0, pace=0, seed=rng.randrange(1000))
        events = _dealt(shoe, store, hands, _ROUNDS)
        revealed = [event.fields["button"] for event in events if event.kind == "button"]
        assert revealed.count("reveal") == (len(_ROUNDS) if game.endswith("midi") else 0)
        assert list(verify(store, Summary(), VerifyOptions(keys=Keys.load(shoe.keys)))) == []


@pytest.mark.parametrize("fault", _FAULTS_OF_PASSES)
def test_the_supervisor_settles_every_fault_at_every_card(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: random.Random
) -> None:
    """No card of two rounds can be read, and the results are as if all had been read."""
    names = _SHORT_DECK.split()
    fails_every = 1
    if fault == "foreign_set":  # the card drawn in its place can be read
        names = [name for name in names for _ in range(2)]
        fails_every = 2

    def passes(made: Any, noise: Any, card: int, card_set: int, kind: str) -> Any:
        if hands.drawn % fails_every == 0:
            return faulty_pass(made, noise, fault, card_set, kind)
        return _GOOD_PASS(made, noise, card, card_set, kind)

    monkeypatch.setattr(dealer, "noisy_pass", passes)
    deck = [cards.number_of(name) for name in names]
    with (
        SimulatedShoe(f"D-{fault}") as shoe,
        open_store(tmp_path / "log.sqlite", create=True) as store,
    ):
        hands = dealer.Dealer(shoe.bench, deck, card_set=0, pace=0, seed=rng.randrange(1000))
        events = _dealt(shoe, store, hands, _ROUNDS[:2])
        resolved = [event for event in events if event.kind == "resolved"]
        assert len(resolved) >= len(_SHORT_DECK.split())
        assert list(verify(store, Summary(), VerifyOptions(keys=Keys.load(shoe.keys)))) == []
