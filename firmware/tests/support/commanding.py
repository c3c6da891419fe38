"""A shoe without a board that carries out the host's commands."""

from firmware.tests.fakes.fake_flash import FIRST_KEY, RING, new_chip
from firmware.tests.support.held import records_in
from sabot_firmware.journal.journal import Journal
from sabot_firmware.journal.outbox import Outbox
from sabot_firmware.journal.recorder import Recorder
from sabot_firmware.journal.seals import Seals
from sabot_firmware.link import commands
from sabot_firmware.store import SettingsStore
from sabot_firmware.table import input_log
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import baccarat, cbor, enums, games, messages

_SHAPES = {shape.number: shape for shape in messages.TO_HOST}


class _Board:
    NAME = "none"

    def __init__(self):
        self.now_ms = 5000
        self.buzzed_ms = []

    def ticks_ms(self):
        return self.now_ms

    def buzz(self, ms):
        self.buzzed_ms.append(ms)


class _Link:
    dropped = 3


class _Heap:
    used = 1000
    free = 2000

    def give_spare(self):
        pass

    def take_spare(self):
        return True


class _Running:
    on_trial = False


class _Acting:
    def __init__(self, shoe):
        self._shoe = shoe

    held = False

    def keep_state(self):
        pass

    def carry_out(self, note):
        for shape, number, round_, values in input_log.carry_out(self._shoe.dealing, note):
            self._shoe.recorder.record(shape, number, round_, values)


class Shoe:
    """The part of sabot_firmware.shoe.Shoe that commands use, started from `folder`."""

    def __init__(self, folder, ring=RING):
        self.board = _Board()
        self.link = _Link()
        self.heap = _Heap()
        self.store = SettingsStore(folder.path)
        game = games.game_of(self.store.load("game") or baccarat.document_of("mini"))
        self.journal = Journal(new_chip(ring), bytearray(4096))
        self.journal.begin(FIRST_KEY)
        self.journal.mount()
        self.recorder = Recorder(self.journal, 1, self.board.ticks_ms)
        self.outbox = Outbox(self.journal, 0)
        self.dealing = Dealing(game, 0, 41)
        self.game_parts = None
        self.restart_due = False
        self.running = _Running()
        self.acting = _Acting(self)

    def open_seals(self):
        return Seals(bytes(32))

    def prepare_for(self, game):
        pass

    def hold_rounds(self):
        pass

    def leave_for_update(self):
        pass

    def load_cards(self):
        self.dealing.switched(0, True)
        self.dealing.switched(0, False)

    def recorded(self):
        """Return all events since the start."""
        return [cbor.decode(record, 0, len(record)) for record in records_in(self.journal)]


def run(shoe, shape, *values):
    shape.check(list(values))
    answer = commands.run(shoe, shape, list(values))
    _SHAPES[answer[0]].check(answer[1:])
    assert answer[1] == values[0], "the answer carries the command's number"
    return answer


def done(answer):
    return answer[0] == messages.REPLY.number and enums.REFUSALS[answer[2]] == "none"


def refused(answer):
    """Return the reason and the detail of a refusal."""
    assert answer[0] == messages.REPLY.number and answer[2] and len(answer[3]) < 200
    return enums.REFUSALS[answer[2]], answer[3]


def document_with(**changes):
    document = dict(baccarat.MINI)
    document.update(changes)
    buf = bytearray(2000)
    return bytes(buf[: cbor.encode_into(buf, 0, document)])


def load_part(shoe, document, offset, end, size=None):
    size = len(document) if size is None else size
    return run(shoe, messages.LOAD_GAME, 1, offset, size, document[offset:end])


def load_game(shoe, document, part_size=messages.MAX_GAME_PART):
    """Send the parts of a document until one is refused; return the last answer."""
    offset = 0
    while True:
        answer = load_part(shoe, document, offset, offset + part_size)
        offset += part_size
        if offset >= len(document) or not done(answer):
            return answer
        assert shoe.dealing.game.document != document, "not before the last part"
