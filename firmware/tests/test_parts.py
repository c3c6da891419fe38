"""Sensing, acting, presenting and ticking, each alone, between simple stand-ins."""

from firmware.tests.support.table import DEALT, Table
from sabot_firmware import panel
from sabot_firmware.acting import Acting
from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.journal.ring import NOTE, PASSING, STATE
from sabot_firmware.panel import Presenting
from sabot_firmware.sensing import Sensing
from sabot_firmware.table import input_log, inputs
from sabot_firmware.ticking import TICK_MS, Ticking
from sabot_protocol import cards, cbor, enums, events


class _Any:
    """An object with these attributes."""

    def __init__(self, **attributes):
        for name in attributes:
            setattr(self, name, attributes[name])


class _Scanner:
    in_pass = False
    passing_samples = 0
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
        self.passed = _Any(
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

    def reset(self):
        self.done.append("reset")

    def ticks_ms(self):
        return self.now_ms

    def take_input(self):
        return self.changes.pop(0) if self.changes else inputs.NONE

    def read_samples(self, buf):
        return self.pieces.pop(0) if self.pieces else 0

    def judged(self, in_pass):
        pass


class _Journal:
    """Records the kinds of the entries put into it."""

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

    def drain(self):
        self.kinds.append("drained")


class _Recorder:
    boot = 1

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


class _Parts:
    """A table, with acting and presenting on a board that records its outputs."""

    def __init__(self, text=DEALT):
        self.dealing = Table(text).shoe
        self.board = _Board()
        self.reader = _Reader()
        self.running = _Any(on_trial=False)
        self.health = _Any(dirty=0)
        self.link = _Any(listening=True)
        self.waiting = 0
        self.presenting = Presenting(
            self.board, self.dealing, self.reader, self.running, self.health, self.link,
            _Any(unacked=lambda: self.waiting),
        )  # fmt: skip
        self.journal = _Journal()
        self.recorder = _Recorder()
        self.woken = []
        self.acting = Acting(
            self.board, self.running, self.journal, self.recorder, self.dealing, self.reader,
            self.presenting, lambda: self.woken.append(1),
        )  # fmt: skip

    def done(self):
        done, self.board.done = self.board.done, []
        return done


# Presenting


def test_outputs_are_set_only_when_they_change():
    parts = _Parts()
    parts.presenting.show()
    assert parts.done() == ["open", "lamps", "text"]
    parts.presenting.show()
    parts.presenting.show_changes()
    assert parts.done() == []
    parts.link.listening = False
    parts.presenting.show_changes()
    assert parts.done() == ["text"]


def test_the_lock_follows_a_card_that_is_known_and_stays_shut_on_trial():
    parts = _Parts(DEALT + " 9C 2D KC")
    parts.presenting.set_lock()
    parts.reader.known = cards.number_of("2H")  # this card ends the round
    parts.presenting.set_lock()
    parts.reader.known = NO_CARD
    parts.presenting.set_lock()
    assert parts.done() == ["open", "shut", "open"]
    parts.running.on_trial = True
    parts.presenting.set_lock()
    assert parts.done() == ["shut"] and parts.dealing.lock_released()


def test_an_error_sounds_once():
    parts = _Parts()
    parts.presenting.show_input()
    assert "beep" not in parts.done()
    parts.dealing.sensor_failed()
    parts.presenting.show_input()
    assert parts.done() == ["shut", "lamps", "text", "beep"]
    parts.dealing.samples_lost()
    parts.presenting.show_input()
    assert "beep" not in parts.done()


def test_notices_come_in_order_of_importance():
    parts = _Parts()
    assert parts.presenting.notice() == ""
    parts.health.dirty = 0b1100
    assert parts.presenting.notice() == "CLEAN SENSOR B"
    parts.running.on_trial = True
    assert parts.presenting.notice() == panel.ON_TRIAL
    for listening, waiting, shown in (
        (False, 0, panel.NO_HOST), (True, 0, panel.HOST),
        (True, panel.LOG_BEHIND_EVENTS, panel.HOST),
        (True, panel.LOG_BEHIND_EVENTS + 1, panel.LOG_BEHIND),
    ):  # fmt: skip
        parts.link.listening, parts.waiting = listening, waiting
        assert parts.presenting._link_words() == shown


# Acting


def test_an_input_is_noted_before_its_events_are_recorded_and_shown():
    parts = _Parts()
    order = []
    parts.journal.put = lambda kind, payload, size: order.append("note")
    parts.recorder.record = lambda *event: order.append(event[0].name)
    parts.board.set_lock = lambda released: order.append("lock set")
    parts.board.show = lambda text: order.append("shown")
    parts.acting.carry_out([input_log.SAMPLES_LOST])
    assert order == ["note", "lock set", "error", "lock", "shown"]


def test_the_state_is_kept_when_a_round_ends_and_after_many_notes_but_never_within_a_pass():
    parts = _Parts(DEALT + " 9C 2D KC")
    parts.acting.carry_out([input_log.CARD, cards.number_of("2H"), 1, 1, 1, 1])
    assert parts.journal.kinds == [NOTE, STATE]
    for n in range(1, 80):
        parts.reader.scanner.in_pass = n < 50
        parts.acting.carry_out([input_log.SWITCHED, 2, n % 2 == 1])
        states = parts.journal.kinds.count(STATE)
        assert states == (1 if n < 50 else 2), n


def test_a_full_journal_stops_play_between_rounds_only():
    parts = _Parts()
    parts.journal.is_full = True
    parts.acting.carry_out([input_log.SWITCHED, 2, True])
    assert not parts.dealing.error, "a round is open"
    parts = _Parts(DEALT + " 9C 2D KC 2H")
    parts.journal.is_full = True
    parts.acting.carry_out([input_log.SWITCHED, 2, True])
    assert enums.ERRORS[parts.dealing.error] == "journal_full"
    assert parts.journal.note == [input_log.JOURNAL_FULL]


def test_buttons_wait_for_a_card_that_is_known_and_do_nothing_on_trial():
    parts = _Parts()
    parts.board.changes = [inputs.pressed(0), inputs.switched(2, True)]
    parts.reader.known = 5
    parts.acting.take_inputs()
    assert parts.journal.kinds == []
    parts.reader.known = NO_CARD
    parts.acting.take_inputs()
    assert parts.recorder.names == ["button", "betting_closed", "service"]
    parts.running.on_trial = True
    parts.board.changes = [inputs.pressed(0), inputs.switched(2, False), inputs.switched(2, False)]
    parts.acting.take_inputs()
    assert parts.recorder.names[3:] == ["service"], "once: the second is no change"


def test_an_event_that_is_not_the_dealings_is_shown_and_sent():
    parts = _Parts()
    parts.acting.record(events.CLEAN_SENSOR, (0, 700))
    assert parts.recorder.names == ["clean_sensor"] and parts.woken == [1]
    assert parts.journal.kinds == [] and "text" in parts.done()


# Sensing


def _sensing(parts):
    parts.kept, parts.saved, parts.heap = [], [], _Any(due=False)
    store = _Any(load=lambda name: None, save=lambda name, value: parts.saved.append(name))
    passes = _Any(keep=lambda *what: parts.kept.append(what[0].fault))
    health = _Any(add=lambda permille: -1, mean_permille=lambda channel: 0)
    return Sensing(
        parts.board, store, parts.acting, parts.presenting, parts.reader, passes, health,
        parts.heap,
    )  # fmt: skip


def test_a_pass_that_has_ended_is_carried_out_and_kept():
    parts = _Parts()
    sensing = _sensing(parts)
    parts.board.pieces = [20, 20]
    parts.reader.ends = [True]
    assert sensing.read() == 20 and parts.board.pieces == [20], "no more than there was"
    assert parts.recorder.names == ["betting_closed", "card"] and parts.kept == [0]
    assert parts.heap.due
    parts.reader.passed.fault = enums.FAULTS.index("jam")
    parts.reader.ends = [True]
    sensing.read()
    assert parts.recorder.names[2:4] == ["unreadable", "error"]
    assert parts.kept == [0, enums.FAULTS.index("jam")]


def test_a_pass_that_seems_much_longer_than_one_card_is_recorded_after_its_card():
    parts = _Parts()
    sensing = _sensing(parts)
    passed = parts.reader.passed
    for longer_um, recorded_um in ((1500, None), (1501, 1501), (65535, 65535), (1 << 31, 65535)):
        parts.recorder.names.clear()
        passed.longer_um = longer_um
        parts.board.pieces, parts.reader.ends = [20], [True]
        sensing.read()
        assert "card" in parts.recorder.names
        assert (parts.recorder.names[-1] == "long_pass") == (recorded_um is not None), longer_um
        if recorded_um:
            assert parts.recorder.values == [passed.card, recorded_um]
    passed.fault = enums.FAULTS.index("bad_code")
    parts.recorder.names.clear()
    parts.reader.ends = [True]
    parts.board.pieces = [20]
    sensing.read()
    assert "long_pass" not in parts.recorder.names, "it is a fault already"


def test_all_samples_that_have_waited_are_read_and_counted():
    parts = _Parts()
    sensing = _sensing(parts)
    for sizes in ([40], [512, 41], [512, 512, 0], [0]):
        parts.board.pieces = sizes[:]
        assert sensing.read() == sum(sizes) and parts.board.pieces == []


def test_lost_samples_stop_play_and_a_pass_is_marked_once():
    parts = _Parts()
    sensing = _sensing(parts)
    sensing.mark_passing()
    assert parts.journal.kinds == []
    parts.reader.scanner.passing_samples = 200
    for _ in range(3):
        sensing.mark_passing()
    assert parts.journal.kinds == [PASSING] and sensing.passing_marked
    parts.board.overruns = 1
    sensing.read()
    assert parts.reader.lost == 1 and parts.journal.note == [input_log.SAMPLES_LOST]
    assert not sensing.passing_marked
    parts = _Parts("")  # no cards in play: a pass need not be noted
    sensing = _sensing(parts)
    parts.reader.scanner.passing_samples = 200
    sensing.mark_passing()
    assert parts.journal.kinds == []


def test_a_blocked_head_stops_play_once():
    parts = _Parts()
    sensing = _sensing(parts)
    sensing.check_head()
    assert parts.journal.kinds == []
    parts.reader.blocked = True
    sensing.check_head()
    sensing.check_head()
    assert parts.journal.kinds == [NOTE] and parts.journal.note == [input_log.SENSOR_FAILED]


def test_the_test_card_calibrates_with_no_cards_in_play():
    parts = _Parts("")
    sensing = _sensing(parts)
    shared = sensing.calibration
    parts.reader.passed.card = cards.TEST_CARD
    parts.board.pieces, parts.reader.ends = [20], [True]
    sensing.read()
    assert parts.recorder.names == ["calibrated"] and parts.saved == ["calibration"]
    assert shared == [1000] * 4 + [77] and "beep" in parts.done()


# Ticking


def _ticking(parts):
    parts.heap = _Any(due=False, filled=0)

    def fill_gaps():
        parts.heap.filled += 1

    parts.heap.fill_gaps = fill_gaps
    parts.outbox = _Any(left_out=[])
    parts.guard = _Any(wrong=0)
    parts.running.keep_alive = lambda now_ms: parts.alive
    parts.alive = parts.at_rest = True
    return Ticking(
        parts.board, parts.journal, parts.outbox, parts.guard, parts.heap, parts.running,
        parts.reader, parts.acting, lambda: parts.at_rest,
    )  # fmt: skip


def test_memory_is_collected_periodically_but_not_while_a_card_passes():
    parts = _Parts()
    ticking = _ticking(parts)
    parts.reader.scanner.in_pass = True
    for _ in range(1600 // TICK_MS):
        ticking.tick()
    assert not parts.heap.due
    parts.reader.scanner.in_pass = False
    ticking.tick()
    assert parts.heap.due


def test_the_journal_is_checked_at_rest_only():
    parts = _Parts()
    ticking = _ticking(parts)
    for _ in range(8):
        ticking.tick()
    assert parts.journal.scrubbed == parts.heap.filled == 2
    parts.at_rest = False
    for _ in range(8):
        ticking.tick()
    assert parts.journal.scrubbed == 2 and parts.heap.filled == 4


def test_a_state_that_is_far_is_kept_again():
    parts = _Parts()
    ticking = _ticking(parts)
    parts.journal.far = parts.reader.scanner.in_pass = True
    ticking.tick()
    assert parts.journal.kinds == []
    parts.reader.scanner.in_pass = False
    ticking.tick()
    assert parts.journal.kinds == [STATE]


def test_faults_are_recorded_and_wrong_macs_once_a_minute():
    parts = _Parts()
    ticking = _ticking(parts)
    parts.journal.faults = [(0, 1, 0, 0)]
    parts.outbox.left_out = [(3, 4)]
    parts.guard.wrong = 2
    ticking.tick()
    assert parts.recorder.names == ["journal_fault", "gap", "wrong_macs"]
    parts.guard.wrong = 5
    parts.board.now_ms = 59999
    ticking.tick()
    assert len(parts.recorder.names) == 3
    parts.board.now_ms = 60000
    ticking.tick()
    ticking.tick()
    assert parts.recorder.names[3:] == ["wrong_macs"]


def test_a_restart_waits_a_tick_and_until_nothing_is_in_play():
    parts = _Parts()
    ticking = _ticking(parts)
    ticking.restart_if_due(False)
    ticking.restart_if_due(True)
    assert parts.board.done == []
    parts.at_rest = False
    ticking.restart_if_due(True)
    assert parts.board.done == []
    parts.at_rest = True
    ticking.restart_if_due(True)
    assert parts.board.done == ["reset"] and parts.journal.kinds == ["drained"]


def test_a_trial_that_is_over_restarts_at_once():
    parts = _Parts()
    ticking = _ticking(parts)
    parts.alive = parts.at_rest = False
    ticking.restart_if_due(False)
    assert parts.board.done == ["reset"]
