"""A whole shoe on a scripted board, which plays a script and records what the shoe did."""

import gc

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.fakes import fake_gc  # noqa: F401  # CPython lacks a part of it
from firmware.tests.fakes.fake_flash import FIRST_KEY, RING, new_chip
from firmware.tests.support.held import each_record
from firmware.tests.support.naive_chain import NaiveChain, hmac
from firmware.tests.support.noise import RANDOM, Sources
from firmware.tests.support.passing import code, pass_of, printed
from sabot_firmware.boards.sim.flash import SimFlash
from sabot_firmware.journal import keyring
from sabot_firmware.journal.contents import Contents
from sabot_firmware.journal.cursor import Cursor
from sabot_firmware.journal.pool_slot import FIRST_POOL, filled
from sabot_firmware.release import build as build_module
from sabot_firmware.shoe import Shoe
from sabot_firmware.store import SettingsStore
from sabot_firmware.table import inputs
from sabot_protocol import cards, cbor, enums, events, games
from sabot_protocol.chain import chain_id, command_key

_KINDS = {shape.number: shape for shape in events.KINDS}
LID, KEY = 0, 1
SET = 0
NEXT, REVEAL, VOID, BURN = [inputs.pressed(button) for button in range(4)]
LOAD = (inputs.switched(LID, True), inputs.switched(LID, False))
KEY_TURNED = [inputs.switched(KEY, True), inputs.switched(KEY, False)]


class Over(Exception):
    """The script of a board is over."""


class ScriptedBoard:
    """Plays a script of samples and inputs; records what the shoe did in between, in order."""

    NAME = "none"
    serial = "TEST-1"
    reset_cause = restarts = 0
    LOOK_BYTES = 1 << 29  # `play` gives no other task a turn: the shoe would seem to hang
    SENSES = False
    lid_opened = compartment_opened = None
    follows = supply = True
    armed = watches = 0
    lid_watched = False

    def __init__(self, folder, flash):
        self.storage = folder.path
        self.flash = flash
        self.switches_on = 0
        """The positions of the switches at the start."""
        self.overruns = 0
        self.seen = []
        """What the shoe did to the lock and what was played, in order."""
        self.text = ""
        self.outputs = []
        """What the shoe lit, showed and sounded, in order."""
        self._script = []
        self._samples = b""
        self._changes = []
        self._now_ms = 0
        self.shoe = None
        self.sources = Sources()
        """The hardware's sources of randomness."""

    def play(self, shoe, *script):
        """Play samples, given as bytes, and changes of inputs, given as integers. A tuple
        ("overrun", samples) means that some were lost before these samples."""
        self._script += script
        for task in range(3):  # only `_deal` runs here: the others wait
            shoe.ticking.turns[task] = 2
        deal = shoe._deal()
        try:
            while True:
                deal.send(None)
        except Over:
            pass

    def ticks_ms(self):
        return self._now_ms

    def sleep_ms(self, ms):
        self._now_ms += ms

    def switches(self):
        return self.switches_on

    async def wait_for_activity(self, within_ms, wait):
        if not wait:
            self._now_ms += 1
            return  # the shoe writes its queue first
        if not self._script:
            raise Over
        item = self._script.pop(0)
        self._now_ms += 10
        if isinstance(item, int):
            self._changes.append(item)
            self.seen.append("input")
        elif isinstance(item, tuple):
            self.overruns += 1
            self._samples = b"".join(item[1:])
        else:
            self._samples = bytes(item)
            self.seen.append("samples")

    def noise(self, source, buf):
        self.sources.fill(source, buf)

    def read_samples(self, buf):
        size = min(len(buf), len(self._samples))
        buf[:size] = self._samples[:size]
        self._samples = self._samples[size:]
        return size

    def judged(self, unjudged_bytes, undecided):
        pass

    def take_input(self):
        return self._changes.pop(0) if self._changes else inputs.NONE

    def watch(self, timeout_ms):
        pass

    def feed(self):
        pass

    def lock_obeys(self):
        return True

    def lock_follows(self):
        return self.follows

    def supply_good(self):
        return self.supply

    def arm_latches(self):
        self.armed += 1

    def set_lid_watched(self, watched):
        self.lid_watched = watched
        self.watches += watched

    def set_lock(self, released):
        self.seen.append("open" if released else "shut")

    def set_lamps(self, lit):
        self.outputs.append(lit)

    def show(self, text):
        self.text = text
        self.outputs.append(text)

    def buzz(self, ms):
        self.outputs.append("beep")


class FileFlash(SimFlash):
    """A chip that takes no memory: the heap is as small as the board's."""

    def __init__(self, folder, ring):
        self._path = folder.file("journal.nor")
        super().__init__(self._path, speed=0, sectors=keyring.SECTORS + ring)

    def power_on(self):
        pass

    def flip(self, address):
        """Flip a bit, as may happen over years."""
        with open(self._path, "r+b") as file:
            file.seek(address)
            octet = file.read(1)[0]
            file.seek(address)
            file.write(bytes([octet ^ 1]))


