"""A whole shoe with taps on all that a thief can see: its line, its journal's chip, its lock,
lamps, display and buzzer.

An honest log is at the line, so the thief sees what it sees: events, heartbeats, answers. What goes
into the sensor head is the worst case: every figure of a pass that may depend on the marks (margin,
skew, widths, the kept samples) is a function of the card. Speed and length are drawn at random;
test_figures.py shows that of real passes they are as good as that.
"""

import hmac
import os
from collections import Counter
from typing import Any

import numpy as np

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.fakes.fake_flash import FIRST_KEY, Flash
from firmware.tests.support.line import frame_of
from firmware.tests.support.noise import Sources
from firmware.tests.support.scripted import (
    BURN,
    KEY_TURNED,
    NEXT,
    REVEAL,
    ScriptedBoard,
    provision,
)
from host.tests.adversary.thief.flat import Seen
from host.tests.adversary.thief.hearing import Ear, margin_of, skew_of
from sabot_firmware.cards.reader import NO_CARD, NONE
from sabot_firmware.journal import keyring
from sabot_firmware.journal.ring import EVENT
from sabot_firmware.journal.seals import secret_of
from sabot_firmware.release import build as build_module
from sabot_firmware.shoe import Shoe
from sabot_firmware.store import SettingsStore
from sabot_protocol import VERSION, cbor, enums, events, messages
from sabot_protocol.chain import command_key

_RING = 40
_BETWEEN_MS = 700
_SESSION = 77
BAD_CODE = enums.FAULTS.index("bad_code")
_WHOLE, _TORN, _HALF = 1, 2, 3
_PASS = 4
"""Bytes of a pass: what it is, the card, and two from which its speed and length follow."""
_RUNS = 90


class _Board(ScriptedBoard):  # type: ignore[misc]
    """A board that passes its self-test and counts time by its script."""

    def levels(self) -> int:
        return 0

    def temperature_c(self) -> int:
        return 27

    def display_answers(self) -> bool:
        return True

    def samples_come(self) -> bool:
        return True


