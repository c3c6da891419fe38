"""A shoe of cards that has ended, as arrays: what every analysis gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sabot.text import utc_moment
from sabot_protocol import cards

UNKNOWN = -1
"""In place of a card that was not read, or that lay face down and never became known."""

RANKS, SUITS, KINDS = len(cards.RANKS), len(cards.SUITS), cards.DECK_SIZE
"""How many ranks, suits, and different cards there are."""

Cards = npt.NDArray[np.int8]
"""Numbers of cards, 0 to 51 (`sabot_protocol.cards`), or UNKNOWN."""
Counts = npt.NDArray[np.int64]
"""How many there are of each card, or rank."""


Units = npt.NDArray[np.float64]
"""What is won on average for each unit wagered; a wager that favours the house is below 0."""


class Expected(NamedTuple):
    """What the wagers (columns) were worth before the rounds of a shoe (rows)."""

    wagers: tuple[str, ...]
    units: Units


class Place(NamedTuple):
    """Rounds to look at: a round of a shoe of cards of a unit; the whole shoe without one."""

    unit: str
    shoe: int
    round: int | None = None

    def as_json(self) -> dict[str, object]:
        """The place as `sabot integrity --json` prints it."""
        return self._asdict()

    def __str__(self) -> str:
        of_round = "" if self.round is None else f" round {self.round}"
        return f"{self.unit} shoe {self.shoe}{of_round}"


@dataclass(frozen=True, slots=True)
class DealtShoe:
    """The cards of one shoe, in the order in which they came out of it."""

    unit: str
    shoe: int
    decks: int
    cards: Cards
    seen: npt.NDArray[np.bool_]
    """Of each card, whether it came to lie face up: a card burned face down did not."""
    rounds: npt.NDArray[np.int32]
    """The number of each round, and how many cards had come out when its betting was opened."""
    table: str = ""
    game: str = ""
    """The name of its game."""
    document: bytes = b""
    """SHA-256 of the game that dealt its rounds; empty if no round was decided."""
    began_unix_ms: int | None = None
    """When the cards were loaded; None without a clock."""
    also: Mapping[str, str] = field(default_factory=dict)
    """What else it belongs to, where the house said so (`known`): the machine that shuffled it,
    the dealer on duty, the shift."""
    expected: Expected | None = None
    """What its wagers were worth; None if it was not dealt by a known game of baccarat."""

    @property
    def size(self) -> int:
        """How many cards were loaded, by the game."""
        return KINDS * self.decks

    @property
    def known(self) -> Cards:
        """Its cards in order, without those that are not known."""
        known: Cards = self.cards[self.cards != UNKNOWN]
        return known

    @property
    def place(self) -> Place:
        """The whole shoe, as a place to look at."""
        return Place(self.unit, self.shoe)

    @property
    def began(self) -> datetime | None:
        """When the cards were loaded, in UTC."""
        return utc_moment(self.began_unix_ms)

    def round_at(self, card: int) -> int | None:
        """The number of the round in which card number `card`, from 0, came out; None before the
        first round."""
        before = np.flatnonzero(self.rounds[:, 1] <= card)
        return int(self.rounds[before[-1], 0]) if len(before) else None


def ranks_of(kinds: Cards) -> Cards:
    """The ranks, 0 (ace) to 12 (king), of cards that are known."""
    return kinds % RANKS


def counts_of(known: Cards) -> Counts:
    """How many there are of each of the 52 cards among cards that are known."""
    return np.bincount(known, minlength=KINDS)
