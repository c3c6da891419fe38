"""Rounds of the three families at a tapped shoe: what was seen before their cards may show, and
what they were.

Half of the rounds are void, and their cards never to be known: then what is seen afterwards counts
too. What happens besides (a card that cannot be read and is entered, a loss of power, a card too
many) is drawn at random, whatever the cards are.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from firmware.tests.support.scripted import BURN, KEY_TURNED, LOAD, NEXT, REVEAL, VOID
from firmware.tests.test_store import Folder
from host.tests.adversary.thief.flat import Seen, Table
from host.tests.adversary.thief.guessing import Numbers, truths
from host.tests.adversary.thief.tapped import TappedShoe
from sabot.games import families
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, DEALING, NOT_DUE
from sabot_protocol import enums

Leak = Callable[[TappedShoe], None]
"""Changes a shoe so that it leaks."""

_DEALER = enums.POSITIONS.index("dealer")
_ABSENT = -1
_ROUNDS_OF_SHOE = 30
_VOID, _POWER, _ASIDE, _ASKS = 0.5, 0.03, 0.1, 0.1
"""How often: a round is void; the power goes after a card; a card comes out that is not due; a host
asks before a card what the shoe does not say then."""
_UNREADABLE, _WITH_LEAK = 0.05, 0.3
"""How often a sealed card cannot be read: of a shoe that leaks often, to have enough of them."""


@dataclass
class Played:
    """Many rounds of one family: in each array an element for each round."""

    family: str
    features: dict[str, Numbers]
    cards: dict[str, Numbers]
    """The card at each sealed position, -1 if there was none."""
    strata: Numbers
    """What the lock did, and `looked`: within a stratum nothing may depend on the cards."""
    in_clear: list[tuple[set[int], set[int]]]
    """The cards whose figures were seen, and those that came face up."""
    shoe: Any

    def wanted(self) -> dict[str, Numbers]:
        """What a thief wants to know: of each card, and of midi's hands."""
        wanted = {}
        for name, card in self.cards.items():
            wanted.update(truths(card, name + " "))
        if self.family == "midi":
            totals = []
            for first, second in (("player_1", "player_2"), ("banker_1", "banker_2")):
                there = self.cards[second] >= 0
                total = (wanted[first + " points"] + wanted[second + " points"]) % 10
                totals.append(np.where(there, total, _ABSENT))
            player, banker = totals
            wanted |= {"player's two": player, "banker's two": banker}
            wanted["who leads"] = np.where(player < 0, _ABSENT, 1 + np.sign(player - banker))
        return wanted


@contextmanager
def played(
    family: str, seed: int, rounds: int, leak: "Leak | None" = None, secrets: int = 0
) -> Iterator[Played]:
    """Play rounds of `midi`, `blackjack` or `holdem`. A shoe that leaks keeps its power. With other
    `secrets` the unit draws others."""
    random = np.random.default_rng(seed)
    of_system = os.urandom  # the same seed makes the same again
    os.urandom = np.random.default_rng((seed, secrets)).bytes
    try:
        with Folder() as folder:
            shoe = TappedShoe(folder, document_of(family), random)
            if leak is not None:
                leak(shoe)
            yield played_at(shoe, family, random, rounds, 0.0 if leak is None else _WITH_LEAK)
    finally:
        os.urandom = of_system


def played_at(
    shoe: Any, family: str, random: np.random.Generator, rounds: int, unreadable: float = 0.0
) -> Played:
    """Play rounds at this shoe. With `unreadable`, the share of sealed cards that cannot be read,
    it keeps its power."""
    table = _TABLES[family](shoe, random, unreadable)
    for _ in range(rounds):
        table.round()
    return table.played()


def document_of(family: str) -> bytes:
    """The game of a family, whose void cards are never to be known."""
    return families.document(_TABLES[family].game, {"voided_cards": "never"})


