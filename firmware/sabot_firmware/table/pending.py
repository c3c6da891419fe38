"""A card that has stopped play, and what the supervisor may decide about it.

With the supervisor's key on, three buttons choose and accept: `next` steps through the allowed
decisions, the ranks and the cut card, in a circle; `burn` steps the suit of a rank; `reveal`
accepts. At first nothing is chosen, and a rank has no suit: only a complete choice is accepted.
"""

import hashlib

from sabot_firmware.native import const
from sabot_protocol import cards

NONE = const(-1)

# Places in the tuples of enums.py, constant for the compiler; a test compares them with the tuples.
ENTERED = const(0)
AS_READ = const(1)
DRAWN_AGAIN = const(2)
UNSEEN = const(3)
VOID = const(4)

_NEXT = const(0)
_REVEAL = const(1)
_VOID_BUTTON = const(2)
_BURN_BUTTON = const(3)

SECOND_CARD = "second_card"
"""The second card of a double feed, once the first is resolved: a row of _ALLOWED."""

_LETTERS = {"R": AS_READ, "A": DRAWN_AGAIN, "U": UNSEEN, "E": ENTERED}

FACE_UP = const(0)
FACE_DOWN = const(1)
BURNED = const(2)
"""How a card of a round lies: face up; face down, but the round must know it; face down, and it
need not be known."""

BURN_FIRST = const(0)
BURN = const(1)
COUNTS = const(2)
NOT_DUE = const(3)
"""Columns of the table below, by the position of the card: the first of a shoe of cards, which is
burned face up; one burned face down; one that the round must know; one that was not due."""

# The allowed decisions, by the fault of the card and its position: R taken as read, A drawn again,
# U left unseen, E entered from its face. The supervisor can always void: "In case of misdeal all
# hands are called dead" (mini-baccarat-pairs). Otherwise the rule documents leave irregularities to
# the house (Washington, Mini-Baccarat Game Rules, "Irregularities"). This table is common practice:
# - A card that may have stayed in the shoe, or is not one of its cards, is drawn again.
# - A card of the shoe that came out is dealt and never replaced, so it is entered from its face.
#   Only the first card of a shoe, on which no wager depends, can be put aside for the next one.
# - A card that would lie face down, or that was not due, need not be looked at.
_ALLOWED = """
double_feed E UE E UE
second_card AE AUE AE AUE
pushed_back AE AE AE AE
reversed AE UE E UE
no_code AE UE E UE
bad_code AE UE E UE
foreign_set A A A A
jam AE AUE AE AUE
sensor_fault AE AUE AE AUE
power_lost AE AUE AE AUE
surplus_copy RAE RAE RAE RE
card_too_many RAE RAE RAE RE
"""
"""Columns: BURN_FIRST, BURN, COUNTS, NOT_DUE. The second card of a double feed may be drawn again:
perhaps there was none, or it went back. One text takes a fifth of the memory of a dictionary."""

_RANKS = const(13)
_SUITS = const(4)


