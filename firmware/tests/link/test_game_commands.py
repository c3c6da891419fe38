"""The host's commands `load_game` and `read_game` on a shoe without a board."""

import hashlib

from firmware.tests.support import boxes
from firmware.tests.support.commanding import (
    Shoe,
    document_with,
    done,
    load_game,
    load_part,
    refused,
    run,
)
from firmware.tests.test_store import Folder
from sabot_protocol import baccarat, cbor, enums, events, games, messages


def test_a_game_is_loaded_between_shoes_recorded_and_still_there_after_a_restart():
    with Folder() as folder:
        shoe = Shoe(folder)
        document = document_with(name="six decks", decks=6)
        assert done(load_game(shoe, document))
        assert (shoe.dealing.game.name, shoe.dealing.game.decks) == ("six decks", 6)
        (event,) = shoe.recorded()
        assert event[0] == events.GAME_LOADED.number
        assert event[7:] == ["six decks", shoe.dealing.game.sha256]
        shoe = Shoe(folder)
        assert shoe.dealing.game.document == document


def test_the_next_shoe_of_cards_is_dealt_by_the_game_that_was_loaded():
    with Folder() as folder:
        shoe = Shoe(folder)
        loaded = document_with(rules="maryland", betting_closed_by="dealer", burn="one", house={})
        assert done(load_game(shoe, loaded))
        shoe.load_cards()
        shoe.dealing.card_passed(0)
        assert not shoe.dealing.lock_released(), "the dealer has not called no more bets"
        shoe.dealing.pressed(enums.BUTTONS.index("next"))
        actions = shoe.dealing.card_passed(26)
        positions = [values[1] for shape, _, _, values in actions if shape is events.CARD]
        assert positions == [enums.POSITIONS.index("player_1")]


def test_a_game_of_another_family_is_kept_and_dealt_after_a_restart():
    with Folder() as folder:
        shoe = Shoe(folder)
        document = games.encode(boxes.HOUSE)
        assert done(load_game(shoe, document)) and shoe.restart_due
        assert shoe.dealing.game.family == "baccarat", "its code is loaded at the start"
        assert shoe.recorded()[-1][0] == events.GAME_LOADED.number
        after = Shoe(folder)
        assert after.dealing.game.family == "blackjack" and not after.restart_due
        assert done(load_game(after, games.encode(dict(boxes.HOUSE, decks=2))))
        assert after.dealing.game.decks == 2 and not after.restart_due


def test_a_shoe_takes_no_game_that_contradicts_its_rule_document():
    with Folder() as folder:
        shoe = Shoe(folder)
        for changes, why in (
            ({"player_draws": []}, "the draws are not those of the rules"),
            ({"house": {"tie_pays": 1}}, "washington: a tie does not pay 1"),
            ({"house": {"vigorish_permille": 500}}, "the vigorish is 50 permille, not 500"),
        ):
            refusal, detail = refused(load_game(shoe, document_with(**changes)))
            assert refusal == "invalid" and why in detail, detail
        assert shoe.store.load("game") is None


def test_a_kept_game_of_version_2_is_dealt_as_before_and_is_not_taken_again():
    old = dict(baccarat.MINI, version=2, name="old")
    del old["rules"], old["betting_closed_by"]
    buf = bytearray(2000)
    document = bytes(buf[: cbor.encode_into(buf, 0, old)])
    with Folder() as folder:
        shoe = Shoe(folder)
        shoe.store.save("game", document)
        shoe = Shoe(folder)
        assert shoe.dealing.game.name == "old"
        old["name"] = "older"
        again = bytes(buf[: cbor.encode_into(buf, 0, old)])
        reason = refused(load_game(shoe, again))
        assert reason == ("invalid", "game document of version 2: make it again")
        shoe.load_cards()
        for card in (0, 1):  # burn an ace and one
            shoe.dealing.card_passed(card)
        assert shoe.dealing.lock_released(), "the first card closes betting"