class _Table(ABC):
    """A table, its dealer and its supervisor."""

    family = game = ""
    most_before_void = 6

    def __init__(self, shoe: Any, random: np.random.Generator, unreadable: float = 0.0) -> None:
        self.shoe = shoe
        self._random = random
        self._unreadable = unreadable  # with this the power never goes
        self.came: list[int] = []
        """All cards that came out."""
        self.unknown: list[int] = []
        """Those that are never to be known."""
        self._deck: list[int] = []
        self._known: dict[str, int] = {}
        self._seen = Table()
        self._in_clear: list[tuple[set[int], set[int]]] = []
        self._rows: list[tuple[dict[str, int], str]] = []

    def played(self) -> Played:
        """All rounds so far."""
        strata = [stratum for _, stratum in self._rows]
        names = sorted(set(strata))
        positions = sorted({name for known, _ in self._rows for name in known})
        return Played(
            self.family,
            self._seen.columns(),
            {
                name: np.array([known.get(name, _ABSENT) for known, _ in self._rows], np.int64)
                for name in positions
            },
            np.array([names.index(each) for each in strata], np.int64),
            self._in_clear,
            self.shoe,
        )

    def round(self) -> None:
        """Play a round, and keep what was seen of it."""
        shoe = self.shoe
        self._begin()
        shoe.ask_all()
        means = _means(shoe.seen)
        shoe.forget_round()
        self._known = {}
        left = int(self._random.integers(1, self.most_before_void + 1))
        self._left = left if self._chance(_VOID) else 999
        while self.dealing.current_round.open:
            if self._left <= 0:
                self._void()
                break
            if not self._go_on():
                break
        seen = shoe.forget_round()
        for name, mean in _means(seen).items():
            if name in means:
                seen.note(f"{name} moved", mean - means[name])
        self._seen.add(seen)
        face_up = {own[0] for kind, own in seen.events if kind == "card"}
        self._in_clear.append((seen.figures, face_up))
        self._rows.append((self._known, self._stratum(seen)))
        self._finish()
        shoe.forget_round()

    @property
    def dealing(self) -> Any:
        return self.shoe.shoe.dealing

    def _chance(self, chance: float) -> bool:
        return bool(self._random.random() < chance)

    def _begin(self) -> None:
        if len(self._rows) % _ROUNDS_OF_SHOE == 0:
            if self._rows:
                self.shoe.play(KEY_TURNED[0], VOID, BURN, KEY_TURNED[1])
            self._load()
        if self.dealing.phase == BETWEEN:
            self.shoe.play(NEXT)
        assert self.dealing.phase == BETTING, self.dealing.phase

    def _load(self) -> None:
        self.shoe.play(*LOAD)
        deck = np.repeat(np.arange(52), self.dealing.game.decks)
        self._random.shuffle(deck)
        self._deck = [int(card) for card in deck]
        while self.dealing.phase not in (BETTING, BETWEEN):
            self.shoe.play(self.shoe.passed(self._take()))

    def _take(self) -> int:
        """Take the next card."""
        self.came.append(self._deck.pop())
        return self.came[-1]

    def _go_on(self) -> bool:
        """Deal the card that is due, or press what the players decide. Return whether the cards
        still lie face down."""
        due = self.dealing.current_round.due
        if self.dealing.sealed and self._chance(_ASKS):
            self.shoe.ask_all()
        if due == NOT_DUE:
            return self._decide()
        position, card = enums.POSITIONS[due], self._take()
        self._left -= 1
        name = self._name(position)
        if not name:
            self.shoe.play(self.shoe.passed(card))
            return True
        self._known[name] = card
        if self._chance(self._unreadable or _UNREADABLE):
            self._known["entered"] = card
            half = not self._unreadable and self._chance(0.5)
            self.shoe.play(self.shoe.half(card) if half else self.shoe.torn(card))
            if half:
                self.shoe.lose_power()  # while the card passes
            self.shoe.enter(card)
        else:
            self.shoe.play(self.shoe.passed(card))
        if not self._unreadable and self._chance(_POWER):
            self.shoe.lose_power()
        return True

    def _void(self) -> None:
        self.unknown += [card for name, card in self._known.items() if name != "entered"]
        self.shoe.play(KEY_TURNED[0], VOID, KEY_TURNED[1])
        self.shoe.ask_all()

    @abstractmethod
    def _name(self, position: str) -> str:
        """The name of the card that comes out now, empty if it is face up."""

    @abstractmethod
    def _decide(self) -> bool:
        """Do what the table's own buttons ask for; return whether the round goes on."""

    @abstractmethod
    def _stratum(self, seen: Seen) -> str:
        """Name the rounds with which this one is compared."""

    def _finish(self) -> None:
        """Play on until the round is over."""
        return


