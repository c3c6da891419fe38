"""Each fault of the unpatched rp2040py is still there, and is gone with its patch.

A test that fails with "no longer needed" is good news: remove the patch.
"""

from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from sabot_hil.emulation import buses, package, patches

if TYPE_CHECKING:
    from rp2040py.simulator import Simulator

pytestmark = pytest.mark.skipif(
    find_spec("rp2040py") is None, reason="the emulator is not installed: extra `emulator`"
)  # without an import of it: `package.load_emulator` must come first

PIO0, UART0, SPI0, I2C0, PWM = 0x50200000, 0x40034000, 0x4003C000, 0x40044000, 0x40050000
DMA = 0x50000000
PIN5_CONTROL = 0x4001402C
STARTED, STOPPED, FULL = 1 << 10, 1 << 9, 1 << 2  # interrupts of an I2C block
RAM = 0x20001000
MS = 1_000_000  # in ns


class SleepingChip:
    """A chip that sleeps; only the test uses its bus."""

    def __init__(self) -> None:
        package.load_emulator()
        from rp2040py.clock.simulation_clock import SimulationClock
        from rp2040py.rp2040 import RP2040

        self.clock = SimulationClock()
        self.rp2040 = self.mcu = RP2040(self.clock)
        # The package uses only these attributes of a `Simulator`.
        self.mcu.simulator = cast("Simulator", self)
        self.stopped = False

    def write(self, address: int, value: int) -> None:
        self.mcu.write_uint32(address, value)

    def read(self, address: int) -> int:
        return self.mcu.read_uint32(address)

    def sleep(self, ns: float) -> None:
        from rp2040py.execute_batch import execute_batch

        alarm = self.clock.create_alarm(self.stop)
        alarm.schedule(ns)
        self.stopped = False
        while not self.stopped:
            self.mcu.core.waiting = True
            execute_batch(cast("Simulator", self), 1)

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def chip() -> SleepingChip:
    """A chip of the unpatched package."""
    return SleepingChip()


def still(wrong: bool, patch: object) -> None:
    """Fail if the unpatched package is right."""
    name = getattr(patch, "__name__", str(patch))
    assert wrong, f"{name} is no longer needed: rp2040py does it right now"


def sampled_words(chip: SleepingChip, ms: int) -> int:
    """Return how many words a PIO sampled at 20 kHz while the processor slept."""
    chip.write(PIO0 + 0x048, 0x4004)  # in pins, 4
    chip.write(PIO0 + 0x0C8, 6250 << 16)  # the clock's divider
    chip.write(PIO0 + 0x0CC, 0)  # wrap from instruction 0 to 0
    chip.write(PIO0 + 0x0D0, 1 << 31 | 1 << 18 | 1 << 16)  # one long queue, right, autopush at 32
    chip.write(PIO0, 1)
    chip.sleep(ms * MS)
    return chip.read(PIO0 + 0x00C) >> 4 & 15


def test_a_pio_keeps_step_while_the_processor_sleeps(chip: SleepingChip) -> None:
    still(sampled_words(SleepingChip(), 1) != 2, patches.PacedPio)
    patches.PacedPio(chip.mcu)
    assert sampled_words(chip, 1) == 2


def driven(chip: SleepingChip) -> list[float]:
    """Return when pin 5 changed while the processor slept for 1 ms, in ns: a PIO inverts it every
    25 us."""
    changes: list[float] = []
    drive_pin_5(chip)
    chip.mcu.gpio[5].add_listener(lambda _new, _old: changes.append(chip.clock.nanos))
    chip.write(PIO0 + 0x048, 0xE001 | 24 << 8)  # set pins, 1 [24]
    chip.write(PIO0 + 0x04C, 0xE000 | 24 << 8)  # set pins, 0 [24]
    chip.write(PIO0 + 0x0C8, 125 << 16)  # the clock's divider: 1 MHz
    chip.write(PIO0 + 0x0CC, 1 << 12)  # wrap from instruction 1 to 0
    chip.write(PIO0, 1)
    chip.sleep(MS)
    return changes


def drive_pin_5(chip: SleepingChip) -> None:
    """Give the pin to PIO 0, as an output."""
    chip.write(PIO0 + 0x0DC, 1 << 26 | 5 << 5)  # one pin to set, from pin 5 on
    chip.write(PIO0 + 0x0D8, 0xE081)  # set pindirs, 1
    chip.write(PIN5_CONTROL, 6)


def test_a_pin_that_a_pio_drives_changes_at_its_time_while_the_processor_sleeps(
    chip: SleepingChip,
) -> None:
    still(len(driven(SleepingChip())) < 38, patches.PacedPio)
    patches.PacedPio(chip.mcu, drives_pins=True)
    changes = driven(chip)
    lengths = {round(later - former) for former, later in pairwise(changes)}
    assert len(changes) in (40, 41) and lengths == {25_000}


