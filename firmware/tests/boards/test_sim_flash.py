"""The simulated board's flash: as strict as real flash, and in its file at once."""

import os
import random

from protocol.tests.helpers import raised, random_bytes, seed_random
from sabot_firmware.boards.nor import PAGE, SECTOR, FlashError
from sabot_firmware.boards.sim import flash as sim_flash
from sabot_firmware.boards.sim.flash import SimFlash

_CHIP = 4096 * SECTOR


class _Clock:
    """The ticks of MicroPython, which wrap, here after 2**20 us."""

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us

    def ticks_us(self) -> int:
        return self.now_us % (1 << 20)

    def ticks_add(self, ticks: int, us: int) -> int:
        return (ticks + us) % (1 << 20)

    def ticks_diff(self, a: int, b: int) -> int:
        return (a - b + (1 << 19)) % (1 << 20) - (1 << 19)


class _Path:
    """The name of a file that does not exist, before and after."""

    def __init__(self) -> None:
        self.name = (os.getenv("TMPDIR") or "/tmp") + "/sabot-flash-" + os.urandom(8).hex()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_) -> None:
        for name in (self.name, self.name + ".trace"):
            try:
                os.remove(name)
            except OSError:
                pass


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read(flash: SimFlash, address: int, size: int) -> bytes:
    buf = bytearray(b"\xa5" * size)
    flash.read(address, buf)
    return bytes(buf)


# Contents


def test_a_new_chip_is_an_empty_file_and_all_ones() -> None:
    with _Path() as path:
        flash = SimFlash(path, speed=0)
        assert _content(path) == b"" and flash.sectors == 4096
        for address in (0, 1000, _CHIP - SECTOR):
            assert _read(flash, address, SECTOR) == b"\xff" * SECTOR


def test_a_change_is_in_the_file_before_the_file_is_closed() -> None:
    with _Path() as path:
        flash = SimFlash(path, speed=0)
        flash.program(3, b"card")
        assert _content(path) == b"\xff\xff\xffcard"
        flash.program(SECTOR - 2, b"\x00\x01")
        flash.erase(0)
        assert _content(path) == b"\xff" * SECTOR


def test_a_chip_keeps_its_contents_without_power() -> None:
    with _Path() as path:
        SimFlash(path, speed=0).program(PAGE, b"kept")
        flash = SimFlash(path, speed=0)
        assert _read(flash, PAGE - 1, 6) == b"\xffkept\xff"
        flash.program(PAGE - 1, b"+")
        assert _read(SimFlash(path, speed=0), PAGE - 1, 6) == b"+kept\xff"


