"""Heap, state machines, DMA and random numbers."""

from sabot_hil.capabilities import Compare, Measure, Prompt
from sabot_hil.suite.bare import scripts


def test_how_long_garbage_is_collected(pico: Prompt, compare: Compare) -> None:
    """Over small objects, as the firmware has them."""
    taken, heap_bytes = pico.run(scripts.COLLECTIONS)
    for kilobytes, us in taken:
        compare(f"collecting garbage, {kilobytes} KB in use", us / 1000)
    compare("heap of MicroPython", heap_bytes)


def test_state_machines_and_dma_keep_their_rates(pico: Prompt, compare: Compare) -> None:
    """As the shoe samples, and 400 times as fast; and a copy within RAM, as fast as it goes."""
    (slow, slow_us), (fast, fast_us), (words, copied_us) = pico.run(scripts.PIO)
    compare("words of a slow state machine in 100 ms", slow * 100_000 / slow_us)
    compare("words of a fast state machine in 10 ms", fast * 10_000 / fast_us)
    compare("a word copied by DMA within RAM", copied_us * pico.mhz / words)


def test_random_numbers_look_random_and_differ_after_each_start(
    pico: Prompt, measure: Measure
) -> None:
    """The ring oscillator's bit is what can be seen of their source."""
    count, ones, same, took_us, drawn_ones, different = pico.run(scripts.RANDOM)
    measure("ones in the ring oscillator's bit", 100 * ones / count, "%")
    measure("bits of it that are as the bit before", 100 * same / (count - 1), "%")
    measure("os.urandom, a byte", took_us / 1024, "us")
    # Of 8,192 bits half, give or take five standard deviations of 0.55 %.
    share = 100 * drawn_ones / 8192
    measure("ones in os.urandom", share, "%", at_least=47.2, at_most=52.8)
    assert different >= 255, "four bytes came twice in a KB"
    first = pico.run(scripts.DRAWN)
    pico.restart(scripts.MARKED)
    assert pico.run(scripts.DRAWN) != first, "the same bytes after two starts"
