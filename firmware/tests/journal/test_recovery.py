"""After any loss of power the dealing continues in the state in which it was.

During random play a second dealing is recovered after each input, and after each entry that the
input leaves in the journal, and compared with the first one in every attribute.
"""

import random

from firmware.tests.fakes.fake_flash import FIRST_KEY, new_chip
from firmware.tests.support import table
from protocol.tests.helpers import raised, seed_random
from sabot_firmware import panel
from sabot_firmware.journal.journal import Journal, JournalError
from sabot_firmware.journal.recovery import Recovery, keep_state, state_of
from sabot_firmware.journal.ring import EVENT, NOTE, PASSING, STATE
from sabot_firmware.table import input_log, pending
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import cards, cbor, enums, events, games

_MAC = bytes(events.MAC_SIZE)
_ANY = {"text": "", "bytes": _MAC, "flag": False}
_MIDI = {"name": "midi", "shown": "after_reveal", "burn": "none"}
_NO_MORE_BETS = {"name": "closed", "betting_closed_by": "dealer", "burn": "one"}
_ONE_DECK = {"decks": 1}
_QUEUE = bytearray(4096)
_games = {}


def _game(changed):
    key = str(sorted(changed.items()))
    if key not in _games:
        document = dict(games.MINI)
        document.update(changed)
        _games[key] = games.Game(games.encode(document))
        _games[key].cut_from_end = 416
    return _games[key]


class _Unit:
    """A dealing with the entries that the shoe would put into its journal; also that journal."""

    def __init__(self, game) -> None:
        self.game = game
        self.dealing = Dealing(game, table.SET, 7)
        self.entries = []
        self.boot = 1
        self.number = 1
        self.keep()

    # The part of a journal that `keep_state` and `Recovery` use.

    def put(self, kind, payload, size) -> None:
        self.entries.append((kind, bytes(payload[:size])))

    def acknowledged(self) -> int:
        return max(0, self.number - 9)

    def each_since_state(self, visit) -> None:
        begin = max([i for i in range(len(self.entries)) if self.entries[i][0] == STATE])
        for kind, payload in self.entries[begin:]:
            visit(kind, memoryview(payload))

    def gap_recorded(self, last) -> None:
        self.gap_last = last

    # The part of the shoe that writes entries.

    def keep(self) -> None:
        keep_state(self, self.boot, self.dealing, bytearray(events.MAX_SIZE))

    def record(self, shape, shoe, round_, values) -> None:
        buf = bytearray(events.MAX_SIZE)
        event = [shape.number, self.number, self.boot, 5, None, shoe, round_] + list(values)
        self.entries.append(
            (EVENT, bytes(buf[: cbor.encode_array(buf, 0, event, len(event))]) + _MAC)
        )
        self.number += 1

    def input(self, note) -> list:
        """Carry out an input and return its actions. Its entries are the last ones then."""
        buf = bytearray(64)
        self.entries.append((NOTE, bytes(buf[: cbor.encode_array(buf, 0, note, len(note))])))
        actions = input_log.carry_out(self.dealing, note)
        for action in actions:
            self.record(*action)
        if _ends_shoe(actions):
            self.checkpoint()
        return actions

    def checkpoint(self) -> None:
        self.record(
            events.CHECKPOINT, self.dealing.shoe, self.dealing.round, (self.number - 1, _MAC)
        )

    def restart(self, resumed, upto: int) -> None:
        """Start again, and write `upto` entries before the power goes again."""
        begun = len(self.entries)
        self.boot = resumed.boot + 1
        self.record(events.BOOT, 7, 1, (0, "1.0", bytes(32), "sim", "mini", _MAC))
        for action in resumed.missing:
            self.record(*action)
        if resumed.checkpoint_due:
            self.checkpoint()
        self.record(events.CLOCK_SET, 7, 1, (None,))
        del self.entries[begun + upto :]


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


def _ends_shoe(actions) -> bool:
    return bool([action for action in actions if action[0] is events.COMPOSITION])


