"""The demonstration of the screens: several simulated tables, dealt at a dealer's speed, logged and
shown by one process."""

import random
import secrets
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from sabot import table_time
from sabot.cli.screens.serve import AtHand, serving
from sabot.cli.view import console, problems
from sabot.desk.desk import Desk
from sabot.errors import DatabaseUnusable
from sabot.games import families
from sabot.keys.chain_keys import Keys
from sabot.listening import Address
from sabot.log.logger import Logger, LogWatcher
from sabot.log.rounds import Dealt
from sabot.log.store import Store, open_store
from sabot.sim import deck as decks
from sabot.sim.dealer import Dealer
from sabot.sim.process import SimulatedShoe
from sabot.terminal import plain
from sabot.text import counted
from sabot_protocol import games

_GAMES = ("mini", "md-midi", "pa-mini", "ez-mini", "blackjack", "holdem")
"""What is dealt at the tables 1, 2, and so on."""
_SHOES = 20  # of cards at each table: a night
_QUICK_ROUNDS = 8
"""Dealt at first without a dealer's pauses, so that there is something to see."""
_QUICK_PACE = 0.02
_FIRST_FAULT_S, _FAULT_EVERY_S = 60.0, 240.0
_FAULTS = ("double_feed", "pushed_back", "no_code", "bad_code")
_POLL_S = 0.2


def run_floor(address: Address, db: Path | None, seed: int | None, pace: float) -> None:
    """Deal at several tables, log them and serve the screens at `address`, until Ctrl-C.

    `pace` multiplies a dealer's pauses. The log is the new file `db`, or with None one that is
    removed at the end. Raises DatabaseUnusable, CannotServe, SimulatorFailed.
    """
    if db is not None and db.exists():
        raise DatabaseUnusable(f"{db}: exists already; name a new file with --db")
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="sabot-floor-")))
        path = db or folder / "floor.sqlite"
        key_file = (db or folder / "floor").with_suffix(".keys")
        problems.print(f"starting {counted(len(_GAMES), 'simulated shoe')} ...")
        tables = [
            _Table(ends.enter_context(_shoe(number, game, key_file)), game, seed, pace)
            for number, game in enumerate(_GAMES, 1)
        ]
        store = ends.enter_context(open_store(path, create=True))
        passwords = _desk(store, key_file)
        by_unit = {table.shoe.unit: table for table in tables}

        def round_ended(ended: Dealt) -> None:
            by_unit[ended.unit].round_ended()

        logger = Logger(store, [t.shoe.port for t in tables], LogWatcher(round_ended=round_ended))
        at_hand = AtHand(table_time.zone_of(None), Keys.load(key_file))
        server = ends.enter_context(serving(store, address, None, at_hand))
        console.print(server.url, soft_wrap=True)
        for name, password in passwords.items():
            console.print(plain(f"  sign in as {name}, password {password}"), soft_wrap=True)
        console.print(plain(f"  players' board of table 1: {server.url}board/1"), soft_wrap=True)
        problems.print("Ctrl-C ends it.")
        try:
            logger.start()
            for table in tables:
                table.dealer.start()
            _attend(tables, logger, random.Random(seed))
        except KeyboardInterrupt:
            kept = "the log is gone" if db is None else f"{db} is kept, its keys are in {key_file}"
            problems.print(plain(f"stopped; {kept}"))
        finally:
            for table in tables:
                table.dealer.stop()
            logger.stop()
            logger.wait()


class _Table:
    """A simulated shoe and its dealer, who is quick at first."""

    def __init__(self, shoe: SimulatedShoe, game: str, seed: int | None, pace: float) -> None:
        self.shoe = shoe
        self._pace = pace
        self._ended = 0
        of_game = games.game_of(families.document(game, {}))
        cut = families.named(of_game.family).cards_after_cut(of_game, decks.CUT_FROM_END)
        mixed = None if seed is None else seed + int(shoe.unit.rpartition("-")[2])
        dealt = decks.shuffled_shoes(_SHOES, mixed, decks=of_game.decks, cut_from_end=cut)
        self.dealer = Dealer(
            shoe.bench,
            dealt[0],
            card_set=0,
            pace=min(pace, _QUICK_PACE),
            seed=mixed,
            more=dealt[1:],
            players=families.players(mixed),
        )

    def round_ended(self) -> None:
        """Note that a round has ended: after some the dealer takes the usual time."""
        self._ended += 1
        if self._ended == _QUICK_ROUNDS:
            self.dealer.pace = self._pace


def _shoe(number: int, game: str, key_file: Path) -> SimulatedShoe:
    shoe = SimulatedShoe(
        f"DEMO-{number}",
        game=families.document(game, {}),
        keys=key_file,
        table=str(number),
    )
    shoe.power_on()
    return shoe


def _desk(store: Store, key_file: Path) -> dict[str, str]:
    """Make users with passwords that are good for this demonstration only; return these."""
    passwords = {name: secrets.token_urlsafe(9) for name in ("surveillance", "floor", "admin")}
    desk = Desk.make(store, key_file, "admin", passwords["admin"])
    for name in ("surveillance", "floor"):
        desk.add_user(name, name, passwords[name], by="admin")
    return passwords


def _attend(tables: list[_Table], logger: Logger, chance: random.Random) -> None:
    """Until Ctrl-C: now and then a card comes with a fault. Raises what ends a dealer or a log."""
    fault_s = time.monotonic() + _FIRST_FAULT_S
    while not logger.wait(_POLL_S):
        for table in tables:
            table.shoe.check()
            if table.dealer.failure is not None:
                raise table.dealer.failure
        if time.monotonic() > fault_s:
            chance.choice(tables).dealer.fault_next(chance.choice(_FAULTS))
            fault_s = time.monotonic() + _FAULT_EVERY_S * chance.uniform(0.5, 1.5)
    for failure in logger.failures.values():
        raise failure
