"""Compares rounds of blackjack with those of a second dealer: what is recorded, what is due."""

import random

from firmware.tests.support import boxes
from firmware.tests.support.table import action_text
from protocol.tests.helpers import allocates, seed_random, times
from sabot_firmware.table.blackjack import BlackjackRound
from sabot_firmware.table.pending import FACE_DOWN, FACE_UP
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, DEALING, NOT_DUE
from sabot_protocol import cards, enums, events, games

_NEXT = enums.BUTTONS.index("next")
_BURN = enums.BUTTONS.index("burn")
_PAIRS = ("AS", "AC", "8D", "8S", "TC", "KD", "5H", "6H", "9S", "2D")
"""Cards that make pairs, blackjacks and soft hands often."""


class _Table:
    """One round object, with what it records as text."""

    def __init__(self, **changed):
        self.game = boxes.game(**changed)
        self.recorded = []
        self.round = BlackjackRound(self.game, self._record)

    def _record(self, shape, *values):
        if shape is events.UNSEALED:
            self.recorded.append("unsealed")
        else:
            self.recorded.append(action_text((shape, 0, 0, values)))

    def seat(self, count):
        while self.round.boxes != count:
            self.round.pressed(_BURN)

    def begin(self):
        self.round.begin()
        assert self.recorded == ["betting_open"] and self.round.phase == BETTING

    def give(self, text):
        """Give it a button or a card; return what it recorded. `due_after` must be right."""
        play = self.round
        self.recorded = []
        if text in enums.BUTTONS:
            button = enums.BUTTONS.index(text)
            if play.phase == BETTING and button == _NEXT:
                play.close_betting(enums.CLOSED_BY.index("button"))
            else:
                assert play.pressed(button) == 0
            return ["button " + text] + self.recorded
        card = cards.number_of(text)
        position, due = play.due, play.due_after(card)
        if play.phase == BETTING:
            play.close_betting(enums.CLOSED_BY.index("card"))
        play.card(card)
        assert play.due == due, (text, play.due, due)
        return ["card %s %s" % (text, enums.POSITIONS[position])] + self.recorded

    def due(self):
        return None if self.round.due == NOT_DUE else enums.POSITIONS[self.round.due]


def _random_round(house, count, pack=None):
    """Deal one round by the second dealer with random cards and decisions."""
    pack = pack or [cards.name_of(card) for card in range(52)]

    def decide(can):
        if "split" in can and random.random() < 0.7:
            return "split"
        return random.choice(can)

    return boxes.SecondDealer(house, count, lambda: random.choice(pack), decide)


def test_random_rounds_are_those_of_the_second_dealer_for_all_choices_of_the_house():
    seed_random()
    words = list(enums.PLAY_ACTIONS) + list(enums.OUTCOMES) + ["looked 0", "looked 1"]
    seen = set()
    for n in range(250):
        if n >= times(250, 50) and not [word for word in words if word not in seen]:
            break
        house = boxes.random_house(random.choice)
        count = random.randrange(1, 8)
        table = _Table(**house)
        table.seat(count)
        table.recorded = []
        for _ in range(2):
            dealer = _random_round(house, count, _PAIRS if n % 2 else None)
            table.recorded = []
            table.begin()
            _follow(table, dealer)
            seen.update(
                [" ".join(line.split()[3:4]) for _, lines, _ in dealer.steps for line in lines]
            )
            seen.update(
                [line for _, lines, _ in dealer.steps for line in lines if line[:6] == "looked"]
            )
    assert not [word for word in words if word not in seen]


def _follow(table, dealer):
    play = table.round
    for text, lines, due in dealer.steps:
        assert table.give(text) == lines, (text, lines, table.recorded, dealer.house)
        assert table.due() == due, (text, due, dealer.house)
        hole = enums.POSITIONS.index("hole")
        turned = not play.open or "unsealed" in lines or play.stage > 3
        assert play.facing(hole) == (FACE_UP if turned else FACE_DOWN), text
        assert all([len(line) <= 16 for line in play.lines()]), play.lines()
        _check_kept(table)
    assert not play.open and play.phase == BETWEEN and play.begun
    assert table.give("next") == ["button next"], "between rounds `next` belongs to the shoe"