def _everything(thing, but=()):
    """Return every attribute by name, including the attributes of attributes."""
    found = {}
    for name in dir(thing):
        if name[:2] == "__" or name in but:
            continue
        value = getattr(thing, name)
        if name in ("inventory", "pending", "current_round"):
            found[name] = _everything(value)
        elif isinstance(value, (bool, int, str, bytes, bytearray, list, tuple)):
            found[name] = bytes(value) if isinstance(value, bytearray) else value
            if isinstance(value, list):
                found[name] = value[:]
        else:
            assert callable(value) or name in ("game", "_game"), name
    return found


def _seen(dealing):
    """Return everything that can be seen of a dealing."""
    shown = (
        panel.lamps_of(dealing),
        panel.text_of(dealing, panel.HOST),
        dealing.lock_released(),
        [dealing.lock_after(card) for card in range(0, 54, 4)],
    )
    return _everything(dealing), shown, str(state_of(dealing))


def _resumed(journal, game):
    """Return a new dealing, recovered from the journal as at a start, and what was resumed."""
    dealing = Dealing(game, table.SET, 0)
    return Recovery(journal, dealing), dealing


def _random_input(dealing):
    if dealing.pending.waits():
        return random.choice(table.HANDS).split()
    if dealing.error and random.getrandbits(1):
        return ["lid-", "key-", "key+"]
    if random.random() < 0.2 or dealing.error:
        return [random.choice(table.INPUTS)]
    if dealing.card_due():
        return ["CUT" if random.random() < 0.03 else cards.name_of(random.randrange(52))]
    return [random.choice(("next", "next", "reveal", "lid+", "lid-", "key+", "key-"))]


def _check_every_cut(unit, begun, actions, before, passing) -> None:
    """Check a recovery from each part of the entries of an input, which begin at `begun`."""
    after = _seen(unit.dealing)
    ends = _ends_shoe(actions)
    for upto in range(begun, len(unit.entries) + 1):
        resumed, dealing = _resumed(_Cut(unit, upto), unit.game)
        assert not resumed.lost and resumed.boot == unit.boot
        if upto == begun:
            assert _seen(dealing) == before
            assert resumed.missing == [] and not resumed.checkpoint_due
            assert resumed.card_passing == passing
            continue
        recorded = upto - begun - 1
        assert _seen(dealing) == after, upto
        assert resumed.missing == actions[recorded:]
        assert resumed.checkpoint_due == (ends and recorded <= len(actions))


def _play(changed, inputs):
    unit = _Unit(_game(changed))
    resolved, ended = 0, 0
    for n in range(inputs):
        for text in _random_input(unit.dealing):
            before = _seen(unit.dealing)
            note = table.note_of(text)
            passing = input_log.ends_pass(note) and note[0] != input_log.SENSOR_FAILED
            if passing:
                unit.entries.append((PASSING, b""))
            begun = len(unit.entries)
            actions = unit.input(note)
            _check_every_cut(unit, begun, actions, before, passing)
            ended += _ends_shoe(actions)
            resolved += bool([action for action in actions if action[0] is events.RESOLVED])
            if n % random.randint(3, 12) == 0:
                unit.keep()
                del unit.entries[:-1]
    return resolved, ended


def test_after_each_entry_of_each_input_the_dealing_is_recovered():
    seed_random()
    resolved, ended, games_left = 0, 0, [_MIDI, {"name": "eight"}, _NO_MORE_BETS]
    while games_left or not resolved or not ended:
        more = _play(games_left.pop() if games_left else _ONE_DECK, 110)
        resolved += more[0]
        ended += more[1]


def test_in_every_situation_every_input_is_resumed():
    for name in table.SITUATIONS:
        for text in table.INPUTS:
            unit = _Unit(_game({}))
            for each in table.SITUATIONS[name][0].split():
                unit.input(table.note_of(each))
            before, begun = _seen(unit.dealing), len(unit.entries)
            actions = unit.input(table.note_of(text))
            _check_every_cut(unit, begun, actions, before, False)


