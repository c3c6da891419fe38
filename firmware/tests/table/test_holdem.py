"""Hands of hold'em, compared with a dealer that has all steps written down before the first card
(support/handplan.py)."""

import random

from firmware.tests.support.hand import LOADED, HandShoe
from firmware.tests.support.handplan import HandPlan
from protocol.tests.helpers import allocates, seed_random
from sabot_firmware import panel
from sabot_firmware.journal.recovery import state_of
from sabot_firmware.journal.seals import STATE_SIZE
from sabot_firmware.table import pending
from sabot_protocol import cards, enums

_NAMES = [cards.name_of(card) for card in range(52)]
_TWO_SEATS = "burn"  # from the most seats, 10, to the fewest
_HANDS = 60
_SEAT = "seat_"


def _deck():
    deck = _NAMES[:]
    for i in range(len(deck) - 1, 0, -1):
        j = random.randrange(i + 1)
        deck[i], deck[j] = deck[j], deck[i]
    return deck


def _loaded(seats, **changed):
    """A shoe before a hand to these seats, and the plan of that hand."""
    shoe = HandShoe(LOADED + " burn" * ((seats - 10) % 9), **changed)
    plan = HandPlan(seats, changed.get("run_it_twice", True), changed.get("hole_cards", "all"))
    return shoe, plan


def _deal_to(shoe, plan, deck, position, before=lambda: None):
    """Deal until this position is due for the first time; press `next` where the shoe waits."""
    while plan.due() != position:
        before()
        if plan.due():
            name = deck.pop()
            shoe.play(name)
            plan.card(name)
        else:
            shoe.play("next")
            plan.press("next")


def test_a_hand_is_dealt_from_the_first_card_to_the_end_of_the_shoe_of_cards():
    shoe = HandShoe(LOADED + " " + _TWO_SEATS)
    assert shoe.hand.seats == 2 and shoe.display()[0] == "HAND: BLINDS"
    assert shoe.play("AS") == [
        "betting_closed card", "hand_begun 2", "seal", "sealed_card AS seat_1",
    ]  # fmt: skip
    assert shoe.play("KS QS JS TS")[-1] == "error card_not_due None none"


def test_random_hands_are_dealt_as_the_other_dealer_has_them():
    seed_random()
    ends = {"preflop": 0, "once": 0, "turn": 0, "river": 0}
    for n in range(_HANDS):
        seats = random.randrange(2, 11)
        chosen = ({}, {"hole_cards": "shown"}, {"hole_cards": "never"})[n % 3]
        shoe, plan = _loaded(seats, **chosen)
        assert shoe.display()[2] == "%d SEATS" % seats
        deck = _deck()
        cards_out = 0
        quiet = random.random() < 0.4
        while not plan.ended:
            assert shoe.due() == plan.due(), (plan.steps, plan.asked)
            due = plan.due()
            if due and (quiet or random.random() < 0.8):
                name = deck.pop()
                recorded = shoe.play(name)
                if not cards_out:
                    begun = ["betting_closed card", "hand_begun %d" % seats, "seal"]
                    assert recorded[:3] == begun
                    recorded = recorded[3:]
                assert recorded == plan.card(name)
                cards_out += 1
            else:
                button = ("next", "burn", "reveal")[random.choice((0, 0, 0, 0, 1, 2))]
                if not cards_out or (quiet and button == "reveal" and plan.steps[0] != "showdown"):
                    continue
                recorded = shoe.play(button)
                expected = plan.press(button)
                assert recorded[: 1 + len(expected)] == ["button " + button] + expected, plan.steps
                if plan.ended:
                    closed = len(plan.closed())
                    assert recorded[1 + len(expected) :] == [
                        "shoe_ended round 1 %d" % cards_out, "composition %d 52" % closed,
                    ]  # fmt: skip
                    known = "%d NOT KNOWN" % closed if closed else ""
                    assert shoe.display()[4].startswith(known)
                else:
                    assert len(recorded) == 1 + len(expected)
            if random.random() < 0.1:
                _check_resumed(shoe)
        ends[plan.from_street or ("once" if len(plan.boards()[0]) == 5 else "preflop")] += 1
        assert enums.PHASES[shoe.dealing.phase] == "ended" and not shoe.dealing.card_due()
        known = [name for _, name in plan.dealt if name not in plan.closed()]
        counted = [_NAMES[card] for card in range(52) if shoe.dealing.inventory.counts[card]]
        assert sorted(counted) == sorted(known) and shoe.dealing.cards == cards_out
        assert max(shoe.dealing.inventory.counts) <= 1
        assert shoe.play(LOADED)[-1] == "betting_open" and shoe.hand.seats == seats
    assert min(ends.values()) > 0, ends