def _check_kept(table):
    """The six attributes and the phase are the whole round."""
    kept = [getattr(table.round, name) for name in BlackjackRound.KEPT]
    other = BlackjackRound(table.game, None)
    for i in range(len(kept)):
        setattr(other, BlackjackRound.KEPT[i], kept[i])
    other.restored(table.round.phase)
    assert other.lines() == table.round.lines()
    for name in ("due", "open", "begun", "phase", "hands", "dealer", "at", "choice", "stage"):
        assert getattr(other, name) == getattr(table.round, name), name
    if other.due != NOT_DUE:
        assert other.due_after(7) == table.round.due_after(7)


def _play(text, count=1, **changed):
    """Play a round with `count` boxes; return the table and what the last input recorded."""
    table = _Table(**changed)
    table.seat(count)
    table.recorded = []
    table.begin()
    lines = []
    for each in text.split():
        lines = table.give(each)
    return table, lines


def test_the_dealer_draws_to_16_stands_on_hard_17_and_on_soft_17_by_the_choice():
    for hole, soft_17, due in (
        ("TC", "hits", "dealer"), ("JC", "stands", "dealer"), ("AC", "stands", None),
        ("AC", "hits", "dealer"),
    ):  # fmt: skip
        table, lines = _play("TS 6D TD %s next" % hole, soft_17=soft_17)
        assert table.due() == due, (hole, soft_17)
        assert "unsealed" in lines
    table, lines = _play("TS 7D TD TC next")
    assert table.due() is None and lines[-1] == "blackjack_result 17 0 2"


def test_the_dealer_does_not_draw_if_no_hand_is_left_that_needs_it():
    for text, last in (
        ("TS 6D 6S TC TD", "blackjack_result 16 0 2"),  # bust
        ("TS 6D AS TC", "blackjack_result 16 0 2"),  # blackjack
        ("TS 6D 6S TC burn next", "blackjack_result 16 0 2"),  # surrendered
    ):
        table, lines = _play(text, surrender="late")
        assert table.due() is None and lines[-1] == last, text


def test_without_a_hole_card_the_second_card_comes_after_the_boxes():
    none = {"hole_card": "none", "looks": "never"}
    table, lines = _play("TS 6D TD next", **none)
    assert table.due() == "dealer" and "unsealed" not in lines and not table.round.seals
    assert table.give("AC")[-1] == "blackjack_result 17 1 2"
    table, lines = _play("TS 9D 6S TD", **none)  # bust: the dealer's card is not needed
    assert lines[-1] == "blackjack_result 9 0 1"
    table, _ = _play("TS 9D AS", **none)
    assert not table.round.open, "a blackjack against a nine"
    table, _ = _play("TS TD AS", **none)
    assert table.due() == "dealer", "the dealer may have one too"
    assert table.give("AC")[1] == "hand_result 1 1 pushes 21 1"


def test_the_shoe_says_whether_the_dealer_has_a_blackjack_and_nothing_else():
    for up, hole, line in (
        ("AD", "9C", "looked 0"),
        ("AD", "KC", "looked 1"),
        ("KD", "AC", "looked 1"),
    ):
        table, lines = _play("TS %s 9S %s" % (up, hole))
        assert table.due() is None and lines[1:] == [], "it waits for insurance"
        assert table.round.lines()[0] == "INSURANCE?"
        assert not [line for line in table.round.lines() if hole in line]
        assert table.give("next")[1] == line
        if line == "looked 0":
            assert table.due() == "box_1" and len(table.recorded) == 1
            assert table.round.lines()[2] == up + " NO BLACKJACK"
        else:
            assert table.recorded[1] == "unsealed" and not table.round.open
            assert table.round.lines()[3] == "DEALER BLACKJACK"
    table, _ = _play("TS KD 9S AC", looks="ace")
    assert table.due() == "box_1", "a ten is not looked at"
    assert table.give("next")[-1] == "blackjack_result 21 1 2"


