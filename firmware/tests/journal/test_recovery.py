"""After any loss of power the dealing continues in the state in which it was.

During random play a second dealing is recovered after each input, and after each entry that the
input leaves in the journal, and compared with the first one in every attribute.
"""

import random

from firmware.tests.support import boxes, hand, table
from firmware.tests.support.recovering import (
    MAC,
    ONE_DECK,
    Unit,
    ends_shoe,
    game_with,
    random_input,
    recovered,
    seen,
)
from protocol.tests.helpers import seed_random, some, times
from sabot_firmware.journal.ring import PASSING
from sabot_firmware.table import input_log
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import cards, cbor, events

_ANY = {"text": "", "bytes": MAC, "flag": False}
_MIDI = {"name": "midi", "shown": "after_reveal", "burn": "none"}
_NO_MORE_BETS = {"name": "closed", "betting_closed_by": "dealer", "burn": "one"}


class _Cut:
    """The part of a unit's journal that is there after a loss of power."""

    def __init__(self, unit, upto) -> None:
        self._unit, self._upto = unit, upto

    def each_since_state(self, visit) -> None:
        unit = self._unit
        whole = unit.entries
        unit.entries = whole[: self._upto]
        unit.each_since_state(visit)
        unit.entries = whole


def _check_every_cut(unit, begun, actions, before, passing) -> None:
    """Check a recovery from each part of the entries of an input, which begin at `begun`."""
    after = seen(unit.dealing)
    ends = ends_shoe(actions)
    for upto in range(begun, len(unit.entries) + 1):
        resumed, dealing = recovered(_Cut(unit, upto), unit.game)
        assert not resumed.lost and resumed.boot == unit.boot
        if upto == begun:
            assert seen(dealing) == before
            assert resumed.missing == [] and not resumed.checkpoint_due
            assert resumed.card_passing == passing
            continue
        recorded = upto - begun - 1
        assert seen(dealing) == after, upto
        assert resumed.missing == actions[recorded:]
        assert resumed.checkpoint_due == (ends and recorded <= len(actions))


def _play(changed, inputs):
    unit = Unit(game_with(changed))
    resolved, ended = 0, 0
    for n in range(inputs):
        for text in random_input(unit.dealing):
            before = seen(unit.dealing)
            note = table.note_of(text)
            passing = input_log.ends_pass(note) and note[0] != input_log.SENSOR_FAILED
            if passing:
                unit.entries.append((PASSING, b""))
            begun = len(unit.entries)
            actions = unit.input(note)
            ends = ends_shoe(actions)
            resolves = bool([action for action in actions if action[0] is events.RESOLVED])
            if ends or resolves or random.randrange(times(1, 6)) == 0:
                _check_every_cut(unit, begun, actions, before, passing)
            ended += ends
            resolved += resolves
            if n % random.randint(3, 12) == 0:
                unit.keep()
                del unit.entries[:-1]
    return resolved, ended


def test_after_each_entry_of_each_input_the_dealing_is_recovered():
    seed_random()
    resolved, ended, games_left = 0, 0, [_MIDI, {"name": "eight"}, _NO_MORE_BETS]
    while games_left or not resolved or not ended:
        more = _play(games_left.pop() if games_left else ONE_DECK, times(70, 40))
        resolved += more[0]
        ended += more[1]


def test_in_every_situation_every_input_is_resumed():
    seed_random()
    for name in table.SITUATIONS:
        for text in some(table.INPUTS, 8):
            unit = Unit(game_with({}))
            for each in table.SITUATIONS[name][0].split():
                unit.input(table.note_of(each))
            before, begun = seen(unit.dealing), len(unit.entries)
            actions = unit.input(table.note_of(text))
            _check_every_cut(unit, begun, actions, before, False)


