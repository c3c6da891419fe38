"""The checks of a round, as each family of games implements them."""

from collections.abc import Iterator
from typing import Protocol

from sabot.audit.checks.decoding import Values
from sabot_protocol.games import FamilyGame


class RoundChecks(Protocol):
    """The checks of one round, as a family of games implements them."""

    def begin(self) -> None:
        """Begin a new round: betting is open."""

    def takes(self, position: int) -> bool:
        """Whether a card drawn as `position`, index in `enums.POSITIONS`, belongs to a round."""
        ...

    def card(self, card: int, position: int, *, in_round: bool) -> None:
        """Take card 0-53 at a position of the round. `in_round` is true if the round is open."""

    def sealed(self, position: int) -> None:
        """A card of the open round came out face down; `card` follows when it is opened."""

    def decision(self, values: Values) -> None:
        """Take the values of an event that the family records within a round."""

    def wrong_with(self, values: Values, game: FamilyGame | None) -> Iterator[str]:
        """Yield what is wrong with the round by its cards. `values` are those of the event that
        decides it. `game` is the game of the document; None if that is not known."""
        ...

    def burn_counts(self, card: str) -> range:
        """How many cards may be burned if `card` was the first of the shoe."""
        ...
