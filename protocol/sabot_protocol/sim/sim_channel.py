"""Messages of the simulated bench, which plays cards and the dealer's hands and sees the lamps."""

from sabot_protocol.schema import Shape

_from_bench: "list[Shape]" = []
_to_bench: "list[Shape]" = []

SAMPLES = Shape(96, "samples", "words:bytes", _from_bench)
"""Sensor sample words, as in a recording; whole words only."""

PRESS = Shape(97, "press", "button:button", _from_bench)
SWITCH = Shape(98, "switch", "switch:switch on:flag", _from_bench)

LOCK = Shape(112, "lock", "released:flag", _to_bench)
LAMPS = Shape(113, "lamps", "lit:uint", _to_bench)
"""Bit n is the n-th of `enums.LAMPS`."""

DISPLAY = Shape(114, "display", "text:text", _to_bench)
"""The lines of the display, with newlines between them."""

BUZZER = Shape(115, "buzzer", "ms:uint", _to_bench)
IDLE = Shape(116, "idle", "taken:uint", _to_bench)
"""The shoe has acted on this many messages of the bench since its start and waits for more."""

FROM_BENCH = tuple(_from_bench)
TO_BENCH = tuple(_to_bench)
del _from_bench, _to_bench

MAX_SAMPLE_BYTES = 480
"""The largest number of sample bytes in one message."""
