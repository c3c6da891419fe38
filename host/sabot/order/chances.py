"""How unlikely an order of cards must be before it is a finding, and how that is divided.

All tests of a shoe of cards together are one wager against honest shuffling. Under honest shuffling
the next card is c with the chance p(c): the copies of c that have not been seen, of all cards that
have not (an unknown card is as likely as any of these). A hypothesis, such as "these are new
packs", gives each next card a chance q(c) of its own, from the cards before it. The product of
q(c) / p(c) over the cards is a martingale of expectation 1 under honest shuffling, and so is a sum
of such products with weights that add up to 1. Ville's inequality (J. Ville, Étude critique de la
notion de collectif, 1939; Shafer and Vovk, Game-Theoretic Foundations for Probability and Finance,
2019, chapter 2) bounds the chance that it ever reaches M by 1 / M: whenever one looks, however
often, and over all hypotheses at once. Whatever is left out of the sum makes it smaller, and the
bound stays true.

So the `weight` of a hypothesis is its part of the one rate of false alarms.
"""

from dataclasses import dataclass

CARDS_OF_A_TABLE_YEAR = 2_628_000
"""300 cards an hour, 60 rounds of baccarat with five cards, day and night for 365 days. A table
that deals more cards has its years sooner."""
PACK = 52

PACKS = 0.30
"""Weight of new packs: never shuffled, or riffled a few times."""
RIFFLED = 0.15
"""Weight of the last shoes of the table, riffled a few times."""
WITHIN = 0.10
"""Weight of a repetition within the shoe of cards."""
OF_TABLE = 0.25
"""Weight of a repetition of one of the table's last shoes."""
OF_LOG = 0.20
"""Weight of a repetition of any shoe of the log."""


@dataclass(frozen=True, slots=True)
class House:
    """What the house chose."""

    false_alarms: float = 1.0
    """How many there may be in a thousand table-years, over all tests together."""

    def least(self, decks: int) -> float:
        """What the martingale of a shoe of `decks` packs must reach. A shoe with fewer cards has a
        smaller part of a table-year, and so must reach more."""
        shoes = 1000 * CARDS_OF_A_TABLE_YEAR / (decks * PACK)
        return shoes / self.false_alarms


def begins_at(place: int, decks: int) -> float:
    """The chance that an order begins with the card at a place of the shoe: half for the first, the
    other half equally for all."""
    return 0.5 * (place == 0) + 0.5 / (decks * PACK)
