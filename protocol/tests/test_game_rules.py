"""What a game may not contradict, read from the rule documents once more."""

from protocol.tests.helpers import raised
from sabot_protocol import baccarat, cbor, games
from sabot_protocol.game_rules import game_to_deal

_BASE = ["player", "banker", "tie"]
_BONUS = ["dragon_bonus_player", "dragon_bonus_banker"]
_TREASURES = ["fortune_7", "golden_8", "heavenly_9", "blazing_7s", "cover_all"]
_EZ = ["dragon_7", "panda_8"]
_MIDI = {"turned_by": "players", "shown": "after_reveal"}

# Good games: each rule document with what it allows.
_WASHINGTON = {}
_PAIRS = {"rules": "pairs", "wagers": _BASE + ["player_pair", "banker_pair"], "house": {}}
_MARYLAND = {
    "rules": "maryland",
    "betting_closed_by": "dealer",
    "wagers": _BASE + _BONUS,
    "house": {"dragon_bonus": "C", "tie_pays": 9, "vigorish_rounding": "up_25"},
}
_EZ_GAME = {
    "rules": "maryland",
    "betting_closed_by": "dealer",
    "wagers": _BASE + _EZ,
    "house": {"vigorish_permille": 0},
}
_PENNSYLVANIA = {
    "rules": "pennsylvania",
    "betting_closed_by": "dealer",
    "wagers": _BASE + _BONUS + _TREASURES,
    "house": {"dragon_bonus": "A"},
}
_GAMES = (_WASHINGTON, _PAIRS, _MARYLAND, _EZ_GAME, _PENNSYLVANIA)


def _document(game, changes):
    value = dict(baccarat.MINI)
    value.update(game)
    value.update(changes)
    if "house" in changes:
        value["house"] = dict(game.get("house", {}))
        value["house"].update(changes["house"])
    buf = bytearray(2000)
    return bytes(buf[: cbor.encode_into(buf, 0, value)])


def _refused(game, **changes):
    return raised(games.GameError, game_to_deal, _document(game, changes))


def test_the_games_of_the_rule_documents_are_dealt():
    for game in _GAMES:
        assert game_to_deal(_document(game, {})).rules == game.get("rules", "washington")
    for game in (_MARYLAND, _EZ_GAME, _PENNSYLVANIA):
        assert not _refused(game, **_MIDI)


def test_other_draws_are_refused():
    # Washington, items 9 and 10; pairs, The Third Card Rule; Pennsylvania, the charts.
    tables = [list(table) for table in baccarat.BANKER_DRAWS]
    tables[3] = list(range(10))  # also after an 8
    for game in _GAMES:
        assert _refused(game, player_draws=[0, 1, 2, 3, 4])
        assert _refused(game, player_draws=[0, 1, 2, 3, 4, 5, 6])
        assert _refused(game, banker_draws=tables)
        assert _refused(game, banker_draws_if_player_stood=[0, 1, 2, 3, 4])


def test_decks_are_those_of_the_document():
    # Washington, item 1: "a multiple deck shoe using up to 8 decks"; pairs and Pennsylvania: eight.
    for game, fewest in ((_WASHINGTON, 2), (_PAIRS, 8), (_MARYLAND, 1), (_PENNSYLVANIA, 8)):
        for decks in range(1, 9):
            assert bool(_refused(game, decks=decks)) == (decks < fewest), (game, decks)


def test_no_more_bets_closes_betting_where_the_document_says_so():
    # Maryland, chapter 7 D; Pennsylvania, paragraph 2; Washington, item 3: the first card.
    for game in (_WASHINGTON, _PAIRS):
        assert _refused(game, betting_closed_by="dealer")
    for game in (_MARYLAND, _EZ_GAME, _PENNSYLVANIA):
        assert _refused(game, betting_closed_by="first_card")


def test_who_turns_the_cards_and_when_they_show():
    for game in _GAMES:
        assert _refused(game, turned_by="players"), "the shoe would show them before the players"
    # Washington, item 5: "face down, face up, or any combination".
    assert not _refused(_WASHINGTON, shown="after_reveal")
    assert not _refused(_WASHINGTON, **_MIDI)
    # Pairs, paragraph 1: "all cards in Mini-Baccarat are dealt by the dealer".
    assert not _refused(_PAIRS, shown="after_reveal")
    assert _refused(_PAIRS, **_MIDI)
    # Pennsylvania, paragraph 2: the dealer's cards are placed face up.
    for game in (_MARYLAND, _EZ_GAME, _PENNSYLVANIA):
        assert _refused(game, shown="after_reveal")


