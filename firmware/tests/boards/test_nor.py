"""The driver of the journal's chip, against a model of the chip that understands its commands."""

import random

from firmware.tests.fakes.fake_nor import NorModel, Select, Spi
from protocol.tests.helpers import allocates, raised, random_bytes, seed_random
from sabot_firmware.boards import nor
from sabot_firmware.boards.nor import PAGE, SECTOR, FlashError, NorFlash

_SIZE = 1 << 24


class _Time:
    """Stands in for `time`: each pause may change the chip."""

    def __init__(self, pause) -> None:
        self.slept_ms = 0
        self._pause = pause

    def sleep_ms(self, ms: int) -> None:
        self.slept_ms += ms
        self._pause(self.slept_ms)


def _flash(chip: NorModel) -> NorFlash:
    return NorFlash(Spi(chip), Select(chip))


def _refusal(chip: NorModel) -> str:
    """Return the driver's message when it refuses the chip."""
    nor.time = _Time(lambda slept_ms: None)  # type: ignore[assignment]
    try:
        _flash(chip)
    except FlashError as error:
        return str(error)
    raise AssertionError("it took the chip")


def _settle(flash: NorFlash) -> None:
    while flash.busy():
        pass


def _read(flash: NorFlash, address: int, size: int) -> bytes:
    buf = bytearray(size)
    flash.read(address, buf)
    return bytes(buf)


# Which chip


def test_sectors_come_from_the_capacity_that_the_chip_reports() -> None:
    assert (SECTOR, PAGE) == (4096, 256)
    for capacity, sectors in ((20, 256), (23, 2048), (24, 4096)):
        assert _flash(NorModel(capacity)).sectors == sectors


def test_of_a_larger_chip_as_much_is_used_as_three_bytes_address() -> None:
    assert _flash(NorModel(25)).sectors == 4096


def test_no_chip_is_refused_whichever_level_the_open_line_has() -> None:
    for pulled in (0x00, 0xFF):
        chip = NorModel()
        chip.plugged = False
        chip.pulled = pulled
        assert _refusal(chip) == "no journal chip: it answers " + "%02x" % pulled * 3


def test_a_chip_too_small_is_refused() -> None:
    assert "too small" in _refusal(NorModel(19)) and "ef4013" in _refusal(NorModel(19))


def test_a_protected_chip_is_refused() -> None:
    chip = NorModel()
    chip.protected = 0x1C
    assert "protected" in _refusal(chip) and "1c" in _refusal(chip)


def test_the_protections_of_status_2_and_3_are_seen_too() -> None:
    for status, value in (("status_2", 0x40), ("status_3", 0x04)):
        chip = NorModel()
        setattr(chip, status, value)
        assert "protected" in _refusal(chip) and "%02x" % value in _refusal(chip)
    chip = NorModel()
    chip.status_2, chip.status_3 = 0x02, 0x60  # quad lines enabled, drive strength: usual
    _flash(chip)


def test_other_makers_are_not_asked_for_winbonds_statuses() -> None:
    chip = NorModel()
    chip.identity[0] = 0xC2
    chip.status_2 = chip.status_3 = 0xFF
    _flash(chip)
    assert 0x35 not in chip.history()


def test_a_chip_that_sleeps_is_woken() -> None:
    chip = NorModel()
    chip.asleep = True
    nor.time = _Time(lambda slept_ms: None)  # type: ignore[assignment]
    assert _flash(chip).sectors == 4096 and nor.time.slept_ms == 0  # type: ignore[attr-defined]


def test_a_chip_that_is_confused_or_suspended_is_reset() -> None:
    for name, value in (("confused", True), ("status_2", 0x80), ("stuck", True)):
        chip = NorModel()
        setattr(chip, name, value)
        nor.time = _Time(lambda slept_ms: None)  # type: ignore[assignment]
        flash = _flash(chip)
        flash.program(0, b"\x00")
        _settle(flash)
        assert chip.peek(0, 1) == b"\x00", name


def test_a_healthy_chip_is_not_reset() -> None:
    chip = NorModel()
    _flash(chip)
    assert not {0x66, 0x99} & set(chip.history())


