"""A card that has stopped play, and what the supervisor may decide about it.

The supervisor's key on, three buttons choose and accept: `next` steps through what is allowed,
then the ranks, then the cut card, and round again; `burn` steps the suit of a rank; `reveal`
accepts. At first nothing is chosen, and a rank has no suit: nothing is ever accepted that
nobody has chosen.
"""

from sabot_protocol import cards, enums

NONE = -1

ENTERED = enums.RESOLUTIONS.index("entered")
AS_READ = enums.RESOLUTIONS.index("as_read")
DRAWN_AGAIN = enums.RESOLUTIONS.index("drawn_again")
UNSEEN = enums.RESOLUTIONS.index("unseen")
VOID = enums.RESOLUTIONS.index("void")

SECOND_CARD = "second_card"
"""The other card of a double feed, once the first is settled."""

_LETTERS = {"R": AS_READ, "A": DRAWN_AGAIN, "U": UNSEEN, "E": ENTERED}

# What is allowed, by what is wrong with the card and by what it was due as: R taken as read,
# A drawn again, U left unseen, E entered from its face. The supervisor can always void: "In case
# of misdeal all hands are called dead" (mini-baccarat-pairs). For the rest the rule documents
# leave irregularities to the house (Washington, Mini-Baccarat Game Rules, "Irregularities");
# what stands here is common practice:
# - A card that may have stayed in the shoe, or is none of its cards, is drawn again.
# - A card of the shoe that came out is dealt and never replaced, so it is entered from its face.
#   Only the first card of a shoe, which no wager hangs on, can be put aside for the next one.
# - A card that would lie face down, or that was not due, need not be looked at.
_ALLOWED = {
    # burn_first, burn, a hand, not_due
    "double_feed": ("E", "UE", "E", "UE"),
    SECOND_CARD: ("AE", "AUE", "AE", "AUE"),  # again: there was none, or it went back
    "pushed_back": ("AE", "AE", "AE", "AE"),
    "reversed": ("AE", "UE", "E", "UE"),
    "no_code": ("AE", "UE", "E", "UE"),
    "bad_code": ("AE", "UE", "E", "UE"),
    "foreign_set": ("A", "A", "A", "A"),
    "jam": ("AE", "AUE", "AE", "AUE"),
    "sensor_fault": ("AE", "AUE", "AE", "AUE"),
    "power_lost": ("AE", "AUE", "AE", "AUE"),
    "surplus_copy": ("RAE", "RAE", "RAE", "RE"),
    "card_too_many": ("RAE", "RAE", "RAE", "RE"),
}
_OF_A_HAND = 2
_COLUMNS = {"burn_first": 0, "burn": 1, "not_due": 3}

_RANKS = len(cards.RANKS)
_SUITS = len(cards.SUITS)


class Pending:
    """The card that play waits for; none where `position` is NONE."""

    def __init__(self) -> None:
        self.position = NONE
        """What it came out as: place in `words.POSITIONS`."""
        self.card = NONE
        """Card 0-51 where it was read and is one too many."""
        self.figures = (0, 0, 0, 0)
        self.by_hand = False
        """Whether `card` was entered by hand before."""
        self.second = False
        """Whether it is the second card of a double feed."""
        self._allowed = ""
        self._choice = NONE  # place in `_allowed`, behind it the ranks and the cut card
        self._suit = NONE

    def begin(self, why: str, position: int) -> None:
        """A card came out as `position`; `why`, a row of _ALLOWED, it stops play."""
        column = _COLUMNS.get(enums.POSITIONS[position], _OF_A_HAND)
        self.end()
        self.position = position
        self.second = why == SECOND_CARD
        self._allowed = _ALLOWED[why][column]

    def begin_read(
        self,
        why: str,
        position: int,
        card: int,
        figures: "tuple[int, int, int, int]",
        by_hand: bool,
    ) -> None:
        """As `begin`, of a card that has a name."""
        self.begin(why, position)
        self.card = card
        self.figures = figures
        self.by_hand = by_hand

    def state(self) -> list:
        """All of it, for `restore`."""
        return [
            self.position,
            self.card,
            list(self.figures),
            self.by_hand,
            self.second,
            self._allowed,
            self._choice,
            self._suit,
        ]

    def restore(self, state: list) -> None:
        """As it was when `state` was taken."""
        self.position, self.card, figures, self.by_hand = state[:4]
        self.figures = tuple(figures)  # type: ignore[assignment]
        self.second, self._allowed, self._choice, self._suit = state[4:]

    def end(self) -> None:
        """Nothing stops play any more."""
        self.position = self.card = NONE
        self.second = False
        self.forget()

    def waits(self) -> bool:
        """Whether there is such a card."""
        return self.position != NONE

    def forget(self) -> None:
        """Nothing is chosen any more."""
        self._choice = self._suit = NONE

    def step(self) -> None:
        """Choose the next thing that is allowed."""
        specials = len(self._allowed)
        last = specials - 1
        if self._allowed[last] == "E":
            last += _RANKS  # the place of E is the ace's, and the cut card is behind the king
        self._choice = 0 if self._choice == last else self._choice + 1

    def step_suit(self) -> None:
        """Choose the next suit of a rank that is chosen."""
        if 0 <= self.rank() < _RANKS:
            self._suit = (self._suit + 1) % _SUITS

    def choice(self) -> int:
        """What is chosen, of `words.RESOLUTIONS`; NONE for nothing."""
        if self._choice == NONE:
            return NONE
        return _LETTERS[self._allowed[min(self._choice, len(self._allowed) - 1)]]

    def rank(self) -> int:
        """With the choice `entered`: 0 for an ace to 12 for a king, 13 for the cut card."""
        return self._choice - (len(self._allowed) - 1) if self.choice() == ENTERED else NONE

    def suit(self) -> int:
        """Place in `cards.SUITS` of the rank that is chosen; NONE before it has one."""
        return self._suit

    def entered(self) -> int:
        """Card 0-52 that is chosen; NONE before it has a rank and a suit."""
        rank = self.rank()
        if rank == _RANKS:
            return cards.CUT_CARD
        return NONE if rank == NONE or self._suit == NONE else _RANKS * self._suit + rank

    def is_chosen(self) -> bool:
        """Whether what is chosen can be accepted."""
        choice = self.choice()
        return self.entered() != NONE if choice == ENTERED else choice != NONE
