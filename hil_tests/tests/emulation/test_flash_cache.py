"""The cost of reading flash: the cache alone, on a chip, and with MicroPython's image."""

import random
from array import array
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from sabot.release.uf2 import Image
from sabot_hil.emulation import flash_cache, package
from sabot_hil.emulation.flash_cache import MISS_CYCLES, Cache
from sabot_hil.emulation.patches import CYCLE_NS
from sabot_hil.emulation.pico import EmulatedPico

if TYPE_CHECKING:
    from rp2040py.rp2040 import RP2040

pytestmark = pytest.mark.skipif(
    find_spec("rp2040py") is None, reason="the emulator is not installed: extra `emulator`"
)  # without an import of it: `package.load_emulator` must come first

CACHED, UNKEPT, UNLOOKED, UNCACHED = (alias << 24 for alias in (0x10, 0x11, 0x12, 0x13))
KB = 1024
ADD_1 = 0x3001  # adds r0, #1
BACK = 0x4738  # bx r7
R7, PC = 7, 15
XIP_CTRL = 0x14000000
CTRL, FLUSH, HITS, ACCESSES = XIP_CTRL, XIP_CTRL + 4, XIP_CTRL + 0xC, XIP_CTRL + 0x10


class PlainCache:
    """The cache of the RP2040 data sheet, 2.6.3, written with lists: for each pair of lines, the
    line's number and its valid words, the one used last at the end."""

    def __init__(self) -> None:
        self.enabled = True
        self.sets: list[list[tuple[int, set[int]]]] = [[] for _ in range(1024)]

    def flush(self) -> None:
        for lines in self.sets:
            lines.clear()

    def access(self, address: int) -> bool:
        offset = address % (16 * KB * KB)
        number, word = offset // 8, offset // 4 % 2
        lines = self.sets[number % 1024]
        here = next((line for line in lines if line[0] == number), None)
        looks, keeps = address < UNLOOKED, address >> 24 in (0x10, 0x12)
        hit = self.enabled and looks and here is not None and word in here[1]
        if here is not None and (hit or (self.enabled and keeps)):
            lines.remove(here)
            lines.append(here)
            here[1].add(word)
        elif self.enabled and keeps:
            lines.append((number, {word}))
            del lines[:-2]
        return hit


def random_trace(chance: random.Random) -> list[int]:
    """Addresses as code makes them: runs, loops and jumps, in few lines that share a place."""
    trace: list[int] = []
    starts = [chance.randrange(64) * 16 * KB + chance.randrange(40) * 8 for _ in range(12)]
    while len(trace) < 3000:
        run = [chance.choice(starts) + 4 * step for step in range(chance.randrange(1, 12))]
        alias = chance.choice((CACHED,) * 8 + (UNKEPT, UNLOOKED, UNCACHED))
        trace += [alias + place for place in run] * chance.randrange(1, 3)
    return trace


