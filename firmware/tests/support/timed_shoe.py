"""A whole shoe whose turns take as long as on a Pico: how soon does the lock shut?

The shoe with its four tasks, its journal and the Pico's lock are the real ones. The clock, the
scheduler (turns.py), the sensor head with its ring of samples, the chip, the garbage collector and
the time that each piece of work takes (`COSTS_US`) are simulated. The interrupt of the lock comes
every LOOK_MS, also in the middle of a turn. It needs CPython.
"""

import copy

from firmware.tests.fakes import fake_pico
from firmware.tests.fakes.fake_flash import Flash
from firmware.tests.support.passing import code, pass_of, printed
from firmware.tests.support.scripted import LID, SET, ScriptedBoard, card_samples, provision
from firmware.tests.support.turns import Event, Turns
from sabot_firmware import heap as heap_module
from sabot_firmware import priority as priority_module
from sabot_firmware import shoe as shoe_module
from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.cards.scan import _COUNT
from sabot_firmware.journal import keyring
from sabot_firmware.journal.recovery import restore, state_of
from sabot_firmware.release import build as build_module
from sabot_firmware.shoe import Shoe
from sabot_firmware.table import inputs
from sabot_protocol import cards, messages

lock_module = fake_pico.lock

COSTS_US = {
    # Measured on the emulated Pico, MicroPython v1.28 at 125 MHz with its flash cache, each the
    # longest of a session of rounds with a host: `python -m sabot_hil.benchmarks.costs`, without
    # the pieces within it; rounded up.
    "board and asyncio, a turn": 900,
    "read samples": 500,
    "reader, a byte": 1.05,  # firmware/README.md, "Time": 512 bytes of rest take 0.53 ms
    "reader, an edge": 40,  # a pass at 3 m/s and the rest after it take 8.8 ms
    "reader, the last mark": 1600,
    "reader, the verdict": 20000,
    "lock after": 1000,
    "rest of a turn": 500,
    "collection": 33000,
    "measure the heap": 6500,
    "fill gaps": 3500,
    "tick": 1500,
    "carry out": 20000,
    "event": 5500,
    "keep state": 11000,
    "build text": 9500,
    "display, a line": 4500,
    "part of a frame": 400,
    "frame": 5500,
    "signed frame": 8000,
    "command": 10000,
    "self-test": 500000,  # hil_tests/README.md: at most 0.6 s
    "fill": 1000,
    "fill, an event": 3500,
    "link, a byte": 120,  # 64 bytes: 7.9 ms
    "chip, a poll": 150,
    "chip, a call": 700,
    # W25Q128JV data sheet, 9.6, typical times; the processor goes on.
    "program": 700,
    "erase": 45000,
}

_SAMPLE_US = 50
_WORD_US = 8 * _SAMPLE_US
_LAST_MARK_UM = 60500  # spec/card-code.md, "The sensor head"
_RING_SECTORS = 4000
_RING_WORDS = 2048
_ROWS = 8
_LINK_BYTES = 64
_AFTER_US = 60_000


