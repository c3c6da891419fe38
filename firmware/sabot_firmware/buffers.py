"""The large buffers of a shoe, made before anything else.

Loading the other modules leaves the heap in pieces. So main.py imports this one first, and a shoe
takes them from here.
"""

from sabot_firmware.cards.scan import RUN_BYTES

_PASS_BYTES = RUN_BYTES + 32

QUEUE_BYTES = 4096
"""Room for what waits to be written to the journal, some 60 entries."""

RECENT_BYTES = 8 * _PASS_BYTES
"""Room for 8 of the longest passes, and for some 80 as they usually are."""

FAULT_BYTES = 4 * _PASS_BYTES

journal = bytearray(QUEUE_BYTES)
recent = bytearray(RECENT_BYTES)
faults = bytearray(FAULT_BYTES)