def test_the_power_may_go_again_and_again_while_the_start_is_recorded():
    seed_random()
    ends = 0
    rounds = times(24, 12)
    for round_ in range(rounds):
        unit = Unit(game_with(ONE_DECK))
        cut_short = random.randint(3, 25)
        while True:
            for text in random_input(unit.dealing):
                begun = len(unit.entries)
                actions = unit.input(table.note_of(text))
                cut_short -= 1
            if round_ % 2 and unit.number < 400:
                if ends_shoe(actions):
                    break
            elif cut_short <= 0:
                break
            if len(unit.entries) > 60:
                unit.keep()
                del unit.entries[:-1]
        ends += ends_shoe(actions)
        recorded = random.randint(0, len(actions))
        del unit.entries[begun + 1 + recorded :]
        after, expected = seen(unit.dealing), actions[recorded:]
        checkpoints = int(ends_shoe(actions))
        got, boots = [], 0
        for _ in range(8):
            resumed, dealing = recovered(unit, unit.game)
            unit.dealing = dealing
            assert seen(dealing) == after
            assert resumed.missing == expected[len(got) :]
            assert resumed.boot == 1 + boots
            assert resumed.checkpoint_due == (checkpoints > 0)
            before = len(unit.entries)
            unit.restart(resumed, random.randrange(len(resumed.missing) + 4))
            for _, payload in unit.entries[before:]:
                event = cbor.decode(payload, 0, len(payload) - 16)
                if event[0] == events.CHECKPOINT.number:
                    checkpoints -= 1
                elif event[0] == events.BOOT.number:
                    boots += 1
                elif event[0] != events.CLOCK_SET.number:
                    got.append(event[7:])
        resumed, _ = recovered(unit, unit.game)
        actions_done = got + [list(action[3]) for action in resumed.missing]
        assert actions_done == [list(action[3]) for action in actions[recorded:]]
        assert checkpoints == int(resumed.checkpoint_due) >= 0, "exactly once"
    assert ends > rounds // 12


def test_a_card_is_passing_from_its_mark_until_its_outcome_is_known():
    game = game_with({})
    for note, ends in (
        (table.note_of("9S"), True),
        (table.note_of("?jam"), True),
        (table.note_of("?sensor"), True),
        (table.note_of("?samples"), True),
        (table.note_of("?power"), True),
        (table.note_of("next"), False),
        (table.note_of("lid+"), False),
        (table.note_of("key+"), False),
        (table.note_of("?full"), False),
    ):
        unit = Unit(game)
        for text in (table.DEALT + " 4C").split():
            unit.input(table.note_of(text))
        assert not recovered(unit, game)[0].card_passing
        unit.entries.append((PASSING, b""))
        assert recovered(unit, game)[0].card_passing
        unit.input(note)
        assert recovered(unit, game)[0].card_passing == (not ends), note
        unit.keep()
        assert not recovered(unit, game)[0].card_passing


def test_events_that_the_dealing_did_not_make_are_not_taken_for_its_actions():
    game = game_with({})
    unit = Unit(game)
    actions = []
    for text in table.DEALT.split():
        begun = len(unit.entries)
        actions = unit.input(table.note_of(text))
    assert len(actions) > 1
    for shape in events.KINDS:
        del unit.entries[begun + 2 :]  # the note and one event
        unit.record(shape, 7, 1, [_ANY.get(kind, 0) for _, kind in shape.fields])
        resumed, _ = recovered(unit, game)
        missing = actions[2 if shape.by == events.DEALING else 1 :]
        assert resumed.missing == missing, shape.name


def _kinds_of_random_play(game):
    """Return the kinds of events that are made while cards come and any button is pressed."""
    made, dealing = set(), Dealing(game, table.SET, 7)
    for n in range(1500):
        if dealing.can_change_game():
            text = ("lid+", "lid-")[n % 2]
        elif dealing.error:
            text = ("key+", "void", "key-")[n % 3]
        elif dealing.card_due() and random.getrandbits(2):
            text = cards.name_of(random.randrange(52))
            if dealing.inventory.surplus(cards.number_of(text)):
                continue
        else:
            text = random.choice(("next", "reveal", "burn"))
        for action in input_log.carry_out(dealing, table.note_of(text)):
            made.add(action[0])
    return made


def test_the_dealing_makes_the_events_whose_definition_says_so_and_no_others():
    seed_random()
    made = set()
    texts = [
        before + " " + text
        for before, _ in table.SITUATIONS.values()
        for text in table.INPUTS + ("void key+ void void", "reveal reveal", "?bad_code", "AC")
    ]
    for text in texts + ["lid+ lid- 4C 5D", "lid+ lid- 4C key+ void"]:
        dealing = Dealing(game_with({} if text in texts else _MIDI), table.SET, 7)
        for word in text.split():
            made.update([action[0] for action in input_log.carry_out(dealing, table.note_of(word))])
        for _ in range(40):  # and what hands do with what stopped play
            word = random.choice(table.HANDS).split()[0]
            made.update([action[0] for action in input_log.carry_out(dealing, table.note_of(word))])
    for game in (boxes.game(), hand.game(), hand.game(hole_cards="shown")):
        made.update(_kinds_of_random_play(game))
    for kind in events.KINDS:
        by = events.DEALING if kind in made else events.DEVICE
        assert kind.by == by, "sabot_definitions/events.py does not say who makes " + kind.name
