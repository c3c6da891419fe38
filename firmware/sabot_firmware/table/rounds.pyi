"""The seam between a shoe of cards and the rounds that are dealt from it. Types only: no device
loads this module.

`dealing.py` handles a shoe of cards: lid, first burn, cut card, inventory, errors, a card that
stopped play, the end. It does not handle hands, totals or winners. Each family of games has a class
for its rounds that does, with everything that `FamilyRound` lists.

The shoe of cards makes one round object for a game and uses it for all rounds of that game. So what
the dealer chooses for the next rounds (boxes, seats) is an attribute of it. The shoe of cards reads
`due`, `open` and `phase` after each call that may change them. A round has no clock, no lock and no
display, and it does not store events.
"""

from collections.abc import Callable
from typing import Protocol

RecordEvent = Callable[..., None]
"""Records an event of the round: `record(shape, *values)`."""

class FamilyRound(Protocol):
    """The interface of a round for the shoe of cards. It is constructed as `(game, record)`."""

    KEPT: "tuple[str, ...]"
    """The six attributes that are kept over a loss of power. Each is a number, a flag, bytes, or a
    list of them, and lists may be nested. The journal's format has room for six."""
    card_first: bool
    """Whether a card is due as soon as a round has begun."""

    ends_shoe: bool
    """Whether the cards were shuffled for one round: the shoe of cards ends with it, also if it is
    voided."""

    due: int
    """The position of the next card: place in `enums.POSITIONS`. NOT_DUE while the round waits for
    a button, and when it is not open. The lock follows this."""
    open: bool
    """Whether a round has begun and has neither a result nor been voided."""
    phase: int
    """BETTING or DEALING during the round, also while it has its result and waits for a button
    (`reveal`). BETWEEN when it is over, and before the first round."""
    begun: bool
    """Whether a card of the round has been dealt."""
    revealed: bool
    """Whether the round may show its cards. Set from outside for a ghost hand, dealt face up."""
    hidden: bool
    """Whether lamps and display must not depend on the round's cards now."""

    @property
    def seals(self) -> bool:
        """Whether cards of this round lie face down. Asked when betting is closed: if so, the shoe
        of cards commits to a key, and seals each card whose position is not `facing` FACE_UP, until
        the round records `events.UNSEALED`, without values, before what its cards decide."""
        ...

    def begin(self) -> None:
        """Begin the next round. The shoe of cards has numbered it already."""

    def clear(self) -> None:
        """Forget the round: it was voided, or a new shoe of cards is loaded."""

    def close_betting(self, by: int) -> None:
        """End betting. `by` is a place in `enums.CLOSED_BY`: the button `next`, or the card that is
        due. That card is not dealt yet, and it may be unreadable. Then the first card is due."""

    def card(self, card: int) -> None:
        """Deal card 0-51 to the position `due`; `pending.NONE` is a card left there unseen.

        Records what the rules decide, and the result when there is one.
        """

    def due_after(self, card: int) -> int:
        """Return what `due` will be after `card` 0-51. Changes and allocates nothing: the lock is
        set from this while the end of the card is still in the sensor head."""
        ...

    def pressed(self, button: int) -> int:
        """A button of `enums.BUTTONS` was pressed, during the round or between two rounds. Not
        `void`, and not `next` when it closes betting or begins a round.

        Returns how many cards the dealer must burn before the next round; 0 during a round.
        """
        ...

    def burn_count(self, card: int) -> int:
        """Return how many cards are burned after `card`, the first of a shoe, burned face up."""
        ...

    def facing(self, position: int) -> int:
        """Return how a card at `position` lies on the table now: FACE_UP, FACE_DOWN or BURNED of
        pending.py. Only a card face up may be named; a burned card need not be known.
        """
        ...

    def lines(self) -> "tuple[str, str, str, str]":
        """Return four lines of the display: the title during the round, two lines of hands, the
        outcome. All except the title stay after the round, until `begin` or `clear`."""
        ...

    def lamps(self) -> int:
        """Return the lamps of `enums.LAMPS` that the round lights: bit n is the n-th."""
        ...

    def restored(self, phase: int) -> None:
        """Set the other attributes from the KEPT ones, which were restored, and their `phase`."""
