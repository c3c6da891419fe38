"""A shoe of cards that deals blackjack: what goes wrong at every place of a round, and the loss of
power, by the second dealer of support/boxes.py."""

import random

from firmware.tests.support import boxes
from firmware.tests.support.hand import LOADED, HandShoe
from protocol.tests.helpers import seed_random, some
from sabot_firmware import panel
from sabot_firmware.journal.recovery import restore, state_of
from sabot_firmware.journal.seals import STATE_SIZE
from sabot_firmware.table import dealing
from sabot_protocol import baccarat, cards, enums, games

# With `decide` below a blackjack, a hit, a surrender, a split and a split again, a double, a bust,
# and a dealer who draws: with a hole card and without.
_CARDS = "AS 8C 5C 4H 6H JH 3C 3D 4S 2H TD 4C 2S 2D 3H 6S 9S KH KC QD 6C"
_HOUSES = (
    {"surrender": "late"},
    {"surrender": "late", "hole_card": "none", "looks": "never", "soft_17": "hits"},
)
_BUTTONS = enums.BUTTONS


class BoxShoe(HandShoe):
    """A shoe that deals blackjack."""

    game_of = staticmethod(boxes.game)

    def seat(self, count):
        while self.hand.boxes != count:
            assert self.play("burn") == ["button burn"]


def _round(house):
    """Return the steps of a round by the second dealer, as a shoe records them."""
    pile = iter(_CARDS.split())
    taken = []

    def decide(can):
        """Split, double once, surrender the second time, else hit and stand by turns."""
        for action in ("split", "surrender", "double"):
            if action in can:
                if action == "split":
                    return action
                taken.append(action)
                if taken.count(action) == (2 if action == "surrender" else 1):
                    return action
                if action == "surrender":
                    return "hit"
        taken.append("")
        return "hit" if "hit" in can and taken.count("") % 2 else "stand"

    dealer = boxes.SecondDealer(house, 4, lambda: next(pile), decide)
    return [[text, _as_recorded(lines, house), due] for text, lines, due in dealer.steps]


def _as_recorded(lines, house):
    recorded = []
    for line in lines:
        recorded.append("sealed_" + line if line.endswith(" hole") else line)
        if line == "betting_closed button" and house.get("hole_card") != "none":
            recorded.append("seal")
    return recorded


def _loaded(house):
    shoe = BoxShoe(LOADED, **house)
    assert not shoe.dealing.error and shoe.due() == "box_1"
    shoe.seat(4)
    return shoe


def _follow(shoe, steps):
    for text, lines, due in steps:
        assert shoe.play(text) == lines, (text, lines)
        assert shoe.due() == (due or ""), (text, due)


def _check_resumed(shoe):
    for _ in range(2):  # from the notes alone, then from the kept state
        after = shoe.resumed()
        assert state_of(after) == state_of(shoe.dealing)
        for name in ("due", "open", "begun", "phase", "hands"):
            assert getattr(after.current_round, name) == getattr(shoe.hand, name), name
        assert panel.text_of(after, "") == panel.text_of(shoe.dealing, "")
        assert after.card_due() == shoe.dealing.card_due()
        if shoe.due():
            assert after.lock_after(7) == shoe.dealing.lock_after(7)
        kept = shoe.entries
        shoe.keep()
    shoe.entries = kept


def _places(steps):
    return [i for i in range(len(steps)) if steps[i][0] not in _BUTTONS]


def _at(house, steps, place):
    shoe = _loaded(house)
    for text, _, _ in steps[:place]:
        shoe.play(text)
    return shoe, steps[place][0], steps[place][1][0].split()[2]


def _ends_as_planned(shoe, steps, place, recorded):
    """The card of the place was dealt at last: the round goes on as if nothing had been."""
    said = [line.replace(" by_hand", "") for line in recorded]
    assert said[-len(steps[place][1]) :] == steps[place][1], (recorded, steps[place])
    assert shoe.due() == (steps[place][2] or "")
    _follow(shoe, steps[place + 1 :])


def test_the_round_of_these_tests_has_every_kind_of_place():
    for house in _HOUSES:
        steps = _round(house)
        lines = [line for _, each, _ in steps for line in each]
        for word in ("splits", "doubles", "surrenders", "stands"):
            assert [line for line in lines if line[:5] == "play " and word in line], (word, lines)
        assert [line for line in lines if line.startswith("hand_result 4 3")], "split twice"
        assert [line for line in lines if line.startswith("hand_result 1 1 blackjack")]
        assert sum([line.endswith(" dealer") for line in lines]) == 2 + ("looks" in house)
        shoe = _loaded(house)
        for i in range(len(steps)):
            _follow(shoe, steps[i : i + 1])
            _check_resumed(shoe)
        assert shoe.dealing.rounds == 1


def test_at_every_place_a_card_that_cannot_be_read_is_resolved_and_the_round_goes_on():
    seed_random()
    for house in _HOUSES:
        steps = _round(house)
        for place in _places(steps):
            for fault in some(("no_code", "foreign_set", "power"), 3):
                shoe, name, position = _at(house, steps, place)
                shoe.play("?" + fault)
                assert not shoe.dealing.card_due() and shoe.display()[0] == "STOP"
                expected = [] if fault == "no_code" else ["DRAW AGAIN"]
                face = ["FACE"] if fault != "foreign_set" else []
                assert shoe.choices() == expected + face, (fault, position)
                _check_resumed(shoe)
                if fault == "foreign_set":
                    shoe.decide("DRAW AGAIN")
                    recorded = shoe.play(name)
                else:
                    recorded = [line for line in shoe.decide("CARD " + name) if line[:3] != "key"]
                _ends_as_planned(shoe, steps, place, recorded)