class Head:
    """The samples as the DMA puts them into the ring of the lock and of the board: whole words, by
    time."""

    def __init__(self, turns):
        self.taken = 0
        self._ring = bytearray(4 * _RING_WORDS)
        self._in_ring = 0  # words that the ring has got
        self._turns = turns
        self._known = {}
        self._data, self._at = b"", 0

    def play(self, edge_us, speed_mm_s, card, gap_us=0, after=None):
        """Let a card come to the first sensor at `edge_us`, a multiple of 50. With `after` that
        card comes, and `card` follows `gap_us` after it has left the head. Return when `card`
        comes."""
        begin = edge_us // _SAMPLE_US
        samples = b""
        if after is not None:
            samples = self._samples_of(after, speed_mm_s) + bytes(gap_us // _SAMPLE_US // 2)
        edge_us = (begin + 2 * len(samples)) * _SAMPLE_US
        samples += self._samples_of(card, speed_mm_s)
        if begin % 2:
            samples = (int.from_bytes(samples, "little") << 4).to_bytes(len(samples) + 1, "little")
        self._data, self._at = samples, begin // 2
        return edge_us

    def _samples_of(self, card, speed_mm_s):
        key = speed_mm_s, card
        if key not in self._known:
            samples = bytes(pass_of(printed(code(cards.number_of(card), SET)), speed_mm_s))
            self._known[key] = samples.rstrip(b"\0")
        return self._known[key]

    def arrived(self):
        words = int(self._turns.now_us) // _WORD_US
        for word in range(max(self._in_ring, words - _RING_WORDS), words):
            place = 4 * (word % _RING_WORDS)
            self._ring[place : place + 4] = self._words(word, 1)
        self._in_ring = words
        return words

    def value(self):
        """The level of the first sensor."""
        word = int(self._turns.now_us) // _WORD_US
        sample = int(self._turns.now_us) % _WORD_US // _SAMPLE_US
        return self._words(word, 1)[sample // 2] >> 4 * (sample % 2) & 1

    def view(self):
        return memoryview(self._ring)

    def read(self, buf):
        count = min(self.arrived() - self.taken, len(buf) // 4)
        size = 4 * count
        buf[:size] = self._words(self.taken, count)
        self.taken += count
        return size

    def _words(self, first, count):
        begin, size = 4 * first - self._at, 4 * count
        if begin < 0:
            piece = self._data[: max(0, begin + size)]
            return bytes(size - len(piece)) + piece
        piece = self._data[begin : begin + size]
        return piece + bytes(size - len(piece))


class _Pin:
    """The lock's pin: `moved` are its changes, as (time, level)."""

    def __init__(self, turns):
        self.level = 0
        self.moved = []
        self._turns = turns

    def value(self, level):
        if level != self.level:
            self.level = level
            self.moved.append((self._turns.now_us, level))


class _Chip(Flash):
    """The journal's chip: a program or an erase takes time, in which it is busy."""

    def __init__(self, turns, costs_us):
        super().__init__(keyring.SECTORS + _RING_SECTORS)
        self._turns, self._costs_us = turns, costs_us
        self._busy_until_us = 0

    def busy(self):
        self._turns.spend(self._costs_us["chip, a poll"])
        return self._turns.now_us < self._busy_until_us

    def read(self, address, buf):
        self._turns.spend(self._costs_us["chip, a call"])
        super().read(address, buf)

    def program(self, address, data):
        self._begin_for("program")
        super().program(address, data)

    def erase(self, sector):
        self._begin_for("erase")
        super().erase(sector)

    def _begin_for(self, what):
        self._turns.spend(self._costs_us["chip, a call"])
        self._busy_until_us = self._turns.now_us + self._costs_us[what]


class _Board(ScriptedBoard):
    """Plays a script, as its base does, until `come_alive`; then its parts are those of a Pico."""

    def __init__(self, folder, turns, costs_us):
        super().__init__(folder, _Chip(turns, costs_us))
        self.head = Head(turns)
        self.pin = _Pin(turns)
        self.lock = lock_module.Lock(self.pin)
        self.watching = False
        self.decided_us = -1
        """When the lock was last shut by the shoe, not by the interrupt."""
        self.lines_due = 0
        self._turns, self._costs_us = turns, costs_us
        self._from_host = b""
        self._host = Event(turns)

    def come_alive(self):
        self.watching = True
        fake_pico.new_world()
        self.lock.watch(self.head, self.head)
        self._turns.timer = fake_pico.world.timer

    def ticks_ms(self):
        return self._turns.ticks_ms()

    def sleep_ms(self, ms):
        self._turns.spend(1000 * ms)

    def wait_for_activity(self, within_ms, wait):
        if not self.watching:
            return super().wait_for_activity(within_ms, wait)
        costs_us = self._costs_us
        self._turns.spend(costs_us["rest of a turn"])
        if within_ms > 5 and self.lines_due:
            self.lines_due -= 1
            self._turns.spend(costs_us["display, a line"])
        paused = self._turns.sleep_ms(within_ms)
        self._turns.spend(costs_us["board and asyncio, a turn"])
        return paused

    def read_samples(self, buf):
        if not self.watching:
            return super().read_samples(buf)
        self._turns.spend(self._costs_us["read samples"])
        return self.head.read(buf)

    def judged(self, unjudged_bytes, undecided):
        if self.watching:
            self.lock.judged(unjudged_bytes, undecided)

    def set_lock(self, released):
        super().set_lock(released)
        self._turns.spend(self._costs_us["lock after"])
        if not released:
            self.decided_us = self._turns.now_us
        self.lock.set(released)

    def show(self, text):
        super().show(text)
        self._turns.spend(self._costs_us["build text"])
        self.lines_due = _ROWS

    def levels(self):
        return 0

    def temperature_c(self):
        return 27

    def display_answers(self):
        return True

    def samples_come(self):
        return True

    def send(self, data):
        """Send bytes as the host."""
        self._from_host += data
        self._host.set()

    async def read_link(self):
        await self._turns.sleep_ms(0)
        size = _LINK_BYTES
        while not self._from_host:
            self._host.clear()
            await self._host.wait()
            size = 1
        data, self._from_host = self._from_host[:size], self._from_host[size:]
        self._turns.spend(self._costs_us["link, a byte"] * len(data))
        return data

    def write_link(self, view):
        size = min(len(view), _LINK_BYTES)
        self._turns.spend(self._costs_us["link, a byte"] * size)
        return size


class _Collector:
    """In place of the module gc."""

    def __init__(self, turns, costs_us):
        self._turns, self._costs_us = turns, costs_us

    def collect(self):
        self._turns.spend(self._costs_us["collection"])

    def mem_free(self):
        self._turns.spend(self._costs_us["measure the heap"])
        return 22_000

    def mem_alloc(self):
        return 220_000


class TimedShoe:
    """A shoe in the middle of a round, from which these cards were dealt and `card` comes next, or
    `after` and then `card`.

    Only one may exist at a time. Call `close` at the end.
    """

    def __init__(self, folder, dealt, card, after=None):
        self.card, self.after = card, after
        self.costs_us = COSTS_US
        self.turns = turns = Turns()
        self._stock = shoe_module.asyncio, priority_module.asyncio, heap_module.gc
        shoe_module.asyncio = priority_module.asyncio = turns
        heap_module.gc = _Collector(turns, self.costs_us)
        build_module.build_of_packages = lambda chunk: bytes(32)
        self.board = board = _Board(folder, turns, self.costs_us)
        provision(folder, board.flash)
        self.shoe = shoe = board.shoe = Shoe(board)
        lid = [inputs.switched(LID, True), inputs.switched(LID, False)]
        board.play(shoe, *lid, *[card_samples(name) for name in ("AC", "2C", *dealt)])
        shoe.journal.drain()
        self._before = copy.deepcopy(state_of(shoe.dealing))
        self._cost()
        board.head.taken = board.head.arrived()
        board.come_alive()
        for task in (shoe._deal(), shoe._listen(), shoe._talk(), shoe._tick()):
            turns.add(task)

    def close(self):
        shoe_module.asyncio, priority_module.asyncio, heap_module.gc = self._stock

    def ready(self):
        """Go back to before the last card, with nothing left to do; return the time then."""
        shoe, board, turns = self.shoe, self.board, self.turns
        restore(shoe.dealing, copy.deepcopy(self._before))
        shoe.acting._round_was_open = True
        shoe.presenting.show()
        shoe.ticking._collected_ms = 0
        shoe.link.attached = shoe.link.listening = False
        while board.lines_due or shoe.journal.unwritten() or shoe.heap.due or board.lock.held:
            turns.run_until(turns.now_us + 8000)
        turns.run_until(turns.now_us + 20_000)  # the steps after a collection
        board.pin.moved.clear()
        assert board.pin.level == 1
        return int(turns.now_us)

    async def as_task(self, act):
        """Do `act` as a task of the shoe does its work: not while a card is near its decision."""
        await self.shoe._priority.cards_first()
        act()
        await self.shoe._write_out(2)

    def pulled(self, speed_mm_s, edge_us, at_us, act, gap_us=0):
        """Pull the card with its edge at `edge_us`, or `gap_us` after the card before it, which
        comes at `edge_us`. Call `act` at `at_us`, or when the turn then is over. Return when the
        lock moved, in us from the last mark, as (time, level), and when the shoe last decided that
        it must be shut."""
        board, turns, passed = self.board, self.turns, self.shoe.reader.passed
        passed.card = NO_CARD
        edge_us = edge_us // _SAMPLE_US * _SAMPLE_US
        edge_us = board.head.play(edge_us, speed_mm_s, self.card, gap_us, self.after)
        last_us = edge_us + _LAST_MARK_UM * 1000 // speed_mm_s
        turns.run_until(at_us)
        act(self)
        turns.run_until(last_us + 15_000 * 1000 // speed_mm_s + _AFTER_US)
        while passed.card != cards.number_of(self.card):
            turns.run_until(turns.now_us + 8000)
        assert not self.shoe.dealing.error
        moved = [(us - last_us, level) for us, level in board.pin.moved]
        return moved, board.decided_us - last_us

    def _cost(self):
        """Make the methods of the shoe take their time."""
        shoe, costs_us = self.shoe, self.costs_us
        self._after(shoe.heap, "fill_gaps", lambda: costs_us["fill gaps"])
        self._after(shoe.ticking, "tick", lambda: costs_us["tick"])
        self._after(shoe.acting, "carry_out", lambda note: costs_us["carry out"])
        self._after(shoe.acting, "keep_state", lambda: costs_us["keep state"])
        self._after(shoe.recorder, "record", lambda *event: costs_us["event"])
        self._after(shoe.link, "feed", self._feed_us)
        self._after(shoe.guard, "allow_signed", lambda *signed: costs_us["signed frame"])
        self._after(shoe, "command", self._command_us)
        self._after(shoe.link, "fill", lambda now_ms: costs_us["fill"])
        self._after(shoe.link, "_write_event", lambda *event: costs_us["fill, an event"])
        self._time_reader()

    def _feed_us(self, data, now_ms):
        return self.costs_us["frame" if 0 in data else "part of a frame"]

    def _command_us(self, shape, values):
        tests = shape is messages.SELF_TEST and not self.shoe.dealing.lock_released()
        return self.costs_us["self-test" if tests else "command"]

    def _after(self, owner, name, us):
        """Let `us` pass after each call of a method."""
        method, spend = getattr(owner, name), self.turns.spend

        def timed(*given):
            result = method(*given)
            spend(us(*given))
            return result

        setattr(owner, name, timed)

    def _time_reader(self):
        reader, costs_us, spend = self.shoe.reader, self.costs_us, self.turns.spend
        read, state = reader.read, reader.scanner._state

        def timed(data, at, end):
            edges, known = state[_COUNT], reader.known
            to = read(data, at, end)
            us = (to - at) * costs_us["reader, a byte"]
            us += max(0, state[_COUNT] - edges) * costs_us["reader, an edge"]
            if reader.known not in (known, NO_CARD):
                us += costs_us["reader, the last mark"]
            if reader.ended:
                us += costs_us["reader, the verdict"]
            spend(us)
            return to

        reader.read = timed