def test_a_game_is_refused_while_a_shoe_of_cards_is_in_play():
    with Folder() as folder:
        shoe = Shoe(folder)
        shoe.load_cards()
        cards_of_a_round = (0, 1, 8, 1, 12, 1)  # burn an ace and one; 9 and king make a natural
        for card in (None,) + cards_of_a_round:
            if card is not None:
                shoe.dealing.card_passed(card)
            refused(load_game(shoe, document_with(name="other")))
        assert shoe.dealing.game.name == "mini" and shoe.recorded() == []
        assert shoe.store.load("game") is None
        shoe.dealing.switched(1, True)
        for button in ("void", "burn"):  # ends the shoe of cards
            shoe.dealing.pressed(enums.BUTTONS.index(button))
        assert done(load_game(shoe, document_with(name="other")))


def test_a_game_that_is_damaged_or_wrong_is_refused_and_nothing_of_it_is_kept():
    good = document_with(name="other")
    bad = [good[:size] for size in range(0, len(good), 31)]
    bad += [good + b"\0", document_with(extra=1), document_with(decks=9), document_with(decks=True)]
    bad += [document_with(version=1), document_with(burn="two"), document_with(shown="never")]
    bad += [document_with(wagers=["chemin"]), document_with(wagers=["tie", "tie"]), bytes(901)]
    bad += [document_with(player_draws=[8]), document_with(house={"note": "x" * 600}), b""]
    bad += [document_with(house={"x" * 500: None}), document_with(wagers=["x" * 300])]
    bad += [document_with(version=4), document_with(name=""), document_with(name="x" * 17)]
    bad += [document_with(player_draws=[5, 4]), document_with(banker_draws=[[]] * 9), bytes(600)]
    bad += [document_with(source="x" * 121), document_with(banker_draws=[[10]] * 10)]
    bad += [b"\xa0", b"\x05"]
    with Folder() as folder:
        shoe = Shoe(folder)
        for document in bad:
            refused(load_game(shoe, document))
        assert shoe.dealing.game.name == "mini" and shoe.recorded() == []
        assert shoe.store.load("game") is None
        assert done(load_game(shoe, good))
        for document in bad:
            refused(load_game(shoe, document))
        assert shoe.dealing.game.name == "other"
        assert Shoe(folder).dealing.game.name == "other"


def test_a_document_may_come_in_parts_of_any_size():
    document = document_with(name="other", house={"note": "x" * 430})
    assert 850 < len(document) <= games.MAX_DOCUMENT
    for part_size in (1, 7, 399, 400):
        with Folder() as folder:
            shoe = Shoe(folder)
            assert done(load_game(shoe, document, part_size)), part_size
            assert shoe.dealing.game.document == document and shoe.game_parts is None
            assert len(shoe.recorded()) == 1
            assert Shoe(folder).dealing.game.document == document


def test_a_document_of_the_largest_size_is_loaded_and_a_longer_one_refused_at_once():
    with Folder() as folder:
        shoe = Shoe(folder)
        most = games.MAX_DOCUMENT - len(document_with(house={"note": ""})) - 2
        assert len(document_with(house={"note": "x" * most})) == games.MAX_DOCUMENT
        assert done(load_game(shoe, document_with(house={"note": "x" * most})))
        longer = document_with(house={"note": "x" * (most + 1)})
        assert refused(load_part(shoe, longer, 0, 400)) == ("bad_size", "900")
        for size in (0, 901, 1 << 40, (1 << 64) - 1):
            refused(load_part(shoe, longer, 0, 400, size))
            assert shoe.game_parts is None