def test_at_every_place_a_card_too_many_is_put_aside_or_taken():
    house = {"surrender": "late", "decks": 1}
    steps = _round(house)
    for place in _places(steps)[1:]:
        for wanted in ("AS READ", "DRAW AGAIN"):
            shoe, _, position = _at(house, steps, place)
            first = steps[_places(steps)[0]][0]
            shoe.play(first)
            named = shoe.display()[5] != "SURPLUS COPY"
            assert shoe.display()[5].startswith("SURPLUS COPY"), position
            assert named == (position != "hole"), "the hole card is not named"
            _check_resumed(shoe)
            recorded = " ".join(shoe.decide(wanted))
            assert ("%s %s" % (first, position) in recorded) == (wanted == "AS READ")
            if wanted == "DRAW AGAIN":
                assert shoe.due() == position
                _ends_as_planned(shoe, steps, place, shoe.play(steps[place][0]))


def test_where_no_card_is_due_one_that_came_out_stops_play_and_the_round_goes_on():
    house = {"surrender": "late"}
    steps = _round(house)
    for place in range(len(steps) - 1):
        if steps[place][2] is None:
            shoe = _loaded(house)
            _follow(shoe, steps[: place + 1])
            assert "card 2D not_due" in shoe.play("2D")
            assert "error_cleared card_not_due" in shoe.play("key+ key-")
            _follow(shoe, steps[place + 1 :])


def test_a_round_is_void_at_every_place_and_the_next_one_has_the_same_boxes():
    for choice in ("opened", "never"):
        house = {"surrender": "late", "house": {"voided_cards": choice}}
        steps = _round(house)
        for place in range(1, len(steps)):
            shoe = _loaded(house)
            _follow(shoe, steps[:place])
            sealed = shoe.dealing.sealed
            recorded = shoe.play("key+ void key-")
            assert "round_void supervisor" in recorded
            opened = "unsealed never" if choice == "never" else "unsealed"
            assert (opened in recorded) == sealed, steps[place]
            assert shoe.play("next")[-1] == "betting_open" and shoe.hand.boxes == 4


def test_the_cut_card_comes_at_every_place():
    house = {"surrender": "late"}
    steps = _round(house)
    for place in _places(steps):
        shoe, _, _ = _at(house, steps, place)
        assert shoe.play("CUT")[0] == "cut_card 1"
        _follow(shoe, steps[place:-1])
        recorded = shoe.play(steps[-1][0])
        assert "shoe_ended cut_card 1 " in " ".join(recorded)


def test_random_rounds_with_a_loss_of_power_after_each_input():
    seed_random()
    pack = [cards.name_of(card) for card in range(52)]
    for _ in range(12):
        house = boxes.random_house(random.choice)
        shoe = BoxShoe(LOADED, decks=8, **house)
        count = random.randrange(1, 8)
        shoe.seat(count)
        dealer = boxes.SecondDealer(
            house, count, lambda: random.choice(pack), lambda can: random.choice(can)
        )
        for text, lines, due in dealer.steps:
            assert shoe.play(text) == _as_recorded(lines, house), (text, house)
            assert shoe.due() == (due or ""), (text, house)
            _check_resumed(shoe)


def test_the_largest_state_can_be_sealed():
    """Seven boxes of four hands each, all done but the last, which has many cards."""
    shoe = BoxShoe(LOADED, decks=8)
    shoe.dealing.shoe = shoe.dealing.round = shoe.dealing.ghosts = 65535
    shoe.seat(7)
    shoe.play("8S 8S 8S 8S 8S 8S 8C 6D 8D 8D 8D 8D 8D 8D 8H TC")
    tens = [rank + suit for suit in "DHSC" for rank in "TJQK"] * 2
    for box in range(7):
        shoe.play("burn next 8C burn next 8H burn next")
        for _ in range(4):
            shoe.play(tens.pop(0))
            if box < 6 or shoe.hand.at < 27:
                shoe.play("next")
    hand = shoe.hand.hands[shoe.hand.at]
    assert len(shoe.hand.hands) == 28 and shoe.hand.at == 27
    hand[1:] = [0] * 12
    shoe.play("?power")
    shoe.play("key+ next next")
    shoe.keep()
    # Numbers of boot and events may be 10 bytes longer here.
    assert len(shoe.entries[0][1]) + 10 < STATE_SIZE, len(shoe.entries[0][1])


def test_a_state_of_another_family_leaves_a_new_round():
    """The power may go after a game was loaded and before the next state is kept."""
    for before, after in (
        (boxes.game(), games.game_of(baccarat.document_of("mini"))),
        (games.game_of(baccarat.document_of("mini")), boxes.game()),
    ):
        old = dealing.Dealing(before, 4, 7)
        old.phase = enums.PHASES.index("ended")
        old.shoe = 9
        new = dealing.Dealing(after, 4, 0)
        fresh = state_of(dealing.Dealing(after, 4, 0))
        restore(new, state_of(old))
        assert new.shoe == 9 and enums.PHASES[new.phase] == "ended" and not new.card_due()
        for name in new.current_round.KEPT:
            expected = getattr(dealing.Dealing(after, 4, 0).current_round, name)
            assert getattr(new.current_round, name) == expected, name
        assert len(state_of(new)) == len(fresh)