def started(folder, flash=None, switches_on=0, cause=None, **parts):
    """Return a board and its shoe: the unit of `folder` and `flash`; without `flash` a new one.
    `parts` are attributes of the board, such as `lid_opened`."""
    build_module.build_of_packages = lambda chunk: bytes(32)  # it has separate tests
    board = ScriptedBoard(folder, flash or new_chip())
    board.switches_on = switches_on
    if cause is None:  # an old unit starts as after a hang: otherwise it may ask for the key
        cause = "power_on" if flash is None else "watchdog"
    board.reset_cause = enums.RESET_CAUSES.index(cause)
    board.lid_watched = cause in ("watchdog", "command", "error", "memory")
    for part in parts:
        setattr(board, part, parts[part])
    if flash is None:
        provision(folder, board.flash)
    board.shoe = Shoe(board)
    # What the next start on this board finds.
    board.reset_cause, board.lid_watched = enums.RESET_CAUSES.index("watchdog"), True
    return board, board.shoe


def begin_chip(flash, first_key=FIRST_KEY, random=RANDOM):
    """Write the first key and, if there are any, the host's random bytes to a unit's chip."""
    contents = Contents(flash)
    contents.begin(first_key)
    if random is not None:
        contents.write_pool(filled(command_key(first_key), FIRST_POOL, random))


def provision(folder, flash, first_key=FIRST_KEY, random=RANDOM):
    """Give a unit its keys and random bytes of a host, None for a unit from before; return its
    flash."""
    begin_chip(flash, first_key, random)
    store = SettingsStore(folder.path)
    store.save("chain", chain_id(first_key))
    store.save("command_key", command_key(first_key))
    return flash


def started_in_file(folder, ring=RING):
    """Return a new unit with this many sectors of journal."""
    return started(folder, provision(folder, FileFlash(folder, ring)))


def dealing(folder, document):
    """Return a new unit that deals by a game document; its chip is a file."""
    flash = provision(folder, FileFlash(folder, RING))
    SettingsStore(folder.path).save("game", games.encode(document))
    return started(folder, flash)


def round_key(secret, number):
    """Return the key of the round whose `seal` has this number (protocol/README.md, "Sealed
    cards")."""
    return hmac(secret, b"sabot round" + number.to_bytes(8, "big"))


def loaded(folder, *names, ring=0):
    """Return a shoe from which the first burn and these cards were drawn; with `ring` its chip is a
    file with this many sectors of journal."""
    board, shoe = started_in_file(folder, ring) if ring else started(folder)
    board.play(shoe, *LOAD, *[card_samples(name) for name in ("AC", "2C") + names])
    board.seen = []
    return board, shoe


def card_samples(name, width_um=2000):
    return pass_of(printed(code(cards.number_of(name), SET), width_um))


def each_recorded(shoe):
    """Yield every event held, as (kind, own values)."""
    for record in each_record(shoe.journal):
        values = cbor.decode(record, 0, len(record))
        yield _KINDS[values[0]].name, values[len(events.HEADER) :]


def recorded(shoe):
    return list(each_recorded(shoe))


def kinds_of(shoe):
    return [kind for kind, _ in each_recorded(shoe)]


def parts_of(data, covered):
    """Split a pass: until its card is known (the last mark has passed), its tail, the rest."""
    last_mark = 60500 * 20 // 2000 // 2 + 4
    return data[:last_mark], data[last_mark:covered], data[covered:]


def again(folder, board, switches_on=0, cause="watchdog"):
    """Start the same unit again. After a hang, with the power on, it goes on by itself.
    After `power_on` with cards in play it asks for the supervisor's key."""
    before = board.shoe  # free its memory first: the heap is as small as the board's
    before.reader = before.passes = before.health = before.link = before._turns = None
    before.journal = before.outbox = before.recorder = before.guard = None
    before.sensing = before.acting = before.presenting = before.ticking = None
    before.randomness = before.calibration = before._priority = None
    gc.collect()
    board.flash.power_on()
    return started(folder, board.flash, switches_on, cause)


def check_chain(shoe):
    """Check that every event is there, with the number and the MAC that it must have."""
    journal = shoe.journal
    journal.drain()
    assert journal.first_held == 1
    naive, before = NaiveChain(FIRST_KEY), NaiveChain(FIRST_KEY).name
    cursor = Cursor(journal)
    assert cursor.seek(1)
    for number in range(1, journal.durable + 1):
        assert cursor.next()
        record = bytes(cursor.record)
        before = naive.mac(number, before, record)
        assert bytes(cursor.mac) == before, number
        assert cbor.decode(record, 0, len(record))[1] == number


def events_from(shoe, first, last=None):
    """Return the events from number `first` to `last`, None for all, as (kind, own values)."""
    journal = shoe.journal
    journal.drain()
    cursor = Cursor(journal)
    assert cursor.seek(first)
    found = []
    while (last is None or first + len(found) <= last) and cursor.next():
        event = cbor.decode(cursor.record, 0, len(cursor.record))
        assert event[1] == first + len(found)
        found.append((_KINDS[event[0]].name, event[len(events.HEADER) :]))
    return found


def scripted_item(text):
    """Return what the board plays for an input in the notation of table.py."""
    if text[-1] in "+-":
        switch = [word.split("_")[0] for word in enums.SWITCHES].index(text[:-1])
        return inputs.switched(switch, text[-1] == "+")
    if text in enums.BUTTONS:
        return inputs.pressed(enums.BUTTONS.index(text))
    return card_samples(text)