def test_parts_out_of_order_overlapping_or_of_another_size_are_refused_and_nothing_is_kept():
    document = document_with(name="other")
    size = len(document)
    for wrong in (
        (400, 544, size + 1),  # another size
        (400, 544, size - 1),
        (401, 544, size),  # a hole
        (399, 544, size),  # overlapping
        (400, 400, size),  # empty
        (200, 400, size),
        (size, size, size),
        (1 << 40, size, size),
    ):
        with Folder() as folder:
            shoe = Shoe(folder)
            refused(load_part(shoe, document, 400, size))  # with nothing before it
            for offset in (0, 200):
                assert done(load_part(shoe, document, offset, offset + 200))
            refused(load_part(shoe, document, *wrong))
            assert shoe.game_parts is None, wrong
            refused(load_part(shoe, document, 400, size))  # it starts over
            assert shoe.dealing.game.name == "mini" and shoe.recorded() == []
            assert shoe.store.load("game") is None
            assert done(load_game(shoe, document)) and shoe.dealing.game.name == "other"


def test_a_part_that_is_too_long_or_ends_beyond_the_document_is_refused():
    document = document_with(name="other")
    with Folder() as folder:
        shoe = Shoe(folder)
        refused(load_part(shoe, document, 0, messages.MAX_GAME_PART + 1))
        refused(load_part(shoe, document, 0, 400, 399))
        assert done(load_part(shoe, document, 0, 400))
        refused(run(shoe, messages.LOAD_GAME, 1, 400, len(document), document[400:] + b"x"))
        assert shoe.game_parts is None


def test_a_first_part_starts_the_document_over():
    one, other = document_with(name="one"), document_with(name="other", decks=6)
    with Folder() as folder:
        shoe = Shoe(folder)
        assert done(load_part(shoe, one, 0, 400)) and done(load_part(shoe, other, 0, 300))
        assert done(load_part(shoe, other, 300, len(other)))
        assert shoe.dealing.game.name == "other"


def test_a_document_whose_parts_came_before_the_cards_is_refused_whole():
    document = document_with(name="other")
    with Folder() as folder:
        shoe = Shoe(folder)
        assert done(load_part(shoe, document, 0, 400))
        shoe.load_cards()
        assert refused(load_part(shoe, document, 400, len(document)))[0] == "mid_shoe"
        assert shoe.game_parts is None and shoe.dealing.game.name == "mini"


def test_a_host_reads_the_document_of_the_game_that_is_dealt_in_parts():
    with Folder() as folder:
        shoe = Shoe(folder)
        document, at = b"", 0
        while True:
            answer = run(shoe, messages.READ_GAME, 7, at)
            _, _, sha256, size, offset, part = answer
            assert offset == at and 0 < len(part) <= messages.MAX_GAME_PART
            document += part
            at += len(part)
            if at == size:
                break
        assert document == baccarat.document_of("mini")
        assert sha256 == hashlib.sha256(document).digest()
        for past in (size, size + 1, 2**64 - 1):
            assert refused(run(shoe, messages.READ_GAME, 8, past))[0] == "bad_part"


def test_a_midi_shoe_is_in_play_until_its_last_round_is_revealed():
    midi = document_with(name="midi", shown="after_reveal", burn="none")
    with Folder() as folder:
        shoe = Shoe(folder)
        assert done(load_game(shoe, midi))
        shoe.load_cards()
        for card in (52, 8, 1, 12, 14):  # the cut card; a natural
            shoe.dealing.card_passed(card)
        assert not shoe.dealing.card_due() and not shoe.dealing.can_change_game()
        refused(load_game(shoe, document_with()))
        shoe.dealing.pressed(enums.BUTTONS.index("reveal"))
        assert done(load_game(shoe, document_with()))


def test_a_game_for_which_the_heap_has_no_room_is_dealt_after_a_restart():
    def no_room(game):
        raise MemoryError

    document = document_with(name="midi", shown="after_reveal")
    with Folder() as folder:
        shoe = Shoe(folder)
        shoe.dealing.change_game = no_room
        assert done(load_game(shoe, document)) and shoe.restart_due and shoe.acting.stopped
        assert shoe.recorded()[-1][0] == events.GAME_LOADED.number
        assert Shoe(folder).dealing.game.name == "midi"
