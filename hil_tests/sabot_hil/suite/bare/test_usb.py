"""USB while the host does not read, sleeps, or takes the device away."""

from sabot_hil.capabilities import Compare, Measure, Prompt
from sabot_hil.suite.bare import scripts

_UNREAD_S = 1.5
_UNREAD_REAL_S = 10.0
"""A host takes some 64 KB before it stops reading; a byte takes the Pico 50 us."""


def test_a_write_to_a_host_that_does_not_read(
    pico: Prompt, compare: Compare, measure: Measure
) -> None:
    """MicroPython waits for room, and then drops what has none."""
    unread_s = _UNREAD_S if pico.emulated else _UNREAD_REAL_S
    taken, stopped, blocked_us = pico.run_unread(scripts.STALL, unread_s)
    measure("bytes that are taken before the port has no room", taken, "bytes")
    assert stopped, "the port always had room: this host reads while no program does"
    compare("a write to a host that does not read", blocked_us / 1000)


def test_the_prompt_answers_after_the_host_has_slept(pico: Prompt, measure: Measure) -> None:
    """The chip goes on meanwhile."""
    before_us = pico.ahead_us(scripts.CHIPS_US)
    pico.suspend_usb(3.0)
    drift_us = pico.ahead_us(scripts.CHIPS_US) - before_us
    measure("the chip's clock after USB was suspended", abs(drift_us) / 1000, "ms", at_most=20.0)


def test_the_prompt_answers_after_it_was_taken_away_and_taken_back(
    pico: Prompt, measure: Measure
) -> None:
    """Its power stays, so it does not start again."""
    before_us = pico.ahead_us(scripts.CHIPS_US)
    pico.replug_usb()
    drift_us = pico.ahead_us(scripts.CHIPS_US) - before_us
    measure("the chip's clock after a replug", abs(drift_us) / 1000, "ms", at_most=20.0)
