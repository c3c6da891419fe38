"""Compares the dealing with a second dealer, who looks ahead in the pile, and with tables."""

import random

from firmware.tests.support.table import (
    BURNED,
    CARDS,
    DEALT,
    HANDS,
    INPUTS,
    ROUND_OPEN,
    SITUATIONS,
    Table,
    plan_of,
)
from protocol.tests.helpers import seed_random, times
from sabot_protocol import cards, enums, events


def _deal(table, pile, after_cut=1):
    """Deal `pile`, with a cut card in it, from loading to the end, and check every event."""
    drawn = played = 0
    left = None  # rounds to be finished, once the cut card has come

    def pull(expected):
        nonlocal drawn
        drawn += 1
        recorded = table.play(cards.name_of(pile.pop(0)))
        assert [line for line in recorded if line[:4] != "lock"] == expected, (recorded, expected)

    def cut(cards_of_round):
        nonlocal left
        if pile[0] == cards.CUT_CARD:
            left = 1 + after_cut if cards_of_round else 1
            assert table.play(cards.name_of(pile.pop(0))) == ["cut_card %d" % left]

    assert table.play("lid+ lid-")[1:] == ["lid 0", "shoe_loaded 8 mini 4", "lock 1"]
    burn = BURNED[pile[0] % 13]
    pull(["card %s burn_first" % cards.name_of(pile[0]), "burn %d" % burn])
    for n in range(burn):
        assert table.shoe.burn_left == burn - n
        opened = ["betting_open"] if n == burn - 1 else []
        pull(["card %s burn" % cards.name_of(pile[0])] + opened)
    while True:
        assert (table.shoe.round, table.released) == (played + 1, True)
        cut(0)
        by_card = ["betting_closed card"]
        if random.getrandbits(1):
            assert table.play("next") == ["button next", "betting_closed button"]
            by_card = []
        plan = plan_of([card for card in pile[:7] if card != cards.CUT_CARD])
        for n, (position, after) in enumerate(plan):
            cut(n)
            assert table.released, (played, n)
            expected = by_card if n == 0 else []
            expected = expected + ["card %s %s" % (cards.name_of(pile[0]), position)] + after
            if n == len(plan) - 1:
                played += 1
                if left:
                    left -= 1
                if left == 0:
                    expected.append("shoe_ended cut_card %d %d" % (played, drawn + 1))
                    expected.append("composition 0 416")
            pull(expected)
        assert not table.released
        if left == 0:
            return
        assert table.play("next") == ["button next", "betting_open", "lock 1"]


def _shuffled():
    pile = [card % 52 for card in range(416)]
    for i in range(415, 0, -1):
        j = random.randint(0, i)
        pile[i], pile[j] = pile[j], pile[i]
    return pile


def test_random_shoes_are_dealt_as_by_the_second_dealer():
    seed_random()
    table = Table()
    for n in range(12):  # one after another on the same shoe
        pile = _shuffled()
        pile.insert(random.choice((402, 400, 300, random.randint(12, 410 - 12))), cards.CUT_CARD)
        _deal(table, pile)
        assert table.shoe.shoe == 8 + n
        assert enums.PHASES[table.shoe.phase] == "ended"


def test_any_first_card_burns_as_many_as_its_points():
    for rank in range(13):
        for suit in range(4):
            table = Table("lid+ lid-")
            recorded = table.play(cards.name_of(13 * suit + rank))
            assert recorded[1:] == ["burn %d" % BURNED[rank]], recorded
            for n in range(BURNED[rank]):
                opened = ["betting_open"] if n + 1 == BURNED[rank] else []
                name = ("5D", "6H")[n % 2]
                assert table.play(name) == ["card %s burn" % name] + opened, (rank, n)


def test_one_card_is_burned_face_down_or_none_if_the_game_says_so():
    assert Table("lid+", burn="one").play("lid-") == [
        "lid 0", "shoe_loaded 8 mini 4", "burn 1", "lock 1",
    ]  # fmt: skip
    for name in ("AC", "KC", "9S"):
        table = Table("lid+ lid-", burn="one")
        assert table.shoe.burn_left == 1 and enums.PHASES[table.shoe.phase] == "burning"
        assert table.play(name) == ["card %s burn" % name, "betting_open"]
    table = Table("lid+", burn="none")
    assert table.play("lid-") == [
        "lid 0",
        "shoe_loaded 8 mini 4",
        "betting_open",
        "lock 1",
    ]
    assert table.play("CUT 4C")[:2] == ["cut_card 1", "betting_closed card"]


def test_a_card_that_cannot_be_read_is_burned_unseen_if_one_is_burned():
    table = Table("lid+ lid- ?no_code", burn="one")
    assert table.play("!unseen key-")[-3:] == ["betting_open", "lock 1", "key 0"]


def test_an_ace_burns_eleven_if_the_house_says_so():
    table = Table("lid+ lid-", burn_ace=11)
    assert table.play("AC") == ["card AC burn_first", "burn 11"]
    for n in range(11):
        recorded = table.play(("5D", "6H")[n % 2])
    assert recorded[1:] == ["betting_open"]


