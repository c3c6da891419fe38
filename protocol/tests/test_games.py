"""The document of a game: what is accepted, and every way to make it wrong."""

import random

from protocol.tests.helpers import raised, seed_random
from sabot_protocol import baccarat, cbor, enums, games

_POINTS = ("player_draws", "banker_draws_if_player_stood")


def _document(value, size=2000):
    buf = bytearray(size)
    return bytes(buf[: cbor.encode_into(buf, 0, value)])


def _mini(**changed):
    value = dict(baccarat.MINI)
    value.update(changed)
    return value


def _without(field):
    value = _mini()
    del value[field]
    return value


def _refused(value):
    document = value if isinstance(value, bytes) else _document(value)
    return raised(games.GameError, baccarat.Game, document)


def test_mini_is_read_as_encoded():
    document = baccarat.document_of("mini")
    assert len(document) <= games.MAX_DOCUMENT
    assert cbor.decode(document, 0, len(document)) == baccarat.MINI
    game = baccarat.Game(document)
    assert game.document == document and len(game.sha256) == 32
    assert (game.name, game.title, game.decks) == ("mini", "Mini baccarat", 8)
    assert (game.rounds_after_cut, game.cut_from_end) == (1, 16)
    assert list(game.player_draws) == baccarat.MINI["player_draws"]
    assert list(game.banker_draws_if_player_stood) == baccarat.MINI["banker_draws_if_player_stood"]
    assert [list(table) for table in game.banker_draws] == baccarat.MINI["banker_draws"]


def test_a_document_without_a_family_is_a_game_of_baccarat():
    game = games.game_of(baccarat.document_of("mini"))
    assert isinstance(game, baccarat.Game) and game.family == games.BACCARAT


def test_a_document_of_an_unknown_family_is_refused():
    for family in ("baccarat", "rummy", "", None, 1):
        document = _document(_mini(family=family))
        assert raised(games.GameError, games.game_of, document), family
        assert raised(games.GameError, baccarat.Game, document), family


def test_an_unknown_game_has_no_document():
    for name in ("maxi", "", "Mini", "ez"):
        assert raised(games.GameError, baccarat.document_of, name), name


def test_a_game_with_too_long_or_unencodable_fields_has_no_document():
    assert games.encode(baccarat.MINI) == baccarat.document_of("mini")
    for house in ({"note": "x" * 600}, {"odds": 1.5}, {"odds": 1 << 64}, {1: 1}):
        assert raised(games.GameError, games.encode, _mini(house=house)), house


def test_the_banker_draws_as_in_the_rules_of_the_source():
    # "Banker Hand Rules" of the source, by Banker's total: the third cards on which it stands.
    stands_on = {3: (8,), 4: (0, 1, 8, 9), 5: (0, 1, 2, 3, 8, 9), 6: (0, 1, 2, 3, 4, 5, 8, 9)}
    for total in range(8):
        stands = range(10) if total == 7 else stands_on.get(total, ())
        expected = [point for point in range(10) if point not in stands]
        assert baccarat.MINI["banker_draws"][total] == expected, total


def test_a_truncated_document_is_refused():
    document = baccarat.document_of("mini")
    for size in range(len(document)):
        assert _refused(document[:size]), size


def test_bytes_after_a_document_are_refused():
    assert _refused(baccarat.document_of("mini") + b"\x00")
    assert _refused(baccarat.document_of("mini") * 2)


def test_a_document_that_is_not_a_map_is_refused():
    for value in (None, 1, "mini", b"mini", [], [baccarat.MINI], {}, {"mini": baccarat.MINI}):
        assert _refused(value), value


def test_a_missing_field_is_refused():
    for field in baccarat.MINI:
        assert _refused(_without(field)), field


def test_an_extra_field_is_refused():
    for field in ("tie_pays", "", "Version", "version "):
        assert _refused(_mini(**{field: 1})), field
        value = _without("decks")
        value[field] = 8
        assert _refused(value), field


def test_a_document_not_in_deterministic_form_is_refused():
    document = baccarat.document_of("mini")
    at = document.find(b"\x65decks\x08")
    assert at > 0
    assert _refused(document.replace(b"\x65decks\x08", b"\x65decks\x18\x08"))
    assert _refused(document.replace(b"\x65decks\x08", b"\x78\x05decks\x08"))
    assert _refused(document.replace(b"\x65decks\x08", b"\x65decks\xf9\x48\x00"))  # 8.0
    assert _refused(document.replace(b"\x65decks\x08", b"\x65decks\xc2\x41\x08"))  # a tag
    assert _refused(b"\xbf" + document[1:] + b"\xff")
    first, last = b"\x64burn\x68by_first", b"\x64name\x64mini"
    assert document[:1] == b"\xb4" and document[1:].startswith(first + last)
    rest = document[1 + len(first + last) :]
    assert _refused(b"\xb4" + last + first + rest)  # keys out of order
    assert _refused(b"\xb5" + first + first + last + rest)  # a key twice


