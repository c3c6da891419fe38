"""Reset, watchdog, and how the chip says why it started."""

from typing import Any

from sabot_hil.capabilities import Compare, Measure, Prompt
from sabot_hil.suite.bare import scripts

_MARK = 0x5AB07


def _after(pico: Prompt, script: str, within_s: float = 0.0) -> tuple[int, list[int], float]:
    """Restart the Pico by a script; return its reason register, its scratch registers, and how far
    the start of its timer is from the reset, in ms."""
    before_us = pico.ahead_us(scripts.CHIPS_US)
    pico.restart(script, within_s)
    after_us = pico.ahead_us(scripts.CHIPS_US)
    cause, reason, scratch = pico.run(scripts.CAUSE)
    assert cause == "watchdog", "MicroPython reports both as a reset by the watchdog"
    assert scratch[0] == _MARK, "the scratch registers are not kept"
    reset_us: Any = before_us + (scratch[2] or scratch[1])
    return reason, scratch, (after_us - reset_us) / 1000


def test_a_reset_by_command(pico: Prompt, compare: Compare) -> None:
    """The boot ROM looks for the image, and the clock is slow, before the timer starts."""
    reason, _, late_ms = _after(pico, scripts.MARKED)
    compare("reason register after machine.reset()", reason)
    compare("from a reset to the start of the timer", late_ms)


def test_a_watchdog_that_is_not_fed(pico: Prompt, compare: Compare, measure: Measure) -> None:
    """The chip notes the time in a register that a reset keeps, until it is reset."""
    reason, scratch, late_ms = _after(pico, scripts.BITTEN, scripts.BITES_AFTER_S)
    compare("reason register after a bite", reason)
    compare("a watchdog of 500 ms bites after", (scratch[2] - scratch[1]) / 1000)
    measure("from a bite to the start of the timer", late_ms, "ms")