def test_the_result_has_the_margin_and_only_hits_of_the_games_wagers():
    rounds = (
        ("KC KH KD KS 9C 2C", "player 9 2 0 0 7", "player_pair banker_pair heavenly_9"),
        ("KC KH QD QS JC 7C", "banker 0 7 0 0 7", "dragon_7 fortune_7"),
        ("KC KH QD 7S 8H", "player 8 7 0 0 1", "panda_8 golden_8"),
        ("7C 7D KC KD", "tie 7 7 0 0 0", "blazing_7s_two"),
        ("9C KD KC QD", "player 9 0 1 0 9", ""),
    )
    for wagers, hits in (
        (["player"], ()),
        (["player_pair"], ("player_pair",)),
        (["dragon_7", "panda_8"], ("dragon_7", "panda_8")),
        (["fortune_7", "blazing_7s"], ("fortune_7", "blazing_7s_two", "blazing_7s_three")),
        (["cover_all"], enums.HITS[4:]),
    ):
        table = Table(DEALT, wagers=wagers)
        for dealt, result, every in rounds:
            recorded = [line for line in table.play(dealt) if line[:6] == "result"]
            expected = ["result " + result] + [hit for hit in every.split() if hit in hits]
            assert recorded == [" ".join(expected)], (wagers, recorded)
            table.play("next")


def test_every_result_names_the_game_that_was_dealt():
    table = Table(DEALT + " 9C 2D KC")
    actions = table.shoe.card_passed(cards.number_of("2H"))
    (result,) = [values for shape, _, _, values in actions if shape is events.RESULT]
    assert result[-1] == table.shoe.game.sha256


def test_betting_is_closed_by_the_button_or_by_the_first_card_and_once():
    assert Table(DEALT).play("next 4C 2D next") == [
        "button next", "betting_closed button", "card 4C player_1", "card 2D banker_1",
        "button next",
    ]  # fmt: skip
    assert Table(DEALT).play("4C next") == [
        "betting_closed card", "card 4C player_1", "button next",
    ]  # fmt: skip


def test_naturals_end_the_round_at_four_cards():
    for inputs, result in (
        ("9C 2D KC 2H", "result player 9 4 1 0 5"),
        ("2D 4C 2H 4D", "result banker 4 8 0 1 4"),
        ("9C 8D KC QH", "result player 9 8 1 1 1"),
        ("4C 9D 4H QH", "result banker 8 9 1 1 1"),
        ("9C 4D 9D 4H", "result tie 8 8 1 1 0"),
    ):
        assert Table(DEALT).play(inputs)[-2:] == [result, "lock 0"]


def test_the_cut_card_ends_the_shoe_wherever_it_comes_in_a_round():
    for after_cut in (0, 1, 2):
        for dealt in range(6):
            for closed in ("", "next "):
                names = CARDS.split()
                inputs = closed + " ".join(names[:dealt] + ["CUT"] + names[dealt:])
                table = Table(DEALT, rounds_after_cut=after_cut)
                recorded = table.play(inputs)
                assert not table.shoe.error
                rounds = 1 + after_cut if dealt else 1
                for _ in range(rounds - 1):
                    assert enums.PHASES[table.shoe.phase] == "between", (after_cut, dealt)
                    recorded = table.play("next " + CARDS)
                ended = "shoe_ended cut_card %d %d" % (rounds, 2 + 6 * rounds)
                assert recorded[-3:] == [ended, "composition 0 416", "lock 0"], (
                    after_cut,
                    dealt,
                    recorded,
                )


def test_a_misplaced_cut_card_stops_play_until_the_key():
    for name in ("no shoe", "first burn", "burning", "between", "burn between", "ended"):
        table = Table(SITUATIONS[name][0])
        phase, released = table.shoe.phase, table.released
        recorded = table.play("CUT")
        assert "error cut_card_misplaced CUT none" in recorded, name
        assert not table.released
        table.play("9S next")
        recorded = table.play("key+")
        assert recorded[:2] == ["key 1", "error_cleared cut_card_misplaced"], (name, recorded)
        assert (table.shoe.phase, table.released) == (phase, released), name
    table = Table(SITUATIONS["between"][0] + " CUT key+ key- next")
    recorded = table.play(CARDS)  # it came before this round's first card
    assert recorded[-3].startswith("shoe_ended cut_card 2 "), recorded


def test_a_second_cut_card_stops_play_and_does_not_add_rounds():
    for name in ROUND_OPEN:
        table = Table(SITUATIONS[name][0])
        if name != "last round":
            table.play("CUT")
        left = table.shoe.rounds_left
        recorded = table.play("CUT")
        expected = ["cut_card %d" % left, "error cut_card_misplaced CUT none", "lock 0"]
        assert recorded == expected, (name, recorded)
        assert table.play("key+")[1:] == ["error_cleared cut_card_misplaced", "lock 1"]
        assert table.shoe.rounds_left == left


def test_random_inputs_never_make_an_invalid_result():
    seed_random()
    rounds = 0
    resolved = {}
    tables = 0
    while tables < times(80, 16) or (tables < 80 and len(resolved) < len(enums.RESOLUTIONS)):
        tables += 1
        table = Table(cut_from_end=16, decks=random.choice((1, 8)))
        for _ in range(300):
            recorded = []
            if table.shoe.pending.waits():
                recorded = table.play(random.choice(HANDS))
            elif random.random() < 0.1 or table.shoe.error:
                table.play(random.choice(INPUTS))
            elif table.shoe.card_due():
                table.play(cards.name_of(random.randrange(52)))
            else:
                table.play(random.choice(("next", "lid+", "lid-", "key+", "key-")))
            for line in recorded:
                if line.startswith("resolved"):
                    resolved[line.split()[-1]] = True
        rounds += table.rounds
    assert rounds > tables // 2  # otherwise the inputs would test too little
    assert len(resolved) == len(enums.RESOLUTIONS), resolved