def test_maryland_announces():
    for game in _GAMES:  # Maryland, chapter 11 A: "the dealer shall announce"
        assert bool(_refused(game, announced=False)) == (game.get("rules") == "maryland")


def test_wagers_are_those_of_the_document_and_come_in_groups():
    for game in _GAMES:
        assert not _refused(game, wagers=list(reversed(game.get("wagers", _BASE))))
        for missing in _BASE:
            assert _refused(game, wagers=[wager for wager in _BASE if wager != missing])
    groups = (["player_pair", "banker_pair"], _BONUS, _EZ, _TREASURES)
    allowed = (
        (_WASHINGTON, ()),
        (_PAIRS, (groups[0],)),
        (_MARYLAND, (_BONUS,)),
        (_EZ_GAME, (_BONUS, _EZ)),
        (_PENNSYLVANIA, (_BONUS, _TREASURES)),
    )
    for game, of_game in allowed:
        for group in groups:
            base = _BASE + (_EZ if game is _EZ_GAME and group is not _EZ else [])
            house = {"dragon_bonus": "A"}
            refused = _refused(game, wagers=base + group, house=house)
            assert bool(refused) == (group not in of_game), (game, group)
            assert _refused(game, wagers=base + group[:1], house=house), (game, group)


def test_what_a_tie_pays():
    # Washington, item 8, and Maryland, 12 B: at least 8 to 1; pairs and Pennsylvania: 8 to 1.
    for game in _GAMES:
        for pays in (0, 1, 7, True, "8"):
            assert _refused(game, house={"tie_pays": pays}), pays
        assert not _refused(game, house={"tie_pays": 8})
    for game, more in ((_WASHINGTON, True), (_MARYLAND, True), (_PAIRS, False)):
        assert bool(_refused(game, house={"tie_pays": 9})) != more


def test_vigorish_is_that_of_the_document():
    # Washington, item 8: "up to 5%"; EZ: none (Maryland, 1 B(2)); all others: 5 percent.
    for game, allowed in (
        (_WASHINGTON, range(51)),
        (_PAIRS, (50,)),
        (_MARYLAND, (50,)),
        (_EZ_GAME, (0,)),
        (_PENNSYLVANIA, (50,)),
    ):
        for permille in (0, 1, 49, 50, 51, 500, 1000):
            refused = _refused(game, house={"vigorish_permille": permille})
            assert bool(refused) == (permille not in allowed), (game, permille)
        # Maryland, 12 D(1): "25 cents or the next highest multiple"; the nearest can be lower.
        for rounding in ("exact", "up_25", "nearest_25", "down_25", "", 25, None):
            allowed = ("exact", "up_25") if game is _MARYLAND else ("exact",)
            rounded = _refused(game, house={"vigorish_rounding": rounding})
            assert bool(rounded) == (rounding not in allowed), (game, rounding)
        later = _refused(game, house={"vigorish_when": "marked"})
        assert bool(later) == (game in (_EZ_GAME, _PENNSYLVANIA))


def test_a_dragon_bonus_needs_a_table_of_its_document():
    for table in ("A", "B", "C", "D", "none", 1):  # Maryland, 12 F; Pennsylvania, Dragon Bonus
        house = {"dragon_bonus": table}
        assert bool(_refused(_MARYLAND, house=house)) == (table not in ("A", "B", "C"))
        assert bool(_refused(_PENNSYLVANIA, house=house)) == (table != "A")


def test_areas_gallery_and_ghost_hands():
    for game in _GAMES:
        for areas in (0, 10, True, "9"):
            assert _refused(game, house={"areas": areas}), areas
        only = game is not _WASHINGTON  # Washington, items 2 and 4, Ghost hands
        assert bool(_refused(game, house={"gallery": True})) == only
        assert bool(_refused(game, house={"ghost_hands": 1})) == only
        assert not _refused(game, house={"gallery": False, "ghost_hands": 0})


def test_a_document_of_version_2_is_not_taken():
    value = dict(baccarat.MINI, version=2)
    del value["rules"], value["betting_closed_by"]
    buf = bytearray(2000)
    document = bytes(buf[: cbor.encode_into(buf, 0, value)])
    assert baccarat.Game(document).version == 2
    assert raised(games.GameError, game_to_deal, document)
