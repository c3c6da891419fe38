"""What a table shows of the order of its cards: what was found, and the cards that have come beside
the same places of the shoe of cards that they repeat.

That shoe has the cards to come. As long as the one in play has not ended, no name of it is here,
and none of its cards after the last one that came.
"""

from dataclasses import dataclass

from sabot.log.families.cards import Card
from sabot.notable.orders import kind_of
from sabot.order.dealt_order import DealtOrder
from sabot.order.words import detail_of
from sabot_protocol import cards


@dataclass(frozen=True, slots=True)
class OrderShown:
    """What was found in the shoe of cards that is in play, or was last."""

    kind: str
    """Of what is notable: "unshuffled" or "repeated"."""
    detail: str
    """What was found, for people."""
    pairs: tuple[tuple[Card, Card], ...] = ()
    """The cards since the first that fits, each with the card at the same place of the shoe that
    they repeat."""

    @property
    def mark(self) -> str:
        """The same in two words."""
        return {"unshuffled": "not shuffled", "repeated": "dealt before"}[self.kind]


def order_shown(order: DealtOrder) -> OrderShown | None:
    """Return what was found in a shoe of cards; None for nothing."""
    found, beside = order.found, order.beside()
    if found is None or beside is None:
        return None
    came, finding = beside
    other = came if finding.of is None else finding.of.cards
    pairs = tuple((_name(came[at]), _name(other[there])) for at, there in finding.pairs)
    return OrderShown(kind_of(found).name, detail_of(found, over=order.over), pairs)


def _name(card: int) -> Card:
    return Card(cards.name_of(card))
