"""Hands of hold'em that a simulated dealer deals on a simulated shoe, in the log and its tables."""

import json
import random
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.cli import app
from sabot.games import families
from sabot.games.holdem.shoe_game import document
from sabot.keys.chain_keys import Keys
from sabot.log.families.hands import Hand
from sabot.log.logger import Logger, LogWatcher
from sabot.log.rounds import dealt_of
from sabot.log.store import Filter, Store, open_store
from sabot.sim import deck
from sabot.sim.dealer import Dealer
from sabot.sim.process import SimulatedShoe
from sabot_protocol import cards

pytestmark = pytest.mark.slow

_HANDS = 8
_TIMEOUT_S = 200


def test_hands_are_dealt_logged_listed_and_verified(tmp_path: Path, rng: random.Random) -> None:
    db = tmp_path / "log.sqlite"
    seed = rng.randrange(1000)
    decks = deck.shuffled_shoes(_HANDS, seed, decks=1, cut_from_end=None)
    with SimulatedShoe("H-1", game=document()) as shoe, open_store(db, create=True) as store:
        dealer = Dealer(
            shoe.bench, decks[0], card_set=0, pace=0, seed=seed, more=decks[1:],
            players=families.players(seed),
        )  # fmt: skip
        shoe.power_on()
        ended: list[object] = []
        logger = Logger(store, [shoe.port], LogWatcher(round_ended=ended.append))
        logger.start()
        dealer.start()
        try:
            until = time.monotonic() + _TIMEOUT_S
            while len(ended) < _HANDS and time.monotonic() < until and dealer.failure is None:
                time.sleep(0.05)
        finally:
            dealer.stop()
            logger.stop()
            logger.wait(_TIMEOUT_S)
        assert dealer.failure is None and len(ended) == _HANDS
        for hand, shuffled in zip(_hands(store), decks, strict=True):
            assert len(hand.dealt) >= 2 * hand.seats and hand.void is None
            assert list(hand.dealt) == [cards.name_of(card) for card in shuffled[: len(hand.dealt)]]
        summary = Summary()
        found = list(verify(store, summary, VerifyOptions(keys=Keys.load(shoe.keys))))
        assert not found and summary.rounds == _HANDS
    listed = CliRunner().invoke(app(), ["rounds", "--db", str(db), "--json"]).stdout
    assert [json.loads(line)["family"] for line in listed.splitlines()] == ["holdem"] * _HANDS
    table = CliRunner().invoke(app(), ["rounds", "--db", str(db)], env={"COLUMNS": "200"}).stdout
    assert len(table.splitlines()) == 1 + _HANDS and table.count("board ") == _HANDS


def _hands(store: Store) -> list[Hand]:
    events = (row.event() for row in store.rows(Filter(unit="H-1")))
    return [each for each in dealt_of("H-1", events) if isinstance(each, Hand)]
