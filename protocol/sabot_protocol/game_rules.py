"""Whether a game contradicts the rule document that it names (`rules`).

The shoe takes no such game, as `sabot games` makes none. README.md, "What a game may not
contradict", has each rule with its clause. A shoe loads this module only when it gets a game.
"""

from sabot_protocol import baccarat, games

_DEALER = games.BETTING_CLOSED_BY[1]
_PLAYERS = baccarat.TURNED_BY[1]
_AT_ONCE = games.SHOWN[0]

_BASE = ("player", "banker", "tie")
_EZ = ("dragon_7", "panda_8")
_PAIRS = ("player_pair", "banker_pair")
_BONUS = ("dragon_bonus_player", "dragon_bonus_banker")
_TREASURES = ("fortune_7", "golden_8", "heavenly_9", "blazing_7s", "cover_all")

_OFFERED = {
    "washington": (),
    "pairs": (_PAIRS,),
    "maryland": (_EZ, _BONUS),
    "pennsylvania": (_BONUS, _TREASURES),
}
"""By rule document: the wagers besides _BASE. Those of a group are offered together or not."""

_FEWEST_DECKS = {"washington": 2, "pairs": 8, "maryland": 1, "pennsylvania": 8}
_TABLES = {"maryland": ("A", "B", "C"), "pennsylvania": ("A",)}
"""The paytables of the Dragon Bonus."""
_PERMILLE = 50
_LEAST_TIE = 8
_MOST_AREAS = 9


def game_to_deal(document: bytes) -> games.FamilyGame:
    """Return the game of a document for a shoe. Raises GameError for a document that is not a game
    of DOCUMENT_VERSION, or that contradicts its rule document."""
    game = games.game_of(document)
    if not isinstance(game, baccarat.Game):
        return game  # the class of its family has checked all of it
    if game.rules is None:
        raise games.GameError("game document of version " + str(game.version) + ": make it again")
    _check_dealing(game, game.rules)
    _check_wagers(game, game.rules)
    _check_house(game, game.rules)
    return game


def _require(right: bool, message: str) -> None:
    if not right:
        raise games.GameError(message)


def _check_dealing(game: baccarat.Game, by: str) -> None:
    tables = [list(table) for table in game.banker_draws]
    _require(
        list(game.player_draws) == baccarat.PLAYER_DRAWS
        and tables == baccarat.BANKER_DRAWS
        and list(game.banker_draws_if_player_stood) == baccarat.BANKER_DRAWS_IF_PLAYER_STOOD,
        "the draws are not those of the rules",
    )
    _require(game.decks >= _FEWEST_DECKS[by], by + ": not with " + str(game.decks) + " decks")
    announces = by == "maryland" or by == "pennsylvania"
    _require(
        (game.betting_closed_by == _DEALER) == announces,
        by + ": betting is closed by the " + ("dealer" if announces else "first card"),
    )
    hidden = game.shown != _AT_ONCE
    by_players = game.turned_by == _PLAYERS
    _require(hidden or not by_players, "cards that players turn are shown after_reveal")
    _require(by_players or not hidden or not announces, by + ": the dealer's cards lie face up")
    _require(not by_players or by != "pairs", by + ": the dealer turns the cards")
    _require(game.announced is True or by != "maryland", by + ": the dealer announces the result")


def _check_wagers(game: baccarat.Game, by: str) -> None:
    left = list(game.wagers)
    for group in (_BASE,) + _OFFERED[by]:
        offered = [wager for wager in group if wager in left]
        _require(
            len(offered) == len(group) or (not offered and group is not _BASE),
            "offered only together: " + " ".join(group),
        )
        for wager in offered:
            left.remove(wager)
    _require(not left, by + ": no wager " + " ".join(left))


def _check_house(game: baccarat.Game, by: str) -> None:
    house, wagers = game.house, game.wagers
    ties = _number(house, "tie_pays", _LEAST_TIE)
    exactly = by == "pairs" or by == "pennsylvania"
    _require(
        ties == _LEAST_TIE or (ties > _LEAST_TIE and not exactly),
        by + ": a tie does not pay " + str(ties),
    )
    ez = _EZ[0] in wagers
    due = 0 if ez else _PERMILLE
    permille = _number(house, "vigorish_permille", due)
    _require(
        permille == due or (by == "washington" and permille < due),
        by + ": the vigorish is " + str(due) + " permille, not " + str(permille),
    )
    rounding = house.get("vigorish_rounding", "exact")
    _require(
        rounding == "exact" or (rounding == "up_25" and by == "maryland" and not ez),
        by + ": the vigorish is not rounded so",
    )
    at_once = by == "pennsylvania" or ez
    _require(
        not at_once or house.get("vigorish_when", "at_once") == "at_once",
        by + ": no vigorish is owed",
    )
    if _BONUS[0] in wagers:
        _require(house.get("dragon_bonus") in _TABLES[by], by + ": no such table of Dragon Bonus")
    _require(_number(house, "areas", 1) in range(1, _MOST_AREAS + 1), "areas must be 1 to 9")
    guests = by == "washington"
    _require(guests or not house.get("gallery"), by + ": no wagers from a gallery")
    _require(guests or not _number(house, "ghost_hands", 0), by + ": no ghost hands")


def _number(house: dict, name: str, default: int) -> int:  # type: ignore[type-arg]
    number = house.get(name, default)
    _require(type(number) is int, "house." + name + " must be a number")
    return number  # type: ignore[no-any-return]
