"""The Pico's watchdog: why the chip started, and what is noted through a reset."""

from firmware.tests.fakes import fake_pico
from firmware.tests.fakes.fake_pico import ASKED, BITTEN, CHIP_RESET, HAD_RUN_PIN, REASON
from sabot_firmware import boards
from sabot_protocol import enums

_CAUSES = enums.RESET_CAUSES
_COMMAND, _ERROR, _HUNG = [_CAUSES.index(word) for word in ("command", "error", "watchdog")]


def _start(registers=None, **changed):
    """Start a board on a chip whose registers kept `registers`, as a reset leaves them."""
    world = fake_pico.new_world()
    world.registers.update(registers or {})
    for name in changed:
        world.registers[getattr(fake_pico, name)] = changed[name]
    return fake_pico.new_start().Board(), world


def test_a_chip_that_got_power_says_so_whatever_the_register_holds():
    for left in (0, 0x05AB0725, 0xFFFFFFFF):
        board, _ = _start(SCRATCH=left)
        assert _CAUSES[board.reset_cause] == "power_on" and board.restarts == 0


def test_the_pin_run_is_not_taken_for_power():
    board, _ = _start(CHIP_RESET=HAD_RUN_PIN)
    assert _CAUSES[board.reset_cause] == "reset_pin"


class _Rp2350:
    """In place of `sys` and `os`: the chip of a Pico 2."""

    platform = "rp2"
    machine = "Raspberry Pi Pico2 with RP2350"

    def uname(self):
        return self


def test_an_rp2350_says_why_it_started_at_its_own_addresses():
    """RP2350 data sheet: the watchdog at 0x400D8000 (12.9), POWMAN at 0x40100000, whose CHIP_RESET
    has HAD_RUN_LOW as bit 18 (6.4)."""
    reason, scratch, chip_reset = 0x400D8008, 0x400D800C, 0x4010002C
    whole = boards.sys, boards.os
    boards.sys = boards.os = _Rp2350()
    try:
        board, world = _start({reason: BITTEN, scratch: 0x05AB0700, chip_reset: 0})
        assert board.reset_cause == _HUNG and board.restarts == 1
        assert world.registers[scratch] & 0xFF == 1 << 4
        board, _ = _start({reason: 0, scratch: 0, chip_reset: 1 << 18})
        assert _CAUSES[board.reset_cause] == "reset_pin"
        board, _ = _start({reason: 0, scratch: 0, chip_reset: 1 << 16})
        assert _CAUSES[board.reset_cause] == "power_on"
    finally:
        boards.sys, boards.os = whole
        fake_pico.new_start()


def test_a_restart_by_command_is_not_taken_for_a_hang_or_an_error():
    board, world = _start()
    for cause in (_COMMAND, _ERROR, _HUNG):
        board.reset(cause)
        assert world.resets == 1
        board, world = _start(world.registers, REASON=ASKED)
        assert board.reset_cause == cause
    board, world = _start(world.registers, REASON=BITTEN)
    assert board.reset_cause == _HUNG, "although the last note was of the restart before"


def test_a_reset_that_the_shoe_did_not_note_is_the_programs():
    board, _ = _start(REASON=ASKED, SCRATCH=0x6AB73121)
    assert _CAUSES[board.reset_cause] == "software" and board.restarts == 0


def test_restarts_that_went_wrong_are_counted_until_one_works():
    board, world = _start()
    for count in (1, 2, 3):
        board, world = _start(world.registers, REASON=BITTEN)
        assert board.restarts == count
    board.reset(_ERROR)
    board, world = _start(world.registers, REASON=ASKED)
    assert board.restarts == 4
    for _ in range(20):
        board, world = _start(world.registers, REASON=BITTEN)
    assert board.reset_cause == _HUNG and board.restarts == 16
    board.settle()
    board, world = _start(world.registers, REASON=BITTEN)
    assert board.restarts == 1
    board.reset(_COMMAND)
    board, world = _start(world.registers, REASON=ASKED)
    assert board.restarts == 0
    assert world.registers[CHIP_RESET] and world.registers[REASON] == ASKED


def _after(world, registers=None, **changed):
    """What the next start finds of the lid."""
    board, world = _start((registers or {}) | world.registers, **changed)
    return board.lid_watched


def test_the_lid_was_watched_only_if_every_start_since_was_a_restart_that_the_shoe_can_name():
    board, world = _start()
    assert not board.lid_watched, "after power"
    board, world = _start(world.registers, REASON=BITTEN)
    assert not board.lid_watched, "a restart before the shoe has watched it"
    board.set_lid_watched(True)
    assert _after(world, REASON=BITTEN) and _after(world, REASON=BITTEN)
    for cause in range(len(_CAUSES)):
        board, world = _start(SCRATCH=0x05AB0700, REASON=BITTEN)
        board.reset(cause)
        watched = _CAUSES[cause] in ("watchdog", "command", "error", "memory")
        assert _after(world, REASON=ASKED) == watched, _CAUSES[cause]
    board, world = _start(SCRATCH=0x05AB0700, REASON=BITTEN)
    board.set_lid_watched(False)
    board.settle()
    board.reset(_COMMAND)
    assert not _after(world, REASON=ASKED)
    assert not _after(world, REASON=0), "power"
    assert not _after(world, REASON=BITTEN, SCRATCH=0), "another program ran"


def test_it_does_nothing_before_it_is_started_and_takes_another_time():
    board, world = _start()
    board.feed()
    assert world.fed == world.watchdog_ms == 0
    board.watch(8000)
    assert world.watchdog_ms == 8000
    board.watch(2500)
    board.feed()
    assert world.watchdog_ms == 2500 and world.fed == 1


def test_a_board_that_halts_is_not_reset_by_it():
    board, world = _start()
    board.watch(2500)
    world.naps_left = 100  # 5 s
    try:
        board.halt(ValueError("broken"))
    except fake_pico.HaltEnded:
        pass
    assert world.fed >= 100