def _check_resumed(shoe):
    for _ in range(2):  # from the notes alone, then from the kept state
        after = shoe.resumed()
        assert state_of(after) == state_of(shoe.dealing)
        hand = after.current_round
        for name in ("due", "open", "begun", "phase"):
            assert getattr(hand, name) == getattr(shoe.hand, name), name
        assert panel.text_of(after, "") == panel.text_of(shoe.dealing, "")
        assert after.card_due() == shoe.dealing.card_due()
        shoe.keep()


def _positions():
    """Every place of a hand run twice from the turn, with two seats, as (cards before it)."""
    plan = HandPlan(2)
    count = 0
    while plan.steps[0] != "showdown":
        if plan.due():
            yield count, plan.due()
            plan.card("AS")
            count += 1
        else:
            if plan.steps[0] == "bets flop":
                plan.press("burn")
            plan.press("next")


def _at(count):
    """A shoe and its plan before the card number `count` of such a hand."""
    shoe, plan = _loaded(2)
    deck = list(reversed(_NAMES))
    while count or not plan.due():
        if plan.due():
            count -= 1
            name = deck.pop()
            shoe.play(name)
            plan.card(name)
        else:
            for button in ("burn", "next") if plan.steps[0] == "bets flop" else ("next",):
                shoe.play(button)
                plan.press(button)
    return shoe, plan, deck


def test_the_places_of_a_hand_run_twice_from_the_turn():
    assert [position for _, position in _positions()] == [
        "seat_1", "seat_2", "seat_1", "seat_2", "board_burn", "flop", "flop", "flop",
        "board_burn", "turn", "board_burn", "river", "board_burn", "turn", "board_burn", "river",
    ]  # fmt: skip


def test_at_every_place_a_card_that_cannot_be_read_is_resolved_by_how_it_lies():
    for count, position in _positions():
        for fault in ("no_code", "foreign_set", "power"):
            shoe, plan, deck = _at(count)
            name = deck.pop()
            shoe.play("?" + fault)
            assert not shoe.dealing.card_due() and shoe.display()[0] == "STOP"
            expected = {"no_code": [], "foreign_set": ["DRAW AGAIN"], "power": ["DRAW AGAIN"]}[
                fault
            ]
            if position == "board_burn" and fault != "foreign_set":
                expected = expected + ["UNSEEN"]
            assert shoe.choices() == expected + ["FACE"] * (fault != "foreign_set"), position
            _check_resumed(shoe)
            if fault == "foreign_set":
                shoe.decide("DRAW AGAIN")
                assert shoe.due() == position
                recorded = shoe.play(name)
            else:
                recorded = shoe.decide("CARD " + name)
            assert "card %s %s" % (name, position) in " ".join(recorded).replace(" by_hand", "")
            plan.card(name)
            assert shoe.due() == plan.due(), position
            _check_resumed(shoe)


def test_a_burned_card_may_stay_unseen_at_every_burn():
    for count, position in _positions():
        if position == "board_burn":
            shoe, plan, _ = _at(count)
            shoe.play("?no_code")
            shoe.decide("UNSEEN")
            plan.card("AS")
            assert shoe.due() == plan.due() and shoe.dealing.inventory.unread == 1


def test_at_every_place_one_copy_too_many_is_put_aside_or_taken():
    for count, position in _positions():
        if count:
            for wanted in ("AS READ", "DRAW AGAIN"):
                shoe, plan, _ = _at(count)
                shoe.play(_NAMES[0])
                assert shoe.display()[5].startswith("SURPLUS COPY"), position
                named = shoe.display()[5] != "SURPLUS COPY"
                assert named == (position in ("flop", "turn", "river")), position
                shoe.decide(wanted)
                if wanted == "AS READ":
                    plan.card(_NAMES[0])
                assert shoe.due() == plan.due(), position
                _check_resumed(shoe)


def test_where_no_card_is_due_one_that_came_out_stops_play_and_the_hand_goes_on():
    for count, _ in _positions():
        shoe, plan, deck = _at(count)
        name = deck.pop()
        shoe.play(name)
        plan.card(name)
        if not plan.due():
            waits = shoe.display()
            assert "not_due" in " ".join(shoe.play(deck.pop()))
            _check_resumed(shoe)
            shoe.play("key+ key-")
            assert shoe.due() == "" and shoe.display() == waits


