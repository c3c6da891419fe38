"""The model of the journal's chip, byte by byte."""

import pytest

from sabot_hil.emulation.nor_chip import (
    CHIP_BYTES,
    PAGE,
    SECTOR,
    TYPICAL,
    WORST,
    NorChip,
    NorOperation,
    Times,
)

ERASE, PROGRAM, READ, STATUS, ENABLE = 0x20, 0x02, 0x03, 0x05, 0x06


class ChipAndClock:
    """A chip, a clock that stands, and a processor that talks to it."""

    def __init__(self, times: Times = TYPICAL, seed: int = 0) -> None:
        self.now_ns = 0
        self.chip = NorChip(lambda: self.now_ns, times=times, seed=seed)

    def say(self, *octets: int) -> bytes:
        self.chip.select(0)
        came = bytes(self.chip.exchange(octet) for octet in octets)
        self.chip.select(1)
        return came

    def status(self) -> int:
        return self.say(STATUS, 0)[1]

    def read(self, address: int, size: int) -> bytes:
        return self.say(READ, *address.to_bytes(3, "big"), *bytes(size))[4:]

    def program(self, address: int, data: bytes) -> None:
        self.say(ENABLE)
        self.say(PROGRAM, *address.to_bytes(3, "big"), *data)

    def erase(self, address: int) -> None:
        self.say(ENABLE)
        self.say(ERASE, *address.to_bytes(3, "big"))

    def wait(self, ns: int) -> None:
        self.now_ns += ns


def test_it_answers_with_its_identity() -> None:
    assert ChipAndClock().say(0x9F, 0, 0, 0)[1:] == bytes((0xEF, 0x40, 0x18))


def test_a_program_makes_zeros_and_never_ones() -> None:
    rig = ChipAndClock()
    rig.program(0x1234, b"\xf0\x0f")
    rig.wait(TYPICAL.program_ns)
    rig.program(0x1234, b"\x3c\xff")
    rig.wait(TYPICAL.program_ns)
    assert rig.read(0x1233, 4) == b"\xff\x30\x0f\xff"
    assert rig.chip.misuse  # it records that ones were asked for


def test_an_erase_makes_one_sector_ones() -> None:
    rig = ChipAndClock()
    rig.chip.content[:] = bytes(CHIP_BYTES)
    rig.erase(2 * SECTOR + 77)
    rig.wait(TYPICAL.erase_ns)
    assert rig.read(2 * SECTOR - 1, 1) == b"\0"
    assert rig.read(2 * SECTOR, SECTOR) == b"\xff" * SECTOR
    assert rig.read(3 * SECTOR, 1) == b"\0"


@pytest.mark.parametrize("times", [TYPICAL, WORST])
def test_it_is_busy_for_as_long_as_it_takes(times: Times) -> None:
    rig = ChipAndClock(times)
    rig.program(0, b"\0")
    rig.wait(times.program_ns - 1)
    assert rig.status() & 1 and rig.chip.busy
    rig.wait(1)
    assert rig.status() == 0
    rig.erase(0)
    rig.wait(times.erase_ns - 1)
    assert rig.status() & 1
    rig.wait(1)
    assert rig.status() == 0 and not rig.chip.misuse


def test_while_it_is_busy_it_answers_nothing_but_the_status() -> None:
    rig = ChipAndClock()
    rig.program(0, b"\0")
    assert rig.read(0, 1) == b"\xff"
    rig.erase(0)
    rig.wait(TYPICAL.program_ns)
    assert rig.read(0, 1) == b"\0"
    assert len(rig.chip.misuse) == 3  # the reading, the enabling, the erase


def test_without_write_enable_nothing_changes_and_it_is_cleared_after_each_operation() -> None:
    rig = ChipAndClock()
    rig.say(PROGRAM, 0, 0, 0, 0x55)
    rig.wait(TYPICAL.program_ns)
    rig.program(1, b"\x55")
    rig.wait(TYPICAL.program_ns)
    rig.say(PROGRAM, 0, 0, 2, 0x55)
    rig.wait(TYPICAL.program_ns)
    assert rig.read(0, 3) == b"\xff\x55\xff"
    rig.say(ENABLE)
    assert rig.status() == 2
    rig.say(0x04)
    assert rig.status() == 0


def test_a_program_beyond_the_end_of_its_page_continues_at_its_start() -> None:
    rig = ChipAndClock()
    rig.program(PAGE - 1, b"\x01\x02")
    rig.wait(TYPICAL.program_ns)
    assert rig.read(0, 1) == b"\x02" and rig.read(PAGE - 1, 2) == b"\x01\xff"
    assert rig.chip.misuse


def test_an_operation_begins_when_it_is_deselected() -> None:
    rig = ChipAndClock()
    begun: list[NorOperation] = []
    rig.chip.on_operation = begun.append
    rig.say(ENABLE)
    rig.chip.select(0)
    for octet in (PROGRAM, 0, 0, 0, 0):
        rig.chip.exchange(octet)
    assert not begun
    rig.wait(5)
    rig.chip.select(1)
    assert [(one.command, one.began_ns) for one in begun] == [(PROGRAM, 5)]


@pytest.mark.parametrize("command", [PROGRAM, ERASE])
def test_a_power_cut_leaves_an_operation_half_done_and_the_same_with_the_same_seed(
    command: int,
) -> None:
    def cut(share: float, seed: int) -> bytes:
        rig = ChipAndClock(seed=seed)
        if command == PROGRAM:
            rig.program(0, bytes(PAGE))
            takes_ns = TYPICAL.program_ns
        else:
            rig.chip.content[:SECTOR] = bytes(SECTOR)
            rig.erase(0)
            takes_ns = TYPICAL.erase_ns
        rig.wait(round(takes_ns * share))
        rig.chip.power_off()
        return bytes(rig.chip.content[: PAGE if command == PROGRAM else SECTOR])

    nothing, done = (b"\xff", b"\0") if command == PROGRAM else (b"\0", b"\xff")
    assert set(cut(0, 1)) == set(nothing)
    assert set(cut(1, 1)) == set(done)
    half = cut(0.6, 1)
    assert len(set(half)) > 2
    assert half == cut(0.6, 1) != cut(0.6, 2)


def test_an_erase_that_is_cut_early_has_made_zeros() -> None:
    rig = ChipAndClock()
    rig.erase(0)
    rig.wait(TYPICAL.erase_ns // 5)
    rig.chip.power_off()
    assert rig.chip.content[:SECTOR].count(0) == SECTOR


def test_its_content_survives_a_power_cycle() -> None:
    rig = ChipAndClock()
    rig.program(0, b"card")
    rig.wait(TYPICAL.program_ns)
    rig.chip.power_off()
    assert rig.read(0, 4) == b"card" and rig.status() == 0


def test_many_bytes_at_once_are_the_same_as_one_by_one() -> None:
    rig = ChipAndClock()
    rig.chip.content[-2:] = b"\x01\x02"
    rig.chip.content[:2] = b"\x03\x04"
    rig.chip.select(0)
    rig.chip.exchange_all(bytes((READ, 0xFF, 0xFF, 0xFE)))
    assert rig.chip.exchange_all(bytes(3)) == b"\x01\x02\x03"
    assert rig.chip.exchange(0) == 4
    rig.chip.select(1)
    assert rig.read(CHIP_BYTES - 1, 2) == b"\x02\x03"
