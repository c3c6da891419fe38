"""Where the processor waits for flash: the misses of the cache by function of MicroPython's image.

`python -m sabot_hil.benchmarks.misses` starts an emulated shoe, lets it idle, and deals it a card
that ends a round; for each it prints the share of the time that the processor waited, and the
functions with most misses. The image has no symbols: a function is an address that code in the
image calls, up to the next one. Pointers alone do not show a function, so a few are counted with
the one before.
"""

import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sabot.sim.waveform import pass_samples
from sabot_hil.kit.dealer import load_cards
from sabot_hil.kit.runner import run
from sabot_hil.kit.witness import Witness
from sabot_hil.targets.emulator import EmulatorTarget
from sabot_protocol import cards

_FLASH = 0x10000000
_FILE_SYSTEM = 0x100A0000  # its begin: sabot_hil.emulation.filesystem
_SHOWN = 25
_IDLE_MS = 1000.0


def functions_of(image: bytes) -> Sequence[int]:
    """Return where the functions of an image at the begin of flash begin: the targets of its BL
    instructions (ARMv6-M Architecture Reference Manual, A6.7.13), in order."""
    found = {0}
    for place in range(0, len(image) - 3, 2):
        first = int.from_bytes(image[place : place + 2], "little")
        second = int.from_bytes(image[place + 2 : place + 4], "little")
        if first >> 11 == 0b11110 and second & 0xD000 == 0xD000:
            sign = first >> 10 & 1
            bit_23, bit_22 = 1 ^ sign ^ second >> 13 & 1, 1 ^ sign ^ second >> 11 & 1
            offset = bit_23 << 23 | bit_22 << 22 | (first & 0x3FF) << 12 | (second & 0x7FF) << 1
            target = place + 4 + offset - (sign << 24)
            if 0 <= target < len(image):
                found.add(target)
    return sorted(found)


def misses_by_function(counts: Sequence[int], functions: Sequence[int]) -> Counter[int]:
    """Return the misses of each function, from those of each word."""
    misses: Counter[int] = Counter()
    for word, count in enumerate(counts):
        if count:
            misses[functions[bisect_right(functions, 4 * word) - 1]] += count
    return misses


def _report(target: EmulatorTarget, what: str, work: Callable[[], object]) -> Iterator[str]:
    pico = target.pico
    begun_us = target.clock.now_us()
    waited_us = pico.waited_us if pico.powered else 0
    counts = pico.count_misses()
    work()
    waited_us = (pico.waited_us or 0) - (waited_us or 0)
    took_us = target.clock.now_us() - begun_us
    image_words = (_FILE_SYSTEM - _FLASH) // 4
    functions = functions_of(bytes(pico.image.content))
    misses = misses_by_function(counts[:image_words], functions)
    files = sum(counts[image_words:])
    total = sum(misses.values()) + files
    yield f"{what}: waited {waited_us / 1000:.1f} of {took_us / 1000:.1f} ms"
    yield f"  {total:,} misses, {files:,} of them in files"
    yield "  function                misses  share"
    for begin, count in misses.most_common(_SHOWN):
        end = functions[min(functions.index(begin) + 1, len(functions) - 1)]
        words = sum(1 for each in counts[begin // 4 : end // 4] if each)
        yield (
            f"  {_FLASH + begin:08x}-{_FLASH + end:08x} {count:8,} {100 * count / total:5.1f} %"
            f", {words} of its {(end - begin) // 4} words"
        )


def main() -> None:
    """Print where the emulated processor waits for flash."""
    with tempfile.TemporaryDirectory() as folder:
        target = EmulatorTarget("MISSES-1", Path(folder), Witness())
        try:
            for line in _report(target, "power to ready", target.power.on):
                print(line)
            for line in _report(target, "idle", lambda: target.clock.pass_ms(_IDLE_MS)):
                print(line)
            load_cards(target.bench, "AC", "2C", "9C", "TD", "KH")
            samples = pass_samples(cards.number_of("7S"), 0)
            for line in _report(target, "a card passes", lambda: target.bench.play(samples)):
                print(line)
            for line in _report(target, "after the card", lambda: target.clock.pass_ms(500)):
                print(line)
        finally:
            target.close()


if __name__ == "__main__":
    run(main)
