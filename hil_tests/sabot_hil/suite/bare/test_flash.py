"""What reading and changing the Pico's own flash costs."""

from sabot_hil.capabilities import Compare, Measure, Prompt, Unable
from sabot_hil.suite.bare import scripts

_PAIRS = 256
_PAGES = 16
_SAMPLED_HZ = 10_000  # words of eight samples at 80 kHz


def test_the_cost_of_a_word_that_the_cache_does_not_hold(pico: Prompt, compare: Compare) -> None:
    """Words are read from RAM, and from flash past its cache; then pairs of words through it."""
    count, free_us, dear_us, flushes_us, pairs, again, thrice = pico.run(scripts.CACHE)
    compare("a cycle of the processor", 1000 / pico.mhz)
    compare("a word that is not in the flash's cache", (dear_us - free_us) * pico.mhz / count)
    compare("a flush of the flash's cache", flushes_us * pico.mhz / 64)
    compare("words that a miss reads besides its own", 100 * pairs / _PAIRS)
    compare(
        "words that are still cached when they are read again", 100 * again / (2 * _PAIRS)
    )  # 4 KB
    # Three lines share a place for two. The first is read again before the third comes: it stays
    # if the one used less recently is replaced, and is read a second time without a miss.
    compare(
        "of two lines, the one used less recently is replaced", 100 * (thrice - _PAIRS) / _PAIRS
    )


def test_the_flash_is_read_as_the_arithmetic_says(pico: Prompt, compare: Compare) -> None:
    """The fields of the SSI block's registers: RP2040 data sheet, 4.10.13."""
    control, _frames, divider, quad = (each & 0xFFFFFFFF for each in pico.run(scripts.SETTINGS))
    width = {0: 1, 1: 2, 2: 4}[control >> 21 & 3]
    data_bits = (control >> 16 & 0x1F) + 1
    address_bits, dummy = 4 * (quad >> 2 & 15), quad >> 11 & 0x1F
    compare("clocks of the flash for a word", address_bits // width + dummy + data_bits // width)
    compare("cycles per clock of the flash", divider)


def test_erase_and_program_and_what_stops_meanwhile(
    pico: Prompt, compare: Compare, measure: Measure
) -> None:
    """In a block that is empty: it is empty again afterwards, whatever it belongs to."""
    taken = pico.run(scripts.FLASH)
    if taken is None:
        raise Unable("the Pico's flash has no empty block; remove a file")
    one, whole, erase, gap_us, idle_us, empty = taken
    assert empty, "the block that was used is not empty again"
    erase_us, words, _ = erase
    compare("an erase of a sector of the Pico's own flash", erase_us / 1000)
    compare(
        "a program of a page of the Pico's own flash", (whole[0] - one[0]) / (_PAGES - 1) / 1000
    )
    due = erase_us * _SAMPLED_HZ / 1e6
    compare("samples that come during an erase, of those due", 100 * words / due)
    measure("longest time without a timer's interrupt, in an erase", gap_us / 1000, "ms")
    measure("longest time without a timer's interrupt, idle", idle_us / 1000, "ms")