def test_programs_clear_bits_erases_set_them_and_the_file_is_the_same() -> None:
    seed_random()
    with _Path() as path:
        flash = SimFlash(path, speed=0, sectors=4)
        expected = bytearray(b"\xff" * 4 * SECTOR)
        for _ in range(400):
            if random.getrandbits(4) == 0:
                sector = random.randint(0, 3)
                flash.erase(sector)
                for i in range(SECTOR):
                    expected[sector * SECTOR + i] = 0xFF
                continue
            size = random.randint(1, 40)
            address = random.randint(0, 4 * SECTOR // PAGE - 1) * PAGE
            address += random.randint(0, PAGE - size)
            data = bytearray(random_bytes(size))
            for i in range(size):
                data[i] &= expected[address + i]
                expected[address + i] = data[i]
            flash.program(address, memoryview(data))
        assert _read(flash, 0, len(expected)) == bytes(expected)
        content = _content(path)
        assert content + b"\xff" * (len(expected) - len(content)) == bytes(expected)


def test_a_program_far_beyond_the_files_end_leaves_all_between_erased() -> None:
    with _Path() as path:
        flash = SimFlash(path, speed=0)
        flash.program(0, b"\x00")
        flash.program(100 * SECTOR + 7, b"\x00")
        assert os.stat(path)[6] == 100 * SECTOR + 8
        for sector in (1, 50, 99):
            assert _read(flash, sector * SECTOR, SECTOR) == b"\xff" * SECTOR
        assert _read(flash, 100 * SECTOR, 9) == b"\xff" * 7 + b"\x00\xff"


def test_a_reading_across_the_files_end_gives_its_bytes_and_then_ones() -> None:
    with _Path() as path:
        flash = SimFlash(path, speed=0)
        flash.program(0, b"end")
        assert _read(flash, 1, 10000) == b"nd" + b"\xff" * 9998


def test_a_file_that_is_no_image_of_such_a_chip_is_refused() -> None:
    with _Path() as path:
        with open(path, "wb") as file:
            file.write(bytes(2 * SECTOR + 1))
        assert raised(FlashError, lambda: SimFlash(path, speed=0, sectors=2))
        SimFlash(path, speed=0, sectors=3)
    assert raised(OSError, lambda: SimFlash("/nowhere/flash", speed=0))


# What flash cannot do


def test_a_zero_cannot_be_made_a_one_and_then_nothing_is_done() -> None:
    with _Path() as path:
        flash = SimFlash(path, speed=0)
        flash.program(0, b"\xff\xf0")
        for data in (b"\x00\xf8", b"\xff\xff", b"\x00\xff"):
            assert raised(FlashError, flash.program, 0, data)
        assert _read(flash, 0, 3) == b"\xff\xf0\xff"
        flash.program(0, b"\x0f\x30")
        assert _read(flash, 0, 3) == b"\x0f\x30\xff"


def test_beyond_a_page_or_the_chip_nothing_is_done() -> None:
    with _Path() as path:
        flash = SimFlash(path, speed=0)
        for address, size in (
            (255, 2), (0, 257), (3 * PAGE + 1, 256), (0, 0), (-1, 1), (_CHIP, 1), (_CHIP - 1, 2),
        ):  # fmt: skip
            assert raised(FlashError, flash.program, address, bytes(size)), (address, size)
        for address, size in ((-1, 1), (_CHIP - 1, 2), (_CHIP, 1)):
            assert raised(FlashError, flash.read, address, bytearray(size)), (address, size)
        for sector in (-1, 4096):
            assert raised(FlashError, flash.erase, sector), sector
        assert _content(path) == b""


# Time


def test_it_is_busy_as_long_as_its_speed_says() -> None:
    real = sim_flash.time
    try:
        for speed, program_us, erase_us in (
            (1000, 400, 45_000),
            (100, 40, 4500),
            (2000, 800, 90_000),
        ):
            with _Path() as path:
                sim_flash.time = clock = _Clock((1 << 20) - 100)  # type: ignore[assignment]
                flash = SimFlash(path, speed=speed)
                assert not flash.busy()
                for begin, takes_us in (
                    (lambda flash=flash: flash.program(0, b"\x00"), program_us),
                    (lambda flash=flash: flash.erase(0), erase_us),
                ):
                    begin()
                    clock.now_us += takes_us - 1
                    assert flash.busy()
                    assert raised(FlashError, flash.read, 0, bytearray(1))
                    assert raised(FlashError, flash.program, 8, b"\x00")
                    assert raised(FlashError, flash.erase, 0)
                    clock.now_us += 1
                    assert not flash.busy()
                assert _read(flash, 0, 9) == b"\xff" * 9
    finally:
        sim_flash.time = real


def test_at_speed_0_it_is_never_busy() -> None:
    with _Path() as path:
        flash = SimFlash(path, speed=0)
        flash.program(0, b"\x00")
        assert not flash.busy()
        flash.erase(0)
        assert not flash.busy() and _read(flash, 0, 1) == b"\xff"


# Trace


def test_every_operation_is_in_the_trace_and_no_refused_one() -> None:
    with _Path() as path:
        trace = path + ".trace"
        flash = SimFlash(path, speed=0, trace=trace)
        flash.program(0x00012345, b"ab")
        assert raised(FlashError, flash.program, 0x00012345, b"\xff\xff")
        assert raised(FlashError, flash.program, 0xFF, b"ab")
        flash.erase(0x12)
        assert _content(trace) == b"P\x45\x23\x01\x00\x02\x00ab" + b"E\x00\x20\x01\x00\x00\x00"
        flash = SimFlash(path, speed=0, trace=trace)  # the next start continues it
        flash.program(0, bytes(256))
        assert _content(trace)[16:] == b"P\x00\x00\x00\x00\x00\x01" + bytes(256)


def test_the_trace_has_an_operation_before_the_file_has_it() -> None:
    with _Path() as path:
        flash = SimFlash(path, speed=0, trace=path + ".trace")
        store = flash._store
        traced = []

        def watched(address: int, data) -> None:
            traced.append(len(_content(path + ".trace")))
            store(address, data)

        flash._store = watched
        flash.program(0, b"card")
        flash.erase(0)
        assert traced == [11, 18]