class TappedShoe(Ear):
    """A unit that deals the game of `document`, with the thief's taps. What they saw since
    `forget_round` is in `seen`."""

    def __init__(self, folder: Any, document: bytes, random: np.random.Generator) -> None:
        super().__init__()
        self.all_sent = bytearray()
        """All that the shoe has sent and programmed into its chip since it was new."""
        self.folder = folder
        self._random = random
        self._sources = Sources(int.from_bytes(os.urandom(3), "big"))
        self._flash = provision(folder, Flash(keyring.SECTORS + _RING))
        self._flash.before = self._programmed
        SettingsStore(folder.path).save("game", document)
        build_module.build_of_packages = lambda chunk: bytes(32)
        self._switches = 0
        self._now_ms = 0
        self.start()

    def secret(self) -> bytes:
        """The sealing secret that the unit has now."""
        return secret_of(self.kept(), self.shoe.journal.hand_secret())

    def kept(self) -> bytes:
        """The part of it that the board keeps."""
        kept: Any = SettingsStore(self.folder.path).load("seal_secret")
        return bytes(kept)

    # ---- power

    def start(self) -> None:
        """Give it power, and attach the log."""
        self.board = _Board(self.folder, self._flash)
        self.board.lid_watched = True  # it goes on without the supervisor's key
        self.board.sources = self._sources
        self.board.switches_on = self._switches
        self.board._now_ms = self._now_ms = 0
        self.shoe = shoe = Shoe(self.board)
        self._tap_journal(shoe.journal)
        self._mark(shoe.reader)
        self._id = 0
        self._rest = b""
        self.challenge = b""
        self._say([messages.HELLO.number, VERSION, _SESSION])
        self._hear()
        self.ask(messages.SET_CLOCK, 1_790_000_000_000, signed=True)
        self._say([messages.ACK.number, self.heard])
        self._go_on()

    def lose_power(self) -> None:
        """Lose the power and start again. What is queued for the chip is lost."""
        self._switches = self._levels()
        self.start()

    def _levels(self) -> int:
        state = self.shoe.dealing
        return sum(1 << n for n, on in enumerate((state.lid_open, state.key_on, False)) if on)

    # ---- hands

    def play(self, *script: "int | bytes") -> None:
        """Play passes (from `passed`) and inputs, one after another; tap after each."""
        for item in script:
            self.board._now_ms += _BETWEEN_MS
            self.board.play(self.shoe, item)
            self._go_on()

    def passed(self, card: int, what: int = _WHOLE) -> bytes:
        """A pass of this card for `play`."""
        return bytes([what, card, *self._random.integers(256, size=2).tolist()])

    def torn(self, card: int) -> bytes:
        """A pass of this card that cannot be read."""
        return self.passed(card, _TORN)

    def half(self, card: int) -> bytes:
        """The begin of a pass of this card, in which the power is to go."""
        return self.passed(card, _HALF)

    def enter(self, card: int) -> None:
        """The supervisor enters the pending card from its face."""
        waiting = self.shoe.dealing.pending
        self.play(KEY_TURNED[0])
        rank, suit = card % 13, card // 13
        presses = Counter[int]()
        while waiting.rank() != rank:
            self.play(NEXT)
            presses[NEXT] += 1
        while waiting.suit() != suit:
            self.play(BURN)
            presses[BURN] += 1
        self.seen.note("presses.next", presses[NEXT])
        self.seen.note("presses.burn", presses[BURN])
        self.play(REVEAL, KEY_TURNED[1])

    def ask_all(self) -> None:
        """Ask all that a host can ask about the head and its passes."""
        self.ask(messages.HEALTH)
        self.ask(messages.NEXT_PASS, 0)
        self.ask(messages.READ_PASS, self.shoe.passes.count, 0)

    # ---- taps

    def forget_round(self) -> Seen:
        """Return what was seen since the last time; begin again."""
        self.board.outputs.clear()
        self.board.seen.clear()
        return self.forget(self.board.ticks_ms(), self.shoe.journal.number)

    def _programmed(self, kind: str, address: int, data: bytes) -> None:
        if kind == "P":
            if not self.shown:
                self.sent += bytes(data)
            self.all_sent += bytes(data)
            self.note_all("program", [address % 256, len(data)])
        else:
            self.note_all("erase", [])

    def _tap_journal(self, journal: Any) -> None:
        put, record = journal._put, self.shoe.recorder.record

        def recorded(shape: Any, shoe: int, round_: int, values: tuple[Any, ...]) -> None:
            self.shown = self.shown or (shape is events.UNSEALED and not values)
            record(shape, shoe, round_, values)

        self.shoe.recorder.record = recorded

        def tapped(kind: int, payload: memoryview, size: int, mac: bytes) -> None:
            content = bytes(payload[:size])
            if kind != EVENT:  # they are on the line
                value = cbor.decode(content, 0, size) if size else []
                self.note_all(f"entry {kind}", [size, value])
            put(kind, payload, size, mac)

        journal._put = tapped

    def _mark(self, reader: Any) -> None:
        """Let passes from `passed` be read in place of samples."""
        scanner = reader.scanner

        def read(data: bytearray, at: int, end: int) -> int:
            reader.ended = False
            if not data[at]:
                return end
            if data[at] == _HALF:
                scanner.in_pass = True
                self.shoe.acting.mark_passing()
                return at + _PASS
            passed, card = reader.passed, data[at + 1]
            scanner.in_pass = reader.known == NO_CARD
            if scanner.in_pass and data[at] == _WHOLE:
                reader.known = card
                self.shoe.sensing.passing_marked = True
                self.shoe.acting.mark_passing()
                return at
            reader.known = NO_CARD
            reader.ended = True
            scanner.in_pass = False
            readable = data[at] == _WHOLE
            passed.fault = NONE if readable else BAD_CODE
            passed.card = card if readable else NO_CARD
            passed.card_set = 0
            passed.speed_mm_s = 400 + 4 * data[at + 2]
            passed.samples = 1200 + 5 * data[at + 3]
            passed.margin_permille, passed.skew_um = margin_of(card), skew_of(card)
            passed.permille[:] = [600 + 15 * card, 1400 - 15 * card, 700 + 12 * card, 1000]
            scanner.runs[:_RUNS] = bytes([card]) * _RUNS
            return at + _PASS

        reader.read = read
        scanner.close_runs = lambda: _RUNS

    def _go_on(self) -> None:
        """Let the periodic work be done, and hear what there is on the line."""
        shoe = self.shoe
        shoe.ticking.tick()
        shoe.maintain_seals()
        shoe.journal.drain()
        shoe.presenting.show_changes()
        self._hear()
        self.ask(messages.STATUS)
        self._acknowledge(self.heard)
        board = self.board
        for output in board.outputs:
            self.note_all("output", [output])
        for what in board.seen:
            if what in ("open", "shut"):
                self.note_all("lock moves", [what == "open"])
        board.outputs.clear()
        board.seen.clear()

    def ask(self, shape: Any, *values: object, signed: bool = False) -> None:
        """Send a command, and hear its answer."""
        self._id += 1
        message = [shape.number, self._id, *values]
        if signed or shape.name in ("next_pass", "read_pass"):
            self._say(self._signed(message))
        else:
            self._say(message)
        self._hear()

    def _signed(self, message: list[object]) -> list[object]:
        buf = bytearray(256)
        inner = bytes(buf[: cbor.encode_array(buf, 0, message, len(message))])
        part = _SESSION.to_bytes(8, "big") + bytes([len(self.challenge)]) + self.challenge
        said = b"sabot host to shoe" + part + len(inner).to_bytes(2, "big") + inner
        mac = hmac.digest(command_key(FIRST_KEY), said, "sha256")[:16]
        return [messages.SIGNED.number, self._id, inner, mac]

    def _acknowledge(self, number: int) -> None:
        if number > self.shoe.outbox.acked:
            self._say([messages.ACK.number, number])

    def _say(self, message: list[object]) -> None:
        self.shoe.link.feed(frame_of(message), self.board.ticks_ms())

    def _hear(self) -> None:
        link = self.shoe.link
        while size := link.fill(self.board.ticks_ms()):
            data = bytes(link.out[:size])
            self.all_sent += data
            *frames, self._rest = (self._rest + data).split(b"\0")
            for each in frames:
                if each:
                    self.take(each, self.board.ticks_ms())
