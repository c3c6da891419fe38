"""Simple stand-ins for what surrounds sensing, acting, presenting and ticking."""

from firmware.tests.support.table import DEALT, Table
from sabot_firmware.acting import Acting
from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.journal.ring import NOTE
from sabot_firmware.panel import Presenting
from sabot_firmware.table import inputs
from sabot_protocol import cbor


class Any:
    """An object with these attributes."""

    def __init__(self, **attributes):
        for name in attributes:
            setattr(self, name, attributes[name])


class _Scanner:
    in_pass = False
    passing_samples = marks_gone = 0
    cut = False

    def __init__(self):
        self.runs = bytearray(8)

    def close_runs(self):
        return 4


class _Reader:
    """Reports for each piece of samples what the script says."""

    def __init__(self):
        self.scanner = _Scanner()
        self.known = NO_CARD
        self.ended = self.blocked = False
        self.passed = Any(
            card=0, fault=0, samples=900, speed_mm_s=850, margin_permille=930, skew_um=120,
            longer_um=0, permille=[1000] * 4,
        )  # fmt: skip
        self.lost = 0
        self.ends = []
        """For each call to `read`: whether a pass ends with it."""

    def read(self, samples, at, end):
        self.ended = bool(self.ends) and self.ends.pop(0)
        return end

    def samples_lost(self):
        self.lost += 1


class _Board:
    overruns = 0

    def __init__(self):
        self.done = []
        self.changes = []
        self.pieces = []
        self.now_ms = 0

    def set_lock(self, released):
        self.done.append("open" if released else "shut")

    def set_lamps(self, lit):
        self.done.append("lamps")

    def show(self, text):
        self.done.append("text")

    def buzz(self, ms):
        self.done.append("beep")

    def reset(self, cause):
        self.done.append("reset")

    def ticks_ms(self):
        return self.now_ms

    SENSES = follows = supply = lid_watched = True

    def lock_follows(self):
        return self.follows

    def supply_good(self):
        return self.supply

    def arm_latches(self):
        self.done.append("armed")

    def take_input(self):
        return self.changes.pop(0) if self.changes else inputs.NONE

    def read_samples(self, buf):
        return self.pieces.pop(0) if self.pieces else 0

    def judged(self, unjudged_bytes, undecided):
        pass


class _Journal:
    """Records the kinds of the entries put into it."""

    number = 1

    def __init__(self):
        self.kinds = []
        self.faults = []
        self.is_full = self.far = False
        self.scrubbed = 0

    def put(self, kind, payload, size):
        self.kinds.append(kind)
        if kind == NOTE:
            self.note = cbor.decode(payload, 0, size)

    def full(self):
        return self.is_full

    def acknowledged(self):
        return 0

    def state_is_far(self):
        return self.far

    def scrub(self, sector):
        self.scrubbed += 1
        return sector + 1

    def unwritten(self):
        return False

    def drain(self):
        self.kinds.append("drained")


class _Recorder:
    boot = 1
    seals = None

    def __init__(self):
        self.names = []
        self.values = []
        """Of the last event."""

    def record(self, shape, shoe, round_, values):
        self.values = list(values)
        shape.check(self.values)
        self.names.append(shape.name)

    def checkpoint(self, shoe, round_):
        self.names.append("checkpoint")

    def unix_ms(self):
        return 77


class Parts:
    """A table, with acting and presenting on a board that records its outputs."""

    def __init__(self, text=DEALT):
        self.dealing = Table(text).shoe
        self.board = _Board()
        self.reader = _Reader()
        self.running = Any(on_trial=False)
        self.health = Any(dirty=0)
        self.link = Any(listening=True)
        self.waiting = 0
        self.presenting = Presenting(
            self.board, self.dealing, self.reader, self.running, self.health, self.link,
            Any(unacked=lambda: self.waiting),
        )  # fmt: skip
        self.journal = _Journal()
        self.recorder = _Recorder()
        self.woken = []
        self.acting = Acting(
            self.board, self.running, self.journal, self.recorder, self.dealing, self.reader,
            self.presenting, Any(forget=lambda: None), lambda: self.woken.append(1),
            lambda: None,
        )  # fmt: skip

    def done(self):
        done, self.board.done = self.board.done, []
        return done
