"""The game document of Texas hold'em; imported only where such a document is read.

Source: Maryland State Lottery and Gaming Control Agency, Standard Rules - Poker, chapter 8.
`sabot.games` on the host makes the documents, with the choices of the house.
"""

from sabot_protocol import games

MOST_SEATS = 10

VOIDED_CARDS = ("opened", "never")
"""What becomes of the sealed cards of a hand that is void: they are known then, or never."""

HOLE_CARDS = ("all", "shown", "never")
"""Which hole cards open at the end of a hand: all; those of the seats that the dealer marks; none.
Only with `all` do the burned cards open, too."""

HOLDEM = {
    "version": games.DOCUMENT_VERSION,
    "family": games.HOLDEM,
    "rules": "maryland",
    "name": "holdem",
    "title": "Texas hold'em",
    "source": "Maryland State Lottery and Gaming Control Agency, Standard Rules - Poker",
    "decks": 1,
    "burn": "none",
    "burn_ace": 1,
    "cut_from_end": 52,
    "rounds_after_cut": 0,
    "betting_closed_by": games.FIRST_CARD,
    "shown": "at_once",
    "seats": MOST_SEATS,
    "run_it_twice": True,
    "house": {"voided_cards": "opened"},
}
"""The document with the default choices. Of those that all families have, only `betting_closed_by`
can be chosen: one deck is shuffled for each hand, which needs no cut card, nothing is burned from
new cards, and the board lies face up."""

_FIXED = ("decks", "burn", "burn_ace", "cut_from_end", "rounds_after_cut", "shown")


class HoldemGame(games.FamilyGame):
    """A game of hold'em."""

    family = games.HOLDEM
    FIELDS = games.FamilyGame.FIELDS + " seats run_it_twice"
    hole_cards: str = HOLE_CARDS[0]

    def _check_fields(self, value: "dict[str, object]") -> None:
        if "hole_cards" in value:
            self.FIELDS += " hole_cards"
        super()._check_fields(value)

    def _check(self, value: "dict[str, object]") -> None:
        for field in _FIXED:
            if value[field] != HOLDEM[field]:
                raise games.GameError(
                    "holdem: " + field + " must be " + str(HOLDEM[field]) + ", one deck a hand"
                )
        if self.rules != HOLDEM["rules"]:
            raise games.GameError("holdem: rules must be maryland")
        self.face_down = True  # the seats' cards and the burned ones
        self.seats = games.number_in(value, "seats", 2, MOST_SEATS)
        """The most players who get cards."""
        self.run_it_twice = games.flag_in(value, "run_it_twice")
        if "hole_cards" in value:
            self.hole_cards = games.one_of(value, "hole_cards", HOLE_CARDS[1:])
            """One of HOLE_CARDS. A document of `all` does not have the key: it is the same as
            before there was a choice. Older firmware refuses one with it: it would open all."""
            self.by_seat = True
        if "voided_cards" in self.house:
            games.one_of(self.house, "voided_cards", VOIDED_CARDS)
        if self.run_it_twice and self.house.get("tournament"):
            raise games.GameError("holdem: no running it twice at a tournament table: L(2)(a)")