def test_the_power_may_go_again_and_again_while_the_start_is_recorded():
    seed_random()
    ends = 0
    for round_ in range(40):
        unit = _Unit(_game(_ONE_DECK))
        cut_short = random.randint(3, 25)
        while True:
            for text in _random_input(unit.dealing):
                begun = len(unit.entries)
                actions = unit.input(table.note_of(text))
                cut_short -= 1
            if round_ % 2 and unit.number < 400:
                if _ends_shoe(actions):
                    break
            elif cut_short <= 0:
                break
            if len(unit.entries) > 60:
                unit.keep()
                del unit.entries[:-1]
        ends += _ends_shoe(actions)
        recorded = random.randint(0, len(actions))
        del unit.entries[begun + 1 + recorded :]
        after, expected = _seen(unit.dealing), actions[recorded:]
        checkpoints = int(_ends_shoe(actions))
        got, boots = [], 0
        for _ in range(8):
            resumed, dealing = _resumed(unit, unit.game)
            unit.dealing = dealing
            assert _seen(dealing) == after
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
        resumed, _ = _resumed(unit, unit.game)
        actions_done = got + [list(action[3]) for action in resumed.missing]
        assert actions_done == [list(action[3]) for action in actions[recorded:]]
        assert checkpoints == int(resumed.checkpoint_due) >= 0, "exactly once"
    assert ends > 2


def test_a_card_is_passing_from_its_mark_until_its_outcome_is_known():
    game = _game({})
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
        unit = _Unit(game)
        for text in (table.DEALT + " 4C").split():
            unit.input(table.note_of(text))
        assert not _resumed(unit, game)[0].card_passing
        unit.entries.append((PASSING, b""))
        assert _resumed(unit, game)[0].card_passing
        unit.input(note)
        assert _resumed(unit, game)[0].card_passing == (not ends), note
        unit.keep()
        assert not _resumed(unit, game)[0].card_passing


def test_events_that_the_dealing_did_not_make_are_not_taken_for_its_actions():
    game = _game({})
    unit = _Unit(game)
    actions = []
    for text in table.DEALT.split():
        begun = len(unit.entries)
        actions = unit.input(table.note_of(text))
    assert len(actions) > 1
    for shape in events.KINDS:
        del unit.entries[begun + 2 :]  # the note and one event
        unit.record(shape, 7, 1, [_ANY.get(kind, 0) for _, kind in shape.fields])
        resumed, _ = _resumed(unit, game)
        missing = actions[2 if shape.by == events.DEALING else 1 :]
        assert resumed.missing == missing, shape.name


def test_the_dealing_makes_the_events_whose_definition_says_so_and_no_others():
    seed_random()
    made = set()
    texts = [
        before + " " + text
        for before, _ in table.SITUATIONS.values()
        for text in table.INPUTS + ("void key+ void void", "reveal reveal", "?bad_code", "AC")
    ]
    for text in texts:
        dealing = Dealing(_game({}), table.SET, 7)
        for word in text.split():
            made.update([action[0] for action in input_log.carry_out(dealing, table.note_of(word))])
        for _ in range(40):  # and what hands do with what stopped play
            word = random.choice(table.HANDS).split()[0]
            made.update([action[0] for action in input_log.carry_out(dealing, table.note_of(word))])
    for kind in events.KINDS:
        by = events.DEALING if kind in made else events.DEVICE
        assert kind.by == by, "sabot_protocol/events.py does not say who makes " + kind.name


def test_the_boot_number_and_the_acknowledged_events_are_recovered():
    unit = _Unit(_game({}))
    unit.boot = 41
    unit.number = 5000
    unit.keep()
    resumed, _ = _resumed(unit, unit.game)
    assert (resumed.boot, resumed.acknowledged) == (41, 4991)
    unit.boot = 42
    unit.record(events.BOOT, 7, 1, (0, "1.0", bytes(32), "sim", "mini", _MAC))
    assert _resumed(unit, unit.game)[0].boot == 42


