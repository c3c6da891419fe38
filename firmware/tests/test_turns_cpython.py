"""The lock shuts within 4.2 ms of the last mark of a last card and stays shut, and a card that is
due never finds it shut, whatever the shoe is doing: every phase of all long work against the card,
and every gap to the card before it. The shoe is real, its time is simulated.

The phases are in steps, from a random one on: what leaves the lock open, or shuts it, does so for
longer than a step. The same on the emulated Pico: hil_tests/sabot_hil/sweeps/locking.
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
_WHOLE_LIMIT_US = 5000
_STEP_US = 1000
_LAST_MARK_UM = 60_500  # spec/card-code.md, "The sensor head"
_AFTER_US = 25_000  # the work begins at most this long after the card's edge
_BEFORE_US = 35_000  # and, in the first phase, at least this long before it
_SPEEDS_MM_S = (
    3000,
    pytest.param(1000, marks=pytest.mark.slow),
    pytest.param(180, marks=pytest.mark.slow),
)
_DUE_SPEEDS_MM_S = (300, pytest.param(3000, marks=pytest.mark.slow))
_FEW = 4  # of the steps, for cards that are due
_PART = bytes(messages.MAX_UPDATE_PART)


def _collect(timed):
    timed.shoe.heap.due = True


def _nothing(timed):
    pass


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


def _failures(timed, speed_mm_s, work, phases_us, limit_us=_LIMIT_US):
    """Return the phases in which the lock did not shut in time or did not stay shut, and in how
    many the interrupt shut it."""
    failed, held = [], 0
    for phase_us in phases_us:
        begin_us = timed.ready() + _AFTER_US
        moved, decided_us = timed.pulled(speed_mm_s, begin_us + phase_us, begin_us, work)
        held += moved[0][0] < decided_us
        shut_once = len(moved) == 1 and moved[0][1] == 0 and 0 <= moved[0][0] <= limit_us
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
    """Around the beginning and around the end of the turn. Nothing that the shoe does while a card
    may come takes as long as the longer ones, after which the lock may need the margin."""
    early = _steps(-_AFTER_US, 30_000)
    late = _steps(max(30_000, 1000 * busy_ms - 40_000), 1000 * busy_ms + 5_000)
    phases_us = [*early, *late]
    limit_us = _LIMIT_US if busy_ms < 100 else _WHOLE_LIMIT_US
    failed, held = _failures(before_the_last_card, speed_mm_s, _busy(busy_ms), phases_us, limit_us)
    assert not failed, (len(failed), failed[:3])
    if 1000 * busy_ms >= _LAST_MARK_UM * 1000 // speed_mm_s:
        assert held, "the interrupt had nothing to do"


@pytest.fixture(scope="module")
def before_a_due_card():
    """Each has one card, and the round goes on after the next one."""
    with Folder() as folder:
        timed = TimedShoe(folder, ("9C", "2D"), "KC")
        yield timed
        timed.close()


def _found_shut(moved):
    """Whether the card found the lock shut before its last mark, or the lock did not open again."""
    levels = [level for _, level in moved]
    return levels not in ([], [0, 1]) or any(us < 0 for us, _ in moved)


@pytest.mark.slow
@pytest.mark.parametrize("speed_mm_s", _DUE_SPEEDS_MM_S)
@pytest.mark.parametrize("work", _WORK)
def test_a_card_that_is_due_never_finds_the_lock_shut_in_any_phase_of(
    work, speed_mm_s, before_a_due_card
):
    timed, (act, lasts_ms) = before_a_due_card, _WORK[work]
    failed = []
    for phase_us in _phases_us(lasts_ms)[::_FEW]:
        begin_us = timed.ready() + _AFTER_US
        moved, _ = timed.pulled(speed_mm_s, begin_us + phase_us, begin_us, act)
        if _found_shut(moved):
            failed.append((phase_us / 1000, moved))
    assert not failed, (len(failed), failed[:3])


@pytest.mark.slow
@pytest.mark.parametrize("speed_mm_s", (300, 3000))
def test_a_card_that_is_due_never_finds_the_lock_shut_at_any_gap_to_the_card_before_it(speed_mm_s):
    with Folder() as folder:
        timed = TimedShoe(folder, ("9C",), "KC", after="2D")
        failed = []
        for gap_us in _steps(30_000, 330_000)[::_FEW]:
            begin_us = timed.ready() + _AFTER_US
            moved, _ = timed.pulled(speed_mm_s, begin_us, begin_us, _nothing, gap_us)
            if _found_shut(moved):
                failed.append((gap_us / 1000, moved))
        timed.close()
        assert not failed, (len(failed), failed[:3])


@pytest.mark.slow
def test_a_lock_that_shut_for_safety_opens_as_soon_as_that_card_is_judged():
    """After a card at 3 m/s that came in a collection: not only once the card is dealt."""
    with Folder() as folder:
        timed = TimedShoe(folder, ("9C", "2D"), "KC")
        shut_us = []
        for phase_us in _phases_us(40):
            begin_us = timed.ready() + _AFTER_US
            moved, _ = timed.pulled(3000, begin_us + phase_us, begin_us, _collect)
            assert not _found_shut(moved), (phase_us, moved)
            if moved:
                shut_us.append(moved[1][0] - moved[0][0])
        timed.close()
        costs_us = timed.costs_us
        most_us = costs_us["collection"] + costs_us["measure the heap"]
        assert shut_us and max(shut_us) < most_us, shut_us