def test_another_chip_in_its_place_is_not_erased() -> None:
    chip = NorModel()
    flash = _flash(chip)
    chip.identity[2] = 0x17
    chip.history()
    assert raised(FlashError, flash.erase, 3)
    assert 0x20 not in chip.history()
    chip.identity[2] = 0x18
    flash.erase(3)


def test_an_identity_that_was_misread_once_stops_nothing() -> None:
    chip = NorModel()
    flash = _flash(chip)
    chip.ignores = 0x9F
    flash.erase(3)
    _settle(flash)


def test_a_chip_that_stays_busy_is_refused_after_the_longest_erase() -> None:
    chip = NorModel()
    chip.stuck = chip.deaf_to_reset = True
    assert "stays busy" in _refusal(chip)
    assert 400 < nor.time.slept_ms < 1500  # type: ignore[attr-defined]


def test_the_subject_of_each_refusal_fits_a_line_of_the_display() -> None:
    absent, stuck, protected = NorModel(), NorModel(), NorModel()
    absent.plugged, stuck.stuck, protected.protected = False, True, 4
    stuck.deaf_to_reset = True
    for chip in (absent, stuck, protected, NorModel(12)):
        assert 0 < _refusal(chip).find(":") < 16


def test_a_chip_still_busy_from_before_the_reset_is_waited_for() -> None:
    chip = NorModel(busy_polls=1)
    _flash(chip).program(0, b"\x00")
    chip.polls_left = 1 << 20

    def ready(slept_ms: int) -> None:
        if slept_ms == 45:
            chip.polls_left = 1

    nor.time = _Time(ready)  # type: ignore[assignment]
    flash = _flash(chip)
    assert not flash.busy() and _read(flash, 0, 2) == b"\x00\xff"
    assert 45 <= nor.time.slept_ms < 50  # type: ignore[attr-defined]


def test_a_reset_in_the_middle_of_a_command_leaves_nothing_of_it() -> None:
    chip = NorModel()
    _flash(chip)
    spi, select = Spi(chip), Select(chip)
    select.value(0)
    spi.write(b"\x06")
    select.value(1)
    select.value(0)
    spi.write(b"\x02\x00\x00")  # the processor is reset here
    chip.history()
    flash = _flash(chip)
    assert chip.history() == b"\xab\x05\x9f\x35\x05\x9f\x35\x15"
    assert _read(flash, 0, 16) == b"\xff" * 16


# Read, program, erase


def test_the_bytes_on_the_bus_are_those_of_the_data_sheet() -> None:
    sent = []
    chip = NorModel()
    exchange = chip.exchange

    def listening(octet: int) -> int:
        sent.append(octet)
        return exchange(octet)

    flash = _flash(chip)
    chip.exchange = listening
    flash.read(0x123456, bytearray(2))
    assert sent == [0x03, 0x12, 0x34, 0x56, 0, 0]
    sent.clear()
    flash.program(0xFEDCBA, b"\x11\x22")
    assert sent == [0x06, 0x05, 0x00, 0x02, 0xFE, 0xDC, 0xBA, 0x11, 0x22]
    _settle(flash)
    sent.clear()
    flash.erase(0xABC)
    assert sent == [0x9F, 0, 0, 0, 0x06, 0x05, 0x00, 0x20, 0xAB, 0xC0, 0x00]


