"""The large buffers of a shoe, allocated before anything else.

Loading the other modules fragments the heap. So main.py imports this module first, and the shoe
takes its buffers from here.
"""

from sabot_firmware.cards.scan import RUN_BYTES

_PASS_BYTES = RUN_BYTES + 32

QUEUE_BYTES = 4096
"""Room for about 60 entries that wait to be written to the journal."""

RECENT_BYTES = 2 * _PASS_BYTES
"""Room for 2 of the longest passes, or about 20 usual ones."""

FAULT_BYTES = 2 * _PASS_BYTES

journal = bytearray(QUEUE_BYTES)
recent = bytearray(RECENT_BYTES)
faults = bytearray(FAULT_BYTES)
