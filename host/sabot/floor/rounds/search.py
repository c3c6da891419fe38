"""What can be searched for in a log: a query, as the index of rounds takes it.

`sabot/floor/rounds/search_line.py` reads one from what people type.
"""

from dataclasses import dataclass

ANY = "any"
"""In place of a kind of incident: any of them."""


@dataclass(frozen=True, slots=True)
class Query:
    """Rounds that fit all of this; None and what is empty selects nothing. Times are UTC
    milliseconds, from (included) to (not); a round is within them if any part of it is."""

    table: str | None = None
    unit: str | None = None
    shoe: int | None = None
    round: int | None = None
    begin_unix_ms: int | None = None
    end_unix_ms: int | None = None
    cards: tuple[str, ...] = ()
    """One after the other in a hand, or as they came out of the shoe; a rank alone, such as "7", is
    a card of any suit."""
    winner: str | None = None
    outcomes: tuple[str, ...] = ()
    """Each one of `search_words.OUTCOMES`."""
    incident: str | None = None
    """A kind of incident in the round, or after it and before the next; ANY."""
    by_hand: bool = False
    void: bool = False
    ghost: bool = False

    @property
    def of_play(self) -> bool:
        """Whether anything is asked that only a round has, not an incident."""
        return bool(
            self.cards or self.winner or self.outcomes or self.by_hand or self.void or self.ghost
        )