class Pending:
    """The card that stopped play; there is none while `position` is NONE."""

    def __init__(self) -> None:
        self.position = NONE
        """Its position: place in `enums.POSITIONS`."""
        self.card = NONE
        """Card 0-51, if it was read and is one too many."""
        self.figures = (0, 0, 0, 0)
        self.by_hand = False
        """Whether `card` was entered by hand, not read."""
        self.second = False
        """Whether it is the second card of a double feed."""
        self._allowed = ""
        self._choice = NONE  # place in `_allowed`, after it the ranks and the cut card
        self._suit = NONE
        self.seed = b""
        """Bytes that only the unit knows, from the note of the card (journal/seals.py)."""
        self._first = self._first_suit = 0

    def begin(self, why: str, position: int, column: int, sealed: bool = False) -> None:
        """A card at `position` stops play: row `why` and column `column` of _ALLOWED.

        If the card is `sealed`, the choice begins at a place that only the unit knows: the number
        of presses, which is recorded, does not tell the card.
        """
        self.end()
        if sealed and self.seed:
            self.seed = hashlib.sha256(self.seed).digest()[:4]
            self._first = int.from_bytes(self.seed[:2], "big")
            self._first_suit = self.seed[2] % _SUITS
        self.position = position
        self.second = why == SECOND_CARD
        table: "list[str]" = _ALLOWED.split()  # type: ignore[assignment]
        self._allowed = table[table.index(why) + 1 + column]

    def keep_read(self, card: int, figures: "tuple[int, int, int, int]", by_hand: bool) -> None:
        """Keep a card that is one too many: it was read as `card` 0-51, or entered."""
        self.card = card
        self.figures = figures
        self.by_hand = by_hand

    def state(self) -> list:
        """Return the whole state, for `restore`."""
        return [
            self.position,
            self.card,
            list(self.figures),
            self.by_hand,
            self.second,
            self._allowed,
            self._choice,
            self._suit,
            self.seed,
            self._first,
            self._first_suit,
        ]

    def restore(self, state: list) -> None:
        """Set the state that `state` returned."""
        self.position, self.card, figures, self.by_hand = state[:4]
        self.figures = tuple(figures)  # type: ignore[assignment]
        self.second, self._allowed, self._choice, self._suit = state[4:8]
        self.seed, self._first, self._first_suit = state[8:] or (b"", 0, 0)

    def end(self) -> None:
        """Forget the card: it does not stop play any more. Nothing stays by which a state in the
        journal would tell it, if it is never to be known."""
        self.position = self.card = NONE
        self.figures = (0, 0, 0, 0)
        self.second = False
        self._first = self._first_suit = 0
        self.forget()

    def waits(self) -> bool:
        """Whether a card is pending."""
        return self.position != NONE

    def forget(self) -> None:
        """Forget the choice."""
        self._choice = self._suit = NONE

    def pressed(self, button: int) -> int:
        """The supervisor pressed a button. Return the decision, a place in `enums.RESOLUTIONS`, or
        NONE."""
        if button == _NEXT:
            self.step()
        elif button == _BURN_BUTTON:
            self.step_suit()
        elif button == _VOID_BUTTON:
            return VOID
        elif button == _REVEAL and self.is_chosen():
            return self.choice()
        return NONE

    def step(self) -> None:
        """Choose the next allowed decision, rank or cut card."""
        specials = len(self._allowed)
        last = specials - 1
        if self._allowed[last] == "E":
            last += _RANKS  # the place of E is the ace's, and the cut card comes after the king
        if self._choice == NONE:
            self._choice = self._first % (last + 1)
        else:
            self._choice = 0 if self._choice == last else self._choice + 1

    def step_suit(self) -> None:
        """Choose the next suit, if a rank is chosen."""
        if 0 <= self.rank() < _RANKS:
            self._suit = self._first_suit if self._suit == NONE else (self._suit + 1) % _SUITS

    def choice(self) -> int:
        """Return the choice, a place in `enums.RESOLUTIONS`; NONE if nothing is chosen."""
        if self._choice == NONE:
            return NONE
        return _LETTERS[self._allowed[min(self._choice, len(self._allowed) - 1)]]

    def rank(self) -> int:
        """Return the chosen rank: 0 an ace to 12 a king, 13 the cut card; NONE if no rank is."""
        return self._choice - (len(self._allowed) - 1) if self.choice() == ENTERED else NONE

    def suit(self) -> int:
        """Return the chosen suit, a place in `cards.SUITS`; NONE before one is chosen."""
        return self._suit

    def entered(self) -> int:
        """Return the chosen card 0-52; NONE before it has a rank and a suit."""
        rank = self.rank()
        if rank == _RANKS:
            return cards.CUT_CARD
        return NONE if rank == NONE or self._suit == NONE else _RANKS * self._suit + rank

    def is_chosen(self) -> bool:
        """Whether the choice is complete, so that it can be accepted."""
        choice = self.choice()
        return self.entered() != NONE if choice == ENTERED else choice != NONE
