"""The lock shuts within 4.2 ms of the last mark and stays shut, whatever the shoe is doing: every
phase of all long work against the last card of a round. The shoe is real, its time is simulated.

The phases are in steps, from a random one on: what leaves the lock open does so for longer than a
step.
"""

import random

import pytest

from firmware.tests.support.line import HELLO, frame_of
from firmware.tests.support.timed_shoe import TimedShoe
from firmware.tests.test_store import Folder
from protocol.tests.helpers import seed_random
from sabot_firmware.boards.nor import SECTOR
from sabot_firmware.link import authentication
from sabot_protocol import cbor, events, messages

_LIMIT_US = 4200  # 5 ms, less a margin of 15 %
_STEP_US = 1000
_AFTER_US = 25_000  # the work begins at most this long after the card's edge
_BEFORE_US = 35_000  # and, in the first phase, at least this long before it
_SPEEDS_MM_S = (
    3000,
    pytest.param(1000, marks=pytest.mark.slow),
    pytest.param(180, marks=pytest.mark.slow),
)
_PART = bytes(messages.MAX_UPDATE_PART)


def _collect(timed):
    timed.shoe.heap.due = True


def _show(timed):
    timed.turns.add(timed.as_task(lambda: timed.board.show("all lines are new")))


def _write(timed):
    timed.turns.add(timed.as_task(lambda: timed.shoe.acting.record(events.IDENTIFIED, ())))


def _erase(timed):
    """Nothing is erased ahead, and the open sector has no room."""
    journal = timed.shoe.journal
    journal._erased.clear()
    journal._at = SECTOR
    _write(timed)


def _heartbeat(timed):
    link = timed.shoe.link
    link.attached = True
    link._heard_ms = timed.turns.ticks_ms()
    link._heartbeat_ms = link._heard_ms - messages.HEARTBEAT_MS
    timed.shoe._to_send.set()


def _send_events(timed):
    shoe = timed.shoe
    shoe.link.attached = shoe.link.listening = shoe.outbox.serve_from(0)
    shoe.link._heard_ms = shoe.link._progress_ms = timed.turns.ticks_ms()
    shoe._to_send.set()


def _ask(*message):
    return lambda timed: timed.board.send(frame_of(HELLO) + frame_of([message[0], 1, *message[1:]]))


def _ask_without_a_pause(timed):
    asked = [frame_of([messages.STATUS.number, 1 + n]) for n in range(5)]
    timed.board.send(frame_of(HELLO) + b"".join(asked))


def _ask_signed(*message):
    """The command is refused in play: this is the time that the refusal takes."""

    def ask(timed):
        guard = timed.shoe.guard
        number = guard._last_id + 1
        buf = bytearray(512)
        size = cbor.encode_into(buf, 0, [message[0], number, *message[1:]])
        command = bytes(buf[:size])
        timed.shoe.link.attached = True
        timed.shoe.link._heard_ms = timed.turns.ticks_ms()
        mac = guard._mac(authentication.COMMAND_LABEL, command)
        timed.board.send(frame_of([messages.SIGNED.number, number, command, mac]))

    return ask


def _busy(ms):
    return lambda timed: timed.turns.add(timed.as_task(lambda: timed.turns.spend(1000 * ms)))


_WORK = {
    # What begins, and about how many ms it takes.
    "collection": (_collect, 44),
    "a host's command": (_ask(messages.STATUS.number), 25),
    "commands without a pause": (_ask_without_a_pause, 100),
    "journal write": (_write, 10),
    "journal erase": (_erase, 50),
    "display": (_show, 40),
    "self-test": (_ask_signed(messages.SELF_TEST.number), 25),
    "heartbeat": (_heartbeat, 5),
    "events to a host": (_send_events, 100),
    "a part of an update": (_ask_signed(messages.UPDATE_PART.number, 0, _PART), 50),
}


@pytest.fixture(scope="module")
def before_the_last_card():
    """The Player has 9 with two cards, the Banker one card: the next one ends the round."""
    with Folder() as folder:
        timed = TimedShoe(folder, ("9C", "2D", "KC"), "2H")
        yield timed
        timed.close()


def _phases_us(lasts_ms):
    """Return when the card's edge comes, from the beginning of the work on."""
    return _steps(-_AFTER_US, max(_BEFORE_US, 1000 * lasts_ms + 5_000))


def _steps(first_us, end_us):
    seed_random()
    return range(first_us - random.randrange(_STEP_US), end_us, _STEP_US)


def _failures(timed, speed_mm_s, work, phases_us):
    """Return the phases in which the lock did not shut in time or did not stay shut, and in how
    many the interrupt shut it."""
    failed, held = [], 0
    for phase_us in phases_us:
        begin_us = timed.ready() + _AFTER_US
        moved, decided_us = timed.pulled(speed_mm_s, begin_us + phase_us, begin_us, work)
        held += moved[0][0] < 0
        shut_once = len(moved) == 1 and moved[0][1] == 0 and moved[0][0] <= _LIMIT_US
        if not shut_once or decided_us < 0:
            failed.append((phase_us / 1000, moved, decided_us))
    return failed, held


@pytest.mark.slow
@pytest.mark.parametrize("speed_mm_s", _SPEEDS_MM_S)
@pytest.mark.parametrize("work", _WORK)
def test_the_lock_shuts_after_the_last_card_in_every_phase_of(
    work, speed_mm_s, before_the_last_card
):
    act, lasts_ms = _WORK[work]
    phases_us = _phases_us(lasts_ms)
    assert len(phases_us) * _STEP_US >= 60_000
    failed, _ = _failures(before_the_last_card, speed_mm_s, act, phases_us)
    assert not failed, (len(failed), failed[:3])


@pytest.mark.slow
@pytest.mark.parametrize("speed_mm_s", _SPEEDS_MM_S)
@pytest.mark.parametrize("busy_ms", (20, 160, 600))
def test_the_lock_shuts_after_a_card_that_comes_in_a_turn_of_any_length(
    busy_ms, speed_mm_s, before_the_last_card
):
    """Around the beginning and around the end of the turn."""
    early = _steps(-_AFTER_US, 30_000)
    late = _steps(max(30_000, 1000 * busy_ms - 40_000), 1000 * busy_ms + 5_000)
    phases_us = [*early, *late]
    failed, held = _failures(before_the_last_card, speed_mm_s, _busy(busy_ms), phases_us)
    assert not failed, (len(failed), failed[:3])
    assert held, "the interrupt had nothing to do"


@pytest.mark.slow
def test_a_lock_that_shut_for_a_card_within_the_round_opens_once_that_card_is_dealt():
    with Folder() as folder:
        timed = TimedShoe(folder, ("9C", "2D"), "KC")
        opened = 0
        for phase_us in _phases_us(40):
            begin_us = timed.ready() + _AFTER_US
            moved, _ = timed.pulled(3000, begin_us + phase_us, begin_us, _collect)
            assert [level for _, level in moved] in ([], [0, 1]), (phase_us, moved)
            if moved:
                opened += 1
                left_us = (75_000 - 60_500) // 3
                assert moved[1][0] > left_us, (phase_us, moved)
        assert opened
        timed.close()
