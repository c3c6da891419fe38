"""Ticking alone, between simple stand-ins: memory, journal, restarts."""

from firmware.tests.support.parts import Any, Parts
from sabot_firmware.journal.ring import STATE
from sabot_firmware.table.dealing import KEY, LOCK_STUCK, SUPPLY_LOW
from sabot_firmware.ticking import TICK_MS, Ticking


def _ticking(parts):
    parts.heap = Any(due=False, filled=0, take_spare=lambda: True)

    def fill_gaps():
        parts.heap.filled += 1

    parts.heap.fill_gaps = fill_gaps
    parts.outbox = Any(left_out=[])
    parts.guard = Any(wrong=0)
    parts.running.may_go_on = lambda now_ms: parts.alive
    parts.alive = parts.at_rest = True
    return Ticking(
        parts.board, parts.journal, parts.outbox, parts.guard, parts.heap, parts.running,
        parts.reader, parts.acting, lambda: parts.at_rest,
    )  # fmt: skip


def test_memory_is_collected_periodically_but_not_while_a_card_passes():
    parts = Parts()
    ticking = _ticking(parts)
    parts.reader.scanner.in_pass = True
    for _ in range(1600 // TICK_MS):
        ticking.tick()
    assert not parts.heap.due
    parts.reader.scanner.in_pass = False
    ticking.tick()
    assert parts.heap.due


def test_the_journal_is_checked_at_rest_only():
    parts = Parts()
    ticking = _ticking(parts)
    for _ in range(8):
        ticking.tick()
    assert parts.journal.scrubbed == parts.heap.filled == 2
    parts.at_rest = False
    for _ in range(8):
        ticking.tick()
    assert parts.journal.scrubbed == 2 and parts.heap.filled == 4


def test_a_state_that_is_far_is_kept_again():
    parts = Parts()
    ticking = _ticking(parts)
    parts.journal.far = parts.reader.scanner.in_pass = True
    ticking.tick()
    assert parts.journal.kinds == []
    parts.reader.scanner.in_pass = False
    ticking.tick()
    assert parts.journal.kinds == [STATE]


def test_faults_are_recorded_and_wrong_macs_once_a_minute():
    parts = Parts()
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
    parts = Parts()
    ticking = _ticking(parts)
    ticking.restart_if_due(False)
    ticking.restart_if_due(True)
    assert parts.board.done == []
    parts.at_rest = False
    ticking.restart_if_due(True)
    assert parts.board.done == []
    parts.at_rest = True
    ticking.restart_if_due(True)
    # Its state is kept first, in a form that older firmware can read.
    assert parts.board.done == ["reset"] and parts.journal.kinds == [STATE, "drained"]


def test_a_trial_that_is_over_restarts_at_once():
    parts = Parts()
    ticking = _ticking(parts)
    parts.alive = parts.at_rest = False
    ticking.restart_if_due(False)
    assert parts.board.done == ["reset"]


def _errors(parts):
    return parts.recorder.names.count("error")


def _turn_key(parts):
    parts.acting.switched(KEY, True)
    parts.acting.switched(KEY, False)


def test_a_bolt_that_does_not_follow_within_a_fifth_of_a_second_stops_play():
    parts = Parts()
    ticking = _ticking(parts)
    parts.board.follows = False
    for _ in range(200 // TICK_MS):
        ticking.tick()
    assert _errors(parts) == 0, "so long a bolt may take"
    parts.board.follows = True
    ticking.tick()
    parts.board.follows = False
    for _ in range(200 // TICK_MS):
        ticking.tick()
    assert _errors(parts) == 0, "it has followed meanwhile"
    for _ in range(5):
        ticking.tick()
    assert parts.dealing.error == LOCK_STUCK and _errors(parts) == 1
    assert not parts.dealing.lock_released()


def test_a_bolt_that_stays_stuck_stops_play_again_after_the_key():
    parts = Parts()
    ticking = _ticking(parts)
    parts.board.follows = False
    for _ in range(6):
        ticking.tick()
    _turn_key(parts)
    ticking.tick()
    assert parts.dealing.error == LOCK_STUCK and _errors(parts) == 2
    parts.board.follows = True
    _turn_key(parts)
    for _ in range(6):
        ticking.tick()
    assert not parts.dealing.error and _errors(parts) == 2


def test_a_bolt_on_a_card_in_the_head_is_not_stuck():
    parts = Parts()
    ticking = _ticking(parts)
    parts.board.follows = False
    parts.reader.scanner.in_pass = True
    for _ in range(40):
        ticking.tick()
    assert _errors(parts) == 0


def test_play_stops_at_once_while_the_supply_falls_and_again_if_it_still_does_after_the_key():
    parts = Parts()
    ticking = _ticking(parts)
    parts.board.supply = False
    ticking.tick()
    ticking.tick()
    assert parts.dealing.error == SUPPLY_LOW and _errors(parts) == 1
    _turn_key(parts)
    ticking.tick()
    assert parts.dealing.error == SUPPLY_LOW and _errors(parts) == 2
    parts.board.supply = True
    ticking.tick()
    assert parts.dealing.error == SUPPLY_LOW, "until the key"
    _turn_key(parts)
    ticking.tick()
    assert not parts.dealing.error