def test_a_hand_is_void_at_every_place_and_so_is_its_shoe_of_cards():
    for count, _ in _positions():
        shoe, _, _ = _at(count)
        recorded = shoe.play("key+ void key-")
        at = recorded.index("round_void supervisor")
        assert recorded[at + 1 : at + 3] == ["shoe_ended round 0 %d" % count, "composition 0 52"]
        _check_resumed(shoe)
        assert shoe.play("lid+ lid-")[-1] == "betting_open" and shoe.hand.seats == 2


def test_the_sealed_cards_of_a_void_hand_are_opened_or_never_known():
    deal = " burn AS KS QS JS next TS 9S 8S 7S next 6S"  # four to the seats, two burned
    for choice, opened, unread in (("opened", "unsealed", 0), ("never", "unsealed never", 6)):
        shoe = HandShoe(LOADED + deal, house={"voided_cards": choice})
        recorded = shoe.play("key+ void key-")
        at = recorded.index("round_void supervisor")
        assert recorded[at - 1] == opened, recorded
        assert recorded[at + 2] == "composition %d 52" % unread
        assert sum(shoe.dealing.inventory.counts) == 9 - unread


def test_the_largest_state_of_a_hand_can_be_sealed():
    shoe = HandShoe(LOADED, hole_cards="shown")  # so that it keeps them
    shoe.dealing.shoe = shoe.dealing.ghosts = 65535
    deck = list(reversed(_NAMES))
    shoe.play(deck.pop())
    plan = HandPlan(10)
    plan.card(_NAMES[0])
    while plan.steps[0] != "showdown":
        if not plan.due():
            for button in ("burn", "next") if plan.steps[0] == "bets flop" else ("next",):
                shoe.play(button)
                plan.press(button)
        else:
            name = deck.pop()
            plan.card(name)
            shoe.play("?power")
            shoe.play("key+ next next")
            shoe.keep()
            # Numbers of boot and events may be 10 bytes longer here.
            assert len(shoe.entries[0][1]) + 10 < STATE_SIZE, plan.steps
            shoe.play("key-")
            shoe.decide("CARD " + name)
    assert len(shoe.hand.board) == 7 and len(shoe.dealing.sealed_cards) == 2 * 25
    shoe.play("reveal " + "next burn " * 10)
    shoe.keep()
    assert len(shoe.entries[0][1]) + 10 < STATE_SIZE


def test_the_dealer_marks_the_seats_that_have_shown_and_only_these_open():
    shoe, _ = _loaded(10, hole_cards="shown")
    shoe.play(" ".join(_NAMES[:20]) + " reveal")
    assert shoe.display()[0] == "SEAT 1 SHOWED?" and shoe.display()[4] == "REVEAL ENDS HAND"
    assert shoe.display()[2:4] == ["SHOW ----------", "N YES B SEAT"]
    shoe.play("burn next " + "burn " * 8 + "next burn burn next next")
    assert shoe.display()[0] == "SEAT 2 SHOWED?" and shoe.display()[3] == "N NO B SEAT"
    assert shoe.display()[2] == "SHOW -2-------0"
    _check_resumed(shoe)
    assert shoe.play("reveal") == [
        "button reveal", "seat_unsealed 2", "seat_unsealed 10", "unsealed never",
        "hand_ended 10 - -", "shoe_ended round 1 20", "composition 16 52",
    ]  # fmt: skip
    counted = [card for card in range(52) if shoe.dealing.inventory.counts[card]]
    assert counted == [1, 9, 11, 19] and shoe.dealing.sealed_cards == b""


def test_a_void_hand_opens_all_or_none_also_while_seats_are_marked():
    for choice, opened in (("opened", "unsealed"), ("never", "unsealed never")):
        for before in ("", "reveal next "):
            shoe, _ = _loaded(2, hole_cards="shown", house={"voided_cards": choice})
            shoe.play("AS KS 2C 3C " + before)
            recorded = shoe.play("key+ void")
            assert recorded[2:4] == [opened, "round_void supervisor"], recorded
            assert ("seat_unsealed 1" in recorded) is False
            assert shoe.dealing.inventory.unread == (4 if choice == "never" else 0)
            _check_resumed(shoe)
            assert shoe.play("key- " + LOADED)[-1] == "betting_open" and not shoe.hand.marking