def test_an_unknown_version_is_refused():
    for version in (0, 1, 2, 4, -1, 256, True, False, None, "1", b"\x01", [1]):
        assert _refused(_mini(version=version)), version


def test_a_document_of_version_2_is_read_and_its_first_card_closes_betting():
    value = _without("rules")
    del value["betting_closed_by"]
    value["version"] = 2
    game = baccarat.Game(_document(value))
    assert (game.version, game.rules, game.betting_closed_by) == (2, None, "first_card")
    value["rules"] = "maryland"
    assert _refused(value), "a field of version 3"


def test_texts_empty_too_long_or_not_text_are_refused():
    for field, longest in (("name", 16), ("title", 40), ("source", 120)):
        for text in ("", "x" * (longest + 1), None, 1, True, b"mini", ["mini"]):
            assert _refused(_mini(**{field: text})), (field, text)
        assert not _refused(_mini(**{field: "x" * longest})), field
        assert not _refused(_mini(**{field: "x"})), field


def test_decks_rounds_after_the_cut_card_and_cards_after_it_out_of_range_are_refused():
    for decks in (0, 9, 11, 255, -1, None, True, "8", b"\x08", [8]):
        assert _refused(_mini(decks=decks)), decks
    for rounds in (3, 255, -1, None, True, False, "1", []):
        assert _refused(_mini(rounds_after_cut=rounds)), rounds
    for count in (0, 105, 416, -1, None, True, False, "16", []):
        assert _refused(_mini(cut_from_end=count)), count
    for decks in range(1, 9):
        assert baccarat.Game(_document(_mini(decks=decks))).decks == decks
    for rounds in range(3):
        assert baccarat.Game(_document(_mini(rounds_after_cut=rounds))).rounds_after_cut == rounds
    for count in (1, 16, 104):
        assert baccarat.Game(_document(_mini(cut_from_end=count))).cut_from_end == count


_IMPOSSIBLE = (
    [10], [0, 10], [-1], [0, 0], [1, 0], [5, 4, 3], [0, 1, 2, 2], [256], [1 << 40], [True],
    [0, True], [None], ["1"], [b"\x01"], [[0]], [{}], list(range(11)), None, 5, "012", b"\x00",
    {},
)  # fmt: skip


def test_a_table_that_is_impossible_is_refused():
    for table in _IMPOSSIBLE:
        for field in _POINTS:
            assert _refused(_mini(**{field: table})), (field, table)
        for total in range(10):
            tables = list(baccarat.MINI["banker_draws"])
            tables[total] = table
            assert _refused(_mini(banker_draws=tables)), (total, table)


def test_a_banker_table_without_ten_rows_is_refused():
    tables = baccarat.MINI["banker_draws"]
    others = (None, 10, "", {}, b"\x00" * 10, [0] * 10)
    for value in ([], tables[:9], tables + [[]], tables * 2) + others:
        assert _refused(_mini(banker_draws=value)), value


def test_any_other_order_burn_or_way_to_show_is_refused():
    for field, allowed in (
        ("order", ("PBPB",)),
        ("burn", ("by_first", "one", "none")),
        ("turned_by", ("dealer", "players")),
        ("shown", ("at_once", "after_reveal")),
        ("betting_closed_by", ("first_card", "dealer")),
        ("rules", ("washington", "pairs", "maryland", "pennsylvania")),
    ):
        for value in allowed:
            game = baccarat.Game(_document(_mini(**{field: value})))
            assert field == "order" or getattr(game, field) == value
        others = (None, True, 0, 1, [], {}, allowed[0].encode(), [allowed[0]])
        for value in ("", "PPBB", "two", "player", "never", allowed[0] + " ") + others:
            assert _refused(_mini(**{field: value})), (field, value)


def test_an_ace_burns_one_to_eleven():
    for count in range(1, 12):
        assert baccarat.Game(_document(_mini(burn_ace=count))).burn_ace == count
    for count in (0, 12, -1, None, True, "1", []):
        assert _refused(_mini(burn_ace=count)), count


def test_announced_is_a_flag():
    for announced in (True, False):
        assert baccarat.Game(_document(_mini(announced=announced))).announced is announced
    for value in (0, 1, None, "", "true", []):
        assert _refused(_mini(announced=value)), value


def test_a_hand_that_would_draw_to_a_natural_is_refused():
    for natural in ([8], [9], [8, 9], [0, 1, 2, 3, 4, 5, 9], list(range(10))):
        assert _refused(_mini(player_draws=natural)), natural
        assert _refused(_mini(banker_draws_if_player_stood=natural)), natural
    for total in (8, 9):
        tables = list(baccarat.MINI["banker_draws"])
        tables[total] = [0]
        assert _refused(_mini(banker_draws=tables)), total


