"""Messages of the bench: whoever plays the cards and the dealer's hands, and watches the lamps."""

from sabot_protocol.schema import Shape

SAMPLES = Shape(96, "samples", "words:bytes")
"""Sensor sample words, as in a recording; whole words only."""

PRESS = Shape(97, "press", "button:button")
SWITCH = Shape(98, "switch", "switch:switch on:flag")

LOCK = Shape(112, "lock", "released:flag")
LAMPS = Shape(113, "lamps", "lit:uint")
"""Bit n is the n-th of `words.LAMPS`."""

DISPLAY = Shape(114, "display", "text:text")
"""The lines of the display, newlines between them."""

BUZZER = Shape(115, "buzzer", "ms:uint")
IDLE = Shape(116, "idle", "taken:uint")
"""The shoe has acted on that many messages of the bench since its start and waits for more."""

FROM_BENCH = (SAMPLES, PRESS, SWITCH)
TO_BENCH = (LOCK, LAMPS, DISPLAY, BUZZER, IDLE)

MAX_SAMPLE_BYTES = 480
"""Bytes of samples in one message."""