def test_a_state_of_another_firmware_is_refused():
    unit = _Unit(_game({}))
    kind, payload = unit.entries[-1]
    unit.entries.append((kind, payload[:1] + b"\x02" + payload[2:]))
    assert payload[1] == 1
    assert raised(JournalError, _resumed, unit, unit.game)


def test_the_largest_state_fits_an_entry():
    dealing = Dealing(_game({}), table.SET, 0xFFFFFFFF)
    dealing.round = dealing.rounds = 400
    dealing.current_round.player = dealing.current_round.banker = [51, 51, 51]
    dealing.current_round.begun = True
    dealing.current_round.hits = 0x3FF
    dealing.error = len(enums.ERRORS) - 1
    dealing.fault = len(enums.FAULTS) - 1
    dealing.lid_open = dealing.key_on = dealing.service_on = True
    dealing.burn_left = 10
    dealing.rounds_left = 2
    dealing.after_cut = 416
    dealing.inventory.load(8)
    for card in range(52):
        for _ in range(255):
            dealing.inventory.count(card)
    dealing.inventory.unread = 999
    largest = (100000, 100000, 100000, 100000)
    dealing.pending.begin("surplus_copy", 5, pending.COUNTS)
    dealing.pending.keep_read(51, largest, True)
    for _ in range(5):
        dealing.pending.step()
    dealing.pending.step_suit()
    unit = _Unit(_game({}))
    unit.dealing = dealing
    unit.boot, unit.number = 0xFFFFFFFF, 0xFFFFFFFF
    unit.keep()  # raises if the buffer is too small
    resumed, again = _resumed(unit, unit.game)
    assert _seen(again) == _seen(dealing) and resumed.boot == 0xFFFFFFFF


def test_the_largest_note_fits_its_buffer():
    buf = bytearray(64)
    for note in ([input_log.FAULT, 9] + [0xFFFFFFFF] * 4, [input_log.CARD, 53] + [0xFFFFFFFF] * 4):
        assert cbor.encode_array(buf, 0, note, len(note)) < len(buf)


def test_recovery_from_a_real_journal_is_the_same():
    seed_random()
    flash = new_chip()
    game = _game(_ONE_DECK)
    unit = _Unit(game)
    journal = Journal(flash, _QUEUE)
    journal.begin(FIRST_KEY)
    journal.mount()
    written = 0
    for n in range(150):
        for text in _random_input(unit.dealing):
            unit.input(table.note_of(text))
            if n % 9 == 0:
                unit.keep()
        for kind, payload in unit.entries[written:]:
            if kind == EVENT:
                journal.put_event(memoryview(payload), len(payload) - 16)
            else:
                journal.put(kind, memoryview(payload), len(payload))
        written = len(unit.entries)
        journal.drain()
        journal.acknowledge(journal.durable)
        if n % 10 == 0:
            journal = Journal(flash, _QUEUE)
            journal.mount()
            resumed, dealing = _resumed(journal, game)
            assert not resumed.lost and resumed.missing == []
            assert _seen(dealing) == _seen(unit.dealing)


def test_events_lost_after_the_state_are_noticed():
    seed_random()
    for damaged in (0, 1, 2, 3):
        flash = new_chip()
        journal = Journal(flash, _QUEUE)
        journal.begin(FIRST_KEY)
        journal.mount()
        unit = _Unit(_game({}))
        journal.put(STATE, memoryview(unit.entries[0][1]), len(unit.entries[0][1]))
        while journal._open < 4:
            unit.entries.clear()
            unit.input(table.note_of(random.choice(("service+", "service-"))))
            for kind, payload in unit.entries:
                if kind == EVENT:
                    journal.put_event(memoryview(payload), len(payload) - 16)
                else:
                    journal.put(kind, memoryview(payload), len(payload))
            journal.drain()
        place = journal._address(damaged)
        flash.flip(place + random.choice((8, 700, 1500, 3000)), 3)
        journal = Journal(flash, _QUEUE)
        journal.mount()
        resumed, _ = _resumed(journal, unit.game)
        assert resumed.lost and resumed.missing == []
        assert not resumed.checkpoint_due and not resumed.card_passing