def test_a_pin_follows_an_instruction_that_the_processor_gives_to_a_pio(chip: SleepingChip) -> None:
    def heard(one: SleepingChip) -> int:
        changes: list[object] = []
        drive_pin_5(one)
        one.mcu.gpio[5].add_listener(lambda new, _old: changes.append(new))
        one.write(PIO0 + 0x0D8, 0xE001)  # set pins, 1
        return len(changes)

    still(heard(SleepingChip()) == 0, patches.PacedPio)
    patches.PacedPio(chip.mcu, drives_pins=True)
    assert heard(chip) == 1 and chip.mcu.gpio[5].output_value


def test_a_joined_fifo_has_eight_places_and_is_empty_then(chip: SleepingChip) -> None:
    def places(one: SleepingChip) -> tuple[int, int]:
        one.write(PIO0 + 0x0D0, 1 << 30)  # both for sending
        for word in range(9):
            one.write(PIO0 + 0x010, word)
        held = one.read(PIO0 + 0x00C) & 15
        for joined in (0, 1 << 30):
            one.write(PIO0 + 0x0D0, joined)
        return held, one.read(PIO0 + 0x00C) & 15

    still(places(SleepingChip()) != (8, 0), patches.PacedPio)
    patches.PacedPio(chip.mcu)
    assert places(chip) == (8, 0)


def test_after_a_reset_no_dma_is_busy_and_a_pio_starts_with_no_cycles_to_do(
    chip: SleepingChip,
) -> None:
    def busy(one: SleepingChip) -> bool:
        one.write(DMA + 0x008, 1)  # channel 0: one transfer, when PIO 0 has a word
        one.write(DMA + 0x00C, 4 << 15 | 1)
        return bool(one.read(DMA + 0x00C) >> 24 & 1)

    def reset(one: SleepingChip, paced: patches.PacedPio | None) -> bool:
        assert busy(one)
        one.sleep(50 * MS)
        if paced is None:
            one.mcu.enter_reset(from_watchdog=True)
            one.mcu.leave_reset()
        else:
            paced.reset_chip(from_watchdog=True)
        return bool(one.read(DMA + 0x00C) >> 24 & 1)

    still(reset(SleepingChip(), None), patches.PacedPio.reset_chip)
    assert not reset(chip, patches.PacedPio(chip.mcu))
    assert sampled_words(chip, 1) == 2


def test_a_usb_host_with_nothing_to_send_sends_nothing_and_loses_nothing(
    chip: SleepingChip,
) -> None:
    from rp2040py.usb.cdc import USBCDC

    def answers(usb: Any) -> list[bytes]:
        return [bytes(buffer) for buffer in usb.endpoint_read_alarms[2].buffers]

    stock = SleepingChip().mcu.usb_ctrl
    cdc = USBCDC(stock)
    cdc._out_endpoint = 2
    assert stock.on_endpoint_read is not None
    stock.on_endpoint_read(2, 64)
    still(answers(stock) == [b""] or cdc.tx_fifo.size < 1000, patches.UsbHost)

    host = patches.UsbHost(chip.mcu, lambda: None)
    host._cdc._out_endpoint = 2
    usb = chip.mcu.usb_ctrl
    assert usb.on_endpoint_read is not None
    usb.on_endpoint_read(2, 64)
    assert answers(usb) == []
    host.send(bytes(100))
    assert answers(usb) == [bytes(64)] and len(host.to_chip) == 36


def test_a_usb_host_that_does_not_read_leaves_the_chip_s_transfers_open(
    chip: SleepingChip,
) -> None:
    """The package's host has no such state."""
    host = patches.UsbHost(chip.mcu, lambda: None)
    usb = chip.mcu.usb_ctrl

    def done() -> bool:
        return bool(usb._buff_status & 1 << 4)  # endpoint 2, to the host

    host.reads = False
    usb._indicate_buffer_ready(2, False)
    assert not done()
    host.reads = True
    assert done()


def test_the_peripherals_have_the_clock_of_micropython(chip: SleepingChip) -> None:
    still(chip.mcu.clk_peri != 48_000_000, patches.set_peripheral_clock)
    patches.set_peripheral_clock(chip.mcu)
    assert chip.mcu.clk_peri == 48_000_000


