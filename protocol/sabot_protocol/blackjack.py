"""The game document of blackjack: what the house may choose of the deal, and what is refused.

A shoe loads this module only for such a document. README.md, "The game document of blackjack", says
what each choice means. The rule document is Maryland's, Standard Rules - Blackjack; of its chapters
on the play nothing is known, so all except the number of boxes is common practice.
"""

from sabot_protocol import games

MOST_BOXES = 7
"""Maryland, Chapter 2 A: "betting positions for not more than seven players"."""
MOST_HANDS = 4

HOLE_CARD = ("dealt", "none")
SOFT_17 = ("stands", "hits")
LOOKS = ("ace", "ace_or_ten", "never")
DOUBLE_ON = ("any_two", "9_to_11", "10_or_11")
SPLIT_ACES = ("one_card", "play_on")
SPLIT_BY = ("rank", "value")
SURRENDER = ("none", "late", "early")
VOIDED_CARDS = ("opened", "never")
"""What becomes of the hole card of a void round: it is known then, or never."""

_RULES = "maryland"


class BlackjackGame(games.FamilyGame):
    """A checked game of blackjack."""

    family = games.BLACKJACK
    FIELDS = (
        games.FamilyGame.FIELDS + " boxes hole_card soft_17 looks double_on double_after_split "
        "hands_of_box resplit_aces split_aces split_by surrender"
    )
    MAX_HOUSE = 24

    def _check_fields(self, value: "dict[str, object]") -> None:
        if "soft_17" not in value and value.get("hole_card") == HOLE_CARD[0]:
            raise games.GameError("a hole card, but no dealer: soft_17 is missing")
        super()._check_fields(value)

    def _check(self, value: "dict[str, object]") -> None:
        if self.rules != _RULES:
            raise games.GameError("rules must be " + _RULES)
        self.boxes = games.number_in(value, "boxes", 1, MOST_BOXES)
        """The most boxes that are dealt in."""
        self.hole_card: str = games.one_of(value, "hole_card", HOLE_CARD)
        self.soft_17: str = games.one_of(value, "soft_17", SOFT_17)
        self.looks: str = games.one_of(value, "looks", LOOKS)
        self.double_on: str = games.one_of(value, "double_on", DOUBLE_ON)
        self.double_after_split = games.flag_in(value, "double_after_split")
        self.hands_of_box = games.number_in(value, "hands_of_box", 2, MOST_HANDS)
        self.resplit_aces = games.flag_in(value, "resplit_aces")
        self.split_aces: str = games.one_of(value, "split_aces", SPLIT_ACES)
        self.split_by: str = games.one_of(value, "split_by", SPLIT_BY)
        self.surrender: str = games.one_of(value, "surrender", SURRENDER)
        self.face_down = self.hole_card == HOLE_CARD[0]
        if "voided_cards" in self.house:
            games.one_of(self.house, "voided_cards", VOIDED_CARDS)
        if self.hole_card == "none" and self.looks != "never":
            raise games.GameError("looks " + self.looks + ", but there is no hole card to look at")
        if self.resplit_aces and self.hands_of_box == 2:
            raise games.GameError("resplit_aces, but a box has at most 2 hands")
        if self.shown != games.SHOWN[0]:
            raise games.GameError("shown must be " + games.SHOWN[0])
