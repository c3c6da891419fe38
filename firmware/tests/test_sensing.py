"""Sensing alone, between simple stand-ins: passes, lost samples, the test card."""

from firmware.tests.support.parts import Any, Parts
from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.journal.ring import NOTE, PASSING
from sabot_firmware.journal.seals import Seals
from sabot_firmware.sensing import Sensing
from sabot_firmware.table import input_log
from sabot_protocol import cards, enums


def _sensing(parts):
    parts.kept, parts.saved, parts.heap = [], [], Any(due=False)
    store = Any(load=lambda name: None, save=lambda name, value: parts.saved.append(name))
    passes = Any(keep=lambda *what: parts.kept.append(what[0].fault), held=[])
    health = Any(add=lambda permille: -1, mean_permille=lambda channel: 0)
    return Sensing(
        parts.board, store, parts.acting, parts.presenting, parts.reader, passes, health,
        parts.heap,
    )  # fmt: skip


def test_a_pass_that_has_ended_is_carried_out_and_kept():
    parts = Parts()
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
    parts = Parts()
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


def test_in_a_game_with_sealed_cards_the_outcome_comes_as_late_however_long_the_verdict_took():
    """A Pico takes 15.6 to 18.8 ms, which depends on the card."""
    for seals, times in ((None, [16, 18]), (Seals(bytes(32)), [20, 20])):
        taken = []
        for verdict_ms in (16, 18):
            parts = Parts()
            sensing = _sensing(parts)
            board, read, record = parts.board, parts.reader.read, parts.recorder.record
            parts.recorder.seals = seals
            board.pieces, parts.reader.ends = [20], [True]

            def slow_read(samples, at, end, board=board, read=read, verdict_ms=verdict_ms):
                board.now_ms += verdict_ms
                return read(samples, at, end)

            def timed_record(shape, shoe, round_, values, board=board, record=record, taken=taken):
                taken.append(board.now_ms)
                record(shape, shoe, round_, values)

            def sleep_ms(ms, board=board):
                board.now_ms += ms

            parts.reader.read, parts.recorder.record = slow_read, timed_record
            board.sleep_ms = sleep_ms
            sensing.read()
        assert taken == [times[0]] * 2 + [times[1]] * 2, taken


def _reading(parts, sizes, marks_gone, known_after=None):
    """Sensing whose board has pieces of `sizes`. The card is known from the piece after which
    `known_after` of them are left."""
    sensing, reader = _sensing(parts), parts.reader
    parts.board.pieces, reader.known = sizes, NO_CARD
    reader.scanner.marks_gone, reader.scanner.in_pass = marks_gone, True
    read, judged = reader.read, []

    def read_until_known(samples, at, end):
        if known_after == len(parts.board.pieces):
            reader.known = 5
        judged.append(end - at)
        return read(samples, at, end)

    reader.read = read_until_known
    return sensing, judged


def test_the_last_two_marks_are_read_without_a_pause_until_the_card_is_known():
    parts = Parts()
    sensing, judged = _reading(parts, [0, 4, 0, 0, 8, 4, 4], 12, known_after=1)
    assert sensing.read(True) == 16 and judged == [4, 8, 4]
    assert parts.board.pieces == [4], "what comes after the last mark waits for the next turn"


def test_before_the_last_two_marks_a_turn_reads_one_piece_and_waits_for_no_sample_without_end():
    parts = Parts()
    sensing, judged = _reading(parts, [0, 4, 4], 11)
    assert sensing.read(True) == 4 and parts.board.pieces == [4] and judged == [4]
    parts.board.pieces = []
    assert sensing.read(True) == 0, "no sample comes"
    parts.reader.scanner.marks_gone = 13
    parts.board.pieces = [4] * 10000  # a card that stands still: the shoe looks at the clock
    assert 0 < sensing.read(True) < 4000


def test_all_samples_that_have_waited_are_read_and_counted():
    parts = Parts()
    sensing = _sensing(parts)
    for sizes in ([40], [512, 41], [512, 512, 0], [0]):
        parts.board.pieces = sizes[:]
        assert sensing.read() == sum(sizes) and parts.board.pieces == []


def test_lost_samples_stop_play_and_a_pass_is_marked_once():
    parts = Parts()
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
    parts = Parts("")  # no cards in play: a pass need not be noted
    sensing = _sensing(parts)
    parts.reader.scanner.passing_samples = 200
    sensing.mark_passing()
    assert parts.journal.kinds == []


def test_a_blocked_head_stops_play_once():
    parts = Parts()
    sensing = _sensing(parts)
    sensing.stop_if_blocked()
    assert parts.journal.kinds == []
    parts.reader.blocked = True
    sensing.stop_if_blocked()
    sensing.stop_if_blocked()
    assert parts.journal.kinds == [NOTE] and parts.journal.note == [input_log.SENSOR_FAILED]


def test_the_test_card_calibrates_with_no_cards_in_play():
    parts = Parts("")
    sensing = _sensing(parts)
    shared = sensing.calibration
    parts.reader.passed.card = cards.TEST_CARD
    parts.board.pieces, parts.reader.ends = [20], [True]
    sensing.read()
    assert parts.recorder.names == ["calibrated"] and parts.saved == ["calibration"]
    assert shared == [1000] * 4 + [77] and "beep" in parts.done()