def test_the_cache_hits_and_misses_as_a_plain_model_of_the_data_sheet_does(
    fast: package.CompiledLoop,
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(20):
        plain, cache = PlainCache(), fast.XipCache(MISS_CYCLES)
        hits = 0
        trace = random_trace(chance)
        for address in trace:
            if chance.random() < 0.002:
                plain.flush()
                cache.flush()
            if chance.random() < 0.005:
                plain.enabled = cache.enabled = not plain.enabled
            hit = plain.access(address)
            hits += hit
            assert cache.access(address) == hit, hex(address)
        assert (cache.accesses, cache.misses) == (len(trace), len(trace) - hits)
        assert 0 < hits < len(trace), "the trace tests nothing"


def test_misses_are_counted_by_word(fast: package.CompiledLoop) -> None:
    cache = fast.XipCache(MISS_CYCLES)
    counts = array("I", bytes(flash_cache.FLASH_SPACE_BYTES))
    cache.count_into(counts)
    for address in (CACHED, CACHED + 4, CACHED, UNCACHED + 8, UNCACHED + 8):
        cache.access(address)
    assert list(counts[:4]) == [1, 1, 2, 0]
    with pytest.raises(ValueError, match="not 4194304"):
        cache.count_into(counts[:100])


def looping_chip(
    fast: package.CompiledLoop, code_bytes: int, miss_cycles: int
) -> tuple["RP2040", Cache, Callable[[], float]]:
    """A chip that runs a loop of so many bytes in flash, its cache, and a function that runs it
    once more and returns the cycles of that."""
    from rp2040py.clock.simulation_clock import SimulationClock
    from rp2040py.rp2040 import RP2040

    clock: SimulationClock = SimulationClock()
    mcu = RP2040(clock)
    instructions = [ADD_1] * (code_bytes // 2 - 1) + [BACK]
    mcu.flash[:code_bytes] = b"".join(each.to_bytes(2, "little") for each in instructions)
    mcu.core.registers[R7] = mcu.core.registers[PC] = CACHED
    cache = fast.XipCache(miss_cycles)
    runner = fast.Runner(mcu, clock, None, cache)

    def stop() -> None:
        runner.stopped = True

    def once_more() -> float:
        begun_ns = clock.nanos
        alarm = clock.create_alarm(stop)
        left = False
        while not left or mcu.core.pc != CACHED:
            alarm.schedule(CYCLE_NS)  # one instruction, or one wait
            runner.run()
            left = left or mcu.core.pc != CACHED
        return (clock.nanos - begun_ns) / CYCLE_NS

    return mcu, cache, once_more


@pytest.mark.parametrize(
    ("code_bytes", "words_missed"),
    [
        (8 * KB, 0),
        (16 * KB, 0),
        (20 * KB, 3 * 512 * 2),  # three lines share each of 512 places, none of them survives
        (24 * KB, 24 * KB // 4),
    ],
)
@pytest.mark.parametrize("miss_cycles", [MISS_CYCLES, 55])
def test_a_loop_that_fits_costs_its_instructions_a_larger_one_its_misses_too(
    fast: package.CompiledLoop, code_bytes: int, words_missed: int, miss_cycles: int
) -> None:
    _, cache, once_more = looping_chip(fast, code_bytes, miss_cycles)
    instructions = code_bytes // 2 + 1  # the jump takes two cycles
    assert once_more() == instructions + code_bytes // 4 * miss_cycles, "all is read once"
    before = cache.misses
    assert once_more() == instructions + words_missed * miss_cycles
    assert cache.misses - before == words_missed


def test_the_control_block_flushes_and_disables_the_cache_and_counts(
    fast: package.CompiledLoop,
) -> None:
    code_bytes = 64
    mcu, cache, once_more = looping_chip(fast, code_bytes, MISS_CYCLES)
    flash_cache.CacheRegisters(mcu, cache)
    once_more()
    mcu.write_uint32(HITS, 1)
    mcu.write_uint32(ACCESSES, 1)
    fits = once_more()
    assert fits == code_bytes // 2 + 1
    assert mcu.read_uint32(HITS) == mcu.read_uint32(ACCESSES) == code_bytes // 4
    missed = fits + code_bytes // 4 * MISS_CYCLES
    mcu.write_uint32(FLUSH, 1)
    assert once_more() == missed + flash_cache.FLUSH_CYCLES
    assert once_more() == fits
    mcu.write_uint32(CTRL, 2)
    assert once_more() == missed == once_more()
    mcu.write_uint32(CTRL, 3)
    assert once_more() == fits
    mcu.xip_ctrl.reset()
    assert once_more() == missed


def test_constants_in_flash_cost_what_code_does(fast: package.CompiledLoop) -> None:
    from rp2040py.clock.simulation_clock import SimulationClock
    from rp2040py.rp2040 import RP2040

    for begin, misses in ((CACHED, 16), (UNCACHED, 32), (0x20000000, 0)):
        clock = SimulationClock()
        mcu = RP2040(clock)
        # Twice: ldmia r0!, {r1, r2}; in RAM, so that only the data is in flash
        code = [0xC806] * 8 + [0x4630] + [0xC806] * 8 + [0xE7FE]  # mov r0, r6 in between
        mcu.sram[0x100 : 0x100 + 2 * len(code)] = b"".join(c.to_bytes(2, "little") for c in code)
        mcu.core.registers[0] = mcu.core.registers[6] = begin
        mcu.core.registers[PC] = 0x20000100
        cache = fast.XipCache(MISS_CYCLES)
        runner = fast.Runner(mcu, clock, None, cache)
        clock.create_alarm(partial(setattr, runner, "stopped", True)).schedule(
            (16 * 3 + 1 + misses * MISS_CYCLES) * CYCLE_NS
        )
        runner.run()
        assert cache.misses == misses
        assert mcu.core.pc == 0x20000100 + 2 * (len(code) - 1), "just at the end"


def test_the_percentage_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(flash_cache.ENVIRONMENT, raising=False)
    assert flash_cache.miss_percent() == 100
    monkeypatch.setenv(flash_cache.ENVIRONMENT, "110")
    assert flash_cache.miss_percent() == 110
    monkeypatch.setenv(flash_cache.ENVIRONMENT, "-5")
    with pytest.raises(flash_cache.BadPercent, match="whole number"):
        flash_cache.miss_percent()


# With MicroPython

READER = b"""
import machine, time
print("ssi", *(machine.mem32[0x18000000 + register] for register in (0x00, 0x04, 0x14, 0xF4)))
accesses, hits = 0x14000010, 0x1400000C
machine.mem32[accesses] = machine.mem32[hits] = 0
began = time.ticks_us()
with open("data", "rb") as file:
    while file.read(512):
        pass
print("took", time.ticks_diff(time.ticks_us(), began), "missed",
      machine.mem32[accesses] - machine.mem32[hits])
"""


def reading_pico(image: Image, percent: int) -> dict[str, list[int]]:
    """Run READER; return what it printed, by its words."""
    files = {"main.py": READER, "data": random.Random(1).randbytes(16 * KB)}
    pico = EmulatedPico(image, files, flash_percent=percent)
    pico.power_on()
    heard = bytearray()

    def done() -> bool:
        heard.extend(pico.usb_read())
        return b"missed" in heard and heard.endswith(b">>> ")

    assert pico.run_until(done, 5e6), bytes(heard)
    words = heard.decode().split()
    ssi, took, missed = (words.index(word) for word in ("ssi", "took", "missed"))
    return {
        "ssi": [int(word) for word in words[ssi + 1 : ssi + 5]],
        "took_us": [int(words[took + 1])],
        "missed": [int(words[missed + 1])],
    }


def test_micropython_s_image_reads_its_flash_as_the_arithmetic_says(
    image: Image, fast: package.CompiledLoop
) -> None:
    """The fields of the SSI block's registers: RP2040 data sheet, 4.10.13."""
    control, frames, divider, quad = reading_pico(image, 100)["ssi"]
    data_bits = (control >> 16 & 0x1F) + 1
    width = {2: 4}[control >> 21 & 3]  # quad
    address_bits, dummy = 4 * (quad >> 2 & 15), quad >> 11 & 0x1F
    assert quad >> 8 & 3 == 0 and quad & 3 == 2, "no command; the address in quad too"
    assert data_bits == 32 and frames == 0, "one frame an access"
    clocks = address_bits // width + dummy + data_bits // width
    assert (clocks, divider) == (flash_cache.READ_CLOCKS, flash_cache.CLOCK_DIVIDER)
    assert clocks * divider < MISS_CYCLES


def test_files_are_read_from_the_same_flash_at_the_same_cost(
    image: Image, fast: package.CompiledLoop
) -> None:
    free, dear = reading_pico(image, 0), reading_pico(image, 100)
    (missed,) = dear["missed"]
    assert missed >= 16 * KB // 4, "each word of the file at least"
    waited_us = missed * MISS_CYCLES * CYCLE_NS / 1000
    longer_us = dear["took_us"][0] - free["took_us"][0]
    assert longer_us == pytest.approx(waited_us, rel=0.1)
