"""The seam between a shoe of cards and the rounds that are dealt from it. Types only: no device
loads this module.

`dealing.py` knows a shoe of cards: lid, first burn, cut card, inventory, errors, a card that
stopped play, the end. It knows nothing of hands, totals or winners. Those are in a round's class,
one for each family of games, with everything that `Round` lists.

The shoe of cards makes one round object for a game and uses it for all rounds of that game. So
what the dealer chooses for the rounds to come (boxes, seats) is an attribute of it. After each
call that may change them, the shoe of cards reads `due`, `open` and `phase` and goes on from there.
A round has no clock, no lock and no display, and it keeps no event.
"""

from collections.abc import Callable
from typing import Protocol

Say = Callable[..., None]
"""Records an event of the round: `say(shape, *values)`."""

class Round(Protocol):
    """What a family's round offers to the shoe of cards. It is constructed as `(game, say)`."""

    KEPT: "tuple[str, ...]"
    """The six attributes that are kept over a loss of power. Each is a number, a flag, or a list of
    such, which may be in lists again. Journals in the field have room for six."""
    CARD_FIRST: bool
    """Whether a card is due as soon as a round has begun."""

    due: int
    """As what the next card of the round is due: place in `words.POSITIONS`. NOT_DUE where the
    round waits for a button, and when it is not open. The lock follows this."""
    open: bool
    """Whether a round has begun and has neither a result nor been voided."""
    phase: int
    """BETTING or DEALING while the round goes on; it may have its result and wait for a button
    (`reveal`). BETWEEN when it is over, and before the first."""
    begun: bool
    """Whether a card of the round has been dealt."""
    hidden: bool
    """Whether nothing that is lit or shown may depend on the round's cards now."""

    def begin(self) -> None:
        """Begin the next round. The shoe of cards has given it its number."""

    def clear(self) -> None:
        """Forget the round: it was voided, or a new shoe of cards is loaded."""

    def close_betting(self, by: int) -> None:
        """Betting ends: `by`, place in `words.CLOSED_BY`, the button `next` or the card that is
        due. That card is not dealt yet, and it may be unreadable."""

    def card(self, card: int) -> None:
        """Card 0-51 lies where it was `due`; `pending.NONE` for one that is left there unseen.

        Records what the rules decide, and the result once there is one.
        """

    def due_after(self, card: int) -> int:
        """What `due` will be after `card` 0-51. Changes and allocates nothing: the lock follows
        this while the end of the card is still in the sensor head."""
        ...

    def pressed(self, button: int) -> int:
        """A button of `words.BUTTONS`, while the round goes on or between two rounds. Not `void`,
        and not `next` where it closes betting or begins a round.

        Returns how many cards the dealer is to burn before the next round; 0 while one goes on.
        """
        ...

    def burn_count(self, card: int) -> int:
        """How many cards are burned after `card`, the first of a shoe of cards, face up."""
        ...

    def lies(self, position: int) -> int:
        """How a card lies that comes out at `position` now: FACE_UP, FACE_DOWN or BURNED of
        pending.py. Only one that lies face up may be named; one that is burned need not be known.
        """
        ...

    def lines(self) -> "tuple[str, str, str, str]":
        """Lines of the display: the first one while the round goes on; two for the hands; what
        comes of them. All but the first outlast the round, until `begin` or `clear`."""
        ...

    def lamps(self) -> int:
        """The lamps of `words.LAMPS` that the round lights: bit n is the n-th."""
        ...

    def restored(self, phase: int) -> None:
        """The KEPT attributes are as they were kept in `phase`: set the others by them."""