def test_a_uart_s_transmit_interrupt_goes_away_when_it_is_acknowledged(chip: SleepingChip) -> None:
    def pending(one: SleepingChip) -> tuple[bool, bool]:
        seen = []
        for address, value in ((UART0 + 0x38, 1 << 5), (UART0 + 0x44, 1 << 5)):
            one.write(address, value)
            seen.append(bool(one.mcu.core.pending_interrupts & 1 << 20))
        return seen[0], seen[1]

    still(pending(SleepingChip()) == (True, True), patches.patch_uart)
    patches.patch_uart(chip.mcu)
    assert pending(chip) == (True, False)


def flash_says(chip: SleepingChip, *octets: int) -> bytes:
    """Return the answer of the Pico's own flash to a command."""
    ssi = chip.mcu.ssi
    came = bytes(ssi._shift_byte(octet) for octet in octets)
    ssi._apply_command()
    return came


def test_a_chip_has_a_number_of_its_own(chip: SleepingChip) -> None:
    asked = (0x4B, 0, 0, 0, 0, *bytes(8))
    still(flash_says(SleepingChip(), *asked)[5:] == b"\xff" * 8, patches.name_chip)
    patches.name_chip(chip.mcu, b"SABOT-01")
    assert flash_says(chip, *asked)[5:] == b"SABOT-01"


def test_operations_of_the_pico_s_own_flash_are_reported(chip: SleepingChip) -> None:
    def erase(one: SleepingChip) -> int:
        flash_says(one, 0x06)
        flash_says(one, 0x20, 0x01, 0x20, 0x00)
        return flash_says(one, 0x05, 0)[1]

    still(erase(SleepingChip()) & 1 == 0, patches.watch_flash)
    reported: list[tuple[int, int]] = []
    patches.watch_flash(chip.mcu, lambda command, address: reported.append((command, address)))
    flash_says(chip, 0x20, 0, 0, 0)  # not enabled
    erase(chip)
    assert reported == [(0x20, 0x012000)]


def test_a_silent_buzzer_costs_nothing(chip: SleepingChip, monkeypatch: pytest.MonkeyPatch) -> None:
    def wraps(one: SleepingChip) -> int:
        count = 0

        def wrapped(_index: int) -> None:
            nonlocal count
            count += 1

        monkeypatch.setattr(one.mcu.pwm, "channel_interrupt", wrapped)
        channel = PWM + 7 * 0x14
        for offset, value in ((0x04, 16), (0x10, 46295), (0x0C, 0), (0x00, 1)):
            one.write(channel + offset, value)
        one.clock.tick(10 * MS)
        return count

    still(wraps(SleepingChip()) > 20, patches.quieten_pwm)
    reported: list[tuple[int, int, int, float]] = []
    patches.quieten_pwm(chip.mcu, lambda *duty: reported.append(duty))
    assert wraps(chip) == 0
    chip.write(PWM + 7 * 0x14 + 0x0C, 23148 << 16)
    channel, low, high, hertz = reported[-1]
    assert (channel, low) == (7, 0) and high > 20_000 and 2690 < hertz < 2710


def test_the_sources_of_randomness_are_not_stuck(chip: SleepingChip) -> None:
    random_bit = 0x4006001C
    stock = SleepingChip()
    still(len({stock.read(random_bit) & 1 for _ in range(64)}) == 1, patches.RandomBit)
    patches.give_noise(chip.mcu, 4, 876)
    bits = [chip.read(random_bit) for _ in range(1024)]
    assert set(bits) == {0, 1} and 400 < sum(bits) < 624
    values = []
    for _ in range(64):
        chip.mcu.adc.on_adc_read(4)
        chip.clock.tick(3000)
        values.append(chip.mcu.adc.result)
    assert set(values) == {875, 876, 877}


def sent_by_spi(chip: SleepingChip) -> list[bool]:
    """Return whether an answer was there before and after the time of a byte at 24 MHz."""
    chip.write(SPI0 + 0x10, 2)
    chip.write(SPI0 + 0x00, 7)
    chip.write(SPI0 + 0x04, 2)
    chip.write(SPI0 + 0x08, 0x9F)
    seen = []
    for ns in (325, 20):
        chip.clock.tick(ns)
        seen.append(bool(chip.read(SPI0 + 0x0C) & 1 << 2))
    return seen


def inverted(octets: bytes) -> bytes:
    return bytes(octet ^ 0xFF for octet in octets)


def test_a_byte_on_spi_takes_its_time(chip: SleepingChip) -> None:
    still(sent_by_spi(SleepingChip()) == [True, True], buses.TimedSpi)
    patches.set_peripheral_clock(chip.mcu)
    buses.TimedSpi(chip.mcu, inverted)
    assert sent_by_spi(chip) == [False, True]
    assert chip.read(SPI0 + 0x08) == 0x60


