"""Compares the cards that came out of a shoe with those that were put in."""

import random

from firmware.tests.support.table import Table
from protocol.tests.helpers import seed_random, some
from sabot_firmware.table.inventory import Inventory
from sabot_protocol import cards, enums


def _pile(decks=8, cut_from_end=None):
    """Return the cards of this many decks in random order, by name."""
    pile = [cards.name_of(card % 52) for card in range(52 * decks)]
    for i in range(len(pile) - 1, 0, -1):
        j = random.randint(0, i)
        pile[i], pile[j] = pile[j], pile[i]
    if cut_from_end is not None:
        pile.insert(len(pile) - cut_from_end, "CUT")
    return pile


def _deal(table, pile):
    """Deal `pile` to its end or the end of the shoe; return what was recorded at the last card."""
    table.play("lid+ lid-")
    recorded = []
    while pile and enums.PHASES[table.shoe.phase] != "ended":
        if not table.released:
            table.play("next")
        recorded = table.play(pile.pop(0))
    return recorded


def test_whole_decks_are_dealt_to_the_last_card_and_one_more_is_a_surplus():
    seed_random()
    for decks in range(1, 9):
        table = Table(decks=decks)
        _deal(table, _pile(decks))
        assert not table.shoe.error and table.shoe.cards == 52 * decks
        if not table.released:
            table.play("next")
        assert "error surplus_copy 7H none" in table.play("7H")


def test_one_copy_more_than_decks_is_a_surplus_and_not_before():
    for decks in range(1, 9):
        table = Table("lid+ lid- TC", decks=decks)
        for n in range(decks):
            assert "card 9S burn" in table.play("9S"), (decks, n)
        assert table.play("9S")[0] == "error surplus_copy 9S none"


def test_one_card_more_than_decks_is_too_many_though_it_has_no_copy_too_many():
    table = Table("lid+ lid- TC ?bad_code !unseen", decks=1)
    pile = [name for name in _pile(1) if name not in ("TC", "9S")]
    for name in pile + ["9S"]:
        if not table.released:
            table.play("next")
        recorded = table.play(name)
    assert "error card_too_many 9S none" in recorded
    assert table.shoe.cards == 52


def test_a_card_too_many_that_is_also_a_surplus_copy_is_a_surplus_copy():
    table = Table("lid+ lid- TC", decks=1)
    table.shoe.inventory.unread = 51
    assert table.play("TC")[0] == "error surplus_copy TC none"


def test_the_composition_of_a_random_shoe_is_what_was_pulled_whatever_was_read():
    """A card in ten cannot be read; the supervisor enters it, or leaves a burned one unseen."""
    seed_random()
    for _ in range(4):
        table = Table(cut_from_end=16)
        pile = _pile(cut_from_end=16)
        table.play("lid+ lid-")
        seen = [0] * 52
        unseen = 0
        while enums.PHASES[table.shoe.phase] != "ended":
            if not table.released:
                table.play("next")
            name = pile.pop(0)
            if name != "CUT":
                seen[cards.number_of(name)] += 1
            if random.random() > 0.1:
                table.play(name)
                continue
            table.play("?" + random.choice(("bad_code", "jam", "pushed_back", "reversed")))
            burned = enums.POSITIONS[table.shoe.pending.position] == "burn"
            if burned and "UNSEEN" in table.choices():
                seen[cards.number_of(name)] -= 1
                unseen += 1
                name = "unseen"
            table.play("key- !%s key-" % name)
        inventory = table.shoe.inventory
        assert list(inventory.counts) == seen and inventory.unread == unseen
        assert table.shoe.cards == 416 - len(pile)


def test_cards_are_missing_if_too_many_come_after_the_cut_card():
    seed_random()
    for allowed in some((14, 16), 2):
        for after in (allowed - 1, allowed, allowed + 1, 100):
            recorded = _deal(Table(cut_from_end=allowed), _pile(cut_from_end=after))
            missing = ["error cards_missing None none"] if after > allowed else []
            i = [line.split()[0] for line in recorded].index("composition")
            assert recorded[i + 1 :] == missing + ["lock 0"], (allowed, after)