def test_what_was_programmed_is_read_and_its_neighbours_stay() -> None:
    seed_random()
    chip = NorModel()
    flash = _flash(chip)
    expected = {}
    for _ in range(100):
        page = random.choice((0, 1, 7, _SIZE // PAGE - 1))
        size = random.randint(1, PAGE)
        address = page * PAGE + random.randint(0, PAGE - size)
        data = random_bytes(size)
        flash.program(address, memoryview(data))
        _settle(flash)
        for i in range(size):
            expected[address + i] = expected.get(address + i, 0xFF) & data[i]
    for page in (0, 1, 2, 7, _SIZE // PAGE - 1):
        found = _read(flash, page * PAGE, PAGE)
        assert found == bytes([expected.get(page * PAGE + i, 0xFF) for i in range(PAGE)])


def test_an_erase_makes_its_sector_all_ones_and_no_other() -> None:
    flash = _flash(NorModel())
    for sector in (3, 4, 5, 4095):
        flash.program(sector * SECTOR, b"first")
        _settle(flash)
        flash.program(sector * SECTOR + SECTOR - 4, b"last")
        _settle(flash)
    flash.erase(4)
    _settle(flash)
    assert _read(flash, 4 * SECTOR, SECTOR) == b"\xff" * SECTOR
    for sector in (3, 5, 4095):
        assert _read(flash, sector * SECTOR, 5) == b"first"
        assert _read(flash, sector * SECTOR + SECTOR - 4, 4) == b"last"


def test_a_part_of_a_larger_buffer_is_filled_and_the_rest_is_not_touched() -> None:
    flash = _flash(NorModel())
    flash.program(100, b"abcdef")
    _settle(flash)
    buf = bytearray(10)
    flash.read(101, memoryview(buf)[2:6])
    assert bytes(buf) == b"\x00\x00bcde\x00\x00\x00\x00"


# What the chip cannot do


def test_beyond_a_page_or_the_chip_nothing_is_done() -> None:
    chip = NorModel()
    flash = _flash(chip)
    chip.history()
    for address, size in (
        (255, 2), (0, 257), (3 * PAGE + 1, 256), (0, 0), (-1, 1), (_SIZE, 1), (_SIZE - 1, 2),
    ):  # fmt: skip
        assert raised(FlashError, flash.program, address, bytes(size)), (address, size)
    for address, size in ((-1, 1), (_SIZE - 1, 2), (_SIZE, 1)):
        assert raised(FlashError, flash.read, address, bytearray(size)), (address, size)
    for sector in (-1, 4096):
        assert raised(FlashError, flash.erase, sector), sector
    assert chip.history() == b""
    flash.program(_SIZE - 256, bytes(256))
    _settle(flash)
    assert _read(flash, _SIZE - 1, 1) == b"\x00"


def test_a_busy_chip_is_not_used() -> None:
    chip = NorModel(busy_polls=20)
    flash = _flash(chip)
    for begin in (lambda: flash.program(0, b"\x0f"), lambda: flash.erase(9)):
        begin()
        chip.history()
        assert flash.busy()
        assert raised(FlashError, flash.read, 0, bytearray(1))
        assert raised(FlashError, flash.program, 512, b"\x00")
        assert raised(FlashError, flash.erase, 0)
        assert chip.history() == b"\x05" * 4
        _settle(flash)
    assert _read(flash, 0, 1) == b"\x0f" and chip.peek(512, 1) == b"\xff"


def test_a_chip_known_to_be_ready_is_not_asked() -> None:
    chip = NorModel()
    flash = _flash(chip)
    chip.history()
    assert not flash.busy() and not flash.busy()
    flash.read(0, bytearray(4))
    assert chip.history() == b"\x03"


def test_a_write_enable_that_failed_is_reported_and_nothing_is_done() -> None:
    chip = NorModel()
    flash = _flash(chip)
    chip.deaf = True
    assert raised(FlashError, flash.program, 0, b"\x00")
    assert raised(FlashError, flash.erase, 0)
    chip.deaf = False
    chip.protected = 0x04
    assert raised(FlashError, flash.program, 0, b"\x00")
    chip.protected = 0
    assert chip.peek(0, 1) == b"\xff"
    flash.program(0, b"\x00")
    _settle(flash)
    assert chip.peek(0, 1) == b"\x00"


def test_a_chip_that_went_away_is_reported_at_the_next_program() -> None:
    for pulled in (0x00, 0xFF):
        chip = NorModel()
        flash = _flash(chip)
        chip.plugged = False
        chip.pulled = pulled
        assert raised(FlashError, flash.program, 0, b"\x00")


# Memory


def test_read_program_erase_and_busy_allocate_nothing() -> None:
    chip = NorModel(busy_polls=2)
    flash = _flash(chip)
    data = memoryview(bytearray(60))
    buf = bytearray(64)
    last = _SIZE - 64  # the largest address
    flash.program(last, data)  # the model allocates its page here
    _settle(flash)
    for call in (
        lambda: flash.program(last, data),
        flash.busy,
        flash.busy,
        flash.busy,
        lambda: flash.read(last, buf),
        lambda: flash.erase(4095),
        flash.busy,
    ):
        assert not allocates(call)
    _settle(flash)
    assert chip.peek(last, 64) == b"\xff" * 64