def test_a_wager_whose_outcome_the_device_does_not_report_is_refused():
    for wager in (
        "",
        "chemin",
        "Tie",
        "player_natural",
        "lucky_6",
        "dragon",
        1,
        None,
        True,
        b"tie",
        ["tie"],
    ):
        assert _refused(_mini(wagers=[wager])), wager
        assert _refused(_mini(wagers=["player", "banker", wager])), wager
    for wagers in (None, [], {}, "tie", 0, True, b"tie"):
        assert _refused(_mini(wagers=wagers)), wagers


def test_a_wager_that_comes_twice_is_refused():
    for wager in baccarat.HITS_OF_WAGER:
        assert _refused(_mini(wagers=[wager, wager])), wager
        others = [each for each in baccarat.HITS_OF_WAGER if each != wager]
        assert _refused(_mini(wagers=[wager] + others[:3] + [wager])), wager


def test_the_hits_of_a_game_are_those_of_its_wagers():
    # mini-baccarat-pairs; Maryland, chapter 7; Pennsylvania, "Dragon Bonus", "5 Treasures Bonus"
    treasures = "fortune_7 golden_8 heavenly_9 heavenly_9_both blazing_7s_two blazing_7s_three"
    for wagers, hits in (
        ("player banker tie", ""),
        ("player_pair", "player_pair"),
        ("tie banker_pair player_pair", "player_pair banker_pair"),
        ("dragon_7", "dragon_7"),
        ("panda_8 dragon_7", "dragon_7 panda_8"),
        ("dragon_bonus_player dragon_bonus_banker", ""),
        ("heavenly_9", "heavenly_9 heavenly_9_both"),
        ("blazing_7s", "blazing_7s_two blazing_7s_three"),
        ("fortune_7 golden_8", "fortune_7 golden_8"),
        ("cover_all", treasures),
        ("cover_all dragon_7 fortune_7", "dragon_7 " + treasures),
    ):
        game = baccarat.Game(_document(_mini(wagers=wagers.split())))
        found = [enums.HITS[n] for n in range(len(enums.HITS)) if game.hits >> n & 1]
        assert found == hits.split(), wagers
        assert game.wagers == wagers.split() and game.hits >> len(enums.HITS) == 0
    assert {hit for hits in baccarat.HITS_OF_WAGER.values() for hit in hits} == set(enums.HITS)


def test_house_must_be_a_map_of_a_few_plain_choices():
    for house in (None, [], "", 0, True, b"", [["odds", 1]]):
        assert _refused(_mini(house=house)), house
    for choice in (None, -1, [], [1], {}, {"a": 1}, b"", b"40"):
        assert _refused(_mini(house={"odds": choice})), choice
        assert _refused(_mini(house={"areas": 9, "odds": choice})), choice
    most = {"c%d" % n: n for n in range(games.MAX_HOUSE)}
    for house in ({}, most, {"odds": "40:1", "gallery": False, "maximum": (1 << 64) - 1}):
        assert baccarat.Game(_document(_mini(house=house))).house == house
    most["one more"] = 1
    assert _refused(_mini(house=most))


def _of_size(size):
    """Return a good document of this many bytes."""
    plain = len(_document(_mini(house={"note": ""})))
    for length in range(size - plain - 3, size - plain + 1):
        document = _document(_mini(house={"note": "x" * length}))
        if len(document) == size:
            return document
    raise AssertionError(size)


def test_a_document_of_the_largest_size_is_accepted_and_one_byte_more_is_refused():
    assert not _refused(_of_size(games.MAX_DOCUMENT))
    assert _refused(_of_size(games.MAX_DOCUMENT + 1))
    assert _refused(_document(_mini(house={"note": "x" * 600})))
    assert _refused(bytes(5000))


def test_a_damaged_document_is_refused_or_is_another_whole_game():
    seed_random()
    document = baccarat.document_of("mini")
    for _ in range(1500):
        damaged = bytearray(document)
        for _ in range(random.choice((1, 1, 2, 5))):
            damaged[random.randrange(len(damaged))] = random.getrandbits(8)
        try:
            game = baccarat.Game(bytes(damaged))
        except games.GameError:
            continue
        value = cbor.decode(damaged, 0, len(damaged))
        assert _document(value) == damaged
        assert 1 <= game.decks <= 8 and len(game.banker_draws) == 10
        assert game.player_draws == bytes(value["player_draws"])
        assert len(game.wagers) == len(set(game.wagers)) and game.hits < 1 << len(enums.HITS)
