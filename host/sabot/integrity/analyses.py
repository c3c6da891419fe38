"""The analyses, and the one place where another is added."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from sabot.integrity.bettors import Bets
from sabot.integrity.composition import Composition
from sabot.integrity.dealt_shoe import DealtShoe
from sabot.integrity.favourable import Favourable
from sabot.integrity.finding import LIMIT, Ledger
from sabot.integrity.known import Known
from sabot.integrity.order import OrderOfCards
from sabot.integrity.shuffle import Shuffle


class Analysis(Protocol):
    """One way to look at shoes of cards. It notes each test in the ledger that it was made with."""

    name: str
    """How findings name it, and `sabot integrity --analysis`."""

    def take(self, shoe: DealtShoe) -> None:
        """Take the next shoe of cards; those of a unit come in order."""

    def close(self) -> None:
        """Make the tests that need all shoes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the analyses are asked."""

    limit: float = LIMIT
    known: Known = field(default_factory=Known)
    bets: Bets | None = None
    """The wagers that the house knows of; None if it gave none."""
    seed: int = 1
    """Of the shuffles by the computer."""


ANALYSES: dict[str, Callable[[Ledger, Setting], Analysis]] = {
    "order": lambda ledger, setting: OrderOfCards(ledger),
    "shuffle": lambda ledger, setting: Shuffle(ledger, setting.seed),
    "composition": lambda ledger, setting: Composition(ledger),
    "favourable": lambda ledger, setting: Favourable(ledger, setting.bets),
}
"""By name: what makes each analysis. Another one is one more line here."""
