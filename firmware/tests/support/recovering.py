"""A dealing with the journal entries that its shoe would write, and its recovery from them."""

import random

from firmware.tests.support import table
from sabot_firmware import panel
from sabot_firmware.journal.recovery import Recovery, keep_state, state_of
from sabot_firmware.journal.ring import EVENT, MOST_STATE, NOTE, STATE
from sabot_firmware.journal.seals import Seals
from sabot_firmware.table import input_log
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import baccarat, cards, cbor, events, games

MAC = bytes(events.MAC_SIZE)
SECRET = bytes(range(32))
ONE_DECK = {"decks": 1}
_games = {}


def game_with(changed):
    key = str(sorted(changed.items()))
    if key not in _games:
        document = dict(baccarat.MINI)
        document.update(changed)
        _games[key] = baccarat.Game(games.encode(document))
        _games[key].cut_from_end = 416
    return _games[key]


class Unit:
    """A dealing with the entries that the shoe would put into its journal; also that journal."""

    def __init__(self, game) -> None:
        self.game = game
        self.dealing = Dealing(game, table.SET, 7)
        self.entries = []
        self.boot = 1
        self.number = 1
        self.seals = Seals(SECRET) if game.face_down else None
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
        keep_state(self, self.boot, self.dealing, bytearray(MOST_STATE), self.seals)

    def record(self, shape, shoe, round_, values) -> None:
        buf = bytearray(events.MAX_SIZE)
        if self.seals is not None:
            values = self.seals.values_of(shape, values, self.number)
        event = [shape.number, self.number, self.boot, 5, None, shoe, round_] + list(values)
        self.entries.append(
            (EVENT, bytes(buf[: cbor.encode_array(buf, 0, event, len(event))]) + MAC)
        )
        self.number += 1

    def input(self, note) -> list:
        """Carry out an input and return its actions. Its entries are the last ones then."""
        buf = bytearray(64)
        entry = bytes(buf[: cbor.encode_array(buf, 0, note, len(note))])
        if self.seals is not None and input_log.tells_card(note):
            sealed, self.dealing.pending.seed = self.seals.note(self.number, entry)
            kept = [input_log.SEALED, self.number, sealed]
            entry = bytes(buf[: cbor.encode_array(buf, 0, kept, len(kept))])
        self.entries.append((NOTE, entry))
        actions = input_log.carry_out(self.dealing, note)
        for action in actions:
            self.record(*action)
        if ends_shoe(actions):
            self.checkpoint()
        return actions

    def checkpoint(self) -> None:
        self.record(
            events.CHECKPOINT, self.dealing.shoe, self.dealing.round, (self.number - 1, MAC)
        )

    def restart(self, resumed, upto: int) -> None:
        """Start again, and write `upto` entries before the power goes again."""
        begun = len(self.entries)
        self.boot = resumed.boot + 1
        self.seals = resumed.seals or (Seals(SECRET) if self.game.face_down else None)
        self.record(events.BOOT, 7, 1, (0, "1.0", bytes(32), "sim", "mini", MAC))
        for action in resumed.missing:
            self.record(*action)
        if resumed.checkpoint_due:
            self.checkpoint()
        self.record(events.CLOCK_SET, 7, 1, (None,))
        del self.entries[begun + upto :]


def ends_shoe(actions) -> bool:
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


def seen(dealing):
    """Return everything that can be seen of a dealing."""
    shown = (
        panel.lamps_of(dealing),
        panel.text_of(dealing, panel.HOST),
        dealing.lock_released(),
        [dealing.lock_after(card) for card in range(0, 54, 4)],
    )
    return _everything(dealing, ("came_sealed",)), shown, str(state_of(dealing))


def recovered(journal, game):
    """Return a new dealing, recovered from the journal as at a start, and what was resumed."""
    dealing = Dealing(game, table.SET, 0)
    return Recovery(journal, dealing, lambda: Seals(SECRET)), dealing


def random_input(dealing):
    if dealing.pending.waits():
        return random.choice(table.HANDS).split()
    if dealing.error and random.getrandbits(1):
        return ["lid-", "key-", "key+"]
    if random.random() < 0.2 or dealing.error:
        return [random.choice(table.INPUTS)]
    if dealing.card_due():
        return ["CUT" if random.random() < 0.03 else cards.name_of(random.randrange(52))]
    return [random.choice(("next", "next", "reveal", "lid+", "lid-", "key+", "key-"))]