def test_cards_that_were_not_read_are_not_missing():
    """The cut card comes out together with the card before or after it."""
    seed_random()
    for after, missing in ((16, False), (17, True)):
        for cut_first in (True, False):
            pile = _pile(cut_from_end=after)
            at = pile.index("CUT")
            pair = pile[at : at + 2] if cut_first else [pile[at - 1], "CUT"]
            left = pile[at + 2 :] if cut_first else pile[at + 1 :]
            table = Table(cut_from_end=16)
            _deal(table, pile[: at if cut_first else at - 1])
            if not table.released:
                table.play("next")
            table.play("?double_feed !%s !%s key-" % tuple(pair))
            while not table.shoe.can_change_game():
                if table.shoe.error:
                    table.play("key+ key-")
                recorded = table.play(left.pop(0) if table.released else "next")
            assert ("error cards_missing None none" in recorded) == missing, (after, cut_first)


def test_cards_missing_show_until_the_key_and_hold_back_the_next_shoe():
    table = Table("lid+ lid- AC 2C CUT 9C 9D TC TD", cut_from_end=16)
    assert enums.ERRORS[table.shoe.error] == "cards_missing"
    table.play("lid+ lid-")
    assert enums.PHASES[table.shoe.phase] == "first_burn" and not table.released
    assert table.play("key+") == ["key 1", "error_cleared cards_missing", "lock 1"]


def test_a_shoe_that_the_supervisor_ends_misses_no_cards():
    table = Table("lid+ lid- AC 2C CUT 9C key+ void", cut_from_end=16)
    assert enums.ERRORS[table.shoe.error] == "cards_missing", "the cut card ended it nevertheless"
    recorded = Table("lid+ lid- AC 2C CUT key+", cut_from_end=16).play("void")
    assert "error cards_missing None none" in recorded
    recorded = Table("lid+ lid- AC 2C 9C 9D TC TD key+ void", cut_from_end=16).play("burn")
    assert recorded == ["button burn", "shoe_ended supervisor 1 6", "composition 0 416"]
    recorded = Table("lid+ lid- AC 2C 9C CUT 9D TC TD key+ void", cut_from_end=16).play("burn")
    assert recorded == ["button burn", "shoe_ended supervisor 1 6", "composition 0 416"]


def test_a_new_shoe_of_cards_is_counted_from_nothing():
    table = Table("lid+ lid- AC 2C ?bad_code !void void burn")
    assert table.shoe.cards == 3
    table.play("lid+ lid-")
    assert table.shoe.cards == 0 and sum(table.shoe.inventory.counts) == 0
    for _ in range(8):
        assert "burn" in table.play("TC")[0]


def test_the_cut_card_and_the_test_card_are_no_part_of_the_composition():
    table = Table("lid+ lid- AC 2C CUT TEST key+ key- ?bad_code !CUT key- key+")
    assert table.shoe.cards == 2 and table.shoe.inventory.unread == 0


def test_cards_outside_a_shoe_in_play_are_not_counted_and_never_too_many():
    for inputs in ("", "lid+ lid- AC 2C CUT 9C 9D TC TD"):
        table = Table(inputs)
        before = bytes(table.shoe.inventory.counts), table.shoe.inventory.unread
        for _ in range(9):
            assert "card_not_due" in table.play("9S")[1]
        table.play("?double_feed")
        assert (bytes(table.shoe.inventory.counts), table.shoe.inventory.unread) == before


def test_a_count_that_is_full_stays_full():
    inventory = Inventory()
    inventory.load(8)
    for _ in range(300):
        inventory.count(5)
    assert inventory.counts[5] == 255 and inventory.drawn() == 300