def test_a_long_transfer_on_spi_is_done_when_its_last_byte_is(chip: SleepingChip) -> None:
    patches.set_peripheral_clock(chip.mcu)
    buses.TimedSpi(chip.mcu, inverted)
    chip.write(SPI0 + 0x10, 2)
    chip.write(SPI0 + 0x00, 7)
    chip.write(SPI0 + 0x04, 2)
    data = bytes(range(200))
    chip.mcu.sram[RAM - 0x20000000 : RAM - 0x20000000 + 200] = data
    for place, (begin, end, moves, pace) in enumerate(
        ((RAM, SPI0 + 8, 1 << 4, 16), (SPI0 + 8, RAM, 1 << 5, 17))
    ):
        channel = DMA + 0x40 * place
        chip.write(channel, begin)
        chip.write(channel + 0x04, end)
        chip.write(channel + 0x08, 200)
        chip.write(channel + 0x10, 1 | moves | place << 11 | pace << 15)
    chip.write(DMA + 0x430, 3)
    busy = []
    for ns in (66_600, 100):
        chip.clock.tick(ns)
        busy.append(bool(chip.read(DMA + 0x0C) & 1 << 24))
    assert busy == [True, False]
    assert bytes(chip.mcu.sram[RAM - 0x20000000 : RAM - 0x20000000 + 200]) == inverted(data)
    assert not chip.mcu.dma.channels[1].active


def test_a_write_on_i2c_takes_its_time(chip: SleepingChip) -> None:
    heard = bytearray()

    def begin(address: int) -> bool:
        return address == 0x3C

    def stopped(one: SleepingChip, wait_ns: float) -> list[bool]:
        one.write(I2C0 + 0x04, 0x3C)
        one.write(I2C0 + 0x1C, 125)  # cycles high for 400 kHz, and as many low
        one.write(I2C0 + 0x20, 187)
        one.write(I2C0 + 0x6C, 1)
        one.write(I2C0 + 0x10, 1 << 9 | 0x55)
        seen = []
        for ns in (wait_ns - 100, 200):
            one.clock.tick(ns)
            seen.append(bool(one.read(I2C0 + 0x34) & 1 << 9))
        return seen

    whole_ns = (1 + 9 + 9 + 1) * (125 + 187) * patches.CYCLE_NS
    still(stopped(SleepingChip(), whole_ns) == [True, True], buses.TimedI2c)
    core = chip.mcu.core
    buses.TimedI2c(chip.mcu.i2c[0], core, chip.clock, begin, heard.append, lambda: None)
    assert stopped(chip, whole_ns) == [False, True]
    assert heard == b"\x55"


def be_target(chip: SleepingChip) -> None:
    """Make I2C 0 a target at 0x3C with the interrupts that MicroPython uses."""
    chip.write(I2C0 + 0x6C, 0)
    chip.write(I2C0 + 0x00, 1 << 9 | 1 << 7 | 2 << 1)
    chip.write(I2C0 + 0x08, 0x3C)
    chip.write(I2C0 + 0x30, STARTED | STOPPED | FULL)
    chip.write(I2C0 + 0x6C, 1)


def test_an_i2c_block_is_a_target_that_keeps_all_bytes_and_says_when_a_write_ended(
    chip: SleepingChip,
) -> None:
    stock = SleepingChip()
    be_target(stock)
    still(stock.read(I2C0 + 0x30) == 0, buses.EmulatedI2cTarget)
    target = buses.EmulatedI2cTarget(chip.mcu.i2c[0])
    assert not target.answers(0x3C)
    be_target(chip)
    assert target.answers(0x3C) and not target.answers(0x3D)
    target.begin(0x3C)
    assert chip.read(I2C0 + 0x2C) == STARTED and chip.mcu.core.pending_interrupts & 1 << 23
    chip.read(I2C0 + 0x64)
    for octet in range(20):  # four more than there is room for
        target.octet(octet)
    target.end()
    came: list[int] = []
    while chip.read(I2C0 + 0x2C) & FULL:
        assert (chip.read(I2C0 + 0x2C) & STOPPED == 0) == (len(came) < 4)
        came.append(chip.read(I2C0 + 0x10) & 0xFF)
    assert came == list(range(20))
    assert chip.read(I2C0 + 0x2C) == STOPPED
    chip.read(I2C0 + 0x60)
    target.begin(0x3D)
    target.end()
    chip.read(I2C0 + 0x64)
    assert chip.read(I2C0 + 0x2C) == 0 and not chip.mcu.core.pending_interrupts & 1 << 23


def test_the_package_is_slow_without_patches() -> None:
    found = find_spec("rp2040py")
    assert found is not None and found.submodule_search_locations is not None
    native = Path(found.submodule_search_locations[0]) / "native"
    still(bool(list(native.glob("*.abi3.so"))), package.load_emulator)
    package.load_emulator()