class Midi(_Table):
    """A table of midi."""

    family, game = "midi", "ez-midi"

    def __init__(self, shoe: Any, random: np.random.Generator, unreadable: float = 0.0) -> None:
        super().__init__(shoe, random, unreadable)
        self._lock: list[bool] = []
        """Whether it was open after the fourth card and after each one that followed."""

    def _name(self, position: str) -> str:
        return position

    def _decide(self) -> bool:
        if self.dealing.phase == BETTING:
            self.shoe.play(NEXT)
            return True
        if self._chance(_ASIDE):  # it is put aside
            self._known["aside"] = card = self._take()
            self.shoe.play(self.shoe.passed(card), *KEY_TURNED)
        if self._chance(_VOID / 3):
            self._void()
        return False

    def _go_on(self) -> bool:
        lies = super()._go_on()
        if "banker_2" in self._known and lies:
            self._lock.append(self.dealing.lock_released())
        return lies

    def _stratum(self, seen: Seen) -> str:
        thirds = [name for name in ("player_3", "banker_3") if name in self._known]
        lock, self._lock = self._lock, []
        return f"{thirds} {lock}"

    def _finish(self) -> None:
        if self.dealing.current_round.hidden:
            self.shoe.play(REVEAL)


class _Blackjack(_Table):
    family = game = "blackjack"
    most_before_void = 9

    def _name(self, position: str) -> str:
        return "hole" if position == "hole" else ""

    def _go_on(self) -> bool:
        waits = self.dealing.phase == DEALING and "hole" in self._known
        if waits and self.dealing.current_round.due != NOT_DUE and self._chance(0.5):
            self.shoe.play(NEXT)  # the hand stands
            return bool(self.dealing.sealed)
        return super()._go_on() and (bool(self.dealing.sealed) or "hole" not in self._known)

    def _decide(self) -> bool:
        self.shoe.play(NEXT)  # insurance is closed
        return bool(self.dealing.sealed)

    def _stratum(self, seen: Seen) -> str:
        # What the shoe says after it looked depends on the card that lies face up.
        up = [own[0] % 13 for kind, own in seen.events if kind == "card" and own[1] == _DEALER]
        shown = ["ace" if rank == 0 else "ten" for rank in up if rank == 0 or rank > 8]
        return str(shown + [own[0] for kind, own in seen.events if kind == "looked"])

    def _finish(self) -> None:
        while self.dealing.current_round.open:
            if self.dealing.current_round.due == NOT_DUE or not self.dealing.sealed:
                if self.dealing.current_round.due == NOT_DUE:
                    self.shoe.play(NEXT)
                else:
                    self.shoe.play(self.shoe.passed(self._take()))
            else:
                self.shoe.play(NEXT)


class _Holdem(_Table):
    family = game = "holdem"
    most_before_void = 36

    def _begin(self) -> None:
        self._load()

    def _name(self, position: str) -> str:
        if not position.startswith("seat") and position != "board_burn":
            return ""
        number = 1
        while f"{position} card {number}" in self._known:
            number += 1
        return f"{position} card {number}"

    def _decide(self) -> bool:
        at = self.dealing.current_round
        if at.twice or at.bets_ended == 4 or self._chance(0.1):
            return False
        if at._may_ask() and self._chance(0.3):
            self.shoe.play(BURN)
        self.shoe.play(NEXT)
        return True

    def _stratum(self, seen: Seen) -> str:
        return ""

    def _finish(self) -> None:
        if self.dealing.current_round.open:
            self.shoe.play(REVEAL)


_TABLES: dict[str, type[_Table]] = {"midi": Midi, "blackjack": _Blackjack, "holdem": _Holdem}


def _means(seen: Seen) -> dict[str, int]:
    """The means of the sensors in the last answer to `health`."""
    return {name: mean for name, mean in seen.features.items() if "_permille" in name}