def test_a_hand_that_has_ended_can_be_called_a_misdeal():
    shoe, _, _ = _at(4)
    shoe.play("reveal key+ void")
    assert shoe.display()[0] == "MISDEAL?"
    assert shoe.play("void") == ["button void", "round_void misdeal"]


def test_running_it_twice_may_be_asked_after_the_flop_until_the_river():
    may = []
    for count, waits in _once():
        shoe, plan = _loaded(2)
        deck = list(reversed(_NAMES))
        while len(plan.dealt) < count or (not waits and not plan.due()):
            if plan.due():
                plan.card(deck[-1])
                shoe.play(deck.pop())
            else:
                plan.press("next")
                shoe.play("next")
        shoe.play("burn")
        plan.press("burn")
        asked = shoe.display()[0] == "RUN IT TWICE?"
        assert asked == plan.asked and shoe.due() == plan.due()
        if asked:
            may.append((count, waits))
            assert not shoe.dealing.card_due()
            for button in ("burn", "reveal"):  # both withdraw the question
                shoe.play(button)
                assert shoe.display()[0] != "RUN IT TWICE?"
                plan.press(button)
                assert shoe.due() == plan.due()
                shoe.play("burn")
                plan.press("burn")
            _check_resumed(shoe)
    # After the flop's 8 cards, and after the burn, the turn and the burn that follow it.
    assert may == [(8, True), (8, False), (9, False), (10, True), (10, False), (11, False)]


def _once():
    """The places of a hand to two seats that is run once: how many cards are out, and whether the
    shoe waits for a button there."""
    plan = HandPlan(2)
    while plan.steps[0] != "showdown":
        yield len(plan.dealt), not plan.due()
        if plan.due():
            plan.card("AS")
        else:
            plan.press("next")


def test_a_house_without_running_it_twice_is_not_asked():
    shoe, plan = _loaded(2, run_it_twice=False)
    deck = list(reversed(_NAMES))
    _deal_to(shoe, plan, deck, "turn")
    shoe.play("burn")
    assert shoe.display()[0] == "DEAL TURN" and shoe.due() == "turn"


def test_the_seats_are_stepped_before_a_hand_up_to_the_most_of_the_game():
    shoe = HandShoe(LOADED, seats=4)
    seen = [shoe.hand.seats]
    for _ in range(4):
        shoe.play("burn")
        seen.append(shoe.hand.seats)
        assert shoe.display()[2] == "%d SEATS" % shoe.hand.seats
    assert seen == [4, 2, 3, 4, 2]
    shoe.play("AS burn")
    assert shoe.hand.seats == 2, "not once a card is dealt"


def test_with_the_dealer_closing_no_card_is_due_before_next():
    shoe = HandShoe(LOADED, betting_closed_by="dealer")
    assert not shoe.dealing.card_due()
    assert shoe.play("next") == ["button next", "betting_closed button", "hand_begun 10", "seal"]
    assert shoe.due() == "seat_1"


def test_what_is_due_is_found_without_an_allocation():
    for count, position in _positions():
        shoe, _, _ = _at(count)
        assert not allocates(lambda shoe=shoe: shoe.hand.due_after(7)), position
        assert not allocates(lambda shoe=shoe: shoe.dealing.lock_after(51)), position


def test_no_lamp_and_no_line_depends_on_a_card_that_lies_face_down():
    shown = []
    for deck in (_NAMES, _NAMES[26:] + _NAMES[:26]):
        shoe, plan = _loaded(3)
        each = []

        def look(shoe=shoe, each=each):
            each.append((panel.lamps_of(shoe.dealing), shoe.display()))

        _deal_to(shoe, plan, list(reversed(deck)), "flop", look)
        look()
        shown.append(each)
    assert shown[0] == shown[1] and len(shown[0]) == 9


def test_hole_cards_lie_face_down_burns_are_burned_and_the_board_is_face_up():
    shoe, _, _ = _at(1)
    facing = shoe.hand.facing
    for place, name in enumerate(enums.POSITIONS):
        if name[:5] == _SEAT:
            assert facing(place) == pending.FACE_DOWN, name
        elif name in ("flop", "turn", "river"):
            assert facing(place) == pending.FACE_UP, name
    assert facing(enums.POSITIONS.index("board_burn")) == pending.BURNED
    assert shoe.hand.seals


def test_a_line_of_the_display_is_never_too_long():
    for count, _ in _positions():
        shoe, _, _ = _at(count)
        for button in ("", "burn", "burn"):
            shoe.play(button)
            assert max([len(line) for line in shoe.display()]) <= panel.COLUMNS
