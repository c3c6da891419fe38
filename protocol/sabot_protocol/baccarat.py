"""Baccarat as data: what its game document has besides what all have, and the default document.

`sabot.games.baccarat` on the host makes the documents of its other games, with the choices of the
house.
"""

from sabot_protocol import enums, games

NEW_FIELDS = ("rules", "betting_closed_by")
"""What documents of version `games.LAST_VERSION` do not have: there the first card closes
betting."""

MINI_NAME = "mini"

ORDER = "PBPB"
"""Cards 1 and 3 to the Player, 2 and 4 to the Banker, as in every rule document."""

TURNED_BY = ("dealer", "players")

PLAYER_DRAWS = [0, 1, 2, 3, 4, 5]
BANKER_DRAWS = [
    # By the Banker's total 0-9: the points of the Player's third card on which the Banker draws.
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    [0, 1, 2, 3, 4, 5, 6, 7, 9],
    [2, 3, 4, 5, 6, 7],
    [4, 5, 6, 7],
    [6, 7],
    [],
    [],
    [],
]
BANKER_DRAWS_IF_PLAYER_STOOD = [0, 1, 2, 3, 4, 5]
"""The draws of all rule documents: Washington, items 9 and 10, "Player Hand Rules" and "Banker
Hand Rules"; Mini Baccarat (pairs), "The Third Card Rule"; Pennsylvania, the two charts."""

MINI = {
    "version": games.DOCUMENT_VERSION,
    "rules": "washington",
    "name": MINI_NAME,
    "title": "Mini baccarat",
    "source": "Washington State Gambling Commission, Mini-Baccarat Game Rules, 4/12/2022",
    "decks": 8,
    "order": ORDER,
    "player_draws": PLAYER_DRAWS,
    "banker_draws": BANKER_DRAWS,
    "banker_draws_if_player_stood": BANKER_DRAWS_IF_PLAYER_STOOD,
    "burn": "by_first",
    "burn_ace": 1,
    "cut_from_end": 16,
    "rounds_after_cut": 1,
    "turned_by": "dealer",
    "shown": "at_once",
    "betting_closed_by": games.FIRST_CARD,
    "announced": True,
    "wagers": ["player", "banker", "tie"],
    "house": {
        "tie_pays": 8,
        "vigorish_permille": 50,
        "vigorish_rounding": "exact",
        "vigorish_when": "at_once",
        "areas": 9,
        "gallery": True,
        "ghost_hands": 3,
        "minimum_cents": 1000,
        "maximum_cents": 500000,
    },
}
"""The game of a shoe until another is loaded. Burning, the place of the cut card and the rounds
after it are common practice; `house` holds the choices of the house, by which the host settles
wagers."""


class Game(games.FamilyGame):
    """A game of baccarat, in the form that the rules use."""

    def _check_fields(self, value: "dict[str, object]") -> None:
        fields = set(MINI)
        if self.version == games.LAST_VERSION:
            fields.difference_update(NEW_FIELDS)
        if set(value) != fields:
            raise games.GameError("game document has missing or extra fields")

    def _check(self, value: "dict[str, object]") -> None:
        games.one_of(value, "order", (ORDER,))
        self.player_draws = _points(value["player_draws"], "player_draws")
        tables = value["banker_draws"]
        if not isinstance(tables, list) or len(tables) != 10:
            raise games.GameError("banker_draws must be a list of ten")
        self.banker_draws = [_points(table, "banker_draws") for table in tables]
        self.banker_draws_if_player_stood = _points(
            value["banker_draws_if_player_stood"], "banker_draws_if_player_stood"
        )
        self._check_possible()
        self.turned_by: str = games.one_of(value, "turned_by", TURNED_BY)
        self.announced = games.flag_in(value, "announced")
        self.wagers = _wagers(value["wagers"])
        self.hits = hits_of(self.wagers)
        """Bit n: a wager of this game depends on the n-th of `enums.HITS`."""

    def _check_possible(self) -> None:
        """Check that no hand draws to a natural: items 9 and 10 of the Washington rules, and all
        other rules."""
        for table in (self.player_draws, self.banker_draws_if_player_stood):
            if 8 in table or 9 in table:
                raise games.GameError("a hand would draw to a natural")
        if self.banker_draws[8] or self.banker_draws[9]:
            raise games.GameError("a hand would draw to a natural")


def document_of(name: str) -> bytes:
    """Return the document of the default game. Raises GameError for any other name."""
    if name != MINI_NAME:
        raise games.GameError("no game is called " + name)
    return games.encode(MINI)


HITS_OF_WAGER = {
    "player": (),
    "banker": (),
    "tie": (),
    "player_pair": ("player_pair",),
    "banker_pair": ("banker_pair",),
    "dragon_7": ("dragon_7",),
    "panda_8": ("panda_8",),
    "dragon_bonus_player": (),
    "dragon_bonus_banker": (),
    "fortune_7": ("fortune_7",),
    "golden_8": ("golden_8",),
    "heavenly_9": ("heavenly_9", "heavenly_9_both"),
    "blazing_7s": ("blazing_7s_two", "blazing_7s_three"),
    "cover_all": (
        "fortune_7", "golden_8", "heavenly_9", "heavenly_9_both", "blazing_7s_two",
        "blazing_7s_three",
    ),
}  # fmt: skip
"""Every wager, with the hits that it depends on besides winner, totals, margin and naturals."""


def hits_of(wagers: "list[str]") -> int:
    """Return the hits that `wagers` depend on; bit n is the n-th of `enums.HITS`."""
    hits = 0
    for wager in wagers:
        for name in HITS_OF_WAGER[wager]:
            hits |= 1 << enums.HITS.index(name)
    return hits


def _points(table: object, field: str) -> bytes:
    """Return the points 0-9 in `table`, each once and ascending."""
    if not isinstance(table, list):
        raise games.GameError(field + " must be a list")
    before = -1
    for point in table:
        if type(point) is not int or not before < point <= 9:
            raise games.GameError(field + " must be points 0 to 9, ascending")
        before = point
    return bytes(table)


def _wagers(value: object) -> "list[str]":
    if not isinstance(value, list) or not value:
        raise games.GameError("wagers must be a list")
    for place in range(len(value)):
        wager = value[place]
        if not isinstance(wager, str) or wager not in HITS_OF_WAGER:
            raise games.GameError("this shoe reports no outcome of the wager " + str(wager)[:20])
        if wager in value[:place]:
            raise games.GameError("the wager " + wager + " comes twice")
    return value