def test_the_display_says_which_card_is_due():
    table, _ = _play("")
    seen = []
    for word in [
        "8S",
        "6D",
        "8C",
        "TC",
        "burn",
        "next",
        "9H",
        "2C",
        "4S",
        "next",
        "KH",
        "next",
        "5D",
    ]:
        seen.append((table.round.lines()[0], table.round.lines()[3], word))
        table.give(word)
    assert seen[1:] == [
        ("DEAL DEALER", "", "6D"),
        ("DEAL BOX 1", "", "8C"),
        ("DEAL HOLE CARD", "", "TC"),
        ("BOX 1 HAND 1", "N STAND R DBL B?", "burn"),
        ("BOX 1 HAND 1", "SPLIT? NEXT", "next"),
        ("BOX 1 HAND 1", "CARD DUE", "9H"),
        ("BOX 1 HAND 1", "N STAND R DBL", "2C"),
        ("BOX 1 HAND 1", "N STAND", "4S"),
        ("BOX 1 HAND 2", "CARD DUE", "next"),
        ("BOX 1 HAND 2", "CARD DUE", "KH"),
        ("BOX 1 HAND 2", "N STAND R DBL", "next"),
        ("DEALER DRAWS", "", "5D"),
    ]
    assert table.round.lines()[3] == "BOXES 1", "the dealer has 21"


def test_a_choice_that_is_not_confirmed_shuts_the_lock():
    table, _ = _play("8S 6D 8C TC", surrender="late")
    seen = []
    for _ in range(3):
        table.give("burn")
        seen.append((table.due(), table.round.lines()[3]))
    assert seen == [
        (None, "SPLIT? NEXT"), (None, "SURRENDER? NEXT"), ("box_1", "N STAND R DBL B?"),
    ]  # fmt: skip


def test_a_split_is_not_possible_where_none_is_allowed():
    for text, house in (
        ("8S 6D 9C TC", {}),
        ("KS 6D QC TC", {}),
        ("8S 6D 8C TC burn next 8D burn next 8H 2S next", {"hands_of_box": 3}),
        ("AS 6D AC TC burn next", {"split_aces": "play_on"}),
    ):
        table, _ = _play(text, **house)
        if "AS" in text:
            table.give("AD")
        before = list(table.round.hands[table.round.at])
        table.give("burn")
        assert table.round.choice == 0 and table.round.hands[table.round.at] == before, text


def test_the_boxes_are_stepped_between_rounds_and_while_no_card_is_dealt():
    table = _Table(boxes=3)
    stepped = [table.round.boxes]
    for _ in range(3):
        assert table.round.pressed(_BURN) == 0
        stepped.append(table.round.boxes)
    assert stepped == [1, 2, 3, 1]
    table.begin()
    table.give("burn")
    assert table.round.boxes == 2 and table.give("5S")[1:] == ["betting_closed card"]
    assert table.due() == "box_2"
    table.give("burn")
    assert table.round.boxes == 2
    table.round.clear()
    assert table.round.boxes == 2


def test_only_the_dealer_closes_betting_if_the_game_says_so():
    table = _Table(betting_closed_by="dealer")
    table.begin()
    assert table.due() is None and not table.round.card_first
    table.give("next")
    assert table.due() == "box_1" and table.round.phase == DEALING


def test_the_next_position_is_found_without_an_allocation():
    table = _Table(surrender="late", resplit_aces=True)
    table.seat(2)
    table.recorded = []
    table.begin()
    script = "next AS 5C 6D AC 5D TC burn next AD burn next 3C 4C 5C 9D reveal TD 2C"
    for text in script.split():
        table.give(text)
        for card in (0, 5, 9):
            assert table.round.due == NOT_DUE or not allocates(
                lambda card=card: table.round.due_after(card)
            ), text


def test_documents_that_contradict_themselves_are_refused():
    for changed in (
        {"boxes": 8}, {"boxes": 0}, {"boxes": True}, {"hole_card": "none"}, {"hands_of_box": 1},
        {"hands_of_box": 5}, {"hands_of_box": 2, "resplit_aces": True}, {"rules": "washington"},
        {"shown": "after_reveal"}, {"soft_17": "maybe"}, {"double_after_split": 1},
        {"decks": 9}, {"order": "PBPB"}, {"version": 2}, {"family": "holdem"},
    ):  # fmt: skip
        try:
            boxes.game(**changed)
        except games.GameError:
            continue
        raise AssertionError(changed)
